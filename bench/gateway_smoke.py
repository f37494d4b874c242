"""What the gateway costs, in half a minute: the same calls to the same small server, directly and through `remora mcp`.

All sides are open at once and take turns, so that other load on the machine falls on all of them alike. Every reply is
checked, and a wrong one ends the run with status 1; how long something took is only shown.

    python bench/gateway_smoke.py [--calls 300] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pipe import Pipe, WrongReply
from table import render, times

UPSTREAM = [sys.executable, str(Path(__file__).with_name("upstream.py"))]
REMORA = [sys.executable, "-m", "remora", "mcp"]
TURN = 20
BIG = 1_000_000


@dataclass(slots=True)
class Side:
    """One way to the server, and what was measured on it."""

    name: str
    command: list[str]
    prefix: str = ""
    modern: bool = False
    first_ms: float = 0.0
    memory_mb: float | None = None
    echo_ms: list[float] = field(default_factory=list)
    big_ms: list[float] = field(default_factory=list)
    pipelined: float = 0.0
    parallel_ms: float = 0.0

    @contextlib.asynccontextmanager
    async def opened(self, environ: Mapping[str, str]):  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        pipe = await Pipe.to(self.command, environ, self.modern)
        try:
            await pipe.greet()
            await pipe.request("tools/list", {})
            await pipe.call(f"{self.prefix}echo", {"text": "first"}, "first")
            self.first_ms = (time.perf_counter() - began) * 1000
            yield pipe
            self.memory_mb = resident_mb(pipe.pid)
        finally:
            await pipe.close()

    async def echo(self, pipe: Pipe, salt: str) -> None:
        for number in range(TURN):
            text = f"echo {salt} {number}"
            self.echo_ms.append(await timed(pipe.call(f"{self.prefix}echo", {"text": text}, text)))

    async def big(self, pipe: Pipe, more: int) -> None:
        wanted = "b" * (BIG + more)
        self.big_ms.append(await timed(pipe.call(f"{self.prefix}blob", {"n": len(wanted)}, wanted)))

    async def many(self, pipe: Pipe, salt: str) -> None:
        texts = [f"many {salt} {number}" for number in range(200)]
        took = await timed(asyncio.gather(*(pipe.call(f"{self.prefix}echo", {"text": t}, t) for t in texts)))
        self.pipelined = max(self.pipelined, len(texts) / took * 1000)

    async def wait(self, pipe: Pipe) -> None:
        calls = (pipe.call(f"{self.prefix}wait", {"ms": 300}, "waited") for _ in range(20))
        self.parallel_ms = await timed(asyncio.gather(*calls))

    def figures(self) -> dict[str, float | None]:
        return {
            "first_ms": round(self.first_ms, 1),
            "echo_p50_ms": round(median(self.echo_ms), 3),
            "big_p50_ms": round(median(self.big_ms), 2),
            "pipelined_per_s": round(self.pipelined),
            "parallel_20x300_ms": round(self.parallel_ms, 1),
            "memory_mb": self.memory_mb,
        }


async def timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


def resident_mb(pid: int) -> float | None:
    """What the process itself holds in memory, where the system tells (Linux)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), None)


async def measured(calls: int) -> list[Side]:
    sides = [
        Side("direct", UPSTREAM),
        Side("remora", REMORA, "up__"),
        Side("remora, client of 2026-07-28", REMORA, "up__", modern=True),
    ]
    async with contextlib.AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remora-bench-")))
        command, arguments = json.dumps(UPSTREAM[0]), json.dumps(UPSTREAM[1:])
        (home / "config.toml").write_text(f"[servers.up]\ncommand = {command}\nargs = {arguments}\n")
        environ = {**os.environ, "REMORA_HOME": str(home), "REMORA_DAEMON": "off"}
        pipes = [await stack.enter_async_context(side.opened(environ)) for side in sides]
        open_sides = list(zip(sides, pipes, strict=True))
        for turn in range(max(1, calls // TURN)):
            for side, pipe in open_sides[:: -1 if turn % 2 else 1]:
                await side.echo(pipe, f"{turn}")
        for turn in range(10):
            for side, pipe in open_sides:
                await side.big(pipe, turn)
        for turn in range(3):
            for side, pipe in open_sides:
                await side.many(pipe, f"{turn}")
        for side, pipe in open_sides:
            await side.wait(pipe)
    return sides


def table(sides: list[Side]) -> str:
    base, *others = [side.figures() for side in sides]
    rows = []
    for key, label in (
        ("echo_p50_ms", "one call, p50 ms"),
        ("big_p50_ms", "a result of 1 MB, p50 ms"),
        ("pipelined_per_s", "pipelined calls per second"),
        ("parallel_20x300_ms", "20 calls of 300 ms at once, ms"),
        ("first_ms", "start to first answer, ms"),
        ("memory_mb", "memory, MB"),
    ):
        cells = [f"{base[key]:,}" if base[key] is not None else "-"]
        for figures in others:
            value, direct = figures[key], base[key]
            cells.append(f"{value:,} ({times(value, direct)})" if value is not None and direct else "-")
        rows.append([label, *cells])
    rows.insert(1, ["added to a call, p50 ms", "-",
                    *(f"{round(one['echo_p50_ms'] - base['echo_p50_ms'], 3):,}" for one in others)])  # fmt: skip
    return render(["", *(side.name for side in sides)], rows)


def run(calls: int, json_file: Path | None) -> int:
    try:
        sides = asyncio.run(measured(calls))
    except (WrongReply, TimeoutError) as problem:
        print(f"wrong reply: {problem or 'none in time'}", file=sys.stderr)
        return 1
    print(table(sides))
    if json_file is not None:
        json_file.write_text(json.dumps({side.name: side.figures() for side in sides}, indent=1) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300, help="calls one after another, per side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    given = parser.parse_args()
    return run(given.calls, given.json)


if __name__ == "__main__":
    sys.exit(main())
