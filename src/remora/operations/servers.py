"""Which servers there are: listing, adding, removing, switching. All of it is editing the configuration file.

A running gateway sees the change of the file; nothing here needs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from remora.config import edit
from remora.config.check import check
from remora.config.expand import dangerous
from remora.config.layout import drop
from remora.config.load import Loaded
from remora.config.model import Config, ServerConfig, Transport, derived_prefix
from remora.config.outline import dotted
from remora.config.source import read_text
from remora.errors import RefusedError, RemoraError, UsageError
from remora.gateway.manifest import Manifest
from remora.gateway.naming import COMPOSED_LIMIT, Names
from remora.operations.registry import Context, Input, operation
from remora.operations.text import table
from remora.privacy.output import redact_mapping

Result = dict[str, Any]
ROOM_WANTED, ROOM_NEEDED = 22, 8


# -- listing -------------------------------------------------------------------------------------------------------


class ListServers(Input):
    names: bool = Field(False, description="Show every tool's own name and the one it is served by.")


def list_text(result: Result) -> str:
    rows = [
        (name, row["prefix"], row["transport"], "on" if row["enabled"] else "off", row.get("problem") or _target(row))
        for name, row in result["servers"].items()
    ]
    if not rows:
        return "No server is configured. Add one: remora add NAME -- COMMAND"
    lines = [table(rows, ("SERVER", "PREFIX", "TRANSPORT", "STATE", "COMMAND OR URL"))]
    for name, row in result["servers"].items():
        if "names" in row:
            found = [("  " + own, served) for own, served in row["names"].items()]
            lines += [
                "",
                table(found, (name, "SERVED AS")) if found else f"{name}\n  not connected yet: no tools known",
            ]
    return "\n".join(lines)


def _target(row: Result) -> str:
    return row.get("url") or " ".join([row.get("command", ""), *row.get("args", ())])


@operation("servers.list", "List the configured servers.", "read", ListServers, list_text)
async def list_servers(context: Context, given: ListServers) -> Result:
    loaded = context.gateway.loaded
    rows: dict[str, Result] = {}
    for name, prefix in loaded.config.prefixes().items():
        rows[name] = _row(loaded.config.server(name), prefix)
    for name, why in loaded.broken_servers.items():
        rows[name] = {"prefix": derived_prefix(name), "transport": None, "enabled": False, "problem": why}
    if given.names:
        stored = await stored_manifests(context)
        names = Names(loaded.config.gateway.client_names, ())
        for name, row in rows.items():
            server, manifest = loaded.config.servers.get(name), stored.get(name)
            tools = manifest.tools if manifest and server else ()
            bare = server.bare_names if server else False
            row["names"] = {tool["name"]: names.serve(name, row["prefix"], tool["name"], bare=bare) for tool in tools}
    return {"config_path": str(loaded.path), "servers": rows}


def _row(server: ServerConfig, prefix: str) -> Result:
    """The essentials first, then whatever else was set."""
    where = {"url": server.url} if server.url else {"command": server.command, "args": list(server.args)}
    essentials = {"prefix": prefix, "transport": server.kind, **where, "enabled": server.enabled}
    effective = {"catalog_mode": server.catalog_mode, "structured": server.structured, "scope": server.scope}
    return {**essentials, **effective, **server.model_dump(mode="json", exclude_defaults=True, exclude={*essentials})}


async def stored_manifests(context: Context) -> dict[str, Manifest]:
    """What servers offered when they were last reached; those that are configured otherwise now are left out."""
    from remora.gateway.manifest import fingerprint

    config = context.gateway.loaded.config
    stored = await context.state.manifests.load(config.servers)
    read = {name: Manifest.from_payload(row.payload, fingerprint(config.server(name))) for name, row in stored.items()}
    return {name: manifest for name, manifest in read.items() if manifest is not None}


# -- adding --------------------------------------------------------------------------------------------------------


class AddServer(Input):
    name: str = Field(min_length=1, description="What the server is called.")
    command: str = Field("", description="Program to start.")
    args: list[str] = Field(default_factory=list, description="Its arguments.")
    url: str = Field("", description="Address of a server reached over HTTP.")
    transport: Transport | None = Field(None, description="stdio, http or sse; unset = by command or url.")
    headers: dict[str, str] = Field(default_factory=dict, description="Headers sent to it.")
    env: dict[str, str] = Field(default_factory=dict, description="Variables added to its environment.")
    cwd: str = Field("", description="Its working directory.")
    prefix: str = Field("", description="First part of its tools' names; empty = from its name.")
    scope: str = Field("", description="auto, shared, project or session; empty = auto.")
    disabled: bool = Field(False, description="Add it, but do not serve it yet.")
    force: bool = Field(False, description="Replace a server of that name.")

    def mapping(self) -> Result:
        """What is written: only what was said."""
        said: Result = {
            "prefix": self.prefix, "command": self.command, "args": self.args, "url": self.url,
            "transport": self.transport, "headers": self.headers, "env": self.env, "cwd": self.cwd, "scope": self.scope,
        }  # fmt: skip
        return {key: value for key, value in said.items() if value} | ({"enabled": False} if self.disabled else {})


def add_text(result: Result) -> str:
    return f"added {result['name']}: its tools are served as {result['server']['prefix']}__…"


@operation("servers.add", "Put an MCP server behind the gateway.", "admin", AddServer, add_text)
async def add_server(context: Context, given: AddServer) -> Result:
    loaded = context.gateway.loaded
    server = checked(given)
    prefix = given.prefix or derived_prefix(given.name)
    warnings = _room_warnings(loaded, prefix) + secret_warnings({given.name: given.mapping()})
    edit.add_server(loaded.path, given.name, given.mapping(), given.force, backups=loaded.paths.config_backups)
    if given.force:
        context.state.manifests.delete(given.name)
    return {"config_path": str(loaded.path), "name": given.name, "server": _row(server, prefix), "warnings": warnings}


def checked(given: AddServer) -> ServerConfig:
    """The server as it would be configured; an error names what is wrong with the words given."""
    if found := dangerous(given.env):
        raise RefusedError(f"{', '.join(found)} can make a program run foreign code, so it is refused here")
    if given.command and given.command.replace("\\", "/").rpartition("/")[2] in ("rem", "remora"):
        raise RefusedError("that command is Remora itself: a gateway cannot stand behind itself")
    config, issues = check(Config, {"servers": {given.name: given.mapping()}})
    if issues:
        told = [f"{dotted(each.path[2:])}: {each.message}" if each.path[2:] else each.message for each in issues]
        hints = [each.hint for each in issues if each.hint]
        raise UsageError("; ".join(told) + (f" ({hints[0]})" if hints else ""))
    return config.servers[given.name]


def _room_warnings(loaded: Loaded, prefix: str) -> list[str]:
    """Clients put their own name for us before each tool's; what is left for the tool's own name?"""
    longest = max(loaded.config.gateway.client_names, key=len)
    room = COMPOSED_LIMIT - len(f"mcp__{longest}__{prefix}__")
    if room < ROOM_NEEDED:
        raise UsageError(f'the prefix "{prefix}" leaves {room} characters for a tool\'s name: choose a shorter one')
    if room < ROOM_WANTED:
        return [f'the prefix "{prefix}" leaves {room} characters for a tool\'s name; longer names are shortened']
    return []


def secret_warnings(servers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Values that would be better off in the environment, named by their keys; the values are not told."""
    found: list[str] = []
    for name, server in servers.items():
        for key, value in server.items():
            inner = value if isinstance(value, Mapping) else {"": value}
            for part, each in inner.items():
                if redact_mapping(each, key=part or key) != each:
                    at = dotted(("servers", name, key, *filter(None, [part])))
                    found.append(f"{at} looks like a secret in plain text; a reference such as ${{NAME}} is safer")
    return found


