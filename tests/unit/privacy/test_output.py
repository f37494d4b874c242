from __future__ import annotations

from typing import Any

import pytest
from tests.unit.privacy.planted import planted

from remora.privacy.output import looks_secret, redact_mapping, redact_text

HIDDEN = "<redacted>"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"GITHUB_TOKEN": "x"}, {"GITHUB_TOKEN": HIDDEN}),
        ({"my-api-key": "x", "Authorization": "y", "Cookie": "z", "passphrase": "p", "credential": "c"}, None),
        ({"token": ""}, {"token": ""}),
        ({"token": "${GITHUB_TOKEN}"}, {"token": "${GITHUB_TOKEN}"}),
        ({"Authorization": "Bearer ${env:T}"}, {"Authorization": "Bearer ${env:T}"}),
        ({"token": "${T:-fallback}"}, {"token": HIDDEN}),
        (
            {"max_result_tokens": 500, "trust_auth": True, "key": None},
            {"max_result_tokens": 500, "trust_auth": True, "key": None},
        ),
        ({"auth": {"type": "bearer", "token": "x"}}, {"auth": {"type": "bearer", "token": HIDDEN}}),
        ({"keys": ["a", "b"]}, {"keys": [HIDDEN, HIDDEN]}),
        ({"servers": {"keycloak": {"command": "kc"}}}, {"servers": {"keycloak": {"command": "kc"}}}),
        ("https://ann:pw@host/p?a=1&token=x&b=2", "https://<redacted>@host/p?a=1&token=<redacted>&b=2"),
        ("https://ann:${PW}@host/?api_key=${K}", "https://ann:${PW}@host/?api_key=${K}"),
        (["--token", "x", "--root", "/r"], ["--token", HIDDEN, "--root", "/r"]),
        (["--api-key=x", "-v", "y"], [f"--api-key={HIDDEN}", "-v", "y"]),
        (["--token", "--verbose"], ["--token", "--verbose"]),
        (["--token", 5], ["--token", 5]),
        ("0123456789abcdef0123456789abcdef", HIDDEN),
        ("id QmFzZTY0IHN0cmluZyB0aGF0IGlzIGxvbmcgZW5vdWdo end", f"id {HIDDEN} end"),
        ({"trace_id": "0123456789abcdef0123456789abcdef"}, {"trace_id": "0123456789abcdef0123456789abcdef"}),
        ("/usr/local/lib/node_modules/a-rather-long/Path2/server-filesystem", None),
        ("550e8400-e29b-41d4-a716-446655440000", None),
        (("a", 1, 2.5), ["a", 1, 2.5]),
    ],
)
def test_what_is_shown(value, shown):
    if shown is None:
        shown = dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else value
    before = repr(value)
    assert redact_mapping(value) == shown
    assert repr(value) == before


def test_no_planted_secret_is_shown_wherever_it_stands():
    for one in planted(1):
        shown = str(
            redact_mapping({"servers": {"a": {"args": [one.text], "url": one.text}, one.text: 1}, "x": one.text})
        )
        assert one.secret not in shown.replace(repr(one.text)[1:-1], "")


def test_names():
    assert looks_secret("X-Api-Key")
    assert looks_secret("proxy_password")
    assert not looks_secret("command")


def test_a_log_line_loses_secrets_and_personal_data():
    text = "ann@mail.example.org used password=tundra!Maple77"
    assert redact_text(text) == "‹redacted:email› used password=‹redacted:password›"
    assert redact_text(text, personal=False).startswith("ann@mail.example.org")


def test_a_log_line_loses_what_a_url_gives_away():
    text = redact_text("GET https://ann:pw@host/p?token=x&page=2 failed")
    assert text == "GET https://‹redacted:url›@host/p?token=‹redacted:query›&page=2 failed"


@pytest.mark.parametrize("value", [None, 1, True, b"bytes", object])
def test_anything_else_is_given_back(value: Any):
    assert redact_mapping(value) is value
