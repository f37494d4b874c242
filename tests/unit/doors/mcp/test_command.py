from __future__ import annotations

from pathlib import Path

import pytest

from remora.config.load import Loaded, Surroundings
from remora.doors import serve
from remora.doors.mcp import command
from remora.gateway.session import ViewKey

Served = list[tuple[Loaded, Surroundings, ViewKey]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """What would have been served."""
    found: Served = []

    def main_stdio(loaded: Loaded, around: Surroundings, view: ViewKey) -> int:
        found.append((loaded, around, view))
        return 7

    monkeypatch.setattr(serve, "main_stdio", main_stdio)
    return found


def test_it_serves_what_the_options_say(served: Served, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text('[servers.git]\ncommand = "uvx"\n')
    (tmp_path / "code").mkdir()
    given = ["--home", str(tmp_path / "home"), "--config", str(tmp_path / "elsewhere.toml"), "--profile", "work",
             "--project", str(tmp_path / "code"), "--catalog", "lazy"]  # fmt: skip
    assert command.run(given) == 7
    loaded, _, view = served[0]
    assert (loaded.paths.home, loaded.path) == (tmp_path / "home", tmp_path / "elsewhere.toml")
    assert list(loaded.config.servers) == ["git"]
    assert view == ViewKey("work", tmp_path / "code", "lazy")


def test_the_working_directory_is_the_project_if_nothing_else_is(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code" / ".git").mkdir(parents=True)
    (tmp_path / "code" / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "code" / "deep")
    for name in ("REMORA_PROJECT", "CLAUDE_PROJECT_DIR", "REMORA_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    command.run(["--home", str(tmp_path / "home")])
    assert served[0][2] == ViewKey("", tmp_path / "code", "")


def test_an_invalid_file_is_served_with_its_reason(served: Served, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("max = 1\n")
    assert command.run(["--home", str(tmp_path)]) == 7
    assert served[0][0].mode == "safe"


def test_a_file_that_is_not_there_is_an_error(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(["--home", str(tmp_path), "--config", str(tmp_path / "no.toml")]) == 3
    told = capsys.readouterr()
    assert (told.out, served) == ("", [])
    assert told.err.startswith("remora: ")
    assert "no.toml" in told.err


@pytest.mark.parametrize("wrong", [["--catalog", "huge"], ["--unknown"], ["word"]])
def test_options_nobody_knows_are_usage_errors(
    wrong: list[str], served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.run(wrong)
    told = capsys.readouterr()
    assert (ended.value.code, told.out, served) == (2, "", [])
    assert "remora mcp" in told.err
