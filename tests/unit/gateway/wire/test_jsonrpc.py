from __future__ import annotations

import json

import pytest

from remora.errors import RpcError
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.jsonrpc import RawResult

BIG = "x" * jsonrpc.RAW_RESULT_BYTES


def test_a_lone_surrogate_survives():
    line = b'{"text":"half \\ud83d of it","whole":"\\ud83e\\udd80"}'
    assert jsonrpc.decode(jsonrpc.encode(jsonrpc.decode(line))) == jsonrpc.decode(line)


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_number_beyond_double_range_stays_a_number(number):
    value = {"n": float(number), "text": 'Infinity "-Infinity" NaN \\', "half": "\ud800"}
    line = jsonrpc.encode(value)
    assert jsonrpc.decode(line) == value  # our own decoder refuses the word Infinity


@pytest.mark.parametrize(
    "line",
    [b"NaN", b'{"a":Infinity}', b"[-Infinity]", b"[" * 200_000, b'"\xff"', b"{} {}", b"", b"1" * 5000],
    ids=lambda line: line[:12],
)
def test_what_is_not_json_is_a_value_error(line):
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        jsonrpc.decode(line)


def test_a_big_result_goes_on_byte_for_byte():
    result = f'{{"content": [ "{BIG}" ], "n":1e400, "big":1.50}}'
    message = jsonrpc.decode(f' {{"jsonrpc": "2.0","id":"a\\"7", "result" : {result} }} \n'.encode())
    assert (message["id"], message["result"]["content"]) == ('a"7', [BIG])
    assert jsonrpc.response(3, message["result"]) == f'{{"jsonrpc":"2.0","id":3,"result":{result} }}'.encode()


def test_a_changed_result_is_encoded_anew():
    message = jsonrpc.decode(f'{{"jsonrpc":"2.0","id":1,"result":{{"a":"{BIG}","b":1}}}}'.encode())
    assert type(message["result"]) is RawResult
    changed = {**message["result"], "b": 2}
    assert json.loads(jsonrpc.response(1, changed))["result"] == {"a": BIG, "b": 2}


def test_members_are_added_behind_the_own_bytes():
    message = jsonrpc.decode(f'{{"jsonrpc":"2.0","id":1,"result":{{ "a":"{BIG}", "b": 1 }} }}'.encode())
    made = jsonrpc.with_members(message["result"], {"b": 2, "c": 3})
    assert jsonrpc.response(4, made) == f'{{"jsonrpc":"2.0","id":4,"result":{{ "a":"{BIG}", "b": 1 ,"c":3}}}}'.encode()
    assert made == {"a": BIG, "b": 1, "c": 3}
    assert jsonrpc.with_members({"a": 1}, {"a": 2, "c": 3}) == {"a": 1, "c": 3}


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":1,"result":{"a":"%s"},"id":7}',  # a second id would answer another request
        '{"jsonrpc":"2.0","id":1,"result":{"a":"%s"},"x":1}',
        '{"jsonrpc":"2.0","id":1,"result":{"a":"%s"},"result":{}}',
        '{"result":{"a":"%s"},"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"result":["%s"]}',
        '{"jsonrpc":"2.0","id":1,"result":{"a":\n"%s"}}',  # a line break would end the line it is sent on
        '{"jsonrpc":"2.0","id":1,"result":{"a":\r"%s"}}',
        '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"%s"}}',
    ],
)
def test_only_a_plain_response_on_one_line_keeps_its_bytes(line):
    message = jsonrpc.decode((line % BIG).encode())
    assert message == json.loads(line % BIG)
    assert type(message.get("result")) is not RawResult


def test_broken_json_is_broken_behind_a_big_result_too():
    for end in ("", "}}", "} {}", "]", "\xa0}"):
        with pytest.raises(ValueError):  # noqa: PT011 - any of them
            jsonrpc.decode(f'{{"jsonrpc":"2.0","id":1,"result":{{"a":"{BIG}"}}{end}'.encode())


def test_messages_without_params_have_no_params():
    assert jsonrpc.request(1, "m") == b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert jsonrpc.request("a", "m", {}) == b'{"jsonrpc":"2.0","id":"a","method":"m","params":{}}'
    assert jsonrpc.notification("m") == b'{"jsonrpc":"2.0","method":"m"}'
    assert jsonrpc.error(None, RpcError(-1, "no")) == b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}'


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ([{"jsonrpc": "2.0", "id": 1, "method": "m"}], jsonrpc.INVALID_REQUEST),
        ("m", jsonrpc.INVALID_REQUEST),
        ({"id": 1, "method": "m"}, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": None, "method": "m"}, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": "m", "params": []}, jsonrpc.INVALID_PARAMS),
        ({"jsonrpc": "2.0", "method": "m", "params": None}, jsonrpc.INVALID_PARAMS),
    ],
)
def test_what_is_no_request(message, code):
    with pytest.raises(RpcError) as refused:
        jsonrpc.check_request(message)
    assert refused.value.code == code


def test_requests_and_notifications_pass():
    for message in ({"jsonrpc": "2.0", "id": "", "method": "m", "x": 1}, {"jsonrpc": "2.0", "method": "m"}):
        assert jsonrpc.check_request(message) is message


def test_the_outcome_of_an_answer():
    assert jsonrpc.outcome({"id": 1, "result": {"a": 1}, "error": None}) == {"a": 1}
    with pytest.raises(RpcError) as failed:
        jsonrpc.outcome({"id": 1, "error": {"code": -5, "message": 7, "data": [1], "x": 1}})
    assert failed.value.to_wire() == {"code": -5, "message": "7", "data": [1]}


@pytest.mark.parametrize(
    "answer",
    [{"result": None}, {"result": [1]}, {"error": "no"}, {"error": {"code": "5"}}, {"error": {"code": True}}, {}],
)
def test_an_answer_without_sense_is_an_internal_error_with_the_original(answer):
    with pytest.raises(RpcError) as failed:
        jsonrpc.outcome({"jsonrpc": "2.0", "id": 1, **answer})
    assert (failed.value.code, failed.value.data) == (jsonrpc.INTERNAL_ERROR, answer)


def test_members_are_added_to_the_bytes_of_a_big_result() -> None:
    line = jsonrpc.encode({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 70_000, "kept": 1}})
    result = jsonrpc.decode(line)["result"]
    more = jsonrpc.with_members(result, {"resultType": "complete", "kept": 2})
    assert type(more) is jsonrpc.RawResult
    assert json.loads(jsonrpc.response(2, more))["result"] == {**result, "resultType": "complete"}
    assert jsonrpc.with_members({}, {"a": 1}) == {"a": 1}
