from __future__ import annotations

from dataclasses import replace

from remora import AsyncMemory
from remora.memory.engine import secrets_replaced


async def test_where_reads_look_and_writes_go(memory: AsyncMemory) -> None:
    engine = memory.engine
    engine.settings = replace(engine.settings, namespace="project", read_namespaces=("shared",))
    assert engine.read_set(None) == ("project", "global", "shared")
    assert engine.read_set("*") is None
    assert engine.read_set("one") == ("one",)
    assert engine.write_namespace(None, None) == "project"
    assert engine.write_namespace(None, "user.name") == "global"
    assert engine.write_namespace("other", "user.name") == "other"


def test_plain_text_has_no_secret() -> None:
    assert secrets_replaced("nothing here") == ("nothing here", [])
