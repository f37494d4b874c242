from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from remora.config.load import Loaded, load
from remora.storage.sqlite.state import StateDb

CONFIG = (
    '# mine\n[servers.git]\ncommand = "uvx"\nargs = ["mcp-server-git"]\n\n# its neighbour\n[cache]\nenabled = true\n'
)
Calls = Callable[..., Awaitable[None]]
INSERT = """
INSERT INTO calls (ts, trace_id, server, tool, outcome, cache, ms_total, session, handle, strategy, type, in_tokens,
  out_tokens, in_bytes, ms_compress, call_key, units_total, units_kept)
VALUES (:ts, :trace, :server, :tool, 'ok', 'off', 5, :session, :handle, :strategy, :type, :tokens_in, :tokens_out,
  :bytes, :ms, :key, 100, 20)
"""


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "home" / "state.db")
    yield state
    await state.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Loaded]:
    def written(text: str) -> Loaded:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(text)
        return load(home, environ={"HOME": str(tmp_path)})

    return written


@pytest.fixture
def loaded(write: Callable[[str], Loaded]) -> Loaded:
    return write(CONFIG)


@pytest.fixture
def calls(state: StateDb) -> Calls:
    """Record `count` reduced answers of git/log, of which `recovered` were read on."""

    async def record(count: int, recovered: int = 0, ago: float = 60.0, **more: Any) -> None:
        base = {"server": "git", "tool": "log", "session": "s1", "strategy": "auto→log", "type": "log",
                "tokens_in": 20_000, "tokens_out": 4_000, "bytes": 60_000, "ms": 5.0, "key": None}  # fmt: skip
        now = time.time() - ago

        def insert(db: Any) -> None:
            for n in range(count):
                handle = f"{now}-{n}"
                row = {**base, "ts": now + n / 1000, "trace": f"t{n}", "handle": handle, **more}
                db.execute(INSERT, row)
                if n < recovered:
                    db.execute(
                        "INSERT INTO recoveries (ts, handle, mode, out_tokens) VALUES (?, ?, 'range', 100)",
                        (now + n / 1000 + 1, row["handle"]),
                    )

        await state.run(insert)

    return record
