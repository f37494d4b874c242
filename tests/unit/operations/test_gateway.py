from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from remora import __version__
from remora.app import App, opened
from remora.config.load import load_for_gateway
from remora.errors import RpcError, UsageError
from remora.gateway.manifest import Manifest
from remora.gateway.session import Caller, Principal, Session, ViewKey
from remora.operations.gateway import since_seconds
from remora.operations.registry import OPERATIONS, run

NOTES = f'command = "{sys.executable}"\nargs = ["-m", "remora.demo.notes"]\n'
Open = Callable[[str], AbstractAsyncContextManager[App]]


@pytest.fixture
def configured(tmp_path: Path) -> Open:
    """The whole of it behind a configuration file."""

    def open_with(text: str) -> AbstractAsyncContextManager[App]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(text)
        return opened(load_for_gateway(home, environ={}), dict(os.environ))

    return open_with


@pytest.fixture
async def app(configured: Open) -> AsyncIterator[App]:
    """Three servers: one that cannot be started, one that is off, one that makes no sense."""
    text = (
        '[servers.gone]\ncommand = "/no/such/program"\n[servers.off]\ncommand = "x"\nenabled = false\n[servers.odd]\n'
    )
    async with configured(text) as made:
        yield made


class FakeLink:
    modern, version = False, "2025-06-18"

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.asked: list[str] = []

    async def request(self, method: str, params: Any, exchange: Any) -> Any:
        self.asked.append(method)
        if self.problem is not None:
            raise self.problem
        return {}


def reached(app: App, monkeypatch: pytest.MonkeyPatch, link: FakeLink, *tools: str) -> list[str]:
    """Pretend that the server `gone` is there and offers these tools; what is done to it."""
    server = app.gateway.servers["gone"]
    server.manifest = Manifest("f", False, link.version, tools=tuple({"name": tool} for tool in tools))
    app.gateway._rebuild()
    upstream, done = server.upstream(None), []

    async def ready_link() -> FakeLink:
        return link

    async def refresh() -> None:
        done.append("refresh")

    monkeypatch.setattr(upstream, "ready_link", ready_link)
    monkeypatch.setattr(upstream, "refresh", refresh)
    monkeypatch.setattr(upstream, "want", lambda: done.append("want"))
    return done


def listed(app: App, profile: str = "") -> Session:
    session = Session("stdio", view=ViewKey(profile), caller=Caller(False, "2025-11-25", {"name": "probe"}))
    app.gateway.open_session(session)
    return session


# -- health ---------------------------------------------------------------------------------------------------------


async def test_health_shows_every_server_also_those_that_never_ran(app: App) -> None:
    result = await run(app.context(), "gateway.health", {})
    assert {name: row["state"] for name, row in result["servers"].items()} == {
        "gone": "failed", "off": "disabled", "odd": "failed",
    }  # fmt: skip
    assert "/no/such/program" in result["servers"]["gone"]["error"]
    assert "command" in result["servers"]["odd"]["error"]
    assert not any(row["connected"] for row in result["servers"].values())
    assert result["config"] == {"mode": "normal", "reason": None}


async def test_health_of_some_asks_only_those_in_their_order(app: App) -> None:
    result = await run(app.context(), "gateway.health", {"names": ["odd", "gone"]})
    assert list(result["servers"]) == ["odd", "gone"]


async def test_health_of_a_server_nobody_knows_names_those_there_are(app: App) -> None:
    with pytest.raises(UsageError, match="'git', 'x'; there are: gone, off, odd"):
        await run(app.context(), "gateway.health", {"names": ["git", "gone", "x"]})


