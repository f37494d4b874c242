from __future__ import annotations

import pytest

from remora.doors.policy import Policy
from remora.gateway.session import LOCAL_USER, Principal


def test_the_token_makes_a_caller_the_local_user() -> None:
    policy = Policy("sesame", "off", "127.0.0.1")
    for header in ("Bearer sesame", "bearer sesame", "BEARER  sesame "):
        assert policy.principal(header) == LOCAL_USER


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer other", "Bearer sesam", "Bearer sesame2", "Basic sesame", "sesame",
     "Bearer sésame", "Bearer Sesame"],
)  # fmt: skip
def test_everything_else_is_denied(header: str | None) -> None:
    assert Policy("sesame", "off", "127.0.0.1").principal(header) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]"])
@pytest.mark.parametrize("scope", ["read", "write"])
def test_anonymous_callers_get_what_is_granted_on_loopback(host: str, scope: str) -> None:
    assert Policy("sesame", scope, host).principal(None) == Principal("anonymous", scope)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.com", "localhost.example.com"])
def test_nobody_is_anonymous_from_outside(host: str) -> None:
    policy = Policy("sesame", "write", host)
    assert policy.principal(None) is None
    assert policy.principal("Bearer sesame") == LOCAL_USER


def test_a_wrong_login_is_not_mistaken_for_none() -> None:
    policy = Policy("sesame", "write", "127.0.0.1")
    assert policy.principal("Bearer other") is None
    assert policy.principal("") is None
