from __future__ import annotations

import pytest

from remora.model.search import Where
from remora.storage.contract import NOW, a_memory
from remora.storage.matching import matches, scope_matches


@pytest.mark.parametrize(
    ("scope", "path", "fits"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "docs/a.md", False),
        ("docs/*.md", "docs/a.md", True),
        ("**/test_*.py", "a/test_b.py", True),
    ],
)
def test_scopes(scope: str, path: str, fits: bool) -> None:
    assert scope_matches(scope, path) is fits


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        (Where(), True),
        (Where(tags=("a",)), True),
        (Where(tags=("te*",)), True),
        (Where(not_tags=("a",)), False),
        (Where(tags=("a", "zz"), tag_match="all"), False),
        (Where(key_prefix="user."), True),
        (Where(key_prefix="app."), False),
        (Where(after=NOW), True),
        (Where(before=NOW), False),
        (Where(min_importance=0.6), False),
        (Where(untagged=True), False),
    ],
)
def test_filters(where: Where, fits: bool) -> None:
    memory = a_memory("x", tags=("a", "team:x"), subject_key="user.theme")
    assert matches(memory, where, NOW) is fits
