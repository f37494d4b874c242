"""A store in a list: what the ranking reads of a `View`, computed plainly, so that it is tested without a backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from remora.memory.context import date_words, speaker_of, turn_context
from remora.memory.lexical import TermGroup, idf, score_rows
from remora.memory.words import gram_text, index_row, language
from remora.model.search import Facts, IndexRow, LexicalHit, TermStats, Where

DAY = 86_400_000_000


@dataclass
class Shelf:
    """`put` memories, then hand it to `search` as the view."""

    facts_of: list[Facts] = field(default_factory=list)
    index: list[IndexRow] = field(default_factory=list)
    langs: list[str] = field(default_factory=list)
    vectors: dict[int, np.ndarray] = field(default_factory=dict)
    _df: Counter[str] = field(default_factory=Counter)
    _gram_df: Counter[str] = field(default_factory=Counter)
    _folded: list[str] = field(default_factory=list)

    def put(
        self,
        content: str,
        *,
        conversation: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        at: int = DAY,
        key: str | None = None,
        tags: Sequence[str] = (),
        title: str = "",
        kind: str = "fact",
        vector: np.ndarray | None = None,
    ) -> int:
        row = len(self.facts_of)
        lang = language(content)
        speaker = speaker_of(speaker, {}, content) if conversation else speaker
        if conversation:
            same = (f for f in self.facts_of if (f.conversation, f.session) == (conversation, session))
            ctx = turn_context([f.content for f in same][-2:], speaker=speaker, when=at, lang=lang)
        else:
            ctx = date_words(at, lang)
        entry = index_row(content, ctx, key or "", " ".join(tags), title, lang)
        self.facts_of.append(
            Facts(row, f"{row:026d}", content, "default", kind, kind, key, title, tuple(tags), conversation, session,
                  speaker, at, "user", 0.5, False)
        )  # fmt: skip
        self.index.append(entry)
        self.langs.append(lang)
        self._df.update({token for text in entry.texts for token in text.split()})
        folded = gram_text(content)
        self._folded.append(folded)
        self._gram_df.update({folded[i : i + 3] for i in range(len(folded) - 2)})
        if vector is not None:
            self.vectors[row] = vector
        return row

    def term_stats(self, terms: Sequence[str], *, grams: bool = False) -> TermStats:
        counts = self._gram_df if grams else self._df
        length = sum(entry.length for entry in self.index) / max(1, len(self.index))
        return TermStats(len(self.index), length, {term: counts[term] for term in terms if counts[term]})

    def lexical(self, terms: Sequence[str], where: Where, limit: int = 200) -> Sequence[LexicalHit]:
        stats = self.term_stats(terms)
        groups = [TermGroup(t, (t,), df, idf(stats.rows, df)) for t, df in stats.df.items()]
        scores = score_rows(groups, [(e.length, e.tf) for e in self.index], stats.mean_length).bm25
        best = np.argsort(-scores, kind="stable")[:limit]
        return self.lexical_rows([int(row) for row in best if scores[row] > 0])

    def lexical_rows(self, rows: Sequence[int]) -> Sequence[LexicalHit]:
        return [LexicalHit(row, self.index[row].length, self.index[row].tf) for row in rows]

    def grams(self, trigrams: Sequence[str], where: Where, limit: int = 200) -> Sequence[int]:
        held = [sum(gram in text for gram in trigrams) for text in self._folded]
        return [row for row in sorted(range(len(held)), key=lambda row: -held[row])[:limit] if held[row]]

    def nearest(self, vector: np.ndarray, space: str, where: Where, limit: int = 100) -> Sequence[tuple[int, float]]:
        found = self.cosines(vector, space, list(self.vectors))
        return sorted(found.items(), key=lambda item: -item[1])[:limit]

    def cosines(self, vector: np.ndarray, space: str, rows: Sequence[int]) -> Mapping[int, float]:
        return {row: float(self.vectors[row] @ vector) for row in rows if row in self.vectors}

    def facts(self, rows: Sequence[int]) -> Sequence[Facts]:
        return [self.facts_of[row] for row in rows]

    def languages(self, namespaces: Sequence[str] | None) -> Mapping[str, int]:
        return Counter(self.langs)
