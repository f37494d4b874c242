"""Former states, the operation log, and the store as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory
from remora.model.ops import Op
from remora.model.search import Where
from remora.storage.matching import matches
from remora.storage.sqlite.opening import Connection
from remora.storage.sqlite.rows import SELECT, dump, from_json, from_row

OP_COLUMNS = (
    """op_id, batch_id, kind, target, target_type, at, actor, before, after, version, reason, undoes, undone_by"""
)


class HistoryReads:
    """Part of the view."""

    connection: Connection
    tenant: str
    now: int

    def versions(self, memory_id: str) -> list[tuple[Memory, int, int | None, str]]:
        """Every state with the time it began, the time it ended, and the operation that made it; newest first."""
        head = f"SELECT {SELECT}, m.tx_from, m.op_id FROM memories m WHERE m.tenant = ? AND m.id = ?"
        found: list[tuple[Memory, int, int | None, str]] = [
            (from_row(row), row[-2], None, row[-1]) for row in self.connection.execute(head, (self.tenant, memory_id))
        ]
        sql = """SELECT row, tx_from, tx_to, op_id FROM memory_versions
            WHERE tenant = ? AND id = ? ORDER BY version DESC"""
        for row, tx_from, tx_to, op_id in self.connection.execute(sql, (self.tenant, memory_id)):
            found.append((from_json(row), tx_from, tx_to, op_id))
        return found

    def state(self, memory_id: str, version: int) -> Memory | None:
        sql = "SELECT row FROM memory_versions WHERE tenant = ? AND id = ? AND version = ?"
        found = self.connection.execute(sql, (self.tenant, memory_id, version)).fetchone()
        if found is not None:
            return from_json(found[0])
        head = self.connection.execute(
            f"SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.id = ?", (self.tenant, memory_id)
        ).fetchone()
        memory = from_row(head) if head is not None else None
        return memory if memory is not None and memory.version == version else None

    def as_of(self, at: int, where: Where) -> list[Memory]:
        """What was true for the store at transaction time `at`, filtered, newest first."""
        head = f"SELECT {SELECT} FROM memories m WHERE m.tenant = ? AND m.tx_from <= ?"
        found = [from_row(row) for row in self.connection.execute(head, (self.tenant, at))]
        sql = "SELECT row FROM memory_versions WHERE tenant = ? AND tx_to > ? AND tx_from <= ?"
        found += [from_json(row) for (row,) in self.connection.execute(sql, (self.tenant, at, at))]
        wanted = [memory for memory in found if matches(memory, where, at)]
        return sorted(wanted, key=lambda memory: (memory.created_at, memory.id), reverse=True)

    def first_op_at(self) -> int | None:
        found = self.connection.execute("SELECT min(at) FROM ops WHERE tenant = ?", (self.tenant,)).fetchone()
        return found[0] if found else None

    def op(self, op_id: str) -> Op | None:
        found = self._ops("op_id = ?", [op_id], "seq", 1)
        return found[0] if found else None

    def ops(
        self,
        *,
        target: str | None = None,
        batch: str | None = None,
        since: int | None = None,
        until: int | None = None,
        actor: str | None = None,
        kind: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        newest_first: bool = False,
    ) -> list[Op]:
        clauses, values = ["1"], []
        for clause, value in (
            ("target = ?", target),
            ("batch_id = ?", batch),
            ("at >= ?", since),
            ("at < ?", until),
            ("actor_name = ?", actor),
            ("kind = ?", kind),
        ):
            if value is not None:
                clauses.append(clause)
                values.append(value)
        if after is not None:
            sign = "<" if newest_first else ">"
            clauses.append(f"seq {sign} (SELECT seq FROM ops o WHERE o.tenant = ops.tenant AND o.op_id = ?)")
            values.append(after)
        return self._ops(" AND ".join(clauses), values, f"seq {'DESC' if newest_first else 'ASC'}", limit)

    def _ops(self, clause: str, values: Sequence[Any], order: str, limit: int) -> list[Op]:
        sql = f"SELECT {OP_COLUMNS} FROM ops WHERE tenant = ? AND {clause} ORDER BY {order} LIMIT ?"
        return [self._op(row) for row in self.connection.execute(sql, (self.tenant, *values, limit)).fetchall()]

    def _op(self, row: Sequence[Any]) -> Op:
        op_id, batch, kind, target, target_type, at, actor, before, after, version, reason, undoes, undone_by = row
        old: Mapping[str, Any] = json.loads(before) if before else {}
        new: Mapping[str, Any] = json.loads(after) if after else {}
        purged = False
        if target_type == "memory":
            now_state = self.state(target, version)
            was = self.state(target, version - 1) if version > 1 else None
            purged = now_state is None or (version > 1 and was is None)
            old = json.loads(dump(asdict(was))) if was else {}
            new = json.loads(dump(asdict(now_state))) if now_state else {}
        changed = [name for name in new if name not in old or old[name] != new[name]]
        return Op(
            op_id=op_id,
            batch_id=batch,
            kind=kind,
            target=target,
            target_type=target_type,
            at=at,
            actor=json.loads(actor),
            before={name: old[name] for name in changed if name in old},
            after={name: new[name] for name in changed},
            version=version,
            reason=reason,
            undoes=undoes,
            undone_by=undone_by,
            purged=purged,
        )

    def idempotent(self, actor: str, key: str) -> Mapping[str, Any] | None:
        sql = "SELECT result FROM idempotency WHERE tenant = ? AND actor = ? AND key = ? AND at > ?"
        found = self.connection.execute(sql, (self.tenant, actor, key, self.now - 86_400_000_000)).fetchone()
        return json.loads(found[0]) if found else None

    def relations(self, ids: Sequence[str], *, types: Sequence[str] = (), hidden: bool = False) -> list[Relation]:
        """Edges at these memories whose both ends are visible (or all, `hidden`)."""
        live = (
            ""
            if hidden
            else """ AND r.status = 'active'
            AND EXISTS (SELECT 1 FROM live_memories m WHERE m.tenant = r.tenant AND m.id = r.src)
            AND EXISTS (SELECT 1 FROM live_memories m WHERE m.tenant = r.tenant AND m.id = r.dst)"""
        )
        sql = f"""SELECT r.row FROM relations r WHERE r.tenant = :tenant
            AND (r.src IN (SELECT value FROM json_each(:ids)) OR r.dst IN (SELECT value FROM json_each(:ids))){live}
            ORDER BY r.id"""
        values = {"tenant": self.tenant, "ids": dump(list(ids))}
        found = [as_relation(row) for (row,) in self.connection.execute(sql, values)]
        return [edge for edge in found if not types or edge.type in types]

    def relation(self, relation_id: str) -> Relation | None:
        sql = "SELECT row FROM relations WHERE tenant = ? AND id = ?"
        found = self.connection.execute(sql, (self.tenant, relation_id)).fetchone()
        return as_relation(found[0]) if found else None

    def edge(self, src: str, dst: str, kind: str) -> Relation | None:
        sql = "SELECT row FROM relations WHERE tenant = ? AND src = ? AND dst = ? AND type = ?"
        found = self.connection.execute(sql, (self.tenant, src, dst, kind)).fetchone()
        return as_relation(found[0]) if found else None

    def all_relations(self) -> list[Relation]:
        sql = "SELECT row FROM relations WHERE tenant = ? ORDER BY id"
        return [as_relation(row) for (row,) in self.connection.execute(sql, (self.tenant,))]

    def conflicts(self, *, status: str | None = "open", ids: Sequence[str] = ()) -> list[Conflict]:
        """Disagreements; an open one with a side that is gone counts as closed."""
        sql, values = "SELECT row FROM conflicts c WHERE tenant = :tenant", {"tenant": self.tenant}
        if ids:
            listed = "(SELECT value FROM json_each(:ids))"
            sql, values = f"{sql} AND (a IN {listed} OR b IN {listed})", {**values, "ids": dump(list(ids))}
        if status is not None:
            sql, values = f"{sql} AND status = :status", {**values, "status": status}
        if status == "open":
            for side in ("a", "b"):
                sql += f""" AND EXISTS (SELECT 1 FROM memories m WHERE m.tenant = c.tenant AND m.id = c.{side}
                    AND m.status <> 'deleted' AND m.superseded_by IS NULL)"""
        found = self.connection.execute(f"{sql} ORDER BY id", values)
        return [as_conflict(row) for (row,) in found]

    def conflict(self, conflict_id: str) -> Conflict | None:
        sql = "SELECT row FROM conflicts WHERE tenant = ? AND id = ?"
        found = self.connection.execute(sql, (self.tenant, conflict_id)).fetchone()
        return as_conflict(found[0]) if found else None


def as_relation(text: str) -> Relation:
    values = json.loads(text)
    return Relation(**{**values, "reasons": tuple(values["reasons"])})


def as_conflict(text: str) -> Conflict:
    values = json.loads(text)
    return Conflict(**{**values, "reasons": tuple(values["reasons"]), "hashes": tuple(values["hashes"])})
