"""Whether a question asks for a list, and how well a list of a text is the one that it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.ask.understand.answer_kind import asks_how
from wellread.text.english import NUMBER_WORDS
from wellread.text.english_questions import (
    ASKS_LIST,
    ASKS_LIST_OF,
    LISTING_VERBS,
    NO_PLURALS,
    PLURALS,
    STEPS,
)
from wellread.text.names import singular
from wellread.text.parsed import parse
from wellread.text.words import stem

COUNTED, MISCOUNTED = 0.25, -0.5  # for as many items as the question says, and for other numbers


@dataclass(frozen=True, slots=True)
class AskedList:
    """What is to be listed.

    Attributes:
        stems: the words that say which list.
        noun: the stem of the word for its items; empty where the question names none.
        count: how many items the question says there are; 0 when it does not.
        steps: it asks for what to do, one after the other.
        names: of the stems, those of names.
    """

    stems: frozenset[str]
    noun: str
    count: int
    steps: bool
    names: frozenset[str] = frozenset()


def asked_list(question: str) -> AskedList | None:
    """The list that ``question`` asks for; None when it asks for none."""
    read = parse(question)
    found = ASKS_LIST.search(question)
    what = found["what"].split() if found else []
    noun = what[-1].lower() if what else ""
    several = len(noun) > 3 and noun not in NO_PLURALS
    several = several and (noun in PLURALS or singular(noun) != "")
    steps = asks_how(question) or (several and stem(noun) in _STEPS)
    if not (several or steps or ASKS_LIST_OF.search(question)):
        return None
    counts = [int(NUMBER_WORDS.get(word.lower(), word)) for word in what if _counts(word)]
    stems = frozenset(read.topic_stems) - _LISTING - _NUMBERS
    if not stems:
        return None
    own = stem(noun) if several and stem(noun) in stems else ""
    names = parse(" ".join(read.names)).stem_set & stems - {own}
    return AskedList(stems, own, counts[0] if counts else 0, steps, names)


def _counts(word: str) -> bool:
    return word.isdigit() or word.lower() in NUMBER_WORDS


_LISTING = parse(" ".join(LISTING_VERBS)).stem_set
_NUMBERS = parse(" ".join(NUMBER_WORDS)).stem_set
_STEPS = parse(" ".join(STEPS)).stem_set