# -- changing ------------------------------------------------------------------------------------------------------


class RemoveServer(Input):
    name: str = Field(description="The server.")
    dry_run: bool = Field(False, description="Show what would change, and change nothing.")


def remove_text(result: Result) -> str:
    return str(result["diff"]) if "diff" in result else f"removed {result['name']}"


@operation("servers.remove", "Take a server out of the configuration.", "admin", RemoveServer, remove_text)
async def remove_server(context: Context, given: RemoveServer) -> Result:
    loaded = context.gateway.loaded
    known(loaded, given.name)
    if given.dry_run:
        before = read_text(loaded.path) or ""
        return {
            "name": given.name,
            "removed": False,
            "diff": _diff(before, drop(before, ("servers", given.name)), loaded),
        }
    edit.remove_server(loaded.path, given.name, backups=loaded.paths.config_backups)
    context.state.manifests.delete(given.name)
    return {"name": given.name, "removed": True}


def _diff(before: str, after: str, loaded: Loaded) -> str:
    from difflib import unified_diff

    name = str(loaded.path)
    return "".join(unified_diff(before.splitlines(True), after.splitlines(True), name, name)).rstrip("\n")


class SwitchServer(Input):
    name: str = Field(description="The server.")


def switch_text(result: Result) -> str:
    state = "enabled" if result["enabled"] else "disabled"
    return f"{result['name']} is {state}" if result["changed"] else f"{result['name']} was {state} already"


@operation("servers.enable", "Serve a server again.", "admin", SwitchServer, switch_text)
async def enable_server(context: Context, given: SwitchServer) -> Result:
    return _switch(context.gateway.loaded, given.name, True)


@operation("servers.disable", "Keep a server, but do not serve it.", "admin", SwitchServer, switch_text)
async def disable_server(context: Context, given: SwitchServer) -> Result:
    return _switch(context.gateway.loaded, given.name, False)


def _switch(loaded: Loaded, name: str, enabled: bool) -> Result:
    before = known(loaded, name).get("enabled", True)
    edit.set_enabled(loaded.path, name, enabled, backups=loaded.paths.config_backups)
    origin = loaded.origins.get(dotted(("servers", name, "enabled")), "file")
    warnings = [f"{origin.removeprefix('env:')} in the environment decides instead"] if origin != "file" else []
    return {"name": name, "enabled": enabled, "changed": before is not enabled, "warnings": warnings}


def known(loaded: Loaded, name: str) -> Mapping[str, Any]:
    """The server as it stands in the file; one that does not is an error with the nearest name."""
    from remora.config.keys import nearest

    servers = loaded.data.get("servers", {})
    if name not in servers:
        close = nearest(name, servers)
        hint = f'; did you mean "{close}"?' if close else f" (there are: {', '.join(servers) or 'none'})"
        where = " in the file: it comes from the environment" if name in loaded.config.servers else ""
        raise RemoraError(f'there is no server "{name}"{where or hint}')
    found: Mapping[str, Any] = servers[name]
    return found
