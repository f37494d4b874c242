"""Fixtures of the black-box tests; a folder's conftest.py imports them by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.support.control import Control
from tests.support.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    if made.errors.exists():  # shown by pytest when the test failed
        print(made.errors.read_text(errors="replace")[-4000:])


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    async with Control() as made:
        yield made
