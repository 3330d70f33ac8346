"""Comparisons: a search for each side, then for both together; and syntheses over sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from wellread.ask.retrieve.ranking import merged, varied
from wellread.ask.retrieve.relax import search_within
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.parsed import parse
from wellread.types import Hit

T = TypeVar("T")

MOST_SOURCES = 5  # documents that a comparison or a synthesis rests on
DEPTH = 3  # times as many candidates as are used
SYNTHESIS_DIVERSITY = 0.6
_COMPARING = frozenset(
    parse("compare comparison contrast differ difference different similar similarity versus").stems
)


def compare(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """Passages about each side of a comparison in turns, then about all of them together.

    None when the question names no two sides. A side that nothing is about is named in a note.
    """
    if len(analysis.sides) < 2:
        return None
    settings = kb.settings.retrieval
    topic = _shared_topic(analysis)
    sides = [_whole(side, analysis.sides) for side in analysis.sides]
    searched = [
        search_within(
            kb, analysis, f"{side} {topic}".strip(), settings.top_k, purpose=f"side: {side}"
        )
        for side in sides
    ]
    about = [_about(side, each.hits) for side, each in zip(sides, searched, strict=True)]
    together = search_within(
        kb, analysis, analysis.subject or analysis.question, settings.top_k, purpose="all sides"
    )
    hits = _of_few_sources(merged([*about, together.hits], 2 * settings.top_k))
    kept, dropped = varied(hits, settings.top_k, 1.0)
    missing = [
        f"nothing was found about “{side}”"
        for side, found in zip(sides, about, strict=True)
        if side in analysis.sides and not found and not _about(side, together.hits)
    ]
    return Retrieval(
        strategy=f"a search for each side ({', '.join(sides)}), then together",
        hits=tuple(kept),
        relaxed=_all(each.relaxed for each in [*searched, together]),
        failures=_all(each.failures for each in [*searched, together]),
        notes=tuple(missing),
        traces=tuple(look for each in [*searched, together] for look in each.traces),
        dropped=tuple(dropped),
    )


def synthesis(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """Passages of several sources that differ from each other; None when nothing is found."""
    settings = kb.settings.retrieval
    text = analysis.searched
    found = search_within(kb, analysis, text, DEPTH * settings.top_k)
    if not found.hits:
        return None
    relevance = min(settings.diversity, SYNTHESIS_DIVERSITY)
    hits, dropped = varied(_of_few_sources(found.hits), settings.top_k, relevance)
    return Retrieval(
        strategy=f"a wide search, up to {MOST_SOURCES} sources",
        hits=tuple(hits),
        relaxed=found.relaxed,
        failures=found.failures,
        traces=found.traces,
        dropped=tuple(dropped),
    )


def _whole(side: str, sides: Sequence[str]) -> str:
    """A side that leans on another's noun ("recent ones") with that noun in its place."""
    *words_before, last = side.split()
    if last.lower() not in ("one", "ones"):
        return side
    noun = next((other.split()[-1] for other in sides if other != side), last)
    return " ".join([*words_before, noun])


def _shared_topic(analysis: Analysis) -> str:
    """The terms of the question that belong to no side and do not just ask to compare."""
    named = {stem for side in analysis.sides for stem in parse(side).stems} | _COMPARING
    return " ".join(term for term in analysis.terms if not named.issuperset(parse(term).stems))


def _about(side: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that hold every word of the side's name, in title, heading or text."""
    name = parse(side).stem_set
    return [
        hit
        for hit in hits
        if name.issubset(parse(f"{hit.passage.context}\n{hit.passage.text}").stems)
    ]


def _of_few_sources(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of the first few documents only."""
    sources = dict.fromkeys(hit.document.id for hit in hits)
    few = set(list(sources)[:MOST_SOURCES])
    return [hit for hit in hits if hit.document.id in few]


def _all(several: Iterable[Sequence[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for each in several for one in each))
