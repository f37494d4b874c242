from __future__ import annotations

import pytest
from tests.unit.gateway.fakes import FakeFront

from remora.gateway.own import NoTools, OwnTools
from remora.gateway.session import ViewKey


async def test_before_there_are_own_tools_there_are_none():
    own: OwnTools = NoTools()
    assert (own.names, own.definitions(ViewKey())) == ([], [])
    with pytest.raises(KeyError, match="remora"):
        await own.call("remora", {}, FakeFront())
