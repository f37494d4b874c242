"""What an agent missed in an answer that was made small."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from remora.errors import UsageError
from remora.privacy.output import redact_text

if TYPE_CHECKING:
    import apsw

    from remora.config.model import Config
    from remora.storage.sqlite.state import StateDb

Kind = Literal["truncated", "missing_example", "missing_metadata", "wrong_topic", "other"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_CHARS = 2_000
RECENT_SECONDS = 1_800

# An answer of which something was left out.
REDUCED = """outcome = 'ok' AND handle IS NOT NULL AND out_tokens < in_tokens
  AND coalesce(strategy, 'none') <> 'none' AND strategy NOT LIKE '%lossless'"""
NEWEST = f"""
SELECT trace_id FROM calls WHERE server = :server AND tool = :tool AND ts >= :since AND {REDUCED}
ORDER BY session IS :session DESC, id DESC LIMIT 1
"""
INSERT = """
INSERT INTO compression_feedback (ts, server, tool, kind, missing, trace_id, session) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
COUNTS = """
SELECT server, tool, kind, count(*) FROM compression_feedback
WHERE ts >= :since AND (:tool = '' OR tool = :tool OR server || '/' || tool = :tool) GROUP BY 1, 2, 3
"""


class Given(NamedTuple):
    server: str
    tool: str
    missing: str
    kind: str = "other"
    trace_id: str | None = None
    session: str | None = None


def named(config: Config, server: str, tool: str) -> tuple[str, str]:
    """The server by name or prefix, the tool by its own or its served name."""
    prefixes = config.prefixes()
    name = (
        server if server in prefixes else next((each for each, prefix in prefixes.items() if prefix == server), server)
    )
    return name, tool.removeprefix(f"{prefixes.get(name, name)}__")


async def record(state: StateDb, config: Config, given: Given) -> str | None:
    """Kept without its secrets; the trace of the answer it is about, where one is found."""
    if given.kind not in KINDS:
        raise UsageError(f"unknown kind {given.kind!r}; one of {', '.join(KINDS)}")
    if not given.missing.strip():
        raise UsageError("missing: say what was missing")
    if len(given.missing) > MOST_CHARS:
        raise UsageError(f"missing: at most {MOST_CHARS:,} characters")
    server, tool = named(config, given.server, given.tool)
    text, now = redact_text(given.missing), time.time()
    place = {"server": server, "tool": tool, "since": now - RECENT_SECONDS, "session": given.session}

    def write(db: apsw.Connection) -> str | None:
        trace = given.trace_id
        if not trace:
            found = next(iter(db.execute(NEWEST, place)), None)
            trace = found[0] if found else None
        db.execute(INSERT, (now, server, tool, given.kind, text, trace, given.session))
        return trace

    return await state.run(write)


async def counts(state: StateDb, since: float = 0.0, tool: str = "") -> list[tuple[str, str, str, int]]:
    """(server, tool, kind, how often)."""
    given: dict[str, Any] = {"since": since, "tool": tool}
    return await state.read(lambda db: [(row[0], row[1], row[2], row[3]) for row in db.execute(COUNTS, given)])
