"""Whether a question asks for the items of a list, and which."""

from __future__ import annotations

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


def asked_items(question: str) -> frozenset[str] | None:
    """The words that say which items ``question`` asks for, as stems.

    None when it asks for none, or for what to do, one step after the other.
    """
    match = ASKS_LIST.search(question)
    named = match["what"].split() if match else []
    noun = named[-1].lower() if named else ""
    plural = noun in PLURALS or singular(noun) != ""
    several = len(noun) > 3 and noun not in NO_PLURALS and plural
    if asks_how(question) or (several and stem(noun) in _STEPS):
        return None
    if not (several or ASKS_LIST_OF.search(question)):
        return None
    return frozenset(parse(question).topic_stems) - _LISTING - _NUMBERS or None


_LISTING = parse(" ".join(LISTING_VERBS)).stem_set
_NUMBERS = parse(" ".join(NUMBER_WORDS)).stem_set
_STEPS = parse(" ".join(STEPS)).stem_set
