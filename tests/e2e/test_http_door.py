"""The rules of the HTTP door: who may enter, sessions, replay, headers."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tests.support.client import HANDSHAKE, MODERN, Failure, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import Gateway, Home
from tests.support.http_client import ACCEPT

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
        yield client


def headers(gateway: Gateway, **more: str) -> dict[str, str]:
    own = {"Authorization": f"Bearer {gateway.token}", "Accept": ACCEPT, "Content-Type": "application/json"}
    return {**own, **{name.replace("_", "-"): value for name, value in more.items()}}


async def test_who_may_enter(home: Home, http: httpx2.AsyncClient) -> None:
    home.configure({}, http={"port": 0, "allowed_hosts": ["gate.example:8443"]})
    async with home.serve() as gateway:
        token = home.path / "run" / "token"
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert len(base64.urlsafe_b64decode(gateway.token + "==")) == 32

        health = await http.get(f"{gateway.root}/health")
        assert (health.status_code, health.json()) == (200, {"status": "ok"})

        async def status(**more: str) -> int:
            return (await http.post(gateway.url, json=INITIALIZE, headers=headers(gateway, **more))).status_code

        assert await status() == 200
        for wrong in ("Bearer wrong", "Bearer", f"Basic {gateway.token}", gateway.token, f"Bearer {gateway.token}x"):
            assert await status(Authorization=wrong) == 401, wrong
        unknown = await http.post(gateway.url, json=INITIALIZE, headers={"Accept": ACCEPT})
        assert unknown.status_code == 401
        assert unknown.headers["www-authenticate"].startswith("Bearer")
        assert (await http.get(gateway.url)).status_code == 401
        assert (await http.delete(gateway.url)).status_code == 401

        port = gateway.root.rsplit(":", 1)[1]
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "gate.example:8443"):
            assert await status(Host=host) == 200, host
        for host in ("evil.example", f"evil.example:{port}", "localhost:1", f"127.0.0.1.evil.example:{port}"):
            assert await status(Host=host) == 403, host
        for origin in (f"http://localhost:{port}", f"http://127.0.0.1:{port}"):
            assert await status(Origin=origin) == 200, origin
        for origin in ("http://evil.example", "null", f"http://evil.example:{port}", "http://localhost:1"):
            assert await status(Origin=origin) == 403, origin


async def test_what_is_not_there(home: Home, http: httpx2.AsyncClient) -> None:
    home.configure({})
    async with home.serve() as gateway:
        assert (await http.get(f"{gateway.root}/nowhere", headers=headers(gateway))).status_code == 404
        assert (await http.put(gateway.url, headers=headers(gateway))).status_code == 405
        unknown = f"{gateway.url}?profile=unknown"
        assert (await http.post(unknown, json=INITIALIZE, headers=headers(gateway))).status_code == 404


async def test_bodies(home: Home, http: httpx2.AsyncClient, control: Control) -> None:
    home.configure({"up": control.server("up")}, pipeline={"enabled": False})
    async with home.serve() as gateway, gateway.client() as client:
        await client.open()
        await client.tools_with("up__echo")
        within = headers(gateway, Mcp_Session_Id=client.session, MCP_Protocol_Version=HANDSHAKE)

        async def post(content: bytes) -> httpx2.Response:
            return await http.post(gateway.url, content=content, headers=within)

        assert (await post(b"x" * 9 * 2**20)).status_code == 413
        broken = await post(b"{not json")
        assert (broken.status_code, broken.json()["error"]["code"]) == (400, -32700)
        batch = await post(json.dumps([PING]).encode())
        assert (batch.status_code, batch.json()["error"]["code"]) == (400, -32600)
        note = await post(b'{"jsonrpc":"2.0","method":"notifications/unheard-of"}')
        assert (note.status_code, note.content) == (202, b"")
        assert text(await client.call("up__echo", {"text": "y" * 8_000_000})) == "y" * 8_000_000


async def test_sessions(home: Home, http: httpx2.AsyncClient) -> None:
    home.configure({}, http={"port": 0, "max_sessions": 2})
    async with home.serve() as gateway:
        one, two = gateway.client(), gateway.client()
        async with one, two:
            await one.open()
            await two.open()
            assert one.session != two.session
            assert len(one.session) == 32
            full = await http.post(gateway.url, json=INITIALIZE, headers=headers(gateway))
            assert (full.status_code, full.headers["retry-after"]) == (503, "5")
            for unknown in ("0" * 32, "nonsense"):
                within = headers(gateway, Mcp_Session_Id=unknown, MCP_Protocol_Version=HANDSHAKE)
                assert (await http.post(gateway.url, json=PING, headers=within)).status_code == 404
                assert (await http.get(gateway.url, headers=within)).status_code == 404
                assert (await http.delete(gateway.url, headers=within)).status_code == 404
            gone = one.session
            assert await one.delete() in (200, 204)
            within = headers(gateway, Mcp_Session_Id=gone, MCP_Protocol_Version=HANDSHAKE)
            assert (await http.post(gateway.url, json=PING, headers=within)).status_code == 404
            assert await two.result("ping") == {}
            async with gateway.client() as three:  # there is room again
                await three.open()


async def test_missed_events_are_replayed(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client() as client, gateway.client() as other:
        for each in (client, other):
            await each.open()
            await each.tools_with("up__echo")
        await control.tell("up", "add_tool", tool="first")
        await client.noted("notifications/tools/list_changed")
        last = [event["id"] for event in client.events if "list_changed" in event.get("data", "")][-1]
        client.standing.cancel()
        await control.tell("up", "add_prompt", prompt="second")
        await other.noted("notifications/prompts/list_changed")  # it has happened, and one of two did not see it
        assert not client.notes("notifications/prompts/list_changed")
        await client.listen(last)
        assert client.standing_status == 200
        await client.noted("notifications/prompts/list_changed")
        assert len(client.notes("notifications/tools/list_changed")) == 1
        ids = [event["id"] for event in client.events if event.get("id")]
        assert len(ids) == len(set(ids))


async def test_sessions_do_not_see_each_others_messages(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client() as one, gateway.client() as two:
        for each in (one, two):
            await each.open()
            await each.tools_with("up__echo")
        await one.call("up__progress", {"steps": 3}, meta={"progressToken": "same"})
        await two.call("up__echo", {"text": "x"}, meta={"progressToken": "same"})
        assert len(one.notes("notifications/progress")) == 3
        assert not two.notes("notifications/progress")


async def test_modern_headers_must_match_the_body(home: Home, http: httpx2.AsyncClient, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client(era="modern") as client:
        await client.open()
        await client.tools_with("up__with_header")
        params = {"name": "up__with_header", "arguments": {"region": "eu"}, "_meta": client.envelope()}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        right = {
            "MCP_Protocol_Version": MODERN,
            "Mcp_Method": "tools/call",
            "Mcp_Name": "up__with_header",
            "Mcp_Param_Region": "eu",
        }

        async def post(**changes: str) -> httpx2.Response:
            return await http.post(gateway.url, json=message, headers=headers(gateway, **{**right, **changes}))

        assert (await post()).status_code == 200
        name = base64.b64encode(b"up__with_header").decode()
        assert (await post(Mcp_Name=f"=?base64?{name}?=")).status_code == 200
        for wrong in (
            {"Mcp_Method": "tools/list"},
            {"Mcp_Name": "up__echo"},
            {"Mcp_Name": "=?base64?!!?="},
            {"Mcp_Param_Region": "us"},
        ):
            refused = await post(**wrong)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020), wrong
        assert len(control.seen("call", tool="with_header")) == 2


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_closing_the_stream(home: Home, control: Control, era: str) -> None:
    """For a modern client that cancels the call; a handshake client may only have lost its connection."""
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client(era=era) as client:
        await client.open()
        await client.tools_with("up__block")
        identity = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked", name="up")
        await client.cancel(identity)
        await control.until("cancelled", name="up")
        assert text(await client.call("up__echo", {"text": "on"})) == "on"


async def test_anonymous_access_has_to_be_asked_for(home: Home, http: httpx2.AsyncClient, control: Control) -> None:
    home.configure({"up": control.server("up")}, auth={"anonymous": "write"})
    async with home.serve() as gateway, gateway.client() as client:
        client.headers = {}
        await client.open()
        await client.tools_with("up__echo")
        assert text(await client.call("up__echo", {"text": "hi"})) == "hi"
        strange = {"Accept": ACCEPT, "Origin": "http://evil.example"}
        assert (await http.post(gateway.url, json=INITIALIZE, headers=strange)).status_code == 403


@pytest.mark.parametrize(
    ("http", "exit_code"),
    [({"host": "0.0.0.0", "port": 0}, 3), ({"host": "0.0.0.0", "port": 0, "allow_remote": True}, 3)],
)
async def test_other_machines_are_kept_out(home: Home, http: dict[str, Any], exit_code: int) -> None:
    home.configure({}, http=http)
    code, _, err = await home.cli("serve")
    assert code == exit_code
    assert err


async def test_one_server_per_home_and_port(home: Home) -> None:
    home.configure({})
    async with home.serve() as gateway:
        code, out, err = await home.cli("serve")
        assert code == 5
        assert str(gateway.process.pid) in out + err
        port = gateway.root.rsplit(":", 1)[1]
        other = Home(home.folder / "other")
        other.configure({}, http={"port": int(port)})
        code, _, err = await other.cli("serve")
        assert code == 5
        assert port in err
    assert not (home.path / "run" / "daemon.json").exists()


async def test_endpoint_parameters_hold_for_the_session(home: Home, control: Control) -> None:
    home.configure(
        {"up": control.server("up"), "other": control.server("other")}, profiles={"few": {"servers": ["up"]}}
    )
    async with front(home, "http-handshake", "?profile=few&catalog=lazy") as client:
        assert "find_tools" in await client.tools()
        with pytest.raises(Failure):
            await client.call("other__echo", {"text": "x"})
