from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.gateway.fakes import catalog, manifest, tool

from remora.config.model import ServerConfig
from remora.gateway.catalog import Source
from remora.gateway.manifest import Manifest, fingerprint

SETTINGS = ServerConfig(command="npx", args=("-y", "x"), env={"TOKEN": "1"})
MADE = manifest(
    SETTINGS, tools=[tool("a", **{"x-vendor": 1})], prompts=[{"name": "p"}], instructions="i", capabilities={"c": {}}
)


def stored(**changes: Any) -> Any:
    return {**json.loads(json.dumps(MADE.to_payload())), **changes}


def test_it_survives_being_stored():
    assert Manifest.from_payload(stored(), fingerprint(SETTINGS)) == MADE


def test_a_definition_nested_as_deep_as_json_allows_is_stored_too():
    schema: dict[str, Any] = {}
    for _ in range(400):
        schema = {"properties": {"a": schema}}
    assert json.dumps(manifest(SETTINGS, tools=[tool("deep", inputSchema=schema)]).to_payload())


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "text",
        {},
        stored(fingerprint="other"),
        stored(tools=None),
        stored(tools=["a"]),
        stored(tools=[{"description": "nameless"}]),
        stored(resources={"uri": "x"}),
        stored(unknown=1),
        stored(instructions=None),
        stored(capabilities=[]),
        {key: value for key, value in stored().items() if key != "version"},
    ],
)
def test_a_damaged_one_is_made_anew(payload):
    assert Manifest.from_payload(payload, fingerprint(SETTINGS)) is None


def test_what_is_read_back_can_be_served():
    read = Manifest.from_payload(stored(), fingerprint(SETTINGS))
    assert read is not None
    assert list(catalog(Source("up", "up", SETTINGS, read)).tools) == ["up__a"]


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "uvx"},
        {"args": ("-y", "y")},
        {"args": ("-y x",)},
        {"env": {"OTHER": "1"}},
        {"cwd": "/tmp"},
        {"command": "", "args": (), "url": "https://example.com"},
    ],
)
def test_it_belongs_to_one_way_of_reaching_the_server(changes):
    values = {"command": "npx", "args": ("-y", "x"), "env": {"TOKEN": "1"}}
    assert fingerprint(ServerConfig(**{**values, **changes})) != fingerprint(SETTINGS)


def test_secrets_do_not_count_and_cannot_be_guessed_from_it():
    assert fingerprint(SETTINGS.model_copy(update={"env": {"TOKEN": "2"}})) == fingerprint(SETTINGS)
    remote = ServerConfig(url="https://example.com", headers={"X": "1"})
    assert fingerprint(remote.model_copy(update={"headers": {"X": "2"}})) == fingerprint(remote)
    assert fingerprint(remote.model_copy(update={"headers": {"Y": "1"}})) != fingerprint(remote)


def test_only_what_is_served_makes_a_difference():
    assert MADE.same_lists(manifest(SETTINGS, **{**vars_of(MADE), "version": "2025-03-26", "made_at": 1.0}))
    assert not MADE.same_lists(None)
    for change in ({"tools": []}, {"prompts": []}, {"instructions": ""}, {"capabilities": {}}):
        assert not MADE.same_lists(manifest(SETTINGS, **{**vars_of(MADE), **change}))


def vars_of(made: Manifest) -> dict[str, Any]:
    return {name: getattr(made, name) for name in Manifest.__dataclass_fields__}
