"""Run the suite against a URL and count its checks: `python -m tests.contract.conformance.runner --url URL`."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
VERSIONS = (HANDSHAKE, MODERN)
SUITE_SECONDS = 300
FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
PROTOCOL_LOG = {  # what was sent and received, which is no verdict
    "outgoing-request",
    "incoming-response",
    "incoming-sse-event",
    "stream-closed",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict of the suite; `raw` is all it wrote about it."""

    scenario: str
    raw: dict[str, Any]

    @property
    def status(self) -> str:
        return str(self.raw["status"])

    @property
    def name(self) -> str:
        return f"{self.scenario}:{self.raw['id']}"

    def __str__(self) -> str:
        why = self.raw.get("errorMessage") or self.raw.get("description", "")
        return f"{self.name}: {why}"


@dataclass(frozen=True, slots=True)
class Report:
    """All verdicts of one run."""

    version: str
    checks: list[Check]
    seconds: float

    def having(self, status: str) -> list[Check]:
        return [check for check in self.checks if check.status == status]

    @property
    def failures(self) -> list[str]:
        return [str(check) for check in self.having("FAILURE")]

    @property
    def passed(self) -> int:
        return len(self.having("SUCCESS"))

    def counts(self) -> dict[str, Any]:
        return {
            "scenarios": len({check.scenario for check in self.checks}),
            "passed": self.passed,
            "failed": len(self.failures),
            "warnings": len(self.having("WARNING")),
            "skipped": len(self.having("SKIPPED")),
            "failures": self.failures,
        }

    def lost(self, other: Report) -> Counter[str]:
        """The checks that passed in `other` and did not here, with how often."""
        return Counter(c.name for c in other.having("SUCCESS")) - Counter(c.name for c in self.having("SUCCESS"))

    def row(self, title: str) -> str:
        counts = self.counts()
        numbers = "  ".join(
            f"{counts[key]:>4} {key}" for key in ("scenarios", "passed", "failed", "warnings", "skipped")
        )
        return f"{self.version}  {title:<28} {numbers}  {self.seconds:5.1f} s"


def suite_folder() -> Path:
    """Where `install.sh` puts the suite."""
    return Path(os.environ.get("REMORA_CONFORMANCE_DIR") or HERE.parents[2] / ".cache" / "conformance")


def install() -> None:
    subprocess.run([str(HERE / "install.sh")], check=True)


def run(url: str, version: str, scenario: str | None = None) -> Report:
    """Run every server scenario of a revision, or one of them."""
    modules = suite_folder() / "node_modules"
    command = [modules / "node" / "bin" / "node", modules / ".bin" / "conformance", "server", "--url", url]
    command += ["--spec-version", version, *(["--scenario", scenario] if scenario else ["--suite", "all"])]
    with tempfile.TemporaryDirectory() as results:
        started = time.monotonic()
        done = subprocess.run(
            [*map(str, command), "-o", results], capture_output=True, text=True, timeout=SUITE_SECONDS, check=False
        )
        seconds = time.monotonic() - started
        if "SKIPPED: scenario" in done.stdout:  # it does not belong to this revision
            return Report(version, [], seconds)
        checks = [check for folder in sorted(Path(results).iterdir()) for check in read(folder)]
    if done.returncode not in (0, 1) or not checks:
        raise RuntimeError(f"the suite did not run (exit {done.returncode}):\n{done.stdout}\n{done.stderr}")
    return Report(version, checks, seconds)


def read(folder: Path) -> list[Check]:
    """The checks of one scenario; a scenario that left none has crashed."""
    named = FOLDER.fullmatch(folder.name)
    scenario = named["scenario"] if named else folder.name
    file = folder / "checks.json"
    if not file.exists():
        crash = {"id": "no-result", "status": "FAILURE", "errorMessage": "the scenario ended without a result"}
        return [Check(scenario, crash)]
    return [Check(scenario, raw) for raw in json.loads(file.read_text())]


def show(report: Report, verbose: bool) -> None:
    """Print what did not pass, or with `verbose` every check and all the suite wrote about it."""
    for check in report.checks:
        if verbose:
            print(f"{check.status:<8} {check}\n{json.dumps(check.raw.get('details'), indent=2)}")
        elif check.status != "SUCCESS" and check.raw["id"] not in PROTOCOL_LOG:
            print(f"{check.status:<8} {check}")
    print(report.row(""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--spec-version", choices=VERSIONS, action="append", help="default: both")
    parser.add_argument("--scenario", help="run only this one")
    parser.add_argument("--verbose", action="store_true", help="print every check with its details")
    parser.add_argument("--json", metavar="FILE", help="write the counts of each version there")
    given = parser.parse_args()
    install()
    reports = [run(given.url, version, given.scenario) for version in given.spec_version or VERSIONS]
    for report in reports:
        show(report, given.verbose)
    if given.json:
        counts = {report.version: report.counts() for report in reports}
        Path(given.json).write_text(json.dumps(counts, indent=2) + "\n")
    return 1 if any(report.failures for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
