"""Lines out of chunks. One newline-delimited message may be far bigger than what a pipe hands over at once."""

from __future__ import annotations

from collections.abc import Callable

EDGE = 4096


class LineSplitter:
    """Feed chunks, get whole lines. A line over `limit` is skipped; its first and last 4 KiB are handed over."""

    def __init__(
        self, limit: int, on_line: Callable[[bytes], None], on_overflow: Callable[[bytes, bytes], None]
    ) -> None:
        self._limit = limit
        self._on_line = on_line
        self._on_overflow = on_overflow
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> None:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end] if start or self._parts or self._skipping else data[:end])
            self._finish()
            start = end + 1
        if start < len(data):
            self._add(data[start:] if start else data)

    @property
    def overflowing(self) -> bool:
        """Whether the line under way is already too long."""
        return self._skipping

    def end(self) -> None:
        """End of input: what stands there without a newline still counts as a line."""
        if self._parts:
            self._finish()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._parts.append(piece)
        if self._size > self._limit:
            self._skip()

    def _skip(self) -> None:
        whole = b"".join(self._parts[1:] if self._skipping else self._parts)
        self._parts = [self._parts[0] if self._skipping else whole[:EDGE], whole[-EDGE:]]
        self._skipping = True

    def _finish(self) -> None:
        parts, skipped = self._parts, self._skipping
        self._parts, self._size, self._skipping = [], 0, False
        if skipped:
            self._on_overflow(parts[0], parts[1])
            return
        line = parts[0] if len(parts) == 1 else b"".join(parts)
        if line and not line.isspace():
            self._on_line(line)
