from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.gateway.cache.epochs import Epochs


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Epochs, Epochs]]:
    one, two = Epochs(tmp_path / "epochs"), Epochs(tmp_path / "epochs")
    yield one, two
    one.close()
    two.close()


def test_a_write_is_known_to_every_engine_at_once(pair: tuple[Epochs, Epochs]) -> None:
    one, two = pair
    before = one.of("a", "b")
    assert two.of("a", "b") == before
    two.renew(["a"])
    after = one.of("a", "b")
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != before[1]


def test_everything_can_become_stale(pair: tuple[Epochs, Epochs]) -> None:
    one, two = pair
    before = one.of("a")
    two.renew_all()
    assert one.of("a")[0] != before[0]


def test_numbers_outlive_engines_that_end_in_order_and_no_others(tmp_path: Path) -> None:
    first = Epochs(tmp_path / "epochs")
    first.renew(["a"])
    known = first.of("a")
    first.close()
    second = Epochs(tmp_path / "epochs")
    assert second.of("a") == known
    second._forget()  # as if it had been killed: the file is let go, nothing is said
    third = Epochs(tmp_path / "epochs")
    assert third.of("a")[0] != known[0]
    third.close()


def test_a_file_that_is_taken_away_is_made_anew(pair: tuple[Epochs, Epochs], tmp_path: Path) -> None:
    one, _ = pair
    before = one.of("a")
    (tmp_path / "epochs").unlink()
    assert one.of("a") != before


def test_without_a_file_an_engine_keeps_its_own_numbers(tmp_path: Path) -> None:
    alone = Epochs(tmp_path / "no" / "folder")
    before = alone.of("a")
    assert alone.of("a") == before
    alone.renew(["a"])
    assert alone.of("a") != before
    alone.close()
