"""A memory in an empty file, without an encoder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remora import AsyncMemory


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path / "memory.db", embedder="none") as opened:
        yield opened
