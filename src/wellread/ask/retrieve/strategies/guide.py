"""A guide to what the question wants to do: found by one passage, read as a whole."""

from __future__ import annotations

from dataclasses import replace

from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.retrieve.strategies.direct import direct
from wellread.ask.understand.answer_kind import asks_how, guide_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Hit

NEAR = 5  # hits, best first, among which the guide has to be
LONGEST = 16  # passages; a longer document is a book, of which only what was found is read


def guides(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """Direct retrieval, with the rest of a guide that is among the best; None without one."""
    if not asks_how(analysis.question):
        return None
    found = direct(kb, analysis)
    near = [hit.document for hit in found.hits[:NEAR]]
    guide = guide_of(analysis.question, " ".join(analysis.terms), near)
    if guide is None:
        return None
    passages = kb.catalogue.passages_of([guide.id])
    if not 1 < len(passages) <= LONGEST:
        return None
    known = {hit.passage.id for hit in found.hits}
    least = min(hit.score for hit in found.hits)
    rest = [
        Hit(passage=passage, document=guide, score=least)
        for passage in passages
        if passage.id not in known and passage.version == guide.version
    ]
    return replace(
        found,
        strategy=f"direct retrieval; then all of “{guide.title}”",
        hits=(*found.hits, *rest),
    )
