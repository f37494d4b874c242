"""Secrets that only their label gives away: `password: …`, `API_KEY=…`, `Authorization: …`, `--token …`, .netrc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from remora.privacy.findings import Finding
from remora.privacy.values import is_secret, is_setting, is_token, looks_made_up

LONG = 256  # characters of a value that are matched at first; an accepted one is followed to its end

# Where a label may be, in lower case; what follows decides. A stricter value is asked of words with other uses too.
CORES = ("passw", "passphrase", "pwd", "key", "secret", "token", "auth")
KEY_OWNERS = ("api", "access", "secret", "private", "client", "account", "encryption", "signing", "master", "service")

# Tokens that open nothing: where a listing goes on, or that make a request unique.
PLAIN_TOKENS = (
    "next",
    "page",
    "starting",
    "continuation",
    "change",
    "lock",
    "request",
    "client",
    "creation",
    "idempotency",
    "publickey",
)


class _Patterns(NamedTuple):
    tail: re.Pattern[str]
    flag: re.Pattern[str]
    element: re.Pattern[str]
    authorization: re.Pattern[str]
    bearer: re.Pattern[str]
    cookie: re.Pattern[str]
    cookie_pair: re.Pattern[str]
    netrc: re.Pattern[str]
    bare_rest: re.Pattern[str]
    quoted_rest: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    stop = r"\s\"'`,;&<>(){}\[\]|\\‹›"
    bare = rf"[^{stop}=]{{6,{LONG}}}+={{0,2}}(?![(\[{{\"'`])"
    quoted = "|".join(rf"\\{{0,2}}{quote}[^{quote}\s\\]{{6,{LONG}}}+" for quote in "\"'`")
    after_label = r"\d{0,2}(?:\\{0,2}[\"'`]\]?)?"
    annotation = r":[ \t]{0,4}[A-Za-z_][\w.|\[\] ]{0,40}=(?!=)"
    equals = rf"[ \t]{{0,8}}(?:{annotation}|=>|:=|=(?!=)|:(?!:))[ \t]{{0,8}}"
    return _Patterns(
        tail=re.compile(rf"{after_label}{equals}(?:[bru]{{1,2}}(?=[\"'])|)(?:(?P<quoted>{quoted})|(?P<bare>{bare}))"),
        flag=re.compile(rf"[ \t]{{1,4}}(?:(?P<quoted>{quoted})|(?P<bare>[^\-{stop}]{bare}))"),
        element=re.compile(rf">(?P<bare>[^<>\s&]{{6,{LONG}}})</"),
        authorization=re.compile(
            r"\\{0,2}[\"'`]?\]?\s{0,4}[:=,]\s{0,4}\\{0,2}[\"'`]?"
            rf"(?P<scheme>(?:bearer|basic|token|apikey|bot)\s{{1,4}})?(?P<bare>[^{stop}]{{6,{LONG}}}+)",
            re.IGNORECASE,
        ),
        bearer=re.compile(r"[ \t]{1,4}(?P<bare>[A-Za-z0-9._~+/-]{16,256}+={0,2})"),
        cookie=re.compile(r"\\{0,2}[\"'`]?\s{0,4}[:,]\s{0,4}\\{0,2}[\"'`]?(?P<bare>[^\r\n\"'`<>{}\\]{8,4096}+)"),
        cookie_pair=re.compile(r"[\w.-]{1,64}=[^;\s,]{6}"),
        netrc=re.compile(
            r"\s{1,8}(?:\S{1,200}\s{1,8})?login\s{1,8}\S{1,200}\s{1,8}(?:account\s{1,8}\S{1,200}\s{1,8})?"
            r"password\s{1,8}(?P<bare>\S{1,256}+)"
        ),
        bare_rest=re.compile(rf"[^{stop}]*"),
        quoted_rest=re.compile(r"[^\"'`\s\\]*"),
    )


def find_labelled(text: str) -> Iterator[Finding]:
    # As long as `text`, so that positions agree: only this letter grows when made small.
    lower = text.replace("İ", "I").lower()
    for core in CORES:
        at = lower.find(core)
        while at >= 0:
            found, end = _at_core(text, lower, core, at)
            if found is not None:
                yield found
            at = lower.find(core, end)
    yield from _headers(text, lower)


def _at_core(text: str, lower: str, core: str, at: int) -> tuple[Finding | None, int]:
    """What the label at `at` gives away, and where to look on: never again into a value that was looked at."""
    label = _label(lower, core, at)
    if label is None:
        return None, at + len(core)
    kind, end, strict = label
    patterns = _patterns()
    match = patterns.tail.match(text, end)
    if match is None and text[end : end + 1] in (" ", "\t", ">"):
        shape = {"--": patterns.flag, "<": patterns.element}.get(_before_label(lower, at))
        match = shape.match(text, end) if shape else None
    if match is None or _before_label(lower, at) == "::":
        return None, end
    quoted = match.groupdict().get("quoted") is not None
    start, stop = match.span("quoted" if quoted else "bare")
    while quoted and text[start] in "\\\"'`":
        start += 1
    value = text[start:stop]
    if (strict and not is_token(value)) or (core == "pwd" and value.startswith(("/", "~", ".", "C:"))):
        return None, stop
    head = text[max(text.rfind("\n", max(0, at - 80), at) + 1, at - 80, 0) : start]
    alone = text[stop : stop + 1] in ("", "\n", "\r")
    if not is_secret(value, quoted=quoted) and not (alone and not strict and is_setting(head, value)):
        return None, stop
    if quoted:
        stop = _follow(patterns.quoted_rest, text, stop)
        if text[stop : stop + 1].isspace():  # a sentence
            return None, stop
    elif len(value) >= LONG:
        stop = _follow(patterns.bare_rest, text, stop)
    return Finding(kind, start, stop), stop


def _label(lower: str, core: str, at: int) -> tuple[str, int, bool] | None:
    """Kind, end and whether the label alone says little; None if the letters are part of another word."""
    end = at + len(core)
    if core == "passw":
        for rest in ("ord", "d"):
            if lower.startswith(rest, end):
                return "password", end + len(rest), False
        return None
    if core in ("passphrase", "pwd"):
        return "password", end, False
    if core == "key":
        owner = lower[max(0, at - 12) : at].rstrip("_- ")
        return ("api_key", end, False) if owner.endswith(KEY_OWNERS) else None
    if core == "secret":
        return "secret", end, not lower[max(0, at - 7) : at].rstrip("_-").endswith("client")
    plain = core == "token" and lower[max(0, at - 14) : at].rstrip("_-").endswith(PLAIN_TOKENS)
    return None if plain else (core, end, True)


def _before_label(lower: str, at: int) -> str:
    """`--` of a command line option, `<` of an element, `::` of a type's name (`AWS::SecretsManager::Secret`)."""
    start = at
    while start > 0 and at - start < 40 and (lower[start - 1].isalnum() or lower[start - 1] in "_-"):
        start -= 1
    if lower.startswith("--", start):
        return "--"
    if lower[max(0, start - 2) : start] == "::":
        return "::"
    return "<" if lower[max(0, start - 1) : start] == "<" else ""


