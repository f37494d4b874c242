"""Features of the candidates of one query, and the probability that a candidate answers it.

The probability comes from a fitted logistic model, a small JSON file. Where that is missing or damaged, the fixed
fusion both orders and scores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remora.memory.lexical import LexicalScores, coverage, idf
from remora.memory.plan import QueryPlan, Terms
from remora.memory.words import fold, gram_text
from remora.model.search import Facts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEATURE_VERSION = 1
# Values relative to the best hit carry the order, absolute ones the probability.
FEATURES = (
    "lexical",  # BM25 over the best hit's
    "dense",  # cosine between the hundredth and the best
    "fused",  # the fixed fusion
    "cosine",
    "cosine_best",
    "bm25_log",
    "cover",  # share of the query's idf mass in the hit, context included
    "cover_body",
    "cover_best",  # the largest cover among the candidates
    "terms_log",  # how many terms the query has
    "idf_first",  # the rarest matched term
    "idf_second",
    "grams",  # share of trigrams of words that the index does not have
    "literal",  # 1 all, .5 some of the identifiers and phrases
    "fields",  # key, tags or title hold a term
    "speaker",
    "session",
    "question",
    "length",
    "turn",
    "dense_missing",
    "first_lexical",
    "first_dense",
)

DENSE, FOREIGN_DENSE, CODE_DENSE = 0.3, 0.1, 0.65  # the rest of 1 is the lexical score's
GRAMS_OF_CJK = 2 / 3  # of the lexical score, where words cannot be told apart by blanks
SPEAKER, SESSION, QUESTION, LENGTH = 0.05, 0.2, -0.1, 0.1
FULL_LENGTH, FULL_LETTERS = math.log(40), 500  # forty words, and more letters than forty words have
CODE_SAMPLE, CODE_LETTERS = 20, 800
COMMON_LITERAL, COMMON_FROM = 0.1, 100  # a literal in more than a tenth of at least 100 rows says nothing
_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:def|class|fn|func|function|import|from|public|return|#include|const|let|var)\b|\w\(.*\)\s*[:{]",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the channels found, one entry per row in each field."""

    facts: list[Facts]
    lexical: LexicalScores
    cosines: Floats  # NaN = no vector
    spread: tuple[float, float]  # best and hundredth cosine of the whole filtered set
    grams: Floats


@dataclass(frozen=True, slots=True)
class Features:
    """[row, feature] in the order of `FEATURES`; the fixed fusion's score; the tier of identifiers and phrases."""

    matrix: Floats
    fused: Floats
    uncalibrated: Floats
    tier: NDArray[np.intp]


