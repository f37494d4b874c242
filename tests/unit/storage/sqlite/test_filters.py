from __future__ import annotations

from remora.model.search import EVERYTHING, Where
from remora.storage.sqlite.filters import beyond_catalog, conditions, in_catalog, is_live, source


def test_only_the_plain_filter_reads_the_view() -> None:
    assert is_live(Where(tags=("a",)))
    assert source(Where(), 0)[0] == "live_memories m"
    for where in (Where(superseded=True), Where(valid_at=5), EVERYTHING):
        assert source(where, 0)[0] == "memories m"


def test_what_the_catalog_answers_alone() -> None:
    assert beyond_catalog(Where(namespaces=("a",), kinds=("bug",), after=1, before=2, superseded=True)) is None
    rest = beyond_catalog(Where(namespaces=("a",), tags=("t",), after=1, time_field="updated"))
    assert rest == Where(tags=("t",), after=1, time_field="updated")
    assert in_catalog(Where(tags=("t",), after=1, time_field="updated")) == Where()


def test_values_are_never_part_of_the_text() -> None:
    evil = "x' OR 1=1 --"
    where = Where(
        tags=(evil,), namespaces=(evil,), key_prefix=evil, path=evil, session=evil, ids=(evil,), kinds=(evil,)
    )
    clauses, values = conditions(where, "local")
    assert evil not in " ".join(clauses)
    assert values.count(evil) >= 6
