"""Fit and judge `recall.json`: the probability that a recalled memory answers the question.

    python -m bench.fit_recall                 # cross-validated figures and the reliability table
    python -m bench.fit_recall --write         # also writes src/remora/memory/data/recall.json
    python -m bench.fit_recall --channels      # hits of each channel and of the fusion, by language

Trained on `bench/recall_cases` alone: each store by itself and all in one, each with and without vectors; a store
also gets questions of other stores, which nothing in it answers. Deterministic: the same cases give the same file.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from bench.recall_cases import FOLDER, Case, CaseStore, read_stores, shelve

from remora.embedding.embedder import open_embedder
from remora.memory import relevance
from remora.memory.fuse import search
from remora.memory.plan import plan
from remora.memory.relevance import FEATURES, RecallModel, Weight
from remora.model.search import Where

TARGET = Path("src/remora/memory/data/recall.json")
FOLDS, L2, FOREIGN_QUESTIONS = 5, 3.0, 12
CANDIDATES = 100


@dataclass(slots=True)
class Asked:
    """One question put to one store: its candidates' features, which of them answer, and the fold it is judged in."""

    store: str
    pooled: bool
    dense: bool
    answerable: bool
    features: np.ndarray
    answers: np.ndarray
    fold: int


async def embed(stores: Sequence[CaseStore]) -> dict[str, np.ndarray]:
    texts = [text.content for store in stores for text in store.texts]
    texts += [case.question for store in stores for case in store.cases]
    embedder = open_embedder("bundled")
    try:
        return dict(zip(texts, await embedder.embed_documents(texts), strict=True))
    finally:
        await embedder.close()


def ask(stores: Sequence[CaseStore], vectors: dict[str, np.ndarray]) -> list[Asked]:
    asked = []
    fold = {store.name: at % FOLDS for at, store in enumerate(stores)}
    for dense in (True, False):
        for group in [[store] for store in stores] + [list(stores)]:
            shelf, rows = shelve(group, vectors if dense else {})
            pooled = len(group) > 1
            for store in group:
                for case in [*store.cases, *([] if pooled else foreign(store, stores))]:
                    vector = [vectors[case.question]] if dense else []
                    found = search(shelf, plan(case.question), Where(), CANDIDATES, vector, "s" if dense else None)
                    if not found.hits:
                        continue
                    wanted = {rows[f"{store.name}:{label}"] for label in case.answers}
                    matrix = np.array([hit.features for hit in found.hits])
                    truth = np.array([hit.row in wanted for hit in found.hits])
                    asked.append(Asked(store.name, pooled, dense, bool(wanted), matrix, truth, fold[store.name]))
    return asked


def foreign(store: CaseStore, stores: Sequence[CaseStore]) -> list[Case]:
    """Questions of other stores, chosen by hash so that the choice never moves."""
    others = [case.question for other in stores if other is not store for case in other.cases if case.answers]
    others.sort(key=lambda question: hashlib.sha256(f"{store.name}{question}".encode()).digest())
    return [Case(question, frozenset()) for question in others[:FOREIGN_QUESTIONS]]


def fit(asked: Sequence[Asked], *, ranks: bool, name: str) -> RecallModel:
    """Newton's method on the weighted logistic loss; every question weighs the same."""
    x = np.vstack([a.features for a in asked])
    y = np.concatenate([a.answers for a in asked]).astype(float)
    weight = np.concatenate([np.full(len(a.answers), 1 / len(a.answers)) for a in asked])
    weight *= len(y) / weight.sum()
    low, high = np.quantile(x, [0.001, 0.999], axis=0)
    clipped = x.clip(low, high)
    mean = np.average(clipped, axis=0, weights=weight)
    sd = np.sqrt(np.average((clipped - mean) ** 2, axis=0, weights=weight))
    sd[sd < 1e-6] = 1.0
    design = np.column_stack([(clipped - mean) / sd, np.ones(len(y))])
    penalty = np.diag([L2] * len(FEATURES) + [0.0])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (weight * (y - p)) - penalty @ beta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + penalty
        step = np.linalg.solve(hessian, gradient)
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    weights = tuple(
        Weight(feature, *(round(float(v), 6) for v in (mean[at], sd[at], beta[at], low[at], high[at])))
        for at, feature in enumerate(FEATURES)
    )
    return RecallModel(name, ranks, round(float(beta[-1]), 6), weights)


@dataclass(slots=True)
class Judged:
    """A question's outcome under a model that has not seen its store; the hits stand in the fixed fusion's order."""

    asked: Asked
    p: np.ndarray
    shown: np.ndarray  # as recall shows it: never growing down the list


def cross_validate(asked: Sequence[Asked]) -> list[Judged]:
    judged = []
    for fold in range(FOLDS):
        model = fit([a for a in asked if a.fold != fold], ranks=True, name=f"fold {fold}")
        for a in (a for a in asked if a.fold == fold):
            p = model.probabilities(a.features)
            judged.append(Judged(a, p, np.minimum.accumulate(p)))
    return judged


