from __future__ import annotations

import os

import pytest

from remora.config.project import PROJECT_FILE
from remora.gateway import projects as module
from remora.gateway.projects import Projects


@pytest.fixture
def write(tmp_path):
    def write_file(folder, text):
        path = tmp_path / folder / PROJECT_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(0, len(text)))  # an edit within the clock's resolution counts too
        return tmp_path / folder

    return write_file


def test_a_file_is_read_again_only_after_an_edit(write):
    projects, root = Projects(), write("a", 'tools.hidden = ["x"]')
    first = projects.of(root)
    assert first.hides("x")
    assert not projects.forget_edited()
    assert projects.of(root) is first
    write("a", 'tools.hidden = ["yy"]')
    assert projects.of(root) is first
    assert projects.forget_edited()
    assert projects.of(root).hides("yy")


def test_a_file_that_comes_or_goes_is_an_edit(write, tmp_path):
    projects, root = Projects(), tmp_path / "a"
    root.mkdir()
    assert not projects.of(root).hides("x")
    write("a", 'tools.hidden = ["x"]')
    assert projects.forget_edited()
    assert projects.of(root).hides("x")
    (root / PROJECT_FILE).unlink()
    assert projects.forget_edited()


def test_what_is_wrong_with_a_file_is_said_once(write, caplog):
    projects, root = Projects(), write("a", "tools.hiden = 5")
    for _ in range(2):
        projects.of(root)
    assert [record.getMessage().count("tools.hiden") for record in caplog.records] == [1]


def test_not_all_projects_ever_seen_are_kept(write, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    projects = Projects()
    roots = [write(name, "") for name in "abc"]
    first = [projects.of(root) for root in roots]
    assert projects.of(roots[2]) is first[2]
    assert projects.of(roots[0]) is not first[0]
