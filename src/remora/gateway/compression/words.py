"""Words of a text, and the static table that says which words mean nearly the same."""

from __future__ import annotations

import functools
import hashlib
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
    Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]

SHA256 = "f388574493c476fc5d5e890fc22595e0d345fd412eb54d64a138c42376a18910"

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
TOKEN = re.compile(r"\w+")
JOINED = re.compile(r"\w+(?:[-.:/+@]\w+)+")
CHUNK = re.compile(r"\w+(?:[-.:/+@]\w+)*")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
STOP = frozenset(
    """
    the a an of is to in and or for on with what which does do how where when was were it its that this by from at
    be are as if not one there any you your they them their say said did has have had been being can could will
    would should may might i we our us he she his her into onto out up down over under than then so such no nor
    only own same too very just about after before between during each few more most other some all both because
    until while whom whose these those am who why me my
    """.split()
)
# Verbs and nouns of asking itself: they tell what the agent does, not what it looks for.
ASKING = frozenset(
    """
    understand overview look looking check checking see show find get read reading list fetch give tell result
    results output page document documentation docs file files text content contents reference thing things
    information info detail details current recent newest latest history everything anything something whole works
    work working happened happening went happens go going configured tool response say said please need want
    explain describe summary summarize summarise triage misbehaves misbehave healthy places place source call
    calls review inspect examine explore analyse analyze investigate debug
    """.split()
)
_SUFFIXES = (
    ("ies", "y"), ("es", ""), ("es", "e"), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"),
    ("er", ""), ("er", "e"), ("ly", ""), ("ers", ""), ("ers", "e"),
)  # fmt: skip
_STEMS = ("ations", "ation", "ings", "ing", "edly", "ed", "ers", "er", "ies", "es", "s", "ly", "ment", "able")


def stem(word: str) -> str:
    return next((word[: -len(s)] for s in _STEMS if word.endswith(s) and len(word) - len(s) >= 4), word)


def parts(token: str) -> list[str]:
    """requestTimeout, request_timeout -> request, timeout; CJK runs -> bigrams."""
    found: list[str] = []
    for part in PART.findall(token):
        if CJK.match(part) and len(part) > 2:
            found.extend(part[i : i + 2] for i in range(len(part) - 1))
        else:
            found.append(part.lower())
    return found


def forms(token: str) -> set[str]:
    """Everything by which exact search finds a token: itself, its parts, their stems."""
    return {token.casefold()} | {stem(p) for p in parts(token) if len(p) > 2 or CJK.match(p)}


class Table:
    """Word -> int8 vector, scale and weight; read once, 15 MB."""

    def __init__(self, raw: Any) -> None:
        self.words = bytes(raw["words"]).decode().split("\n")
        self.number = {w: i for i, w in enumerate(self.words)}
        self.vectors, self.scales, self.weights = raw["vectors"], raw["scales"], raw["weights"]
        self._known: dict[str, int] = {}

    def id(self, word: str) -> int:
        """-1: unknown. Plural and verb forms fall back to a shorter form."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) > 200_000:  # identifiers of large texts would pile up for ever
                self._known.clear()
            found = self._known[word] = next((self.number[f] for f in _shorter(word) if f in self.number), -1)
        return found

    def ids(self, token: str) -> tuple[int, ...]:
        return self.ids_of(parts(token))

    def ids_of(self, words: list[str]) -> tuple[int, ...]:
        """Stop words, single letters and numbers fall out."""
        found = (self.id(w) for w in words if len(w) > 1 and w not in STOP and not w.isdigit())
        return tuple(i for i in found if i >= 0)

    def rows(self, ids: Ints) -> Floats:
        """Whole numbers: float32 products of 256 of them are exact on every machine."""
        import numpy as np

        return np.asarray(self.vectors[ids], dtype=np.float32)

    def cosines(self, a: Ints, b: Ints) -> Floats:
        found: Floats = (self.rows(a) @ self.rows(b).T) * self.scales[a][:, None] * self.scales[b]
        return found


def _shorter(word: str) -> list[str]:
    cut = [(s, r) for s, r in _SUFFIXES if word.endswith(s) and len(word) - len(s) >= 3]
    doubled = [
        word[: -len(s) - 1] for s, _ in cut if len(word) - len(s) >= 4 and word[-len(s) - 1] == word[-len(s) - 2]
    ]
    return [word] + [word[: -len(s)] + r for s, r in cut] + doubled


@functools.cache
def table() -> Table | None:
    """The shipped table, or None when its file is missing or not the one we know: search is then lexical only."""
    import io

    import numpy as np

    file = resources.files(__package__) / "data" / "words.npz"
    try:
        raw = file.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(raw).hexdigest() != SHA256:
        return None
    with np.load(io.BytesIO(raw)) as loaded:
        return Table({name: loaded[name] for name in ("vectors", "scales", "weights", "words")})
