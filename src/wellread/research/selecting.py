"""Which sentences a report is made of: as many cells of facet × source as they can fill.

The choice is greedy: each time the sentence that adds most, by its score, whether its document
and its facet are still without one, and how far it says what no chosen one says (maximum coverage
with diversity; after Lin and Bilmes, "A Class of Submodular Functions for Document Summarization",
ACL 2011).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.ask.retrieve.ranking import overlap
from wellread.reports import Facet, FacetKind
from wellread.research.candidates import Candidate, Candidates

NEW_DOCUMENT, NEW_FACET = 0.6, 0.6  # of its score that a sentence gains
LEAST = 0.12  # of the best score, from which a sentence is worth a place
LATER: Mapping[FacetKind, int] = {"bridge": 1, "question": 2}
"""Facets that get what none of the others was found for; the question as a whole comes last."""
SAME = 0.55  # share of words in common, from which a sentence says nothing new


def _rank(kind: FacetKind) -> int:
    return LATER.get(kind, 0)


def _within(day: datetime | None, period: Facet) -> bool:
    since, until = period.filters.published_from, period.filters.published_to
    return bool(day and since and until and since <= day <= until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A sentence of the report and the facet whose section it stands in."""

    candidate: Candidate
    facet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much a report may hold: sentences in all, of one document and of one facet."""

    sentences: int
    of_a_document: int
    of_a_facet: int


def select(candidates: Candidates, facets: Sequence[Facet], room: Room) -> list[Selected]:
    """The sentences to deliver, in the order in which they were chosen."""
    kinds = {one.id: one.kind for one in facets}
    periods = [one for one in facets if one.kind == "period"]
    left = list(candidates.ranked)
    least = LEAST * left[0].score if left else 0.0
    chosen: list[Selected] = []
    documents: Counter[str] = Counter()
    filled: Counter[str] = Counter()

    def document(one: Candidate) -> str:
        return candidates.evidence[one.option.evidence].hit.document.id

    def facet_of(one: Candidate) -> str:
        """The facet with the fewest sentences that it was found for; a special one first."""
        dated = candidates.evidence[one.option.evidence].hit.document.published_at
        own = [*one.facets, *(each.id for each in periods if _within(dated, each))]
        rank = min(_rank(kinds[known]) for known in own)
        own = [known for known in own if _rank(kinds[known]) == rank]
        return min(own, key=lambda known: (filled[known] > 0, own.index(known)))

    while left and len(chosen) < room.sentences:
        best, value, at = None, 0.0, -1
        for place, one in enumerate(left):
            if one.score * (1 + NEW_DOCUMENT + NEW_FACET) <= value:
                break  # the list falls; nothing behind can be worth more
            facet = facet_of(one)
            gain = one.score * (
                1 + NEW_DOCUMENT * (not documents[document(one)]) + NEW_FACET * (not filled[facet])
            )
            if gain > value:
                best, value, at = Selected(candidate=one, facet=facet), gain, place
        if best is None or best.candidate.score < least:
            break
        left.pop(at)
        source = document(best.candidate)
        if documents[source] >= room.of_a_document or filled[best.facet] >= room.of_a_facet:
            continue
        stems = best.candidate.option.stems
        if any(overlap(stems, one.candidate.option.stems) >= SAME for one in chosen):
            continue
        documents[source] += 1
        filled[best.facet] += 1
        chosen.append(best)
    return chosen
