from __future__ import annotations

import inspect
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remora import AsyncMemory, Memory
from remora.errors import ForkError


def test_every_method_is_there(tmp_path: Path) -> None:
    wanted = {
        name
        for name, value in vars(AsyncMemory).items()
        if inspect.iscoroutinefunction(value) and not name.startswith("_")
    }
    assert wanted - {"open"} <= set(vars(Memory))


def test_threads_share_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder="none") as memory, ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: memory.store(f"thread row {n}", dedup="off"), range(100)))
        assert len(set(ids)) == 100
        assert len(memory.list(200)) == 100


def test_a_child_must_open_its_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                memory.list()
            except ForkError:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert memory.list() == []
