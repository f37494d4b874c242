"""Finding: by words, vectors, ids, keys and filters, with a score that says how likely the memory answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from remora.errors import Invalid, RemoraError
from remora.memory import fuse, timeparse
from remora.memory.engine import Engine
from remora.memory.forget import is_filter
from remora.memory.identify import candidates, find
from remora.memory.lexical import idf_cosine
from remora.memory.modes import permit
from remora.memory.plan import plan as plan_query
from remora.memory.words import prepare
from remora.model.memory import Memory
from remora.model.ops import Actor
from remora.model.search import TermStats, Where
from remora.storage.protocol import Vector, View

LONGEST_QUERY, HEAD, TAIL = 8_000, 2_000, 500
DEEPEST = 1_000
MOST_QUERIES = 50
Mode = Literal["hybrid", "semantic", "exact"]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`text` may be empty when the filter says what is wanted."""

    text: str = ""
    where: Where = field(default_factory=Where)
    limit: int = 10
    cursor: str | None = None
    mode: Mode = "hybrid"
    min_score: float = 0.0
    as_of: int | None = None
    parse_time: bool = False
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    memory: Memory
    score: float | None
    why: tuple[str, ...]
    disputed: tuple[str, str] | None = None  # (conflict, the other memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    hits: tuple[Hit, ...]
    next_cursor: str | None = None
    warnings: tuple[str, ...] = ()
    mode_used: str = "lexical"
    score_kind: str = "uncalibrated"
    searched: int = 0
    time: str | None = None


async def recall(engine: Engine, query: Query, actor: Actor) -> Recalled:
    """Best first. Filters act before every channel, so a selective filter never empties the answer."""
    permit(engine, actor, "recall")
    query, warnings, phrase = _checked(engine, query)
    if query.as_of is not None:
        return await _as_of(engine, query, warnings)
    if not query.text:
        return await engine.store.read(lambda view: _listed(view, query, warnings, phrase))
    if query.mode == "exact":
        return await engine.store.read(lambda view: _exact(view, query, warnings))
    vectors, space = await _vectors(engine, plan_query(query.text).dense_texts, actor)
    if query.mode == "semantic" and not vectors:
        warnings.append("there is no embedding model: found by words")
    return await engine.store.read(lambda view: _ranked(engine, view, query, vectors, space, warnings, phrase))


async def recall_many(engine: Engine, queries: Sequence[Query], actor: Actor) -> list[Recalled | RemoraError]:
    """Results in order; what is wrong with one query stands in its place."""
    if len(queries) > MOST_QUERIES:
        raise Invalid(f"at most {MOST_QUERIES} queries at once", code="too_many")
    found: list[Recalled | RemoraError] = []
    for query in queries:
        try:
            found.append(await recall(engine, query, actor))
        except Invalid as cause:
            found.append(cause)
    return found


async def similar(
    engine: Engine, reference: str, limit: int = 10, namespaces: tuple[str, ...] | None = None
) -> Recalled:
    """Neighbours of a stored memory, without itself and its doubles."""

    def read(view: View) -> Recalled:
        memory = find(view, reference)
        space = engine.indexer.answering if engine.indexer is not None else None
        vectors = list(view.vectors(memory.id, space)[:8]) if space is not None else []
        where = Where(namespaces=namespaces)
        ranking = fuse.search(
            view, plan_query(memory.content[:LONGEST_QUERY]), where, limit + 10, vectors, space, model=engine.model
        )
        ids = {fact.row: fact.id for fact in view.facts([hit.row for hit in ranking.hits])}
        memories = view.get_many(list(ids.values()))
        hits = [Hit(memories[ids[hit.row]], hit.score, hit.reasons) for hit in ranking.hits]
        other = [hit for hit in hits if hit.memory.id != memory.id and hit.memory.content_hash != memory.content_hash]
        return Recalled(hits=tuple(other[:limit]), mode_used=ranking.mode_used, score_kind=ranking.score_kind)

    return await engine.store.read(read)


