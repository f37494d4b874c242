from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.memory import Desk

from remora.config.model import Config
from remora.errors import ModeError
from remora.operations.memory_room import MemoryRoom, namespace_of, settings_of


def git(root: Path, url: str) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n')
    return root


@pytest.mark.parametrize(
    "url",
    ["https://token@github.com/Acme/Shop.git", "git@github.com:acme/shop.git", "ssh://git@github.com/acme/shop"],
)
def test_a_project_is_known_by_where_its_code_comes_from(tmp_path: Path, url: str) -> None:
    assert namespace_of(git(tmp_path / "shop", url)) == "github.com/acme/shop"


def test_a_worktree_is_the_same_project(tmp_path: Path) -> None:
    main = git(tmp_path / "shop", "git@github.com:acme/shop.git")
    inner = main / ".git" / "worktrees" / "fix"
    inner.mkdir(parents=True)
    (inner / "commondir").write_text("../..\n")
    tree = tmp_path / "fix"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {inner}\n")
    assert namespace_of(tree) == "github.com/acme/shop"


def test_a_name_of_its_own_goes_first_and_a_folder_last(tmp_path: Path) -> None:
    root = git(tmp_path / "shop", "git@github.com:acme/shop.git")
    (root / ".remora").mkdir()
    (root / ".remora" / "project.toml").write_text('[project]\nname = "The Shop"\n')
    assert namespace_of(root) == "the-shop"
    assert namespace_of(tmp_path).startswith("dir:")


async def test_settings_are_those_of_now(desk: Desk) -> None:
    engine = await desk.room.engine()
    assert (engine.settings.mode, engine.settings.namespace) == ("auto", "global")
    desk.configure(mode="recall", default_namespace="work", custom_types={"animal": ("cat",)})
    again = await desk.room.engine()
    assert (again.settings.mode, again.settings.namespace, again.store) == ("recall", "work", engine.store)
    assert again.ontology.place("cat").base == "animal"


@pytest.mark.parametrize("how", ["environment", "configuration"])
async def test_incognito_from_outside(desk: Desk, how: str) -> None:
    if how == "environment":
        desk.environ["REMORA_INCOGNITO"] = "1"
    else:
        desk.configure(incognito=True)
    with pytest.raises(ModeError):
        await desk.run("remember", desk.agent(), content="nothing of this")
    assert (await desk.run("remember", content="a user's own word"))["status"] == "created"


async def test_nothing_is_opened_before_it_is_used(tmp_path: Path) -> None:
    room = MemoryRoom(tmp_path / "memory.db", Config, {})
    await room.close()
    assert not (tmp_path / "memory.db").exists()


def test_a_gateway_that_remembers_nothing_loads_nothing_of_the_memory() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys, remora.app; print([name for name in ('numpy', 'onnxruntime', "
         "'snowballstemmer', 'remora.memory.engine') if name in sys.modules])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "[]"


def test_every_setting_comes_from_the_configuration() -> None:
    config = Config.model_validate(
        {"memory": {"dedup": {"cosine": 0.5}, "purge_after_days": 7}, "time": {"zone": "UTC"}}
    )
    settings = settings_of(config, "x")
    assert (settings.dedup_cosine, settings.purge_after_days, settings.zone, settings.namespace) == (0.5, 7, "UTC", "x")
