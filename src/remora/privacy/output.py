"""What people and scripts get to see: configuration, command output and log lines without the secrets in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from remora.privacy import pii, secrets
from remora.privacy.findings import Finding, redact_with

REDACTED = "<redacted>"
SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE")
# Long random values that are meant to be seen: they lead to something, they open nothing.
PUBLIC_KEYS = frozenset(
    ("trace_id", "traceparent", "session", "session_id", "id", "instance", "handle", "sha256", "fingerprint", "digest")
)


def redact_text(text: str, *, personal: bool = True) -> str:
    """For logs, metrics and traces: secrets, and personal data unless told otherwise, become `‹redacted:kind›`."""
    return redact_with(_secrets_and_pii if personal else _url_and_secrets, text, "‹redacted:{}›".format)


def redact_mapping(value: Any, *, key: str = "") -> Any:
    """A copy fit to be shown: `<redacted>` for values under telling keys and for what looks like a secret anywhere.

    Numbers, truth values, empty strings and references such as `${NAME}` stay: they tell nothing, and hiding them
    would hide the configuration itself (`max_result_tokens = 500`).
    """
    match value:
        case str():
            return _string(value, key)
        case Mapping():
            return {name: redact_mapping(item, key=str(name)) for name, item in value.items()}
        case list() | tuple():
            return _arguments(list(value), key)
        case _:
            return value


def looks_secret(name: str) -> bool:
    """Whether a value of this name is hidden whatever it is."""
    upper = name.upper()
    return any(word in upper for word in SECRET_WORDS)


class _Patterns(NamedTuple):
    reference: re.Pattern[str]
    option: re.Pattern[str]
    user_info: re.Pattern[str]
    query: re.Pattern[str]
    hexadecimal: re.Pattern[str]
    base64: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    return _Patterns(
        reference=re.compile(r"(?:(?:Bearer|Basic|Token) )?\$\{(?:(?:env|file|input):)?[\w./~][\w./~-]*\}\Z"),
        option=re.compile(r"--?([A-Za-z][\w-]*)(?:=(.+))?\Z", re.DOTALL),
        user_info=re.compile(r"://([^\s/?#@\"'<>‹›]{1,1024}+)@"),
        query=re.compile(r"[?&;]([\w.%\[\]-]{1,64}+)=([^&#\s\"'<>‹›]{1,4096}+)"),
        hexadecimal=re.compile(r"[0-9a-fA-F]{32,}+"),
        base64=re.compile(r"[A-Za-z0-9+/_-]{32,}+={0,2}"),
    )


def _string(text: str, key: str) -> str:
    if not text or _patterns().reference.match(text):
        return text
    if looks_secret(key):
        return REDACTED
    finder = _url_and_secrets if key.lower() in PUBLIC_KEYS else _anything
    return redact_with(finder, text, lambda _: REDACTED)


def _arguments(items: list[Any], key: str) -> list[Any]:
    """A list may be a command line: what follows `--token` is one."""
    shown: list[Any] = []
    hide_next = False
    for item in items:
        option = _patterns().option.match(item) if isinstance(item, str) else None
        if hide_next and isinstance(item, str) and option is None:
            shown.append(_string(item, "secret"))
        elif option and option[2] and looks_secret(option[1]):
            shown.append(item[: option.start(2)] + _string(option[2], option[1]))
        else:
            shown.append(redact_mapping(item, key=key))
        hide_next = option is not None and option[2] is None and looks_secret(option[1])
    return shown


def _secrets_and_pii(text: str) -> Iterator[Finding]:
    yield from _url_and_secrets(text)
    yield from pii.find_pii(text)


def _anything(text: str) -> Iterator[Finding]:
    yield from _url_and_secrets(text)
    yield from _long_random(text)


def _url_and_secrets(text: str) -> Iterator[Finding]:
    """All of a URL's user info, and query values of telling names, beside the secrets of any text."""
    patterns = _patterns()
    yield from secrets.find_secrets(text)
    for match in patterns.user_info.finditer(text):
        if "${" not in match[1].rpartition(":")[2]:
            yield Finding("url", *match.span(1))
    for match in patterns.query.finditer(text):
        if looks_secret(match[1]) and not patterns.reference.match(match[2]):
            yield Finding("query", *match.span(2))


def _long_random(text: str) -> Iterator[Finding]:
    patterns = _patterns()
    for match in patterns.hexadecimal.finditer(text):
        yield Finding("hex", *match.span())
    for match in patterns.base64.finditer(text):
        # Paths and names with dashes have as many characters, but no long run of letters and digits.
        longest = max(re.split(r"[/_-]", match[0]), key=len)
        if len(longest) >= 16 and any(c.isdigit() for c in longest) and any(c.isalpha() for c in longest):
            yield Finding("base64", *match.span())
