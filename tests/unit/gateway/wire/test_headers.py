from __future__ import annotations

import pytest

from remora.gateway.wire import headers

VERSION = "2026-07-28"


def schema(**properties):
    return {"type": "object", "properties": properties}


def annotated(header, kind="string"):
    return {"type": kind, "x-mcp-header": header}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain value ~", "plain value ~"),
        ("", ""),
        (" padded", "=?base64?IHBhZGRlZA==?="),
        ("tab\there", "=?base64?dGFiCWhlcmU=?="),
        ("line\r\nX-Evil: 1", "=?base64?bGluZQ0KWC1FdmlsOiAx?="),
        ("é", "=?base64?w6k=?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
    ],
)
def test_a_value_that_no_header_can_carry_is_wrapped(value, written):
    assert headers.encode_value(value) == written
    assert headers.decode_value(written) == value


@pytest.mark.parametrize("value", [None, "=?base64?x?=", "=?base64?eB==?=", "=?base64?e A==?=", "=?base64?/w==?="])
def test_what_is_wrongly_wrapped_matches_nothing(value):
    assert headers.decode_value(value) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"x-mcp-header": "A", "type": "string"},  # the arguments as a whole
        schema(a=annotated("Bad Name")),
        schema(a=annotated("")),
        schema(a=annotated(5)),
        schema(a=annotated("A", "number")),
        schema(a={"x-mcp-header": "A"}),
        schema(a=annotated("Same"), b=annotated("same")),
        schema(a={"type": "array", "items": annotated("A")}),
        schema(a={"anyOf": [annotated("A")]}),
        schema(a={"type": "array", "items": schema(b=annotated("A"))}),
        {"$defs": {"x": annotated("A")}},
    ],
)
def test_annotations_that_leave_a_tool_out(broken):
    assert "x-mcp-header" in headers.annotation_fault(broken)


@pytest.mark.parametrize(
    "fine",
    [
        None,
        True,
        schema(a=annotated("A"), b=annotated("B", "integer"), c=schema(d=annotated("D", "boolean"))),
        schema(**{"x-mcp-header": {"type": "number"}}),  # a property of that name
        {"const": {"x-mcp-header": 1}, "properties": []},
    ],
)
def test_annotations_that_are_fine(fine):
    assert headers.annotation_fault(fine) is None


def test_a_request_repeats_its_method_and_what_it_names():
    made = headers.for_request("resources/read", {"uri": "test://é"}, VERSION)
    assert made == {
        "mcp-protocol-version": VERSION,
        "mcp-method": "resources/read",
        "mcp-name": headers.encode_value("test://é"),
    }
    assert "mcp-name" not in headers.for_request("tools/list", {"name": "x"}, VERSION)
    assert "mcp-name" not in headers.for_request("tools/call", {"name": 5}, VERSION)


def test_a_call_repeats_its_annotated_arguments():
    asked = schema(r=annotated("Region"), n=annotated("N", "integer"), b=annotated("B", "boolean"), z=annotated("Z"))
    asked["properties"]["in"] = schema(ner=annotated("Inner"))
    arguments = {"r": "eu ", "n": 5, "b": False, "z": None, "in": {"ner": "deep"}, "other": "x"}
    made = headers.for_request("tools/call", {"name": "t", "arguments": arguments}, VERSION, asked)
    sent = {key: value for key, value in made.items() if key.startswith("mcp-param-")}
    assert sent == {
        "mcp-param-Region": "=?base64?ZXUg?=", "mcp-param-N": "5", "mcp-param-B": "false", "mcp-param-Inner": "deep"
    }  # fmt: skip
    huge = {"name": "t", "arguments": {"n": 10**5000, "in": "not an object"}}
    assert not any("param" in key for key in headers.for_request("tools/call", huge, VERSION, asked))


@pytest.mark.parametrize(
    ("received", "fault"),
    [
        ([("mcp-param-n", "7")], None),
        ([("mcp-param-n", "7.0")], None),
        ([("mcp-param-n", "07")], None),
        ([("mcp-param-n", "7.5")], "does not match"),
        ([("mcp-param-n", "70")], "does not match"),
        ([("mcp-param-n", "-7")], "does not match"),
        ([("mcp-param-n", "=?base64?!?=")], "does not match"),
        ([("mcp-param-n", "7"), ("mcp-param-n", "7")], "more than once"),
        ([], "header is missing"),
    ],
)
def test_the_receiver_compares_headers_and_arguments(received, fault):
    found = headers.param_mismatch(schema(n=annotated("N", "integer")), {"n": 7}, received)
    assert (found is None) if fault is None else fault in found


def test_a_header_without_its_argument_does_not_match():
    asked = schema(a=annotated("A"))
    assert "argument is missing" in headers.param_mismatch(asked, {}, [("mcp-param-a", "x")])
    assert headers.param_mismatch(asked, None, []) is None
    assert headers.param_mismatch(schema(a=annotated("Bad Name")), {"a": "x"}, []) is None


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"mcp-protocol-version": "2025-11-25"}, "mcp-protocol-version"),
        ({"mcp-method": "tools/list"}, "mcp-method"),
        ({"mcp-name": "other"}, "mcp-name"),
        ({"mcp-name": None}, "mcp-name"),
        ({"mcp-name": "=?base64?eA==?="}, None),
    ],
)
def test_routing_headers_must_say_what_the_body_says(change, fault):
    message = {"method": "tools/call", "params": {"name": "x"}}
    sent = {**headers.for_request("tools/call", {"name": "x"}, VERSION), **change}
    received = [(key, value) for key, value in sent.items() if value is not None]
    found = headers.routing_mismatch(message, VERSION, received)
    assert (found is None) if fault is None else found.startswith(fault)
    assert headers.routing_mismatch(message, VERSION, [*received, ("mcp-method", "tools/call")]) is not None
