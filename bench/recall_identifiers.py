"""Two hundred random codes among ten thousand memories: does each question that names one get its memory first?

    python -m bench.recall_identifiers [--memories 10000] [--codes 200] [--embedder auto|none]

Codes of several shapes stand in sentences of common words; each also has near neighbours that differ by one digit.
Exit 1 unless every code is found first.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from remora import Memory

LETTERS, DIGITS, HEX = "ABCDEFGHJKLMNPQRSTUVWXYZ", "0123456789", "0123456789abcdef"
WORDS = (
    "build server order invoice customer payment cache queue login report deploy review ticket sensor pump valve"
    "meeting contract parcel device backup release session window driver index filter budget travel garden recipe"
).split()
QUESTIONS = (
    "what do we know about {}?",
    "which {word} belongs to {}",
    "status of the {word} {}",
    "{}",
    "why did {} fail?",
)


def code(rng: random.Random) -> str:
    def some(letters: str, count: int) -> str:
        return "".join(rng.choices(letters, k=count))

    return rng.choice(
        (
            lambda: f"{some(LETTERS, 2)}-{some(DIGITS, 6)}",
            lambda: some(HEX, 8) + rng.choice("abcdef"),
            lambda: f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{some(DIGITS, 3)}",
            lambda: f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}{some(DIGITS, 3)}.py",
            lambda: f"{rng.choice(WORDS)}{rng.choice(WORDS).title()}{rng.choice(WORDS).title()}{some(DIGITS, 2)}",
            lambda: f"{some(DIGITS, 3)}.{some(DIGITS, 2)}.{some(DIGITS, 3)}.{some(DIGITS, 2)}",
        )
    )()


def sentence(rng: random.Random, name: str) -> str:
    before, after = rng.choices(WORDS, k=rng.randint(4, 10)), rng.choices(WORDS, k=rng.randint(2, 8))
    return " ".join([*before, name, *after])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--codes", type=int, default=200)
    parser.add_argument("--embedder", default="auto")
    options = parser.parse_args()
    rng = random.Random(20)
    names = list(dict.fromkeys(code(rng) for _ in range(options.memories * 2)))[: options.memories]
    texts = [sentence(rng, name) for name in names]
    wanted = rng.sample(range(len(names)), options.codes)
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", embedder=options.embedder) as memory:
        started = time.perf_counter()
        ids: list[str] = []
        for start in range(0, len(texts), 500):
            ids += [stored.id for stored in memory.store_many(texts[start : start + 500])]
        memory.wait_indexed()
        print(f"{len(ids)} memories stored and indexed in {time.perf_counter() - started:.1f} s")
        started, missed = time.perf_counter(), []
        for at in wanted:
            question = rng.choice(QUESTIONS).format(names[at], word=rng.choice(WORDS))
            hits = memory.recall(question, limit=5)
            if not hits or hits[0].id != ids[at]:
                missed.append((question, names[at], hits[0].content if hits else None))
        spent = (time.perf_counter() - started) / len(wanted) * 1000
    print(f"recall@1 {1 - len(missed) / len(wanted):.3f} of {len(wanted)} codes, {spent:.1f} ms a query")
    for question, name, got in missed[:10]:
        print(f"  missed {name!r} by {question!r}: {got!r}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
