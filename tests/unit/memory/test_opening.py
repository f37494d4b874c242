from __future__ import annotations

from pathlib import Path

from remora.memory.opening import close_engine, open_engine
from remora.memory.words import PREP_VERSION


async def test_an_engine_without_encoder_works_and_says_so(tmp_path: Path) -> None:
    engine = await open_engine(tmp_path / "m.db", embedder="none")
    assert engine.indexer is None
    assert await engine.store.read(lambda view: view.meta("prep_version")) == str(PREP_VERSION)
    await close_engine(engine)


async def test_words_cut_by_an_older_version_are_cut_anew(tmp_path: Path) -> None:
    engine = await open_engine(tmp_path / "m.db", embedder="none")
    await engine.store.set_meta("prep_version", "0")
    await close_engine(engine)
    engine = await open_engine(tmp_path / "m.db", embedder="none")
    assert await engine.store.read(lambda view: view.meta("prep_version")) == str(PREP_VERSION)
    await close_engine(engine)
