from __future__ import annotations

import pytest

from remora import AsyncMemory
from remora.errors import Invalid


async def test_a_session_grows_and_is_not_doubled(memory: AsyncMemory) -> None:
    turns = [{"role": "user", "content": "how do I deploy?"}, {"role": "assistant", "content": "with make deploy"}]
    first = await memory.store_session(turns, "s1", tags=["ops"])
    assert first.record.content == "[user] how do I deploy?\n[assistant] with make deploy"
    assert first.record.tags == ("session:s1", "ops")
    assert (await memory.store_session(turns, "s1")).status == "merged"
    more = await memory.store_session([*turns, {"role": "user", "content": "thanks"}], "s1")
    assert (more, more.status) == (first, "updated")
    later = await memory.store_session([{"role": "user", "content": "and now?"}], "s1")
    assert later.record.content.endswith("[user] thanks\n[user] and now?")
    with pytest.raises(Invalid):
        await memory.store_session([{"role": "user", "content": " "}])


async def test_the_same_mistake_counts_up(memory: AsyncMemory) -> None:
    first = await memory.note_mistake(
        "ModuleNotFoundError: yaml", "running make docs", "pip install yaml", "pip install pyyaml"
    )
    assert first.record.tags == ("mistake-note", "error-replay")
    assert first.record.content.splitlines()[0] == "Error: ModuleNotFoundError: yaml"
    again = await memory.note_mistake(
        "ModuleNotFoundError: yaml", "running make docs", "retry", "uv pip install pyyaml"
    )
    assert again == first
    assert again.record.metadata["failure_count"] == 2
    assert "Right: uv pip install pyyaml" in again.record.content
    other = await memory.note_mistake("Segmentation fault", "import numpy", "reboot", "reinstall numpy")
    assert other != first
    with pytest.raises(Invalid):
        await memory.note_mistake("", "a", "b", "c")
