"""Input brought to its stored form, or refused with a name for what is wrong. Pure."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.errors import Invalid

LONGEST_CONTENT = 1_000_000
LONGEST_TAG, MOST_TAGS = 100, 100
LARGEST_METADATA, DEEPEST_METADATA = 64 * 1024, 8
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9._:/-]{0,127}")
_KEY = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d|w|mo|y)")
_SPAN_SECONDS = {
    "s": 1,
    "sec": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": 86_400,
    "w": 604_800,
    "mo": 2_592_000,
    "y": 31_536_000,
}
SHODH_TEXT = {
    "source_type": {"user", "system", "api", "file", "web", "ai_generated", "inferred"},
    "emotion": None,
    "episode_id": None,
    "preceding_memory_id": None,
}
SHODH_RANGE = {
    "credibility": (0, 1), "emotional_valence": (-1, 1), "emotional_arousal": (0, 1), "sequence_number": (0, math.inf),
}  # fmt: skip


def content(value: Any, warnings: list[str], limit: int = LONGEST_CONTENT) -> str:
    if not isinstance(value, str):
        if not isinstance(value, (dict, list)):
            raise Invalid("content must be text", code="bad_content")
        value = json.dumps(value, ensure_ascii=False)
        warnings.append("content was not text, stored as JSON")
    text = _SURROGATES.sub("\ufffd", value.replace("\0", "\ufffd"))
    text = unicodedata.normalize("NFC", _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")).strip()
    if not text:
        raise Invalid("content is empty", code="empty_content")
    if len(text) > limit:
        raise Invalid(
            f"content has {len(text)} characters, at most {limit} are kept",
            code="content_too_long",
            hint="ingest it as a document",
        )
    return text


def tags(value: Any, warnings: list[str]) -> tuple[str, ...]:
    """A list, a comma string or a JSON list in a string; normal form, in the order given, each once."""
    if value is None:
        return ()
    if isinstance(value, str):
        parsed: Any = None
        if value.lstrip().startswith("[") and len(value) <= 4096:
            try:
                parsed = json.loads(value)
            except ValueError:
                parsed = None
        value = parsed if isinstance(parsed, list) else value.split(",")
    if not isinstance(value, Sequence):
        raise Invalid("tags must be a list or a comma separated text", code="bad_tags")
    found: dict[str, None] = {}
    for raw in value:
        tag = " ".join(_SURROGATES.sub("", str(raw)).lower().split()).replace(",", "-")
        if len(tag) > LONGEST_TAG:
            warnings.append(f'tag "{tag[:20]}…" was cut to {LONGEST_TAG} characters')
            tag = tag[:LONGEST_TAG].rstrip()
        if tag:
            found[tag] = None
    if len(found) > MOST_TAGS:
        warnings.append(f"{len(found) - MOST_TAGS} tags beyond the first {MOST_TAGS} were dropped")
    return tuple(found)[:MOST_TAGS]


def namespace(value: str) -> str:
    name = value.strip().lower()
    if not _NAMESPACE.fullmatch(name):
        raise Invalid(f'"{value}" is not a namespace name', code="bad_namespace", hint="letters, digits and . _ : / -")
    return name


def subject_key(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    key = value.strip().lower()
    if len(key) > 128 or not _KEY.fullmatch(key):
        raise Invalid(f'"{value}" is not a subject key', code="bad_key", hint="parts of a-z 0-9 _ - with dots between")
    return key


def scope(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    glob = value.strip().removeprefix("./")
    if (
        glob.startswith(("/", "~"))
        or "\\" in glob
        or "\0" in glob
        or ".." in glob.split("/")
        or glob.count("[") != glob.count("]")
    ):
        raise Invalid(
            f'"{value}" is not a glob relative to the project', code="bad_scope", hint="for example src/billing/**"
        )
    return glob


def fraction(value: float | None, name: str, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Invalid(f"{name} must lie between 0 and 1, not {value!r}", code=f"bad_{name}")
    return float(value)


def metadata(value: Mapping[str, Any] | None, warnings: list[str]) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Invalid("metadata must be an object", code="bad_metadata")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        raise Invalid(f"metadata is not JSON: {cause}", code="bad_metadata") from cause
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_METADATA:
        raise Invalid("metadata is larger than 64 KiB", code="metadata_too_large")
    found: dict[str, Any] = json.loads(_SURROGATES.sub("\ufffd", text))
    if _depth(found) > DEEPEST_METADATA:
        raise Invalid(f"metadata is nested deeper than {DEEPEST_METADATA}", code="metadata_too_deep")
    return _shodh(found, warnings)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max((_depth(item) for item in inner), default=0) if isinstance(value, (dict, list)) else 0


def _shodh(found: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """Fields with a known meaning must have a meaning: wrong values are dropped."""
    for name in [*SHODH_TEXT, *SHODH_RANGE]:
        if name not in found or found[name] is None:
            continue
        value = found[name]
        if name in SHODH_TEXT:
            allowed = SHODH_TEXT[name]
            good = isinstance(value, str) and (allowed is None or value in allowed)
        else:
            low, high = SHODH_RANGE[name]
            good = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        if not good:
            warnings.append(f"metadata.{name} = {value!r} is out of range and was dropped")
            del found[name]
    return found


def seconds(value: str | float) -> float:
    """`30d`, `12h`, or a number of seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return float(value)
    if isinstance(value, str) and (found := _SPAN.fullmatch(value.strip().lower())):
        return float(found[1]) * _SPAN_SECONDS[found[2]]
    raise Invalid(f"{value!r} is not a length of time", code="bad_ttl", hint="for example 30d or 12h")


def without_home(text: str, home: Path | None = None) -> str:
    """Paths below the home directory start with ~."""
    root = str(home or Path.home())
    return text.replace(root, "~") if len(root) > 1 else text
