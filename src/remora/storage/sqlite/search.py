"""Full text, substrings and vectors, always inside the filter.

`SearchIndex` is what one process keeps in memory of a store; it follows the `changes` table, so that writes of other
processes are seen by the next search.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from remora.model.search import Facts, LexicalHit, Space, TermStats, Where
from remora.storage.sqlite.catalog import Catalog, Mask
from remora.storage.sqlite.codes import Codes, Vector
from remora.storage.sqlite.filters import beyond_catalog, conditions, in_catalog, source
from remora.storage.sqlite.opening import Connection
from remora.storage.sqlite.rows import RowReads, dump

COMMON_SHARE, COMMON_ROWS = 10, 1000  # a term in more than a tenth of at least 1,000 rows proposes no candidates
# Rows that the terms of one query may propose, the rarest term first: a twentieth of the store, within limits.
LEAST_POSTINGS, POSTINGS = 10_000, 30_000
NEWEST, MOST_TERMS = 50_000, 64
DF_SECONDS = 60.0
MASKS, KEPT_ROWS, KEPT_LETTERS = 16, 12_000, 1_000
K1, B = 0.9, 0.4
CONTEXT_WEIGHT = 0.5
# Rows as one text: a tenth of the time that a row at a time takes.
ANYWHERE = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?"
GRAM_ROWS = "SELECT group_concat(rowid) FROM grams WHERE grams MATCH ?"
# Two look-ups: asked for together, SQLite would read the whole table.
EDGES = "SELECT ifnull((SELECT max(seq) FROM changes), 0), ifnull((SELECT min(seq) FROM changes), 0)"
COUNTS = "SELECT term, doc FROM {}_vocab WHERE term IN (SELECT value FROM json_each(?))"

Rids = NDArray[np.int64]
Row = TypeVar("Row")


class SearchIndex:
    """Catalog, codes per space, recent masks and document counts of one open store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seq = -1
        self.catalog = Catalog()
        self.codes: dict[str, Codes] = {}
        self._masks: OrderedDict[tuple[str, Where], tuple[int, Mask]] = OrderedDict()
        # What was read of rows lately; refreshed with the rest.
        self.hits: dict[int, LexicalHit] = {}
        self.facts: dict[int, Facts] = {}
        self._df: dict[tuple[bool, str], tuple[int, int, float]] = {}  # count, as of seq, good until

    def refresh(self, connection: Connection) -> int:
        """Catch up with the changes that this connection's snapshot sees; gives the number of the last one."""
        last, oldest = connection.execute(EDGES).fetchone()  # type: ignore[misc]
        if last > self._seq:
            self._catch_up(connection, last, oldest)
        return int(last)

    def _catch_up(self, connection: Connection, last: int, oldest: int) -> None:
        with self._lock:
            if last <= self._seq:
                return
            if self._seq < 0 or oldest > self._seq + 1:
                self._reload(connection)
            else:
                sql = "SELECT DISTINCT rid FROM changes WHERE seq > ? AND seq <= ?"
                rids = [rid for (rid,) in connection.execute(sql, (self._seq, last))]
                if 0 in rids or len(rids) > 200_000:
                    self._reload(connection)
                else:
                    for rid in rids:
                        self.hits.pop(rid, None)
                        self.facts.pop(rid, None)
                    self.catalog.update(connection, rids)
                    self.codes = {space: codes.update(connection, rids) for space, codes in self.codes.items()}
            self._seq = last

    def _reload(self, connection: Connection) -> None:
        fresh = Catalog()
        fresh.load(connection)
        self.catalog = fresh
        self.codes, self.hits, self.facts = {}, {}, {}
        self._masks.clear()

    def keep(self, kept: dict[int, Row], found: dict[int, Row], seq: int) -> None:
        """Only what a snapshot saw that is as new as this index: an older one may have read former states."""
        with self._lock:
            if seq == self._seq:
                # In a large store the same rows seldom come again.
                most = KEPT_ROWS if self.catalog.size <= 4 * KEPT_ROWS else KEPT_ROWS // 6
                if len(kept) + len(found) > most:
                    kept.clear()
                kept.update(found)

    def space(self, connection: Connection, space: str) -> Codes | None:
        """The codes of a space, loaded when they are first asked for."""
        if (found := self.codes.get(space)) is not None:
            return found
        row = connection.execute("SELECT n, dim FROM spaces WHERE id = ?", (space,)).fetchone()
        if row is None:
            return None
        with self._lock:
            if space not in self.codes:
                codes = Codes(row[0], row[1])
                codes.load(connection)
                # This snapshot may be older than what was caught up with: those changes are then applied once more.
                seen = connection.execute("SELECT ifnull(max(seq), 0) FROM changes").fetchone()[0]  # type: ignore[index]
                self._seq = min(self._seq, seen)
                self.codes = {**self.codes, space: codes}
            return self.codes[space]

    def forget(self) -> None:
        """Another file stands at the path: read everything anew."""
        with self._lock:
            self._seq = -1
            self._df.clear()

    def mask(self, connection: Connection, tenant: str, where: Where, now: int, seq: int) -> Mask:
        """Which rows the filter leaves, by rid. The part that the clock does not move is kept until the next change."""
        catalog, place = self.catalog, (tenant, where)
        held = self._masks.get(place)
        if held is not None and held[0] == seq:
            base = held[1]
        else:
            base = catalog.mask(tenant, in_catalog(where))
            if (rest := beyond_catalog(where)) is not None:
                base &= self._of_rest(connection, tenant, rest, len(base))
            with self._lock:
                if seq == self._seq:
                    self._masks[place] = (seq, base)
                    self._masks.move_to_end(place)
                    if len(self._masks) > MASKS:
                        self._masks.popitem(last=False)
        outside = catalog.outside_bounds(where, now)
        if len(outside):
            base = base.copy()
            base[outside[outside < len(base)]] = False
        return base

    @staticmethod
    def _of_rest(connection: Connection, tenant: str, rest: Where, size: int) -> Mask:
        clauses, values = conditions(rest, tenant)
        sql = f"SELECT group_concat(m.rid) FROM memories m WHERE {' AND '.join(clauses)}"
        listed = connection.execute(sql, tuple(values)).fetchone()[0]  # type: ignore[index]
        mask = np.zeros(size, np.bool_)
        if listed is not None:
            rids = np.fromstring(str(listed), np.int64, sep=",")
            mask[rids[rids < size]] = True
        return mask

    def document_counts(self, connection: Connection, terms: Sequence[str], seq: int, *, grams: bool) -> dict[str, int]:
        """In how many rows each term stands; counts of common terms may be a minute old."""
        now = time.monotonic()
        counts: dict[str, int] = {}
        asked = []
        for term in terms:
            held = self._df.get((grams, term))
            if held is not None and (held[1] == seq or (held[0] > 1000 and held[2] > now)):
                counts[term] = held[0]
            else:
                asked.append(term)
        if asked:
            sql = COUNTS.format("grams" if grams else "words")
            rows: Any = connection.execute(sql, (dump(asked),))
            found: dict[str, int] = dict(rows)
            if len(self._df) > 50_000:
                self._df.clear()
            for term in asked:
                counts[term] = found.get(term, 0)
                self._df[grams, term] = (counts[term], seq, now + DF_SECONDS)
        return counts


