"""Reading another program's SQLite database without touching it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from remora.errors import StorageUnavailable

MAGIC = b"SQLite format 3\0"


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as handle:
        return handle.read(16) == MAGIC


class Foreign:
    """Tables and rows of a database that is only read."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def columns(self) -> dict[str, list[str]]:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        names = [name for (name,) in self._connection.execute(sql)]
        return {name: [row[1] for row in self._connection.execute(f'PRAGMA table_info("{name}")')] for name in names}

    def rows(self, table: str) -> list[dict[str, Any]]:
        cursor = self._connection.execute(f'SELECT * FROM "{table}"')
        try:
            names = [column[0] for column in cursor.get_description()]
        except apsw.ExecutionCompleteError:
            return []
        return [dict(zip(names, row, strict=True)) for row in cursor]


@contextlib.contextmanager
def open_foreign(path: Path) -> Iterator[Foreign]:
    """A copy of the file and its log is opened, so that not even a lock reaches the original."""
    with tempfile.TemporaryDirectory(prefix="remora-import-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        log = Path(f"{path}-wal")
        if log.is_file():
            shutil.copyfile(log, f"{copy}-wal")
        try:
            with contextlib.closing(apsw.Connection(str(copy))) as connection:
                connection.pragma("query_only", 1)
                yield Foreign(connection)
        except (apsw.NotADBError, apsw.CorruptError) as cause:
            raise StorageUnavailable(f"{path} is damaged: {cause}", code="bad_format") from cause
