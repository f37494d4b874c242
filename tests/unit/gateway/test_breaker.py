from __future__ import annotations

import pytest

from remora.gateway.breaker import Breaker


def opened(at: float = 100.0) -> Breaker:
    breaker = Breaker(failures=3, reset_seconds=60)
    for _ in range(3):
        breaker.fail(at)
    return breaker


def test_it_opens_after_failures_in_a_row():
    breaker = Breaker(3, 60)
    breaker.fail(0)
    breaker.fail(0)
    assert not breaker.is_open
    breaker.succeed()
    breaker.fail(0)
    breaker.fail(0)
    assert (breaker.is_open, breaker.failures, breaker.wait(0)) == (False, 2, 0)
    breaker.fail(0)
    assert breaker.is_open


def test_an_open_one_says_how_long():
    breaker = opened(at=100)
    assert [breaker.wait(now) for now in (100, 130, 159.5)] == [60, 30, 0.5]


def test_then_one_probe_is_let_through_and_no_more():
    breaker = opened(at=100)
    assert breaker.wait(160) == 0
    assert breaker.wait(160) == 1
    assert breaker.is_open


def test_a_probe_that_succeeds_closes_it():
    breaker = opened(at=100)
    breaker.wait(160)
    breaker.succeed()
    assert (breaker.is_open, breaker.failures, breaker.wait(160), breaker.wait(160)) == (False, 0, 0, 0)


def test_a_probe_that_fails_opens_it_again_at_once():
    breaker = opened(at=100)
    breaker.wait(160)
    breaker.fail(165)
    assert (breaker.wait(170), breaker.wait(225)) == (55, 0)


def test_a_probe_that_tells_nothing_lets_another_through():
    breaker = opened(at=100)
    breaker.wait(160)
    breaker.release()
    assert breaker.is_open
    assert breaker.wait(160) == 0


@pytest.mark.parametrize(("failures", "seconds", "wait"), [(2, 60, 60), (3, 10, 10)])
def test_new_settings_apply_to_what_comes(failures, seconds, wait):
    breaker = Breaker(3, 60)
    breaker.fail(0)
    breaker.configure(failures, seconds)
    breaker.fail(0)
    breaker.fail(0)
    assert breaker.wait(0) == wait


def test_a_short_reset_is_not_made_longer_by_the_probe():
    breaker = Breaker(1, 0.25)
    breaker.fail(0)
    assert (breaker.wait(1), breaker.wait(1)) == (0, 0.25)
