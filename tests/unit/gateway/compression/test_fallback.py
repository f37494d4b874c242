from __future__ import annotations

import json

from remora.gateway.compression.fallback import head_tail, marker_alone
from remora.gateway.compression.job import Job

LINES = "\n".join(f"line {i}" for i in range(200))


def test_lines_are_cut_between_both_ends() -> None:
    draft = head_tail(Job(LINES, "log", 600))
    shown = draft.body.split("\n")
    assert (shown[0], shown[-1]) == ("line 0", "line 199")
    assert f"… {200 - draft.kept} lines" in shown
    assert (draft.kept, draft.total) == (len(shown) - 1, 200)


def test_one_long_line_is_cut_inside() -> None:
    draft = head_tail(Job("x" * 5_000, "unknown", 500))
    part = draft.body.partition("…")[0]
    assert draft.body == f"{part}…[+{5_000 - len(part)} chars]"


def test_documents_keep_whole_members() -> None:
    source = {f"k{i}": i for i in range(100)}
    shown = json.loads(head_tail(Job(json.dumps(source), "json", 400)).body)
    said = shown.pop("_rem")
    assert said.startswith(f"kept {len(shown)} of 100 members")
    assert shown.items() < source.items()
    assert {"k0", "k99"} <= set(shown)


def test_documents_that_cannot_be_written_again_give_their_values() -> None:
    source = '{"a":1,' + ",".join(f'"a":"v{i}"' for i in range(100)) + "}"
    shown = json.loads(head_tail(Job(source, "json", 400)).body)
    assert shown["items"][:3] == ["a", 1, "a"]
    assert " values" in shown["_rem"]


def test_the_marker_alone_tells_where_to_find_it() -> None:
    assert (
        marker_alone(Job("abc", "log", 1, handle="h1")).body == '[rem: 3 characters left out | more: read_more("h1")]'
    )
    assert json.loads(marker_alone(Job("[1]", "json", 1, pointer=None)).body) == {"_rem": "3 characters left out"}
