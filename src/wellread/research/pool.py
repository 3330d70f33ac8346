"""The passages that a run has read, and for which facets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from wellread.answers import Evidence
from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.models.base import Excerpt
from wellread.types import Hit

WORDS = 0.65  # of how near a passage is to the question; the rest is the cosine
BEHIND = 6  # documents of the question's own search that stand before what they lead on to


@dataclass(slots=True)
class Pool:
    """Passages by id, each with the facets that it was found for and its rank there, from 1."""

    hits: dict[str, Hit] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        """Put the hits of one search in, best first; how many were not there yet."""
        new = 0
        for rank, hit in enumerate(hits, 1):
            known = self.hits.get(hit.passage.id)
            if known is None:
                new += 1
            if known is None or (hit.similarity or 0.0) > (known.similarity or 0.0):
                self.hits[hit.passage.id] = hit
            places = self.ranks.setdefault(hit.passage.id, {})
            places[facet] = min(rank, places.get(facet, rank))
        return new

    def first_of(self, most: int) -> list[Hit]:
        """The best passage of each of the first documents of the question's own search."""
        first = next(iter(self.ranks.values()), {})
        facet = next(iter(first), "")
        own = [known for known, places in self.ranks.items() if facet in places]
        best: dict[str, Hit] = {}
        for known in sorted(own, key=lambda one: self.ranks[one][facet]):
            best.setdefault(self.hits[known].document.id, self.hits[known])
        return list(best.values())[:most]

    def titles(self, most: int) -> list[str]:
        """What these documents are called, without what tells them from others of the name."""
        return [hit.document.title.partition(" (")[0] for hit in self.first_of(most)]

    def documents(self, led: Collection[str] = ()) -> list[str]:
        """The ids of the documents: by their place in the searches for them.

        Args:
            led: facets that the evidence led on to; their documents come behind the first six.
        """
        order: dict[str, dict[str, int]] = {}
        for known, places in self.ranks.items():
            document = self.hits[known].document.id
            for facet, rank in places.items():
                held = order.setdefault(facet, {})
                held[document] = min(rank, held.get(document, rank))
        best: dict[str, float] = {}
        for number, (facet, ranks) in enumerate(order.items()):
            behind = BEHIND - 0.5 if facet in led else 0 if not number else BEHIND + 1
            for place, document in enumerate(sorted(ranks, key=lambda one: ranks[one])):
                value = place + behind
                best[document] = min(value, best.get(document, value))
        return sorted(best, key=lambda one: best[one])

    def nearness(
        self, kb: KnowledgeBase, text: str, facets: Collection[str] = ()
    ) -> dict[str, float]:
        """How near each passage is to ``text``, 0-1, by words and by the cosine of its search.

        Args:
            facets: only the passages found for one of them; all when empty.
        """
        hits = [
            hit
            for known, hit in self.hits.items()
            if not facets or not self.ranks[known].keys().isdisjoint(facets)
        ]
        read = [Excerpt(text=hit.passage.text, title=hit.passage.context) for hit in hits]
        close = kb.lexical.relevance(text, read).tolist()
        return {
            hit.passage.id: WORDS * words + (1 - WORDS) * max(0.0, hit.similarity or 0.0)
            for hit, words in zip(hits, close, strict=True)
        }


def evidence_of(kb: KnowledgeBase, hits: Iterable[Hit]) -> list[Evidence]:
    """Whole passages as evidence, ``e1``, ``e2``, ... in their order.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    chosen = list(hits)
    marks = kb.catalogue.marks_over([(one.passage.document_id, one.passage.span) for one in chosen])
    found = []
    for number, (hit, held) in enumerate(zip(chosen, marks, strict=True), 1):
        placed = Marks(held)
        found.append(
            Evidence(
                key=f"e{number}",
                hit=hit,
                text=hit.passage.text,
                span=hit.passage.span,
                locator=placed.locate(hit.passage.span),
                turns=placed.turns(hit.passage.span),
            )
        )
    return found
