import pytest

from remora.config.expand import dangerous, expand, names_used, safe_environment, uses_project
from remora.errors import ConfigError

ENV = {"NAME": "value", "EMPTY": "", "TRICKY": "${NAME}", "HOME": "/home/me"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain $NAME $", "plain $NAME $"),
        ("${NAME}", "value"),
        ("a${env:NAME}b${NAME}", "avaluebvalue"),
        ("${MISSING:-default}", "default"),
        ("${env:MISSING:-a:-b}", "a:-b"),
        ("${EMPTY:-default}", "default"),
        ("${EMPTY}", ""),
        ("${MISSING:-}", ""),
        ("${project}/x", "/work/p/x"),
        ("${TRICKY}", "${NAME}"),
    ],
)
def test_references(value, expected):
    assert expand(value, ENV, "/work/p") == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${MISSING}", "MISSING is not set"),
        ("${env:MISSING}", "MISSING is not set"),
        ("${project}", "no project folder"),
        ("${file:/nowhere/at/all}", "/nowhere/at/all"),
        ("${NAME%x}", "is not a reference"),
        ("${}", "is not a reference"),
        ("${A:-${NAME}}", "nested or not closed"),
        ("${NAME", "nested or not closed"),
    ],
)
def test_what_cannot_be_resolved_is_named(value, message):
    with pytest.raises(ConfigError, match=message):
        expand(value, ENV)


def test_a_file_is_read_without_its_last_line_break(tmp_path):
    (tmp_path / "secret").write_text(" a\nb \n")
    assert expand(f"${{file:{tmp_path}/secret}}", {}) == " a\nb "
    assert expand("${file:~/secret}", {"HOME": str(tmp_path)}) == " a\nb "


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="binary"):
        expand(f"${{file:{tmp_path}/binary}}", {})


def test_names_used():
    values = ["${B} ${env:A}", "${B:-x}", "${project}${file:/x}", "none"]
    assert names_used(values) == ("B", "A")
    assert uses_project(values)
    assert not uses_project(["${PROJECT}"])


def test_the_safe_environment_leaves_secrets_out():
    environ = {"PATH": "p", "LC_ALL": "C", "XDG_RUNTIME_DIR": "x", "https_proxy": "h", "TMPDIR": "/t"}
    assert safe_environment("safe", environ | {"AWS_SECRET": "s", "PATHS": "no", "LD_PRELOAD": "l"}) == environ


def test_other_policies():
    environ = {"PATH": "p", "TOKEN": "t"}
    assert safe_environment("all", environ) == environ
    assert safe_environment(("TOKEN", "MISSING"), environ) == {"TOKEN": "t"}


def test_dangerous_names():
    env = [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_X",
        "Node_Options",
        "PYTHONPATH",
        "PYTHONHASHSEED",
        "PATH",
        "MY_DYLD_",
    ]
    assert dangerous(env) == ("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_X", "Node_Options", "PYTHONPATH")
