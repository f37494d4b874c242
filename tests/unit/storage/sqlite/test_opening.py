from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from remora.errors import StorageUnavailable, WrongFormat
from remora.storage.sqlite import opening
from remora.storage.sqlite.store import SqliteStore


def test_libraries_that_lose_commits_are_refused() -> None:
    with pytest.raises(StorageUnavailable, match=r"3\.51\.2 can lose commits"):
        opening.check_library("3.51.2")
    opening.check_library("3.51.3")


@pytest.mark.parametrize("role", ["writer", "reader"])
async def test_every_setting_reads_back(tmp_path: Path, role: str) -> None:
    path = tmp_path / "memory.db"
    SqliteStore.open(path).close_now()
    connection = opening.connect(path, writable=True, role=role)
    expected = {
        "page_size": 8192,
        "auto_vacuum": 2,
        "journal_mode": "wal",
        "synchronous": 1,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "recursive_triggers": 0,
        "temp_store": 2 if role == "writer" else 1,
        "cache_size": -32768 if role == "writer" else -8192,
        "application_id": opening.APPLICATION_ID,
    }
    assert {name: connection.pragma(name) for name in expected} == expected
    assert connection.pragma("query_only") == (role == "reader")
    connection.close()


def test_files_are_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "memory.db"
    SqliteStore.open(path).close_now()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    SqliteStore.open(path).close_now()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_other_files_are_left_as_they_are(tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "foreign.db"
    text.write_text("not a database, but long enough to be looked at" * 50)
    connection = apsw.Connection(str(foreign))
    connection.execute("CREATE TABLE memory_embeddings (x)")
    connection.close()
    for path, error in ((text, StorageUnavailable), (foreign, WrongFormat)):
        before = path.read_bytes()
        with pytest.raises(error):
            SqliteStore.open(path)
        assert path.read_bytes() == before


def test_network_file_systems_are_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    assert opening.file_system(tmp_path / "memory.db", str(mounts)) == "nfs4"
    assert opening.file_system(Path("/"), str(mounts)) == "ext4"
    monkeypatch.setattr(opening, "file_system", lambda path: "nfs4")
    with pytest.raises(StorageUnavailable, match="network file system") as refused:
        SqliteStore.open(tmp_path / "memory.db")
    assert "PostgreSQL" in str(refused.value.hint)
    store = SqliteStore.open(tmp_path / "memory.db", allow_network=True)
    assert store._reader().pragma("journal_mode") == "delete"
    store.close_now()


async def test_a_newer_schema_is_read_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    SqliteStore.open(path).close_now()
    connection = opening.connect(path, writable=True, role="writer")
    connection.pragma("user_version", 99)
    connection.close()
    store = SqliteStore.open(path)
    assert not store.writable
    assert await store.read(lambda view: view.namespaces()) == {}
    with pytest.raises(StorageUnavailable) as refused:
        await store.set_meta("a", "b")
    assert refused.value.code == "read_only"
    await store.close()


def test_a_failing_migration_leaves_the_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    SqliteStore.open(path).close_now()
    bad = tmp_path / "memory_0002.sql"
    bad.write_text("CREATE TABLE fine (x); CREATE TABLE broken (;")
    known = opening.steps()
    monkeypatch.setattr(opening, "steps", lambda: [*known, (2, bad)])
    with pytest.raises(StorageUnavailable, match="migration 2 failed"):
        SqliteStore.open(path)
    monkeypatch.undo()
    assert list((tmp_path / "backups").glob("*pre-migration.db"))
    store = SqliteStore.open(path)
    assert store.writable
    store.close_now()


def test_a_changed_migration_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    SqliteStore.open(path).close_now()
    monkeypatch.setattr(opening, "_digest", lambda step: "other")
    with pytest.raises(StorageUnavailable, match="not the one"):
        SqliteStore.open(path)


@pytest.fixture
def run_as_nobody() -> Callable[[Path, Callable[[], None]], int]:
    """Root may write everywhere, so the check runs in a child with fewer rights."""

    def run(folder: Path, work: Callable[[], None]) -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.getuid() == 0:
                    os.setgid(65534)
                    os.setuid(65534)
                work()
                code = 0
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


def test_a_read_only_folder_is_only_read(
    tmp_path: Path, run_as_nobody: Callable[[Path, Callable[[], None]], int]
) -> None:
    path = tmp_path / "memory.db"
    SqliteStore.open(path).close_now()
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == os.getuid() and place != Path("/"):
            place.chmod(0o755)
    path.chmod(0o644)
    tmp_path.chmod(0o555)

    def work() -> None:
        assert not opening.prepare_file(path, allow_network=False)

    try:
        assert run_as_nobody(tmp_path, work) == 0
    finally:
        tmp_path.chmod(0o755)
