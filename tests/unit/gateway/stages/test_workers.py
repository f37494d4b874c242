from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncIterator

import pytest

from remora.gateway.stages.workers import COLD_CHARS, INLINE_CHARS, THREAD_CHARS, Workers


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    made = Workers()
    yield made
    await made.close()


def place() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


async def test_short_texts_here_longer_ones_in_a_thread_the_longest_in_a_process(workers: Workers) -> None:
    assert await workers.run(INLINE_CHARS, 5, place) == place()
    process, thread = await workers.run(THREAD_CHARS, 5, place)
    assert process == os.getpid()
    assert thread != threading.get_ident()
    elsewhere = await workers.run(COLD_CHARS + 1, 60, os.getpid)
    assert elsewhere != os.getpid()
    assert await workers.alone(60, os.getpid) == elsewhere


async def test_what_takes_too_long_is_ended_and_the_next_is_served(workers: Workers) -> None:
    release = threading.Event()
    with pytest.raises(TimeoutError):
        await workers.run(THREAD_CHARS, 0.01, release.wait)
    release.set()
    assert await workers.run(THREAD_CHARS, 5, len, "abc") == 3
    stuck = await workers.alone(60, os.getpid)
    with pytest.raises(TimeoutError):
        await workers.alone(0.01, time.sleep, 60)
    with pytest.raises(ProcessLookupError):
        os.kill(stuck, 0)
    assert await workers.alone(60, len, "abc") == 3


async def test_errors_come_back(workers: Workers) -> None:
    with pytest.raises(RuntimeError, match="ValueError: invalid literal"):
        await workers.alone(60, int, "x")
    with pytest.raises(ValueError, match="invalid literal"):
        await workers.run(1, 5, int, "x")
