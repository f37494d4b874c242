"""Remora behind the retrieval harness, through its public Python API alone.

    python harness.py --data locomo_dev/turn --audited --adapter py:bench/retrieval_adapter.py:Adapter
    ... --adapter-args '{"embedder": "none"}'          # words alone

Turns are stored in order with conversation, session, speaker and time, as an agent that records a conversation would;
whole sessions (an item that is its own session) are stored as memories of kind `session`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remora import Memory

BATCH = 500


class Adapter:
    batch_size = 100_000

    def __init__(self, embedder: str = "auto") -> None:
        self._embedder = embedder
        self._folder = tempfile.TemporaryDirectory(prefix="remora-bench-")
        self._memory: Memory | None = None
        self._stores = 0
        self._ids: dict[str, str] = {}

    def reset(self, name: str) -> None:
        self._close_store()
        self._stores += 1
        self._name = name
        self._memory = Memory(Path(self._folder.name) / f"{self._stores}.db", embedder=self._embedder)
        self._ids = {}

    def store(self, items: Sequence[Mapping[str, Any]]) -> None:
        turns: dict[str, int] = {}
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            records = self._open.store_many([self._record(item, turns) for item in part])
            for item, record in zip(part, records, strict=True):
                self._ids[record.id] = item["id"]

    def _record(self, item: Mapping[str, Any], turns: dict[str, int]) -> dict[str, Any]:
        """The harness pools stores by putting their name before session and id: that name is the conversation."""
        record: dict[str, Any] = {
            "content": item["text"],
            "created_at": datetime.fromtimestamp(item["timestamp"], UTC),
            "metadata": {"bench_id": item["id"]},
        }
        if item["session"] == item["id"]:
            return record | {"kind": "session"}
        conversation, _, session = str(item["session"]).rpartition("::")
        conversation = conversation or self._name
        turns[conversation] = turns.get(conversation, 0) + 1
        return record | {
            "kind": "conversation_turn",
            "conversation_id": conversation,
            "session_id": session,
            "turn": turns[conversation],
            "author": item["speaker"],
        }

    def finish(self) -> None:
        self._open.wait_indexed()

    def search(self, query: str, k: int) -> list[str]:
        return [self._ids[hit.id] for hit in self._open.recall(query, limit=k) if hit.id in self._ids]

    @property
    def _open(self) -> Memory:
        if self._memory is None:
            raise RuntimeError("reset comes first")
        return self._memory

    def _close_store(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def close(self) -> None:
        self._close_store()
        self._folder.cleanup()
