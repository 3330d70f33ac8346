"""Queries with known relevance: what ``retrieval.py`` and its sets share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchmarks.homes import Write
from wellread.evaluation import scores as measures
from wellread.evaluation.scores import Measure, Ranking
from wellread.kb import KnowledgeBase
from wellread.types import Candidate, Span

Place = tuple[str, Span]  # (document id, span of its stored text)

# A measure of where the first passage of the right document stands; not one of a ranking.
PLACE = "place right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query and what is relevant to it.

    Attributes:
        grades: target to its worth. Targets are document ids, or names in ``spans``.
        spans: where the targets stand, when a passage and not a document is looked for.
        place: where in the right document the answer stands, when that is measured too.
    """

    id: str
    text: str
    grades: Mapping[str, float]
    spans: Mapping[str, Place] = field(default_factory=dict)
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSet:
    """A base and the queries put to it; the first measure is the one to compare by."""

    name: str
    about: str
    write: Write
    queries: Callable[[KnowledgeBase], Sequence[Query]]
    measures: Mapping[str, Measure]


def at(depth: int, *names: str) -> dict[str, Measure]:
    """Measures at ``depth``, by name: ``hit``, ``recall``, ``every``, ``ndcg``."""
    known = {
        "hit": measures.hit_rate,
        "recall": measures.recall,
        "every": measures.all_met,
        "ndcg": measures.ndcg,
    }
    return {f"{name}@{depth}": partial(known[name], depth=depth) for name in names}


def ranking(query: Query, found: Sequence[Candidate]) -> Ranking:
    """What each place of the list meets.

    Documents are ranked by their best passage, so that only the first passage of each counts;
    spans are met by every passage that overlaps them.
    """
    if not query.spans:
        seen = dict.fromkeys(candidate.document_id for candidate in found)
        return [frozenset({document}) for document in seen]
    return [
        frozenset(
            target
            for target, (document, span) in query.spans.items()
            if candidate.document_id == document and candidate.span.overlaps(span)
        )
        for candidate in found
    ]


def place_right(query: Query, found: Sequence[Candidate]) -> float:
    """1 when the best passage of the right document overlaps the right place, else 0."""
    if query.place is None:
        return 0.0
    document, span = query.place
    for candidate in found:
        if candidate.document_id == document:
            return float(candidate.span.overlaps(span))
    return 0.0
