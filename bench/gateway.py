"""The gateway beside a direct connection and beside a peer, in one run, for clients of both protocol generations.

Runs the comparison suite in ../shared/bench/gateway, prints what it measured as one table per kind of client, and says
for each floor whether it held. Exit status 1 if a reply was wrong or a floor was missed. Where the suite is not at
hand, the gateway is measured beside the direct connection alone (bench/gateway_smoke.py).

    python bench/gateway.py [--rounds 3] [--calls 300] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import gateway_smoke
from table import render

SUITE = Path(__file__).resolve().parents[2] / "shared" / "bench" / "gateway"
PEER, PEER_VERSION = "memtomem-stm", "0.6.9"
REMORA = [sys.executable, "-m", "remora"]
CLIENTS = {"legacy": "A client of the handshake generation (up to 2025-11-25)", "modern": "A client of 2026-07-28"}


@dataclass(frozen=True, slots=True)
class Figures:
    """One run of the suite; each figure is the median of its rounds, ratios are taken within a round."""

    report: Mapping[str, Any]

    def rows(self, side: str) -> list[Mapping[str, Any]]:
        return [row for row in self.report["rounds"] if row["label"] == side]

    def of(self, side: str, key: str) -> float | None:
        values = [row[key] for row in self.rows(side) if row.get(key) is not None]
        return median(values) if values else None

    def ratio(self, side: str, base: str, key: str) -> float | None:
        pairs = [(a.get(key), b.get(key)) for a, b in zip(self.rows(side), self.rows(base), strict=False)]
        values = [a / b for a, b in pairs if a is not None and b]
        return median(values) if values else None

    def added(self, side: str) -> float | None:
        found = self.report.get(f"{side}_over_direct", {}).get("added_echo_p50_ms")
        return None if found is None else float(found)

    def added_ratio(self) -> float | None:
        ours, theirs = self.added("gateway"), self.added("peer")
        return ours / theirs if ours is not None and theirs else None

    def wrong(self) -> list[str]:
        return [
            f"{row['label']}: {'; '.join(map(str, row['wrong']))}" for row in self.report["rounds"] if "wrong" in row
        ]


@dataclass(frozen=True, slots=True)
class Floor:
    says: str
    value: Callable[[Figures], float | None]
    holds: Callable[[float], bool]
    unit: str = ""


FLOORS = (
    Floor("added to a call: at most half of the peer's", Figures.added_ratio, lambda v: v <= 0.5, " x"),
    Floor("pipelined calls: at least 3 times the peer's rate",
          lambda f: f.ratio("gateway", "peer", "pipelined_200_per_s"), lambda v: v >= 3, " x"),
    Floor("a result of 1 MB: at most 2.5 times direct",
          lambda f: f.ratio("gateway", "direct", "mb1_p50_ms"), lambda v: v <= 2.5, " x"),
    Floor("20 calls of 300 ms at once: at most 0.45 s",
          lambda f: f.of("gateway", "parallel_20x300ms_s"), lambda v: v <= 0.45, " s"),
    Floor("start to first result: at most the peer's",
          lambda f: f.ratio("gateway", "peer", "first_call_s"), lambda v: v <= 1, " x"),
    Floor("memory with two servers: at most 90 MB",
          lambda f: f.of("gateway", "rss_mb"), lambda v: v <= 90, " MB"),
)  # fmt: skip


# -- running the suite ----------------------------------------------------------------------------------------------


def prepare(home: Path) -> dict[str, str]:
    """A home with the suite's two servers in it, and the environment that names it."""
    environ = {**os.environ, "REMORA_HOME": str(home), "REMORA_DAEMON": "off"}
    for name in ("up", "idle"):
        server = [sys.executable, str(SUITE / "upstream.py"), name]
        add = [*REMORA, "add", name, "--prefix", name, "--", *server]
        subprocess.run(add, env=environ, check=True, stdout=subprocess.DEVNULL)
    return environ


