from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gateway.fakes import FakeFront, catalog, manifest, tool

from remora.config.model import Config
from remora.gateway.cache.rules import Rule, key, origin, reads_only, rule
from remora.gateway.catalog import Source
from remora.gateway.pipeline import Call
from remora.gateway.session import Principal
from remora.gateway.view import View

READS = {"annotations": {"readOnlyHint": True}}


def call(override: Any = None, server: Any = None, arguments: Any = None, name: str = "look", reads: bool = True,
         **cache: Any) -> Call:  # fmt: skip
    tables = {"servers": {"up": {"command": "x", **(server or {}), "tools": {name: override or {}}}}, "cache": cache}
    config = Config.model_validate(tables)
    settings = config.server("up")
    known = manifest(settings, tools=(tool(name, **(READS if reads else {})),))
    entry = catalog(Source("up", "up", settings, known)).tools[f"up__{name}"]
    return Call(entry, arguments or {}, "", FakeFront(), View(settings={"up": settings}, config=config))


def kept(made: Call, scope: str = "shared", **params: Any) -> Rule | None:
    return rule(made, {"name": "look", **params}, scope)


@pytest.mark.parametrize(
    ("override", "server", "reads", "expected"),
    [
        ({}, {}, True, True),
        ({}, {}, False, False),
        ({}, {"trust_annotations": False}, True, False),
        ({"safe": False}, {}, True, False),
        ({"cache": "on"}, {}, False, True),
    ],
)
def test_who_says_that_a_tool_only_reads(override: Any, server: Any, reads: bool, expected: bool) -> None:
    assert reads_only(call(override, server, reads=reads).entry) is expected


def test_what_is_never_kept() -> None:
    assert kept(call()) is not None
    assert kept(call(), "session") is None
    assert kept(call(), task={}) is None
    for made in (call(reads=False), call({"cache": "off"}), call(enabled=False), call(policy="off"),
                 call({}, {"cache_policy": "off"}), call({"cache_ttl_seconds": 0}), call(policy="listed")):  # fmt: skip
        assert kept(made) is None
    assert kept(call({"cache": "on"}, policy="listed")) is not None


def test_the_nearest_time_to_live_counts() -> None:
    assert kept(call(default_ttl_seconds=7)) == Rule(7.0, None)
    assert kept(call({"cache_ttl_seconds": 3}, {"cache_ttl_seconds": 5})) == Rule(3.0, None)
    assert kept(call({"cache_ttl_seconds": -1})) == Rule(None, None)


def test_a_file_that_is_read_is_known_by_its_stamp(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("one")
    made = call({}, {}, {"path": str(file)}, "read_file")
    first = kept(made)
    file.write_text("three")
    second = kept(made)
    assert first is not None
    assert second is not None
    assert first.validator is not None
    assert first.validator != second.validator
    assert kept(call({}, {}, {"path": str(tmp_path)}, "read_file")).validator is None  # type: ignore[union-attr]


def test_the_key_holds_all_that_an_answer_depends_on() -> None:
    made, known = call(arguments={"a": 1, "b": 2}), Rule(1.0, None)

    def name(made: Call = made, params: Any = None, **other: Any) -> str:
        values = {"origin": b"o", "project": "", "epochs": (1,), "kept": known, **other}
        return key(made, params or {}, values["origin"], values["project"], values["epochs"], values["kept"])

    somebody = FakeFront()
    somebody.session.principal = Principal("somebody", "read")
    different = [
        name(), name(replace(made, arguments={"a": 1.0, "b": 2})), name(replace(made, front=somebody)),
        name(params={"_meta": {"k": 1}}), name(origin=b"p"), name(project="/p"), name(epochs=(2,)),
        name(kept=Rule(1.0, (1,))),
    ]  # fmt: skip
    assert len(set(different)) == len(different)
    assert name(replace(made, arguments={"b": 2, "a": 1})) == name()
    assert name(params={"_meta": {"progressToken": 5, "traceparent": "x", "io.modelcontextprotocol/x": 1}}) == name()


def test_the_origin_is_the_tool_and_its_connection() -> None:
    entry = call().entry
    assert origin(entry, "f") == origin(call().entry, "f") != origin(entry, "g")
    assert origin(call({}, {"env": {"A": "1"}}).entry, "f") != origin(entry, "f")
