from __future__ import annotations

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, MODERN

from remora.errors import RpcError
from remora.gateway import eras
from remora.gateway.eras import CAPABILITIES_KEY, CLIENT_KEY, LOG_KEY, SERVER_KEY, VERSION_KEY
from remora.gateway.session import Caller

ENVELOPE = {VERSION_KEY: "2026-07-28", CLIENT_KEY: {"name": "c"}, CAPABILITIES_KEY: {"roots": {}}}


def test_the_envelope_says_who_asks():
    caller = eras.read_envelope({"_meta": {**ENVELOPE, LOG_KEY: "info", "x": 1}})
    assert caller == Caller(True, "2026-07-28", {"name": "c"}, {"roots": {}}, "info")
    assert eras.read_envelope({"_meta": {**ENVELOPE, CLIENT_KEY: "odd", LOG_KEY: ["loud"]}}) == Caller(
        True, "2026-07-28", {}, {"roots": {}}, None
    )
    assert eras.has_envelope({"_meta": ENVELOPE})
    assert not any(map(eras.has_envelope, [None, {}, {"_meta": None}, {"_meta": {"progressToken": 1}}]))


@pytest.mark.parametrize(
    ("meta", "named"),
    [
        (None, "params._meta"),
        ({VERSION_KEY: "2026-07-28"}, CAPABILITIES_KEY),
        ({CAPABILITIES_KEY: {}}, VERSION_KEY),
        ({**ENVELOPE, CAPABILITIES_KEY: []}, "must be an object"),
        ({**ENVELOPE, VERSION_KEY: 5}, "must be a string"),
    ],
)
def test_an_incomplete_envelope_is_refused_by_name(meta, named):
    with pytest.raises(RpcError, match=named) as refused:
        eras.read_envelope({"_meta": meta})
    assert refused.value.code == -32602


def test_an_unknown_modern_version_is_told_what_there_is():
    eras.check_version(MODERN)
    with pytest.raises(RpcError) as refused:
        eras.check_version(Caller(True, "2031-01-01"))
    assert (refused.value.code, refused.value.data["supported"]) == (-32022, ["2026-07-28"])


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2025-03-26", "2025-03-26"), ("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-11-25"), ("", "2025-11-25")],
)
def test_an_unknown_handshake_version_is_offered_our_newest(asked, agreed):
    caller = eras.read_initialize({"protocolVersion": asked, "clientInfo": {"name": "c"}, "capabilities": {"a": 1}})
    assert caller == Caller(False, agreed, {"name": "c"}, {"a": 1})


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}, {"protocolVersion": "2025-11-25", "clientInfo": []}])
def test_a_malformed_initialize_is_refused(params):
    with pytest.raises(RpcError, match="initialize"):
        eras.read_initialize(params)


