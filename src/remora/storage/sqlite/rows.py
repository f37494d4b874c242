"""A memory as a row and back, and every read of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from heapq import merge
from itertools import islice
from typing import Any

from remora.model.memory import Memory
from remora.model.search import Facts, Where
from remora.storage.protocol import Page
from remora.storage.sqlite.filters import conditions, source
from remora.storage.sqlite.opening import Connection

PLAIN = (
    "id", "namespace", "status", "kind", "base_kind", "created_at", "updated_at", "superseded_by", "expires_at",
    "valid_from", "valid_to", "subject_key", "scope", "trust", "sensitivity", "pinned", "importance", "confidence",
    "version", "content_hash", "requested_kind", "kind_defaulted", "archived_at", "deleted_at", "confirmations",
    "last_confirmed_at", "document_id", "chunk_no", "page", "lang", "content",
)  # fmt: skip
JSONS = ("tags", "triggers", "source", "metadata")
DERIVED = ("conversation", "turn", "session", "agent", "source_kind", "title")
COLUMNS = (*PLAIN, *JSONS)
SELECT = ", ".join(f"m.{name}" for name in COLUMNS)
WRITTEN = ("tenant", *COLUMNS, *DERIVED, "tx_from", "op_id")
INSERT = f"INSERT INTO memories ({', '.join(WRITTEN)}) VALUES ({', '.join('?' * len(WRITTEN))})"
UPDATE = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in WRITTEN)} WHERE rid = ?"
MERGED = 64  # namespaces whose listings are merged; with more, one pass over the kind or tag order is cheaper
NAMES = tuple(field.name for field in fields(Memory))


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def to_row(memory: Memory, tenant: str, at: int, op_id: str) -> tuple[Any, ...]:
    turn = memory.source.get("turn")
    plain = [getattr(memory, name) for name in PLAIN]
    return (
        tenant,
        *plain,
        dump(memory.tags),
        dump(memory.triggers),
        dump(memory.source),
        dump(memory.metadata),
        memory.conversation,
        turn if isinstance(turn, (int, float)) else None,
        memory.session,
        memory.source.get("agent_id"),
        memory.source.get("kind"),
        memory.title,
        at,
        op_id,
    )


def from_row(row: Sequence[Any]) -> Memory:
    values = dict(zip(COLUMNS, row, strict=False))
    for name in JSONS:
        values[name] = json.loads(values[name])
    values["tags"], values["triggers"] = tuple(values["tags"]), tuple(values["triggers"])
    values["pinned"], values["kind_defaulted"] = bool(values["pinned"]), bool(values["kind_defaulted"])
    return Memory(**values)


def to_json(memory: Memory) -> str:
    return dump(asdict(memory))


def from_json(text: str) -> Memory:
    values = json.loads(text)
    values["tags"], values["triggers"] = tuple(values["tags"]), tuple(values["triggers"])
    return Memory(**{name: values[name] for name in NAMES if name in values})


class RowReads:
    """Reads of memories by id, key, hash, alias, filter; part of the view."""

    connection: Connection
    tenant: str
    now: int

    def _memories(self, sql: str, values: Sequence[Any]) -> list[Memory]:
        return [from_row(row) for row in self.connection.execute(sql, tuple(values))]

    def get(self, memory_id: str) -> Memory | None:
        found = self._memories(
            f"SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.id = ?", (self.tenant, memory_id)
        )
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> dict[str, Memory]:
        sql = f"SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.id IN (SELECT value FROM json_each(?))"
        return {memory.id: memory for memory in self._memories(sql, (self.tenant, dump(list(ids))))}

    def by_rows(self, rows: Sequence[int]) -> dict[int, Memory]:
        sql = f"SELECT {SELECT}, m.rid FROM memories m WHERE m.rid IN (SELECT value FROM json_each(?)) AND m.tenant = ?"
        found = self.connection.execute(sql, (dump(list(rows)), self.tenant))
        return {row[-1]: from_row(row) for row in found}

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        sql = "SELECT id, rid FROM memories WHERE tenant = ? AND id IN (SELECT value FROM json_each(?))"
        return dict(self.connection.execute(sql, (self.tenant, dump(list(ids)))))

    def list(self, where: Where, limit: int, after: tuple[int, str] | None = None, *, order: str = "created") -> Page:
        """Newest first; one ordered index range per namespace, merged, so that a page costs the same at any size."""
        names: Sequence[str | None] = self.namespace_names() if where.namespaces is None else where.namespaces
        along_tag = len(where.tags) == 1 and not where.tags[0].endswith("*") and order == "created"
        if along_tag or len(names) > MERGED:
            names = [None]
        parts = [self._listing(where, name, after, order, along_tag) for name in names]
        rows = merge(*parts, key=lambda row: (row[0], row[1]), reverse=True)
        chosen = [(row[0], row[1], row[2]) for row in islice(rows, limit + 1)]
        memories = self.by_rows([rid for _, _, rid in chosen[:limit]])
        last = chosen[limit - 1] if len(chosen) > limit else None
        return Page(tuple(memories[rid] for _, _, rid in chosen[:limit]), (last[0], last[1]) if last else None)

    def _listing(
        self, where: Where, namespace: str | None, after: tuple[int, str] | None, order: str, along_tag: bool
    ) -> Iterator[Any]:
        table, clauses, values = source(where, self.now)
        more, found = conditions(where, self.tenant)
        clauses, values = [*clauses, *more], [*values, *found]
        if namespace is not None:
            clauses, values = [*clauses, "m.namespace = ?"], [*values, namespace]
        if after is not None:
            clauses.append(f"(m.{order}_at, m.id) < (?, ?)")
            values += after
        first = f"m.{order}_at"
        if along_tag:
            # The tag index is in the order of the page: read along it instead of collecting all that carry the tag.
            table, first = f"memory_tags t CROSS JOIN {table} ON m.rid = t.rid", "t.created_at"
            clauses, values = [*clauses, "t.tenant = ?", "t.tag = ?"], [*values, self.tenant, where.tags[0]]
            if after is not None:
                clauses, values = [*clauses, "t.created_at <= ?"], [*values, after[0]]
        sql = f"""SELECT m.{order}_at, m.id, m.rid FROM {table} WHERE {" AND ".join(clauses)}
            ORDER BY {first} DESC, m.id DESC"""
        return iter(self.connection.execute(sql, tuple(values)))

    def count(self, where: Where) -> int:
        table, clauses, values = source(where, self.now)
        more, found = conditions(where, self.tenant)
        sql = f"SELECT count(*) FROM {table} WHERE {' AND '.join([*clauses, *more])}"
        return int(self.connection.execute(sql, (*values, *found)).fetchone()[0])  # type: ignore[index]

    def ids(self, where: Where) -> Sequence[str]:
        table, clauses, values = source(where, self.now)
        more, found = conditions(where, self.tenant)
        sql = f"SELECT m.id FROM {table} WHERE {' AND '.join([*clauses, *more])} ORDER BY m.id"
        return [row[0] for row in self.connection.execute(sql, (*values, *found))]

    def namespace_names(self) -> Sequence[str]:
        names, name = [], ""
        skip = "SELECT min(namespace) FROM memories WHERE tenant = ? AND namespace > ?"
        while (name := self.connection.execute(skip, (self.tenant, name)).fetchone()[0]) is not None:  # type: ignore[index]
            names.append(name)
        return names

    def tags(self, where: Where) -> dict[str, int]:
        if where in (Where(), Where(namespaces=where.namespaces)):
            sql = "SELECT tag, sum(n) FROM tag_counts WHERE tenant = ?"
            values: list[Any] = [self.tenant]
            if where.namespaces is not None:
                sql += f" AND namespace IN ({', '.join('?' * len(where.namespaces))})"
                values += where.namespaces
            return dict(
                self.connection.execute(f"{sql} GROUP BY tag HAVING sum(n) > 0 ORDER BY 2 DESC, 1", tuple(values))
            )
        table, clauses, values = source(where, self.now)
        more, found = conditions(where, self.tenant)
        sql = f"""SELECT j.value, count(*) FROM {table}, json_each(m.tags) j
            WHERE {" AND ".join([*clauses, *more])} GROUP BY 1 ORDER BY 2 DESC, 1"""
        return dict(self.connection.execute(sql, (*values, *found)))

    def by_hash(self, content_hash: str, namespace: str | None = None) -> Sequence[Memory]:
        sql = f"SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.content_hash = ? AND m.status <> 'deleted'"
        if namespace is None:
            return self._memories(f"{sql} ORDER BY m.created_at DESC, m.id", (self.tenant, content_hash))
        return self._memories(f"{sql} AND m.namespace = ? ORDER BY m.id", (self.tenant, content_hash, namespace))

    def by_key(self, namespace: str, subject_key: str, status: str = "active") -> Memory | None:
        sql = f"""SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.namespace = ? AND m.subject_key = ?
            AND m.status = ? AND m.superseded_by IS NULL"""
        found = self._memories(sql, (self.tenant, namespace, subject_key, status))
        return found[0] if found else None

    def by_alias(self, alias: str) -> Sequence[str]:
        sql = "SELECT DISTINCT id FROM aliases WHERE tenant = ? AND alias = ? ORDER BY id DESC"
        return [row[0] for row in self.connection.execute(sql, (self.tenant, alias))]

    def aliases(self, memory_id: str) -> Sequence[tuple[str, str]]:
        sql = "SELECT system, alias FROM aliases WHERE tenant = ? AND id = ? ORDER BY system, alias"
        return [(system, alias) for system, alias in self.connection.execute(sql, (self.tenant, memory_id))]

    def by_prefix(self, prefix: str, *, suffix: bool = False, limit: int = 6) -> Sequence[str]:
        """Ids of rows that are not deleted, by how they begin or end."""
        if suffix:
            sql = "SELECT id FROM memories WHERE tenant = ? AND id LIKE '%' || ? AND status <> 'deleted' LIMIT ?"
            values: tuple[Any, ...] = (self.tenant, prefix, limit)
        else:
            sql = "SELECT id FROM memories WHERE tenant = ? AND id >= ? AND id < ? AND status <> 'deleted' LIMIT ?"
            values = (self.tenant, prefix, prefix + "~", limit)
        return [row[0] for row in self.connection.execute(sql, values)]

    def expired(self) -> Sequence[str]:
        """Active rows whose time has run out."""
        sql = "SELECT id FROM memories WHERE tenant = ? AND expires_at <= ? AND status = 'active' ORDER BY id"
        return [row[0] for row in self.connection.execute(sql, (self.tenant, self.now))]

    def superseded(self, memory_id: str) -> Sequence[str]:
        """What this memory replaced."""
        sql = "SELECT id FROM memories WHERE tenant = ? AND superseded_by = ? ORDER BY id"
        return [row[0] for row in self.connection.execute(sql, (self.tenant, memory_id))]

    def tombstone(self, content_hash: str, namespace: str) -> Memory | None:
        """A row of this text that somebody deleted on purpose; undone writes leave no such mark."""
        sql = f"""SELECT {SELECT} FROM memories m JOIN ops o ON o.tenant = m.tenant AND o.op_id = m.op_id
            WHERE m.tenant = ? AND m.content_hash = ? AND m.namespace = ? AND m.status = 'deleted' AND o.undoes IS NULL
            ORDER BY m.deleted_at DESC LIMIT 1"""
        found = self._memories(sql, (self.tenant, content_hash, namespace))
        return found[0] if found else None

    def previous_turns(self, memory: Memory, count: int, within: int) -> Sequence[Memory]:
        """The turns just before this one in its conversation, oldest first."""
        return list(reversed(self._turns(memory, count, within, before=True)))

    def next_turns(self, memory: Memory, count: int, within: int) -> Sequence[Memory]:
        return self._turns(memory, count, within, before=False)

    def _turns(self, memory: Memory, count: int, within: int, *, before: bool) -> Sequence[Memory]:
        if memory.conversation is None:
            return []
        turn = memory.source.get("turn")
        place = (turn if isinstance(turn, (int, float)) else None, memory.created_at, memory.id)
        sign, order = ("<", "DESC") if before else (">", "ASC")
        # NULL turns compare as lower than all, and among themselves by time.
        # Whether a turn has expired is left out: what is indexed must not depend on the clock.
        sql = f"""SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.conversation = ? AND m.namespace = ?
            AND m.status = 'active' AND m.superseded_by IS NULL
            AND (ifnull(m.turn, -1e300), m.created_at, m.id) {sign} (ifnull(?, -1e300), ?, ?)
            AND abs(m.created_at - ?) <= ? AND (m.session IS NULL OR ? IS NULL OR m.session = ?)
            ORDER BY m.turn {order}, m.created_at {order}, m.id {order} LIMIT ?"""
        session = memory.session
        return self._memories(
            sql,
            (
                self.tenant,
                memory.conversation,
                memory.namespace,
                *place,
                memory.created_at,
                within,
                session,
                session,
                count,
            ),
        )

    def read_facts(self, rows: Sequence[int]) -> Sequence[Facts]:
        sql = """SELECT m.rid, m.id, m.content, m.namespace, m.kind, m.base_kind, m.subject_key, m.title, m.tags,
              m.conversation, m.session, w.speaker, m.created_at, m.trust, m.importance, m.superseded_by IS NOT NULL
            FROM json_each(?) j CROSS JOIN memories m ON m.rid = j.value LEFT JOIN word_tf w ON w.rid = m.rid
            WHERE m.tenant = ?"""
        found = self.connection.execute(sql, (dump(list(rows)), self.tenant))
        return [Facts(*row[:8], _tags(str(row[8])), *row[9:15], bool(row[15])) for row in found]  # type: ignore[call-arg]


def _tags(text: str) -> tuple[str, ...]:
    if text == "[]":
        return ()
    return tuple(text[2:-2].split('","')) if "\\" not in text else tuple(json.loads(text))
