from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remora.gateway.wire import headers, jsonrpc
from remora.gateway.wire.lines import EDGE, LineSplitter

texts = st.text() | st.text(st.characters(codec="utf-16", categories=["Cs", "Ll"]), max_size=8)  # lone surrogates too
numbers = st.integers() | st.floats(allow_nan=False)  # infinity: what 1e400 is read as
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
ids = st.integers(-(2**63), 2**63) | texts
spaces = st.text(" \t\r\n", max_size=3)


@given(values)
def test_what_is_encoded_is_one_line_and_reads_the_same(value: Any) -> None:
    line = jsonrpc.encode(value)
    assert b"\n" not in line
    assert b"\r" not in line
    assert jsonrpc.decode(line) == value


@given(st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()[:-1]))
def test_no_bytes_do_more_than_a_value_error(line: bytes) -> None:
    try:
        assert jsonrpc.decode(jsonrpc.encode(jsonrpc.decode(line))) == jsonrpc.decode(line)
    except ValueError:
        pass


members = st.lists(st.sampled_from(["jsonrpc", "id", "result", "error", "x"]), max_size=2)


@settings(max_examples=200, deadline=None)
@given(ids, ids, st.dictionaries(texts, values, max_size=4), members, st.lists(spaces, min_size=9, max_size=9))
def test_a_big_answer_gets_its_new_id_and_nothing_else(
    old: Any, new: Any, result: dict[str, Any], more: list[str], gaps: list[str]
) -> None:
    """However the answer is laid out: the reply is one line, has our id alone, and the result that was read."""
    body = jsonrpc.encode({**result, "big": "x" * jsonrpc.RAW_RESULT_BYTES}).decode()
    parts = ["{", '"jsonrpc"', ":", '"2.0",', '"id":', json.dumps(old), ',"result":', body[:-1], "}"]
    laid_out = "".join(part + gap for part, gap in zip(parts, gaps, strict=True))
    for key in more:  # given twice, or unknown
        laid_out += f',"{key}":{json.dumps(old if key == "id" else {})}'
    read = jsonrpc.decode(f"{laid_out}}}".encode())
    assert read == json.loads(f"{laid_out}}}")
    reply = jsonrpc.response(new, read["result"])
    assert b"\n" not in reply
    assert b"\r" not in reply
    seen = json.loads(reply, object_pairs_hook=lambda pairs: pairs)
    assert seen[:2] == [("jsonrpc", "2.0"), ("id", new)]
    assert len(seen) == 3
    assert json.loads(reply)["result"] == read["result"]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


lines = st.lists(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))
    | st.integers(0, 3 * EDGE).map(lambda size: bytes(65 + at % 26 for at in range(size))),
    max_size=6,
)


@settings(deadline=None)
@given(lines, st.lists(st.integers(0, 1 << 20), max_size=12), st.sampled_from([10, EDGE, EDGE + 1, 2 * EDGE]))
def test_lines_do_not_depend_on_chunks(given_lines: list[bytes], places: list[int], limit: int) -> None:
    found: list[bytes | tuple[bytes, bytes]] = []
    splitter = LineSplitter(limit, found.append, lambda head, tail: found.append((head, tail)))
    for chunk in cut(b"\n".join([*given_lines, b""]), places):
        splitter.feed(chunk)
    assert not splitter.overflowing
    wanted = [line for line in given_lines if line and not line.isspace() or len(line) > limit]
    assert len(found) == len(wanted)
    for got, line in zip(found, wanted, strict=True):
        if isinstance(got, bytes):
            assert got == line
            continue
        assert len(line) > limit
        assert got[1] == line[-EDGE:]
        assert line.startswith(got[0])
        assert len(got[0]) >= min(EDGE, limit, len(line))


@given(st.text())
def test_header_values_survive_the_way(value: str) -> None:
    written = headers.encode_value(value)
    assert written.isascii()
    assert written.isprintable()
    assert written == written.strip()
    assert headers.decode_value(written) == value


kinds = st.sampled_from(["string", "integer", "boolean"])
names = st.text(st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=127), min_size=1, max_size=6)


@given(st.dictionaries(names, st.tuples(kinds, st.text(max_size=10), st.integers(), st.booleans()), max_size=5))
def test_what_we_send_is_what_we_accept(given_arguments: dict[str, tuple[str, str, int, bool]]) -> None:
    properties = {
        name: {"type": kind, "x-mcp-header": f"H{at}"} for at, (name, (kind, *_)) in enumerate(given_arguments.items())
    }
    schema = {"type": "object", "properties": properties}
    arguments = {
        name: {"string": text, "integer": number, "boolean": flag}[kind]
        for name, (kind, text, number, flag) in given_arguments.items()
    }
    assert headers.annotation_fault(schema) is None
    message = {"method": "tools/call", "params": {"name": "tool é", "arguments": arguments}}
    made = headers.for_request("tools/call", message["params"], "2026-07-28", schema)
    received = [(key.lower(), value) for key, value in made.items()]
    assert headers.routing_mismatch(message, "2026-07-28", received) is None
    assert headers.param_mismatch(schema, arguments, received) is None
