import os
import threading
import time

import pytest

from remora.gateway.stages import workers
from remora.gateway.stages.workers import COLD_CHARS, INLINE_CHARS, Workers


@pytest.fixture
async def pool():
    made = Workers()
    yield made
    await made.close()


def test_the_process_has_what_every_text_needs():
    workers._warm_up()


async def test_short_texts_are_worked_on_here_longer_ones_in_a_thread(pool):
    assert await pool.run(INLINE_CHARS, 5, threading.get_ident) == threading.get_ident()
    assert await pool.run(INLINE_CHARS + 1, 5, threading.get_ident) != threading.get_ident()


async def test_the_longest_go_to_one_process_that_lives_on(pool):
    first = await pool.run(COLD_CHARS + 1, 20, os.getpid)
    assert first != os.getpid()
    assert await pool.run(COLD_CHARS + 1, 20, os.getpid) == first


async def test_a_problem_there_is_told_here(pool):
    with pytest.raises(RuntimeError, match="ValueError"):
        await pool.alone(20, int, "x")
    assert await pool.alone(20, int, "7") == 7


async def test_what_takes_too_long_is_ended(pool):
    first = await pool.alone(20, os.getpid)
    with pytest.raises(TimeoutError):
        await pool.alone(0.05, time.sleep, 60)
    assert await pool.alone(20, os.getpid) != first


async def test_a_stuck_thread_does_not_hold_up_the_next_text(pool):
    release = threading.Event()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await pool.run(INLINE_CHARS + 1, 0.01, release.wait)
    assert await pool.run(INLINE_CHARS + 1, 5, int, "7") == 7
    release.set()
