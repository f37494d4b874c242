"""Projects and profiles filter what a client sees, may call, read and is told, and nobody else's view."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.client import Client, Failure, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import PROGRAM, Home


def project(home: Home, content: str, name: str = "project") -> Path:
    root = home.folder / name
    (root / ".remora").mkdir(parents=True, exist_ok=True)
    (root / ".remora" / "project.toml").write_text(content)
    (root / "deep" / "er").mkdir(parents=True, exist_ok=True)
    return root


async def servers_seen(client: Client) -> set[str]:
    return {name.partition("__")[0] for name in await client.tools()} - {"remora", "read_more", "feedback"}


ALLOW = '[project]\nname = "p"\n[servers]\nenabled = ["git"]\n[tools]\nhidden = ["git__m*"]\n'


async def test_a_project_restricts_whoever_stands_in_it(home: Home, control: Control) -> None:
    told = control.server("mail", "--instructions", "Mail rules.")
    home.configure({"git": control.server("git"), "mail": told})
    root = project(home, ALLOW)
    async with home.stdio(cwd=root / "deep" / "er") as inside, home.stdio() as outside:
        for client, wanted in ((inside, "git__echo"), (outside, "mail__echo")):
            await client.open()
            await client.tools_with(wanted)
        assert await servers_seen(inside) == {"git"}
        tools = await inside.tools()
        assert "git__media" not in tools
        assert "git__echo" in tools
        for name in ("mail__echo", "git__media"):
            with pytest.raises(Failure, match="Unknown tool") as failure:
                await inside.call(name, {"text": "x"})
            assert "mail__echo" not in failure.value.data["similar"]
        assert {entry["uri"].split("/")[2] for entry in await inside.listing("resources")} == {"git"}
        assert {entry["name"].split("__")[0] for entry in await inside.listing("prompts")} == {"git"}
        with pytest.raises(Failure):
            await inside.result("resources/read", {"uri": "test://mail/a"})
        with pytest.raises(Failure):
            await inside.result("prompts/get", {"name": "mail__greet", "arguments": {"who": "x"}})
        assert await servers_seen(outside) == {"git", "mail"}
        assert text(await outside.call("mail__echo", {"text": "hi"})) == "hi"
    async with home.stdio(cwd=root) as inside:
        assert "Mail rules" not in (await inside.open())["instructions"]


@pytest.mark.parametrize("way", ["flag", "REMORA_PROJECT", "CLAUDE_PROJECT_DIR"])
async def test_ways_to_name_the_project(home: Home, control: Control, way: str) -> None:
    home.configure({"git": control.server("git"), "mail": control.server("mail")})
    root = project(home, ALLOW)
    arguments = ["--project", str(root)] if way == "flag" else []
    env = {} if way == "flag" else {way: str(root)}
    async with home.stdio(*arguments, env=env) as client:
        await client.open()
        await client.tools_with("git__echo")
        assert await servers_seen(client) == {"git"}


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_projects_of_http_clients(home: Home, control: Control, era: str) -> None:
    home.configure({"git": control.server("git"), "mail": control.server("mail")})
    root = project(home, ALLOW)
    rooted = {"capabilities": {"roots": {}}, "handlers": {"roots/list": lambda _: {"roots": [{"uri": root.as_uri()}]}}}
    async with home.serve() as gateway:
        named, everywhere = gateway.client(f"?project={root}", era=era), gateway.client(era=era)
        async with named, everywhere:
            await named.open()
            await everywhere.open()
            await everywhere.tools_with("git__echo", "mail__echo")
            assert await servers_seen(named) == {"git"}
        if era == "handshake":
            async with gateway.client(**rooted) as client:
                await client.open()
                await client.noted("roots/list")
                seen = 0
                while await servers_seen(client) != {"git"}:
                    seen += 1
                    await client.noted("notifications/tools/list_changed", count=seen)


async def test_a_project_file_is_live(home: Home, control: Control) -> None:
    home.configure({"git": control.server("git"), "mail": control.server("mail")})
    root = project(home, ALLOW)
    async with home.stdio(cwd=root) as client:
        await client.open()
        await client.tools_with("git__echo")
        project(home, '[servers]\ndisabled = ["git"]\n')
        await client.tools_with("mail__echo")
        assert await servers_seen(client) == {"mail"}


@pytest.mark.parametrize("wrong", ["[servers]\nenabled = ['git']\nno_such_key = 1\n", "not toml at all"])
async def test_a_faulty_project_file_is_ignored_as_a_whole(home: Home, control: Control, wrong: str) -> None:
    home.configure({"git": control.server("git"), "mail": control.server("mail")})
    async with home.stdio(cwd=project(home, wrong)) as client:
        await client.open()
        await client.tools_with("git__echo", "mail__echo")
    assert "project.toml" in home.errors.read_text()


async def test_a_project_file_cannot_add_a_server(home: Home, control: Control) -> None:
    home.configure({"git": control.server("git"), "off": control.server("off", enabled=False)})
    mine = control.server("mine")
    arguments = ", ".join(f'"{argument}"' for argument in mine["args"])
    allow = '[servers]\nenabled = ["git", "off", "mine"]\n'
    add = f'[servers.mine]\ncommand = "{mine["command"]}"\nargs = [{arguments}]\n'
    async with home.stdio(cwd=project(home, allow + add)) as client:
        await client.open()
        await client.tools_with("git__echo")
        assert await servers_seen(client) == {"git"}
        assert not control.seen("start", name="mine")
        assert not control.seen("start", name="off")


async def test_a_server_may_be_for_some_projects_only(home: Home, control: Control) -> None:
    root = project(home, '[project]\nname = "p"\n')
    home.configure({"git": control.server("git", projects=[str(root)]), "mail": control.server("mail")})
    async with home.stdio(cwd=root) as inside, home.stdio() as outside:
        await inside.open()
        await inside.tools_with("git__echo", "mail__echo")
        await outside.open()
        await outside.tools_with("mail__echo")
        assert await servers_seen(outside) == {"mail"}


async def test_one_process_per_project_where_it_matters(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", cwd="${project}")})
    roots = [project(home, '[project]\nname = "p"\n', name) for name in ("a", "b")]
    async with home.serve() as gateway:
        where = []
        for root in roots:
            async with gateway.client(f"?project={root}") as client:
                await client.open()
                await client.tools_with("up__whoami")
                where.append(text(await client.call("up__whoami")))
        assert [str(root) in said for root, said in zip(roots, where, strict=True)] == [True, True]
        assert len(control.alive("up")) == 2


PROFILES = {
    "few": {"servers": ["git"], "hidden": ["git__media"]},
    "lazy": {"catalog_mode": "lazy"},
}


@pytest.mark.parametrize("way", ["flag", "environment"])
async def test_a_profile_is_an_allow_list(home: Home, control: Control, way: str) -> None:
    home.configure({"git": control.server("git"), "mail": control.server("mail")}, profiles=PROFILES)
    started = home.stdio("--profile", "few") if way == "flag" else home.stdio(env={"REMORA_PROFILE": "few"})
    async with started as client:
        await client.open()
        await check_few(client)


@pytest.mark.parametrize("kind", ["http-handshake", "http-modern"])
async def test_a_profile_of_an_endpoint(home: Home, control: Control, kind: str) -> None:
    home.configure({"git": control.server("git"), "mail": control.server("mail")}, profiles=PROFILES)
    async with front(home, kind, "?profile=few") as client:
        await check_few(client)


async def check_few(client: Client) -> None:
    tools = await client.tools_with("git__echo")
    assert await servers_seen(client) == {"git"}
    assert "git__media" not in tools
    with pytest.raises(Failure, match="Unknown tool"):
        await client.call("mail__echo", {"text": "x"})


async def test_a_profile_may_set_the_mode(home: Home, control: Control) -> None:
    home.configure({"git": control.server("git")}, profiles=PROFILES)
    async with home.stdio("--profile", "lazy") as client:
        await client.open()
        tools = await client.tools()
        assert "find_tools" in tools
        assert "git__echo" not in tools


async def test_an_unknown_profile_ends_the_program(home: Home) -> None:
    home.configure({}, profiles=PROFILES)
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "mcp", "--profile", "fwe", stdin=-1, stdout=-1, stderr=-1, env=home.env(), cwd=home.cwd
    )
    _, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 3
    assert b"fwe" in err
