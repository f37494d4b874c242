from __future__ import annotations

import pytest

from remora.privacy.pii import redact, scan


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("email", "ann.b+x@mail.example.org"),
        ("phone", "+49 (30) 123-4567"),
        ("phone", "+821012345678"),
        ("card", "4111 1111 1111 1111"),
        ("card", "378282246310005"),
        ("card", "5500-0000-0000-0004"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "GB82WEST12345698765432"),
        ("ssn", "123-45-6789"),
        ("rrn", "850101-1234566"),
    ],
)
def test_found_as_a_whole(kind, text):
    for around in ("{}", "call {} now", '{{"x":"{}"}}', "({})", "{}, and", "값은 {} 이다"):
        assert redact(around.format(text)) == around.format(f"‹redacted:{kind}›")


@pytest.mark.parametrize("label", ["Tel.: ", "phone=", '"phone": "', "Telefon ", "전화 "])
def test_a_local_number_needs_its_label(label):
    assert redact(f"{label}030 123 456 78") == f"{label}‹redacted:phone›"
    assert scan("030 123 456 78") == []


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 01",
        "850101-1234567",
        "991301-1234567",
        "000-12-3456",
        "666-12-3456",
        "20100914001155",
        "2026-01-01 10:20:30",
        "ann@localhost @ann a@b",
        "0000 0000 0000 0000",
        "v1.2.3-4567",
        "0af7651916cd43dd8448eb211c80319c",
        "٣٣٣٣٣٣-١٣٣٣٣٣٣",
    ],
)
def test_what_only_looks_like_it(text):
    assert scan(text) == []
