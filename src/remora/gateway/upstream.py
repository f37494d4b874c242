"""One upstream connection and the task that owns it: connect, stay connected, stop. Calls come through here."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any, Literal, Protocol

from remora.config.model import ServerConfig
from remora.errors import CallTimeout, ConfigError, NotSent, OutcomeUnknown, RemoraError, RpcError, UpstreamError
from remora.gateway import connect, eras
from remora.gateway.breaker import Breaker
from remora.gateway.manifest import Manifest
from remora.gateway.notices import ACKNOWLEDGED, LISTS, Notices
from remora.gateway.session import LOG_LEVELS, Caller
from remora.gateway.slots import Slots
from remora.gateway.wire.link import Exchange, Link, LinkLost, LoginNeeded, TryOnceMore
from remora.gateway.wire.process import CannotStart

log = logging.getLogger(__name__)
State = Literal["disabled", "idle", "connecting", "ready", "backoff", "open", "failed", "stopping"]
Params = dict[str, Any]

LIVENESS_SECONDS = 5.0
FAILED_RETRY_SECONDS = 300.0
FIRST_RETRY_SECONDS = 0.1
STEADY_SECONDS = 10.0
RELIST_SECONDS = 0.25


class Host(Protocol):
    """Whom an upstream tells what happens to it."""

    def upstream_event(self, upstream: Upstream, event: str, detail: str) -> None: ...

    def manifest_read(self, upstream: Upstream, manifest: Manifest) -> None: ...

    def resource_updated(self, upstream: Upstream, params: Params) -> None: ...

    def stray_message(self, upstream: Upstream, method: str, params: Params) -> None: ...

    async def stray_question(self, upstream: Upstream, method: str, params: Params) -> Params: ...


class Upstream:
    def __init__(
        self,
        name: str,
        settings: ServerConfig,
        around: connect.Surroundings,
        host: Host,
        known: Manifest | None,
        *,
        mirror: bool = False,
    ) -> None:
        self.name = name
        self.mirror = mirror  # a second connection in the other era; its lists are those of the first
        self.settings = settings
        self.project = around.project
        self.link: Link | None = None
        self.state: State = "idle"
        self.last_error = ""
        self.in_flight: set[Exchange] = set()
        self.connected_at: float | None = None
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_reset_seconds)
        self._around = around
        self._host = host
        self._known = known
        self._slots = Slots(settings.max_in_flight)
        self._wanted = asyncio.Event()
        self._gone = asyncio.Event()
        self._attempt: asyncio.Future[Link] | None = None
        self._level: str | None = None
        self._relisting: asyncio.TimerHandle | None = None
        self._next_try: float | None = None
        self._last_used = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.notices = Notices(name, self.link_notified, self.ready_link)
        self._owner = asyncio.get_running_loop().create_task(self._own(), name=f"upstream {name}")

    # -- the owner's task ------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            began = loop.time()
            problem = await self._connect_once()
            if problem is None:
                assert self.link is not None
                idle = await self._stay(self.link)
                failures = 0 if loop.time() - began > STEADY_SECONDS else failures
                if idle:
                    self._wanted.clear()
                    self.state = "idle"
                    continue
            failures += 1
            lasting = isinstance(problem, LoginNeeded | ConfigError) or getattr(problem, "missing", False)
            if isinstance(problem, connect.SelfReference):
                lasting = True
            await self._pause(FAILED_RETRY_SECONDS if lasting else self._delay(failures), lasting)

    async def _connect_once(self) -> Exception | None:
        self.state = "connecting"
        self._gone.clear()
        self._wanted.clear()
        attempt: asyncio.Future[Link] = self._attempt or asyncio.get_running_loop().create_future()
        self._attempt = attempt
        try:
            async with asyncio.timeout(self.settings.connect_timeout_seconds):
                link, said = await connect.connect(self.settings, self._around, self, self._known)
                try:
                    connect.check_not_self(said, self._around.instance)
                    await self.notices.begin(link)
                    manifest = await connect.read_manifest(link, said, self.settings)
                except BaseException:
                    await link.close()
                    raise
        except Exception as problem:  # root of a background task: whatever a server does, it is tried again
            if not isinstance(problem, RemoraError | TimeoutError | OSError):
                log.exception("server %s: connecting failed inside the gateway", self.name)
            before, self.last_error = self.last_error, str(problem) or "no answer in connect_timeout_seconds"
            self._attempt = None
            if not attempt.done():
                told = isinstance(problem, NotSent | connect.SelfReference)
                attempt.set_exception(problem if told else NotSent(self.last_error))
                attempt.exception()  # nobody may be waiting
            if not isinstance(problem, connect.SelfReference | ConfigError):
                self.breaker.fail(asyncio.get_running_loop().time())
            if self.last_error != before:  # a server that is down for days is no news every half minute
                self._host.upstream_event(self, "connect_failed", self.last_error)
            return problem
        self._known = manifest
        if link.lost is None:
            self._gone.clear()  # an earlier link of this attempt may have ended
        self.link, self._level, self.last_error, self._attempt = link, None, "", None
        self.connected_at = asyncio.get_running_loop().time()
        self.state = "ready"
        self.breaker.succeed()
        if not attempt.done():
            attempt.set_result(link)
        self._host.upstream_event(self, "connected", f"{link.version}")
        self._host.manifest_read(self, manifest)
        self.spawn(self.notices.renew(link))
        return None

    async def _stay(self, link: Link) -> bool:
        """Until the link is gone (False) or was closed for want of calls (True)."""
        limit = self.settings.idle_stop_minutes * 60 or None
        idle = False
        try:
            while not self._gone.is_set():
                try:
                    async with asyncio.timeout(limit):
                        await self._gone.wait()
                except TimeoutError:
                    idle = not self.in_flight and asyncio.get_running_loop().time() - self._last_used >= (limit or 0)
                    if idle:
                        break
        finally:
            self.link = None
            self.notices.end()
            await link.close()
        return idle

    async def _pause(self, delay: float, lasting: bool) -> None:
        """Wait before the next attempt; a call that wants the server ends a short pause at once."""
        self.state = "failed" if lasting else "backoff"
        self._next_try = asyncio.get_running_loop().time() + delay
        try:
            async with asyncio.timeout(delay):
                await self._wanted.wait()
        except TimeoutError:
            self._wanted.set()
        self._next_try = None

    def _delay(self, failures: int) -> float:
        cap, first = self.settings.max_reconnect_delay_seconds, self.settings.reconnect_delay_seconds
        return min(cap, first * 2.0 ** min(failures - 1, 16)) * random.uniform(0.8, 1.2)

    async def stop(self) -> None:
        """End the owner's task, which closes what it opened."""
        self.state = "stopping"
        self._owner.cancel()
        for task in list(self._tasks):
            task.cancel()
        if self._relisting is not None:
            self._relisting.cancel()
        await asyncio.gather(self._owner, return_exceptions=True)
        if self._attempt is not None and not self._attempt.done():
            self._attempt.set_exception(NotSent("the server was stopped"))
            self._attempt.exception()

    def reconfigure(self, settings: ServerConfig) -> None:
        """New values for the next call; connection fields need a new upstream instead."""
        self.settings = settings
        self.breaker.configure(settings.breaker_failures, settings.breaker_reset_seconds)
        self._slots.limit = settings.max_in_flight

    def want(self) -> None:
        """Connect now if that is not under way."""
        if self.link is None:
            self._wanted.set()

    async def drain(self, limit: float) -> None:
        """Wait until the calls in flight have finished."""
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        while self.in_flight and loop.time() < end:
            await asyncio.sleep(0.05)

    @property
    def shown_state(self) -> State:
        return "open" if self.breaker.is_open and self.state in ("backoff", "connecting", "ready") else self.state

    @property
    def retry_after(self) -> float | None:
        return None if self._next_try is None else max(0.0, self._next_try - asyncio.get_running_loop().time())

    # -- what the link tells ---------------------------------------------------------------------------------------

    def link_notified(self, method: str, params: Params) -> None:
        if method in LISTS:
            if self._relisting is None:
                self._relisting = asyncio.get_running_loop().call_later(RELIST_SECONDS, self._relist)
        elif method == "notifications/resources/updated":
            self._host.resource_updated(self, params)
        elif method == ACKNOWLEDGED:
            self.notices.acknowledged()
        else:
            asking = [exchange for exchange in self.in_flight if exchange.on_notify is not None]
            if len(asking) == 1 and asking[0].on_notify is not None:
                asking[0].on_notify(method, params)
            else:
                self._host.stray_message(self, method, params)

    async def link_asked(self, method: str, params: Params) -> Params:
        asking = [exchange for exchange in self.in_flight if exchange.on_question is not None]
        if len(asking) == 1 and asking[0].on_question is not None:
            return await asking[0].on_question(method, params)
        return await self._host.stray_question(self, method, params)

    def link_lost(self, reason: str) -> None:
        if self.link is not None and self.state == "ready":
            self.last_error = reason
            self._host.upstream_event(self, "lost", reason)
        self.link = None
        self._gone.set()

    def _relist(self) -> None:
        self._relisting = None
        self.spawn(self.refresh())

    async def refresh(self) -> None:
        """Read the lists again."""
        link, known = self.link, self._known
        if link is None or known is None:
            return
        said = {"capabilities": known.capabilities, "serverInfo": known.server_info, "instructions": known.instructions}
        try:
            async with asyncio.timeout(self.settings.connect_timeout_seconds):
                self._known = await connect.read_manifest(link, said, self.settings)
        except (RemoraError, TimeoutError) as problem:
            log.warning("server %s: cannot list again: %s", self.name, problem)
            return
        self._host.manifest_read(self, self._known)

    def spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- calls -----------------------------------------------------------------------------------------------------

    async def call(
        self, method: str, params: Params, caller: Caller, level: str | None, exchange: Exchange, *, safe: bool
    ) -> tuple[Params, bool]:
        """The upstream's result and whether it came in the modern era. Repeats only what cannot do harm twice."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.settings.overall_deadline_seconds
        retries = self.settings.max_retries
        once_more = True
        for attempt in range(retries + 2):
            exchange.sent = False
            try:
                return await self._attempt_call(method, params, caller, level, exchange, deadline)
            except TryOnceMore as problem:
                if not once_more:
                    raise NotSent(str(problem)) from problem
                once_more = False
            except NotSent as problem:
                if attempt >= retries or problem.retry_after is not None or not _may_pass(problem):
                    raise
            except (LinkLost, CallTimeout) as problem:
                if not safe:
                    raise OutcomeUnknown(f"{problem}; it is not known whether the call ran") from problem
                if attempt >= retries or loop.time() >= deadline:
                    raise problem if isinstance(problem, CallTimeout) else NotSent(str(problem)) from problem
            await asyncio.sleep(min(FIRST_RETRY_SECONDS * 2.0**attempt, max(0.0, deadline - loop.time())))
        raise NotSent(self.last_error or "no attempt left")

    async def _attempt_call(
        self, method: str, params: Params, caller: Caller, level: str | None, exchange: Exchange, deadline: float
    ) -> tuple[Params, bool]:
        loop = asyncio.get_running_loop()
        if self.breaker.is_open and (wait := self.breaker.wait(loop.time())) > 0:
            raise NotSent(self.last_error or "it failed repeatedly", retry_after=wait)
        link = self.link or await self.ready_link()
        await self._slots.enter()
        self.in_flight.add(exchange)
        self._last_used = loop.time()
        try:
            if level is not None and not link.modern:
                await self._set_level(link, level)
            sent, exchange.progress_token = eras.to_upstream(params, link.modern, caller, level)
            clock = asyncio.timeout(min(self.settings.call_timeout_seconds, deadline - loop.time()))
            if exchange.progress_token is not None and self.settings.progress_extends:
                _extend_on_progress(exchange, clock, self.settings.call_timeout_seconds, deadline)
            try:
                async with clock:
                    result = await link.request(method, sent, exchange)
            except TimeoutError:
                self.breaker.fail(loop.time())
                self.spawn(self._check_alive(link))
                raise CallTimeout(f"no answer within {self.settings.call_timeout_seconds:g} s") from None
            self.breaker.succeed()
            return result, link.modern
        except RpcError:
            self.breaker.succeed()
            raise
        except (LinkLost, NotSent) as problem:
            self.breaker.fail(loop.time())
            self.last_error = str(problem)
            raise
        except asyncio.CancelledError:
            self.breaker.release()
            raise
        finally:
            self.in_flight.discard(exchange)
            self._slots.leave()

    async def ready_link(self) -> Link:
        """The live link; waits for the attempt under way, or starts one."""
        if self.link is not None:
            return self.link
        if self.state == "failed" and self._next_try is not None:
            raise NotSent(self.last_error, retry_after=self.retry_after)
        if self._attempt is None or self._attempt.done():
            self._attempt = asyncio.get_running_loop().create_future()
        attempt = self._attempt
        self._wanted.set()
        return await asyncio.shield(attempt)

    async def _set_level(self, link: Link, level: str) -> None:
        """A shared server logs at the most talkative level anybody asked for; each front filters its own."""
        if self._level is not None and LOG_LEVELS.index(self._level) <= LOG_LEVELS.index(level):
            return
        if self._known is not None and "logging" in self._known.capabilities:
            self._level = level
            try:
                await link.request("logging/setLevel", {"level": level}, Exchange())
            except RpcError as problem:
                log.info("server %s: cannot set its log level: %s", self.name, problem)

    async def set_level(self, level: str) -> None:
        if self.link is not None and not self.link.modern:
            await self._set_level(self.link, level)

    async def _check_alive(self, link: Link) -> None:
        """After a timeout: keep the connection only if it still answers something."""
        try:
            async with asyncio.timeout(LIVENESS_SECONDS):
                await connect.ask(link, "server/discover" if link.modern else "ping")
        except RpcError:
            pass  # an error is an answer
        except (TimeoutError, UpstreamError):
            if self.link is link:
                self.link_lost("no answer to a call, nor to a ping")


def _may_pass(problem: NotSent) -> bool:
    return not (isinstance(problem, CannotStart) and problem.missing)


def _extend_on_progress(exchange: Exchange, clock: asyncio.Timeout, seconds: float, deadline: float) -> None:
    """Progress restarts the clock of the attempt, never that of the whole call."""
    tell: Callable[[str, Params], None] | None = exchange.on_notify
    loop = asyncio.get_running_loop()

    def notify(method: str, params: Params) -> None:
        if method == "notifications/progress":
            clock.reschedule(min(loop.time() + seconds, deadline))
        if tell is not None:
            tell(method, params)

    exchange.on_notify = notify
