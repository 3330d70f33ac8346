"""Whether two questions mean the same: that they are near in meaning is not enough.

Opposite questions lie as near as .94 ("How do I turn it on?", "... off?"). So what turns a
question round has to agree first: what is asked for, what denies, numbers, names, days and
periods, words with an opposite, and which of two things acts on which. Then each word of one has
to be a word of the other, or one that means the same (``benchmarks/same_questions.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from wellread.ask.understand.answer_kind import expected_of
from wellread.text.english import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    MONTHS,
    MONTHS_SHORT,
    PREPOSITIONS,
    QUESTION_WORDS,
    SEASONS,
    STOP_WORDS,
    WEEKDAYS,
)
from wellread.text.english_common import (
    AROUND_A_QUESTION,
    OF_THE_MOMENT,
    OPPOSING_PREFIXES,
    OPPOSITES,
    RELATIVE_PERIODS,
    SYNONYMS,
)
from wellread.text.parsed import parse
from wellread.text.words import stem

LEAST = 0.8  # cosine of two questions that mean the same
_PIVOTS = PREPOSITIONS | {"than", "to", "of", "versus"}
_BEFORE_A_SIDE = DETERMINERS | {"my", "their", "his", "her", "its", "this"}
_CLAUSE = re.compile(r"(?<=\w),? (?:when|whenever|where|if)\b", re.IGNORECASE)
_PRICE = re.compile(r"\bhow much (?:is|are|was|were|for)\b(?!.*\bcosts?\b)", re.IGNORECASE)
_ASKING = frozenset({"who", "whose", "when", "where", "why"})
_HAVING = {"has", "have", "had"}
_SUBJECTS = {"me": "i", "him": "he", "her": "she", "them": "they", "us": "we"}
_ACTING = frozenset(_SUBJECTS.values())
_DAYS = frozenset((*MONTHS, *MONTHS_SHORT, *WEEKDAYS, *SEASONS))


def differs(asked: str, past: str) -> str:
    """What turns ``asked`` into another question than ``past``, in words; empty when nothing does.

    It does not say that they are about the same: see ``same``.
    """
    one, other = _read(asked), _read(past)
    turned = (
        (one.of_the_moment or other.of_the_moment, "it is about a moment that has passed"),
        (_other_kind(one, other), "they ask for different things"),
        (one.denials != other.denials, "one of them is negated"),
        (one.numbers != other.numbers or one.units != other.units, "the numbers differ"),
        (one.days != other.days, "the times differ"),
        ((one.names - other.stems) | (other.names - one.stems), "the names differ"),
        (_opposed(one, other), "one says the opposite of the other"),
        (_turned_round(one, other), "the sides are swapped"),
    )
    return next((why for found, why in turned if found), "")


def same(asked: str, past: str, similarity: float) -> bool:
    """Whether the two questions mean the same; ``similarity`` is the cosine of their vectors.

    Single words that lie near each other may be opposites, or two of a kind (red and blue), so
    that a word stands for another is known from a list, and never guessed from vectors.
    """
    if similarity < LEAST or differs(asked, past):
        return False
    mine, theirs = _read(asked), _read(past)
    if mine.content.keys() != theirs.content.keys():
        return False
    # "In Gmail, how do I open a Gmail message?" says a word again; "work at work" says more by it.
    again = (mine.content - theirs.content) + (theirs.content - mine.content)
    related = (mine.behind - theirs.behind) + (theirs.behind - mine.behind)
    return again.keys().isdisjoint({word for _, word in related} - mine.names)


# --- a question, read ------------------------------------------------------------------------


_OPENERS = QUESTION_WORDS | AUXILIARIES | BE


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is compared of a question.

    Attributes:
        stems: of all its words, those that say nothing too.
        content: what its words that say something mean, and how often.
        order: these, who acts, and what stands between two sides, in order.
        beside: what stands on both sides of nothing, or of a word for a relation.
        behind: what stands behind each word for a relation (from, to, than), as often as it does.
        polar: whether yes or no answers it.
    """

    kind: str
    polar: bool
    denials: int
    numbers: frozenset[str]
    units: frozenset[tuple[float, str]]
    names: frozenset[str]
    days: frozenset[str]
    words: Counter[str]
    stems: frozenset[str]
    content: Counter[str]
    order: tuple[str, ...]
    beside: frozenset[tuple[str, str, str]]
    behind: Counter[tuple[str, str]]
    of_the_moment: bool


