from __future__ import annotations

import pytest

from remora.errors import ConfigError
from remora.memory.ontology import BUILT_IN, Ontology, family


@pytest.mark.parametrize(
    ("asked", "kind", "base"),
    [
        ("Decision", "decision", "decision"),
        ("best practice", "best_practice", "learning"),
        ("task", "observation", "observation"),
        ("pref", "preference", "fact"),
        ("bug", "bug", "error"),
    ],
)
def test_known_kinds(asked: str, kind: str, base: str) -> None:
    placed = Ontology().place(asked)
    assert (placed.kind, placed.base, placed.requested, placed.warning) == (kind, base, None, None)


def test_an_unknown_kind_keeps_its_name_beside() -> None:
    placed = Ontology().place(" Wobble ")
    assert (placed.kind, placed.requested) == ("observation", "Wobble")
    assert placed.warning is not None


def test_the_ontology_has_the_kinds_of_the_peers() -> None:
    assert len(BUILT_IN) == 15
    assert {"incident", "gotcha", "user_correction", "minutes"} <= set(Ontology().kinds())


def test_custom_kinds() -> None:
    ontology = Ontology({"experiment": ("ab_test",), "fact": ("trivia",)})
    assert ontology.place("trivia").base == "fact"
    assert ontology.place("experiment").base == "experiment"
    with pytest.raises(ConfigError, match='belongs to "error"'):
        Ontology({"fact": ("bug",)})
    with pytest.raises(ConfigError, match="not a name"):
        Ontology({"9lives": ()})


def test_volatility_and_family() -> None:
    ontology = Ontology()
    assert [ontology.volatility(kind) for kind in ("decision", "mistake", "session", "bug")] == [
        "durable", "durable", "ephemeral", "episodic",
    ]  # fmt: skip
    assert family("preference") == family("decision") == "fact"
    assert family("bug") == "bug"
