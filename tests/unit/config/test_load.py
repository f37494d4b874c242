import json

import pytest

from remora.config.load import Paths, home_dir, load, load_for_gateway, remember_good, surroundings
from remora.config.problems import InvalidConfig
from remora.errors import ConfigError


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def write(home, text):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)


def test_no_file_is_all_defaults(home):
    loaded = load(home, environ={})
    assert loaded.config.http.port == 7437
    assert (loaded.origins, loaded.warnings, loaded.problems, loaded.mode) == ({}, (), (), "normal")
    assert loaded.path == home / "config.toml"
    assert not home.exists()


def test_the_stronger_source_wins_key_by_key(home):
    write(home, '[http]\nport = 1\nhost = "::1"\n[catalog]\nmode = "full"\n')
    environ = {"REMORA_HTTP__PORT": "2", "REMORA_HTTP__MAX_SESSIONS": "5"}
    loaded = load(home, overrides={"http.port": 3}, environ=environ)
    assert (loaded.config.http.port, loaded.config.http.host, loaded.config.http.max_sessions) == (3, "::1", 5)
    assert loaded.origins == {
        "http.port": "flag",
        "http.host": "file",
        "http.max_sessions": "env:REMORA_HTTP__MAX_SESSIONS",
        "catalog.mode": "file",
    }


def test_one_variable_does_not_hide_the_file(home):
    write(home, "".join(f'[servers.s{n}]\ncommand = "x"\n' for n in range(4)) + '[servers.git]\ncommand = "x"\n')
    config = load(home, environ={"REMORA_SERVERS__GIT__ENABLED": "false"}).config
    assert [name for name, server in config.servers.items() if server.enabled] == ["s0", "s1", "s2", "s3"]


def test_home_and_file_from_the_environment(tmp_path, home):
    write(home, "[http]\nport = 1\n")
    other = tmp_path / "other.toml"
    other.write_text("[http]\nport = 2\n")
    assert load(environ={"REMORA_HOME": str(home)}).config.http.port == 1
    loaded = load(environ={"REMORA_HOME": str(home), "REMORA_CONFIG": str(other)})
    assert (loaded.config.http.port, loaded.path, loaded.paths.home) == (2, other, home)
    assert load(home, other, environ={"REMORA_HOME": "/nowhere"}).config.http.port == 2
    assert home_dir({"HOME": "/home/me"}).as_posix() == "/home/me/.remora"


def test_a_named_file_must_exist(tmp_path, home):
    for arguments in (
        {"config_path": tmp_path / "none.toml"},
        {"environ": {"REMORA_CONFIG": str(tmp_path / "none.toml")}},
    ):
        for function in (load, load_for_gateway):
            with pytest.raises(ConfigError) as caught:
                function(home, **({"environ": {}} | arguments))
            assert (caught.value.code, caught.value.path) == ("config_not_found", str(tmp_path / "none.toml"))


def test_every_problem_with_its_place(home):
    write(
        home, 'log_level = "inf"\n[gateway]\nmax_retrys = 1\n[servers.a]\ncommand = "x"\n[servers.A]\ncommand = "y"\n'
    )
    with pytest.raises(InvalidConfig) as caught:
        load(home, overrides={"catalog.page_size": -1}, environ={"REMORA_HTTP__PORT": "many"})
    file = home / "config.toml"
    assert str(caught.value).splitlines() == [
        f"{file}:1: log_level: should be 'trace', 'debug', 'info', 'warning' or 'error', not \"inf\""
        ' (did you mean "info"?)',
        f'{file}:3: gateway.max_retrys: unknown key "max_retrys" (did you mean "max_retries"?)',
        f'{file}:6: servers.A: servers "a" and "A" have the same prefix "A" (set another prefix on one of them)',
        "REMORA_HTTP__PORT: http.port: should be a whole number, not text",
        "flag: catalog.page_size: should be at least 0, not -1",
    ]


