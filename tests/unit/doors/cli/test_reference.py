from __future__ import annotations

from pathlib import Path

from remora.doors.cli.main import COMMANDS
from remora.doors.cli.reference import BEGIN, END, cli_reference, main, operations_reference, with_reference


def test_every_command_has_a_section() -> None:
    text = cli_reference()
    assert [name for name in COMMANDS if f"### remora {name}\n" not in text] == []
    assert "### remora config validate\n" in text
    assert "| `--probe`, `--validate` |  | Connect and list first; if that fails, write nothing. |" in text
    assert "| `--scope` | `auto`, `shared`, `project`, `session` |" in text
    assert "| `--timeout` | number (10.0) |" in text
    assert text.count("`--no-color`") == 1


def test_every_operation_has_a_section() -> None:
    text = operations_reference()
    assert "### servers.add\n\nPut an MCP server behind the gateway. Scope: admin." in text
    assert "| `name` | string | required | What the server is called. |" in text
    assert "| `args` | array of string |  |" in text
    assert "| `transport` | `stdio`, `http`, `sse` |" in text


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    made = with_reference(page, "new\n")
    assert made == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert with_reference(made, "new\n") == made


def test_both_pages_are_written(tmp_path: Path) -> None:
    for name in ("cli.md", "operations.md"):
        (tmp_path / name).write_text(f"# Page\n{BEGIN}\n{END}\n")
    main(tmp_path)
    assert "### remora add" in (tmp_path / "cli.md").read_text()
    assert "### gateway.health" in (tmp_path / "operations.md").read_text()
