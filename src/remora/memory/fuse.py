"""One recall over one state of the store: candidates of every channel, their features, the fused order with reasons.

Scores are fused, never ranks: a rank says nothing about how much better the first is than the second, and rank fusion
lost a quarter of the answers in our measurements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from remora.memory import relevance
from remora.memory.lexical import LexicalScores, gram_shares, score_rows, telling_grams, trigrams
from remora.memory.plan import QueryPlan, Terms, content_words, store_languages, term_tokens, weigh
from remora.memory.relevance import Candidates, Features
from remora.memory.words import fold, gram_text
from remora.model.search import LexicalHit, Where

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remora.storage.protocol import Vector, View

    Floats = NDArray[np.float64]

Mode = Literal["hybrid", "semantic", "lexical"]

PROPOSED, KEPT = 200, 100  # rows the full-text index proposes; candidates of one channel
FALL_BACK_BELOW, FALL_BACK_WORD = 3, 5
LEAST_SHOWN_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Ranked:
    """A hit; `features` (see `relevance.named`) made the score, `parts` are the three that moved it most."""

    row: int
    score: float
    reasons: tuple[str, ...]
    features: Floats
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    hits: tuple[Ranked, ...]
    mode_used: Mode
    score_kind: Literal["calibrated", "uncalibrated"]
    channels: Mapping[str, int]  # how many candidates each channel gave
    warnings: tuple[str, ...] = ()
    explain: Mapping[str, object] = field(default_factory=dict)


def search(
    view: View,
    plan: QueryPlan,
    where: Where,
    limit: int = 10,
    vectors: Sequence[Vector] = (),
    space: str | None = None,
    *,
    multilingual: bool = False,
    mode: Mode = "hybrid",
    model: relevance.RecallModel | None = None,
) -> Ranking:
    """`vectors`: those of `plan.dense_texts`; none = lexical only. Best first, at most `limit`."""
    warnings = []
    if mode == "semantic" and not (len(vectors) and space):
        mode, warnings = "lexical", ["no encoder: ranked by words alone"]
    kept = max(KEPT, limit)
    langs = store_languages(view.languages(where.namespaces))
    tokens = term_tokens(content_words(plan.words, langs), langs)
    literal_tokens = [fold(word) for word in plan.identifiers]
    stats = view.term_stats(list(dict.fromkeys([*(form for forms in tokens for form in forms), *literal_tokens])))
    terms = weigh(tokens, stats)

    hits = {} if mode == "semantic" else _lexical_hits(view, terms, literal_tokens, stats.df, where, 2 * kept)
    cosines, spread = _nearest(view, vectors, space, where, kept) if space and mode != "lexical" else ({}, (0.0, 0.0))
    words = _unmatched(plan, terms, len(hits)) if mode != "semantic" else ()
    literals = [gram_text(word) for word in plan.literals if not stats.df.get(fold(word))]
    gram_stats = view.term_stats(list(dict.fromkeys(_grams_of((*words, *literals)))), grams=True)
    gram_rows = _gram_rows(view, words, literals, gram_stats.df, where)
    rows = list(dict.fromkeys([*hits, *cosines, *gram_rows]))
    channels = {"words": len(hits), "vectors": len(cosines), "grams": len(gram_rows)}
    if not rows:
        return Ranking((), _mode_used(mode, cosines), "uncalibrated" if model is None else "calibrated", channels)

    missing = [row for row in rows if row not in hits]
    hits |= {hit.row: hit for hit in view.lexical_rows(missing)} if missing else {}
    nothing = LexicalHit(0, 0, b"")
    vectors_of = [(hit.length, hit.tf) for hit in (hits.get(row, nothing) for row in rows)]
    lexical = score_rows(terms.groups, vectors_of, stats.mean_length)
    rows, lexical = _keep_best(rows, lexical, {*cosines, *gram_rows}, kept)
    if cosines:
        unscored = [row for row in rows if row not in cosines]
        cosines |= _cosines(view, vectors, space or "", unscored)
    facts = {fact.row: fact for fact in view.facts(rows)}
    present = [at for at, row in enumerate(rows) if row in facts]
    rows, lexical = [rows[at] for at in present], _take(lexical, present)
    candidates = Candidates(
        facts=[facts[row] for row in rows],
        lexical=lexical,
        cosines=np.array([cosines.get(row, math.nan) for row in rows], float),
        spread=spread,
        grams=gram_shares(words, (facts[row].content for row in rows), gram_stats.df, gram_stats.rows)
        if words
        else np.zeros(len(rows)),
    )
    features = relevance.features(
        plan, terms, candidates, stats.df, stats.rows, multilingual=multilingual, semantic=mode == "semantic"
    )
    ranked = _order(plan, terms, candidates, features, model, limit)
    explain = {
        "languages": langs,
        "terms": {group.word: group.df for group in terms.groups},
        "unknown": terms.unknown,
        "identifiers": plan.identifiers,
        "phrases": plan.phrases,
    }
    kind: Literal["calibrated", "uncalibrated"] = "uncalibrated" if model is None else "calibrated"
    return Ranking(tuple(ranked), _mode_used(mode, cosines), kind, channels, tuple(warnings), explain)


def _mode_used(mode: Mode, cosines: Mapping[int, float]) -> Mode:
    return mode if cosines else "lexical"


def _lexical_hits(
    view: View, terms: Terms, literals: Sequence[str], df: Mapping[str, int], where: Where, limit: int
) -> dict[int, LexicalHit]:
    """Rows by words, and by each identifier alone, so that a crowd of common words cannot hide it."""
    found: dict[int, LexicalHit] = {}
    known = [token for group in terms.groups for token in group.tokens if df.get(token)]
    if known:
        found |= {hit.row: hit for hit in view.lexical(known, where, limit)}
    for literal in literals:
        if df.get(literal):
            found |= {hit.row: hit for hit in view.lexical([literal], where, KEPT)}
    return found


def _nearest(
    view: View, vectors: Sequence[Vector], space: str, where: Where, limit: int
) -> tuple[dict[int, float], tuple[float, float]]:
    found: dict[int, float] = {}
    for vector in vectors:
        for row, cosine in view.nearest(vector, space, where, limit):
            found[row] = max(found.get(row, -1.0), cosine)
    if not found:
        return {}, (0.0, 0.0)
    ordered = sorted(found.values(), reverse=True)
    return found, (ordered[0], ordered[min(KEPT, len(ordered)) - 1])


def _cosines(view: View, vectors: Sequence[Vector], space: str, rows: Sequence[int]) -> dict[int, float]:
    found: dict[int, float] = {}
    for vector in vectors if rows else ():
        for row, cosine in view.cosines(vector, space, rows).items():
            found[row] = max(found.get(row, -1.0), cosine)
    return found


def _unmatched(plan: QueryPlan, terms: Terms, hits: int) -> tuple[str, ...]:
    """The words to look for by trigrams: all of a CJK query or of one that found next to nothing, else unknown ones."""
    if plan.cjk or hits < FALL_BACK_BELOW:
        words = plan.words
    else:
        words = tuple(word for word in terms.unknown if len(word) >= FALL_BACK_WORD)
    return tuple(dict.fromkeys(gram_text(word) for word in words if len(word) >= 3))[:64]


def _grams_of(words: Sequence[str]) -> list[str]:
    return [gram for word in words if len(word) >= 3 for gram in trigrams(word)][:512]


def _gram_rows(
    view: View, words: Sequence[str], literals: Sequence[str], df: Mapping[str, int], where: Where
) -> list[int]:
    """Rows that may hold an unmatched word, and those that may hold a phrase: their rarest trigrams are enough."""
    grams = dict.fromkeys(gram for word in words for gram in telling_grams(word, df) if df.get(gram))
    rows = list(view.grams(list(grams)[:64], where, PROPOSED)) if grams else []
    for literal in literals:
        rarest = sorted(dict.fromkeys(_grams_of([literal])), key=lambda gram: (df.get(gram, 0), gram))[:4]
        if rarest and all(df.get(gram) for gram in rarest):
            rows += view.grams(rarest, where, KEPT)
    return list(dict.fromkeys(rows))


def _take(lexical: LexicalScores, at: Sequence[int]) -> LexicalScores:
    rows = np.array(at, np.intp)
    return LexicalScores(
        lexical.bm25[rows], lexical.anywhere[rows], lexical.own[rows], lexical.body[rows], lexical.fields[rows]
    )


def _keep_best(rows: list[int], lexical: LexicalScores, others: set[int], kept: int) -> tuple[list[int], LexicalScores]:
    """The best of the full-text rows by our own score, and all that other channels brought."""
    best = set(np.argsort(-lexical.bm25, kind="stable")[:kept].tolist())
    at = [number for number, row in enumerate(rows) if row in others or number in best]
    return [rows[number] for number in at], _take(lexical, at)


def _order(
    plan: QueryPlan,
    terms: Terms,
    found: Candidates,
    view: Features,
    model: relevance.RecallModel | None,
    limit: int,
) -> list[Ranked]:
    """Tiers, then score, then newer, then id. The shown score never grows down the list."""
    raw = model.probabilities(view.matrix) if model else view.uncalibrated
    key = raw if model and model.ranks else view.fused
    facts = found.facts
    created = [-fact.created_at for fact in facts]
    order = sorted(range(len(facts)), key=lambda at: (-view.tier[at], -key[at], created[at], facts[at].id))
    by_words, by_meaning = _ranks(found.lexical.bm25), _ranks(np.nan_to_num(found.cosines, nan=-1.0))
    best = order[:limit]
    parts = relevance.top_contributions(model, view.matrix[best]) if model else [()] * len(best)
    shown, ranked = 1.0, []
    for at, moved in zip(best, parts, strict=True):
        shown = min(shown, float(raw[at]))
        row = view.matrix[at]
        reasons = _reasons(plan, terms, found, at, int(view.tier[at]), by_words[at], by_meaning[at], row)
        ranked.append(Ranked(facts[at].row, shown, reasons, row, moved))
    return ranked


def _ranks(values: Floats) -> NDArray[np.intp]:
    ranks = np.empty(len(values), np.intp)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


def _reasons(
    plan: QueryPlan,
    terms: Terms,
    found: Candidates,
    at: int,
    tier: int,
    by_words: int,
    by_meaning: int,
    row: Floats,
) -> tuple[str, ...]:
    """In words a person can check."""
    reasons = []
    if tier:
        folded = gram_text(found.facts[at].content)
        held = [literal for literal in plan.literals if gram_text(literal) in folded]
        reasons.append("holds " + ", ".join(held or plan.literals))
    matched = found.lexical.anywhere[at]
    if matched.any():
        words = dict.fromkeys(group.word for group, hit in zip(terms.groups, matched, strict=True) if hit)
        place = "context" if not found.lexical.own[at].any() else "words"
        reasons.append(f"{place} {by_words} (bm25 {found.lexical.bm25[at]:.1f}): {', '.join(list(words)[:8])}")
    if not math.isnan(found.cosines[at]):
        reasons.append(f"meaning {by_meaning} (cosine {found.cosines[at]:.2f})")
    if found.grams[at] >= LEAST_SHOWN_SHARE:
        reasons.append(f"letters {found.grams[at]:.2f}")
    if row[relevance.FEATURES.index("speaker")]:
        reasons.append(f"speaker {found.facts[at].speaker}")
    if found.lexical.fields[at]:
        reasons.append("key, tags or title")
    return tuple(reasons)
