"""The scanner on whatever text: it never raises, its spans fit, redacting twice is redacting once, and it is linear."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.privacy.planted import planted

from remora.privacy import labelled, pii, secrets
from remora.privacy.output import redact_mapping, redact_text

PIECES = [
    *(prefix for _, prefixes, _, _ in secrets.PREFIXED for prefix in prefixes.split()),
    *labelled.CORES,
    *(
        "api_key",
        "password",
        "authorization",
        "Bearer ",
        "cookie: ",
        "machine ",
        " login ",
        "://",
        "@",
        ":",
        "=",
        ".",
        "-",
    ),
    *(
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END ",
        "\n",
        " ",
        '"',
        "'",
        "\\",
        "<",
        ">",
        "‹",
        "›",
        "${",
        "}",
        "İ",
        "?",
    ),
    *(
        "A1b2C3d4E5f6G7h8",
        "a" * 40,
        "0" * 20,
        "4111",
        "+49 ",
        "DE89",
        "123-45-6789",
        "x",
        "é",
        "\ud800",
        "‹redacted:jwt›",
    ),
    *(one.text for one in planted(1)),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["token", "url", "args", "x"]), inner),
    max_leaves=10,
)


@given(texts)
@settings(max_examples=300)
def test_findings_are_in_order_and_inside(text):
    for scan in (secrets.scan, pii.scan):
        at = 0
        for found in scan(text):
            assert at <= found.start < found.end <= len(text)
            at = found.end


@given(texts)
@settings(max_examples=300)
def test_redacting_again_changes_nothing(text):
    for redact in (secrets.redact, pii.redact, redact_text):
        once = redact(text)
        assert redact(once) == once


@given(texts)
def test_nothing_is_left_to_find(text):
    assert secrets.scan(secrets.redact(text)) == []
    assert pii.scan(pii.redact(text)) == []


@given(values)
@settings(max_examples=200)
def test_redacting_a_structure_keeps_its_shape_and_is_done_once(value):
    once = redact_mapping(value)
    assert redact_mapping(once) == once
    if isinstance(value, dict):
        assert list(once) == list(value)


@pytest.mark.parametrize(
    "piece", [*PIECES, "password:a:", "token=a1b2c3d4e5f6,", "cookie: a=bbbbbbb", "://a:b", "a@b.c."]
)
def test_a_piece_repeated_without_end_takes_no_longer_than_its_length(piece):
    """A rule that looked at every rest of such a text would take minutes for each of these, not moments."""
    text = (piece * (300_000 // len(piece) + 1))[:300_000]
    secrets.scan(text)
    pii.scan(text)
