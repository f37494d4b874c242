"""Logs without secrets: JSON lines in `remora.log`, and what each upstream says on its stderr.

Files turn over by size and may be shared by several processes. Lines of upstreams are cut, redacted and written by a
thread, so that a talkative server costs the event loop nothing but handing over.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TextIO

log = logging.getLogger(__name__)

TRACE = 5
LEVELS = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
LOG_BYTES, LOG_BACKUPS = 5_000_000, 5
UPSTREAM_BYTES, UPSTREAM_BACKUPS = 1_000_000, 3
LINE_LIMIT = 8_192
PENDING_LIMIT = 1_000_000  # bytes of one upstream's stderr that may wait to be written
REST_SECONDS = 1.0  # an unfinished line is written after this silence
DRAIN_SECONDS = 1.0


def setup_logging(folder: Path, level: str, stderr: bool) -> None:
    """Ours from `level` on, of libraries only warnings; calling it again replaces what was set up before."""
    logging.addLevelName(TRACE, "TRACE")
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, (_FileHandler, _StderrHandler))]:
        root.removeHandler(handler)
        handler.close()
    root.addHandler(_FileHandler(folder / "remora.log"))
    if stderr:
        root.addHandler(_StderrHandler())
    root.setLevel(max(logging.WARNING, LEVELS[level]))
    logging.getLogger("remora").setLevel(LEVELS[level])


class RotatingFile:
    """Bytes appended to a file of mode 0600 that is renamed to `.1`, `.2`, … when it has grown to `limit`.

    Opened for every write: another process may have turned it over meanwhile, and nothing is left open. Never
    raises: a log that cannot be written must not stop what it tells about.
    """

    def __init__(self, path: Path, limit: int, backups: int) -> None:
        self._path = path
        self._limit = limit
        self._backups = backups

    def write(self, data: bytes) -> None:
        try:
            descriptor = self._open()
            try:
                if os.fstat(descriptor).st_size + len(data) > self._limit:
                    self._turn_over(descriptor)
                    os.close(descriptor)
                    descriptor = self._open()
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self._path, flags, 0o600)

    def _turn_over(self, descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)  # given back when the descriptor is closed
        try:
            if not os.path.samestat(os.stat(self._path), os.fstat(descriptor)):
                return  # another process was faster
        except FileNotFoundError:
            return  # and has not yet begun the next
        for number in range(self._backups - 1, 0, -1):
            older = Path(f"{self._path}.{number}")
            if older.exists():
                older.rename(f"{self._path}.{number + 1}")
        self._path.rename(f"{self._path}.1")


class _FileHandler(logging.Handler):
    """One JSON object a line; control characters are escaped by JSON, so that nobody forges a line."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = RotatingFile(path, LOG_BYTES, LOG_BACKUPS)

    def emit(self, record: logging.LogRecord) -> None:
        line = {
            "ts": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            "pid": record.process,
        }
        if record.exc_info or record.stack_info:
            line["trace"] = _trace(record)
        self._file.write(_one_line(json.dumps(line, ensure_ascii=False)).encode("utf-8", "replace") + b"\n")


class _StderrHandler(logging.Handler):
    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        text = f"remora: {record.levelname.lower()}: {_one_line(_message(record))}"
        if record.exc_info and record.levelno >= logging.ERROR:
            text += "\n" + "\n".join(map(_one_line, _trace(record).split("\n")))
        try:
            print(text, file=self._stream or sys.stderr, flush=True)
        except (OSError, ValueError):
            pass  # nobody listens any more


def _message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except (TypeError, ValueError):
        text = f"{record.msg} {record.args}"
    return _redacted(text)


def _trace(record: logging.LogRecord) -> str:
    formatter = logging.Formatter()
    text = formatter.formatException(record.exc_info) if record.exc_info else ""
    return _redacted(f"{text}\n{record.stack_info}" if record.stack_info else text)


def _one_line(text: str) -> str:
    """Control characters and line separators as JSON escapes: no text forges a line or moves the cursor."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _redacted(text: str) -> str:
    from remora.privacy.output import redact_text

    if len(text) > LINE_LIMIT:
        text = f"{text[:LINE_LIMIT]} … {len(text) - LINE_LIMIT} characters more"
    return redact_text(text)


class UpstreamLog:
    """`upstream-NAME.log` of one server. `write` belongs to the event loop, the rest to the writing thread."""

    def __init__(self, folder: Path, name: str) -> None:
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        self._file = RotatingFile(folder / f"upstream-{safe}.log", UPSTREAM_BYTES, UPSTREAM_BACKUPS)
        self._given = self._lost = 0  # changed by the event loop only
        self._taken = self._told = 0  # changed by the thread only
        self._rest = b""
        self._in_key = False

    def write(self, data: bytes) -> None:
        """Hand over what came; what comes faster than it can be written is counted and left out."""
        if self._given - self._taken > PENDING_LIMIT:
            self._lost += len(data)
            return
        self._given += len(data)
        _writer.put(self, data)

    def take(self, data: bytes, last: bool) -> bool:
        """Whole lines go to the file, at `last` the rest too; whether something is left that waits for its end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._rest and (last or len(self._rest) > LINE_LIMIT):
            lines.append(self._rest)
            self._rest = b""
        if lost := self._lost - self._told:
            lines.append(b"(%d bytes came too fast and were left out)" % lost)
            self._told += lost
        if lines:
            self._file.write("".join(map(self._line, lines)).encode("utf-8", "replace"))
        self._taken += len(data)
        return bool(self._rest)

    def _line(self, raw: bytes) -> str:
        text = raw[:LINE_LIMIT].decode("utf-8", "replace").rstrip("\r")
        if len(raw) > LINE_LIMIT:
            text += f" … {len(raw) - LINE_LIMIT} bytes more"
        # A private key comes in lines that look innocent one by one.
        if self._in_key:
            ended = "-----END " in text
            self._in_key = not ended and re.fullmatch(r"[A-Za-z0-9+/=:,. -]*", text) is not None
            if ended or self._in_key:
                return ""
        elif "PRIVATE KEY" in text and "-----BEGIN " in text and "-----END " not in text:
            self._in_key = True
            text = text[: text.index("-----BEGIN ")] + "‹redacted:private_key›"
        return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {_one_line(_redacted(text))}\n"


class _Writer:
    """The one thread that writes for all upstreams; begun with the first line, drained when the process ends."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[UpstreamLog, bytes] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, target: UpstreamLog, data: bytes) -> None:
        self._queue.put((target, data))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="upstream-logs", daemon=True)
            self._thread.start()
            atexit.register(self.drain)

    def drain(self) -> None:
        """Everything handed over so far is in the files, or a second has passed."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(DRAIN_SECONDS)
            self._thread = None

    def _work(self) -> None:
        waiting: set[UpstreamLog] = set()
        while True:
            try:
                item = self._queue.get(timeout=REST_SECONDS if waiting else None)
            except Empty:
                self._finish(waiting)
                continue
            if item is None:
                self._finish(waiting)
                return
            if self._take(*item):
                waiting.add(item[0])
            else:
                waiting.discard(item[0])

    def _finish(self, waiting: set[UpstreamLog]) -> None:
        """The last words of a server need not end with a new line."""
        for target in waiting:
            self._take(target, b"", True)
        waiting.clear()

    def _take(self, target: UpstreamLog, data: bytes, last: bool = False) -> bool:
        try:
            return target.take(data, last)
        except Exception:  # the root of a background thread: one odd line must not end it
            log.exception("a line of an upstream's stderr could not be written")
            return False


_writer = _Writer()
