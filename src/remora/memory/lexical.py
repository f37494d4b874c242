"""Lexical scores by our own arithmetic, so that every backend ranks alike: BM25 over columns, and trigram shares."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from remora.memory.words import BODY, CTX, LONGEST_WORD, gram_text, is_cjk, read_terms, term_id
from remora.model.search import TermStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

K1, B = 0.9, 0.4
COLUMN_WEIGHTS = (1.0, 0.5, 2.0, 1.5, 1.5)  # body, context, key, tags, title
LEAST_WORD_SHARE = 0.6  # of one word's trigrams must be in a row
SPARE_LETTERS = 2  # how much longer than the word the stretch may be that its trigrams stand in


@dataclass(frozen=True, slots=True)
class TermGroup:
    """One word of the query: its stem in each language of the store counts as the same term."""

    word: str
    tokens: tuple[str, ...]
    df: int
    idf: float


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Per row the BM25 score; per row and term whether any column, any but the context, or the body holds it."""

    bm25: Floats
    anywhere: NDArray[np.bool_]
    own: NDArray[np.bool_]
    body: NDArray[np.bool_]
    fields: NDArray[np.bool_]  # [row]: a term stands in key, tags or title


def idf(rows: int, df: int) -> float:
    return math.log(1 + (rows - min(df, rows) + 0.5) / (df + 0.5))


def score_rows(groups: Sequence[TermGroup], rows: Sequence[tuple[int, bytes]], mean_length: float) -> LexicalScores:
    """`rows`: length and term vector of each; the weighted counts of all columns are summed before saturation."""
    number = {term_id(token): at for at, group in enumerate(groups) for token in group.tokens}
    known = np.array(sorted(number), np.uint32)
    group_of = np.array([number[term] for term in sorted(number)], np.intp)
    frequency = np.zeros((len(rows), len(groups)))
    own, body = (np.zeros((len(rows), len(groups)), np.bool_) for _ in range(2))
    fields = np.zeros(len(rows), np.bool_)
    entries, owners = read_terms([tf for _, tf in rows])
    if len(known) and len(entries):
        places = np.searchsorted(known, entries["term"]).clip(max=len(known) - 1)
        hits = np.flatnonzero(known[places] == entries["term"])
        owner, group, column = owners[hits], group_of[places[hits]], entries["column"][hits]
        np.add.at(frequency, (owner, group), np.array(COLUMN_WEIGHTS)[column] * entries["count"][hits])
        own[owner[column != CTX], group[column != CTX]] = True
        body[owner[column == BODY], group[column == BODY]] = True
        fields[owner[column > CTX]] = True
    weights = np.array([group.idf for group in groups])
    lengths = np.array([length for length, _ in rows], float)
    saturation = K1 * (1 - B + B * lengths / max(mean_length, 1.0))
    scores = (weights * frequency * (K1 + 1) / (frequency + saturation[:, None])).sum(1)
    return LexicalScores(scores, frequency > 0, own, body, fields)


def coverage(matched: NDArray[np.bool_], groups: Sequence[TermGroup], unknown_mass: float) -> Floats:
    """The share of the query's idf mass that each row holds."""
    weights = np.array([group.idf for group in groups])
    mass = float(weights.sum()) + unknown_mass
    return np.asarray(matched @ weights / mass if mass else np.zeros(len(matched)), float)


def trigrams(word: str) -> list[str]:
    """The distinct trigrams of one folded word; a shorter word is its own gram."""
    word = word[: 4 * LONGEST_WORD]
    return list(dict.fromkeys(word[at : at + 3] for at in range(max(1, len(word) - 2))))


def telling_grams(word: str, df: Mapping[str, int]) -> list[str]:
    """The rarest trigrams of a word, so many that no text can hold enough of the word without one of them."""
    parts = sorted(trigrams(word), key=lambda gram: (df.get(gram, 0), gram))
    return parts[: len(parts) - math.ceil(LEAST_WORD_SHARE * len(parts)) + 1]


def gram_shares(words: Sequence[str], texts: Iterable[str], df: Mapping[str, int], rows: int) -> Floats:
    """Per text the idf-weighted share of the words' trigrams that it holds.

    A word counts only where enough of it stands close together: a long text has most trigrams somewhere.
    """
    grams = {word: trigrams(word) for word in words}
    weight = {gram: idf(rows, df.get(gram, 0)) for parts in grams.values() for gram in parts}
    mass = sum(weight.values())
    patterns = {
        word: re.compile("(?=(" + "|".join(map(re.escape, parts)) + "))") for word, parts in grams.items() if parts
    }
    shares = []
    for text in texts:
        folded = gram_text(text)
        found = {gram for word, pattern in patterns.items() for gram in _close(word, len(grams[word]), pattern, folded)}
        shares.append(sum(weight[gram] for gram in found) / mass if mass else 0.0)
    return np.array(shares, float)


def _close(word: str, count: int, pattern: re.Pattern[str], text: str) -> set[str]:
    """The word's trigrams in the stretch of the text that holds most of them; none if that is not enough."""
    reach = len(word) + SPARE_LETTERS if not is_cjk(word) else len(text)
    window: deque[tuple[int, str]] = deque()
    best: set[str] = set()
    for match in pattern.finditer(text):
        window.append((match.start(), match[1]))
        while window[0][0] < match.start() - reach:
            window.popleft()
        if len(window) > len(best) and len(held := {gram for _, gram in window}) > len(best):
            best = held
            if len(best) == count:
                break
    return best if len(best) >= LEAST_WORD_SHARE * count else set()


def idf_cosine(first: Sequence[str], second: Sequence[str], stats: TermStats) -> float:
    """How alike two texts are by their distinct tokens, the rare ones counting more; 0..1."""
    a, b = set(first), set(second)
    weight = {token: idf(stats.rows, stats.df.get(token, 0)) for token in a | b}
    shared = sum(weight[token] ** 2 for token in a & b)
    lengths = math.sqrt(sum(weight[token] ** 2 for token in a) * sum(weight[token] ** 2 for token in b))
    return shared / lengths if lengths else 0.0
