"""Changes the tuner made to the configuration: made, written down, guarded, taken back exactly."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from remora.config import edit
from remora.config.files import write_private
from remora.config.layout import has
from remora.config.outline import dotted
from remora.config.source import parse, read_text
from remora.errors import RemoraError
from remora.gateway.tuning import evidence
from remora.gateway.tuning.rules import AUTOMATIC, Recommendation, recommend

if TYPE_CHECKING:
    import apsw

    from remora.config.load import Loaded
    from remora.storage.sqlite.state import StateDb

DAY = 86_400.0
REST_SECONDS = 7 * DAY
GUARD_CALLS, GUARD_WORSE = 20, 1.2
COPIES_KEPT = 50
Status = Literal["applied", "rolled_back", "auto_rolled_back"]
COLUMNS = ("id", "ts", "server", "tool", "rule", "field", "old", "new", "reason", "evidence", "status", "by",
           "ended")  # fmt: skip
ROWS = f"SELECT {', '.join(COLUMNS)} FROM tuning_log ORDER BY id"
INSERT = f"INSERT INTO tuning_log ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
MARK = "UPDATE tuning_log SET status = ?, ended = ? WHERE id = ?"
NEXT = "SELECT coalesce(max(id), 0) + 1 FROM tuning_log"


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the log. `old` None: the field was not set."""

    id: int
    ts: float
    server: str
    tool: str
    rule: str
    field: str
    old: Any
    new: Any
    reason: str
    evidence: dict[str, Any]
    status: Status
    by: Literal["user", "auto"]
    ended: float | None = None

    @property
    def key(self) -> tuple[str, ...]:
        return ("servers", self.server, "tools", self.tool, *self.field.split("."))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS}

    def to_row(self) -> list[Any]:
        packed = {"old": None if self.old is None else json.dumps(self.old), "new": json.dumps(self.new),
                  "evidence": json.dumps(self.evidence)}  # fmt: skip
        return [packed.get(name, getattr(self, name)) for name in COLUMNS]

    @staticmethod
    def from_row(row: Iterable[Any]) -> Change:
        given = dict(zip(COLUMNS, row, strict=True))
        unpacked = {name: json.loads(given[name]) for name in ("old", "new", "evidence") if given[name] is not None}
        return Change(**(given | unpacked))


