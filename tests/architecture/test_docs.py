"""The documentation names everything there is, and its generated parts are up to date: `make docs` makes them."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from tests.architecture.source import REPOSITORY

from remora.config import schema
from remora.config.keys import fields
from remora.doors.cli import reference
from remora.doors.cli.main import program

DOCS = REPOSITORY / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(REPOSITORY.glob("*.md"))]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_configuration_key_is_documented() -> None:
    text = page("configuration.md")
    assert [".".join(path) for path, _ in fields() if f"`{path[-1]}`" not in text] == []
    assert schema.with_reference(text) == text


def test_every_command_and_option_is_documented() -> None:
    text = page("cli.md")
    for ctx in reference.commands(click.Context(program, info_name="remora", **program.context_settings)):
        assert f"### {ctx.command_path}\n" in text
        assert [name for param in ctx.command.params for name in param.opts if name.startswith("-")
                and f"`{name}`" not in text] == []  # fmt: skip
    assert reference.with_reference(text, reference.cli_reference()) == text


def test_every_option_has_a_help_text() -> None:
    for ctx in reference.commands(click.Context(program, info_name="remora", **program.context_settings)):
        assert ctx.command.help, ctx.command_path
        silent = [each.name for each in ctx.command.params if isinstance(each, click.Option) and not each.help]
        assert silent == [], ctx.command_path


def test_every_operation_is_documented() -> None:
    from remora.operations.registry import registered

    text = page("operations.md")
    assert reference.with_reference(text, reference.operations_reference()) == text
    for operation in registered().values():
        assert f"### {operation.name}\n" in text
        assert operation.summary.endswith(".")


def test_the_shipped_schema_is_up_to_date() -> None:
    assert schema.SHIPPED.read_text(encoding="utf-8") == schema.schema_text()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", text)
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_messages_say_remora(path: Path) -> None:
    """`rem` is the comment command of a Windows shell: what is to be typed says `remora`."""
    typed = re.findall(r"^\s*(?:\$ )?rem (?!Remora)\w+.*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert typed == []
