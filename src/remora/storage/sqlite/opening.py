"""Opening the precious file: version gate, settings read back one by one, whose file it is, migrations."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from remora.errors import StorageUnavailable, WrongFormat
from remora.storage.matching import scope_matches

log = logging.getLogger(__name__)

APPLICATION_ID = 0x52454D31  # "REM1"
OLDEST_SQLITE = (3, 51, 3)
BUSY_MS = 30_000
MAPPED = 2_147_418_112  # bytes of the file read in place, the most that SQLite allows; shared with all processes
MIGRATIONS = Path(__file__).parent / "migrations"
LOCAL_FUSE = ("fuseblk", "fuse.lxcfs", "fuse.ext4")
NETWORK_TYPES = (
    "nfs",
    "nfs4",
    "cifs",
    "smb",
    "smb2",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "grpcfuse",
    "virtiofs",
)
COMPANIONS = ("-wal", "-shm")


def check_library(version: str | None = None) -> None:
    """Refuse SQLite libraries that can lose commits when several processes share a WAL file."""
    found = version or apsw.sqlite_lib_version()
    if tuple(map(int, found.split("."))) < OLDEST_SQLITE:
        raise StorageUnavailable(
            f"SQLite {found} can lose commits in WAL mode; 3.51.3 or later is needed", code="sqlite_too_old"
        )
    if "ENABLE_FTS5" not in apsw.compile_options:
        raise StorageUnavailable("this SQLite was built without FTS5", code="no_fts5")


def file_system(path: Path, mounts: str = "/proc/self/mounts") -> str:
    """The type of the file system that holds `path`, "" where it cannot be told."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    target = str(path.resolve())
    best, kind = "", ""
    for line in lines:
        _, point, this, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, this
    return kind


def is_network(kind: str) -> bool:
    return kind in NETWORK_TYPES or (kind.startswith("fuse") and kind not in LOCAL_FUSE)


