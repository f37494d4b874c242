from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import apsw
import pytest

from remora.storage.sqlite import connection
from remora.storage.sqlite.connection import StateUnavailable, identity_of, open_disposable


def opened(path: Path, **rest: object) -> apsw.Connection:
    return open_disposable(path, "state", **rest).connection  # type: ignore[arg-type]


def damaged_files(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.glob(f"{path.name}.damaged-*"))


def test_a_new_file_is_private_and_shared_by_wal(tmp_path):
    path = tmp_path / "deep" / "state.db"
    db = opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("user_version") >= 1
    assert db.pragma("auto_vacuum") == 2


def test_opening_again_keeps_what_is_there(tmp_path):
    path = tmp_path / "state.db"
    db = opened(path)
    db.execute("INSERT INTO manifests VALUES ('git', 'f', NULL, '{}', 0)")
    db.close()
    assert opened(path).execute("SELECT server FROM manifests").fetchall() == [("git",)]
    assert damaged_files(path) == []


def test_leftovers_of_a_deleted_file_are_removed_first(tmp_path):
    path = tmp_path / "state.db"
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").write_bytes(b"of a database that is gone" * 100)
    assert opened(path).execute("SELECT count(*) FROM calls").fetchall() == [(0,)]


@pytest.mark.parametrize(
    "content",
    [b"not a database, but longer than its header of one hundred bytes" * 9, b"SQLite format 3\0" + b"\xff" * 4000],
)
def test_a_damaged_file_is_kept_aside_once(tmp_path, caplog, content):
    path = tmp_path / "state.db"
    Path(f"{path}.damaged-20200101T000000").write_bytes(b"an earlier one")
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert opened(path).execute("SELECT count(*) FROM calls").fetchall() == [(0,)]
    assert "made anew" in caplog.text
    (kept,) = damaged_files(path)
    assert (tmp_path / kept).read_bytes() == content


def test_a_database_of_another_program_is_not_written(tmp_path):
    path = tmp_path / "state.db"
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    opened(path).close()
    (kept,) = damaged_files(path)
    assert apsw.Connection(str(tmp_path / kept)).execute("SELECT count(*) FROM theirs").fetchall() == [(0,)]


def test_a_newer_schema_is_set_aside(tmp_path):
    path = tmp_path / "state.db"
    db = opened(path)
    known = db.pragma("user_version")
    db.pragma("user_version", known + 1)
    db.close()
    assert opened(path).pragma("user_version") == known
    assert len(damaged_files(path)) == 1


def test_a_directory_in_its_place_is_set_aside(tmp_path):
    path = tmp_path / "state.db"
    path.mkdir()
    assert opened(path).pragma("user_version") >= 1


def test_a_file_found_damaged_in_use_is_replaced_once(tmp_path):
    path = tmp_path / "state.db"
    first = opened(path)
    broken = identity_of(path)
    second = opened(path, damaged=broken)
    assert identity_of(path) != broken
    third = opened(path, damaged=broken)
    assert len(damaged_files(path)) == 1
    for db in (first, second, third):
        db.close()


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateUnavailable, match=r"state\.db"):
        open_disposable(tmp_path / "file" / "state.db", "state")


def test_an_old_sqlite_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(StateUnavailable, match="too old"):
        opened(tmp_path / "state.db")
    assert not (tmp_path / "state.db").exists()


def test_no_descriptors_left_is_no_reason_to_set_a_good_file_aside(tmp_path, monkeypatch):
    path = tmp_path / "state.db"
    opened(path).close()

    def fail(*_: object, **__: object) -> None:
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(apsw, "Connection", fail)
    with pytest.raises(StateUnavailable):
        opened(path)
    assert damaged_files(path) == []
    assert os.path.getsize(path) > 0
