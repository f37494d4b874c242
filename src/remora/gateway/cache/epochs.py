"""What a write makes stale, known at once to every engine of this home.

A small shared file holds a number for each server (by a hash of its name; a collision only forgets too much). The
number is part of every key, so that a new one makes old answers unreachable. It is drawn, not counted: two engines
that renew it at the same moment can never bring an old one back.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import mmap
import os
import secrets
import struct
from collections.abc import Iterable
from pathlib import Path

SLOTS = 4096
_NUMBER = struct.Struct("=Q")
_EVERYTHING, _CLEAN = 0, 1  # slots of their own: the number for all servers; whether the last engine ended in order


class Epochs:
    """Opened at the first use; an engine that cannot have the file keeps its numbers for itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._numbers: mmap.mmap | bytearray | None = None

    def of(self, *names: str) -> tuple[int, ...]:
        """The present numbers of these names, and that of everything."""
        numbers = self._opened()
        return tuple(_NUMBER.unpack_from(numbers, _NUMBER.size * at)[0] for at in (_EVERYTHING, *map(_slot, names)))

    def renew(self, names: Iterable[str]) -> None:
        """What was answered for these names before is stale."""
        numbers = self._opened()
        for name in names:
            _NUMBER.pack_into(numbers, _NUMBER.size * _slot(name), secrets.randbits(64))

    def renew_all(self) -> None:
        _NUMBER.pack_into(self._opened(), _NUMBER.size * _EVERYTHING, secrets.randbits(64))

    def close(self) -> None:
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the last one out says that all is well
            _NUMBER.pack_into(self._opened(), _NUMBER.size * _CLEAN, 1)
        self._forget()

    def _opened(self) -> mmap.mmap | bytearray:
        if self._numbers is not None and (self._file is None or os.fstat(self._file).st_nlink):
            return self._numbers
        self._forget()
        try:
            self._numbers = self._map()
        except OSError:
            self._numbers = bytearray(secrets.token_bytes(SLOTS * _NUMBER.size))
        return self._numbers

    def _map(self) -> mmap.mmap:
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        alone = True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            alone = False
            fcntl.flock(self._file, fcntl.LOCK_SH)  # at most for the moment in which another one sets it up
        fresh = os.fstat(self._file).st_size < SLOTS * _NUMBER.size
        if fresh:
            os.ftruncate(self._file, SLOTS * _NUMBER.size)
        numbers = mmap.mmap(self._file, SLOTS * _NUMBER.size)
        clean = _NUMBER.unpack_from(numbers, _NUMBER.size * _CLEAN)[0] == 1
        if alone and (fresh or not clean):  # a write may have been under way when the last engine was ended
            _NUMBER.pack_into(numbers, _NUMBER.size * _EVERYTHING, secrets.randbits(64))
        _NUMBER.pack_into(numbers, _NUMBER.size * _CLEAN, 0)
        fcntl.flock(self._file, fcntl.LOCK_SH)
        return numbers

    def _forget(self) -> None:
        if isinstance(self._numbers, mmap.mmap):
            self._numbers.close()
        self._numbers = None
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _slot(name: str) -> int:
    found = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big")
    return 2 + found % (SLOTS - 2)
