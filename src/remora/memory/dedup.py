"""Are two statements the same, or do they differ in something that matters? Pure but for the look-up of neighbours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from remora.memory.lexical import idf_cosine
from remora.memory.stopwords import STOP_WORDS
from remora.memory.words import chunks, is_identifier, normalise, prepare
from remora.model.memory import Memory
from remora.model.search import TermStats, Where
from remora.storage.protocol import Vector, View

NEIGHBOURS = 10
PROPOSING = 8  # of its terms the rarest look for neighbours: who says the same shares them
DUPLICATE_IDF = 0.90
LEAST_IDF, LEAST_COSINE = 0.15, 0.85  # below both, a stored text is no neighbour
NEGATIONS = frozenset(
    "not no never without none nobody nothing cannot can't don't doesn't didn't won't isn't aren't wasn't "
    "shouldn't mustn't "
    "nicht kein keine keinen keiner keinem nie niemals ohne nichts".split()
)
ANTONYMS = (
    ("enable", "disable"), ("enabled", "disabled"), ("allow", "deny"), ("allowed", "denied"), ("allowed", "forbidden"),
    ("on", "off"), ("before", "after"), ("always", "never"), ("true", "false"), ("yes", "no"), ("open", "closed"),
    ("add", "remove"), ("start", "stop"), ("up", "down"), ("more", "less"), ("first", "last"), ("left", "right"),
    ("public", "private"), ("optional", "required"), ("accept", "reject"), ("increase", "decrease"), ("min", "max"),
    ("minimum", "maximum"), ("success", "failure"), ("with", "without"), ("like", "dislike"), ("likes", "dislikes"),
    ("loves", "hates"), ("hot", "cold"), ("morning", "evening"), ("sync", "async"), ("an", "aus"), ("ein", "aus"),
    ("vor", "nach"), ("immer", "nie"), ("mehr", "weniger"), ("aktiviert", "deaktiviert"), ("erlaubt", "verboten"),
)  # fmt: skip
OPPOSED = frozenset(word for pair in ANTONYMS for word in pair)
MONTHS = frozenset(
    "january february march april may june july august september october november december "
    "januar februar märz mai juni juli oktober dezember monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
)
PRIOR_ROWS, PRIOR_COMMON, PRIOR_RARE = 1000, 400, 5
_COMMON = frozenset(word for words in STOP_WORDS.values() for word in words)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTED = re.compile(r"[\"“„`«]([^\"”“`»]{1,100})[\"”“`»]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# A number word next to a name makes a subject of it: "chapter 3", "PR 12", "step 4".
_NUMBERED = re.compile(
    r"(?i)\b(?:chapter|step|item|ticket|issue|pr|case|room|page|part|phase|note|number|nr|no\.?|#)\s*#?\d+"
)


@dataclass(frozen=True, slots=True)
class Delta:
    """What one text says and the other does not, by sort; empty = they say the same."""

    numbers: bool
    identifiers: bool
    negation: bool
    opposed: bool
    dates: bool
    values: int = 0  # how many numbers stand in one text alone
    names_old: bool = False  # the new text names the other one's identifiers too: it tells of a move

    def __bool__(self) -> bool:
        return self.numbers or self.identifiers or self.negation or self.opposed or self.dates

    @property
    def of_one_value(self) -> bool:
        """They speak of the same thing and differ in one value; records that differ in more are other records."""
        return bool(self) and self.values <= 2 and (not self.identifiers or self.names_old)


@dataclass(frozen=True, slots=True)
class Likeness:
    """A stored memory beside a new text."""

    memory: Memory
    cosine: float | None
    idf: float
    grams: float
    frame: float  # idf-cosine without the values
    delta: Delta
    text: str  # the new one

    @property
    def divergence(self) -> float:
        """Asked for only where the texts are very alike: it is by far the dearest."""
        return divergence(self.text, self.memory.content)

    @property
    def similarity(self) -> float:
        return max(self.idf, self.grams, self.cosine or 0.0)


def delta(new: str, old: str) -> Delta:
    return _delta(_Parts.of(new), _Parts.of(old))


def _delta(new: _Parts, old: _Parts) -> Delta:
    alone = (new.numbers - old.numbers) + (old.numbers - new.numbers)
    return Delta(
        numbers=new.numbers != old.numbers,
        identifiers=new.identifiers != old.identifiers or new.subjects != old.subjects,
        negation=new.negations != old.negations,
        opposed=new.opposed != old.opposed,
        dates=new.dates != old.dates,
        values=alone.total(),
        names_old=bool(old.identifiers) and old.identifiers <= new.identifiers and new.subjects == old.subjects,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    numbers: Counter[str]
    identifiers: frozenset[str]
    subjects: frozenset[str]
    negations: int
    opposed: frozenset[str]
    dates: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Parts:
        folded = normalise(text).casefold().replace("’", "'")
        words = _WORD.findall(folded)
        codes = {
            chunk.casefold()
            for chunk in chunks(normalise(text))
            if is_identifier(chunk) and not _NUMBER.fullmatch(chunk)
        }
        return cls(
            numbers=Counter(number.replace(",", ".") for number in _NUMBER.findall(folded)),
            identifiers=frozenset(codes | {quoted.strip() for quoted in _QUOTED.findall(folded)}),
            subjects=frozenset(" ".join(found.split()) for found in _NUMBERED.findall(folded)),
            # An even number of negations says the same as none, but who counts on that: any difference matters.
            negations=sum(word in NEGATIONS for word in words),
            opposed=frozenset(word for word in words if word in OPPOSED and word not in NEGATIONS),
            dates=frozenset(word for word in words if word in MONTHS),
        )


def gram_jaccard(first: str, second: str) -> float:
    return _jaccard(_grams(first), _grams(second))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a and b else float(a == b)


def _grams(text: str) -> set[str]:
    folded = " ".join(normalise(text[:20_000]).casefold().split())
    return {folded[at : at + 3] for at in range(max(1, len(folded) - 2))}


def divergence(first: str, second: str) -> float:
    return 1 - SequenceMatcher(None, first[:2000].casefold(), second[:2000].casefold(), autojunk=False).ratio()


def neighbours(view: View, memory: Memory, vector: Vector | None, space: str | None) -> list[Likeness]:
    """The stored memories of the same namespace that are most like this one, best first."""
    where = Where(namespaces=(memory.namespace,))
    tokens = prepare(memory.content[:20_000], memory.lang or "en")
    df = view.term_stats(list(dict.fromkeys(tokens))).df
    rarest = sorted((term for term, count in df.items() if count), key=lambda term: df[term])[:PROPOSING]
    rows = [hit.row for hit in view.lexical(rarest, where, NEIGHBOURS)]
    cosines: dict[int, float] = {}
    if vector is not None and space is not None:
        nearest = view.nearest(vector, space, where, NEIGHBOURS)
        cosines = dict(nearest) | dict(view.cosines(vector, space, rows))
        rows = list(dict.fromkeys([*rows, *(row for row, _ in nearest)]))
    facts = [fact for fact in view.facts(rows) if fact.id != memory.id]
    texts = {fact.id: prepare(fact.content[:20_000], memory.lang or "en") for fact in facts}
    words = dict.fromkeys([*tokens, *(token for found in texts.values() for token in found)])
    stats = background(view.term_stats(list(words)))
    alike = {fact.id: idf_cosine(tokens, texts[fact.id], stats) for fact in facts}
    near = [fact for fact in facts if alike[fact.id] >= LEAST_IDF or cosines.get(fact.row, 0.0) >= LEAST_COSINE]
    held = view.get_many([fact.id for fact in near])
    parts, frame, grams = _Parts.of(memory.content), _frame(tokens), _grams(memory.content)
    found = [
        Likeness(
            memory=held[fact.id],
            text=memory.content,
            cosine=cosines.get(fact.row),
            idf=alike[fact.id],
            grams=_jaccard(grams, _grams(fact.content)),
            frame=idf_cosine(frame, _frame(texts[fact.id]), stats),
            delta=_delta(parts, _Parts.of(fact.content)),
        )
        for fact in near
        if fact.id in held and held[fact.id].content == fact.content
    ]
    return sorted(found, key=lambda likeness: (-likeness.similarity, likeness.memory.id))


def background(stats: TermStats) -> TermStats:
    """Document counts as in a store that is not empty: in a small one every word looks equally rare."""
    df = {token: count + (PRIOR_COMMON if token in _COMMON else PRIOR_RARE) for token, count in stats.df.items()}
    return TermStats(stats.rows + PRIOR_ROWS, stats.mean_length, df)


def _frame(tokens: Sequence[str]) -> list[str]:
    """The tokens without numbers, negations and opposed words."""
    return [token for token in tokens if not token[0].isdigit() and token not in NEGATIONS and token not in OPPOSED]


def is_duplicate(likeness: Likeness, *, cosine: float, jaccard: float) -> bool:
    alike = likeness.idf >= DUPLICATE_IDF or likeness.grams >= jaccard or (likeness.cosine or 0.0) >= cosine
    # FOO=1 and foo=1 say different things: a difference in case alone is one.
    only_case = likeness.text.casefold() == likeness.memory.content.casefold()
    return alike and not likeness.delta and not only_case