def _checked(engine: Engine, query: Query) -> tuple[Query, list[str], str | None]:
    """The query in the form that is searched for, warnings, and the time phrase that was cut out of it."""
    warnings: list[str] = []
    text, phrase = query.text.strip(), None
    if not 1 <= query.limit <= DEEPEST:
        raise Invalid(f"limit must lie between 1 and {DEEPEST}", code="bad_limit")
    if query.mode not in MODES:
        raise Invalid(f'mode "{query.mode}" is unknown', code="bad_mode", hint=", ".join(MODES))
    if query.as_of is not None and query.as_of > engine.now():
        raise Invalid("as_of lies in the future", code="bad_time")
    if len(text) > LONGEST_QUERY:
        text = f"{text[:HEAD]} {text[-TAIL:]}"
        warnings.append(f"the query was longer than {LONGEST_QUERY} characters; its beginning and end were used")
    where = query.where
    if query.parse_time and text:
        found = timeparse.find(text, engine.now(), timeparse.rules(engine.settings, query.zone))
        if found is not None:
            text, interval = found
            phrase = interval.text
            where = replace(where, after=interval.start, before=interval.end)
    if not text and not is_filter(where):
        raise Invalid("a query or a filter is needed", code="empty_query")
    return replace(query, text=text, where=where), warnings, phrase


async def _vectors(engine: Engine, texts: Sequence[str], actor: Actor) -> tuple[list[Vector], str | None]:
    indexer, embedder = engine.indexer, engine.embedder
    if indexer is None or embedder is None or indexer.answering is None:
        return [], None
    remember = (actor.session or "") not in engine.incognito
    found = [await embedder.embed_query(text, remember=remember) for text in texts]
    vectors = [vector for vector in found if vector is not None]
    return vectors, indexer.answering if vectors else None


def _ranked(
    engine: Engine,
    view: View,
    query: Query,
    vectors: Sequence[Vector],
    space: str | None,
    warnings: list[str],
    phrase: str | None,
) -> Recalled:
    seen = _seen(query)
    direct = _direct(view, query) if not seen else []
    wanted = query.limit + len(seen) + len(direct)
    ranking = fuse.search(
        view, plan_query(query.text), query.where, min(wanted + 1, DEEPEST + 1), vectors, space, model=engine.model,
        multilingual=engine.embedder is not None and engine.embedder.multilingual,
        mode="semantic" if query.mode == "semantic" and vectors else "hybrid",
    )  # fmt: skip
    ids = view_ids(view, [hit.row for hit in ranking.hits])
    taken = {memory.id for memory, _ in direct}
    ranked = [(ids[hit.row], hit.score, hit.reasons) for hit in ranking.hits if hit.score >= query.min_score]
    ranked = [hit for hit in ranked if hit[0] not in taken and hit[0][-8:] not in seen]
    room = query.limit - len(direct)
    memories = view.get_many([hit[0] for hit in ranked[:room]])
    hits = [Hit(memory, 1.0, (reason,)) for memory, reason in direct[: query.limit]]
    hits += [Hit(memories[id_], score, reasons) for id_, score, reasons in ranked[:room] if id_ in memories]
    more = len(ranked) > room and len(seen) + len(hits) < DEEPEST
    return Recalled(
        hits=_disputed(view, hits),
        next_cursor=_cursor(query, [*seen, *(hit.memory.id[-8:] for hit in hits)]) if more else None,
        warnings=(*warnings, *ranking.warnings),
        mode_used=ranking.mode_used,
        score_kind=ranking.score_kind,
        searched=view.matching(query.where),
        time=phrase,
    )


def view_ids(view: View, rows: Sequence[int]) -> dict[int, str]:
    return {fact.row: fact.id for fact in view.facts(rows)}


def _direct(view: View, query: Query) -> list[tuple[Memory, str]]:
    """The query names a memory: by id, hash, alias or key; a longer key prefix names what is below it."""
    text = query.text
    if len(text) > 128 or any(map(str.isspace, text)):
        return []
    found: list[tuple[str, str]] = [(id_, "id") for id_ in candidates(view, text, query.where.namespaces)[:1]]
    key = text.lower()
    page = view.list(replace(query.where, keys=(key,)), 5)
    found += [(memory.id, "key") for memory in page.rows]
    if key.count(".") >= 1 and not key.endswith("."):
        page = view.list(replace(query.where, key_prefix=f"{key}."), query.limit)
        found += [(memory.id, "key") for memory in page.rows]
    reasons = dict(reversed(found))
    visible = {
        memory.id: memory for memory in view.list(replace(query.where, ids=tuple(reasons)), len(reasons) or 1).rows
    }
    return [(visible[id_], reasons[id_]) for id_ in dict.fromkeys(id_ for id_, _ in found) if id_ in visible]


