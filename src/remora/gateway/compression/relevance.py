"""How much each unit of a text (line, row, value) is worth keeping, with and without a question.

With a question: exact words by rarity, phrases, nearest words by the static table, and where they stand near; without
one: what is unusual. A vague question ("get an overview of …") only adds to the latter.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remora.gateway.compression import unusual
from remora.gateway.compression.deadline import check
from remora.gateway.compression.words import ASKING, CHUNK, JOINED, STOP, TOKEN, forms, stem, table

if TYPE_CHECKING:
    from remora.gateway.compression.words import Floats


@dataclass(slots=True)
class Weights:
    """Coarse choices on a plateau: halving or doubling one of them moves the benchmark by about a point."""

    # what stands out by itself
    trouble: float = 2.0
    suspect: float = 1.0
    odd: float = 0.2
    wide: float = 0.2
    first: float = 0.5
    outlier: float = 0.5
    brief: float = 0.5  # exponent of the preference for short units
    brief_length: float = 60.0
    # what remains of it when a question is trusted
    plain: float = 0.3
    rare: float = 0.4
    shape: float = 0.2
    error: float = 0.25
    prior: float = 0.4
    reserve: float = 0.12  # share of the budget for what stands out, whatever is asked
    # the question
    phrase: float = 0.8
    quoted: float = 2.0
    pooled: float = 0.5
    least_cosine: float = 0.15
    whole: float = 0.3  # share of smoothing by the sum of all words, the rest word by word
    fade: float = 0.7  # per line of distance
    above: float = 0.7  # from a heading to what it heads
    sibling: float = 0.7  # between members of a record
    rise: float = 0.1  # from what is headed to its heading
    rise_record: float = 0.7
    # how far a question is trusted
    errand: float = 3.0  # words an errand has that says nothing of what is needed
    names: float = 2.0
    question: float = 3.0
    enough: float = 2.0
    peak: float = 6.0  # exponent: of an errand only what matches it best counts


W = Weights()
REACH = 4  # lines to either side
COMMON = 0.3  # share of the units above which a match tells nothing
_QUOTES = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`|“([^”]+)”")
_EXTREME = re.compile(
    r"(?i)\b(?:largest|highest|biggest|greatest|longest|slowest|most|maxim\w+|max|peak|lowest|smallest|shortest|fastest|least"
    r"|minim\w+|min|outliers?|extremes?|unusual\w*|anomal\w+)\b"
)
_IDENTIFIER = re.compile(r"\w*\d\w*|\w+(?:[._:/=]+\w+)+|[a-z]+[A-Z]\w*|[\"'`][^\"'`]+[\"'`]")


class Units:
    """The units of one text, analysed once; every question is then asked of it cheaply.

    `up[i]` is the unit that gives unit i its context (heading, enclosing definition, object), -1 for none; it stands
    before i. `siblings` says that units of the same parent explain each other (members of one record).
    """

    def __init__(self, texts: Sequence[str], up: Sequence[int] | None = None, siblings: bool = False) -> None:
        import numpy as np

        self.n = len(texts)
        self.texts = texts
        self.length = np.array([len(t) for t in texts], dtype=float)
        self.words = unusual.read(texts)
        self.shape = unusual.shape(texts)
        self.table = table()
        self._up = np.asarray(up if up is not None else [-1] * self.n, dtype=np.int64)
        self._siblings = siblings
        self._pool: Floats | None = None

    @functools.cached_property
    def _index(self) -> tuple[Any, Any, Any, Any, dict[int, int]]:
        """(first word of each unit, word of each place, distinct words, their rarity, id -> distinct word)"""
        import numpy as np

        ids = self.words.ids
        starts = np.cumsum([0, *map(len, ids)])[:-1]
        flat = np.fromiter(itertools.chain.from_iterable(ids), np.int64)
        distinct, inverse = np.unique(flat, return_inverse=True)
        unit = np.repeat(np.arange(self.n), [len(near) for near in ids])
        pairs = np.unique(unit * len(distinct) + inverse) % max(1, len(distinct))
        count = np.bincount(pairs, minlength=len(distinct))
        rarity = [
            math.log(1 + self.n / c) if i >= 0 else 0.0 for i, c in zip(distinct.tolist(), count.tolist(), strict=True)
        ]
        place = {i: at for at, i in enumerate(distinct.tolist())}
        return starts, inverse, np.maximum(distinct, 0), np.array(rarity, dtype=np.float32), place

    def unusual(self) -> Floats:
        """What stands out in its document."""
        words, shape = self.words, self.shape
        shapes = W.odd * shape.odd + W.wide * shape.wide + W.first * shape.first + W.outlier * shape.outlier
        found: Floats = words.rare + W.trouble * words.trouble + W.suspect * words.suspect + shapes
        return found

    def answers(self, query: str) -> Floats:
        """How well each unit answers the question, by its own words and by those around it."""
        import numpy as np

        check()

        rows = [*self._exact(query), *self._phrases(query), *self._quoted(query)]
        ids = np.array(sorted(self._ids(query)), dtype=np.int64)
        if len(ids):
            rows.append(self._near(ids))
        if not rows:
            return np.zeros(self.n)
        own = np.vstack(rows)
        total: Floats = (1 - W.whole) * self._spread(own).sum(0) + W.whole * _smooth(own.sum(0)[None], 0.7)[0]
        return total + W.pooled * self._pooled(ids) if len(ids) else total

    def _ids(self, query: str) -> set[int]:
        if self.table is None:
            return set()
        tokens = (t for t in TOKEN.findall(query) if t.lower() not in ASKING)
        return {i for token in tokens for i in self.table.ids(token)}

    def _row(self, places: Sequence[int], weight: float) -> Floats:
        import numpy as np

        row = np.zeros(self.n)
        row[places] = weight * math.log(1 + self.n / len(places))
        return row

    def _exact(self, query: str) -> list[Floats]:
        """One row for each form of a word of the question: its rarity wherever it stands."""
        wanted = {j.lower() for j in JOINED.findall(query)}
        for chunk in CHUNK.findall(query):
            tokens = TOKEN.findall(chunk)
            for token in tokens:
                if len(tokens) == 1 or not token.isdigit():  # the numbers of a date or version count only together
                    wanted |= forms(token)
        found = ((form, self.words.forms.get(form)) for form in sorted(wanted - STOP or wanted))
        return [self._row(places, 1.0) for _, places in found if places]

    def _phrases(self, query: str) -> list[Floats]:
        """Words that stand side by side in the question and in a unit, small words included."""
        tokens = [t.casefold() for t in TOKEN.findall(query)]
        rows = []
        for a, b in sorted(set(itertools.pairwise(tokens))):
            check()
            both = set(self.words.forms.get(a, ())) & set(self.words.forms.get(b, ()))
            if not both or len(both) > COMMON * self.n + 3 or (a in ASKING and b in STOP):
                continue
            near = re.compile(rf"(?i)(?<!\w){re.escape(a)}\W{{1,4}}{re.escape(b)}(?!\w)")
            places = sorted(i for i in both if near.search(self.texts[i]))
            if places:
                rows.append(self._row(places, W.phrase))
        return rows

    def _quoted(self, query: str) -> list[Floats]:
        """What stands in quotes counts as a whole."""
        wanted = {_plain("".join(found)) for found in _QUOTES.findall(query)}
        rows = []
        for quoted in sorted(q for q in wanted if len(q) > 2):
            places = [i for i, text in enumerate(self.texts) if quoted in _plain(text)]
            if places and len(places) <= COMMON * self.n + 3:
                rows.append(self._row(places, W.quoted))
                titles = [i for i in places if _plain(self.texts[i]).strip("#=*_` ") == quoted]
                if titles:  # named as a whole: a section or a record
                    rows.append(self._row(titles, W.quoted))
        return rows

    def _near(self, ids: Any) -> Floats:
        """Every word of the question takes its nearest word of the unit."""
        import numpy as np

        assert self.table is not None
        starts, inverse, words, rarity, _ = self._index
        cos = np.maximum(self.table.cosines(ids, words) - W.least_cosine, 0) / (1 - W.least_cosine)
        cos = cos * rarity * self.table.weights[ids][:, None]
        found: Floats = np.maximum.reduceat(cos[:, inverse], starts, 1)
        return found

    def _pooled(self, ids: Any) -> Floats:
        """Mean vectors, weighted by rarity in the document; standard scores above the mean."""
        import numpy as np

        assert self.table is not None
        known = self.table
        starts, inverse, words, rarity, place = self._index
        if self._pool is None:
            weight = np.sqrt(rarity) * known.weights[words]
            pool = np.add.reduceat((known.rows(words) * (known.scales[words] * weight)[:, None])[inverse], starts, 0)
            self._pool = pool / (np.linalg.norm(pool, axis=1, keepdims=True) + 1e-6)
        rare = [math.sqrt(rarity[place[i]] if i in place else math.log(1 + self.n)) for i in ids.tolist()]
        asked = np.array(rare, dtype=np.float32) * known.weights[ids] * known.scales[ids]
        score = self._pool @ (known.rows(ids) * asked[:, None]).sum(0)
        found: Floats = np.maximum((score - score.mean()) / (score.std() + 1e-6), 0)
        return found

    # ---------------------------------------------------------------- nearness
    def _spread(self, own: Floats) -> Floats:
        """Each word also counts, weaker, where it stands near: lines around, headings above, members of one record."""
        import numpy as np

        best = _smooth(own, W.fade)
        if (self._up < 0).all():
            return best
        rise = W.rise_record if self._siblings else W.rise
        own = self._risen(own, rise)
        around = own * rise
        if self._siblings:
            order = np.argsort(self._up, kind="stable")
            new = np.diff(self._up[order]) != 0
            top = np.maximum.reduceat(own[:, order], np.flatnonzero(np.r_[True, new]), axis=1)
            around[:, order] = top[:, np.cumsum(np.r_[False, new])] * W.sibling
            around[:, self._up < 0] = 0
        for layer in self._layers:
            above = self._up[layer]
            around[:, layer] = np.maximum(around[:, layer], np.maximum(own[:, above], around[:, above]) * W.above)
        found: Floats = np.maximum(best, around)
        return found

    def _risen(self, own: Floats, rise: float) -> Floats:
        """What stands deeper speaks for what stands above it."""
        import numpy as np

        risen = own.copy()
        for layer in reversed(self._layers):
            above = self._up[layer]
            order = np.argsort(above, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(above[order]) != 0])
            heads = above[order][starts]
            top = np.maximum.reduceat(risen[:, layer[order]], starts, axis=1) * rise
            risen[:, heads] = np.maximum(risen[:, heads], top)
        return risen

    @functools.cached_property
    def _layers(self) -> list[Any]:
        """Units by depth, 1 and deeper."""
        import numpy as np

        depth = [0] * self.n
        for i, above in enumerate(self._up.tolist()):
            if above >= 0:
                depth[i] = depth[above] + 1
        deep = np.array(depth)
        return [np.flatnonzero(deep == d) for d in range(1, max(depth, default=0) + 1)]


def _smooth(rows: Floats, fade: float) -> Floats:
    """Every unit takes the best of its neighbours, fading with distance."""
    import numpy as np

    best = rows.copy()
    for step in range(1, min(REACH + 1, rows.shape[1])):
        np.maximum(best[:, :-step], rows[:, step:] * fade**step, out=best[:, :-step])
        np.maximum(best[:, step:], rows[:, :-step] * fade**step, out=best[:, step:])
    return best


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def names_something(query: str) -> bool:
    """Whether a question has any word beside those of asking; without one it is as good as none."""
    words = {stem(w) for w in TOKEN.findall(query.lower()) if w not in STOP and len(w) > 1}
    return bool(words - ASKING - {stem(w) for w in ASKING})


def trust(query: str) -> float:
    """How far to follow a question: errands say little about what is needed, names and questions say much."""
    words = {w for w in TOKEN.findall(query.lower()) if w not in STOP and len(w) > 1} - ASKING
    said = len(words) + W.names * sum(1 for _ in _IDENTIFIER.finditer(query)) + W.question * ("?" in query)
    return min(1.0, max(0.0, (said - W.errand) / W.enough))


def ranking(units: Units, query: str | None, prior: Floats, weight: Floats | float = 1.0) -> tuple[Floats, Floats]:
    """(score by which units are chosen, worth without the question): rounded, so that ties are ties everywhere.

    `prior` is what structure alone says, `weight` how much of what is asked a unit may answer itself.
    """
    import numpy as np

    plain = units.unusual() + prior
    plain = np.where(plain > 0, plain * (W.brief_length / (W.brief_length + units.length)) ** W.brief, plain)
    score = plain
    asked = units.answers(query) * weight if query else None
    if query and asked is not None and asked.any():
        if _EXTREME.search(query):
            asked = asked + asked.max() * units.shape.outlier
        words = units.words
        steady = W.plain * plain + W.prior * prior + W.rare * words.rare + W.shape * units.shape.odd
        steady = steady + W.error * (2 * words.trouble + words.suspect)
        followed = trust(query)
        # of an errand the best matches reach the level of what stands out anyway: what says little costs little
        standing = float(np.sort(plain)[-max(1, units.n // 10) :].mean())
        errand = plain + max(standing, 0.0) * (asked / asked.max()) ** W.peak
        score = followed * (asked + steady) + (1 - followed) * errand
    return np.round(score * units.shape.repeat, 4), np.round(plain * units.shape.repeat, 4)
