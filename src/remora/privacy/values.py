"""Whether a value beside a telling label is a secret, or a stand-in, a name or a number of the program's."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

# Words that stand where a value would, in code, schemas and forms.
NOT_VALUES = (
    r"(?:string|number|integer|boolean|object|undefined|optional|required|disabled|enabled|default|hidden|unknown|"
    r"sha256|sha512|base64|bcrypt|argon2|oauth2|bearer|basic|digest|public|private|return|function|lambda|static|"
    r"module|varchar|nullable|missing|invalid|expired|forgot|confirm|repeat|verify|update|create|delete|change|"
    r"getpass|prompt|stdin|keyring|vault)\Z"
)
LABEL_WORDS = ("pass", "token", "secret", "key", "auth", "credential", "pwd", "user", "field", "param", "config", "env")
ELSEWHERE = ("file:", "arn:", "http:", "https:", "env:", "vault:")
MADE_UP = (
    r"\*{3}|x{4}|\.{3}|^<|>$|^\[.*\]$|\$\{|\$\(|\{\{|^\{|%\(|^%s$|^%[A-Z_]+%$|^\$[A-Za-z_]+$|…|‹|"
    r"change_?-?me|example|placeholder|redacted|your[_-]|^your|dummy|replace[_-]|^(.)\1*$"
)


class _Patterns(NamedTuple):
    made_up: re.Pattern[str]
    not_values: re.Pattern[str]
    identifier: re.Pattern[str]
    numeral: re.Pattern[str]
    setting: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    return _Patterns(
        made_up=re.compile(MADE_UP, re.IGNORECASE),
        not_values=re.compile(NOT_VALUES, re.IGNORECASE),
        identifier=re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|->|::|-|/|:)[A-Za-z0-9_$]+)*:?\Z"),
        numeral=re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|[\d._]+(?:[eE][-+]?\d+)?)[A-Za-z%]{0,2}\Z"),
        setting=re.compile(r"(?:export )?[A-Z][A-Z0-9_]*=|[ \t-]*[\w.-]+:[ \t]+"),
    )


def looks_made_up(value: str) -> bool:
    """A stand-in that documents where the real value would be."""
    return _patterns().made_up.search(value) is not None


def is_token(value: str) -> bool:
    return len(value) >= 12 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def is_secret(value: str, *, quoted: bool) -> bool:
    patterns = _patterns()
    if looks_made_up(value) or patterns.not_values.match(value) or value.startswith(ELSEWHERE):
        return False
    if not patterns.identifier.match(value):
        return quoted or patterns.numeral.match(value) is None
    if any(word in value.lower() for word in LABEL_WORDS):
        return False
    if any(c.isdigit() for c in value):
        return quoted or value.isalnum() or (len(value) >= 20 and sum(c.isdigit() for c in value) > 2)
    # Letters only: quoted it may be a pass word, bare it is a name of the program's.
    return quoted and value.isalpha() and not value.istitle()


def is_setting(head: str, value: str) -> bool:
    """`PASSWORD=letmein` or `password: letmein` alone on its line: a settings file, where no quotes are needed."""
    return value.islower() and is_secret(value, quoted=True) and _patterns().setting.fullmatch(head) is not None
