"""What a query asks for: its words, quoted phrases and identifiers; then what they weigh in one store. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from remora.memory.lexical import TermGroup, idf
from remora.memory.stopwords import STOP_WORDS
from remora.memory.words import chunks, cjk_share, fold, is_cjk, is_identifier, normalise, prepare
from remora.model.search import TermStats

MOST_TERMS = 64
MOST_WORDS = 4_000  # of a query that is a whole log; the rest cannot change the 64 best terms by much
DENSE_WORDS = 150  # about 200 tokens: a longer query is embedded by its beginning and by its end
LEAST_PHRASE = 4
_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|„([^“\n]{2,200})“|«([^»\n]{2,200})»|`([^`\n]{2,200})`")
_ERROR_LINE = re.compile(r"(?i)^.*(?:error|exception|fail(?:ed|ure)|panic|fatal).*$", re.MULTILINE)
_FILE_NAME = re.compile(r"[\w./\\-]+\.[A-Za-z]{1,5}(?::\d+)?")


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """`words` in order of appearance; `literals` must be met as they are and put their rows first."""

    text: str
    words: tuple[str, ...]
    identifiers: tuple[str, ...]
    phrases: tuple[str, ...]
    cjk: bool  # most letters are Chinese, Japanese or Korean
    latin_share: float
    dense_texts: tuple[str, ...]

    @property
    def literals(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.identifiers, *self.phrases)))


@dataclass(frozen=True, slots=True)
class Terms:
    """The scored terms of a query in one store: those that some row has, and the words that none has."""

    groups: tuple[TermGroup, ...]
    unknown: tuple[str, ...]
    unknown_mass: float  # idf of the unknown words: what they would have counted


def plan(query: str) -> QueryPlan:
    """Linear in the query, whatever it is: a question, a file, a stack trace."""
    text = normalise(query)
    phrases = [next(filter(None, groups)).strip() for groups in _QUOTED.findall(text)]
    words = chunks(text)
    if len(words) > MOST_TERMS:
        words = chunks(" ".join((*_ERROR_LINE.findall(text)[:20], *_FILE_NAME.findall(text)[:20]))) + words
    words = words[:MOST_WORDS]
    identifiers = [word for word in dict.fromkeys(words) if is_identifier(word)]
    letters = [char for char in text[:2000] if char.isalpha()]
    latin = sum(char < "\u0250" for char in letters)
    return QueryPlan(
        text=text,
        words=tuple(dict.fromkeys(words)),
        identifiers=tuple(identifiers[:8]),
        phrases=tuple(dict.fromkeys(phrase for phrase in phrases if len(phrase) >= LEAST_PHRASE))[:8],
        cjk=cjk_share(text[:2000]) > 0.5,
        latin_share=latin / len(letters) if letters else 1.0,
        dense_texts=_dense_texts(query),
    )


def _dense_texts(query: str) -> tuple[str, ...]:
    words = query.split()
    if len(words) <= 2 * DENSE_WORDS:
        return (query,)
    return " ".join(words[:DENSE_WORDS]), " ".join(words[-DENSE_WORDS:])


def store_languages(rows: Mapping[str, int]) -> tuple[str, ...]:
    """The up to three languages that at least one row in a hundred is written in; commonest first."""
    total = sum(rows.values())
    spoken = [lang for lang in sorted(rows, key=lambda lang: (-rows[lang], lang)) if rows[lang] * 100 >= total]
    return tuple(spoken[:3]) or ("en",)


def content_words(words: Sequence[str], langs: Sequence[str]) -> tuple[str, ...]:
    """The words without the stop words of the one language that explains most of them; all, if nothing is left.

    Only one: "war" and "die" are stop words of German and content in English.
    """
    folded = [fold(word) for word in words]
    lists = [STOP_WORDS[lang] for lang in langs if lang in STOP_WORDS] or [STOP_WORDS["en"]]
    stop = max(lists, key=lambda stop: sum(word in stop for word in folded))
    return tuple(word for word, form in zip(words, folded, strict=True) if form not in stop) or tuple(words)


def term_tokens(words: Sequence[str], langs: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Per term the tokens that stand for it (one per language where the stems differ), and the word it comes from."""
    found: dict[tuple[str, ...], str] = {}
    for word in words:
        for forms in zip_longest(*(prepare(word, lang) for lang in langs)):
            tokens = tuple(dict.fromkeys(form for form in forms if form is not None))
            found.setdefault(tokens, word)
    return found


def weigh(tokens: Mapping[tuple[str, ...], str], stats: TermStats) -> Terms:
    """Terms by rarity; of more than 64 the rarest are kept."""
    groups, unknown = [], []
    for forms, word in tokens.items():
        df = max(stats.df.get(form, 0) for form in forms)
        if df:
            groups.append(TermGroup(word, forms, df, idf(stats.rows, df)))
        elif len(forms[0]) > 1 or not is_cjk(forms[0]):
            unknown.append(word)
    groups.sort(key=lambda group: -group.idf)
    unknown = list(dict.fromkeys(unknown))
    return Terms(
        tuple(groups[:MOST_TERMS]), tuple(unknown[:MOST_TERMS]), len(unknown[:MOST_TERMS]) * idf(stats.rows, 0)
    )
