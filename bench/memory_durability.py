"""Does an acknowledged write survive: processes are killed while they write, then every acknowledged id is looked for.

python bench/memory_durability.py --rounds 100 --processes 4
python bench/memory_durability.py --writers 4 --transactions 1000
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from remora import Memory


def write_until_killed(path: str, acknowledged: str, seed: int) -> None:
    """Store, and note each id only when the store has answered."""
    rng = random.Random(seed)
    memory = Memory(path, embedder="none")
    with open(acknowledged, "ab", buffering=0) as log:
        number = 0
        while True:
            number += 1
            if rng.random() < 0.2:
                ids = memory.store_many([f"batch {seed} {number} {n}" for n in range(rng.randint(2, 20))])
                log.write(b"".join(f"{one}\n".encode() for one in ids))
            else:
                key = f"process.k{rng.randrange(5)}" if rng.random() < 0.2 else None
                one = memory.store(f"text {seed} {number} {rng.random()}", subject_key=key, dedup="off")
                log.write(f"{one}\n".encode())


def transactions(path: str, count: int, seed: int, errors: multiprocessing.Queue[str]) -> None:
    """Each reads, decides and writes, as every store does."""
    memory = Memory(path, embedder="none")
    for number in range(count):
        try:
            memory.store(f"writer {seed} row {number}", tags=[f"w{seed}"], dedup="off")
        except Exception as cause:  # noqa: BLE001  whatever goes wrong is what this bench is looking for
            errors.put(f"{seed}/{number}: {cause!r}")
    memory.close()


def killed_rounds(folder: Path, rounds: int, processes: int) -> tuple[int, int, list[str]]:
    """Gives acknowledged ids, ids that are missing, and failed checks."""
    context = multiprocessing.get_context("spawn")
    path, rng = folder / "memory.db", random.Random(1)
    Memory(path, embedder="none").close()
    known: set[str] = set()
    missing, failed = 0, list[str]()
    for number in range(rounds):
        logs = [folder / f"ack-{number}-{at}" for at in range(processes)]
        workers = [
            context.Process(target=write_until_killed, args=(str(path), str(log), number * processes + at))
            for at, log in enumerate(logs)
        ]
        for worker in workers:
            worker.start()
        while not any(log.exists() and log.stat().st_size for log in logs):
            time.sleep(0.01)
        time.sleep(rng.uniform(0.05, 0.6))
        for worker in workers:
            os.kill(worker.pid or 0, signal.SIGKILL)
        for worker in workers:
            worker.join()
        for log in logs:
            if log.exists():
                whole = log.read_bytes().rpartition(b"\n")[0]
                known |= set(whole.decode().split())
        with Memory(path, embedder="none") as memory:
            here = {record.id for record in memory.list(1_000_000, include_superseded=True)}
            missing += len(known - here)
            checks = memory.verify(deep=number == rounds - 1)
            failed += [f"round {number}: {check}" for check in checks if check[0] == "FAIL"]
    return len(known), missing, failed


def contended(folder: Path, writers: int, count: int) -> tuple[int, float, list[str]]:
    """Gives the rows found, transactions a second, and errors."""
    context = multiprocessing.get_context("spawn")
    path = folder / "contended.db"
    Memory(path, embedder="none").close()
    errors: multiprocessing.Queue[str] = context.Queue()
    workers = [context.Process(target=transactions, args=(str(path), count, at, errors)) for at in range(writers)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - began
    found = []
    while not errors.empty():
        found.append(errors.get())
    with Memory(path, embedder="none") as memory:
        rows = memory.stats()["memories"]
        found += [str(check) for check in memory.verify(deep=True) if check[0] == "FAIL"]
    return rows, writers * count / took, found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--writers", type=int, default=0)
    parser.add_argument("--transactions", type=int, default=1000)
    given = parser.parse_args()
    bad = False
    with tempfile.TemporaryDirectory(prefix="remora-durable-") as folder:
        if given.rounds:
            known, missing, failed = killed_rounds(Path(folder), given.rounds, given.processes)
            print(f"{given.rounds} rounds of kill -9, {given.processes} processes:", end=" ")
            print(f"{known} acknowledged, {missing} missing, {failed or 'sound'}")
            bad |= bool(missing or failed)
        if given.writers:
            rows, rate, errors = contended(Path(folder), given.writers, given.transactions)
            print(f"{given.writers} writers x {given.transactions}: {rows} rows, {rate:.0f}/s, {errors or '0 errors'}")
            bad |= bool(errors) or rows != given.writers * given.transactions
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