def _follow(rest: re.Pattern[str], text: str, at: int) -> int:
    match = rest.match(text, at)
    return match.end() if match else at


def _headers(text: str, lower: str) -> Iterator[Finding]:
    patterns = _patterns()
    for word, kind, shape in (
        ("authorization", "authorization", patterns.authorization),
        ("bearer", "authorization", patterns.bearer),
        ("cookie", "cookie", patterns.cookie),
        ("machine", "netrc", patterns.netrc),
        ("default", "netrc", patterns.netrc),
    ):
        at = lower.find(word)
        while at >= 0:
            end = at + len(word)
            before = lower[at - 1] if at else ""
            if not before.isalnum() and (match := shape.match(text, end)):
                value, end = match["bare"], match.end()
                if _is_header_value(word, value, match) and not looks_made_up(value):
                    if len(value) >= LONG and kind == "authorization":
                        end = _follow(patterns.bare_rest, text, end)
                    yield Finding(kind, match.start("bare"), end)
            at = lower.find(word, end)


def _is_header_value(word: str, value: str, match: re.Match[str]) -> bool:
    if word in ("machine", "default"):
        return True
    if word == "cookie":
        return _patterns().cookie_pair.search(value) is not None and any(c.isdigit() for c in value)
    if word == "authorization" and match["scheme"]:
        return is_secret(value, quoted=True)
    return is_token(value) and is_secret(value, quoted=False)
