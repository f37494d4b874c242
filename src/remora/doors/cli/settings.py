"""`remora config …`: show, check and change the configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from remora.doors.cli.terminal import Terminal, common, secrets_option
from remora.errors import UsageError

if TYPE_CHECKING:
    from remora.config.load import Loaded

Result = dict[str, Any]


@click.group(help="Show, check and change the configuration.")
@common
def config() -> None:
    pass


@config.command(help="Say where the config file is.")
@common
@click.pass_obj
def path(terminal: Terminal) -> int:
    from remora.config.load import places

    _, found = places(terminal.home, terminal.config)
    terminal.show({"path": str(found), "exists": found.exists()}, lambda document: document["path"])
    return 0


@config.command(help="Check the configuration; exit 3 and all mistakes at once if there are any.")
@common
@click.pass_obj
def validate(terminal: Terminal) -> int:
    from remora.config.load import load
    from remora.config.problems import InvalidConfig

    loaded = load(terminal.home, terminal.config)
    if loaded.problems:  # servers that cannot run; the gateway would serve the others
        raise InvalidConfig(loaded.problems, path=str(loaded.path))
    found = {
        "valid": True,
        "path": str(loaded.path),
        "servers": len(loaded.config.servers),
        "warnings": loaded.warnings,
    }
    terminal.show(found, _validate_text)
    return 0


def _validate_text(document: Result) -> str:
    return "\n".join([*(f"warning: {each}" for each in document["warnings"]), f"{document['path']} is valid"])


@config.command(help="Print the JSON Schema (2020-12) of config.toml.")
@common
@click.pass_obj
def schema(terminal: Terminal) -> int:
    from importlib.resources import files

    click.echo((files("remora.config") / "schema.json").read_text(encoding="utf-8"), nl=False)
    return 0


@config.command(help="Print the configuration in force, defaults included.")
@click.option("--origin", is_flag=True, help="Name the source of each value.")
@secrets_option
@common
@click.pass_obj
def show(terminal: Terminal, origin: bool) -> int:
    loaded = terminal.loaded()
    values = _values(loaded)
    found: Result = {"config_path": str(loaded.path), "config": values}
    if origin:
        found["origins"] = {key: _origin(loaded, key) for key, _ in _leaves(values)}
    terminal.show(found, _show_text)
    return 0


def _values(loaded: Loaded) -> Result:
    """Everything in force; servers with what they inherit."""
    config = loaded.config
    servers = {name: config.server(name).model_dump(mode="json") for name in config.servers}
    return {**config.model_dump(mode="json"), "servers": servers}


def _show_text(document: Result) -> str:
    """One line for each key, as `config get` and `config set` take them."""
    origins = document.get("origins", {})
    lines = [f"# {document['config_path']}"]
    for key, value in _leaves(document["config"]):
        line = f"{key} = {_spelled(value)}"
        lines.append(f"{line:<60}  # {origins[key]}" if key in origins else line)
    return "\n".join(lines)


def _origin(loaded: Loaded, key: str) -> str:
    """Where a value comes from; what stands within a list or a table that was set whole comes from there too."""
    from remora.config.model import INHERITED
    from remora.config.outline import dotted, split_key

    parts = split_key(key)
    for end in range(len(parts), 1, -1):
        if found := loaded.origins.get(dotted(parts[:end])):
            return found
    if len(parts) == 1 and key in loaded.origins:
        return loaded.origins[key]
    if parts[0] == "servers" and len(parts) == 3 and parts[2] in INHERITED:
        return dotted(INHERITED[parts[2]])
    return "default"


def _leaves(values: Result) -> list[tuple[str, Any]]:
    from remora.config.keys import flatten
    from remora.config.outline import dotted

    return [(dotted(path), value) for path, value in flatten(values)]


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@config.command(help="Print one value, or all below a table: `remora config get gateway.max_retries`.")
@click.argument("key")
@secrets_option
@common
@click.pass_obj
def get(terminal: Terminal, key: str) -> int:
    from remora.config.outline import split_key

    loaded = terminal.loaded()
    found: Any = _values(loaded)
    for part in (parts := split_key(key)):
        if not isinstance(found, dict) or part not in found:
            raise _unknown(key, loaded)
        found = found[part]
    document = {"name": key, "value": terminal.hidden(found, parts[-1]), "origin": _origin(loaded, key)}
    terminal.show(document, lambda shown: _value_text(shown["value"]))
    return 0


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key} = {_spelled(each)}" for key, each in _leaves(value))
    return value if isinstance(value, str) else _spelled(value)


def _unknown(key: str, loaded: Loaded) -> UsageError:
    from remora.config.keys import nearest

    close = nearest(key, [known for known, _ in _leaves(_values(loaded))])
    return UsageError(f'unknown key "{key}"' + (f'; did you mean "{close}"?' if close else ""))


@config.command("set", help="Set one key; VALUE is TOML, or plain text where text is wanted.")
@click.argument("key")
@click.argument("value")
@common
@click.pass_obj
def set_command(terminal: Terminal, key: str, value: str) -> int:
    from remora.config.edit import set_value
    from remora.config.keys import parse_value
    from remora.config.load import places
    from remora.config.outline import split_key

    parts = split_key(key)
    parsed = parse_value(parts, value)
    paths, file = places(terminal.home, terminal.config)
    set_value(file, key, parsed, backups=paths.config_backups)
    document = {"path": str(file), "name": key, "value": terminal.hidden(parsed, parts[-1])}
    terminal.show(document, lambda shown: f"{shown['name']} = {_spelled(shown['value'])}")
    return 0


@config.command(help="Take one key out of the file, so that its default holds again.")
@click.argument("key")
@common
@click.pass_obj
def unset(terminal: Terminal, key: str) -> int:
    from remora.config.edit import unset_value
    from remora.config.load import places

    paths, file = places(terminal.home, terminal.config)
    changed = unset_value(file, key, backups=paths.config_backups)
    terminal.show({"path": str(file), "name": key, "changed": changed}, _unset_text)
    return 0


def _unset_text(document: Result) -> str:
    return f"{document['name']} {'is unset' if document['changed'] else 'was not set'}"
