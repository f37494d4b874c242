from types import SimpleNamespace
from typing import Any

import pytest

from remora.doors.mcp.tools import ACTIONS, Own, ReadMoreTool, RemoraTool, fields_of
from remora.errors import RpcError
from remora.gateway.session import ViewKey
from remora.operations.registry import registered

registered()


class Group:
    def __init__(self, name: str, compat: str = "") -> None:
        self.names, self.compat = [name], compat

    def serves(self, key: ViewKey) -> bool:
        return not self.compat or self.compat in key.compat

    def definitions(self) -> list[dict[str, Any]]:
        return [{"name": self.names[0]}]

    async def call(self, name: str, arguments: Any, front: Any) -> Any:
        return {"called": name}


async def test_groups_are_served_to_those_they_are_for():
    own = Own([Group("a"), Group("b", "other-gateway")])
    assert own.names == ["a", "b"]
    assert [tool["name"] for tool in own.definitions(ViewKey())] == ["a"]
    key = ViewKey(compat=("other-gateway",))
    assert [tool["name"] for tool in own.definitions(key)] == ["a", "b"]
    front: Any = SimpleNamespace(session=SimpleNamespace(view=key))
    assert await own.call("b", {}, front) == {"called": "b"}


def test_one_tool_has_all_actions_and_their_fields():
    (tool,) = RemoraTool(lambda front: None).definitions()  # type: ignore[arg-type,return-value]
    assert tool["inputSchema"]["properties"]["action"]["enum"] == list(ACTIONS)
    assert {"since", "handle", "server"} <= set(tool["inputSchema"]["properties"])
    assert "title" not in fields_of("stash.read")["handle"]


async def test_values_no_reading_can_have_are_invalid_params():
    context: Any = SimpleNamespace(principal=SimpleNamespace(scope="admin"))
    read_more = ReadMoreTool(lambda front: context)
    (tool,) = read_more.definitions()
    assert tool["annotations"]["readOnlyHint"]
    for wrong in ({}, {"handle": "x", "offset": -1}, {"handle": "x", "mode": "up"}, {"handle": "x", "more": 1}):
        with pytest.raises(RpcError) as refused:
            await read_more.call("read_more", wrong, None)  # type: ignore[arg-type]
        assert refused.value.code == -32602


async def test_an_unknown_action_is_told():
    made = await RemoraTool(lambda front: None).call("remora", {"action": "dance"}, None)  # type: ignore[arg-type,return-value]
    assert made["isError"]
