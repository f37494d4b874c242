"""Secrets in text: what their issuers made recognisable here, what only a label gives away in `labelled.py`.

The rules are anchored on literals found by `str.find`, so that text without them costs next to nothing, and no rule
looks at a character more than a few times: time grows with the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from remora.privacy.findings import Finding, redact_with, scan_with
from remora.privacy.labelled import find_labelled
from remora.privacy.values import looks_made_up


def scan(text: str) -> list[Finding]:
    return scan_with(find_secrets, text)


def redact(text: str) -> str:
    return redact_with(find_secrets, text, "‹redacted:{}›".format)


def find_secrets(text: str) -> Iterator[Finding]:
    for rule in _prefixed():
        yield from _by_prefix(text, rule)
    for kind, shape in _shapes():
        yield from _by_shape(text, kind, shape)
    yield from _private_keys(text)
    yield from _url_credentials(text)
    yield from find_labelled(text)


class _Prefixed(NamedTuple):
    """A token that begins with fixed letters; `tail` must not fail after a long run (it would be tried again)."""

    kind: str
    prefix: str
    tail: re.Pattern[str]
    accepts: Callable[[str], bool]
    joins: str = ""  # characters besides letters and digits that, standing before, make it part of something else


def _any(_: str) -> bool:
    return True


def _mixed(tail: str) -> bool:
    """Random letters and digits, not words with dashes: `sk-fading-circle` is a style sheet's."""
    return any(c.isdigit() for c in tail) and any(c.isalpha() for c in tail)


def _random(tail: str) -> bool:
    return _mixed(tail) and any(c.isupper() for c in tail) and any(c.islower() for c in tail)


WORD = "[A-Za-z0-9_-]"
ALNUM = "[A-Za-z0-9]"
SEGMENTS = rf"{WORD}{{8,4096}}\.{WORD}{{8,}}\.{WORD}{{8,}}"

# kind, prefixes, what follows, what it must look like
PREFIXED: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    ("anthropic_key", "sk-ant-", WORD + "{20,}", _mixed),
    ("openai_key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", WORD + "{20,}", _mixed),
    ("openai_key", "sk-", ALNUM + "{20,}", _mixed),
    ("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", ALNUM + "{30,}", _mixed),
    ("github_token", "github_pat_", "[A-Za-z0-9_]{22,}", _mixed),
    ("gitlab_token", "glpat- gldt- glrt- glptt-", r"[A-Za-z0-9_.-]{20,}", _mixed),
    ("slack_token", "xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs-", r"[A-Za-z0-9.-]{10,}", _mixed),
    ("slack_token", "xapp-", r"[A-Za-z0-9-]{16,}", _mixed),
    ("slack_webhook", "hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}", _mixed),
    ("stripe_key", "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_", ALNUM + "{10,}", _mixed),
    ("stripe_key", "whsec_", r"[A-Za-z0-9+/]{20,}={0,2}", _mixed),
    ("npm_token", "npm_", ALNUM + "{30,}", _mixed),
    ("pypi_token", "pypi-", WORD + "{32,}", _random),
    ("huggingface_token", "hf_", ALNUM + "{30,}", _mixed),
    ("aws_key", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", _any),
    ("google_key", "AIza", WORD + "{35}", _mixed),
    ("google_key", "ya29.", WORD + "{20,}", _mixed),
    ("google_key", "GOCSPX-", WORD + "{20,}", _any),
    ("azure_key", "AccountKey= SharedAccessKey=", r"[A-Za-z0-9+/]{40,}={0,2}", _mixed),
    ("sas_signature", "sig=", r"[A-Za-z0-9%+/_-]{32,}={0,2}", _mixed),
    ("sendgrid_key", "SG.", rf"{WORD}{{16,64}}\.{WORD}{{16,}}", _mixed),
    ("twilio_key", "SK AC", r"[0-9a-f]{32}(?![A-Za-z0-9])", _mixed),
    ("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{40,}", _any),
    ("jwt", "eyJ", SEGMENTS, _any),
)

