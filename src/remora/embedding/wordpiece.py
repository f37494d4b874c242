"""BERT's uncased WordPiece tokenizer: clean, space CJK, lower-case, strip accents, split punctuation, longest match."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

LONGEST_WORD = 100
CACHED_WORDS = 200_000
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_ASCII_PUNCTUATION = ((33, 47), (58, 64), (91, 96), (123, 126))


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


@lru_cache(8192)
def _clean(char: str) -> str:
    category = unicodedata.category(char)
    if char in "\t\n\r" or category == "Zs":
        return " "
    if char == "\ufffd" or category[0] == "C":
        return ""
    return f" {char} " if _within(ord(char), _CJK) else char


@lru_cache(8192)
def _is_punctuation(char: str) -> bool:
    return _within(ord(char), _ASCII_PUNCTUATION) or unicodedata.category(char)[0] == "P"


def _normalise(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.lower()
    text = "".join(map(_clean, text))
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn").lower()


def _split(word: str) -> list[str]:
    if word.isalnum() and word.isascii():
        return [word]
    parts, start = [], 0
    for end, char in enumerate(word):
        if _is_punctuation(char):
            if start < end:
                parts.append(word[start:end])
            parts.append(char)
            start = end + 1
    if start < len(word):
        parts.append(word[start:])
    return parts


class WordPiece:
    """Text to token ids. A special token's name inside a text (`[SEP]`) is text."""

    def __init__(self, vocabulary: str) -> None:
        self.ids = {token: number for number, token in enumerate(vocabulary.split("\n")) if token}
        self.cls, self.sep, self.unknown = (self.ids[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """`[CLS]` first, `[SEP]` last, cut to `max_tokens`."""
        tokens, limit = [self.cls], max_tokens - 1
        # A word gives at most one token per character and most give one per four: what cannot be used is not split.
        for word in _normalise(text[: max_tokens * LONGEST_WORD]).split():
            for part in _split(word):
                tokens += self._pieces(part)
            if len(tokens) >= limit:
                break
        return [*tokens[:limit], self.sep]

    def _pieces(self, word: str) -> tuple[int, ...]:
        found = self._words.get(word)
        if found is None:
            found = self._longest_match(word)
            if len(self._words) < CACHED_WORDS:
                self._words[word] = found
        return found

    def _longest_match(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (self.unknown,)
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self.ids.get(word[start:end] if start == 0 else "##" + word[start:end])
                if piece is not None:
                    break
            else:
                return (self.unknown,)
            pieces.append(piece)
            start = end
        return tuple(pieces)
