from types import SimpleNamespace
from typing import Any

import pytest

from remora.config.model import Config
from remora.gateway.cache.rules import key, origin, reads_only, rule
from remora.gateway.catalog import Entry, Source
from remora.gateway.manifest import Manifest
from remora.gateway.pipeline import Call
from remora.gateway.session import Caller, Principal, Session
from remora.gateway.view import View

READ = {"readOnlyHint": True}


def call(
    arguments: Any = None,
    tool: Any = None,
    server: Any = None,
    cache: Any = None,
    notes: Any = READ,
    name: str = "look",
    principal: str = "local",
    modern: bool = False,
) -> Call:
    settings = {"command": "x", **(server or {}), "tools": {name: tool or {}}}
    config = Config.model_validate({"servers": {"s": settings}, "cache": cache or {}})
    source = Source("s", "s", config.server("s"), Manifest("f", False, "1"))
    entry = Entry(f"s__{name}", source, name, {"name": name, "annotations": notes})
    view = View(config=config, settings={"s": config.server("s")})
    front: Any = SimpleNamespace(
        session=Session("stdio", Principal(principal, "admin")), caller=Caller(modern, "1"), request_id=1
    )
    return Call(entry, arguments or {}, "", front, view)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, True),
        ({"notes": {}}, False),
        ({"notes": {"idempotentHint": True}}, False),
        ({"server": {"trust_annotations": False}}, False),
        ({"notes": {}, "tool": {"cache": "on"}}, True),
        ({"tool": {"safe": False}}, False),
        ({"notes": {}, "tool": {"annotations": READ}}, True),
    ],
)
def test_who_only_reads(given, expected):
    assert reads_only(call(**given).entry) is expected


@pytest.mark.parametrize(
    ("given", "ttl"),
    [
        ({}, 60.0),
        ({"cache": {"default_ttl_seconds": 5}}, 5.0),
        ({"server": {"cache_ttl_seconds": 6}}, 6.0),
        ({"server": {"cache_ttl_seconds": 6}, "tool": {"cache_ttl_seconds": -1}}, None),
        ({"tool": {"cache": "on"}, "cache": {"policy": "listed"}}, 60.0),
    ],
)
def test_how_long_an_answer_lives(given, ttl):
    assert rule(call(**given), {}, "shared").ttl == ttl


@pytest.mark.parametrize(
    "given",
    [
        {"cache": {"enabled": False}},
        {"cache": {"policy": "off"}, "tool": {"cache": "on"}},
        {"cache": {"policy": "listed"}},
        {"tool": {"cache": "off"}},
        {"server": {"cache_policy": "off"}},
        {"tool": {"cache_ttl_seconds": 0}},
        {"notes": {}},
    ],
)
def test_what_is_never_kept(given):
    assert rule(call(**given), {}, "shared") is None


def test_a_connection_of_ones_own_and_a_request_of_another_kind_are_not_kept():
    assert rule(call(), {}, "session") is None
    assert rule(call(), {"name": "look", "requestState": "x"}, "shared") is None


def test_a_file_is_known_by_its_stamp(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    reading = {"arguments": {"path": str(file)}, "name": "read_file"}
    found = rule(call(**reading), {}, "shared")
    assert found.ttl == 3600
    assert found.validator[2] == 3
    assert rule(call(**reading, server={"local": False}), {}, "shared").validator is None
    assert rule(call({"path": str(tmp_path)}, name="read_file"), {}, "shared").validator is None
    assert rule(call({"path": "a.txt"}, name="read_file"), {}, "shared").validator is None


def key_of(
    given: Call, params: Any = None, epochs: tuple[int, ...] = (1, 2), project: str = "", print_: str = "f"
) -> str:
    found = rule(given, {}, "shared")
    return key(given, params or {}, origin(given.entry, print_), project, epochs, found)


def test_only_what_makes_no_difference_shares_a_key():
    one = key_of(call({"a": 1, "b": [2]}))
    assert key_of(call({"b": [2], "a": 1})) == one
    assert key_of(call({"a": 1, "b": [2]}), {"_meta": {"progressToken": 7, "traceparent": "x"}}) == one
    others = [
        key_of(call({"a": 1.0, "b": [2]})),
        key_of(call({"a": "1", "b": [2]})),
        key_of(call({"a": 1, "b": [2]}, principal="b")),
        key_of(call({"a": 1, "b": [2]}, modern=True)),
        key_of(call({"a": 1, "b": [2]}, server={"env": {"TOKEN": "x"}})),
        key_of(call({"a": 1, "b": [2]}, notes={**READ, "title": "x"})),
        key_of(call({"a": 1, "b": [2]}), {"_meta": {"vendor/user": 7}}),
        key_of(call({"a": 1, "b": [2]}), epochs=(1, 3)),
        key_of(call({"a": 1, "b": [2]}), project="/p"),
        key_of(call({"a": 1, "b": [2]}), print_="g"),
    ]
    assert len({one, *others}) == len(others) + 1