class Changes:
    """The log in state.db, with a copy beside the backups of the configuration: state.db may be deleted."""

    def __init__(self, state: StateDb, loaded: Loaded) -> None:
        self._state = state
        self.loaded = loaded
        self._folder = loaded.paths.config_backups / "tuning"

    async def history(self) -> list[Change]:
        rows = await self._state.read(lambda db: [Change.from_row(row) for row in db.execute(ROWS)])
        return rows or await self._from_copy()

    async def recommended(self, since: float, tool: str = "") -> tuple[list[evidence.Evidence], list[Recommendation]]:
        found = await evidence.collect(self._state, since, tool)
        recent = time.time() - REST_SECONDS
        resting = [
            (each.server, each.tool, each.rule)
            for each in await self.history()
            if each.status == "auto_rolled_back" and (each.ended or 0) >= recent
        ]
        return found, recommend(self.loaded.config, found, resting)

    async def apply(self, chosen: Iterable[Recommendation], by: Literal["user", "auto"] = "user") -> list[Change]:
        """Each as one edit of the file and one row of the log."""
        made = []
        for one in chosen:
            await self.history()  # the rows of a deleted log come back first, so that numbers go on
            path, key = self.loaded.path, dotted(one.key)
            before = read_text(path) or ""
            old = _value(before, path, one.key)
            edit.set_value(path, key, one.value, backups=self.loaded.paths.config_backups)
            found = {**one.evidence.to_json(), "digest": edit.digest(read_text(path) or "")}
            number = await self._state.run(lambda db: int(next(iter(db.execute(NEXT)))[0]))
            change = Change(number, time.time(), one.server, one.tool, one.rule, one.field, old, one.value, one.reason,
                            found, "applied", by)  # fmt: skip
            self._keep_before(number, before)
            await self._write(change)
            made.append(change)
        return made

    async def roll_back(self, which: str, status: Status = "rolled_back") -> Change:
        """Take back one change by its number, or the `last` that is in force."""
        applied = [change for change in await self.history() if change.status == "applied"]
        if which == "last":
            change = applied[-1] if applied else None
        else:
            change = next((one for one in applied if str(one.id) == which), None)
        if change is None:
            raise RemoraError("nothing is applied" if which == "last" else f"no applied change has the number {which}")
        path = self.loaded.path
        now = _value(read_text(path) or "", path, change.key)
        if now != change.new:
            told = "is not set" if now is None else f"is {json.dumps(now)}"
            raise RemoraError(f"{dotted(change.key)} {told} by now, not {json.dumps(change.new)}: nothing was changed")
        self._take_back(change, path)
        ended = time.time()
        await self._state.run(lambda db: db.execute(MARK, (status, ended, change.id)) and None)
        await self._copy_log()
        return next(one for one in await self.history() if one.id == change.id)

    def _take_back(self, change: Change, path: Path) -> None:
        """The very bytes if nothing else was changed since, else the old value alone."""
        backups = self.loaded.paths.config_backups
        before = read_text(self._before(change.id))
        if before is not None and edit.put_back(path, before, change.evidence.get("digest", ""), backups=backups):
            return
        if change.old is not None:
            edit.set_value(path, dotted(change.key), change.old, backups=backups)
        else:
            edit.unset_value(path, dotted(change.key), backups=backups)

    async def guard(self) -> list[Change]:
        """Take back what made things worse: judged by the first answers after each change."""
        ended = []
        for change in [one for one in await self.history() if one.status == "applied"]:
            after = await evidence.first_after(self._state, change.server, change.tool, change.ts, GUARD_CALLS)
            if after is None or not after.rate > 0 or after.rate < change.evidence.get("rate", 0.0) * GUARD_WORSE:
                continue
            try:
                ended.append(await self.roll_back(str(change.id), "auto_rolled_back"))
            except RemoraError:
                continue  # somebody set it by hand since: it is theirs now
        return ended

    async def automatic(self, since: float) -> list[Change]:
        """Apply what is certain: one change per tool and day, never a field that a person set."""
        history, chosen = await self.history(), list[Recommendation]()
        busy = {(one.server, one.tool) for one in history if one.by == "auto" and one.ts > time.time() - DAY}
        text = read_text(self.loaded.path) or ""
        for one in (await self.recommended(since))[1]:
            written = _value(text, self.loaded.path, one.key)
            ours = next((c.new for c in reversed(history) if c.key == one.key and c.status == "applied"), None)
            if (
                one.rule in AUTOMATIC
                and one.confidence == "high"
                and (one.server, one.tool) not in busy
                and written == ours
            ):
                busy.add((one.server, one.tool))
                chosen.append(one)
        return await self.apply(chosen, "auto")

    # -- where it is kept --------------------------------------------------------------------------------------------

    async def _write(self, change: Change) -> None:
        await self._state.run(lambda db: db.execute(INSERT, change.to_row()) and None)
        await self._copy_log()

    def _before(self, number: int) -> Path:
        return self._folder / f"{number:06d}-before.toml"

    def _keep_before(self, number: int, text: str) -> None:
        write_private(self._before(number), text)
        for old in sorted(self._folder.glob("*-before.toml"))[:-COPIES_KEPT]:
            old.unlink(missing_ok=True)

    async def _copy_log(self) -> None:
        rows = await self._state.read(lambda db: [list(row) for row in db.execute(ROWS)])
        write_private(self._folder / "log.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    async def _from_copy(self) -> list[Change]:
        """After state.db was deleted: the log from its copy, put back into the table."""
        lines = (read_text(self._folder / "log.jsonl") or "").splitlines()
        rows = [json.loads(line) for line in lines]

        def write(db: apsw.Connection) -> None:
            db.execute("DELETE FROM tuning_log")
            db.executemany(INSERT, rows)

        if rows:
            await self._state.run(write)
        return [Change.from_row(row) for row in rows]


def _value(text: str, path: Path, key: tuple[str, ...]) -> Any:
    """What the file itself says of a key; None if it says nothing."""
    data: Any = parse(text, path) if text else {}
    if not has(data, key):
        return None
    for part in key:
        data = data[part]
    return data