class TestToUpstream:
    def test_a_modern_server_gets_the_envelope_of_the_client(self):
        caller = Caller(False, "2025-11-25", {"name": "c"}, {"sampling": {}})
        sent, token = eras.to_upstream({"name": "t", "_meta": {"progressToken": 7, "v/k": 1}}, True, caller, "debug")
        meta = {"v/k": 1, VERSION_KEY: "2026-07-28", CLIENT_KEY: {"name": "c"}, CAPABILITIES_KEY: {"sampling": {}}}
        assert (sent, token) == ({"name": "t", "_meta": {**meta, LOG_KEY: "debug"}}, 7)
        assert eras.to_upstream({}, True, caller, None)[0]["_meta"].keys() == ENVELOPE.keys()
        assert eras.envelope()[CLIENT_KEY]["name"] == "remora"

    def test_a_modern_clients_envelope_is_its_own_at_a_modern_server(self):
        sent, _ = eras.to_upstream({"_meta": {**ENVELOPE, "x": 1}}, True, MODERN, None)
        assert sent["_meta"] == {**ENVELOPE, CLIENT_KEY: MODERN.client, CAPABILITIES_KEY: {}, "x": 1}

    def test_a_handshake_server_sees_nothing_of_it(self):
        meta = {**ENVELOPE, LOG_KEY: "debug", "progressToken": "p", "traceparent": "00"}
        sent, token = eras.to_upstream({"name": "t", "_meta": meta}, False, MODERN, "debug")
        assert (sent, token) == ({"name": "t", "_meta": {"traceparent": "00"}}, "p")
        assert eras.to_upstream({"name": "t", "_meta": ENVELOPE}, False, MODERN, None) == ({"name": "t"}, None)

    def test_what_needs_no_change_stays_the_same_object(self):
        for params in ({"name": "t"}, {"_meta": {"x": 1}}, {"_meta": {}}, {"_meta": "odd"}):
            sent, _ = eras.to_upstream(params, False, HANDSHAKE, None)
            assert sent is params

    @pytest.mark.parametrize("token", [True, None, [1], {}, 1.5])
    def test_what_is_no_progress_token_asks_for_no_progress(self, token):
        assert eras.to_upstream({"_meta": {"progressToken": token}}, False, HANDSHAKE, None) == ({}, None)


class TestToFront:
    def test_the_same_era_changes_nothing(self):
        result = {"resultType": "complete", "_meta": {SERVER_KEY: {}}}
        assert eras.to_front(result, "tools/call", True, MODERN) is result
        assert eras.to_front(result, "tools/call", False, HANDSHAKE) is result

    def test_a_modern_client_is_told_that_it_is_complete(self):
        assert eras.to_front({"x": 1}, "tools/call", False, MODERN) == {"x": 1, "resultType": "complete"}
        task = {"resultType": "task", "task": {}}
        assert eras.to_front(task, "tools/call", False, MODERN) == task
        read = eras.to_front({"contents": []}, "resources/read", False, MODERN)
        assert read == {"contents": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    def test_a_handshake_client_sees_nothing_modern(self):
        result = {"contents": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public"}
        stamped = {**result, "_meta": {SERVER_KEY: {"name": "s"}, "v/k": 1}}
        assert eras.to_front(stamped, "resources/read", True, HANDSHAKE) == {"contents": [], "_meta": {"v/k": 1}}
        assert eras.to_front({"_meta": "odd"}, "tools/call", True, HANDSHAKE) == {"_meta": "odd"}
        stamped["_meta"] = {SERVER_KEY: {}}
        assert eras.to_front(stamped, "resources/read", True, HANDSHAKE) == {"contents": []}
        assert stamped["resultType"] == "complete"


@pytest.mark.parametrize(
    ("code", "modern_server", "caller", "seen"),
    [
        (-32002, False, MODERN, -32602),
        (-32002, False, HANDSHAKE, -32002),
        (-32002, True, MODERN, -32002),
        (-32020, True, HANDSHAKE, -32600),
        (-32021, True, HANDSHAKE, -32600),
        (-32022, True, HANDSHAKE, -32600),
        (-32023, True, HANDSHAKE, -32023),
        (-32019, True, HANDSHAKE, -32019),
        (-32021, True, MODERN, -32021),
        (-32603, False, MODERN, -32603),
    ],
)
def test_errors_mean_the_same_in_the_other_era(code, modern_server, caller, seen):
    problem = RpcError(code, "why", {"d": 1})
    told = eras.error_to_front(problem, modern_server, caller)
    assert (told.code, told.message) == (seen, "why")
    assert told.data == ({"d": 1} if seen != -32600 else {"code": code, "message": "why", "data": {"d": 1}})


def test_a_question_needs_the_clients_capability():
    able = Caller(True, "2026-07-28", {}, {"elicitation": {}})
    assert eras.missing_capability("elicitation/create", able) is None
    assert eras.missing_capability("sampling/createMessage", able) == "sampling"
    assert eras.missing_capability("ping", MODERN) is None
