from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, MODERN, FakeLink, settle

from remora.config.model import ServerConfig
from remora.errors import Busy, CallTimeout, NotSent, OutcomeUnknown, ResultTooLarge, RpcError
from remora.gateway import attempts
from remora.gateway.attempts import Stopped
from remora.gateway.breaker import Breaker
from remora.gateway.slots import QUEUE_LIMIT, Slots
from remora.gateway.wire.link import Exchange, LinkLost, LoginNeeded, TryOnceMore
from remora.gateway.wire.process import CannotStart

DONE = {"done": 1}
HANG = "hang"


class Up:
    """An upstream as an attempt sees it. Each attempt meets the next outcome, the last one for ever."""

    def __init__(self, *outcomes: Any, modern: bool = False, **settings: Any) -> None:
        self.settings = ServerConfig(command="x", **settings)
        self.outcomes = list(outcomes)
        self.breaker = Breaker(2, 60)
        self.slots = Slots(self.settings.max_in_flight)
        self.in_flight: set[Exchange] = set()
        self.link: FakeLink | None = None
        self.last_error = ""
        self.live = FakeLink(modern=modern, answers={"tools/call": self._answer})
        self.attempts = 0
        self.lost: list[str] = []
        self.checked: list[Any] = []
        self.exchange = Exchange()

    async def _answer(self, params: Any, exchange: Exchange) -> Any:
        outcome = self._next()
        return await asyncio.Event().wait() if outcome == HANG else outcome

    def _next(self) -> Any:
        self.attempts += 1
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]

    async def ready_link(self) -> FakeLink:
        if isinstance(self.outcomes[0], NotSent):
            raise self._next()
        return self.live

    async def ensure_level(self, link: FakeLink, level: str) -> None:
        self.live.sent.append(("level", level))

    def failed(self, problem: Exception) -> None:
        self.last_error = str(problem)

    def link_lost(self, reason: str) -> None:
        self.lost.append(reason)

    def spawn(self, work: Any) -> None:
        self.checked.append(work)

    def check_alive(self, link: FakeLink) -> str:
        return "checked"

    async def call(self, *, safe: bool = True, level: str | None = None, **params: Any) -> Any:
        return await attempts.call(self, "tools/call", params, HANDSHAKE, level, self.exchange, safe)


