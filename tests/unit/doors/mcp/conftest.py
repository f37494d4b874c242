from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.memory import Desk
from tests.support.memory import desk as opened


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.chdir(tmp_path)  # the user's home here, so no project
    async with opened(tmp_path) as made:
        yield made
