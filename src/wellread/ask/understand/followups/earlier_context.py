"""What is searched for when a follow-up names little: the question before goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.understand.followups.conversation_turns import Rewritten, Turn
from wellread.text.parsed import parse

FEW_TERMS = 3


def context_of(rewritten: Rewritten, earlier: Sequence[Turn]) -> str:
    """The last question, where the new one may be about the same; else nothing.

    That is when nothing was put into the question and it has no name and few words of its own.
    The text is for retrieval alone; the question as it is understood and shown stays the same.
    """
    text = rewritten.text
    if rewritten.changed or parse(text).names or len(parse(text).terms) > FEW_TERMS:
        return ""
    return next((turn.question for turn in reversed(earlier) if turn.question), "")


def with_context(rewritten: Rewritten, earlier: Sequence[Turn]) -> str:
    """The text to search for: the question, with its context on a line of its own."""
    context = context_of(rewritten, earlier)
    return f"{rewritten.text}\n{context}" if context else rewritten.text
