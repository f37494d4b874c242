"""The indexed context of a memory: words that are not its own but find it.

A turn of a conversation is found by the words of the two turns before it, its speaker, its date and the title of the
conversation; a chunk of a document by its headings and the words before it. Context only finds and ranks: it is never
shown and never decides what is a duplicate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

PREVIOUS_TURNS = 2
PREVIOUS_WORDS = 256  # of each previous turn
LARGEST_GAP_US = 6 * 3600 * 1_000_000  # a turn that is older than this is another conversation
BEFORE_CHUNK_WORDS = 40

_SPEAKER = re.compile(r"\s*([^\W\d_][^\n:：]{0,29})[:：]\s")
_DAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
}
_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
}


def speaker_of(author: str | None, metadata: Mapping[str, object], content: str) -> str | None:
    """Who says it: the author, else the metadata, else a leading `Name:` of at most three words."""
    if author:
        return author
    if isinstance(named := metadata.get("speaker"), str) and named:
        return named
    if (found := _SPEAKER.match(content)) and len(found[1].split()) <= 3:
        return found[1].strip()
    return None


def date_words(when: int, lang: str = "en") -> str:
    """Week-day, day, month and year of a time in microseconds, in English and the store's main language."""
    moment = datetime.fromtimestamp(when / 1_000_000, UTC)
    words = []
    for spoken in dict.fromkeys(("en", lang)):
        if spoken in _DAYS:
            words += [_DAYS[spoken].split()[moment.weekday()], _MONTHS[spoken].split()[moment.month - 1]]
    return " ".join([*words, str(moment.day), str(moment.year)])


def turn_context(
    previous: Sequence[str],
    *,
    speaker: str | None,
    when: int,
    title: str = "",
    tags: Iterable[str] = (),
    lang: str = "en",
) -> str:
    """`previous`: the bodies of up to two turns before, oldest first; `title`, `tags`: the conversation's."""
    earlier = [" ".join(body.split()[:PREVIOUS_WORDS]) for body in previous[-PREVIOUS_TURNS:]]
    return "\n".join(filter(None, [*earlier, speaker or "", date_words(when, lang), title, " ".join(tags)]))


def chunk_context(heading_path: str, file_name: str, text_before: str) -> str:
    """Of one chunk of a document."""
    return "\n".join(filter(None, [heading_path, file_name, " ".join(text_before.split()[-BEFORE_CHUNK_WORDS:])]))
