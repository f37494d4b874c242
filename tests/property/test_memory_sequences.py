"""Whatever is done to a memory can be undone to nothing, and carried over whole."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remora import AsyncMemory
from remora.errors import RemoraError
from remora.memory import history, revise
from remora.memory.api import ACTOR
from remora.model.search import EVERYTHING

TEXTS = [
    "rate limit is 100",
    "the rate limit is now 200",
    "rate limit is 100",
    "timeout is 10 s",
    "timeout is 20 s",
    "we use Postgres for billing",
    "billing moved to MySQL instead",
    "FOO=1",
    "foo=1",
    "likes dark mode",
    "likes light mode",
    "the deploy runs on Friday",
    "the deploy does not run on Friday",
]
KEYS = [None, None, "user.theme", "app.limit"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "store",
                "store",
                "store",
                "turn",
                "update",
                "forget",
                "archive",
                "restore",
                "connect",
                "undo",
                "retag",
                "rename",
                "resolve",
                "many",
                "version",
            ]
        ),
        st.integers(0, 12),
        st.integers(0, 12),
    ),
    min_size=1,
    max_size=14,
)


async def do(memory: AsyncMemory, step: tuple[str, int, int], ids: list[str]) -> None:
    what, first, second = step
    text, key = TEXTS[first % len(TEXTS)], KEYS[second % len(KEYS)]
    chosen = ids[first % len(ids)] if ids else "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    other = ids[second % len(ids)] if ids else chosen
    match what:
        case "store":
            ids.append(await memory.store(text, subject_key=key, tags=["a", f"t{second}"], importance=second / 12))
        case "turn":
            ids.append(await memory.store(f"{text} said {second}", conversation_id="c", turn=second, author="Ann"))
        case "many":
            ids += await memory.store_many([{"content": text}, {"content": f"{text} {second}", "subject_key": key}])
        case "update":
            await memory.update(chosen, content=text, metadata={"n": second})
        case "version":
            await memory.update(chosen, content=f"{text} v{second}", versioned=True)
        case "forget":
            await memory.forget(chosen)
        case "archive":
            await memory.forget(chosen, archive=True)
        case "restore":
            await memory.restore(chosen)
        case "connect":
            await memory.connect(chosen, other, "supports")
        case "undo":
            await memory.undo()
        case "retag":
            await memory.retag(rename={"a": f"r{second}"})
        case "rename":
            await revise.rename_namespace(memory.engine, ACTOR, "global", f"n{second % 2}")
        case "resolve":
            disputes = await memory.conflicts()
            if disputes:
                await memory.resolve(disputes[0].a.id, disputes[0].b.id)


async def run(memory: AsyncMemory, steps: Sequence[tuple[str, int, int]]) -> None:
    ids: list[str] = []
    for step in steps:
        try:
            await do(memory, step, ids)
        except RemoraError:
            pass  # a refusal changes nothing, which the checks below would notice


async def failures(memory: AsyncMemory) -> list[Any]:
    return [check for check in await memory.verify(deep=True) if check[0] == "FAIL"]


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_undoing_everything_leaves_nothing(steps: list[tuple[str, int, int]]) -> None:
    async def check(folder: str) -> None:
        async with AsyncMemory(Path(folder) / "memory.db", embedder="none") as memory:
            await run(memory, steps)
            assert await failures(memory) == []
            ops = await memory.engine.store.read(lambda view: view.ops(limit=100_000))
            for batch in dict.fromkeys(op.batch_id for op in reversed(history_of(ops))):
                await history.undo(memory.engine, ACTOR, batch)
            left = await memory.engine.store.read(
                lambda view: (view.ids(EVERYTHING), view.conflicts(), view.tags(EVERYTHING))
            )
            assert left == ([], [], {})
            assert await failures(memory) == []

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(folder))


def history_of(ops: Sequence[Any]) -> list[Any]:
    """What still has to be taken back: neither undone nor itself an undo that is in force."""
    return [op for op in ops if op.undone_by is None and op.undoes is None]


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_an_import_equals_its_export(steps: list[tuple[str, int, int]]) -> None:
    async def check(folder: Path) -> None:
        async with AsyncMemory(folder / "one.db", embedder="none") as memory:
            await run(memory, steps)
            await memory.export(folder / "one.jsonl", history=True)
        async with AsyncMemory(folder / "two.db", embedder="none") as memory:
            await memory.import_(folder / "one.jsonl")
            await memory.export(folder / "two.jsonl", history=True)
            assert await failures(memory) == []
            again = await memory.import_(folder / "one.jsonl")
            assert again["new"] == 0
        one, two = ((folder / name).read_text().splitlines() for name in ("one.jsonl", "two.jsonl"))
        assert one[1:] == two[1:]

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))