async def test_health_measures_an_answer(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    link = FakeLink()
    done = reached(app, monkeypatch, link, "log", "a.b")
    result = await run(app.context(), "gateway.health", {"names": ["gone"]})
    row = result["servers"]["gone"]
    assert (row["connected"], row["era"], row["tools"], row["error"]) == (True, "2025-06-18", 2, None)
    assert row["latency_ms"] >= 0
    assert (link.asked, done) == (["ping"], ["want"])
    assert row["overflowing"] == ["a.b"]
    assert "names" not in row


async def test_health_shows_names_and_reads_lists_again_when_asked(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    done = reached(app, monkeypatch, FakeLink(), "log", "a.b")
    given = {"names": ["gone"], "show_names": True, "refresh": True}
    row = (await run(app.context(), "gateway.health", given))["servers"]["gone"]
    assert row["names"]["log"] == "gone__log"
    assert row["names"]["a.b"].startswith("gone__a_b_")
    assert done == ["want", "refresh"]


async def test_an_error_is_an_answer_too(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    reached(app, monkeypatch, FakeLink(RpcError(-32601, "Method not found")), "log")
    row = (await run(app.context(), "gateway.health", {"names": ["gone"]}))["servers"]["gone"]
    assert (row["connected"], row["error"]) == (True, None)


async def test_a_server_that_does_not_answer_is_not_waited_for(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(self: FakeLink, method: str, params: Any, exchange: Any) -> Any:
        raise TimeoutError

    monkeypatch.setattr(FakeLink, "request", never)
    reached(app, monkeypatch, FakeLink(), "log")
    row = (await run(app.context(), "gateway.health", {"names": ["gone"], "timeout": 0.5}))["servers"]["gone"]
    assert (row["connected"], row["error"]) == (False, "no answer within 0.5 s")


async def test_health_tries_again_what_had_failed_for_good(configured: Open, tmp_path: Path) -> None:
    program = tmp_path / "program"
    async with configured(f'[servers.late]\ncommand = "{program}"\n') as app:
        before = (await run(app.context(), "gateway.health", {}))["servers"]["late"]
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -m remora.demo.notes\n")
        program.chmod(0o755)
        after = (await run(app.context(), "gateway.health", {}))["servers"]["late"]
    assert (before["connected"], before["state"]) == (False, "failed")
    assert (after["connected"], after["state"], after["error"]) == (True, "ready", None)


async def test_health_tells_of_a_configuration_that_is_not_in_force(configured: Open) -> None:
    async with configured("nonsense = 1\n") as app:
        result = await run(app.context(), "gateway.health", {})
        assert result["config"]["mode"] == "safe"
        assert "nonsense" in result["config"]["reason"]
        assert result["servers"] == {}


# -- status ---------------------------------------------------------------------------------------------------------


async def test_status_shows_all_servers_in_config_order_and_broken_ones_with_their_reason(app: App) -> None:
    result = await run(app.context(), "gateway.status", {})
    assert (result["version"], result["mode"]) == (__version__, "normal")
    assert result["config_path"] == str(app.paths.config)
    assert list(result["servers"]) == ["gone", "off", "odd"]
    assert result["servers"]["off"] == {"state": "disabled"}
    assert "command" in result["servers"]["odd"]["last_error"]
    row = result["servers"]["gone"]
    assert (row["transport"], row["scope"], row["connections"], row["in_flight"]) == ("stdio", "shared", 0, 0)
    assert result["stage_failures"] == {}


async def test_status_tells_when_a_failed_server_is_tried_again(app: App) -> None:
    await run(app.context(), "gateway.health", {"names": ["gone"]})
    row = (await run(app.context(), "gateway.status", {}))["servers"]["gone"]
    assert (row["state"], row["breaker"]) == ("failed", "closed")
    assert row["failures"] > 0
    assert "/no/such/program" in row["last_error"]
    assert row["next_attempt_s"] > 0


async def test_status_lists_sessions(app: App) -> None:
    session, silent = listed(app), Session("http")
    app.gateway.open_session(silent)
    shown = {row["id"]: row for row in (await run(app.context(), "gateway.status", {}))["sessions"]}
    row, other = shown[session.id[:8]], shown[silent.id[:8]]
    assert (row["door"], row["era"], row["client"], row["principal"], row["catalog"]) == (
        "stdio", "handshake", "probe", "local", "slim",
    )  # fmt: skip
    assert (row["profile"], row["project"]) == (None, None)
    assert (other["door"], other["era"], other["client"]) == ("http", None, None)
    await app.gateway.close_session(session)
    left = (await run(app.context(), "gateway.status", {}))["sessions"]
    assert [row["id"] for row in left] == [silent.id[:8]]
    assert silent.id not in str(left)  # the whole id is what opens the session


async def test_who_may_not_do_everything_hears_only_of_what_his_session_sees(
    configured: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        '[servers.gone]\ncommand = "/no/such/program"\n[servers.secret]\ncommand = "/no/such/other"\n'
        '[profiles.some]\nservers = ["gone"]\n'
    )
    async with configured(text) as app:
        reached(app, monkeypatch, FakeLink(), "log")
        app.gateway.open_session(Session("stdio"))
        session = Session("http", Principal("anonymous", "read"), ViewKey("some"))
        app.gateway.open_session(session)
        context = app.context(session)
        for name in ("gateway.health", "gateway.status"):
            assert list((await run(context, name, {}))["servers"]) == ["gone"]
        assert [row["principal"] for row in (await run(context, "gateway.status", {}))["sessions"]] == ["anonymous"]
        for unknown in ("secret", "absent"):
            with pytest.raises(UsageError, match=rf"'{unknown}'; there are: gone$"):
                await run(context, "gateway.health", {"names": [unknown]})


async def test_every_result_can_be_rendered(app: App) -> None:
    listed(app)
    for name in ("gateway.health", "gateway.status", "gateway.stats"):
        result = await run(app.context(), name, {})
        assert OPERATIONS[name].render(result)


# -- stats ----------------------------------------------------------------------------------------------------------


async def test_stats_include_what_was_recorded_a_moment_ago(app: App) -> None:
    app.gateway.metrics.record_tool_defs("mine", 100, 40, 7)
    result = await run(app.context(), "gateway.stats", {"tool_defs": True})
    assert result["definitions"]["saved"] == 60
    assert result["definitions"]["rows"][0]["session"] == "mine"
    assert (result["calls"], result["window"]["seconds"]) == (0, 7 * 86400)


@pytest.mark.parametrize(
    ("given", "field"), [({"since": "yesterday"}, "'yesterday' is no duration"), ({"by": "weather"}, "^by: "),
                         ({"session": "x"}, "^session: ")]
)  # fmt: skip
async def test_stats_refuse_what_they_do_not_know(app: App, given: dict[str, Any], field: str) -> None:
    with pytest.raises(UsageError, match=field):
        await run(app.context(), "gateway.stats", given)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2m", 120), ("1.5h", 5400), ("1d", 86400), ("2w", 1209600), ("0s", 0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert since_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "7", "7y", "-1h", "1.2.3h", " 7d", "7 d", "1e3s", "d7", ".h"])
def test_what_is_no_duration_says_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageError, match="such as 24h"):
        since_seconds(text)


# -- describe_tool --------------------------------------------------------------------------------------------------


async def test_a_tool_is_described_as_its_server_defined_it(configured: Open) -> None:
    async with configured(f"[servers.notes]\n{NOTES}prefix = 'n'\n") as app:
        await run(app.context(), "gateway.health", {})
        result = await run(app.context(), "gateway.describe_tool", {"name": "n__add_note"})
        manifest = app.gateway.servers["notes"].manifest
        assert manifest is not None
        assert (result["server"], result["original_name"]) == ("notes", "add_note")
        assert result["definition"] == next(tool for tool in manifest.tools if tool["name"] == "add_note")


async def test_our_own_tool_is_described_too(app: App) -> None:
    result = await run(app.context(), "gateway.describe_tool", {"name": "remora"})
    assert (result["server"], result["definition"]["name"]) == (None, "remora")


async def test_an_unknown_tool_is_told_what_is_like_it(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    reached(app, monkeypatch, FakeLink(), "log", "status")
    for context in (app.context(), app.context(listed(app))):
        with pytest.raises(UsageError, match="Unknown tool: gone__lag"):
            await run(context, "gateway.describe_tool", {"name": "gone__lag"})
    with pytest.raises(UsageError, match="similar: gone__log"):
        await run(app.context(listed(app)), "gateway.describe_tool", {"name": "gone__lag"})


async def test_a_session_is_told_of_what_it_sees_alone(configured: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[servers.gone]\ncommand = "/no/such/program"\n[profiles.bare]\nservers = []\n'
    async with configured(text) as app:
        reached(app, monkeypatch, FakeLink(), "log")
        given = {"name": "gone__log"}
        assert (await run(app.context(listed(app)), "gateway.describe_tool", given))["server"] == "gone"
        with pytest.raises(UsageError, match=r"^Unknown tool: gone__log$"):
            await run(app.context(listed(app, "bare")), "gateway.describe_tool", given)


async def test_the_clock_of_the_gateway_runs(app: App) -> None:
    result = await run(app.context(), "gateway.status", {})
    assert 0 <= result["uptime_seconds"] <= time.time() - app.gateway.started_at + 1
