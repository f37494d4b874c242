from typing import Any

import pytest

from remora.config.keys import annotation_at, fields, flatten, nearest, parse_value
from remora.config.model import HttpConfig, ServerConfig


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("http",), HttpConfig),
        (("http", "port"), int),
        (("servers", "x"), ServerConfig),
        (("servers", "x", "env", "A"), str),
        (("servers", "x", "auth", "token"), str),
        (("servers", "x", "tools", "t", "hidden"), bool),
        (("servers", "x", "tools", "t", "annotations", "readOnlyHint"), Any),
        (("http", "prt"), None),
        (("http", "port", "x"), None),
        (("servers", "x", "args", 0), None),
    ],
)
def test_types_of_keys(path, kind):
    assert annotation_at(path) is kind


def test_all_keys_are_found_and_described():
    found = dict(fields())
    assert ("schema_version",) in found
    assert ("servers", "NAME", "auth", "type") in found
    assert ("servers", "NAME", "tools", "TOOL", "hidden") in found
    assert ("servers",) not in found
    assert all(field.description for field in found.values())


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("http.port", "80", 80),
        ("http.enabled", "false", False),
        ("http.enabled", "False", "False"),
        ("log_level", "debug", "debug"),
        ("log_level", '"debug"', "debug"),
        ("gateway.env_inherit", "all", "all"),
        ("gateway.env_inherit", '["A"]', ["A"]),
        ("servers.x.prefix", "123", "123"),
        ("servers.x.env.TOKEN", "true", "true"),
        ("servers.x", '{ command = "y" }', {"command": "y"}),
        ("servers.x.prefix", "a\nb = 1", "a\nb = 1"),
        ("http.port", "1\nb = 1", "1\nb = 1"),
        ("http.port", "", ""),
    ],
)
def test_values_typed_outside_of_a_file(key, text, value):
    assert parse_value(key.split("."), text) == value


def test_flatten():
    assert dict(flatten({"a": {"b": 1, "c": {}}, "d": [1]})) == {("a", "b"): 1, ("a", "c"): {}, ("d",): [1]}


def test_nearest():
    assert nearest("PROT", ["port", "host"]) == "port"
    assert nearest("zzz", ["port", "host"]) is None