def _disputed(view: View, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Mark hits that have an open conflict."""
    if not hits:
        return ()
    other: dict[str, tuple[str, str]] = {}
    for conflict in view.conflicts(ids=[hit.memory.id for hit in hits]):
        other[conflict.a], other[conflict.b] = (conflict.id, conflict.b), (conflict.id, conflict.a)
    return tuple(replace(hit, disputed=other.get(hit.memory.id)) for hit in hits) if other else tuple(hits)


def _listed(view: View, query: Query, warnings: list[str], phrase: str | None) -> Recalled:
    after = _decoded(query)["at"] if query.cursor else None
    page = view.list(query.where, query.limit, (after[0], after[1]) if after else None)
    cursor = _encoded(query, {"at": page.next}) if page.next else None
    hits = _disputed(view, [Hit(memory, None, ("filter",)) for memory in page.rows])
    return Recalled(hits=hits, next_cursor=cursor, warnings=tuple(warnings), mode_used="list", time=phrase)


def _exact(view: View, query: Query, warnings: list[str]) -> Recalled:
    offset = int(_decoded(query)["offset"]) if query.cursor else 0
    ids = list(view.substring(query.text, query.where, query.limit + 1, offset))
    memories = view.get_many(ids[: query.limit])
    if len(query.text) < 3:
        warnings.append("texts under three letters are looked for in the newest 50,000 memories only")
    cursor = _encoded(query, {"offset": offset + query.limit}) if len(ids) > query.limit else None
    hits = _disputed(view, [Hit(memories[id_], 1.0, ("exact",)) for id_ in ids[: query.limit]])
    return Recalled(hits=hits, next_cursor=cursor, warnings=tuple(warnings), mode_used="exact", score_kind="exact")


async def _as_of(engine: Engine, query: Query, warnings: list[str]) -> Recalled:
    """The store as it was then; only words find, because vectors are those of today's texts."""

    def read(view: View) -> Recalled:
        assert query.as_of is not None
        memories = view.as_of(query.as_of, query.where)
        if not memories:
            warnings.append("nothing was stored then that fits")
        scored: list[tuple[float | None, Memory]] = [(None, memory) for memory in memories]
        if query.text:
            words = prepare(query.text)
            texts = [prepare(memory.content, memory.lang or "en") for memory in memories]
            df: dict[str, int] = {}
            for tokens in texts:
                for token in set(tokens):
                    df[token] = df.get(token, 0) + 1
            stats = TermStats(len(texts), 1.0, df)
            pairs = [(idf_cosine(words, tokens, stats), memory) for tokens, memory in zip(texts, memories, strict=True)]
            kept = [(score, memory) for score, memory in pairs if score > 0 and score >= query.min_score]
            scored = [
                (score, memory)
                for score, memory in sorted(kept, key=lambda pair: (-pair[0], -pair[1].created_at, pair[1].id))
            ]
        hits = tuple(Hit(memory, score, ("as_of",)) for score, memory in scored[: query.limit])
        return Recalled(hits=hits, warnings=tuple(warnings), mode_used="lexical", searched=len(memories))

    return await engine.store.read(read)


def _digest(query: Query) -> str:
    asked = repr((query.text, query.where, query.mode, query.min_score))
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _encoded(query: Query, state: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps({"q": _digest(query), **state}).encode()).decode()


def _decoded(query: Query) -> dict[str, Any]:
    try:
        state = json.loads(base64.urlsafe_b64decode(query.cursor or ""))
    except ValueError as cause:
        raise Invalid("this cursor cannot be read", code="bad_cursor") from cause
    if not isinstance(state, dict) or state.get("q") != _digest(query):
        raise Invalid("this cursor belongs to another query", code="bad_cursor")
    return state


def _seen(query: Query) -> list[str]:
    """What earlier pages showed: the next page is the best of the rest, whatever was written meanwhile."""
    return [str(end) for end in _decoded(query)["seen"]] if query.cursor else []


def _cursor(query: Query, seen: Sequence[str]) -> str:
    return _encoded(query, {"seen": list(seen)})
