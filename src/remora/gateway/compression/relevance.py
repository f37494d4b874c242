"""How much each unit of a text (line, row, value) is worth keeping, with and without a question.

With a question: exact words by rarity, nearest words by the static table, and their neighbours; without one, what is
unusual in its document: rare words, odd shapes, outlying numbers, words of trouble.
"""

from __future__ import annotations

import collections
import functools
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from remora.gateway.compression.words import ASKING, CHUNK, JOINED, STOP, TOKEN, Table, forms, parts, stem, table

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
_MASK = re.compile(r"[0-9a-f]{6,}|\d+")
_QUOTED = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|[0-9a-f]{6,}|\d+')


_QUOTES = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`|“([^”]+)”")


class _Chunk(NamedTuple):
    """One word or joined name of a text, taken apart once."""

    low: frozenset[str]
    forms: frozenset[str]
    ids: tuple[int, ...] = ()
    trouble: frozenset[str] = frozenset()
    suspect: frozenset[str] = frozenset()


class _Chunks:
    """Words taken apart, kept from text to text: most of them come again."""

    MOST = 20_000

    def __init__(self, known: Table | None) -> None:
        self._table = known
        self._tokens: dict[str, _Chunk] = {}

    def of(self, name: str) -> _Chunk:
        tokens = TOKEN.findall(name)
        if len(tokens) == 1:
            return self._token(name)
        found = [self._token(t) for t in tokens]
        return _Chunk(
            frozenset().union(*(f.low for f in found)),
            frozenset((name.casefold(),)).union(*(f.forms for f in found)),
            tuple(i for f in found for i in f.ids),
            frozenset().union(*(f.trouble for f in found)),
            frozenset().union(*(f.suspect for f in found)),
        )

    def _token(self, token: str) -> _Chunk:
        found = self._tokens.get(token)
        if found is None:
            if len(self._tokens) >= self.MOST:
                self._tokens.clear()
            found = self._tokens[token] = self._read(token)
        return found

    def _read(self, token: str) -> _Chunk:
        low = token.casefold()
        alone = frozenset((low,))
        if token.isdigit():
            return _Chunk(alone, alone)
        inner = parts(token)
        every = alone.union(stem(p) for p in inner if len(p) > 2 or not p.isascii())
        none: frozenset[str] = frozenset()
        return _Chunk(
            alone, every, self._table.ids_of(inner) if self._table else (),
            alone if _TROUBLE.match(low) else none, alone if _SUSPECT.match(low) else none,
        )  # fmt: skip


@functools.cache
def _chunks() -> _Chunks:
    return _Chunks(table())


class Units:
    """The units of one text, analysed once; every question is then asked of it cheaply.

    `up[i]` is the unit that gives unit i its context (heading, enclosing definition, object), -1 for none;
    `siblings` says that units of the same parent explain each other (members of one record).
    """

    def __init__(self, texts: Sequence[str], up: Sequence[int] | None = None, siblings: bool = False) -> None:
        import numpy as np

        self.n = len(texts)
        self.up = np.asarray(up if up is not None else [-1] * self.n, dtype=np.int64)
        self.siblings = siblings
        self._layered: list[Any] | None = None
        self._table = table()
        self._texts = texts
        self.length = np.array([len(t) for t in texts], dtype=float)
        self._read(texts)
        self._shape(texts)

    def _read(self, texts: Sequence[str]) -> None:
        import numpy as np

        known: dict[str, _Chunk] = {}
        chunks = _chunks()
        found: dict[str, list[int]] = collections.defaultdict(list)
        plain: list[set[str]] = []
        ids: list[list[int]] = []
        trouble: list[set[str]] = []
        suspect: list[set[str]] = []
        for i, text in enumerate(texts):
            mine: set[str] = set()
            low: set[str] = set()
            near: list[int] = []
            bad: set[str] = set()
            odd: set[str] = set()
            for name in CHUNK.findall(text):
                chunk = known.get(name)
                if chunk is None:
                    chunk = known[name] = chunks.of(name)
                low |= chunk.low
                mine |= chunk.forms
                near += chunk.ids
                if chunk.trouble:
                    bad |= chunk.trouble
                if chunk.suspect:
                    odd |= chunk.suspect
            plain.append(low)
            ids.append(near or [-1])
            trouble.append(bad)
            suspect.append(odd)
            for form in mine:
                found[form].append(i)
        self.forms = found
        frequency = collections.Counter(w for low in plain for w in low)
        rarity = {w: math.log(1 + self.n / c) for w, c in frequency.items()}
        self.rare = np.array([math.fsum(rarity[w] for w in low) / (8 + len(low)) for low in plain])
        self.trouble, self.suspect = _rated(trouble), _rated(suspect)
        if self._table is not None:
            self._index(ids)

    def _index(self, ids: list[list[int]]) -> None:
        import numpy as np

        frequency = collections.Counter(i for near in ids for i in set(near))
        self.starts = np.cumsum([0] + [len(near) for near in ids])[:-1]
        distinct, self.inverse = np.unique(
            np.fromiter((i for near in ids for i in near), np.int64), return_inverse=True
        )
        self.words = np.maximum(distinct, 0)
        self.idf = np.array(
            [math.log(1 + self.n / frequency[i]) if i >= 0 else 0.0 for i in distinct.tolist()], dtype=np.float32
        )
        self.place = dict(zip(distinct.tolist(), range(len(distinct)), strict=True))
        self._pool: Floats | None = None

    def _shape(self, texts: Sequence[str]) -> None:
        import numpy as np

        n = max(1, self.n)
        masked, loose = _shapes(_MASK, texts), _shapes(_QUOTED, texts)
        count, wide = collections.Counter(masked), collections.Counter(loose)
        self.odd = np.array([math.log(n / count[m]) for m in masked])
        self.wide = np.array([math.log(n / wide[m]) for m in loose])
        nth: collections.Counter[str] = collections.Counter()
        first = []
        for m in loose:
            nth[m] += 1
            first.append(1 / nth[m])
        self.first = np.array(first)
        seen: set[str] = set()
        self.repeat = np.zeros(self.n, dtype=bool)
        for i, text in enumerate(texts):
            key = text.strip()
            self.repeat[i] = key in seen
            seen.add(key)
        self.outlier = _outliers(texts, masked, count)

    # ---------------------------------------------------------------- without a question
    def unusual(self) -> Floats:
        """What stands out in its document."""
        found: Floats = (
            self.rare + P["trouble"] * self.trouble + P["suspect"] * self.suspect + P["odd"] * self.odd
            + P["wide"] * self.wide + P["first"] * self.first + P["outlier"] * self.outlier
        )  # fmt: skip
        return found

    # ---------------------------------------------------------------- with a question
    def answers(self, query: str) -> Floats:
        """How well each unit answers the question, by its own words and by those around it."""
        import numpy as np

        rows = self._exact(query) + self._phrases(query)
        ids = np.array(sorted(set(self._query_ids(query))), dtype=np.int64)
        if self._table is not None and len(ids):
            rows.append(self._near(ids))
        if not rows:
            return np.zeros(self.n)
        own = np.vstack(rows)
        spread = self._spread(own)
        whole = own.sum(0)
        total: Floats = P["own"] * whole + spread.sum(0)
        if P["smooth"]:
            best = whole.copy()
            for step in range(1, min(5, self.n)):
                fade = 0.7**step
                np.maximum(best[:-step], whole[step:] * fade, out=best[:-step])
                np.maximum(best[step:], whole[:-step] * fade, out=best[step:])
            total = (1 - P["smooth"]) * total + P["smooth"] * best
        if self._table is not None and len(ids):
            total = total + P["pooled"] * self._pooled(ids)
        return total

    def _query_ids(self, query: str) -> Iterable[int]:
        if self._table is None:
            return []
        return [i for token in TOKEN.findall(query) if token.lower() not in ASKING for i in self._table.ids(token)]

    def _exact(self, query: str) -> list[Floats]:
        import numpy as np

        wanted = {j.lower() for j in JOINED.findall(query)}
        for token in TOKEN.findall(query):
            wanted |= forms(token)
        rows: list[Floats] = []
        for form in sorted(wanted - STOP):
            places = self.forms.get(form)
            if places:
                row = np.zeros(self.n)
                row[places] = math.log(1 + self.n / len(places)) * (P["asking"] if form in _asking() else 1.0)
                rows.append(row)
        return rows

    def _phrases(self, query: str) -> list[Floats]:
        """Words that stand side by side in the question and in a unit, small words included."""
        import numpy as np

        tokens = [t.casefold() for t in TOKEN.findall(query)]
        rows: list[Floats] = []
        for pair in sorted(set(zip(tokens, tokens[1:], strict=False))):
            both = set(self.forms.get(pair[0], ())) & set(self.forms.get(pair[1], ()))
            if not both or len(both) > 0.3 * self.n + 3 or (pair[0] in ASKING and pair[1] in STOP):
                continue
            near = re.compile(rf"(?i)(?<!\w){re.escape(pair[0])}\W{{1,4}}{re.escape(pair[1])}(?!\w)")
            places = sorted(i for i in both if near.search(self._texts[i]))
            if places:
                row = np.zeros(self.n)
                row[places] = math.log(1 + self.n / len(places)) * P["phrase"]
                rows.append(row)
        for quoted in sorted(
            {q for found in _QUOTES.findall(query) if len(q := " ".join("".join(found).casefold().split())) > 2}
        ):
            places = [i for i, text in enumerate(self._texts) if quoted in " ".join(text.casefold().split())]
            if places and len(places) <= 0.3 * self.n + 3:
                row = np.zeros(self.n)
                row[places] = 2 * math.log(1 + self.n / len(places))
                rows.append(row)
        return rows

    def _near(self, ids: Any) -> Floats:
        """Every word of the question takes its nearest word of the unit."""
        import numpy as np

        assert self._table is not None
        least = 0.15
        cos = np.maximum(self._table.cosines(ids, self.words) - least, 0) / (1 - least)
        cos = cos * self.idf * self._table.weights[ids][:, None]
        found: Floats = np.maximum.reduceat(cos[:, self.inverse], self.starts, 1)
        return found

    def _pooled(self, ids: Any) -> Floats:
        """Mean vectors, weighted by rarity in the document; standard scores above the mean."""
        import numpy as np

        known = self._table
        assert known is not None
        weight = np.sqrt(self.idf) * known.weights[self.words]
        if self._pool is None:
            scaled = known.rows(self.words) * (known.scales[self.words] * weight)[:, None]
            pool = np.add.reduceat(scaled[self.inverse], self.starts, 0)
            self._pool = pool / (np.linalg.norm(pool, axis=1, keepdims=True) + 1e-6)
        rarity = [math.sqrt(self.idf[self.place[i]] if i in self.place else math.log(1 + self.n)) for i in ids.tolist()]
        asked = np.array(rarity, dtype=np.float32) * known.weights[ids] * known.scales[ids]
        score = self._pool @ (known.rows(ids) * asked[:, None]).sum(0)
        found: Floats = np.maximum((score - score.mean()) / (score.std() + 1e-6), 0)
        return found

    def _spread(self, own: Floats) -> Floats:
        """Each word of the question also counts, weaker, where it stands near: lines around, headings above, siblings."""
        import numpy as np

        best = own.copy()
        for step in range(1, min(5, self.n)):
            fade = P["fade"] ** step
            np.maximum(best[:, :-step], own[:, step:] * fade, out=best[:, :-step])
            np.maximum(best[:, step:], own[:, :-step] * fade, out=best[:, step:])
        if (self.up < 0).all():
            return best
        own = self._rise(own)
        around = own * (P["risesib"] if self.siblings else P["rise"])
        if self.siblings:
            order = np.argsort(self.up, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(self.up[order]) != 0])
            top = np.maximum.reduceat(own[:, order], starts, axis=1)
            group = np.cumsum(np.r_[False, np.diff(self.up[order]) != 0])
            around[:, order] = top[:, group] * P["sibling"]
            around[:, self.up < 0] = 0
        for layer in self._layers():
            above = self.up[layer]
            around[:, layer] = np.maximum(around[:, layer], np.maximum(own[:, above], around[:, above]) * P["above"])
        found: Floats = np.maximum(best, around)
        return found

    def _rise(self, own: Floats) -> Floats:
        """What stands deeper speaks for what stands above it."""
        import numpy as np

        risen = own.copy()
        for layer in reversed(self._layers()):
            above = self.up[layer]
            order = np.argsort(above, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(above[order]) != 0])
            top = np.maximum.reduceat(risen[:, layer[order]], starts, axis=1) * (
                P["risesib"] if self.siblings else P["rise"]
            )
            heads = above[order][starts]
            risen[:, heads] = np.maximum(risen[:, heads], top)
        return risen

    @functools.cached_property
    def _depth(self) -> Any:
        import numpy as np

        depth = np.zeros(self.n, dtype=np.int64)
        for i, above in enumerate(self.up.tolist()):
            if above >= 0:
                depth[i] = depth[above] + 1
        return depth

    def _layers(self) -> list[Any]:
        """Units by depth, 1 and deeper."""
        import numpy as np

        if self._layered is None:
            self._layered = [np.flatnonzero(self._depth == d) for d in range(1, int(self._depth.max(initial=0)) + 1)]
        return self._layered


PARTS = P = dict(least=0.2, asks=2.0, enough=2.0,
    trouble=2.0, suspect=1.0, odd=0.2, wide=0.2, first=0.5, outlier=0.5, own=0.0, pooled=0.5, asking=1.0, fade=0.7,
    sibling=0.7, above=0.7, rise=0.1, risesib=0.7, reserve=0.12, base=0.4, phrase=0.8, brief=0.5, brieflen=60, company=1.0, qodd=0.2, qprior=0.4, plain=0.3, qerror=0.25, smooth=0.3,
)  # fmt: skip


@functools.cache
def _asking() -> frozenset[str]:
    return frozenset(ASKING) | {stem(w) for w in ASKING}


def _shapes(mask: re.Pattern[str], texts: Sequence[str]) -> list[str]:
    """Every text with what varies blotted out; in one go where texts can be told apart afterwards."""
    if any("\n" in t for t in texts):
        return [mask.sub("#", t) for t in texts]
    return mask.sub("#", "\n".join(texts)).split("\n") if texts else []


def _rated(hits: Sequence[set[str]]) -> Floats:
    """1 for a unit with such a word, less where the word is common in this document."""
    import numpy as np

    count = collections.Counter(h for mine in hits for h in mine)
    full = math.log(1 + max(1, len(hits)))
    return np.array([max((math.log(1 + len(hits) / count[h]) / full for h in mine), default=0.0) for mine in hits])


def _outliers(texts: Sequence[str], masked: list[str], count: collections.Counter[str]) -> Floats:
    """1 where a number is far from the others at its place in lines of the same shape."""
    import numpy as np

    found = np.zeros(len(texts))
    shapes: dict[str, list[int]] = collections.defaultdict(list)
    for i, shape in enumerate(masked):
        if count[shape] >= 12 and "#" in shape:
            shapes[shape].append(i)
    for rows in shapes.values():
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


_IDENTIFIER = re.compile(r"\w*\d\w*|\w+(?:[._:/=]+\w+)+|[a-z]+[A-Z]\w*|[\"'`][^\"'`]+[\"'`]")


