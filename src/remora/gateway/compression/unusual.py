"""What stands out in a text by itself: rare words, odd shapes, numbers far from the others, words of trouble."""

from __future__ import annotations

import collections
import functools
import math
import re
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from remora.gateway.compression.deadline import watched
from remora.gateway.compression.words import CHUNK, TOKEN, Table, parts, stem, table

if TYPE_CHECKING:
    from remora.gateway.compression.words import Floats

# Words of trouble: the first group says it outright, the second only makes a line suspicious.
_TROUBLE = re.compile(
    r"(?:errors?|err|fail(?:ed|ures?|s|ing)?|exceptions?|traceback|fatal|panic(?:ked)?|critical|crash(?:ed|es)?|segfault"
    r"|oom\w*|abort(?:ed)?|denied|refused|unhandled|emerg\w*|severe)$|.*[a-z](?:error|exception|failure|backoff|killed)$"
)
_SUSPECT = re.compile(
    r"(?:warn(?:ings?)?|alert|timeouts?|timed|unable|cannot|missing|invalid|expir(?:ed|es|ing|y)|corrupt(?:ed|ion)?"
    r"|mismatch(?:ed)?|deprecated|blocked|rejected|retr(?:y|ied|ies|ying)|skipp(?:ed|ing)|dropp(?:ed|ing)|lost"
    r"|leak(?:s|ed|ing)?|exceed(?:s|ed|ing)?|full|unreachable|unhealthy|violat\w+|unsafe|insecure|vulnerab\w+|security"
    r"|quarantin\w+|overload\w*|throttl\w+|dead(?:lock)?|killed|destroy(?:ed)?|conflicts?|duplicate[sd]?|unexpected\w*"
    r"|stuck|stopped|paused|failing|urgent|important|caution|danger\w*|irreversible|notfound)$"
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?|(?<=[a-zA-Z_=-])\d+(?:\.\d+)?")
_VARYING = re.compile(r"[0-9a-f]{6,}|\d+")
_VARYING_OR_QUOTED = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|[0-9a-f]{6,}|\d+')
_NONE: frozenset[str] = frozenset()
_UNKNOWN = (-1,)  # the ids of a unit without known words


class Chunk(NamedTuple):
    """One word or joined name of a text, taken apart once."""

    low: Set[str]
    forms: Set[str]
    ids: Sequence[int] = ()
    trouble: frozenset[str] = _NONE
    suspect: frozenset[str] = _NONE


class Chunks:
    """Words taken apart, kept from text to text: most of them come again."""

    MOST = 20_000

    def __init__(self, known: Table | None) -> None:
        self._table = known
        self._tokens: dict[str, Chunk] = {}

    def of(self, name: str) -> Chunk:
        tokens = TOKEN.findall(name)
        if len(tokens) == 1:
            return self._token(name)
        low: set[str] = set()
        every = {name.casefold()}
        ids: list[int] = []
        trouble = suspect = _NONE
        for token in tokens:
            found = self._token(token)
            low |= found.low
            every |= found.forms
            ids += found.ids
            trouble |= found.trouble
            suspect |= found.suspect
        return Chunk(low, every, ids, trouble, suspect)

    def _token(self, token: str) -> Chunk:
        found = self._tokens.get(token)
        if found is None:
            if token.isdigit():  # numbers seldom come again
                return Chunk(alone := frozenset((token,)), alone)
            if len(self._tokens) >= self.MOST:
                self._tokens.clear()
            found = self._tokens[token] = self._read(token)
        return found

    def _read(self, token: str) -> Chunk:
        low = token.casefold()
        alone = frozenset((low,))
        inner = parts(token)
        every = alone.union(stem(p) for p in inner if len(p) > 2 or not p.isascii())
        ids = self._table.ids_of(inner) if self._table else ()
        return Chunk(
            alone, every, ids, alone if _TROUBLE.match(low) else _NONE, alone if _SUSPECT.match(low) else _NONE
        )


@functools.cache
def chunks() -> Chunks:
    return Chunks(table())


class Reading(NamedTuple):
    """The words of all units: where each form stands, the table's ids of each unit, and three measures."""

    forms: dict[str, list[int]]
    ids: list[Sequence[int]]
    rare: Floats
    trouble: Floats
    suspect: Floats


def read(texts: Sequence[str]) -> Reading:
    import numpy as np

    known: dict[str, Chunk] = {}
    take_apart = chunks().of
    found: dict[str, list[int]] = collections.defaultdict(list)
    plain: list[Set[str]] = []
    ids: list[Sequence[int]] = []
    trouble: list[Set[str]] = []
    suspect: list[Set[str]] = []
    bad: Set[str]
    odd: Set[str]
    for i, text in enumerate(watched(texts)):
        names = CHUNK.findall(text)
        if len(names) == 1 and not names[0].isdigit():  # most units of a list of names: nothing to bring together
            chunk = known.get(names[0]) or known.setdefault(names[0], take_apart(names[0]))
            mine, low, near, bad, odd = chunk.forms, chunk.low, chunk.ids, chunk.trouble, chunk.suspect
        else:
            mine, low, near, bad, odd = _together(names, known, take_apart)
        plain.append(low)
        ids.append(near or _UNKNOWN)
        trouble.append(bad)
        suspect.append(odd)
        for form in mine:
            found[form].append(i)
    frequency = collections.Counter(w for low in plain for w in low)
    rarity = {w: math.log(1 + len(texts) / c) for w, c in frequency.items()}
    rare = np.array([math.fsum(rarity[w] for w in low) / (8 + len(low)) for low in plain])
    return Reading(found, ids, rare, _rated(trouble), _rated(suspect))


def _together(
    names: Sequence[str], known: dict[str, Chunk], take_apart: Callable[[str], Chunk]
) -> tuple[Set[str], Set[str], Sequence[int], Set[str], Set[str]]:
    """The words of one unit: forms, plain words, ids, words of trouble and of suspicion."""
    mine: set[str] = set()
    low: set[str] = set()
    near: list[int] = []
    bad: Set[str] = _NONE
    odd: Set[str] = _NONE
    for name in names:
        if name.isdigit():
            low.add(name)
            mine.add(name)
            continue
        chunk = known.get(name)
        if chunk is None:
            chunk = known[name] = take_apart(name)
        low |= chunk.low
        mine |= chunk.forms
        near += chunk.ids
        if chunk.trouble:
            bad = bad | chunk.trouble
        if chunk.suspect:
            odd = odd | chunk.suspect
    return low if len(mine) == len(low) else mine, low, near, bad, odd


def _rated(hits: Sequence[Set[str]]) -> Floats:
    """1 for a unit with such a word, less where the word is common in this document."""
    import numpy as np

    count = collections.Counter(h for mine in hits for h in mine)
    full = math.log(1 + max(1, len(hits)))
    return np.array([max((math.log(1 + len(hits) / count[h]) / full for h in mine), default=0.0) for mine in hits])


class Shape(NamedTuple):
    """How unlike the others each unit looks when what varies is blotted out."""

    odd: Floats  # rarity of the shape without numbers
    wide: Floats  # the same without quoted text
    first: Floats  # 1 for the first of a shape, 1/2 for the second …
    repeat: Floats  # .5 for every later copy of a unit
    outlier: Floats


def shape(texts: Sequence[str]) -> Shape:
    import numpy as np

    n = max(1, len(texts))
    masked, loose = _blotted(_VARYING, texts), _blotted(_VARYING_OR_QUOTED, texts)
    count, wide = collections.Counter(masked), collections.Counter(loose)
    nth: collections.Counter[str] = collections.Counter()
    first, repeat = [], []
    seen: set[str] = set()
    for text, kind in watched(zip(texts, loose, strict=True)):
        nth[kind] += 1
        first.append(1 / nth[kind])
        bare = text.strip()
        repeat.append(0.5 if bare in seen else 1.0)
        seen.add(bare)
    return Shape(
        np.array([math.log(n / count[m]) for m in masked]),
        np.array([math.log(n / wide[m]) for m in loose]),
        np.array(first),
        np.array(repeat),
        _outliers(texts, masked, count),
    )


def _blotted(mask: re.Pattern[str], texts: Sequence[str]) -> list[str]:
    """In one go where the texts can be told apart afterwards."""
    if any("\n" in t for t in texts):
        return [mask.sub("#", t) for t in watched(texts)]
    return mask.sub("#", "\n".join(texts)).split("\n") if texts else []


def _outliers(texts: Sequence[str], masked: list[str], count: collections.Counter[str]) -> Floats:
    """1 where a number is far from the others at its place in units of the same shape."""
    import numpy as np

    found = np.zeros(len(texts))
    shapes: dict[str, list[int]] = collections.defaultdict(list)
    for i, kind in enumerate(masked):
        if count[kind] >= 12 and "#" in kind:
            shapes[kind].append(i)
    for rows in watched(shapes.values()):
        numbers = [_NUMBER.findall(texts[i]) for i in rows]
        width = min(len(x) for x in numbers)
        if not width or width > 40:
            continue
        values = np.array([[float(v[:15]) for v in x[:width]] for x in numbers])
        half = len(values) // 2  # np.median would import half of numpy for this
        middle = np.sort(values, 0)[half]
        spread = np.sort(np.abs(values - middle), 0)[half] * 1.4826
        far = np.abs(values - middle) / np.where(spread > 0, spread, np.inf)
        steady = (np.diff(values, axis=0) >= 0).mean(0) > 0.95  # counters and clocks rise: no outliers
        far[:, steady] = 0
        found[rows] = np.clip((far.max(1) - 4) / 8, 0, 1)
    return found
