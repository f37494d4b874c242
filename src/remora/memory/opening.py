"""Opening an engine over one store file, with its encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from remora.memory.care import bring_up_to_date
from remora.memory.engine import Engine, Redactor, Settings, secrets_replaced
from remora.memory.indexer import Indexer
from remora.memory.ontology import Ontology
from remora.memory.relevance import load_model

if TYPE_CHECKING:
    from remora.embedding.embedder import Embedder


async def open_engine(
    path: Path, *, settings: Settings | None = None, embedder: str | Embedder = "auto", redact: Redactor | None = None,
    tenant: str = "local", allow_network_fs: bool = False, durable: bool = False,
) -> Engine:  # fmt: skip
    """The store is opened or made; the encoder loads when it is first needed."""
    from remora.embedding.embedder import open_embedder
    from remora.storage.sqlite.store import SqliteStore

    settings = settings or Settings()
    encoder = open_embedder(embedder) if isinstance(embedder, str) else embedder
    store = SqliteStore.open(path, tenant=tenant, allow_network=allow_network_fs, durable=durable)
    engine = Engine(
        store=store, settings=settings, ontology=Ontology(settings.custom_types), embedder=encoder,
        redact=redact or secrets_replaced, model=load_model()[0],
    )  # fmt: skip
    try:
        if store.writable:
            await bring_up_to_date(engine)
            if encoder.provider is not None:
                engine.indexer = Indexer(store, encoder)
                engine.indexer.start()
    except BaseException:
        await store.close()
        raise
    return engine


async def close_engine(engine: Engine) -> None:
    """What is not embedded yet is embedded at the next start."""
    if engine.indexer is not None:
        await engine.indexer.close()
    if engine.embedder is not None:
        await engine.embedder.close()
    await engine.store.close()
