"""What all commands share: the common options, and one way to show results, notes and errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from remora.errors import RefusedError, RemoraError

if TYPE_CHECKING:
    from remora.config.load import Loaded, Surroundings

Document = Mapping[str, Any]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Terminal:
    """The common options of this run, and the output they ask for."""

    home: Path | None = None
    config: Path | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    show_secrets: bool = False

    def loaded(self) -> Loaded:
        """The configuration; ConfigError or InvalidConfig when there is none to use. Its warnings are told."""
        from remora.config.load import load

        loaded = load(self.home, self.config)
        for warning in loaded.warnings:
            self.note(f"warning: {warning}")
        return loaded

    def surroundings(self) -> Surroundings:
        from remora.config.load import surroundings

        return surroundings()

    def start_logging(self, loaded: Loaded) -> None:
        """For commands that run the engine: its warnings would repeat what the command shows, so only on request."""
        from remora.telemetry.logs import setup_logging

        level = loaded.config.log_level
        if self.verbose and level in ("warning", "error"):
            level = "info"
        setup_logging(loaded.paths.logs, level, stderr=self.verbose)

    def show(self, document: Document, render: Callable[[Any], str]) -> None:
        """The one result of a command: a JSON document, or text made of the same document."""
        document = self.hidden(document)
        self.print_json(document) if self.as_json else click.echo(render(document))

    def hidden(self, value: Any, key: str = "") -> Any:
        """A value without the secrets in it; the name of its key tells some."""
        if self._reveals():
            return value
        from remora.privacy.output import redact_mapping

        return redact_mapping(value, key=key)

    def print_json(self, document: Any) -> None:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))

    def note(self, text: str) -> None:
        """Beside the result, for people; never on stdout."""
        if not self.quiet:
            click.echo(f"remora: {_shown(text)}", err=True)

    def failed(self, problem: RemoraError, hint: str = "") -> None:
        from remora.privacy.output import redact_mapping

        message = redact_mapping(str(problem))
        if self.as_json:
            document: dict[str, Any] = {"error": problem.code, "message": message}
            if path := getattr(problem, "path", None):
                document["path"] = path
            if data := getattr(problem, "data", None):
                document["data"] = self.hidden(data)
            if problems := getattr(problem, "problems", ()):
                document["problems"] = [
                    {"file": each.file, "line": each.line, "key": each.path, "message": each.message,
                     "hint": each.hint or None}
                    for each in problems
                ]  # fmt: skip
            self.print_json(document)
            return
        click.echo(f"{self.paint('remora:', 'red', sys.stderr)} {_shown(message)}", err=True)
        if hint:
            click.echo(hint, err=True)

    def confirm(self, question: str, yes: bool) -> None:
        """Ask before something is lost; without a person to ask, `--yes` must have been given."""
        if yes:
            return
        if self.as_json or not sys.stdin.isatty():
            raise RefusedError(f"{question} Nobody is here to ask: repeat with --yes")
        if not click.confirm(question, err=True):
            raise RefusedError("nothing was changed")

    def paint(self, text: str, colour: str, stream: Any = None) -> str:
        """Coloured for people who want it, plain in pipes and files."""
        if not text or self.no_color or self.as_json or not (stream or sys.stdout).isatty():
            return text
        return click.style(text, fg=colour) if self.surroundings().colour else text

    def _reveals(self) -> bool:
        if self.show_secrets and (self.as_json or not sys.stdout.isatty()):
            raise RefusedError("--show-secrets is for a terminal only, and not with --json")
        return self.show_secrets


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value:
        setattr(ctx.ensure_object(Terminal), str(param.name), value)


def _shared(*names: str, **attributes: Any) -> Callable[[F], F]:
    """An option that goes into the Terminal and not to the command's function."""
    return click.option(*names, **attributes, expose_value=False, callback=_remember)


def common(command: F) -> F:
    """The options every command has. They may stand before and after the command's name."""
    path = click.Path(path_type=Path)
    for option in (
        _shared("--no-color", is_flag=True, help="No colours."),
        _shared("--verbose", is_flag=True, help="Tell more on stderr."),
        _shared("--quiet", is_flag=True, help="Tell nothing but the result."),
        _shared("--json", "as_json", is_flag=True, help="Print one JSON document."),
        _shared("--config", type=path, metavar="FILE", help="Config file (default: config.toml in the home)."),
        _shared("--home", type=path, metavar="FOLDER", help="Home folder (default: ~/.remora)."),
    ):
        command = option(command)
    return command


def secrets_option(command: F) -> F:
    """For commands that show configuration."""
    return _shared("--show-secrets", is_flag=True, help="Show secrets as they are (in a terminal only).")(command)


def _shown(text: str) -> str:
    """Lines as they are; what a server or a client put between them gives no orders to the terminal."""
    from remora.telemetry.accounting import printable

    return "\n".join(printable(line) for line in text.split("\n"))
