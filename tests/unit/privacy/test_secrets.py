from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from tests.unit.privacy.planted import Planter, planted

from remora.privacy import labelled, secrets
from remora.privacy.secrets import redact, scan


def test_planted_secrets_are_found():
    secrets_planted = planted()
    missed = [one for one in secrets_planted if one.secret in redact(one.text)]
    assert len(secrets_planted) >= 300
    assert len(missed) <= len(secrets_planted) // 20, missed


def test_the_text_around_them_stays():
    for one in planted(1):
        around = one.text.split(one.secret)
        shown = redact(one.text)
        assert shown.startswith(around[0][:-20])
        assert shown.endswith(around[-1][20:])


def test_source_code_of_others_has_next_to_none():
    folder = Path(sysconfig.get_paths()["stdlib"])
    texts = [
        path.read_text("utf-8", "replace")
        for path in folder.rglob("*.py")
        if not {"test", "tests", "site-packages"} & set(path.parts)
    ]
    megabytes = sum(map(len, texts)) / 1e6
    found = [text[one.start - 30 : one.end] for text in texts for one in scan(text)]
    assert megabytes > 5
    assert len(found) <= megabytes, found


@pytest.mark.parametrize("token", [token for _, token in Planter(3).tokens() if not token.startswith(("eyJ", "SG."))])
def test_a_token_inside_a_longer_word_is_none(token):
    assert [one for one in scan(f"x{token}") if one.start == 1] == []


def test_findings_name_kind_and_place():
    token = "gh" + "p_" + "A1b2" * 9
    (found,) = scan(f"use {token} now")
    assert (found.kind, found.start, found.end) == ("github_token", 4, 44)


@pytest.mark.parametrize(
    "text",
    [
        "sk" + "-fading-circle-with-long-name",
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "gh" + "p_" + "x" * 36,
        "https://user:password@host/ and https://user:${PASS}@host/ and https://ann@host/",
        "-----BEGIN RSA PRIVATE KEY-----' and '-----END RSA PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + "A1b2" * 40,
        "ssh-rsa " + "AAAAB3NzaC1yc2E" * 10,
        "12:30:45 and 2026-01-01T00:00:00",
    ],
)
def test_what_only_looks_like_one(text):
    assert scan(text) == []


def test_a_key_that_was_cut_off_ends_where_it_no_longer_looks_like_one():
    dashes = "-" * 5
    text = f"{dashes}BEGIN PRIVATE KEY{dashes}\n{'A1b2' * 16}\n{'A1b2' * 10}\n[truncated] and more"
    assert redact(text) == "‹redacted:private_key›[truncated] and more"


def test_nothing_is_compiled_before_it_is_needed():
    for lazy in (secrets._prefixed, secrets._shapes, labelled._patterns):
        lazy.cache_clear()
    scan("")
    assert labelled._patterns.cache_info().currsize == 1
