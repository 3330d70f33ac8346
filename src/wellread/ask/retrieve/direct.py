"""Direct retrieval: one search for the question, and the rest of a guide that it finds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from wellread.ask.retrieve.ranking import varied
from wellread.ask.retrieve.relax import search_within
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.understand.answer_kind import asks_how, asks_what, defines, guide_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.english import MONTHS
from wellread.text.sentences import sentence_spans
from wellread.types import Hit

GUIDE_NEAR = 5  # hits, best first, among which the guide has to be
LONGEST_GUIDE = 16  # passages; a longer document is a book, of which only what was found is read
DEEP = 60  # hits among which a definition is looked for
DEFINES = 1.5  # times its score, at most 1, for a passage that says what the thing asked about is
UNDATED = 0.9  # what is left of the score of a span that does not say when
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"\b(?:(?:1[5-9]|20)\d\d|(?:{_MONTH})\b(?=\s+\d)|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{_MONTH})"
    r"|\d{1,2}:\d{2})\b",
    re.IGNORECASE,
)


def direct(kb: KnowledgeBase, analysis: Analysis) -> Retrieval:
    """The best passages for the question as a whole; for "when", those that hold a date first."""
    settings = kb.settings.retrieval
    text = analysis.searched
    defining = asks_what(analysis.question)
    limit = max(2 * settings.top_k, DEEP if defining else 0)
    found = search_within(kb, analysis, text, limit)
    candidates = _dated_first(found.hits) if analysis.type == "temporal" else found.hits
    if defining:
        candidates = _defining_first(analysis.question, candidates)
    hits, dropped = varied(candidates, settings.top_k, settings.diversity)
    return Retrieval(
        strategy="direct retrieval",
        hits=tuple(hits),
        relaxed=found.relaxed,
        failures=found.failures,
        traces=found.traces,
        dropped=tuple(dropped),
    )


def _defining_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, once those that say what the thing asked about is have gained."""
    scored = [
        replace(hit, score=min(1.0, hit.score * DEFINES))
        if any(
            defines(question, span.of(hit.passage.text))
            for span in sentence_spans(hit.passage.text)
        )
        else hit
        for hit in hits
    ]
    return sorted(scored, key=lambda hit: -hit.score)


def _dated_first(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, once those without a date have lost a little."""
    scored = [
        hit if _DATE.search(hit.passage.text) else replace(hit, score=hit.score * UNDATED)
        for hit in hits
    ]
    return sorted(scored, key=lambda hit: -hit.score)


def guides(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """Direct retrieval, with the rest of a guide that is among the best; None without one."""
    if not asks_how(analysis.question):
        return None
    found = direct(kb, analysis)
    near = [hit.document for hit in found.hits[:GUIDE_NEAR]]
    guide = guide_of(analysis.question, " ".join(analysis.terms), near)
    if guide is None:
        return None
    passages = kb.catalogue.passages_of([guide.id])
    if not 1 < len(passages) <= LONGEST_GUIDE:
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