SHAPES = (
    ("telegram_token", rf"[0-9]{{8,10}}:{WORD}{{35}}(?!{WORD})"),
    ("discord_token", rf"[MNO]{WORD}{{23,27}}\.{WORD}{{6,7}}\.{WORD}{{27,40}}(?!{WORD})"),
)


KEY_LIMIT = 20_000


@cache
def _prefixed() -> tuple[_Prefixed, ...]:
    return tuple(
        _Prefixed(kind, prefix, re.compile(tail), accepts, "_-" if kind == "jwt" else "")
        for kind, prefixes, tail, accepts in PREFIXED
        for prefix in prefixes.split()
    )


@cache
def _shapes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(shape)) for kind, shape in SHAPES)


def _by_prefix(text: str, rule: _Prefixed) -> Iterator[Finding]:
    at = text.find(rule.prefix)
    while at >= 0:
        end = at + len(rule.prefix)
        before = text[at - 1] if at else " "
        # The boundary comes first: a run that is tried once and then skipped keeps the whole linear.
        if not before.isalnum() and before not in rule.joins and (match := rule.tail.match(text, end)):
            end = match.end()
            if rule.accepts(match[0]) and not looks_made_up(match[0]):
                yield Finding(rule.kind, at, end)
        at = text.find(rule.prefix, end)


def _by_shape(text: str, kind: str, shape: re.Pattern[str]) -> Iterator[Finding]:
    for match in shape.finditer(text):
        before = text[match.start() - 1] if match.start() else " "
        if not before.isalnum() and before not in "_-" and _random(match[0]):
            yield Finding(kind, match.start(), match.end())


@cache
def _key_header() -> re.Pattern[str]:
    return re.compile(r"(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----")


@cache
def _key_body() -> re.Pattern[str]:
    return re.compile(r"(?:[A-Za-z0-9+/=:,\s]|\\[nr])*")


@cache
def _key_line() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z0-9+/]{20}")


def _private_keys(text: str) -> Iterator[Finding]:
    """From the first line to the last; a key that was cut off ends where it no longer looks like one."""
    at = text.find("-----BEGIN ")
    footer = 0
    while at >= 0:
        end = at + len("-----BEGIN ")
        if header := _key_header().match(text, end):
            end = body_at = header.end()
            if 0 <= footer < end:
                footer = text.find("-----END ", end)
            if 0 <= footer - end <= KEY_LIMIT:
                closing = text.find("-----", footer + len("-----END "), footer + 80)
                end = closing + 5 if closing >= 0 else footer
            elif body := _key_body().match(text, end):
                end = body.end()
            if _key_line().search(text, body_at, min(end, body_at + 400)):
                yield Finding("private_key", at, end)
            else:
                end = body_at
        at = text.find("-----BEGIN ", end)


@cache
def _user_info() -> re.Pattern[str]:
    return re.compile(r"""([^\s/?#@:"'`<>‹›\\]{0,256}+)(?::([^\s/?#@"'`<>‹›\\]{1,512}+))?@""")


NO_PASSWORDS = ("password", "pass", "passwd", "pwd", "secret", "token")


def _url_credentials(text: str) -> Iterator[Finding]:
    at = text.find("://")
    while at >= 0:
        end = at + 3
        if match := _user_info().match(text, end):
            user, password = match[1], match[2]
            if password is not None:
                if (
                    not looks_made_up(password)
                    and "[" not in user + password[:1]
                    and password.lower() not in NO_PASSWORDS
                ):
                    yield Finding("url_credentials", match.start(2), match.end(2))
            elif len(user) >= 16 and _mixed(user) and not looks_made_up(user):
                yield Finding("url_credentials", match.start(1), match.end(1))
            end = match.end()
        at = text.find("://", end)