def test_a_broken_server_does_not_stop_the_others(home):
    write(home, '[servers.bad]\nenabled = true\n[servers.good]\ncommand = "x"\n')
    loaded = load(home, environ={"REMORA_SERVERS__BAD__PREFIX": "b"})
    assert list(loaded.config.servers) == ["good"]
    assert loaded.broken_servers == {"bad": "has neither command nor url"}
    [problem] = loaded.problems
    assert (problem.line, problem.path) == (1, "servers.bad")


def test_a_server_broken_by_a_variable_blames_it(home):
    [problem] = load(home, environ={"REMORA_SERVERS__NEW__PREFIX": "b"}).problems
    assert (problem.file, problem.line, problem.path) == ("REMORA_SERVERS__NEW__PREFIX", None, "servers.new")


def test_unknown_variables_are_warned_about(home):
    assert load(home, environ={"REMORA_HTP__PORT": "1"}).warnings == (
        "REMORA_HTP__PORT fits no configuration key; did you mean REMORA_HTTP__PORT?",
    )


def test_the_last_good_state_serves_when_the_file_is_broken(home):
    write(home, '[servers.a]\ncommand = "x"\n')
    assert load_for_gateway(home, environ={}).mode == "normal"
    snapshot = home / "run" / "config.last-good.json"
    assert snapshot.stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o077 == home.stat().st_mode & 0o077
    write(home, "[servers.a\n")
    loaded = load_for_gateway(home, environ={"REMORA_SERVERS__A__PREFIX": "p"})
    assert (loaded.mode, loaded.config.prefixes()) == ("last_good", {"a": "p"})
    assert loaded.warnings == (loaded.reason,)
    assert "config.toml:1: not valid TOML" in loaded.reason
    assert loaded.problems
    assert json.loads(snapshot.read_text())["data"] == {"servers": {"a": {"command": "x"}}}


def test_a_wrong_variable_gives_way_to_the_last_good_state(home):
    write(home, '[servers.a]\ncommand = "x"\n')
    load_for_gateway(home, environ={})
    loaded = load_for_gateway(home, environ={"REMORA_HTTP__PORT": "many"})
    assert (loaded.mode, list(loaded.config.servers)) == ("last_good", ["a"])


def test_a_snapshot_of_another_file_is_not_used(tmp_path, home):
    write(home, '[servers.a]\ncommand = "x"\n')
    load_for_gateway(home, environ={})
    other = tmp_path / "other.toml"
    other.write_text("broken")
    assert load_for_gateway(home, other, environ={}).mode == "safe"


@pytest.mark.parametrize("snapshot", [None, "", "[]", '{"path": 1}', '{"path": "PATH", "data": {"x": 1}}'])
def test_safe_mode_when_nothing_can_be_used(home, snapshot):
    write(home, "broken\n[also")
    if snapshot is not None:
        (home / "run").mkdir()
        (home / "run" / "config.last-good.json").write_text(snapshot.replace("PATH", str(home / "config.toml")))
    loaded = load_for_gateway(home, environ={})
    assert (loaded.mode, loaded.config.servers) == ("safe", {})
    assert "config.toml:1: not valid TOML" in loaded.reason
    assert "no server is served until it is mended" in loaded.reason


def test_a_home_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    loaded = remember_good(load(tmp_path / "file" / "home", environ={}))
    assert loaded.mode == "normal"
    assert "could not be kept" in loaded.warnings[0]


def test_the_home_folder_is_private(tmp_path):
    paths = Paths(tmp_path / "a" / "home")
    paths.create()
    for folder in (paths.home, paths.run, paths.logs, paths.config_backups):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert (paths.config.name, paths.state_db.name) == ("config.toml", "state.db")


def test_what_the_environment_says_beside_configuration():
    found = surroundings({"REMORA_DAEMON": "off", "CLAUDE_PROJECT_DIR": "/c", "NO_COLOR": "1", "REMORA_TOKEN": "t"})
    assert (found.daemon, found.project, found.colour, found.token, found.profile) == ("off", "/c", False, "t", "")
    assert surroundings({"REMORA_PROJECT": "/p", "CLAUDE_PROJECT_DIR": "/c"}).project == "/p"
    with pytest.raises(ConfigError, match="REMORA_DAEMON"):
        surroundings({"REMORA_DAEMON": "on"})
