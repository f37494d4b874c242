"""Stop asking a server that does not answer; ask again after a while. Pure: time is an argument."""

from __future__ import annotations


class Breaker:
    def __init__(self, failures: int, reset_seconds: float) -> None:
        self._limit = failures
        self._reset = reset_seconds
        self._failed = 0
        self._opened: float | None = None
        self._probing = False

    def configure(self, failures: int, reset_seconds: float) -> None:
        self._limit, self._reset = failures, reset_seconds

    def wait(self, now: float) -> float:
        """0 = go ahead; else the seconds after which one probe is let through."""
        if self._opened is None:
            return 0.0
        left = self._opened + self._reset - now
        if left > 0:
            return left
        if self._probing:
            return min(1.0, self._reset)
        self._probing = True
        return 0.0

    def succeed(self) -> None:
        self._failed, self._opened, self._probing = 0, None, False

    def fail(self, now: float) -> None:
        self._failed += 1
        if self._probing or self._failed >= self._limit:
            self._opened, self._probing = now, False

    def release(self) -> None:
        """The probe ended without telling anything (it was cancelled)."""
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    @property
    def failures(self) -> int:
        return self._failed
