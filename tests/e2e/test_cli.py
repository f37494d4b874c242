"""The program as it is typed: in its own process, with and without a running gateway."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import text
from tests.support.control import Control
from tests.support.home import PROGRAM, Home

DEMO = {name: {"command": sys.executable, "args": ["-m", f"remora.demo.{name}"]} for name in ("notes", "tickets")}
SECRET = "sesame-0pen-and-shut"


async def document(home: Home, *words: str, code: int = 0, **options: Any) -> Any:
    """What a command prints with --json: exactly one document, and its exit code."""
    returned, out, err = await home.cli(*words, "--json", **options)
    assert returned == code, (words, returned, out, err)
    return json.loads(out)


async def test_both_scripts_and_the_module_are_one_program(home: Home) -> None:
    beside = Path(sys.executable).parent
    told = set()
    for program in ([*PROGRAM], [str(beside / "remora")], [str(beside / "rem")]):
        process = await asyncio.create_subprocess_exec(*program, "version", stdin=-3, stdout=-1, env=home.env())
        told.add((await process.communicate())[0])
    assert len(told) == 1


async def test_living_with_a_server(home: Home) -> None:
    """Add, list, ask, call, count, switch off, remove: each command sees what the ones before it did."""
    words = ["--", sys.executable, "-m", "remora.demo.notes"]
    assert (await home.cli("add", "notes", "--probe", *words))[0] == 0
    assert list((await document(home, "list"))["servers"]) == ["notes"]
    assert (await document(home, "health"))["servers"]["notes"]["connected"]
    _, out, _ = await home.cli("call", "notes__search_notes", '{"query": "friday"}')
    assert "Deploys" in out
    assert (await document(home, "stats", "--by", "server"))["rows"][0]["name"] == "notes"
    await document(home, "disable", "notes")
    assert (await document(home, "status"))["servers"]["notes"]["state"] == "disabled"
    _, _, err = await home.cli("call", "notes__search_notes", '{"query": "friday"}')
    assert "Unknown tool" in err
    await document(home, "enable", "notes")
    assert (await document(home, "remove", "notes", code=6))["error"] == "refused"
    await document(home, "remove", "notes", "--yes")
    assert (await document(home, "list"))["servers"] == {}


@pytest.mark.parametrize("word", ["status", "health", "doctor", "list", "stats"])
async def test_looking_at_nothing_changes_nothing_of_note(home: Home, word: str) -> None:
    await document(home, word, env={"REMORA_HOME": str(home.folder / "fresh")})
    assert not (home.folder / "fresh" / "config.toml").exists()


async def test_commands_use_the_gateway_that_runs(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway:
        status = await document(home, "status")
        assert status["daemon"]["pid"] == gateway.process.pid
        assert status["daemon"]["doors"]["http"] == gateway.url
        assert (await document(home, "health"))["servers"]["up"]["connected"]
        echoed = await document(home, "call", "up__echo", '{"text": "hi"}')
        assert text(echoed) == "hi"
        refused = await document(home, "call", "up__ech", code=1)
        assert "up__echo" in refused["data"]["similar"]
        assert (await document(home, "health", "nobody", code=2))["error"] == "usage"
        checked = {check["id"]: check for check in (await document(home, "doctor"))["checks"]}
        assert checked["engine"]["detail"] == f"pid {gateway.process.pid} at {gateway.root}"
        assert checked["server up"]["status"] == "ok"
        second = await document(home, "serve", code=5)
        assert str(gateway.process.pid) in second["message"]
        async with gateway.client() as client:
            await client.open()
            assert [one["client"] for one in (await document(home, "status"))["sessions"]].count("tests") == 1
    assert (await document(home, "status"))["daemon"] is None


async def test_a_running_gateway_takes_up_what_the_command_line_edits(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client() as client:
        await client.open()
        await client.tools_with("up__echo")
        server = control.server("late")
        words = [word for name, value in server.get("env", {}).items() for word in ("--env", f"{name}={value}")]
        assert (await home.cli("add", "late", *words, "--", server["command"], *server["args"]))[0] == 0
        await client.tools_with("late__echo")
        await document(home, "disable", "late")
        async with asyncio.timeout(10):
            while any(name.startswith("late__") for name in await client.tools()):
                await asyncio.sleep(0.05)  # the file is polled: there is nothing to wait on but time


async def test_a_gateway_that_was_killed_is_not_mistaken_for_one_that_runs(home: Home) -> None:
    async with home.serve() as gateway:
        gateway.process.send_signal(signal.SIGKILL)
        await gateway.process.wait()
        assert (home.path / "run" / "daemon.json").exists()
        assert (await document(home, "status"))["daemon"] is None
        found = await document(home, "doctor", "--fix")
        assert any("left over" in check["detail"] for check in found["checks"])
        assert not (home.path / "run" / "daemon.json").exists()


async def test_a_gateway_that_hangs_is_unavailable_and_not_waited_for(home: Home) -> None:
    async with home.serve() as gateway:
        run = home.path / "run" / "daemon.json"
        said = json.loads(run.read_text())
        run.write_text(json.dumps({**said, "http_url": "http://127.0.0.1:9"}))
        failed = await document(home, "call", "remora", '{"action": "status"}', code=5)
        assert failed["error"] == "unavailable"
        assert str(gateway.process.pid) in failed["message"]


async def test_a_probe_of_a_server_that_dies_tells_why_and_writes_nothing(home: Home) -> None:
    words = ["--probe", "--timeout", "20", "--json", "--", sys.executable, "-c", "raise SystemExit(3)"]
    code, out, _ = await home.cli("add", "dying", *words)
    failed = json.loads(out)
    assert (code, failed["error"]) == (1, "failed")
    assert "no answer" not in failed["message"]
    assert not home.config.exists()


async def test_no_output_shows_a_secret(home: Home, control: Control) -> None:
    server = control.server("up")
    env = {**server.get("env", {}), "API_TOKEN": SECRET}
    home.configure(
        {
            "up": {**server, "env": env},
            "web": {"url": f"http://user:{SECRET}@127.0.0.1:9/mcp?key={SECRET}", "headers": {"Authorization": SECRET}},
        }
    )
    for words in (
        ["list"],
        ["config", "show", "--origin"],
        ["config", "get", "servers"],
        ["status"],
        ["health"],
        ["doctor"],
        ["stats"],
        ["call", "up__echo", '{"text": "hi"}'],
        ["remove", "up", "--dry-run"],
    ):
        for form in ([], ["--json"], ["--verbose"]):
            _, out, err = await home.cli(*words, *form)
            assert SECRET not in out + err, words
    logs = "".join(path.read_text() for path in (home.path / "logs").glob("*"))
    assert SECRET not in logs


async def test_secrets_and_colours_are_for_terminals(home: Home) -> None:
    home.configure({"up": {"command": "prog", "env": {"API_TOKEN": SECRET}}})
    shown = await typed(home, "list", "--show-secrets", "--json")
    assert SECRET not in shown
    assert SECRET in await typed(home, "config", "get", "servers.up.env.API_TOKEN", "--show-secrets")
    assert "\x1b[" in await typed(home, "doctor")
    assert "\x1b[" not in await typed(home, "doctor", "--no-color")
    assert "\x1b[" not in await typed(home, "doctor", env={"NO_COLOR": "1"})


async def test_a_question_is_asked_on_a_terminal(home: Home) -> None:
    home.configure({"up": {"command": "prog"}})
    assert "[y/N]" in await typed(home, "remove", "up", answer=b"n\n")
    assert "servers.up" in home.config.read_text()
    await typed(home, "remove", "up", answer=b"y\n")
    assert "servers.up" not in home.config.read_text()


async def typed(home: Home, *words: str, env: dict[str, str] | None = None, answer: bytes = b"") -> str:
    """What somebody sees who types this."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=home.env(TERM="xterm", **env or {}),
        cwd=home.cwd,
    )
    os.close(theirs)
    os.write(ours, answer)
    seen = b""
    while True:
        try:
            part = await asyncio.to_thread(os.read, ours, 65536)
        except OSError:  # Linux says EIO when the other side is closed
            break
        if not part:
            break
        seen += part
    await process.wait()
    os.close(ours)
    return seen.decode()


