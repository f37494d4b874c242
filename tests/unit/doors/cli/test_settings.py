from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import Run

Write = Callable[[str], Path]


def test_path_says_where_the_file_is(run: Run, home: Path, tmp_path: Path) -> None:
    assert run("config", "path").out == f"{home / 'config.toml'}\n"
    other = run("config", "path", "--config", str(tmp_path / "other.toml"), "--json").document
    assert other == {"path": str(tmp_path / "other.toml"), "exists": False}


def test_a_valid_file_is_said_to_be_valid(run: Run, config: Write) -> None:
    path = config('[servers.git]\ncommand = "uvx"\n')
    assert run("config", "validate").out == f"{path} is valid\n"
    assert run("config", "validate", "--json").document == {
        "valid": True, "path": str(path), "servers": 1, "warnings": [],
    }  # fmt: skip


def test_all_mistakes_are_told_at_once(run: Run, config: Write) -> None:
    path = config('[gateway]\nmax_retries = "many"\n[servers.git]\ncommand = "uvx"\nprefx = "g"\n')
    done = run("config", "validate")
    assert done.code == 3
    assert f"{path}:2: gateway.max_retries: should be a whole number, not text" in done.err
    assert f'{path}:5: servers.git.prefx: unknown key "prefx" (did you mean "prefix"?)' in done.err
    document = run("config", "validate", "--json").document
    assert (document["error"], document["path"]) == ("config_invalid", str(path))
    assert [problem["line"] for problem in document["problems"]] == [2, 5]


def test_a_server_that_cannot_run_is_a_mistake_too(run: Run, config: Write) -> None:
    config("[servers.git]\n")
    done = run("config", "validate")
    assert (done.code, "neither command nor url" in done.err) == (3, True)


def test_a_file_that_was_named_must_be_there(run: Run, tmp_path: Path) -> None:
    done = run("config", "validate", "--config", str(tmp_path / "no.toml"), "--json")
    assert done.code == 3
    assert (done.document["error"], done.document["path"]) == ("config_not_found", str(tmp_path / "no.toml"))


def test_schema_is_the_shipped_one(run: Run) -> None:
    from remora.config.schema import SHIPPED

    assert json.loads(run("config", "schema").out) == json.loads(SHIPPED.read_text())


def test_show_gives_everything_in_force(run: Run, config: Write) -> None:
    config('[gateway]\nmax_retries = 7\n[servers.git]\ncommand = "uvx"\n')
    text = run("config", "show").out
    assert "gateway.max_retries = 7\n" in text
    assert "servers.git.max_retries = 7\n" in text
    assert 'catalog.mode = "slim"\n' in text
    document = run("config", "show", "--json").document
    assert document["config"]["servers"]["git"]["max_retries"] == 7
    assert "origins" not in document


def test_show_names_the_origin_of_each_value(run: Run, config: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    config('log_level = "debug"\n[servers.git]\ncommand = "uvx"\nargs = ["a"]\nenv = { A = "1" }\n')
    monkeypatch.setenv("REMORA_HTTP__PORT", "8001")
    origins = run("config", "show", "--origin", "--json").document["origins"]
    assert origins["log_level"] == "file"
    assert origins["http.port"] == "env:REMORA_HTTP__PORT"
    assert origins["servers.git.args"] == "file"
    assert origins["servers.git.env.A"] == "file"
    assert origins["servers.git.max_retries"] == "gateway.max_retries"
    assert origins["catalog.mode"] == "default"
    assert "# env:REMORA_HTTP__PORT" in run("config", "show", "--origin").out


def test_secrets_are_hidden(run: Run, config: Write) -> None:
    config('[servers.git]\ncommand = "x"\nenv = { API_KEY = "sesame-open-9" }\n')
    for words in (["show"], ["show", "--json"], ["get", "servers.git.env.API_KEY"], ["get", "servers.git"]):
        done = run("config", *words)
        assert "sesame" not in done.out
        assert "<redacted>" in done.out
    assert run("config", "get", "servers.git.env.API_KEY", "--show-secrets").code == 6
    assert "sesame-two" not in run("config", "set", "servers.git.env.API_KEY", "sesame-two-8").out


def test_get_prints_one_value_or_a_table(run: Run, config: Write) -> None:
    config('[gateway]\nmax_retries = 7\nclient_names = ["rem", "two"]\n[servers."a b"]\ncommand = "x"\n')
    assert run("config", "get", "gateway.max_retries").out == "7\n"
    assert run("config", "get", "log_level").out == "info\n"
    assert run("config", "get", "gateway.client_names").out == '["rem", "two"]\n'
    assert "max_sessions = 1000\n" in run("config", "get", "http").out
    assert run("config", "get", 'servers."a b".command', "--json").document == {
        "name": 'servers."a b".command', "value": "x", "origin": "file",
    }  # fmt: skip


def test_set_writes_what_fits_and_says_so(run: Run, home: Path) -> None:
    assert run("config", "set", "gateway.max_retries", "5").out == "gateway.max_retries = 5\n"
    assert run("config", "set", "catalog.description_tag", "tools: ", "--json").document["value"] == "tools: "
    assert run("config", "get", "gateway.max_retries").out == "5\n"
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("key", "value", "code", "told"),
    [
        ("gateway.max_retrys", "5", 2, 'did you mean "gateway.max_retries"?'),
        ("gateway..x", "5", 2, "is not a key"),
        ("gateway.max_retries", "many", 3, "should be a whole number"),
        ("http.port", "99999", 3, "should be at most 65535"),
        ("servers.x.prefix", "p", 3, "has neither command nor url"),
    ],
)
def test_set_refuses_what_would_not_validate(run: Run, home: Path, key: str, value: str, code: int, told: str) -> None:
    done = run("config", "set", key, value)
    assert (done.code, told in done.err) == (code, True)
    assert not (home / "config.toml").exists()


def test_unset_brings_the_default_back(run: Run) -> None:
    run("config", "set", "gateway.max_retries", "5")
    assert run("config", "unset", "gateway.max_retries").out == "gateway.max_retries is unset\n"
    assert run("config", "get", "gateway.max_retries").out == "3\n"
    assert run("config", "unset", "gateway.max_retries", "--json").document["changed"] is False
    assert run("config", "unset", "gateway.max_retrys").code == 2
    assert run("config", "get", "gateway.max_retrys").code == 2


def test_a_broken_file_can_be_mended_from_here(run: Run, config: Write) -> None:
    config("[gateway]\nmax_retries = -1\n")
    assert run("list").code == 3
    assert run("config", "set", "gateway.max_retries", "1").code == 0
    assert run("list").code == 0
