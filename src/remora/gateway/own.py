"""What the gateway must know of Remora's own tools: their names, and how to call them."""

from __future__ import annotations

from typing import Protocol

from remora.gateway.session import Front, Params


class OwnTools(Protocol):
    """Tools that Remora itself offers."""

    names: list[str]

    def definitions(self) -> list[Params]: ...

    def has(self, name: str) -> bool: ...

    async def call(self, name: str, arguments: Params, front: Front) -> Params: ...


class NoTools:
    """Before there are any."""

    names: list[str] = []

    def definitions(self) -> list[Params]:
        return []

    def has(self, name: str) -> bool:
        return False

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        raise KeyError(name)
