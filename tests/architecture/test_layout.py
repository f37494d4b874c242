"""Files are small, functions are short, and every module has its tests at the mirrored path."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.source import MODULES, REPOSITORY, SOURCE, Module

UNIT = REPOSITORY / "tests" / "unit"
LONGEST_FILE, LONGEST_FUNCTION = 400, 80
# Nothing to test by itself: types and names, or a table of data that other tests use all the time.
WITHOUT_TESTS = {
    "errors.py", "model/call.py", "model/graph.py", "model/ops.py", "model/search.py", "storage/protocol.py",
    "storage/contract.py", "memory/timepatterns.py", "memory/timewords.py",
}  # fmt: skip


def mirror_of(module: Module) -> Path:
    return UNIT / Path(module.name).parent / f"test_{module.path.name}"


def test_every_module_has_tests_at_the_mirrored_path() -> None:
    missing = [
        mirror_of(module).relative_to(REPOSITORY).as_posix()
        for module in MODULES
        if module.path.name != "__init__.py" and module.name not in WITHOUT_TESTS and not mirror_of(module).exists()
    ]
    assert missing == []


def test_every_unit_test_mirrors_a_module() -> None:
    mirrored = {mirror_of(module) for module in MODULES}
    assert [path.relative_to(REPOSITORY) for path in UNIT.rglob("test_*.py") if path not in mirrored] == []


def test_the_exceptions_are_still_there() -> None:
    assert [name for name in WITHOUT_TESTS if not (SOURCE / name).exists()] == []


def test_files_are_short() -> None:
    lengths = {module.name: len(module.text.splitlines()) for module in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{module.name}:{each.name}": each.end_lineno - each.lineno + 1
        for module in MODULES
        for each in module.functions()
        if each.end_lineno is not None
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_every_module_says_what_it_is() -> None:
    assert [module.name for module in MODULES if not ast.get_docstring(module.tree)] == []
