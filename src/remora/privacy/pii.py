"""Personal data in text: addresses and numbers whose form, and checksum where there is one, gives them away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from remora.privacy.findings import Finding, redact_with, scan_with


def scan(text: str) -> list[Finding]:
    return scan_with(find_pii, text)


def redact(text: str) -> str:
    return redact_with(find_pii, text, "‹redacted:{}›".format)


def find_pii(text: str) -> Iterator[Finding]:
    yield from _emails(text)
    for rule in _rules():
        for match in rule.shape.finditer(text):
            before = text[match.start("value") - 1] if match.start("value") else " "
            if not before.isalnum() and before not in "_-.›" and rule.accepts(match["value"]):
                yield Finding(rule.kind, *match.span("value"))


class _Rule(NamedTuple):
    kind: str
    shape: re.Pattern[str]
    accepts: Callable[[str], bool]


END = r"(?![\w-])"
PHONE_LABEL = r"(?:[Tt]el(?:efon|ephone)?|[Pp]hone|[Mm]obile|[Ff]ax|TEL|PHONE|전화|휴대폰|电话|電話)"


@cache
def _rules() -> tuple[_Rule, ...]:
    shapes = (
        ("phone", r"(?P<value>\+[1-9][\d ().-]{6,18}\d)(?!\d)", _is_phone),
        (
            "phone",
            PHONE_LABEL + r"[\"']?[ .]{0,2}[:=]?[ \t]{0,4}[\"']?(?P<value>[(\d][\d ()./-]{5,18}\d)(?!\d)",
            _is_phone,
        ),
        ("card", rf"(?P<value>[2-6]\d{{3}}([ -]?)\d{{4}}\2\d{{4}}\2\d{{1,7}}){END}", _is_card),
        ("card", rf"(?P<value>3[47]\d\d([ -]?)\d{{6}}\2\d{{5}}){END}", _is_card),
        ("iban", rf"(?P<value>[A-Z]{{2}}\d\d(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?){END}", _is_iban),
        ("ssn", rf"(?P<value>(?!000|666|9)\d{{3}}-(?!00)\d\d-(?!0000)\d{{4}}){END}", lambda _: True),
        ("rrn", rf"(?P<value>\d\d[01]\d[0-3]\d-?[1-8]\d{{6}}){END}", _is_rrn),
    )
    return tuple(_Rule(kind, re.compile(shape, re.ASCII), accepts) for kind, shape, accepts in shapes)


@cache
def _local_part() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z0-9._%+-]{1,64}\Z")


@cache
def _domain() -> re.Pattern[str]:
    return re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w-])")


def _emails(text: str) -> Iterator[Finding]:
    at = text.find("@")
    while at >= 0:
        end = at + 1
        domain = _domain().match(text, end)
        local = _local_part().search(text, max(0, at - 64), at) if domain else None
        if domain and local and local[0].strip("._%+-"):
            end = domain.end()
            yield Finding("email", local.start(), end)
        at = text.find("@", end)


def _digits(value: str) -> list[int]:
    return [int(c) for c in value if c.isascii() and c.isdigit()]


def _is_phone(value: str) -> bool:
    return 8 <= len(_digits(value)) <= 15


def _is_card(value: str) -> bool:
    digits = _digits(value)
    doubled = [d * 2 - 9 * (d > 4) for d in digits[-2::-2]]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1 or (digits[0] == 2 and len(digits) != 16):
        return False
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(value: str) -> bool:
    compact = value.replace(" ", "")
    moved = compact[4:] + compact[:4]
    return 15 <= len(compact) <= 34 and int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def _is_rrn(value: str) -> bool:
    digits = _digits(value)
    month, day = digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]
    weighted = sum(weight * digit for weight, digit in zip((2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), digits, strict=False))
    return 1 <= month <= 12 and 1 <= day <= 31 and (11 - weighted % 11) % 10 == digits[12]
