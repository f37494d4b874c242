"""Retrieval figures in one table: SQLite's BM25, ours by words, ours with the encoder; single stores and all in one.

    python -m bench.retrieval --harness .../retrieval/harness.py --data .../retrieval/locomo_dev [--json out.json]

The data set is not part of this repository (its licence allows evaluation only); harness and data are given by path.
Speeds are shown as ratios to FTS5 in the same run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any

ADAPTER = f"py:{Path(__file__).with_name('retrieval_adapter.py')}:Adapter"
SYSTEMS = {
    "fts5": ["--adapter", "fts5"],
    "words": ["--adapter", ADAPTER, "--adapter-args", '{"embedder": "none"}'],
    "words and vectors": ["--adapter", ADAPTER],
}
FLOORS = {  # level, pooled -> any@10, all@10 of the last system
    ("turn", False): (0.87, 0.77),
    ("turn", True): (0.85, 0.0),
    ("session", False): (0.98, 0.92),
}
WORDS_FLOOR = 0.85  # turn any@10 without the encoder


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("harness", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder with turn/ and session/")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    harness, results, failed = load(options.harness), [], []
    print(
        "| set | system | any@1 | any@5 | any@10 | all@10 | MRR | latency / fts5 | ingest / fts5 |\n" + "|---" * 9 + "|"
    )
    for level in ("turn", "session"):
        for pooled in (False, True):
            base: dict[str, Any] = {}
            for name, arguments in SYSTEMS.items():
                command = [
                    "--data",
                    str(options.data / level),
                    "--audited",
                    *(["--pool"] if pooled else []),
                    *arguments,
                ]
                with contextlib.redirect_stdout(io.StringIO()):
                    found = harness.main(command)
                base = base or found
                o = found["overall"]
                slower = found["latency_ms"]["p50"] / base["latency_ms"]["p50"]
                ingest = found["ingest_per_s"] / base["ingest_per_s"]
                label = f"{level}{', pooled' if pooled else ''}"
                print(
                    f"| {label} | {name} | {o['any@1']:.3f} | {o['any@5']:.3f} | {o['any@10']:.3f} | {o['all@10']:.3f} "
                    f"| {o['mrr']:.3f} | {slower:.1f} | {ingest:.3f} |",
                    flush=True,
                )
                results.append(found | {"system": name})
                floor = FLOORS.get((level, pooled), (0.0, 0.0)) if name == "words and vectors" else (0.0, 0.0)
                if name == "words" and (level, pooled) == ("turn", False):
                    floor = (WORDS_FLOOR, 0.0)
                if o["any@10"] < floor[0] or o["all@10"] < floor[1]:
                    failed.append(f"{label}, {name}: any@10 and all@10 must reach {floor}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    print("\n".join(failed) or "every floor is reached")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
