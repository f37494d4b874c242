"""Text to index tokens: the one tokenizer of index, query and duplicate check, on every backend.

`prepare` gives stemmed words; identifiers (`max_retries`, `getUserName`, `src/app/main.py`, `ERR-404`) give their
pieces and the whole; runs of Chinese, Japanese and Korean writing give overlapping pairs of characters. Pure, and
linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

import snowballstemmer

from remora.memory.stopwords import FUNCTION_WORDS
from remora.model.search import IndexRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Raised whenever `prepare` would give other tokens for a stored text: the index is then rebuilt in the background.
PREP_VERSION = 1
LONGEST_WORD = 64
BODY, CTX, KEY, TAGS, TITLE = range(5)  # the columns of the index

STEMMERS = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
SMALLEST_SAMPLE = 8  # words; the language of fewer is not guessed

_HIDDEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_CJK = (
    "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_CHUNK = re.compile(r"\w+(?:[-./:@#]+\w+)*")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_SCRIPTS = re.compile(f"[{_CJK}]+|[^{_CJK}]+")
_PUNCTUATION = re.compile(r"[./:@#]+")
_BRANCH = re.compile(r"[:@#]+")
_SEPARATOR = re.compile(r"[-_]+")
_MEASURE = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|k|m|h|d|w|y|x|min|ms|kg|km|cm|mm|kb|mb|gb|tb)", re.IGNORECASE)
_CAMEL = re.compile(r"[^\W\d_](?=\d)|\d(?=[^\W\d_])|[a-zß-öø-ÿ](?=[A-ZÀ-ÖØ-Þ])|[A-ZÀ-ÖØ-Þ](?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")
_MARKS = re.compile("[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W\d_]+")


def normalise(text: str) -> str:
    """Compatibility forms folded, invisible characters dropped; the case stays, because camelCase needs it."""
    return text.translate(_HIDDEN) if text.isascii() else unicodedata.normalize("NFKC", text).translate(_HIDDEN)


def fold(word: str) -> str:
    """Case and Latin, Greek and Cyrillic diacritics removed, cut to the longest word."""
    word = word[:LONGEST_WORD]
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", word.casefold())))[:LONGEST_WORD]


@lru_cache(100_000)
def _stem(word: str, lang: str) -> str:
    return str(_stemmer(lang).stemWord(word)) or word


@lru_cache(len(STEMMERS))
def _stemmer(lang: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(STEMMERS[lang])


def stem(word: str, lang: str) -> str:
    """The stem of a folded word; words with digits, other scripts and unknown languages stay as they are."""
    return _stem(word, lang) if lang in STEMMERS and word.isalpha() else word


def is_cjk(text: str) -> bool:
    return _CJK_RUN.search(text) is not None


def cjk_share(text: str) -> float:
    """How much of the letters is written in Chinese, Japanese or Korean."""
    letters = sum(map(str.isalnum, text))
    return sum(len(run) for run in _CJK_RUN.findall(text)) / letters if letters else 0.0


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def _pieces(part: str) -> list[str]:
    """getUserName → get User Name; utf8 → utf 8; HTTPServer → HTTP Server."""
    ends = [match.end() for match in _CAMEL.finditer(part)]
    return [part[start:end] for start, end in zip([0, *ends], [*ends, len(part)], strict=True)]


def chunks(text: str) -> list[str]:
    """The blank-separated units of a normalised text: words, and identifiers with their inner punctuation."""
    return _CHUNK.findall(text)


@lru_cache(50_000)
def _tokens(chunk: str, lang: str) -> tuple[str, ...]:
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk.isupper() or chunk[1:].islower()):
        return (stem(fold(chunk), lang),)
    if not is_cjk(chunk):
        return tuple(_identifier(chunk, lang))
    found: list[str] = []
    for run in _SCRIPTS.findall(chunk):
        found += (
            _pairs(run) if _CJK_RUN.match(run) else [token for part in chunks(run) for token in _identifier(part, lang)]
        )
    return tuple(found)


def _identifier(chunk: str, lang: str) -> list[str]:
    """Pieces in order, then the wholes: the chunk, its named parts, and the ends of a path."""
    names = [name for name in _PUNCTUATION.split(chunk) if name.strip("_-")]
    pieces, wholes = [], []
    for name in names:
        parts = [piece for part in _SEPARATOR.split(name) if part for piece in _pieces(part)]
        pieces += [fold(piece) for piece in parts]
        if len(parts) > 1 or name != parts[0]:
            wholes.append(fold(name))
    found = [stem(piece, lang) for piece in pieces]
    if len(names) > 1:
        wholes.append(fold(chunk))
        for branch in _BRANCH.split(chunk):
            wholes += _path_ends([fold(part) for part in branch.split("/") if part])
    # YouTube is also the plain word "youtube".
    joined = [stem(whole, lang) for whole in wholes if whole.isalpha()]
    return found + list(dict.fromkeys(wholes + joined))


def _path_ends(parts: list[str]) -> list[str]:
    ends = ["/".join(parts[-depth:]) for depth in range(1, min(3, len(parts)) + 1)]
    return [end[:LONGEST_WORD] for end in ends if "/" in end or "." in end]


def prepare(text: str, lang: str = "en") -> list[str]:
    """The index tokens of a text, in order."""
    found: list[str] = []
    for chunk in chunks(normalise(text)):
        # Long chunks are rarely seen twice; keeping them out bounds the cache in bytes.
        found += _tokens(chunk, lang) if len(chunk) <= LONGEST_WORD else _tokens.__wrapped__(chunk, lang)
    return found


def is_identifier(chunk: str) -> bool:
    """A code, path or name that must be met literally; not a date suffix (20th), a measure (500ms) or and/or."""
    if len(chunk) < 4 or is_cjk(chunk) or _MEASURE.fullmatch(chunk):
        return False
    letters = any(map(str.isalpha, chunk))
    if letters and any(map(str.isdigit, chunk)):
        return True
    if "/" in chunk and chunk.count("/") == 1 and chunk.replace("/", "").isalpha():
        return False
    if re.search(r"[./:@#]", chunk) or "_" in chunk.strip("_"):
        return True
    if "-" in chunk:
        return not letters or chunk.isupper() or chunk.count("-") > 1
    humps = sum(a.islower() and b.isupper() for a, b in pairwise(chunk))
    return humps > 1 or (humps == 1 and chunk[0].islower())


def language(text: str, default: str = "en") -> str:
    """The language whose function words the text uses most; short or undecided texts give the default."""
    text = normalise(text[:4000])
    if cjk_share(text) > 0.5:
        return "ko" if re.search("[\uac00-\ud7af]", text) else "ja" if re.search("[\u3040-\u30ff]", text) else "zh"
    sample = [fold(word) for word in _WORD.findall(text)]
    if len(sample) < SMALLEST_SAMPLE:
        return default
    hits = {lang: sum(word in words for word in sample) for lang, words in FUNCTION_WORDS.items()}
    best = max(hits, key=lambda lang: (hits[lang], lang == default))
    return best if hits[best] >= 2 and hits[best] > hits.get(default, 0) else default


def term_vector(columns: Iterable[Sequence[str]]) -> tuple[int, bytes]:
    """Length over all columns, and (crc32, column, count) per term in six bytes each."""
    import numpy as np

    length, entries = 0, []
    for number, tokens in enumerate(columns):
        length += len(tokens)
        entries += [(term_id(token), number, min(count, 255)) for token, count in Counter(tokens).items()]
    return length, np.array(entries, term_dtype()).tobytes()


@lru_cache(200_000)
def term_id(token: str) -> int:
    return crc32(token.encode("utf-8", "surrogatepass"))


@lru_cache(1)
def term_dtype() -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([("term", "<u4"), ("column", "u1"), ("count", "u1")])


def read_terms(blobs: Sequence[bytes]) -> tuple[NDArray[np.void], NDArray[np.intp]]:
    """All entries of several term vectors, and the number of the row that each belongs to."""
    import numpy as np

    dtype = term_dtype()
    sizes = [len(blob) // dtype.itemsize for blob in blobs]
    return np.frombuffer(b"".join(blobs), dtype), np.repeat(np.arange(len(blobs)), sizes)


def index_row(body: str, ctx: str = "", key: str = "", tags: str = "", title: str = "", lang: str = "en") -> IndexRow:
    """Everything the lexical index keeps of one memory."""
    columns = [prepare(text, lang) for text in (body, ctx, key, tags, title)]
    length, tf = term_vector(columns)
    first, second, third, fourth, fifth = (" ".join(tokens) for tokens in columns)
    return IndexRow((first, second, third, fourth, fifth), length, tf)


def gram_text(text: str) -> str:
    """What the trigram index is given: folded, so that full-width forms and case do not matter."""
    return normalise(text).casefold()
