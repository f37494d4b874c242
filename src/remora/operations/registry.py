"""An operation has a name, an input model, a scope and a handler; every door derives from it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from remora.errors import RefusedError, UsageError
from remora.gateway.session import Principal, Scope, Session

if TYPE_CHECKING:
    from remora.config.load import Paths
    from remora.gateway.engine import Gateway
    from remora.operations.memory_room import MemoryRoom
    from remora.storage.sqlite.state import StateDb

_RANK: dict[Scope, int] = {"read": 0, "write": 1, "admin": 2}


class Input(BaseModel):
    """Base of operation inputs: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may use; `session` is the asking client's, where there is one."""

    gateway: Gateway
    state: StateDb
    paths: Paths
    principal: Principal
    session: Session | None = None
    memory: MemoryRoom | None = None


Given = TypeVar("Given", bound=Input)
Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    summary: str
    scope: Scope
    input: type[Input]
    handler: Handler
    render: Callable[[dict[str, Any]], str]

    @property
    def action(self) -> str:
        """Its name within its group, as the `remora` tool calls it."""
        return self.name.rpartition(".")[2]


OPERATIONS: dict[str, Operation] = {}


def operation(
    name: str, summary: str, scope: Scope, model: type[Given], render: Callable[[dict[str, Any]], str]
) -> Callable[
    [Callable[[Context, Given], Awaitable[dict[str, Any]]]], Callable[[Context, Given], Awaitable[dict[str, Any]]]
]:
    def register(handler: Callable[[Context, Given], Awaitable[dict[str, Any]]]) -> Any:
        OPERATIONS[name] = Operation(name, summary, scope, model, handler, render)
        return handler

    return register


def registered() -> dict[str, Operation]:
    """All operations there are: every module beside this one is imported, so that it registers its own."""
    import remora.operations

    for found in pkgutil.iter_modules(remora.operations.__path__, "remora.operations."):
        importlib.import_module(found.name)
    return OPERATIONS


async def run(context: Context, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Validate, authorise, do. UsageError names the field; RefusedError the missing scope."""
    chosen = OPERATIONS[name]
    if _RANK[context.principal.scope] < _RANK[chosen.scope]:
        raise RefusedError(f"{name} needs the scope {chosen.scope!r}; this login has {context.principal.scope!r}")
    try:
        given = chosen.input.model_validate(arguments)
    except ValidationError as failure:
        first = failure.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or name
        raise UsageError(f"{where}: {first['msg']}") from failure
    return await chosen.handler(context, given)
