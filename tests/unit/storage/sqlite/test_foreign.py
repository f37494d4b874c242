from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from remora.errors import StorageUnavailable
from remora.storage.sqlite.foreign import is_sqlite, open_foreign


def test_rows_in_the_log_are_read_and_the_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute("CREATE TABLE t (a, b)")
    db.execute("INSERT INTO t VALUES (1, 'x')")
    before = sorted(child.name for child in tmp_path.iterdir())
    with open_foreign(path) as source:
        assert source.columns() == {"t": ["a", "b"]}
        assert source.rows("t") == [{"a": 1, "b": "x"}]
    assert sorted(child.name for child in tmp_path.iterdir()) == before
    db.close()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(b"SQLite format 3\0" + b"garbage" * 1000)
    assert is_sqlite(path)
    with pytest.raises(StorageUnavailable) as refused, open_foreign(path) as source:
        source.columns()
    assert refused.value.code == "bad_format"
