"""What search keeps of a memory, and which of its neighbours must be indexed anew because they hold its words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from remora.embedding.chunks import chunks
from remora.memory.context import (
    LARGEST_GAP_US,
    PREVIOUS_TURNS,
    chunk_context,
    date_words,
    speaker_of,
    turn_context,
)
from remora.memory.words import gram_text, index_row
from remora.model.memory import Memory
from remora.model.search import Chunk, IndexEntry
from remora.storage.protocol import View


def entry(memory: Memory, previous: Sequence[Memory] = ()) -> IndexEntry:
    """`previous`: the turns before it in its conversation, oldest first."""
    lang = memory.lang or "en"
    speaker = speaker_of(memory.source.get("author"), memory.metadata, memory.content)
    context = _context(memory, previous, speaker, lang)
    tags = " ".join(memory.tags)
    row = index_row(memory.content, context, memory.subject_key or "", tags, memory.title, lang)
    return IndexEntry(
        row=row,
        grams=gram_text(memory.content),
        chunks=pieces(memory),
        speaker=speaker.casefold() if speaker else None,
        context_hash=hashlib.sha256(context.encode("utf-8", "surrogatepass")).hexdigest()[:16],
    )


def pieces(memory: Memory) -> tuple[Chunk, ...]:
    """What gets a vector each: the memory, or its parts when it is long."""
    prefix = " ".join(part for part in (memory.subject_key, " ".join(memory.tags), memory.title) if part)
    return chunks(memory.content, prefix, turn=memory.conversation is not None)


def _context(memory: Memory, previous: Sequence[Memory], speaker: str | None, lang: str) -> str:
    when = memory.valid_from if memory.valid_from is not None else memory.created_at
    if memory.conversation is not None:
        # The words of a private turn never lead to one that is not private.
        bodies = [turn.content for turn in previous if turn.sensitivity == "normal" or memory.sensitivity == "private"]
        return turn_context(bodies, speaker=speaker, when=when, title=memory.title, tags=memory.tags, lang=lang)
    if memory.document_id is not None:
        return chunk_context(
            str(memory.metadata.get("heading") or ""),
            str(memory.metadata.get("source_file") or ""),
            str(memory.metadata.get("text_before") or ""),
        )
    return date_words(when, lang)


def entries(view: View, changed: Mapping[str, Memory], indexed: Sequence[str]) -> dict[str, IndexEntry]:
    """Entries of the memories `indexed`, as they stand in `changed`."""
    return {id_: entry(changed[id_], _previous(view, changed[id_])) for id_ in indexed}


def _previous(view: View, memory: Memory) -> Sequence[Memory]:
    return view.previous_turns(memory, PREVIOUS_TURNS, LARGEST_GAP_US) if memory.conversation is not None else ()


def followers(view: View, before: Memory | None, after: Memory) -> list[Memory]:
    """The turns after it whose context held, or shall hold, its words."""
    found: dict[str, Memory] = {}
    for state in (before, after):
        if state is not None and state.conversation is not None:
            for turn in view.next_turns(state, PREVIOUS_TURNS, LARGEST_GAP_US):
                found[turn.id] = turn
    found.pop(after.id, None)
    return list(found.values())
