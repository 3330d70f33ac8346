"""Direct retrieval: one search for the question, for factual and temporal questions."""

from __future__ import annotations

from wellread.ask.found import Found
from wellread.ask.retrieve import retrieve
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis


def direct(kb: KnowledgeBase, analysis: Analysis) -> Found:
    """The best passages for the question as a whole."""
    return Found(strategy="direct retrieval", hits=tuple(retrieve(kb, analysis)))