def report(judged: Sequence[Judged]) -> list[dict[str, float]]:
    for dense in (True, False):
        part = [j for j in judged if j.asked.dense == dense]
        answerable = [j for j in part if j.asked.answerable]
        print(f"\n{'with vectors' if dense else 'words alone'}: {len(part)} questions, {len(answerable)} answerable")
        for label in ("fixed fusion", "fitted model"):
            orders = [np.argsort(-j.p, kind="stable") if label == "fitted model" else slice(None) for j in answerable]
            hits = [np.flatnonzero(j.asked.answers[order]) for j, order in zip(answerable, orders, strict=True)]
            ranks = np.array([h[0] if len(h) else 999 for h in hits])
            print(
                f"  {label}: any@1 {np.mean(ranks < 1):.3f}  any@5 {np.mean(ranks < 5):.3f}  "
                f"any@10 {np.mean(ranks < 10):.3f}"
            )
        best = np.array([j.shown[0] for j in part])
        good = np.array([j.asked.answerable for j in part])
        pairs = (best[good][:, None] > best[~good][None, :]).mean()
        print(
            f"  first hit, shown score: answerable median {np.median(best[good]):.2f}, unanswerable median "
            f"{np.median(best[~good]):.2f} (95th percentile {np.quantile(best[~good], 0.95):.2f}); "
            f"separation (AUC) {pairs:.3f}"
        )
        for threshold in (0.1, 0.2, 0.3, 0.5):
            print(
                f"  abstain below {threshold:.1f}: answers kept {np.mean(best[good] >= threshold):.3f}, "
                f"unanswerable refused {np.mean(best[~good] < threshold):.3f}"
            )
    return reliability(judged)


def reliability(judged: Sequence[Judged]) -> list[dict[str, float]]:
    """Does a shown .7 mean that seven of ten such hits answer?"""
    top = [pair for j in judged for pair in zip(j.shown[:10], j.asked.answers[:10], strict=True)]
    print("\nreliability of the ten best hits of each question (stores unseen by the model)")
    print("  shown        n   mean shown   observed")
    table, error = [], 0.0
    p, y = np.array([t[0] for t in top]), np.array([t[1] for t in top], float)
    edges = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0001]
    for low, high in pairwise(edges):
        inside = (p >= low) & (p < high)
        if inside.any():
            shown, observed = float(p[inside].mean()), float(y[inside].mean())
            error += abs(shown - observed) * inside.mean()
            table.append({"p": round(shown, 4), "observed": round(observed, 4), "n": int(inside.sum())})
            print(f"  {low:.2f}-{min(high, 1):.2f} {inside.sum():6d}      {shown:.3f}       {observed:.3f}")
    print(f"  expected calibration error {error:.4f}, Brier {np.mean((p - y) ** 2):.4f}")
    return table


def channels(stores: Sequence[CaseStore], vectors: dict[str, np.ndarray]) -> None:
    """Each store by itself: the share of questions with an answer among the best 1 and 10."""
    print("| store | questions | words @1 / @10 | vectors @1 / @10 | both @1 / @10 |\n|---|---|---|---|---|")
    for store in stores:
        shelf, rows = shelve([store], vectors)
        cells = []
        for mode in ("lexical", "semantic", "hybrid"):
            ranks = []
            for case in (case for case in store.cases if case.answers):
                found = search(shelf, plan(case.question), Where(), 10, [vectors[case.question]], "s", mode=mode)
                wanted = {rows[f"{store.name}:{label}"] for label in case.answers}
                ranks.append(next((at for at, hit in enumerate(found.hits) if hit.row in wanted), 999))
            cells.append(f"{np.mean(np.array(ranks) < 1):.3f} / {np.mean(np.array(ranks) < 10):.3f}")
        print(f"| {store.name} | {len(ranks)} | {' | '.join(cells)} |")


def write(model: RecallModel, table: list[dict[str, float]], stores: Sequence[CaseStore], target: Path) -> None:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.txt")))).hexdigest()
    body = {
        "schema": 1,
        "name": model.name,
        "target": "recall",
        "feature_version": relevance.FEATURE_VERSION,
        "ranks": model.ranks,
        "features": [
            {"name": w.name, "mean": w.mean, "sd": w.sd, "weight": w.weight, "clip": [w.low, w.high]}
            for w in model.weights
        ],
        "intercept": model.intercept,
        "reliability": table,
        "trained_on": {"name": "bench/recall_cases", "sha256": digest, "cases": sum(len(s.cases) for s in stores)},
    }
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {TARGET}")
    parser.add_argument("--ranks", action="store_true", help="let the written model order the hits as well")
    parser.add_argument("--channels", action="store_true", help="compare the channels and stop")
    options = parser.parse_args()
    stores = read_stores()
    vectors = asyncio.run(embed(stores))
    if options.channels:
        channels(stores, vectors)
        return 0
    asked = ask(stores, vectors)
    table = report(cross_validate(asked))
    if options.write:
        write(fit(asked, ranks=options.ranks, name="recall"), table, stores, TARGET)
        print(f"\nwrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
