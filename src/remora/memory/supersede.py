"""Does a new statement replace an old one, contradict it, or merely stand beside it? Pure."""

from __future__ import annotations

import re
from typing import Literal

from remora.memory.dedup import Likeness
from remora.memory.ontology import family
from remora.model.memory import TRUST_ORDER, Memory

CORRECTION_IDF, SUGGESTION_IDF = 0.25, 0.15
# Without a word that says so, two texts must be the same sentence but for a value before they are called a conflict.
CONFLICT_FRAME = 0.60
CONTRADICTION_COSINE, CONTRADICTION_GRAMS, CONTRADICTION_DIVERGENCE = 0.95, 0.80, 0.20
_CUE = re.compile(
    r"(?i)\b(?:now|instead|no longer|not any ?more|moved|replaced?s?|switched|upgraded|downgraded|dropped|changed|"
    r"renamed|"
    r"migrated|deprecated|updated to|as of|from now on|was .{1,60}\bis now|correction|"
    r"jetzt|nunmehr|stattdessen|nicht mehr|ersetzt|statt|anstatt|umgestellt|umgezogen|gewechselt|geändert|ab sofort|"
    r"neuerdings)\b"
)
Verdict = Literal["supersede", "conflict", "contradiction", "suggestion", "none"]


def has_cue(text: str) -> bool:
    return _CUE.search(text) is not None


def judge(new: Memory, likeness: Likeness) -> Verdict:
    """What a new memory means for an older one that is like it."""
    old = likeness.memory
    if old.created_at > new.created_at or family(old.kind) != family(new.kind):
        return "none"
    if likeness.delta and likeness.idf >= CORRECTION_IDF:
        if has_cue(new.content) and likeness.delta.of_one_value:
            return "supersede" if may_supersede(new, old) else "conflict"
        opposite = likeness.delta.negation and likeness.frame >= CONTRADICTION_GRAMS
        if opposite or _contradicts(likeness):
            return "contradiction"
        if likeness.delta.of_one_value and likeness.frame >= CONFLICT_FRAME:
            return "conflict"
    elif _contradicts(likeness):
        return "contradiction"
    return "suggestion" if likeness.idf >= SUGGESTION_IDF else "none"


def _contradicts(likeness: Likeness) -> bool:
    alike = (likeness.cosine or 0.0) >= CONTRADICTION_COSINE or likeness.grams >= CONTRADICTION_GRAMS
    return alike and likeness.divergence >= CONTRADICTION_DIVERGENCE and not likeness.delta.identifiers


def may_supersede(new: Memory, old: Memory) -> bool:
    """Never by itself: a pinned row, one of higher trust, one with another subject key."""
    lower = TRUST_ORDER.index(new.trust) < TRUST_ORDER.index(old.trust)
    return not (old.pinned or lower or (old.subject_key is not None and old.subject_key != new.subject_key))
