import threading

import pytest

from remora.config import edit
from remora.config.edit import add_server, remove_server, set_enabled, set_value, unset_value
from remora.config.problems import InvalidConfig
from remora.errors import ConfigError, RemoraError, UsageError

TEXT = """# my configuration
log_level = "info"   # quiet

# about git
[servers.git]
command = "uvx"  # from PyPI
args = [
  "mcp-server-git",  # the server
]

[servers.git.tools.git_reset]
hidden = true
# end of git

# kept, it stands alone

# about time
[servers.time]
command = "uvx"

[catalog]
mode   =   "full"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(TEXT)
    return path


def test_a_value_changes_and_nothing_else(file):
    set_value(file, "catalog.mode", "lazy")
    assert file.read_text() == TEXT.replace('"full"', '"lazy"')
    set_value(file, "log_level", "debug")
    assert 'log_level = "debug"   # quiet\n' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_new_keys_and_tables(file):
    set_value(file, "servers.git.prefix", "g")
    set_value(file, "gateway.max_retries", 1)
    set_value(file, "servers.git.env.TOKEN", "${T}")
    set_value(file, "schema_version", 1)
    set_value(file, "servers.git.projects", ("/a", "/b"))
    text = file.read_text()
    assert edit.tomllib.loads(text) == {
        "log_level": "info",
        "schema_version": 1,
        "servers": {
            "git": {
                "command": "uvx",
                "args": ["mcp-server-git"],
                "prefix": "g",
                "env": {"TOKEN": "${T}"},
                "projects": ["/a", "/b"],
                "tools": {"git_reset": {"hidden": True}},
            },
            "time": {"command": "uvx"},
        },
        "catalog": {"mode": "full"},
        "gateway": {"max_retries": 1},
    }
    for comment in ("# my configuration", "# from PyPI", "# the server", "# end of git", "# about time"):
        assert comment in text


def test_a_file_that_is_not_there_is_made(tmp_path):
    path = tmp_path / "home" / "config.toml"
    add_server(path, "git", {"command": "uvx", "args": ["a"], "env": {"A": "1"}, "tools": {"t": {"hidden": True}}})
    assert path.read_text() == (
        '[servers.git]\ncommand = "uvx"\nargs = ["a"]\nenv = { A = "1" }\n\n'
        "[servers.git.tools]\nt = { hidden = true }\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not (path.parent / "backups").exists()


def test_servers_are_added_after_the_others(file):
    add_server(file, "new.one", {"url": "http://x"})
    assert '[servers."new.one"]\nurl = "http://x"\n' in file.read_text()
    assert file.read_text().replace('[servers."new.one"]\nurl = "http://x"\n', "").replace("\n\n\n", "\n\n") == TEXT


def test_a_taken_name_or_prefix_is_refused(file):
    with pytest.raises(UsageError, match='a server "git" exists already'):
        add_server(file, "git", {"command": "x"})
    with pytest.raises(UsageError, match='the prefix "GIT" belongs to the server "git"'):
        add_server(file, "other", {"command": "x", "prefix": "GIT"})
    assert file.read_text() == TEXT
    add_server(file, "git", {"command": "x"}, force=True)
    assert edit.tomllib.loads(file.read_text())["servers"]["git"] == {"command": "x"}


def test_a_server_goes_with_its_comments_and_no_others(file):
    remove_server(file, "git")
    assert file.read_text() == (
        '# my configuration\nlog_level = "info"   # quiet\n\n\n# kept, it stands alone\n\n'
        '# about time\n[servers.time]\ncommand = "uvx"\n\n[catalog]\nmode   =   "full"\n'
    )
    remove_server(file, "time")
    assert edit.tomllib.loads(file.read_text()) == {"log_level": "info", "catalog": {"mode": "full"}}
    assert file.read_text().startswith("# my configuration\n")


@pytest.mark.parametrize(
    "text",
    [
        'servers = { git = { command = "x" }, b = { command = "y" } }\n',
        'servers.git.command = "x"\nservers.b.command = "y"\n',
        '[servers]\ngit = { command = "x" }\nb.command = "y"\n',
        '[servers]\ngit.command = "x"\n[servers.b]\ncommand = "y"\n',
        '[servers.git]\ncommand = "x"\n[http]\nport = 1\n[servers.b]\ncommand = "y"\n[servers.git.env]\nA = "1"\n',
        '[servers.git]\r\ncommand = "x"\r\n\r\n[servers.b]\r\ncommand = "y"\r\n',
    ],
)
def test_other_ways_to_write_servers(file, text):
    file.write_bytes(text.encode())
    set_enabled(file, "git", False)
    assert edit.tomllib.loads(file.read_text())["servers"]["git"]["enabled"] is False
    remove_server(file, "git")
    assert edit.tomllib.loads(file.read_text())["servers"] == {"b": {"command": "y"}}


def test_switching_a_server(file):
    set_enabled(file, "git", False)
    assert edit.tomllib.loads(file.read_text())["servers"]["git"]["enabled"] is False
    for change in (remove_server, lambda path, name: set_enabled(path, name, True)):
        with pytest.raises(RemoraError, match='no server "gti"; did you mean "git"') as caught:
            change(file, "gti")
        assert caught.value.exit_code == 1


def test_unset(file):
    assert unset_value(file, "servers.git.args") is True
    assert unset_value(file, "servers.git.args") is False
    assert "args" not in file.read_text()
    with pytest.raises(UsageError, match="unknown key"):
        unset_value(file, "servers.git.agrs")


def test_an_unknown_key_is_refused_to_write_but_not_to_remove(file):
    with pytest.raises(UsageError, match=r"unknown key .*; did you mean"):
        set_value(file, "catalog.mod", "full")
    file.write_text("[catalog]\nmod = 1\n")
    assert unset_value(file, "catalog.mod") is True


def test_what_would_not_validate_is_refused(file):
    with pytest.raises(InvalidConfig, match=r"config\.toml:2: log_level: should be"):
        set_value(file, "log_level", "loud")
    with pytest.raises(InvalidConfig, match="has both command and url"):
        set_value(file, "servers.git.url", "http://x")
    with pytest.raises(InvalidConfig, match="LD_PRELOAD"):
        add_server(file, "x", {"command": "x", "env": {"LD_PRELOAD": "x"}})
    assert file.read_text() == TEXT
    assert sorted(path.name for path in file.parent.iterdir()) == [".config.toml.lock", "config.toml"]


def test_an_invalid_file_may_be_mended_step_by_step_but_not_worked_on(file):
    file.write_text('[servers.a]\n[servers.b]\n[servers.c]\ncommand = "x"\n')
    with pytest.raises(InvalidConfig):
        set_value(file, "log_level", "debug")
    remove_server(file, "a")
    set_value(file, "servers.b.command", "x")
    set_value(file, "log_level", "debug")


def test_broken_toml_is_told_with_its_line(file):
    file.write_text("a = \n")
    with pytest.raises(InvalidConfig, match=r"config\.toml:1: not valid TOML"):
        set_value(file, "log_level", "debug")


def test_versions_before_are_kept_up_to_a_limit(file, monkeypatch):
    monkeypatch.setattr(edit, "BACKUPS_KEPT", 3)
    for count in range(6):
        set_value(file, "gateway.max_retries", count)
    set_value(file, "gateway.max_retries", 5)
    kept = sorted((file.parent / "backups" / "config").iterdir())
    found = [edit.tomllib.loads(path.read_text())["gateway"]["max_retries"] for path in kept]
    assert found == [2, 3, 4]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept)


def test_backups_may_lie_elsewhere(file, tmp_path):
    set_value(file, "log_level", "debug", backups=tmp_path / "elsewhere")
    [kept] = (tmp_path / "elsewhere").iterdir()
    assert kept.read_text() == TEXT


def test_a_link_is_followed(file, tmp_path):
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    set_value(link, "log_level", "debug")
    assert link.is_symlink()
    assert "debug" in file.read_text()


def test_a_change_by_somebody_else_is_not_lost(file, monkeypatch):
    strange = iter([TEXT + "\n[http]\nport = 1\n"])
    validate = edit._refuse_invalid

    def interrupted(path, before, after):
        validate(path, before, after)
        for text in strange:
            path.write_text(text)

    monkeypatch.setattr(edit, "_refuse_invalid", interrupted)
    set_value(file, "log_level", "debug")
    found = edit.tomllib.loads(file.read_text())
    assert (found["log_level"], found["http"]["port"]) == ("debug", 1)


def test_a_file_that_never_rests_is_given_up(file, monkeypatch):
    counts = iter(range(100))
    monkeypatch.setattr(edit, "_refuse_invalid", lambda path, *_: path.write_text(TEXT + "#" * next(counts)))
    with pytest.raises(ConfigError, match="being changed by somebody else"):
        set_value(file, "log_level", "debug")


def test_edits_at_the_same_time_all_take_effect(file):
    threads = [threading.Thread(target=add_server, args=(file, f"s{count}", {"command": "x"})) for count in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"s{count}" for count in range(8)} < set(edit.tomllib.loads(file.read_text())["servers"])


def test_an_edit_that_changes_nothing_writes_nothing(file):
    before = file.stat()
    set_value(file, "catalog.mode", "full")
    after = file.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_a_value_below_a_value_is_refused(file):
    file.write_text("servers = 3\n")
    with pytest.raises(UsageError, match="is not a table"):
        set_value(file, "servers.a.command", "x")