def prepare_file(path: Path, *, allow_network: bool) -> bool:
    """Make the file if there is none, narrow its mode, say whether it can be written."""
    kind = file_system(path.parent if path.parent.exists() else Path("/"))
    if is_network(kind) and not allow_network:
        raise StorageUnavailable(
            f"{path} lies on a network file system ({kind}), where SQLite's write-ahead log is not safe",
            code="network_file_system",
            hint="move it to a local path, use PostgreSQL, or set [storage.sqlite] allow_network_fs = true",
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass
    except OSError as cause:
        raise StorageUnavailable(f"cannot create {path}: {cause.strerror}", hint="choose another path") from cause
    if path.is_dir():
        raise StorageUnavailable(f"{path} is a directory")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    if writable and stat.S_IMODE(path.stat().st_mode) & 0o077:
        log.warning("%s could be read by other users: its mode is now 0600", path)
        path.chmod(0o600)
    return writable


def connect(
    path: Path, *, writable: bool, role: str = "reader", network: bool = False, full: bool = False
) -> Connection:
    """One connection with every setting of ours; a setting that does not take is an error, not a surprise later."""
    flags = apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY
    try:
        connection = Connection(str(path), flags=flags)
    except apsw.CantOpenError as cause:
        raise StorageUnavailable(f"cannot open {path}: {cause}") from cause
    try:
        # Half a second while opening: a held lock is reported soon, then the long patience of writers applies.
        connection.set_busy_timeout(BUSY_MS)
        if writable:
            _own(connection, path)
            _journal(connection, network=network)
            _set(connection, "synchronous", 2 if full or network else 1)
        for name, value in (
            ("foreign_keys", 1),
            ("trusted_schema", 0),
            ("recursive_triggers", 0),
            ("cache_size", -32768 if role == "writer" else -8192),
            # What a reader sorts may spill into a file: the catalog of a million rows is sorted once, at start.
            ("temp_store", 2 if role == "writer" else 1),
            ("mmap_size", 0 if network or os.name == "nt" else MAPPED),
        ):
            _set(connection, name, value)
        if role == "writer":
            _set(connection, "wal_autocheckpoint", 1000)
            _set(connection, "journal_size_limit", 67_108_864)
            _set(connection, "secure_delete", "fast", 2)
            connection.transaction_mode = "IMMEDIATE"
        else:
            _set(connection, "query_only", 1)
        connection.make_functions()
        return connection
    except apsw.NotADBError as cause:
        connection.close()
        raise StorageUnavailable(f"{path} is not a database; it was left as it is", code="not_a_database") from cause
    except apsw.CorruptError as cause:
        connection.close()
        raise StorageUnavailable(
            f"{path} is damaged: {cause}",
            code="damaged",
            hint="remora mem backup restore brings back the newest backup",
        ) from cause
    except apsw.BusyError as cause:
        connection.close()
        raise StorageUnavailable(f"{path} is locked by another process", code="locked") from cause
    except BaseException:
        connection.close()
        raise


class Connection(apsw.Connection):
    """A connection and what its SQL functions answer from. They are made once: making them anew would throw away every
    prepared statement."""

    now: int | None = None  # the time of the view that runs; None = the clock

    def make_functions(self) -> None:
        def now(*_: Any) -> int:
            return time.time_ns() // 1000 if self.now is None else self.now

        def holds(*given: Any) -> bool:
            return given[1] in given[0].casefold()

        def matches(*given: Any) -> bool:
            return scope_matches(given[0], given[1])

        self.create_scalar_function("remora_now", now, 0, flags=apsw.SQLITE_INNOCUOUS)
        self.create_scalar_function("holds", holds, 2)
        self.create_scalar_function("scope_matches", matches, 2)


def _own(connection: apsw.Connection, path: Path) -> None:
    owner = connection.pragma("application_id")
    if owner == APPLICATION_ID:
        return
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if tables:
        known = "memento" if tables >= {"memories"} else ""
        known = "mcp-memory-service" if "memory_embeddings" in tables or "memory_graph" in tables else known
        raise WrongFormat(
            f"{path} is a database of {known or 'another program'}; it was left as it is",
            hint=f"remora mem import --from {known} {path}" if known else "choose another path",
        )
    connection.pragma("page_size", 8192)
    connection.pragma("auto_vacuum", 2)


def _journal(connection: apsw.Connection, *, network: bool) -> None:
    wanted = "delete" if network else "wal"
    answer = connection.pragma("journal_mode", wanted)
    if answer != wanted:
        raise StorageUnavailable(
            f"the file system refuses SQLite's {wanted} journal (it answers {answer!r})",
            code="no_wal",
            hint="use a local path, or set [storage.sqlite] allow_network_fs = true",
        )


def _set(connection: apsw.Connection, name: str, value: int | str, answer: int | None = None) -> None:
    connection.pragma(name, value)
    found = connection.pragma(name)
    if found != (value if answer is None else answer):
        raise StorageUnavailable(f"SQLite did not take {name} = {value} (it says {found})")


def steps() -> list[tuple[int, Path]]:
    return sorted((int(path.name.split("_")[1].removesuffix(".sql")), path) for path in MIGRATIONS.glob("memory_*.sql"))


def schema_version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def newer_than_known(connection: apsw.Connection) -> bool:
    return schema_version(connection) > steps()[-1][0]


def migrate(connection: apsw.Connection, version: str, before: Callable[[], None]) -> None:
    """Apply what is pending, each step in a transaction of its own; `before` makes the backup of a non-empty file."""
    known = steps()
    found = schema_version(connection)
    if found > known[-1][0]:
        raise StorageUnavailable(
            f"the store has schema {found}, this program knows {known[-1][0]}",
            code="newer_schema",
            hint="upgrade remora; reading is still possible",
        )
    if found:
        for number, name, digest in connection.execute("SELECT n, name, sha256 FROM migrations"):
            step = dict(known).get(number)
            if step is not None and _digest(step) != digest:
                raise StorageUnavailable(f"migration {number} ({name}) is not the one this store was made with")
    if found and found < known[-1][0]:
        before()
    for number, step in known:
        if number > found:
            _apply(connection, number, step, version)


def _apply(connection: apsw.Connection, number: int, step: Path, version: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if schema_version(connection) < number:  # another process may have been first
            connection.pragma("application_id", APPLICATION_ID)
            connection.execute(step.read_text(encoding="utf-8"))
            connection.execute(
                "INSERT INTO migrations VALUES (?, ?, ?, ?, ?)",
                (number, step.stem, _digest(step), time.time_ns() // 1000, version),
            )
            connection.pragma("user_version", number)
        connection.execute("COMMIT")
    except apsw.Error as cause:
        connection.execute("ROLLBACK")
        raise StorageUnavailable(f"migration {number} failed: {cause}", code="migration_failed") from cause


def _digest(step: Path) -> str:
    return hashlib.sha256(step.read_bytes()).hexdigest()
