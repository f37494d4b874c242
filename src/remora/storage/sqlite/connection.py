"""Opening a disposable SQLite file: its settings, its migrations, and a new file where the old one is no good.

Whatever stands at the path (nothing, garbage, somebody else's database, a newer schema) ends as a working file; what
was there is kept once, as `NAME.damaged-TIME`. Creating and setting aside happen under a lock file, because processes
that share the path would otherwise pull each other's write-ahead log away.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from remora.errors import UnavailableError

if TYPE_CHECKING:
    import apsw

log = logging.getLogger(__name__)

APPLICATION_ID = 0x52454D53
BUSY_TIMEOUT_MS = 30_000
OLDEST_SQLITE = (3, 51, 3)  # before it, processes sharing a WAL file could lose commits
MIGRATIONS = Path(__file__).parent / "migrations"
COMPANIONS = ("-wal", "-shm", "-journal")


class StateUnavailable(UnavailableError):
    """The file can be neither used nor made anew; everything but warmth goes on without it."""

    code = "state_unavailable"


class _Unusable(Exception):
    """A readable database that is not ours to write."""


class Identity(NamedTuple):
    """Tells one file at a path from the next; the number is not reused while we hold the file open."""

    device: int
    inode: int


class Opened(NamedTuple):
    connection: apsw.Connection
    identity: Identity


def identity_of(path: Path) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Identity(found.st_dev, found.st_ino)


def open_disposable(path: Path, kind: str, *, damaged: Identity | None = None) -> Opened:
    """Open `path` with the migrations `kind_*.sql`; `damaged` names a file that a caller found broken in use."""
    import apsw

    if tuple(map(int, apsw.sqlite_lib_version().split("."))) < OLDEST_SQLITE:
        raise StateUnavailable(f"SQLite {apsw.sqlite_lib_version()} is too old: 3.51.3 or newer is needed")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _creation_lock(path):
            if damaged is not None and identity_of(path) == damaged:
                _set_aside(path, "it was found damaged in use")
            try:
                return _open(path, kind)
            except (_Unusable, apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.ReadOnlyError) as cause:
                _set_aside(path, str(cause))
            except apsw.CantOpenError as cause:
                if path.is_file() and os.access(path, os.R_OK | os.W_OK):
                    raise  # the file is fine, the system is not (no descriptors left, for one)
                _set_aside(path, str(cause))
            return _open(path, kind)
    except (OSError, apsw.Error) as cause:
        raise StateUnavailable(f"{path}: {cause}") from cause


@contextmanager
def _creation_lock(path: Path) -> Iterator[None]:
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path, kind: str) -> Opened:
    import apsw

    fresh = _create(path)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        if fresh:
            connection.pragma("auto_vacuum", 2)  # later it would want the write lock, and change nothing
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        _migrate(connection, kind)
        identity = identity_of(path)
        if identity is None:
            raise StateUnavailable(f"{path} was removed while it was opened")
        return Opened(connection, identity)
    except BaseException:
        connection.close()
        raise


def _create(path: Path) -> bool:
    """An empty file of mode 0600, without the leftovers of a deleted one; False if there is one."""
    if os.path.lexists(path):
        return False
    for suffix in COMPANIONS:
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    # Only ever a file that did not exist: closing any descriptor of a database in use drops this process's locks on it.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    return True


def _migrate(connection: apsw.Connection, kind: str) -> None:
    steps = sorted(MIGRATIONS.glob(f"{kind}_*.sql"))
    numbers = [int(step.name.split("_")[1]) for step in steps]
    owner, version = connection.pragma("application_id"), connection.pragma("user_version")
    if owner != APPLICATION_ID and connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise _Unusable("it is the database of another program")
    if version > numbers[-1]:
        raise _Unusable(f"its schema {version} is newer than this program's {numbers[-1]}")
    if version == numbers[-1]:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.pragma("application_id", APPLICATION_ID)
        for number, step in zip(numbers, steps, strict=True):
            if number > version:
                connection.execute(step.read_text(encoding="utf-8"))
        connection.pragma("user_version", numbers[-1])
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _set_aside(path: Path, reason: str) -> None:
    for earlier in path.parent.glob(f"{path.name}.damaged-*"):
        if earlier.is_file():
            earlier.unlink()
    for suffix in COMPANIONS:
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if os.path.lexists(path):
        kept = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        path.rename(kept)
        log.warning("%s could not be used (%s): kept as %s, made anew", path, reason, kept.name)
