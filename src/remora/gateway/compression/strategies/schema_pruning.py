"""`schema_pruning`: every distinct path of a JSON document once with a real value, then more by worth."""

from __future__ import annotations

from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.strategies import extract_fields, truncate


def run(job: Job) -> Draft:
    value = extract_fields.readable(job)
    if value is None:
        return truncate.run(job)
    document = documents.Document(value)
    return extract_fields.by_values(job, value, "schema_pruning", firsts(document), document)


def firsts(document: documents.Document) -> list[int]:
    """The first unit of every distinct key path, shallow ones first."""
    paths: list[tuple[object, ...]] = []
    for node in document.nodes:
        above = paths[node.parent] if node.parent >= 0 else ()
        paths.append((*above, node.key if node.key is not None else node.column))
    seen: dict[tuple[object, ...], int] = {}
    for i in document.values(range(len(document.units))):
        if document.units[i].piece <= 0:
            seen.setdefault(paths[document.units[i].node], i)
    return sorted(seen.values(), key=lambda i: (document.nodes[document.units[i].node].depth, i))
