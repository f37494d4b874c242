from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from remora.privacy import findings
from remora.privacy.findings import Finding, redact_with, scan_with


def find_numbers(text: str) -> Iterator[Finding]:
    for match in re.finditer(r"\d+", text):
        yield Finding("number", *match.span())


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ([(5, 9), (0, 3)], [(0, 3), (5, 9)]),
        ([(0, 5), (3, 9)], [(0, 9)]),
        ([(0, 9), (2, 4)], [(0, 9)]),
        ([(0, 3), (3, 5)], [(0, 3), (3, 5)]),
        ([(0, 2), (1, 4), (3, 8)], [(0, 8)]),
    ],
)
def test_overlapping_findings_become_one(given, joined):
    found = scan_with(lambda _: [Finding("x", *span) for span in given], "0123456789")
    assert [(one.start, one.end) for one in found] == joined


def test_what_was_joined_is_named_after_the_longest():
    given = [Finding("short", 0, 3), Finding("long", 2, 9), Finding("inside", 4, 6)]
    assert scan_with(lambda _: given, "0123456789") == [Finding("long", 0, 9)]


def test_of_a_long_text_head_and_tail_are_scanned(monkeypatch):
    monkeypatch.setattr(findings, "SCAN_LIMIT", 20)
    text = f"1{'a' * 30}2{'b' * 30}3"
    assert scan_with(find_numbers, text) == [Finding("number", 0, 1), Finding("number", 62, 63)]


def test_what_was_not_scanned_is_not_given_out(monkeypatch):
    monkeypatch.setattr(findings, "SCAN_LIMIT", 100)
    text = f"1{'a' * 200}2{'b' * 200}3"
    shown = redact_with(find_numbers, text, "<{}>".format)
    assert shown.startswith("<number>aaa")
    assert shown.endswith("bbb<number>")
    assert "not scanned" in shown
    assert "2" not in shown


def test_redacting_ends_even_when_the_mark_is_found_again():
    assert redact_with(find_numbers, "a1", lambda _: "11") == "a11"
