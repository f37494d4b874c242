"""Which space a vector lies in: known models, canaries that notice a silent change, and the move to another space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from remora.embedding.protocol import Identity
from remora.model.search import Space

if TYPE_CHECKING:
    from remora.embedding.embedder import Embedder
    from remora.embedding.protocol import Floats

# Models that were trained with a prefix before queries and documents; they lose much without it.
PREFIXES: dict[str, tuple[str, str]] = {
    "e5-": ("query: ", "passage: "),
    "bge-m3": ("", ""),
    "bge-": ("Represent this sentence for searching relevant passages: ", ""),
    "nomic-embed": ("search_query: ", "search_document: "),
    "mxbai-embed": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed": ("query: ", ""),
    "embeddinggemma": ("task: search result | query: ", "title: none | text: "),
}
CANARIES = (
    "The deploy pipeline uses blue-green releases.",
    "My cat sleeps on the radiator.",
    "SELECT id FROM users WHERE email = 'a@b.example'",
    "Die Datenbank läuft auf Port 5433.",
    "def retry(times: int, delay: float) -> None: ...",
    "She moved to Lisbon in the spring of 2021.",
    "数据库备份每天晚上运行。",
    "Error 404: the page was not found",
)
LEAST_COSINE = 0.999


def prefixes_of(model: str) -> tuple[str, str]:
    """Of queries and documents."""
    name = model.lower().rsplit("/", 1)[-1]
    return next((prefixes for known, prefixes in PREFIXES.items() if known in name), ("", ""))


@dataclass(frozen=True, slots=True)
class Settled:
    """The space that new vectors belong to; `new` = the store does not know it yet; `drifted` = the model changed."""

    space: Space
    new: bool
    drifted: bool = False


async def settle(embedder: Embedder, known: Sequence[Space]) -> Settled:
    """Embed the canaries and find the encoder's space among the store's; a changed model gets a new one.

    Raises `EmbeddingUnavailable` when the model does not answer; then the store goes on as it is.
    """
    from remora.embedding.protocol import EmbeddingUnavailable

    if embedder.provider is None:
        raise EmbeddingUnavailable(embedder.reason, retry=False)
    vectors = await embedder.provider.embed(CANARIES, "document")  # past the cache: it would answer for the old model
    identity = embedder.provider.identity
    if identity is None:
        raise EmbeddingUnavailable(f"{embedder.provider.name}: its vectors have no known width")
    settled = place(identity, vectors, known)
    embedder.move_to(Identity.from_json(settled.space.label).generation)
    return settled


def place(identity: Identity, canaries: Floats, known: Sequence[Space]) -> Settled:
    """The newest generation of the model whose canaries agree, or the next one."""
    spaces = {space.id: space for space in known}
    generation = 0
    while (space := spaces.get(replace(identity, generation=generation).id)) is not None:
        if not space.canaries or agreement(space.canaries, canaries) >= LEAST_COSINE:
            return Settled(space, new=False)
        generation += 1
    placed = replace(identity, generation=generation)
    data = canaries.astype("<f4").tobytes()
    space = Space(id=placed.id, dim=placed.dim, label=placed.to_json(), canaries=data)
    return Settled(space, new=True, drifted=generation > 0)


def agreement(stored: bytes, fresh: Floats) -> float:
    """The smallest cosine between the canaries then and now; 0 where the widths differ."""
    then = np.frombuffer(stored, "<f4")
    if then.size != fresh.size:
        return 0.0
    return float((then.reshape(fresh.shape) * fresh).sum(1).min())


@dataclass(frozen=True, slots=True)
class Move:
    """How vectors come from one space to another: `answer` serves queries, `fill` are given vectors, `drop` may go."""

    answer: str | None
    fill: tuple[str, ...]
    switch: bool
    drop: tuple[str, ...]


def plan_move(
    active: str | None, wanted: str | None, covered: Mapping[str, tuple[int, int]], *, keep_old: bool = False
) -> Move:
    """`covered`: per space the chunks that have a vector, and all chunks. Spaces are never mixed.

    The old space answers until the new one covers everything; new memories get vectors in both meanwhile.
    """
    others = tuple(space for space in covered if space not in (active, wanted))
    if wanted is None:
        return Move(None, (), False, ())
    done, total = covered.get(wanted, (0, 0))
    if active is None or active == wanted:
        return Move(wanted, (wanted,), active is None, () if keep_old else others)
    if done >= total:
        return Move(wanted, (wanted,), True, () if keep_old else (*others, active))
    return Move(active, (active, wanted), False, ())
