"""One call's attempts at an upstream: what is tried again, how long it may take, what the breaker learns of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from remora.errors import CallTimeout, NotSent, OutcomeUnknown, ResultTooLarge, RpcError
from remora.gateway import eras
from remora.gateway.session import Caller
from remora.gateway.wire.link import Exchange, Link, LinkLost, LoginNeeded, TryOnceMore
from remora.gateway.wire.process import CannotStart

if TYPE_CHECKING:
    from remora.gateway.upstream import Upstream

FIRST_RETRY_SECONDS = 0.1
Params = dict[str, Any]


class Stopped(NotSent):
    """This connection serves nobody any more; there may be another one for the same server."""


async def call(
    upstream: Upstream, method: str, params: Params, caller: Caller, level: str | None, exchange: Exchange, safe: bool
) -> tuple[Params, bool]:
    """The upstream's result and whether it came in the modern era. Repeats only what cannot do harm twice."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + upstream.settings.overall_deadline_seconds
    retries = upstream.settings.max_retries
    once_more, asked = True, False
    for attempt in range(retries + 2):
        turn = _Attempt(upstream, exchange, deadline)
        try:
            return await turn.run(method, params, caller, level)
        except TryOnceMore as problem:
            if not once_more:
                raise NotSent(str(problem)) from problem
            once_more = False
        except NotSent as problem:
            late = loop.time() >= deadline
            if attempt >= retries or late or problem.retry_after is not None or not _may_pass(problem):
                raise
        except (LinkLost, CallTimeout) as problem:
            asked = asked or turn.asked  # the client has answered once: it is not asked the same again
            if not safe or asked:
                raise OutcomeUnknown(f"{problem}; it is not known whether the call ran") from problem
            if attempt >= retries or loop.time() >= deadline:
                raise problem if isinstance(problem, CallTimeout) else NotSent(str(problem)) from problem
        await asyncio.sleep(min(FIRST_RETRY_SECONDS * 2.0**attempt, max(0.0, deadline - loop.time())))
    raise NotSent(upstream.last_error or "no attempt left")


def _may_pass(problem: NotSent) -> bool:
    return not isinstance(problem, Stopped) and not (isinstance(problem, CannotStart) and problem.missing)


class _Attempt:
    def __init__(self, upstream: Upstream, exchange: Exchange, deadline: float) -> None:
        self.asked = False
        self._upstream = upstream
        self._exchange = exchange
        self._deadline = deadline
        self._seconds = upstream.settings.call_timeout_seconds
        self._clock: asyncio.Timeout | None = None
        self._questions = 0  # how many wait for an answer
        self._asked_at = 0.0

    async def run(self, method: str, params: Params, caller: Caller, level: str | None) -> tuple[Params, bool]:
        upstream, loop = self._upstream, asyncio.get_running_loop()
        breaker = upstream.breaker
        if breaker.is_open and (wait := breaker.wait(loop.time())) > 0:
            raise NotSent(upstream.last_error or "it failed repeatedly", retry_after=wait)
        try:
            link = await self._admitted()
            try:
                result = await self._talk(link, method, params, caller, level)
            finally:
                upstream.in_flight.discard(self._exchange)
                upstream.slots.leave()
            breaker.succeed()
            return result, link.modern
        except (RpcError, ResultTooLarge):
            breaker.succeed()  # it does answer
            raise
        except (LinkLost, CallTimeout) as problem:
            breaker.fail(loop.time())
            upstream.failed(problem)
            raise
        except LoginNeeded as problem:
            upstream.link_lost(str(problem))  # connecting again will say whether that is lasting
            raise
        finally:
            breaker.release()

    async def _admitted(self) -> Link:
        """A live link and a place among the calls in flight, before the deadline."""
        upstream = self._upstream
        if upstream.link is not None and upstream.slots.free:
            await upstream.slots.enter()
            return upstream.link
        try:
            async with asyncio.timeout_at(self._deadline):
                link = await upstream.ready_link()
                await upstream.slots.enter()
        except TimeoutError:
            raise NotSent("no connection or no free place within overall_deadline_seconds") from None
        return link

    async def _talk(self, link: Link, method: str, params: Params, caller: Caller, level: str | None) -> Params:
        upstream, exchange, loop = self._upstream, self._exchange, asyncio.get_running_loop()
        if loop.time() >= self._deadline:
            raise NotSent("its turn came after overall_deadline_seconds")
        upstream.in_flight.add(exchange)
        sent, exchange.progress_token = eras.to_upstream(params, link.modern, caller, level)
        tell, ask = exchange.on_notify, exchange.on_question
        self._clock = asyncio.timeout(min(self._seconds, self._deadline - loop.time()))
        if exchange.progress_token is not None and upstream.settings.progress_extends and tell is not None:
            exchange.on_notify = self._extending(tell)
        if ask is not None:
            exchange.on_question = self._pausing(ask)
        try:
            async with self._clock:
                if level is not None and not link.modern:
                    await upstream.ensure_level(link, level)
                return await link.request(method, sent, exchange)
        except TimeoutError:
            upstream.spawn(upstream.check_alive(link))
            raise CallTimeout(f"no answer within {self._seconds:g} s") from None
        finally:
            exchange.on_notify, exchange.on_question = tell, ask

    def _restart(self) -> None:
        loop, clock = asyncio.get_running_loop(), self._clock
        if clock is not None and not clock.expired() and not self._questions:
            clock.reschedule(min(loop.time() + self._seconds, self._deadline))

    def _extending(self, tell: Callable[[str, Params], None]) -> Callable[[str, Params], None]:
        """Progress restarts the clock of the attempt, never that of the whole call."""

        def notify(method: str, params: Params) -> None:
            if method == "notifications/progress":
                self._restart()
            tell(method, params)

        return notify

    def _pausing(self, ask: Callable[[str, Params], Awaitable[Params]]) -> Callable[[str, Params], Awaitable[Params]]:
        """While a person thinks about a question of the server, no clock runs."""
        loop = asyncio.get_running_loop()

        async def paused(method: str, params: Params) -> Params:
            if not self._questions:
                self._asked_at = loop.time()
                if self._clock is not None and not self._clock.expired():
                    self._clock.reschedule(None)
            self.asked = True
            self._questions += 1
            try:
                return await ask(method, params)
            finally:
                self._questions -= 1
                if not self._questions:
                    self._deadline += loop.time() - self._asked_at
                    self._restart()

        return paused