@pytest.fixture(autouse=True)
def _no_pause_between_attempts(monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_RETRY_SECONDS", 0)


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("problem", [NotSent("away"), TryOnceMore("429"), CannotStart("no memory", missing=False)])
async def test_what_was_not_sent_is_tried_again(problem, safe):
    up = Up(problem, DONE)
    assert await up.call(safe=safe) == (DONE, False)
    assert up.attempts == 2


async def test_what_broke_off_is_repeated_only_if_that_does_no_harm():
    safe, unsafe = Up(LinkLost("broke"), DONE), Up(LinkLost("broke"), DONE)
    assert await safe.call(safe=True) == (DONE, False)
    with pytest.raises(OutcomeUnknown, match="broke; it is not known whether the call ran"):
        await unsafe.call(safe=False)
    assert unsafe.attempts == 1


@pytest.mark.parametrize(
    "problem",
    [
        RpcError(-32000, "no"),
        ResultTooLarge("big"),
        CannotStart("not found", missing=True),
        Stopped("stopped"),
        NotSent("open", retry_after=5.0),
        LoginNeeded("login needed"),
    ],
)
async def test_what_another_attempt_cannot_mend_is_told_at_once(problem):
    up = Up(problem)
    with pytest.raises(type(problem)):
        await up.call()
    assert up.attempts == 1


@pytest.mark.parametrize(("problem", "count"), [(NotSent("away"), 3), (LinkLost("broke"), 3), (TryOnceMore("429"), 2)])
async def test_attempts_come_to_an_end(problem, count):
    up = Up(problem, max_retries=2)
    up.breaker = Breaker(99, 60)
    with pytest.raises(NotSent, match=str(problem)):
        await up.call()
    assert up.attempts == count


async def test_an_attempt_and_all_of_them_have_their_time(clock):
    up = Up(HANG, call_timeout_seconds=10, overall_deadline_seconds=25)
    up.breaker = Breaker(99, 60)
    call = asyncio.create_task(up.call())
    await clock.advance(10.1)
    await clock.advance(10.1)
    assert (up.attempts, call.done()) == (3, False)
    await clock.advance(5)
    with pytest.raises(CallTimeout, match="no answer within 10 s"):
        await call
    assert up.checked == ["checked"] * 3
    assert not up.in_flight


async def test_progress_restarts_the_clock_of_the_attempt_not_that_of_the_call(clock):
    up = Up(HANG, call_timeout_seconds=10, overall_deadline_seconds=25)
    up.exchange.on_notify = lambda method, params: None
    call = asyncio.create_task(up.call(safe=False, _meta={"progressToken": 1}))
    for _ in range(3):
        await clock.advance(8)
        assert not call.done()
        up.exchange.on_notify("notifications/progress", {})
    await clock.advance(2)
    with pytest.raises(OutcomeUnknown):
        await call


@pytest.mark.parametrize(
    ("method", "keys", "extended"),
    [
        ("notifications/progress", {}, True),
        ("notifications/message", {}, False),
        ("notifications/progress", {"progress_extends": False}, False),
    ],
)
async def test_nothing_but_progress_extends(clock, method, keys, extended):
    up = Up(HANG, call_timeout_seconds=10, **keys)
    up.exchange.on_notify = lambda method, params: None
    call = asyncio.create_task(up.call(safe=False, _meta={"progressToken": 1}))
    await clock.advance(8)
    up.exchange.on_notify(method, {})
    await clock.advance(8)
    assert call.done() != extended
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def test_no_clock_runs_while_a_person_thinks(clock):
    up = Up(HANG, call_timeout_seconds=10, overall_deadline_seconds=20)
    thinking = asyncio.Event()

    async def ask(method, params):
        await thinking.wait()
        return {"answer": 1}

    up.exchange.on_question, up.exchange.on_notify = ask, lambda method, params: None
    call = asyncio.create_task(up.call(_meta={"progressToken": 1}))
    await settle()
    question = asyncio.create_task(up.exchange.on_question("elicitation/create", {}))
    await clock.advance(500)
    thinking.set()
    assert await question == {"answer": 1}
    await clock.advance(9)
    up.exchange.on_notify("notifications/progress", {})
    await clock.advance(9)
    assert not call.done()
    await clock.advance(2)
    with pytest.raises(OutcomeUnknown):  # the person is not asked the same again
        await call


async def test_several_questions_at_a_time_stop_the_clock_until_the_last_is_answered(clock):
    up = Up(HANG, call_timeout_seconds=10)
    answers = [asyncio.Event(), asyncio.Event()]

    async def ask(method, params):
        await answers[params["n"]].wait()

    up.exchange.on_question = ask
    call = asyncio.create_task(up.call(safe=False))
    await settle()
    questions = [asyncio.create_task(up.exchange.on_question("roots/list", {"n": n})) for n in (0, 1)]
    await settle()
    answers[0].set()
    await clock.advance(500)
    assert not call.done()
    answers[1].set()
    await clock.advance(11)
    await asyncio.gather(call, *questions, return_exceptions=True)
    assert isinstance(call.exception(), OutcomeUnknown)


async def test_waiting_for_a_place_ends_with_the_deadline(clock):
    up = Up(DONE, max_in_flight=1, overall_deadline_seconds=95)
    await up.slots.enter()
    call = asyncio.create_task(up.call())
    await clock.advance(96)
    with pytest.raises(NotSent, match="overall_deadline_seconds"):
        await call
    up.slots.leave()
    assert up.slots.free


@pytest.mark.parametrize("problem", [LinkLost("broke"), HANG])
async def test_the_breaker_counts_what_broke_and_then_nobody_waits(clock, problem):
    up = Up(problem, max_retries=0)
    up.breaker = Breaker(2, 600)
    for _ in range(2):
        call = asyncio.create_task(up.call())
        await clock.advance(91)
        await asyncio.gather(call, return_exceptions=True)
    assert up.breaker.is_open
    with pytest.raises(NotSent) as refused:
        await up.call()
    assert refused.value.retry_after is not None
    assert (up.attempts, up.last_error) == (2, str(refused.value))


@pytest.mark.parametrize("answer", [DONE, RpcError(-1, "no"), ResultTooLarge("big")])
async def test_whatever_answers_closes_the_breaker(clock, answer):
    up = Up(answer)
    up.breaker.fail(clock.now())
    await asyncio.gather(up.call(), return_exceptions=True)
    assert up.breaker.failures == 0


async def test_a_probe_that_tells_nothing_leaves_the_next_one_its_turn(clock):
    up = Up(TryOnceMore("429"), max_in_flight=1, max_retries=0)
    for _ in range(2):
        up.breaker.fail(clock.now())
    await clock.advance(61)
    await asyncio.gather(up.call(), return_exceptions=True)
    up.outcomes = [HANG]
    call = asyncio.create_task(up.call())
    await settle()
    call.cancel()
    await settle()
    await up.slots.enter()
    waiting = [asyncio.create_task(up.slots.enter()) for _ in range(QUEUE_LIMIT)]
    await settle()
    with pytest.raises(Busy):
        await up.call()
    for task in waiting:
        task.cancel()
    await settle()
    up.slots.leave()
    up.outcomes = [DONE]
    assert await up.call() == (DONE, False)
    assert not up.breaker.is_open


async def test_a_refused_login_ends_the_connection():
    up = Up(LoginNeeded("login needed"))
    with pytest.raises(LoginNeeded):
        await up.call()
    assert up.lost == ["login needed"]


async def test_params_go_in_the_era_of_the_server():
    old, new = Up(DONE), Up(DONE, modern=True)
    meta = {"progressToken": "theirs", "v/k": 1}
    for up in (old, new):
        result = await attempts.call(up, "tools/call", {"_meta": meta}, MODERN, "debug", up.exchange, True)
        assert result == (DONE, up.live.modern)
        assert up.exchange.progress_token == "theirs"
    assert old.live.sent == [("level", "debug"), ("tools/call", {"_meta": {"v/k": 1}})]
    assert new.live.methods() == ["tools/call"]
    assert len(new.live.sent[0][1]["_meta"]) == 5
