"""Every failure Remora raises on purpose, drawn as a tree.

RemoraError                what went wrong, in words a user can act on
├── ConfigError            config missing or invalid (exit 3)
├── UsageError             the call's words are off (exit 2)
├── RefusedError           not allowed without a confirmation or trust (exit 6)
├── UnavailableError       no daemon, or busy (exit 5)
├── RpcError               a JSON-RPC error, ours or an upstream's, carried as it is
├── MemoryFault            a refusal of the memory; `hint` says what to do instead
│   ├── NotFound           no memory, operation or relation of that id
│   ├── AmbiguousId        several memories fit
│   ├── Invalid            an argument breaks a rule of the memory model
│   ├── VersionConflict    the memory was changed meanwhile
│   ├── UndoConflict       a later operation changed the same fields
│   ├── SecretFound        the text holds a secret and the policy is to block
│   ├── ModeError          the session's memory mode forbids it
│   ├── Forbidden          the token may not
│   └── StorageUnavailable the store cannot be opened, read or written
│       ├── WrongFormat    the file belongs to another program
│       └── ForkError      used in a forked child
└── UpstreamError          a call could not be completed by the gateway (GW-46)
    ├── NotSent            nothing reached the upstream: always safe to try again
    ├── OutcomeUnknown     it was sent; whether it ran is not known
    ├── CallTimeout        no answer within the time allowed
    ├── ResultTooLarge     the answer exceeds the message limit
    └── Busy               the upstream's queue is full
"""

from __future__ import annotations

from typing import Any


class RemoraError(Exception):
    """`code` is for scripts, `str(error)` for people; `exit_code` is what the CLI ends with."""

    code = "failed"
    exit_code = 1
    hint: str | None = None


class ConfigError(RemoraError):
    code = "config_invalid"
    exit_code = 3

    def __init__(self, message: str, *, code: str | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.path = path


class UsageError(RemoraError):
    code = "usage"
    exit_code = 2


class RefusedError(RemoraError):
    code = "refused"
    exit_code = 6


class UnavailableError(RemoraError):
    code = "unavailable"
    exit_code = 5


class MemoryFault(RemoraError):
    """A refusal of the memory: what, and what to do instead."""

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.hint = hint


class NotFound(MemoryFault):
    code = "not_found"


class AmbiguousId(MemoryFault):
    code = "ambiguous_id"


class Invalid(MemoryFault):
    code = "invalid"
    exit_code = 2


class VersionConflict(MemoryFault):
    code = "version_conflict"


class UndoConflict(MemoryFault):
    code = "undo_conflict"


class SecretFound(MemoryFault):
    code = "secret_found"


class ModeError(MemoryFault):
    code = "mode"


class Forbidden(MemoryFault):
    code = "forbidden"


class StorageUnavailable(MemoryFault):
    code = "storage_unavailable"
    exit_code = 3


class WrongFormat(StorageUnavailable):
    code = "wrong_format"


class ForkError(StorageUnavailable):
    code = "forked"


class RpcError(RemoraError):
    """A JSON-RPC error object."""

    code: int  # type: ignore[assignment]

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            wire["data"] = self.data
        return wire


class UpstreamError(RemoraError):
    """A gateway-made failure of one call; `code` is one of GW-46's."""

    code = "unavailable"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotSent(UpstreamError):
    code = "unavailable"


class OutcomeUnknown(UpstreamError):
    code = "outcome_unknown"
    retryable = False


class CallTimeout(UpstreamError):
    code = "timeout"


class ResultTooLarge(UpstreamError):
    code = "result_too_large"
    retryable = False


class Busy(UpstreamError):
    code = "busy"
