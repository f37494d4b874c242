import pytest

from remora.config.overlay import Override, from_environment, merge

DATA = {"servers": {"my-git": {"command": "x", "tools": {"Read_File": {}}, "env": {"Token": "a"}}}}


def paths(environ):
    overrides, warnings = from_environment(environ, DATA)
    assert warnings == []
    return {override.path: override.value for override in overrides}


@pytest.mark.parametrize(
    ("variable", "value", "path", "expected"),
    [
        ("REMORA_HTTP__PORT", "80", ("http", "port"), 80),
        ("remora_http__Port", "80", ("http", "port"), 80),
        ("REMORA_LOG_LEVEL", "debug", ("log_level",), "debug"),
        ("REMORA_SERVERS__MY_GIT__ENABLED", "false", ("servers", "my-git", "enabled"), False),
        ("REMORA_SERVERS__My-Git__ENABLED", "false", ("servers", "my-git", "enabled"), False),
        ("REMORA_SERVERS__NEW__URL", "http://x", ("servers", "new", "url"), "http://x"),
        ("REMORA_SERVERS__MY_GIT__ENV__API_KEY", "1", ("servers", "my-git", "env", "API_KEY"), "1"),
        ("REMORA_SERVERS__MY_GIT__ENV__TOKEN", "1", ("servers", "my-git", "env", "Token"), "1"),
        (
            "REMORA_SERVERS__MY_GIT__TOOLS__READ_FILE__SAFE",
            "true",
            ("servers", "my-git", "tools", "Read_File", "safe"),
            True,
        ),
        ("REMORA_PROFILES__WORK__HIDDEN", '["a"]', ("profiles", "work", "hidden"), ["a"]),
    ],
)
def test_variables_as_keys(variable, value, path, expected):
    assert paths({variable: value}) == {path: expected}


def test_other_names_are_left_alone():
    names = ["PATH", "NO_COLOR", "REMORA_HOME", "REMORA_CONFIG", "REMORA_DAEMON", "remora_profile", "REMORA_SECRET_KEY"]
    assert paths(dict.fromkeys(names, "x")) == {}


def test_a_name_that_fits_nothing_gets_the_nearest():
    environ = {"REMORA_HTTP__PROT": "1", "REMORA_SERVERS__MY_GIT__COMAND": "x", "REMORA_ZZZ": "1", "REMORA_": ""}
    overrides, warnings = from_environment(environ, DATA)
    assert overrides == []
    assert warnings == [
        "REMORA_ fits no configuration key",
        "REMORA_HTTP__PROT fits no configuration key; did you mean REMORA_HTTP__PORT?",
        "REMORA_SERVERS__MY_GIT__COMAND fits no configuration key; did you mean REMORA_SERVERS__MY_GIT__COMMAND?",
        "REMORA_ZZZ fits no configuration key",
    ]


def test_merge_keeps_what_is_not_named_and_tells_where_values_come_from():
    data = {"http": {"port": 1, "host": "a"}, "servers": {"a": {"env": {"X": "1"}}}}
    merged, origins = merge(
        data,
        [
            Override(("http", "port"), 2, "env:P"),
            Override(("servers", "a"), {"env": {"Y": "2"}, "command": "c"}, "env:S"),
            Override(("http", "port"), 3, "flag"),
        ],
    )
    assert merged == {"http": {"port": 3, "host": "a"}, "servers": {"a": {"env": {"X": "1", "Y": "2"}, "command": "c"}}}
    assert origins == {
        "http.port": "flag",
        "http.host": "file",
        "servers.a.env.X": "file",
        "servers.a.env.Y": "env:S",
        "servers.a.command": "env:S",
    }
    assert data["http"]["port"] == 1


def test_what_is_no_table_in_the_file_is_left_for_validation():
    assert merge({"http": 3}, [Override(("http", "port"), 2, "flag")])[0] == {"http": 3}
