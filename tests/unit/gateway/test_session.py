from __future__ import annotations

import pytest
from tests.unit.gateway.fakes import HANDSHAKE

from remora.gateway.session import LOCAL_USER, LOG_LEVELS, Caller, Session, ViewKey, wanted


def test_every_session_is_one_of_its_own():
    one, two = Session("stdio"), Session("stdio")
    assert one != two
    assert len(one.id) == 32
    assert one.id != two.id
    assert (one.principal, one.view, one.listed, one.standing) == (LOCAL_USER, ViewKey(), False, None)


@pytest.mark.parametrize("caller", [None, Caller(False, "v"), Caller(False, "v", {"name": 5})])
def test_a_client_need_not_say_its_name(caller):
    assert Session("http", caller=caller).client_name == ""
    assert Session("http", caller=HANDSHAKE).client_name == "tester"


def test_a_message_passes_from_its_threshold_on():
    assert [level for level in LOG_LEVELS if wanted(level, "error")] == ["error", "critical", "alert", "emergency"]
    assert not any(wanted(level, None) for level in LOG_LEVELS)
    assert all(wanted(level, "error") for level in ("verbose", None, 7, ["x"]))  # nobody knows it: better said
