from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from remora import AsyncMemory
from remora.errors import Invalid, NotFound


async def test_broken_files_are_refused(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.store("one")
    whole = tmp_path / "whole.jsonl.gz"
    assert await memory.export(whole) == 1
    plain = tmp_path / "plain.jsonl"
    await memory.export(plain)
    lines = plain.read_text().splitlines()
    for name, text, code in (
        ("cut.jsonl", "\n".join(lines[:-1]), "truncated"),
        ("changed.jsonl", plain.read_text().replace("one", "two"), "truncated"),
        ("garbage.txt", "hello", "bad_format"),
        ("other.json", '{"a": 1}', "bad_format"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(Invalid) as refused:
            await memory.import_(tmp_path / name)
        assert refused.value.code == code
    with contextlib.closing(sqlite3.connect(tmp_path / "odd.db")) as db, db:
        db.execute("CREATE TABLE t (x)")
    with pytest.raises(Invalid, match="has tables t"):
        await memory.import_(tmp_path / "odd.db")
    with pytest.raises(NotFound):
        await memory.import_(tmp_path / "nothing")


async def test_an_export_leaves_out_what_it_is_told_to(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.store("mine alone", sensitivity="private")
    await memory.store("for all", tags="open")
    assert await memory.export(tmp_path / "all.jsonl") == 2
    assert await memory.export(tmp_path / "open.jsonl", tags="open") == 1
    assert "mine alone" not in (tmp_path / "open.jsonl").read_text()


async def test_a_pointer_to_a_deleted_memory_survives_the_journey(memory: AsyncMemory, tmp_path: Path) -> None:
    old = await memory.store("limit is 100")
    new = await memory.store("limit is now 200")
    await memory.forget(new)
    await memory.export(tmp_path / "out.jsonl")
    assert "200" not in (tmp_path / "out.jsonl").read_text()
    async with AsyncMemory(tmp_path / "two.db", embedder="none") as two:
        await two.import_(tmp_path / "out.jsonl")
        assert (await two.get(old)).superseded_by == new
        assert [check for check in await two.verify(deep=True) if check[0] == "FAIL"] == []
