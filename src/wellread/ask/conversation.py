"""From what was asked in a session to a question that stands alone."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.answers import Question
from wellread.ask.vocabulary import Vocabulary
from wellread.kb import KnowledgeBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A question as it is understood within its session.

    Attributes:
        question: with ``text`` in words that need no earlier turn, and the session's id.
        asked: as it was asked.
        notes: what was put in for what, in words; empty when nothing was.
        search: what is searched for, when that is more than the question says.
    """

    question: Question
    asked: str
    notes: tuple[str, ...] = ()
    search: str = ""


async def opened(kb: KnowledgeBase, question: Question, known: Vocabulary) -> Opened:
    """``question`` as it is meant after the earlier turns of its session.

    Raises:
        RequestError: the session belongs to somebody else.
    """
    return Opened(question=question, asked=question.text)
