import pytest

from remora.gateway.own import NoTools
from remora.gateway.session import ViewKey


async def test_before_a_door_brings_tools_there_are_none():
    assert NoTools().definitions(ViewKey()) == NoTools.names == []
    with pytest.raises(KeyError):
        await NoTools().call("x", {}, None)  # type: ignore[arg-type]
