"""Copies of the file while it is in use, and putting one back."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

import apsw

from remora.errors import StorageUnavailable, WrongFormat
from remora.storage.sqlite.opening import APPLICATION_ID, COMPANIONS, newer_than_known

PAGES = 256
PAUSE_SECONDS = 0.005
RESTARTS = 3


def backup(path: Path, target: Path) -> None:
    """Copy in small steps, so that no writer waits; then open the copy and check it."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if target.exists():
        raise StorageUnavailable(f"{target} exists already")
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as source:
            source.set_busy_timeout(30_000)
            _copy(source, target)
        check(target)
    except (apsw.Error, StorageUnavailable) as cause:
        target.unlink(missing_ok=True)
        raise StorageUnavailable(f"no backup was made at {target}: {cause}") from cause


def _copy(source: apsw.Connection, target: Path) -> None:
    with contextlib.closing(apsw.Connection(str(target))) as copy:
        restarts, last = 0, 0
        with copy.backup("main", source, "main") as steps:
            while not steps.done and restarts <= RESTARTS:
                try:
                    steps.step(PAGES)
                except apsw.BusyError:
                    time.sleep(PAUSE_SECONDS)
                    continue
                # A write of another process makes SQLite begin anew.
                restarts += steps.remaining > last > 0
                last = steps.remaining
                time.sleep(PAUSE_SECONDS)
            done = steps.done
    if not done:
        target.unlink()
        source.execute("VACUUM INTO ?", (str(target),))


def check(path: Path) -> None:
    """The copy opens, is ours, is sound and not newer than this program."""
    if not path.is_file():
        raise StorageUnavailable(f"{path} does not exist", code="not_found")
    with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        try:
            if connection.pragma("application_id") != APPLICATION_ID:
                raise WrongFormat(f"{path} is not a memory store of remora")
            if newer_than_known(connection):
                raise StorageUnavailable(f"{path} was made by a newer remora", code="newer_schema")
            answer = connection.pragma("quick_check")
        except apsw.Error as cause:
            raise StorageUnavailable(f"{path} is damaged: {cause}", code="damaged") from cause
        if answer != "ok":
            raise StorageUnavailable(f"{path} is damaged: {answer}", code="damaged")


def swap(source: Path, path: Path) -> None:
    """Put a copy of `source` at `path` in one step; an interruption leaves the old store."""
    fresh = path.with_name(f"{path.name}.restoring-{os.getpid()}")
    shutil.copyfile(source, fresh)
    fresh.chmod(0o600)
    try:
        check(fresh)
        with open(fresh, "rb") as handle:
            os.fsync(handle.fileno())
        with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as old:
            old.set_busy_timeout(30_000)
            # Empty the old log first: it must never be applied to the new file.
            old.pragma("wal_checkpoint", "TRUNCATE")
        os.replace(fresh, path)
        for suffix in COMPANIONS:
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    finally:
        fresh.unlink(missing_ok=True)


def before_migration(path: Path) -> None:
    backup(path, path.parent / "backups" / f"memory_backup_{time.strftime('%Y%m%d_%H%M%S')}.pre-migration.db")
