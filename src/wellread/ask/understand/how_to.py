"""Questions for a way to do something, and the documents that are guides to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wellread.text.parsed import parse
from wellread.types import DocumentFacts

WRITTEN = ("article", "page", "paper", "entity")  # no talk and no past answer is a guide
LEAST = 0.6  # of the question's words that a guide's title holds
# Openings of a question that say what to do with a thing, not which thing.
_ASKS = re.compile(
    r"^\W*(?:(?:please\s+)?(?:explain|tell\s+me|show\s+me)\s+)?"
    r"(?:how\s+(?:do|does|can|could|should|would)\s+(?:i|we|you|one|someone|somebody|people)\b"
    r"|how\s+to\b|what\s+(?:are\s+the\s+)?steps\b|what\s+do\s+(?:i|we|you)\s+need\b)",
    re.IGNORECASE,
)
_DOING = frozenset(
    parse("start begin run make set up do create build organise organize host hold open get").stems
)


def asks_how(question: str) -> bool:
    """Whether ``question`` asks for what to do, step by step."""
    return _ASKS.search(question) is not None


def guide_of(question: str, terms: str, found: Iterable[DocumentFacts]) -> DocumentFacts | None:
    """The first of ``found`` that is a guide to what ``question`` wants to do, if it asks for that.

    Args:
        terms: the question's content words.
    """
    if not asks_how(question):
        return None
    asked = parse(terms).stems
    return next((one for one in found if one.kind in WRITTEN and is_guide(one.title, asked)), None)


def is_guide(title: str, asked: Iterable[str]) -> bool:
    """Whether a document of this title is a guide to what the stems ``asked`` name.

    What is to be done with it ("start", "run") need not be the same word.
    """
    things = frozenset(asked) - _DOING
    held = things.intersection(parse(title).stems)
    return bool(things) and len(held) >= LEAST * len(things)