@lru_cache(maxsize=1_000)
def _read(question: str) -> _Reading:
    text = parse(question)
    words = [token.plain for token in text.tokens if len(token.plain) > 1 or token.plain in "i1"]
    said = set(words) - STOP_WORDS - AROUND_A_QUESTION - _PIVOTS
    # "One" is more often a pronoun than a number.
    numbers = text.numbers if "1" in words else text.numbers - {"1"}
    names = {
        _meaning(token.plain)
        for name in text.names
        for token in parse(name).tokens
        if token.plain in said
    }
    acting = [_SUBJECTS.get(word, word) for word in words]
    order = [
        word if word in _PIVOTS else _meaning(word)
        for word in acting
        if word in said or word in _PIVOTS or word in _ACTING
    ]
    # "How much is a kayak?" asks what it costs.
    unsaid = [_meaning("cost")] * (_PRICE.search(question) is not None)
    return _Reading(
        kind=expected_of(_asking(question)),
        polar=bool(words) and words[0] in BE | AUXILIARIES | _HAVING,
        denials=text.negations,
        numbers=numbers,
        units=frozenset((each.value, each.unit) for each in text.quantities if each.unit),
        names=frozenset(names),
        days=frozenset(
            word
            for before, word in pairwise(("", *words))
            if word in _DAYS and (word not in AUXILIARIES or before in PREPOSITIONS)
        ),
        words=Counter(words),
        stems=frozenset(map(_meaning, words)),
        content=Counter([*(_meaning(word) for word in words if word in said), *unsaid]),
        order=tuple(order),
        beside=frozenset(_beside(words, said, order)),
        behind=Counter(_behind(words, said)),
        of_the_moment=not OF_THE_MOMENT.isdisjoint(words)
        or RELATIVE_PERIODS.search(question) is not None,
    )


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


def _beside(
    words: Sequence[str], said: AbstractSet[str], order: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    for one, other in pairwise(words):
        if one in said and other in said:
            yield _meaning(one), "", _meaning(other)
    for one, pivot, other in zip(order, order[1:], order[2:], strict=False):
        if pivot in _PIVOTS and not {one, other} & _PIVOTS:
            yield one, pivot, other


def _behind(words: Sequence[str], said: AbstractSet[str]) -> Iterator[tuple[str, str]]:
    """Each word for a relation with every word of the phrase behind it."""
    pivot, begun = "", False
    for word in words:
        if word in _PIVOTS:
            pivot, begun = word, False
        elif word in said and pivot:
            begun = True
            yield pivot, _meaning(word)
        elif begun or word not in _BEFORE_A_SIDE:
            pivot = ""


def _other_kind(one: _Reading, other: _Reading) -> bool:
    """Whether the two ask for things of different kinds.

    "Can I ...?" and "What ... cost?" name no kind: they may be "How do I ...?" and "How much ...?".
    """
    mine, theirs = _ASKING & one.words.keys(), _ASKING & other.words.keys()
    if mine - theirs and theirs - mine:
        return True
    if one.kind == other.kind:
        return False
    kinds = {one.kind, other.kind}
    plain = one if one.kind == "other" else other
    return plain.kind != "other" or not ("way" in kinds or ("number" in kinds and not plain.polar))


# --- what turns it round ---------------------------------------------------------------------


def _opposed(one: _Reading, other: _Reading) -> bool:
    mine, theirs = (one.words - other.words).keys(), (other.words - one.words).keys()
    stems, others = frozenset(map(stem, mine)), frozenset(map(stem, theirs))
    for left, right in _opposites():
        if (stems & left and others & right and not stems & right) or (
            stems & right and others & left and not stems & left
        ):
            return True
    return any(
        word in (prefix + each, prefix + "-" + each)
        for words, opposite in ((mine, theirs), (theirs, mine))
        for each in words
        for word in opposite
        for prefix in OPPOSING_PREFIXES
    )


@cache
def _opposites() -> tuple[tuple[frozenset[str], ...], ...]:
    return tuple(tuple(frozenset(map(stem, side)) for side in pair) for pair in OPPOSITES)


def _turned_round(one: _Reading, other: _Reading) -> bool:
    """Whether two things have changed places around something that stands between them.

    "From Ghent to Lille" and "from Lille to Ghent", "does he pay her" and "does she pay him".
    """
    if any(
        (second, pivot, first) in other.beside and (second, pivot, first) not in one.beside
        for first, pivot, second in one.beside
    ):
        return True
    gone, come = one.behind - other.behind, other.behind - one.behind
    both_hold = one.content.keys() & other.content.keys()
    if any(
        pivot == new_pivot and word != new and {word, new} <= both_hold
        for pivot, word in gone
        for new_pivot, new in come
    ):
        return True
    mine, theirs = _places(one.order), _places(other.order)
    both = sorted(mine.keys() & theirs.keys(), key=lambda word: mine[word])
    sides = [word for word in both if word not in _PIVOTS]
    for at, first in enumerate(sides):
        for second in sides[at + 1 :]:
            if theirs[second] > theirs[first]:
                continue
            if any(
                mine[first] < mine[pivot] < mine[second]
                and theirs[second] < theirs[pivot] < theirs[first]
                for pivot in both
            ):
                return True
    return False


def _places(order: Iterable[str]) -> dict[str, int]:
    """Where each word stands that stands there once."""
    found: dict[str, int] = {}
    twice: set[str] = set()
    for place, word in enumerate(order):
        twice |= {word} & found.keys()
        found[word] = place
    return {word: place for word, place in found.items() if word not in twice}
