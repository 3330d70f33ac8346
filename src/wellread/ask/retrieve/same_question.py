"""Whether two questions mean the same: that they are near in meaning is not enough.

Opposite questions lie as near as .94 ("How do I turn it on?", "... off?"). So each word of one has
to be a word of the other, or one that means the same, in the same order; what stands behind a
preposition may move with it. What is asked for, what denies, and amounts have to agree
(``benchmarks/same_questions.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache

from wellread.ask.understand.answer_kind import expected_of
from wellread.text.english import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    PREPOSITIONS,
    QUESTION_WORDS,
    STOP_WORDS,
)
from wellread.text.english_common import AROUND_A_QUESTION, BETWEEN_SIDES, OF_THE_MOMENT, SYNONYMS
from wellread.text.parsed import parse
from wellread.text.periods import RELATIVE, expressions_of
from wellread.text.words import stem

LEAST = 0.8  # cosine of two questions that mean the same
_PIVOTS = PREPOSITIONS | BETWEEN_SIDES
_SUBJECTS = {"me": "i", "him": "he", "her": "she", "them": "they", "us": "we"}
_ACTING = frozenset(_SUBJECTS.values())
_BEFORE_A_NAME = DETERMINERS | {"my", "their", "his", "its", "your", "our", "this", "that"}
_CLAUSE = re.compile(r"(?<=\w),? (?:when|whenever|where|if)\b", re.IGNORECASE)
_PRICE = re.compile(r"\bhow much (?:is|are|was|were|for)\b(?!.*\bcosts?\b)", re.IGNORECASE)
_ASKING = frozenset({"who", "whose", "when", "where", "why"})
_PAST_OR_COMING = frozenset({"was", "were", "did", "had", "will"})
_OPENERS = QUESTION_WORDS | AUXILIARIES | BE
_SOME_DAY = date(2001, 5, 16)


def same(asked: str, past: str, similarity: float) -> bool:
    """Whether the two questions mean the same; ``similarity`` is the cosine of their vectors.

    Single words that lie near each other may be opposites, or two of a kind (red and blue), so
    that a word stands for another is known from a list, and never guessed from vectors.
    """
    if similarity < LEAST:
        return False
    one, other = _read(asked), _read(past)
    if one.exact != other.exact or one.of_the_moment or _other_kind(one, other):
        return False
    if Counter(word for word, _ in one.words) != Counter(word for word, _ in other.words):
        return False
    if one.dangling and other.dangling and one.dangling != other.dangling:
        return False
    if len(one.acting) > 1 < len(other.acting) and one.acting != other.acting:
        return False
    return _in_order(one, other) or _by_pivot(one) == _by_pivot(other)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is compared of a question.

    Attributes:
        kind: what kind of thing answers it.
        asking: its words for that ("who", "when").
        polar: whether yes or no answers it.
        words: what its words mean that say something, in order, each with the preposition before.
        acting: who acts on whom, as far as pronouns tell.
        dangling: prepositions that nothing follows ("turn it off").
        exact: negations, amounts, the time of its verbs.
        of_the_moment: whether its answer is another one tomorrow.
    """

    kind: str
    asking: frozenset[str]
    polar: bool
    words: tuple[tuple[str, str], ...]
    acting: tuple[str, ...]
    dangling: frozenset[str]
    exact: tuple[object, ...]
    of_the_moment: bool


@lru_cache(maxsize=1_000)
def _read(question: str) -> _Reading:
    text = parse(question)
    said = [_SUBJECTS.get(token.plain, token.plain) for token in text.tokens]
    words, dangling = _placed(said)
    if _PRICE.search(question):  # "How much is a kayak?" asks what it costs
        words.append((_meaning("cost"), ""))
    moving = any(one.form in RELATIVE for one in expressions_of(question, _SOME_DAY))
    return _Reading(
        kind=expected_of(_asking(question)),
        asking=_ASKING & frozenset(said),
        polar=bool(said) and said[0] in BE | AUXILIARIES | {"has", "have", "had"},
        words=tuple(words),
        acting=tuple(word for word in said if word in _ACTING),
        dangling=dangling,
        exact=(
            text.negations,
            frozenset((each.value, each.unit) for each in text.quantities if each.unit),
            _PAST_OR_COMING.isdisjoint(said),
        ),
        of_the_moment=moving or not OF_THE_MOMENT.isdisjoint(said),
    )


def _placed(said: Sequence[str]) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The words that say something, each with its preposition, and those that none follows."""
    words: list[tuple[str, str]] = []
    dangling: set[str] = set()
    pivot = ""
    for word in said:
        if word in _PIVOTS:
            pivot = word
            dangling.add(pivot)
        elif word not in STOP_WORDS and word not in AROUND_A_QUESTION:
            words.append((_meaning(word), pivot))
            dangling.discard(pivot)
        elif word not in _BEFORE_A_NAME:
            pivot = ""
    return words, frozenset(dangling)


def _in_order(one: _Reading, other: _Reading) -> bool:
    """Whether the same words follow each other, behind no two different prepositions."""
    return all(
        word == same_word and (pivot == same_pivot or not pivot or not same_pivot)
        for (word, pivot), (same_word, same_pivot) in zip(one.words, other.words, strict=True)
    )


def _by_pivot(reading: _Reading) -> dict[str, list[str]]:
    """The words behind each preposition, and those behind none, in order."""
    found: dict[str, list[str]] = {}
    for word, pivot in reading.words:
        found.setdefault(pivot, []).append(word)
    return found


def _asking(question: str) -> str:
    """The question without a clause that says when or where ("What happens when ...?")."""
    asking, _, _ = _CLAUSE.sub("\0", question, count=1).partition("\0")
    first = parse(asking).words[:1]
    return asking if first and first[0].lower() in _OPENERS else question


def _meaning(word: str) -> str:
    """The word that stands for all that mean the same as ``word``."""
    found = stem(word)
    return _synonyms().get(found, found)


@cache
def _synonyms() -> dict[str, str]:
    return {stem(word): stem(group[0]) for group in SYNONYMS for word in group}


def _other_kind(one: _Reading, other: _Reading) -> bool:
    """Whether the two ask for things of different kinds.

    "Can I ...?" and "What ... cost?" name no kind: they may be "How do I ...?" and "How much ...?".
    """
    if one.asking - other.asking and other.asking - one.asking:
        return True
    if one.kind == other.kind:
        return False
    kinds = {one.kind, other.kind}
    plain = one if one.kind == "other" else other
    return plain.kind != "other" or not ("way" in kinds or ("number" in kinds and not plain.polar))