def peer_command() -> str | None:
    done = subprocess.run([str(SUITE / "peer.sh"), PEER_VERSION], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip()
    print(f"{PEER} {PEER_VERSION} could not be set up, so it is left out: {done.stderr.strip()}", file=sys.stderr)
    return None


def measure(era: str, peer: str | None, rounds: int, calls: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="remora-bench-") as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable,
            str(SUITE / "bench.py"),
            "--gateway",
            shlex.join([*REMORA, "mcp"]),
            "--prefix",
            "up__",
        ]
        command += ["--era", era, "--rounds", str(rounds), "--calls", str(calls), "--json", str(report)]
        command += ["--peer", peer] if peer else []
        subprocess.run(command, env=prepare(Path(folder) / "home"), check=False, stdout=subprocess.DEVNULL)
        if not report.exists():
            raise SystemExit("the comparison suite gave no report")
        return Figures(json.loads(report.read_text()))


# -- telling --------------------------------------------------------------------------------------------------------


def table(figures: Figures) -> str:
    sides = [side for side in ("gateway", "peer") if figures.rows(side)]
    names = {"gateway": "Remora", "peer": f"{PEER} {PEER_VERSION}"}

    def row(label: str, key: str, unit: str, digits: int, compared: bool = True) -> list[str]:
        cells = [_number(figures.of("direct", key), unit, digits)]
        for side in sides:
            ratio = figures.ratio(side, "direct", key) if compared else None
            cell = _number(figures.of(side, key), unit, digits)
            cells.append(f"{cell} ({_times(ratio)})" if ratio is not None else cell)
        return [label, *cells]

    big = row("a result of 1 MB", "mb1_p50_ms", " ms", 1)
    for at, side in enumerate(sides, 2):
        kept = figures.ratio(side, "direct", "mb1_reply_chars")
        if kept is not None and kept < 0.99:
            big[at] += f", cut to {kept:.0%}"
    rows = [
        ["added to a call (median)", "-", *(_number(figures.added(side), " ms", 2) for side in sides)],
        row("pipelined calls a second", "pipelined_200_per_s", "", 0, compared=False),
        big,
        row("20 calls of 300 ms at once", "parallel_20x300ms_s", " s", 2, compared=False),
        row("start to first result", "first_call_s", " s", 2, compared=False),
        row("memory, two servers behind it", "rss_mb", " MB", 0, compared=False),
    ]
    return render(["", "direct", *(names[side] for side in sides)], rows)


def _number(value: float | None, unit: str, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}{unit}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} x direct" if ratio < 10 else f"{ratio:.0f} x direct"


def verdicts(figures: Figures) -> list[dict[str, Any]]:
    found = []
    for floor in FLOORS:
        value = floor.value(figures)
        verdict = "not measured" if value is None else "ok" if floor.holds(value) else "missed"
        found.append({"floor": floor.says, "value": value, "unit": floor.unit.strip(), "verdict": verdict})
    return found


def tell(era: str, figures: Figures) -> dict[str, Any]:
    print(f"\n{CLIENTS[era]}:\n\n{table(figures)}\n")
    floors = verdicts(figures)
    for one in floors:
        value = "" if one["value"] is None else f"  ({one['value']:.2f} {one['unit']})"
        print(f"{one['verdict']:<13}{one['floor']}{value}")
    for problem in figures.wrong():
        print(f"wrong reply  {problem}")
    return {"client": era, "floors": floors, "wrong": figures.wrong(), "suite": figures.report}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is started anew")
    parser.add_argument("--calls", type=int, default=300, help="calls one after another, per side and round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and verdicts there")
    given = parser.parse_args()
    if not SUITE.is_dir():
        print(f"{SUITE} is not there: without the peer, beside the direct connection alone.\n")
        return gateway_smoke.run(given.calls, given.json)
    peer = peer_command()
    told = [tell(era, measure(era, peer, given.rounds, given.calls)) for era in CLIENTS]
    if given.json is not None:
        given.json.write_text(json.dumps(told, indent=1) + "\n")
    missed = any(one["verdict"] == "missed" for each in told for one in each["floors"])
    return 1 if missed or any(each["wrong"] for each in told) else 0


if __name__ == "__main__":
    sys.exit(main())