class SearchReads(RowReads):
    """Part of the view."""

    index: SearchIndex
    seq: int  # the last change that this snapshot sees

    def _mask(self, where: Where) -> Mask:
        return self.index.mask(self.connection, self.tenant, where, self.now, self.seq)

    def namespaces(self) -> dict[str, int]:
        """Every namespace with rows, and how many of them are live."""
        counts = self.index.catalog.live_counts(self.tenant, self.now)
        return {name: counts.get(name, 0) for name in self.namespace_names()}

    def term_stats(self, terms: Sequence[str], *, grams: bool = False) -> TermStats:
        row = self.connection.execute(
            "SELECT rows, length FROM word_totals WHERE tenant = ?", (self.tenant,)
        ).fetchone()
        rows, length = row or (0, 0)
        counts = self.index.document_counts(self.connection, terms, self.seq, grams=grams)
        return TermStats(rows, length / rows if rows else 1.0, counts)

    def matching(self, where: Where) -> int:
        return int(np.count_nonzero(self._mask(where)))

    def all_rows(self, where: Where, limit: int) -> Sequence[int]:
        """Rows of the filter, newest rows first, at most `limit`."""
        return [int(rid) for rid in np.flatnonzero(self._mask(where))[::-1][:limit]]

    def lexical(self, terms: Sequence[str], where: Where, limit: int = 200) -> Sequence[LexicalHit]:
        """The rows that fit the terms best; common terms propose none where rarer ones exist."""
        stats = self.term_stats(list(dict.fromkeys(terms)))
        known = sorted((count, term) for term, count in stats.df.items() if count)[:MOST_TERMS]
        if not known:
            return []
        mask = self._mask(where)
        chosen, both = _proposing(known, stats.rows)
        if both:
            match = " AND ".join(quote(term) for _, term in chosen)
            rids = self._rows(ANYWHERE, match)[-NEWEST:]
            return self.lexical_rows(rids[mask[np.minimum(rids, len(mask) - 1)] & (rids < len(mask))][-limit:].tolist())
        return self.lexical_rows(self._proposed(chosen, stats, mask, limit))

    def _proposed(self, chosen: Sequence[tuple[int, str]], stats: TermStats, mask: Mask, limit: int) -> Sequence[int]:
        """The best rows by BM25 with every term counted once: body and fields in full, context by half."""
        scores = np.zeros(len(mask), np.float32)
        lengths = self.index.catalog.length
        found: list[Rids] = []
        for count, term in chosen:
            idf = math.log(1 + (stats.rows - min(count, stats.rows) + 0.5) / (count + 0.5))
            own = self._rows(ANYWHERE, f"- ctx : {quote(term)}")
            every = self._inside(self._rows(ANYWHERE, quote(term)) if count > len(own) else own, mask)
            norm = K1 * (1 - B + B * lengths[every] / max(stats.mean_length, 1.0))
            weight = np.full(len(every), CONTEXT_WEIGHT, np.float32)
            weight[np.isin(every, own, assume_unique=True, kind="sort") if count > len(own) else slice(None)] = 1.0
            scores[every] += idf * weight * (K1 + 1) / (weight + norm)
            found.append(every)
        return _best(scores, found, limit)

    def _rows(self, sql: str, match: str) -> Rids:
        listed = self.connection.execute(sql, (match,)).fetchall()[0][0]
        return np.fromstring(str(listed), np.int64, sep=",") if listed is not None else np.empty(0, np.int64)

    @staticmethod
    def _inside(rids: Rids, mask: Mask) -> Rids:
        rids = rids[rids < len(mask)]
        return rids[mask[rids]]

    def lexical_rows(self, rows: Sequence[int]) -> Sequence[LexicalHit]:
        kept = self.index.hits
        if missing := [row for row in rows if row not in kept]:
            sql = "SELECT w.rid, w.len, w.tf FROM json_each(?) j CROSS JOIN word_tf w ON w.rid = j.value"
            found = {row[0]: LexicalHit(*row) for row in self.connection.execute(sql, (dump(missing),))}
            self.index.keep(kept, found, self.seq)
            return [hit for row in rows if (hit := found.get(row) or kept.get(row)) is not None]
        return [kept[row] for row in rows]

    def facts(self, rows: Sequence[int]) -> Sequence[Facts]:
        kept = self.index.facts
        if missing := [row for row in rows if row not in kept]:
            found = {fact.row: fact for fact in self.read_facts(missing)}
            self.index.keep(
                kept, {row: fact for row, fact in found.items() if len(fact.content) <= KEPT_LETTERS}, self.seq
            )
            return [fact for row in rows if (fact := found.get(row) or kept.get(row)) is not None]
        return [kept[row] for row in rows]

    def context_hashes(self, ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """What is indexed of these memories: the mark of the context, and the term vector. Whole entries only."""
        sql = """SELECT m.id, w.ctx_hash, w.tf FROM memories m JOIN word_tf w ON w.rid = m.rid
            JOIN words_docsize d ON d.id = m.rid JOIN grams_docsize g ON g.id = m.rid
            WHERE m.tenant = ? AND m.id IN (SELECT value FROM json_each(?))
              AND EXISTS (SELECT 1 FROM chunks k WHERE k.rid = m.rid)"""
        found: Any = self.connection.execute(sql, (self.tenant, dump(list(ids))))
        return {id_: (mark, tf) for id_, mark, tf in found}

    def grams(self, trigrams: Sequence[str], where: Where, limit: int = 200) -> Sequence[int]:
        """Rows that share trigrams, the rarest of which count most."""
        counts = self.index.document_counts(self.connection, list(dict.fromkeys(trigrams)), self.seq, grams=True)
        known = sorted((count, gram) for gram, count in counts.items() if count)[:MOST_TERMS]
        if not known:
            return []
        mask = self._mask(where)
        found: list[Rids] = []
        scores, budget = np.zeros(len(mask), np.float32), POSTINGS
        total = self.term_stats(()).rows
        for count, gram in known:
            budget -= count
            if found and budget < 0:
                break
            rids = self._inside(self._rows(GRAM_ROWS, quote(gram)), mask)
            scores[rids] += math.log(1 + (total - min(count, total) + 0.5) / (count + 0.5))
            found.append(rids)
        return _best(scores, found, limit)

    def substring(self, text: str, where: Where, limit: int, offset: int = 0) -> Sequence[str]:
        """Ids of memories that contain the text whatever its case, newest first."""
        table, clauses, values = source(where, self.now)
        more, found = conditions(where, self.tenant)
        clauses, values = [*clauses, *more, "holds(m.content, ?)"], [*values, *found, text.casefold()]
        pieces = [piece for piece in dict.fromkeys(text[i : i + 3] for i in range(len(text) - 2)) if piece.isascii()]
        if pieces:
            # Letters that case folding changes are left to the check of the text itself.
            counts = self.index.document_counts(
                self.connection, [piece.lower() for piece in pieces], self.seq, grams=True
            )
            rarest = sorted(counts, key=lambda piece: counts[piece])[:8]
            clauses.append("m.rid IN (SELECT rowid FROM grams WHERE grams MATCH ?)")
            values.append(" AND ".join(map(quote, rarest)))
        else:
            clauses.append("m.rid > (SELECT max(rid) FROM memories) - ?")
            values.append(NEWEST)
        sql = f"""SELECT m.id FROM {table} WHERE {" AND ".join(clauses)}
            ORDER BY m.created_at DESC, m.id DESC LIMIT ? OFFSET ?"""
        return [row[0] for row in self.connection.execute(sql, (*values, limit, offset))]

    def nearest(self, vector: Vector, space: str, where: Where, limit: int = 100) -> Sequence[tuple[int, float]]:
        codes = self.index.space(self.connection, space)
        return codes.nearest(self.connection, vector, self._mask(where), limit) if codes else []

    def cosines(self, vector: Vector, space: str, rows: Sequence[int]) -> dict[int, float]:
        codes = self.index.space(self.connection, space)
        return codes.cosines(self.connection, vector, rows) if codes and rows else {}

    def vectors(self, memory_id: str, space: str) -> Vector:
        """The vectors of one memory's chunks, in order."""
        row = self.connection.execute("SELECT n, dim FROM spaces WHERE id = ?", (space,)).fetchone()
        if row is None:
            return np.empty((0, 0), np.float32)
        sql = f"""SELECT v.e FROM memories m JOIN chunks k ON k.rid = m.rid
            JOIN vectors_{row[0]} v ON v.chunk_rid = k.chunk_rid
            WHERE m.tenant = ? AND m.id = ? ORDER BY k.no"""
        blobs = [e for (e,) in self.connection.execute(sql, (self.tenant, memory_id))]
        return np.frombuffer(b"".join(blobs), "<f2").reshape(-1, row[1]).astype(np.float32)

    def speakers(self, namespaces: Sequence[str] | None) -> frozenset[str]:
        sql, values = "SELECT name FROM speakers WHERE tenant = ?", [self.tenant]
        if namespaces is not None:
            sql += f" AND namespace IN ({', '.join('?' * len(namespaces))})"
            values += namespaces
        return frozenset(row[0] for row in self.connection.execute(sql, tuple(values)))

    def languages(self, namespaces: Sequence[str] | None) -> dict[str, int]:
        sql, values = "SELECT lang, sum(rows) FROM languages WHERE tenant = ?", [self.tenant]
        if namespaces is not None:
            sql += f" AND namespace IN ({', '.join('?' * len(namespaces))})"
            values += namespaces
        return dict(self.connection.execute(f"{sql} GROUP BY lang HAVING sum(rows) > 0", tuple(values)))

    def spaces(self) -> Sequence[Space]:
        sql = "SELECT id, dim, label, canaries, active FROM spaces ORDER BY n"
        return [
            Space(id=id_, dim=dim, label=label, canaries=canaries, active=bool(active))
            for id_, dim, label, canaries, active in self.connection.execute(sql)
        ]

    def covered(self, space: str) -> tuple[int, int]:
        """Chunks that have their vector in the space, and all chunks."""
        row = self.connection.execute("SELECT n FROM spaces WHERE id = ?", (space,)).fetchone()
        total = self.connection.execute("SELECT count(*) FROM chunks").fetchone()[0]  # type: ignore[index]
        if row is None:
            return 0, total
        waiting = self.connection.execute("SELECT count(*) FROM embed_queue WHERE space = ?", (row[0],)).fetchone()[0]  # type: ignore[index]
        return total - waiting, total

    def meta(self, key: str) -> str | None:
        return next(
            (value for (value,) in self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,))), None
        )


def _best(scores: NDArray[np.float32], found: Sequence[Rids], limit: int) -> Sequence[int]:
    """The rows with the highest scores, newer rows first among equals."""
    rids = np.unique(np.concatenate(found))
    if len(rids) > limit:
        cut = np.partition(scores[rids], -limit)[-limit]
        rids = rids[scores[rids] >= cut]
    order = np.lexsort((-rids, -scores[rids]))[:limit]
    return [int(rid) for rid in rids[order]]


def _proposing(known: list[tuple[int, str]], rows: int) -> tuple[list[tuple[int, str]], bool]:
    """The terms that propose rows, and whether a row must have them all. `known` is rarest first."""
    if rows < COMMON_ROWS:
        return known, False
    rare = [(count, term) for count, term in known if count * COMMON_SHARE <= rows]
    if not rare:
        return known[:2], True
    chosen, budget = [rare[0]], min(POSTINGS, max(LEAST_POSTINGS, rows // 20)) - rare[0][0]
    for count, term in rare[1:]:
        budget -= count
        if budget < 0:
            break
        chosen.append((count, term))
    return chosen, False


def quote(term: str) -> str:
    """A term as FTS5 takes it literally."""
    return '"' + term.replace("\0", "").replace('"', '""') + '"'