def strength(query: str) -> float:
    """How far to trust a question: errands ("get an overview of …") say little about what is needed, names much."""
    words = {w for w in TOKEN.findall(query.lower()) if w not in STOP and len(w) > 1}
    asking = words & ASKING
    names = sum(1 for _ in _IDENTIFIER.finditer(query))
    return min(1.0, max(P["least"], (len(words) - P["asks"] * len(asking) + 2 * names) / P["enough"]))


def ranking(units: Units, query: str | None, prior: Floats, weight: Floats | float = 1.0) -> tuple[Floats, Floats]:
    """(score by which units are chosen, worth without the question): rounded, so that ties are ties everywhere.

    `prior` is what structure alone says, `weight` how much a unit's own score counts. A question that names much replaces unusualness, a vague one only adds to it.
    """
    import numpy as np

    plain = units.unusual() + prior
    if P["brief"]:
        plain = np.where(plain > 0, plain * (P["brieflen"] / (P["brieflen"] + units.length)) ** P["brief"], plain)
    trust = strength(query) if query else 0.0
    score = plain
    if query and trust:
        asked = units.answers(query) * trust * weight
        steady = (
            P["base"] * units.rare + P["qodd"] * units.odd + P["qerror"] * (2 * units.trouble + units.suspect)
            + P["qprior"] * prior + P["plain"] * plain
        )  # fmt: skip
        score = asked + trust * steady + (1 - trust) * plain
    score = score * np.where(units.repeat, 0.5, 1.0)
    return np.round(score, 4), np.round(plain * np.where(units.repeat, 0.5, 1.0), 4)
