"""What the gateway knows of Remora's own tools; a door brings them."""

from __future__ import annotations

from typing import Protocol

from remora.gateway.session import Front, Params, ViewKey


class OwnTools(Protocol):
    """Tools that Remora itself offers; `names` are all there may ever be, so that no server takes one."""

    names: list[str]

    def definitions(self, key: ViewKey) -> list[Params]:
        """Those that sessions of this kind see."""

    async def call(self, name: str, arguments: Params, front: Front) -> Params: ...


class NoTools:
    """Before a door has brought any."""

    names: list[str] = []

    def definitions(self, key: ViewKey) -> list[Params]:
        return []

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        raise KeyError(name)