async def test_errors_name_file_line_field_and_cure(home: Home) -> None:
    home.config.write_text("[gateway]\nmax_retrys = 1\n\n[servers.a]\ncommand = 'x'\nprefix = 'p'\n"
                           "[servers.b]\ncommand = 'y'\nprefix = 'P'\n")  # fmt: skip
    for words in (["config", "validate"], ["list"], ["serve"]):
        code, _, err = await home.cli(*words)
        assert code == 3
        assert f'{home.config}:2: gateway.max_retrys: unknown key "max_retrys" (did you mean "max_retries"?)' in err
    failed = await document(home, "config", "validate", code=3)
    assert [problem["line"] for problem in failed["problems"]] == [2, 9]


async def test_a_reader_that_leaves_is_no_crash(home: Home) -> None:
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "config", "schema", stdin=-3, stdout=-1, stderr=-1, env=home.env(), cwd=home.cwd
    )
    assert process.stdout is not None
    process.stdout._transport.close()  # type: ignore[attr-defined]
    assert process.stderr is not None
    err = await process.stderr.read()
    await process.wait()
    assert b"Traceback" not in err


async def test_an_interrupt_ends_a_call(home: Home) -> None:
    home.configure(DEMO)
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "--verbose", "call", "notes__tidy_notes", stdin=-3, stdout=-1, stderr=-1, env=home.env(),
        cwd=home.cwd,
        # A shell without job control starts its background jobs, and so all below, with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stderr is not None
    async with asyncio.timeout(30):
        while b"Checkout runbook" not in await process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        err = await process.stderr.read()
        assert await process.wait() == 130
    assert b"Traceback" not in err
