"""Answers that may be given again: same question, scope and settings, on unchanged material."""

from __future__ import annotations

from wellread.answers import Answer, Question
from wellread.kb import KnowledgeBase


def held(kb: KnowledgeBase, question: Question) -> Answer | None:
    """The answer to give again, or None when it has to be written."""
    return None


def keep(kb: KnowledgeBase, question: Question, answer: Answer) -> None:
    """Let ``answer`` be given again."""
