from __future__ import annotations

import pytest
from tests.unit.gateway.fakes import FakeLink

from remora.errors import NotSent, OutcomeUnknown, UpstreamError
from remora.gateway.wire.link import Exchange, Link, LinkLost, LoginNeeded, NotFoundHere, TryOnceMore


def test_an_exchange_wants_nothing_until_it_is_told():
    exchange = Exchange()
    given = (exchange.on_notify, exchange.on_question, exchange.on_stream_closed, exchange.progress_token)
    assert given == (None, None, None, None)
    assert (exchange.schema, exchange.sent) == (None, False)


@pytest.mark.parametrize("kind", [LinkLost, TryOnceMore, LoginNeeded, NotFoundHere])
def test_how_a_link_fails_decides_what_may_be_repeated(kind):
    problem = kind("why", retry_after=2.0)
    assert isinstance(problem, UpstreamError)
    assert not isinstance(problem, NotSent | OutcomeUnknown)  # each is judged by itself
    assert (str(problem), problem.code, problem.retry_after) == ("why", "unavailable", 2.0)


def test_the_fake_of_these_tests_is_a_link():
    link: Link = FakeLink(modern=True)
    assert (link.modern, link.version, link.lost) == (True, "2026-07-28", None)
