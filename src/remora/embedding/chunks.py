"""Cuts a memory into the pieces that get a vector each. Pure, and needs no model: tokens are estimated by the letters.

The whole memory is covered: nothing is cut off. The lexical index takes the memory as one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from remora.model.search import Chunk

CHUNK_TOKENS, TURN_TOKENS, OVERLAP_TOKENS = 128, 256, 32
_TOKEN = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+|(?<=[。！？])")
_WORD = re.compile(r"\s+")

Span = tuple[int, int]


def estimate_tokens(text: str) -> int:
    """About as many as a WordPiece tokenizer makes, never a multiple less."""
    return sum(1 for _ in _TOKEN.finditer(text))


def chunks(content: str, prefix: str = "", turn: bool = False) -> tuple[Chunk, ...]:
    """`prefix` (key, tags, heading) stands before each piece; a turn of a conversation may be longer than others."""
    limit = TURN_TOKENS if turn else CHUNK_TOKENS
    prefix = prefix.strip()[:200]
    room = max(limit - estimate_tokens(prefix), limit // 2)
    found: list[Chunk] = []
    for start, end in _spans(content, room):
        body = content[start:end].strip()
        text = f"{prefix}\n{body}" if prefix else body
        if body:
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            found.append(Chunk(len(found), start, end, text, digest))
    return tuple(found)


def _spans(content: str, room: int) -> list[Span]:
    # Every estimated token has a character, so a short text needs no counting.
    if len(content) <= room or estimate_tokens(content) <= room:
        return [(0, len(content))]
    spans: list[Span] = []
    start = end = used = 0
    last: tuple[Span, int] | None = None
    for (piece_start, piece_end), size in _pieces(content, (0, len(content)), room, 0):
        if used and used + size > room:
            spans.append((start, end))
            overlap = last if last is not None and last[1] <= OVERLAP_TOKENS and last[1] + size <= room else None
            start, used = (overlap[0][0], overlap[1]) if overlap else (piece_start, 0)
        end, used, last = piece_end, used + size, ((piece_start, piece_end), size)
    spans.append((start, end))
    return spans


def _pieces(content: str, span: Span, room: int, level: int) -> Iterator[tuple[Span, int]]:
    """Lines; of a line that is too long sentences, then words, then stretches of letters."""
    separators = (_LINE, _SENTENCE, _WORD)
    start, end = span
    size = estimate_tokens(content[start:end])
    if level and size <= room:
        yield span, size
        return
    if level == len(separators):
        step = max(1, room)
        for at in range(start, end, step):
            yield (at, min(at + step, end)), estimate_tokens(content[at : min(at + step, end)])
        return
    at = start
    for separator in separators[level].finditer(content, start, end):
        if separator.end() > at:
            yield from _pieces(content, (at, separator.end()), room, level + 1)
            at = separator.end()
    if at < end:
        yield from _pieces(content, (at, end), room, level + 1)
