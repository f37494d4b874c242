from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.fakes import Exchange

from remora.config.model import HttpConfig
from remora.doors.http.app import HttpApp
from remora.doors.http.wire import BodyTooLarge, Disconnected, Request
from remora.doors.policy import Policy
from remora.gateway.session import LOCAL_USER, Principal, ViewKey

PORT = 7437
OURS = {"host": f"127.0.0.1:{PORT}", "authorization": "Bearer sesame"}


class Door:
    """Stands for MCP: remembers who came, and to see what."""

    def __init__(self) -> None:
        self.came: list[tuple[Principal, ViewKey, HttpConfig]] = []
        self.failure: Exception | None = None

    async def handle(self, request: Request, principal: Principal, view: ViewKey, config: HttpConfig) -> None:
        self.came.append((principal, view, config))
        if self.failure is not None:
            raise self.failure
        await request.reply(200)


class Site:
    def __init__(self, home: Path) -> None:
        self.door, self.config, self.anonymous = Door(), HttpConfig(), "off"
        self.app = HttpApp(
            self.door,  # type: ignore[arg-type]
            lambda: self.config,
            lambda: Policy("sesame", self.anonymous, "127.0.0.1"),  # type: ignore[arg-type]
            lambda: PORT,
            home,
        )

    async def ask(self, path: str = "/mcp", query: str = "", method: str = "POST", **given: str | None) -> Exchange:
        sent = {name: value for name, value in {**OURS, **given}.items() if value is not None}
        exchange = Exchange(method, path, sent, query=query)
        await self.app(exchange.scope, exchange.receive, exchange.send)
        return exchange


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
async def test_loopback_names_with_our_port_are_served(site: Site, host: str) -> None:
    assert (await site.ask(host=host)).status == 200
    assert (await site.ask(origin=f"http://{host}")).status == 200


@pytest.mark.parametrize(
    "host",
    [None, "", "localhost", "127.0.0.1", f"localhost:{PORT + 1}", f"evil.com:{PORT}", f"localhost.evil.com:{PORT}",
     f"127.0.0.1:{PORT}.evil.com", "[::1]", f"user@localhost:{PORT}"],
)  # fmt: skip
async def test_a_foreign_host_is_refused_before_anything_else(site: Site, host: str | None) -> None:
    for path in ("/mcp", "/health", "/nowhere"):
        answer = await site.ask(path, host=host)
        assert answer.status == 403
        assert "http.allowed_hosts" in answer.json["title"]
    assert site.door.came == []


@pytest.mark.parametrize(
    "origin", ["http://evil.com", f"http://evil.com:{PORT}", "null", "", "http://localhost", "http://[::1", "localhost"]
)
async def test_a_foreign_origin_is_refused(site: Site, origin: str) -> None:
    assert (await site.ask(origin=origin)).status == 403
    assert site.door.came == []


async def test_allowed_hosts_are_served_with_or_without_their_port(site: Site) -> None:
    site.config = HttpConfig(allowed_hosts=("box.lan", "only.lan:8080"))
    for host in ("box.lan", "box.lan:443", "only.lan:8080"):
        assert (await site.ask(host=host, origin=f"https://{host}")).status == 200
    assert (await site.ask(host="only.lan")).status == 403
    assert (await site.ask(host="only.lan:81")).status == 403


async def test_health_tells_everybody_that_it_is_there_and_nothing_more(site: Site) -> None:
    answer = await site.ask("/health", method="GET", authorization=None)
    assert (answer.status, answer.json) == (200, {"status": "ok"})


async def test_everything_else_needs_a_login(site: Site) -> None:
    for path in ("/mcp", "/", "/nowhere"):
        for login in (None, "Bearer wrong"):
            answer = await site.ask(path, authorization=login)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert site.door.came == []


async def test_the_policy_is_asked_anew_for_each_request(site: Site) -> None:
    assert (await site.ask(authorization=None)).status == 401
    site.anonymous = "read"
    assert (await site.ask(authorization=None)).status == 200
    assert (await site.ask()).status == 200
    assert [principal for principal, _, _ in site.door.came] == [Principal("anonymous", "read"), LOCAL_USER]


async def test_the_path_decides(site: Site) -> None:
    assert (await site.ask("/mcp/")).status == 200
    answer = await site.ask("/api")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "/api" in answer.json["title"]


async def test_the_query_says_what_is_seen(site: Site, tmp_path: Path) -> None:
    (tmp_path / "code" / ".git").mkdir(parents=True)
    (tmp_path / "code" / "deep").mkdir()
    await site.ask(query=f"profile=work&catalog=lazy&project={tmp_path}/code/deep")
    await site.ask()
    views = [view for _, view, _ in site.door.came]
    assert views == [ViewKey("work", tmp_path / "code", "lazy"), ViewKey()]


async def test_the_home_folder_is_no_project(site: Site, tmp_path: Path) -> None:
    await site.ask(query=f"project={tmp_path}")
    assert site.door.came[0][1].project is None


@pytest.mark.parametrize(("query", "named"), [("catalog=huge", "catalog"), ("project=relative/path", "project")])
async def test_a_query_that_makes_no_sense_is_refused(site: Site, query: str, named: str) -> None:
    answer = await site.ask(query=query)
    assert (answer.status, named in answer.json["title"]) == (400, True)
    assert site.door.came == []


async def test_a_body_that_is_too_large_is_named_with_its_limit(site: Site) -> None:
    site.config = HttpConfig(max_body_bytes=1234)
    site.door.failure = BodyTooLarge()
    answer = await site.ask()
    assert answer.status == 413
    assert "http.max_body_bytes (1234)" in answer.json["title"]


async def test_a_client_that_has_left_gets_no_answer(site: Site) -> None:
    site.door.failure = Disconnected()
    assert not (await site.ask()).started.is_set()


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
async def test_only_http_is_spoken(site: Site, kind: str) -> None:
    async def refuse(*_: Any) -> Any:
        raise AssertionError("nothing is read or sent")

    await site.app({"type": kind}, refuse, refuse)
