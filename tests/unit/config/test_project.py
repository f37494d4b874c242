from pathlib import Path

import pytest

from remora.config.load import load
from remora.config.project import in_project, matches, project_root, read_project

HOME = Path("/home/me")


def project(root, text):
    (root / ".remora").mkdir(exist_ok=True)
    (root / ".remora" / "project.toml").write_text(text)
    return read_project(root)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "home" / "repo" / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "home" / "repo" / ".git").mkdir()
    return tmp_path / "home"


def test_the_nearest_repository_is_the_project(tree):
    assert project_root(tree / "repo" / "sub" / "deep", tree) == tree / "repo"


def test_a_project_file_is_stronger_than_a_nearer_repository(tree):
    (tree / "repo" / "sub" / ".git").write_text("gitdir: elsewhere")
    assert project_root(tree / "repo" / "sub" / "deep", tree) == tree / "repo" / "sub"
    project(tree / "repo", "")
    assert project_root(tree / "repo" / "sub" / "deep", tree) == tree / "repo"


def test_without_a_mark_the_folder_itself_is_the_project(tree):
    (tree / "plain").mkdir()
    assert project_root(tree / "plain", tree) == tree / "plain"


def test_home_and_root_are_no_project(tree):
    (tree / ".git").mkdir()
    project(tree, "")
    (tree / "plain").mkdir()
    assert project_root(tree, tree) is None
    assert project_root(Path("/"), tree) is None
    assert project_root(tree / "plain", tree) == tree / "plain"


def test_a_link_leads_to_the_real_folder(tree):
    (tree / "link").symlink_to(tree / "repo" / "sub")
    assert project_root(tree / "link", tree) == tree / "repo"


def test_no_file_asks_for_nothing(tmp_path):
    found = read_project(tmp_path)
    assert found.serves("anything")
    assert not found.hides("anything")
    assert (found.name, found.problems, found.notes) == (tmp_path.name, (), ())


def test_restrictions(tmp_path):
    found = project(
        tmp_path,
        '[project]\nname = "shop"\n[servers]\nenabled = ["git", "db-*"]\ndisabled = ["db-old"]\n'
        '[tools]\nhidden = ["gh__delete_*"]\n',
    )
    assert found.name == "shop"
    assert [name for name in ("git", "db-new", "db-old", "time") if found.serves(name)] == ["git", "db-new"]
    assert found.hides("gh__delete_repo")
    assert not found.hides("gh__list")


def test_an_empty_list_of_servers_serves_none(tmp_path):
    assert not project(tmp_path, "[servers]\nenabled = []\n").serves("git")


def test_a_file_with_a_mistake_is_ignored_as_a_whole(tmp_path):
    found = project(tmp_path, '[servers]\nenabled = ["git"]\n[tool]\nhidden = ["x"]\n')
    assert found.serves("time")
    assert [str(problem) for problem in found.problems] == [
        f'{tmp_path}/.remora/project.toml:3: tool: unknown key "tool" (did you mean "tools"?)'
    ]
    assert project(tmp_path, "[servers").problems[0].line == 1
    assert project(tmp_path, "[pipeline]\nenabled = false\n").problems[0].path == "pipeline.enabled"


def test_what_adds_or_loosens_has_no_effect_and_is_noted(tmp_path):
    found = project(
        tmp_path,
        '[servers]\nenabled = ["git"]\n[servers.evil]\ncommand = "x"\n[pipeline]\nstructured = "preserve"\n',
    )
    file = tmp_path / ".remora" / "project.toml"
    assert found.notes == (
        f"{file}:3: servers.evil has no effect: a project file cannot add servers",
        f'{file}:6: pipeline.structured has no effect: a project file can only set it to "drop"',
    )
    assert found.problems == ()
    assert not found.serves("time")


def test_keys_over_the_configuration(tmp_path):
    found = project(tmp_path, '[catalog]\nmode = "full"\nmax_description_chars = 9\n[pipeline]\nstructured = "drop"\n')
    loaded = load(tmp_path, environ={"REMORA_CATALOG__MAX_DESCRIPTION_CHARS": "5"})
    config = found.over(loaded)
    assert (config.catalog.mode, config.catalog.max_description_chars) == ("full", 5)
    assert config.pipeline.structured == "drop"
    assert read_project(tmp_path / "none").over(loaded) is loaded.config


def test_a_server_follows_the_project_unless_it_says_otherwise(tmp_path):
    (tmp_path / "config.toml").write_text(
        '[servers.a]\ncommand = "x"\n[servers.b]\ncommand = "x"\ncatalog_mode = "lazy"\n'
    )
    config = project(tmp_path, '[catalog]\nmode = "full"\n').over(load(tmp_path, environ={}))
    assert (config.server("a").catalog_mode, config.server("b").catalog_mode) == ("full", "lazy")


@pytest.mark.parametrize(
    ("patterns", "root", "inside"),
    [
        (["*"], None, True),
        (["/work/*"], None, False),
        (["/work/*"], Path("/work/a/b"), True),
        (["/work"], Path("/work/a"), False),
        (["/work/"], Path("/work"), True),
        (["~/code/*"], Path("/home/me/code/x"), True),
        ([], Path("/work"), False),
    ],
)
def test_servers_for_some_folders_only(patterns, root, inside):
    assert in_project(patterns, root, HOME) is inside


def test_matches_is_exact_about_case():
    assert matches(["a*"], "ab")
    assert not matches(["A*"], "ab")
