from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from remora.config.load import Loaded, load
from remora.doors.cli.engine import files_only
from remora.errors import RefusedError, RemoraError, UsageError
from remora.gateway.manifest import Manifest, fingerprint
from remora.gateway.session import Principal
from remora.operations.registry import OPERATIONS, Context, run
from remora.operations.servers import AddServer, checked, known, secret_warnings, stored_manifests

FILE = """\
[servers.git]
command = "uvx"
args = ["mcp-server-git"]

# the web
[servers.web]
url = "https://example.com/mcp"
enabled = false
"""


def loaded(folder: Path, text: str = FILE, environ: Mapping[str, str] | None = None) -> Loaded:
    (folder / "config.toml").write_text(text)
    return load(folder, environ=environ or {})


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    async with files_only(loaded(tmp_path)) as made:
        yield made


async def offered(context: Context, server: str, *tools: str) -> None:
    """Pretend that a server was reached and offered these tools."""
    settings = context.gateway.loaded.config.server(server)
    manifest = Manifest(fingerprint(settings), True, "2026-07-28", tools=tuple({"name": tool} for tool in tools))
    context.state.manifests.save(server, manifest.fingerprint, manifest.to_payload())
    await context.state.run(lambda db: None)  # written in order: the manifest is there now


async def test_list_gives_the_essentials_in_config_order(context: Context, tmp_path: Path) -> None:
    result = await run(context, "servers.list", {})
    assert result["config_path"] == str(tmp_path / "config.toml")
    assert list(result["servers"]) == ["git", "web"]
    assert result["servers"]["git"] == {
        "prefix": "git", "transport": "stdio", "command": "uvx", "args": ["mcp-server-git"], "enabled": True,
        "catalog_mode": "slim", "structured": "auto", "scope": "auto",
    }  # fmt: skip
    assert result["servers"]["web"]["url"] == "https://example.com/mcp"
    assert "uvx mcp-server-git" in OPERATIONS["servers.list"].render(result)


async def test_names_come_from_what_servers_offered(context: Context) -> None:
    await offered(context, "git", "log", "a.b", "x" * 80)
    result = await run(context, "servers.list", {"names": True})
    names = result["servers"]["git"]["names"]
    assert names["log"] == "git__log"
    assert names["a.b"].startswith("git__a_b_")
    assert len(f"mcp__rem__{names['x' * 80]}") == 64
    assert result["servers"]["web"]["names"] == {}


async def test_what_a_server_offered_under_another_configuration_is_not_used(context: Context, tmp_path: Path) -> None:
    await offered(context, "git", "log")
    assert list(await stored_manifests(context)) == ["git"]
    changed = loaded(tmp_path, FILE.replace("mcp-server-git", "another"))
    async with files_only(changed) as later:
        assert await stored_manifests(later) == {}


async def test_adding_writes_what_was_said_and_warns(context: Context, tmp_path: Path) -> None:
    given = {"name": "hub", "command": "prog", "env": {"TOKEN": "abc-123-def"}, "prefix": "h"}
    result = await run(context, "servers.add", given)
    assert result["server"]["prefix"] == "h"
    assert len(result["warnings"]) == 1
    assert load(tmp_path, environ={}).config.servers["hub"].env == {"TOKEN": "abc-123-def"}
    assert (tmp_path / "config.toml").read_text().startswith(FILE.rstrip())


async def test_a_replaced_server_forgets_what_the_old_one_offered(context: Context) -> None:
    await offered(context, "git", "log")
    await run(context, "servers.add", {"name": "git", "command": "uvx", "args": ["mcp-server-git"], "force": True})
    await context.state.run(lambda db: None)
    assert await context.state.manifests.load(["git"]) == {}


async def test_removing_takes_the_manifest_along(context: Context, tmp_path: Path) -> None:
    await offered(context, "git", "log")
    assert await run(context, "servers.remove", {"name": "git"}) == {"name": "git", "removed": True}
    await context.state.run(lambda db: None)
    assert await context.state.manifests.load(["git"]) == {}
    assert list(load(tmp_path, environ={}).config.servers) == ["web"]


async def test_removing_can_be_rehearsed(context: Context, tmp_path: Path) -> None:
    result = await run(context, "servers.remove", {"name": "web", "dry_run": True})
    assert "-# the web\n-[servers.web]" in result["diff"]
    assert (tmp_path / "config.toml").read_text() == FILE


async def test_switching(context: Context, tmp_path: Path) -> None:
    assert (await run(context, "servers.disable", {"name": "git"}))["changed"]
    assert not (await run(context, "servers.disable", {"name": "web"}))["changed"]
    assert (await run(context, "servers.enable", {"name": "web"}))["enabled"]
    servers = load(tmp_path, environ={}).config.servers
    assert (servers["git"].enabled, servers["web"].enabled) == (False, True)


async def test_changing_needs_the_scope_admin(context: Context) -> None:
    reader = Context(context.gateway, context.state, context.paths, Principal("someone", "write"))
    await run(reader, "servers.list", {})
    for name, given in (
        ("add", {"name": "x", "command": "p"}),
        ("remove", {"name": "git"}),
        ("enable", {"name": "git"}),
    ):
        with pytest.raises(RefusedError, match="admin"):
            await run(reader, f"servers.{name}", given)


def test_a_server_that_only_the_environment_has_cannot_be_edited(tmp_path: Path) -> None:
    found = loaded(tmp_path, environ={"REMORA_SERVERS__ENVY__COMMAND": "prog"})
    assert "envy" in found.config.servers
    with pytest.raises(RemoraError, match="comes from the environment"):
        known(found, "envy")
    with pytest.raises(RemoraError, match=r'"zzz" \(there are: git, web\)'):
        known(found, "zzz")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"command": "a", "url": "http://b"}, "has both command and url"),
        ({"url": "ftp://b"}, "must begin with http"),
        ({"command": "a", "prefix": "a__b"}, "prefix: .* not usable"),
        ({"command": "a", "scope": "galaxy"}, 'scope: .*not "galaxy"'),
        ({}, "has neither"),
    ],
)
def test_a_server_that_cannot_be_is_named_by_its_fault(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        checked(AddServer(name="x", **given))


@pytest.mark.parametrize("command", ["remora", "/opt/bin/rem", "C:\\tools\\remora"])
def test_a_gateway_cannot_stand_behind_itself(command: str) -> None:
    with pytest.raises(RefusedError, match="itself"):
        checked(AddServer(name="x", command=command))


async def test_long_prefixes_and_client_names_leave_little_room(tmp_path: Path) -> None:
    text = '[gateway]\nclient_names = ["rem", "plugin_rem_rem_for_the_team"]\n'
    async with files_only(loaded(tmp_path, text)) as context:
        result = await run(context, "servers.add", {"name": "x", "command": "p", "prefix": "p" * 10})
        assert "leaves 18 characters" in result["warnings"][0]
        with pytest.raises(UsageError, match="leaves 4 characters"):
            await run(context, "servers.add", {"name": "y", "command": "p", "prefix": "q" * 24})


def test_secrets_are_named_by_key_only() -> None:
    servers = {
        "a": {"command": "prog", "args": ["--token", "abc-123-def"], "env": {"PASSWORD": "${PW}", "PATH": "/usr/bin"}},
        "b": {"url": "https://user:pass-word-1@example.com", "headers": {"Authorization": "Bearer abc-123-def"}},
    }
    found = secret_warnings(servers)
    assert [warning.split()[0] for warning in found] == [
        "servers.a.args",
        "servers.b.url",
        "servers.b.headers.Authorization",
    ]
    assert "abc-123" not in "".join(found)