class BadModel(ValueError):
    """The model file cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Weight:
    name: str
    mean: float
    sd: float
    weight: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RecallModel:
    """`ranks`: the model also orders the hits; otherwise it only says how sure they are."""

    name: str
    ranks: bool
    intercept: float
    weights: tuple[Weight, ...]

    def logits(self, features: Floats) -> Floats:
        """`features`: [row, feature] in the order of `FEATURES`."""
        return np.asarray(self.contributions(features).sum(1) + self.intercept, float)

    def contributions(self, features: Floats) -> Floats:
        """What each feature adds to the logit of each row."""
        mean, sd, weight, low, high = _table(self)
        return np.asarray((np.minimum(np.maximum(features, low), high) - mean) * (weight / sd), float)

    def probabilities(self, features: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-self.logits(features).clip(-40, 40))), float)


@lru_cache(8)
def _table(model: RecallModel) -> Floats:
    """Mean, spread, weight and limits as rows, in the order of `FEATURES`."""
    by_name = {w.name: (w.mean, w.sd, w.weight, w.low, w.high) for w in model.weights}
    return np.array([by_name[name] for name in FEATURES]).T


def read_model(text: str) -> RecallModel:
    """A checked model, or `BadModel`."""
    try:
        raw: dict[str, Any] = json.loads(text)
        if raw.get("schema") != 1 or raw.get("target") != "recall":
            raise BadModel("not a recall model of schema 1")
        if raw.get("feature_version") != FEATURE_VERSION:
            raise BadModel(f"feature version {raw.get('feature_version')}, wanted {FEATURE_VERSION}")
        weights = tuple(
            Weight(w["name"], float(w["mean"]), float(w["sd"]), float(w["weight"]), *map(float, w["clip"]))
            for w in raw["features"]
        )
        model = RecallModel(str(raw["name"]), bool(raw["ranks"]), float(raw["intercept"]), weights)
    except BadModel:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadModel(f"{type(error).__name__}: {error}") from error
    if {weight.name for weight in weights} != set(FEATURES):
        raise BadModel("features are missing or unknown")
    numbers = [model.intercept, *(n for w in weights for n in (w.mean, w.sd, w.weight, w.low, w.high))]
    if not all(map(math.isfinite, numbers)) or any(w.sd <= 0 or w.low > w.high for w in weights):
        raise BadModel("a number is not finite, or a spread is not positive")
    return model


@lru_cache(8)
def load_model(path: str | None = None) -> tuple[RecallModel | None, str | None]:
    """The model at the path, else the bundled one; and the warning to show if what was asked for cannot be used."""
    warning = None
    bundled = files("remora.memory") / "data" / "recall.json"
    for source in [*([Path(path)] if path else []), bundled]:
        try:
            return read_model(source.read_text(encoding="utf-8")), warning
        except (OSError, UnicodeDecodeError, BadModel) as error:
            warning = f"recall model {source}: {error}; scores are " + (
                "the bundled model's" if path else "uncalibrated"
            )
    return None, warning


def top_contributions(model: RecallModel, rows: Floats, count: int = 3) -> list[tuple[tuple[str, float], ...]]:
    """Per row the features that moved its logit most."""
    parts = model.contributions(rows)
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :count]
    return [
        tuple((FEATURES[at], round(float(row[at]), 2)) for at in best if row[at])
        for row, best in zip(parts, order.tolist(), strict=True)
    ]


def named(row: Floats) -> Mapping[str, float]:
    return {name: round(float(value), 4) for name, value in zip(FEATURES, row, strict=True)}


def _columns(values: Mapping[str, Floats | Sequence[float] | float], rows: int) -> Floats:
    """A feature matrix out of named columns; every feature must be there."""
    return np.column_stack([np.broadcast_to(np.asarray(values[name], float), (rows,)) for name in FEATURES])


def features(
    plan: QueryPlan,
    terms: Terms,
    found: Candidates,
    df: Mapping[str, int],
    store_rows: int,
    *,
    multilingual: bool = False,
    semantic: bool = False,
) -> Features:
    """Everything that order and score are made of."""
    facts = found.facts
    dense_missing = np.isnan(found.cosines)
    has_dense = not bool(dense_missing.all())
    cosine = np.where(dense_missing, 0.0, found.cosines)
    best, hundredth = found.spread
    dense = np.where(dense_missing, 0.0, ((cosine - hundredth) / max(best - hundredth, 1e-6)).clip(0, 1))
    if has_dense and best - hundredth <= 1e-6:
        dense = np.where(dense_missing, 0.0, 1.0)
    bm25 = found.lexical.bm25 + found.grams * _gram_worth(found, terms, store_rows)
    lexical = bm25 / max(float(bm25.max()), 1e-9)
    if plan.cjk and found.grams.any():
        words = found.lexical.bm25 / max(float(found.lexical.bm25.max()), 1e-9)
        lexical = (1 - GRAMS_OF_CJK) * words + GRAMS_OF_CJK * found.grams / float(found.grams.max())
    weight = _dense_weight(plan, facts, has_dense, multilingual, semantic)
    asked = {fold(part) for word in plan.words for part in word.split("-")}
    speaker = np.array([_says(fact.speaker, asked) for fact in facts], float)
    base = (1 - weight) * lexical + weight * dense + SPEAKER * speaker
    turn, session, question, length = _priors(facts, base)
    fused = base + turn * (SESSION * session + QUESTION * question + LENGTH * length)
    tier, literal = _literals(plan, terms, found, df, store_rows)
    cover = coverage(found.lexical.anywhere, terms.groups, terms.unknown_mass)
    rarity = np.sort(found.lexical.anywhere * np.array([group.idf for group in terms.groups]), axis=1)[:, ::-1]
    values: dict[str, Floats | float] = {
        "lexical": lexical,
        "dense": dense,
        "fused": fused,
        "cosine": cosine,
        "cosine_best": best,
        "bm25_log": np.log1p(bm25),
        "cover": cover,
        "cover_body": coverage(found.lexical.body, terms.groups, terms.unknown_mass),
        "cover_best": float(cover.max(initial=0)),
        "terms_log": math.log1p(len(terms.groups) + len(terms.unknown)),
        "idf_first": rarity[:, 0] if rarity.shape[1] > 0 else 0.0,
        "idf_second": rarity[:, 1] if rarity.shape[1] > 1 else 0.0,
        "grams": found.grams,
        "literal": literal,
        "fields": found.lexical.fields.astype(float),
        "speaker": speaker,
        "session": turn * session,
        "question": question,
        "length": length,
        "turn": turn,
        "dense_missing": dense_missing.astype(float),
        "first_lexical": (bm25 >= bm25.max(initial=0)) * (bm25 > 0).astype(float),
        "first_dense": (dense >= 1).astype(float),
    }
    sure = ((best - 0.1) / 0.5) if has_dense else 1.0
    uncalibrated = np.minimum(1, fused).clip(0) * cover * min(1.0, max(0.2, sure))
    return Features(_columns(values, len(facts)), fused, uncalibrated, tier)


def _gram_worth(found: Candidates, terms: Terms, rows: int) -> float:
    """What full agreement of the unknown words would add to BM25: the idf of a term in as many rows as agree well."""
    well = int((found.grams >= 0.6).sum())
    return idf(max(rows, len(found.facts)), well) * max(1, len(terms.unknown)) if well else 0.0


def _dense_weight(
    plan: QueryPlan, facts: Sequence[Facts], has_dense: bool, multilingual: bool, semantic: bool
) -> float:
    if not has_dense:
        return 0.0
    if semantic:
        return 1.0
    if not multilingual and plan.latin_share < 0.5:
        return FOREIGN_DENSE
    sample = facts[:CODE_SAMPLE]
    if not plan.identifiers and 2 * sum(map(_is_code, sample)) >= len(sample):
        return CODE_DENSE
    return DENSE


def _is_code(fact: Facts) -> bool:
    start = fact.content[:CODE_LETTERS]
    lines = start.count("\n") + 1
    return lines > 1 and 3 * len(_CODE.findall(start)) >= lines


def _says(speaker: str | None, asked: set[str]) -> bool:
    return speaker is not None and any(fold(part) in asked for part in speaker.split() if len(part) > 1)


def _priors(facts: Sequence[Facts], base: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Of turns: is one, how good its session is, is a question (which rarely answers one), how much it says."""
    turn = np.array([fact.conversation is not None for fact in facts], float)
    groups: dict[tuple[str, str | None], list[int]] = {}
    for at, fact in enumerate(facts):
        if fact.conversation is not None:
            groups.setdefault((fact.conversation, fact.session), []).append(at)
    session, sums = np.zeros(len(facts)), base.tolist()
    for members in groups.values():
        best = sorted((sums[at] for at in members), reverse=True)[:3]
        session[members] = sum(best) / len(best)
    question = np.array([fact.content[-100:].rstrip().endswith(("?", "？")) for fact in facts], float)
    words = np.array([len(fact.content[:FULL_LETTERS].split()) for fact in facts], float)
    return turn, session, question, np.minimum(1, np.log1p(words) / FULL_LENGTH)


def _literals(
    plan: QueryPlan, terms: Terms, found: Candidates, df: Mapping[str, int], store_rows: int
) -> tuple[NDArray[np.intp], Floats]:
    """Tier 2 = holds every identifier and phrase of the query (not in its context), 1 = some, 0 = none; their share."""
    rows = len(found.facts)
    group_of = {token: at for at, group in enumerate(terms.groups) for token in group.tokens}
    tests: list[NDArray[np.bool_]] = []
    folded: list[str] = []
    for literal in plan.literals:
        token = fold(literal)
        known = df.get(token, 0) if literal in plan.identifiers else 0
        if known > COMMON_LITERAL * store_rows and store_rows >= COMMON_FROM:
            continue
        if known and token in group_of:
            tests.append(found.lexical.own[:, group_of[token]])
            continue
        folded = folded or [gram_text(fact.content) for fact in found.facts]
        wanted = gram_text(literal)
        tests.append(np.array([wanted in text for text in folded], np.bool_))
    if not tests:
        return np.zeros(rows, np.intp), np.zeros(rows)
    held = np.sum(tests, axis=0)
    return np.where(held == len(tests), 2, np.minimum(held, 1)).astype(np.intp), held / len(tests)
