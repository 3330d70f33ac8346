"""The whole list that a question asks for, out of the documents that were found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from wellread.answers import Evidence
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.understand.asked_list import (
    LEAST,
    AskedList,
    asked_list,
    fits_of,
    read_list,
)
from wellread.ask.understand.text_lists import Listing
from wellread.ask.understand.text_lists import listings_of as text_lists
from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.questions import Analysis
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Hit, ListRank, Passage, Span

DOCUMENTS = 6  # of the best hits whose lists are looked at
LONGEST = 300_000  # characters of one
ITEMS = 24  # of one list that are told
WHOLE = 3_000  # characters up to which a list is one piece; of a longer one the items' beginnings
NEARER = 0.15  # what the rank of its document counts
_BETWEEN = re.compile(r"[-_.]+")
LISTED = "asked list"
"""The name of the rank by which a hit is known as the list that is asked for, or an item of it."""


def with_asked_list(kb: KnowledgeBase, analysis: Analysis, found: Retrieval) -> Retrieval:
    """``found`` with the list that the question asks for, where one of its documents has it."""
    asked = asked_list(analysis.subject if analysis.document_limit else analysis.question)
    if not found.hits or (asked is None and len(analysis.sides) < 2):
        return found
    read = list(_read(kb, found.hits))
    lists = _rows(analysis, read) if len(analysis.sides) > 1 else _lists(asked, read)
    best = max(lists, key=lambda one: one.fit, default=None)
    if best is None:
        return found
    passages = kb.catalogue.passages_of([best.facts.id])
    holding = [one for one in passages if one.version == best.facts.version]
    made = [_hit(best, span, holding, rank) for rank, span in enumerate(best.pieces, 1)]
    hits = [hit for hit in made if hit is not None]
    rest = [hit for hit in found.hits if not any(_inside(hit, one) for one in hits)]
    whole = len(hits) == 1
    return replace(found, hits=(*hits, *rest) if whole else (*rest, *hits))


def is_listed(piece: Evidence) -> bool:
    """Whether the piece is the list that is asked for, or an item of it."""
    return any(rank.name == LISTED for rank in piece.hit.ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A list with how well it fits, and the pieces in which it is given."""

    fit: float
    facts: DocumentFacts
    text: str
    pieces: tuple[Span, ...]
    score: float
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A list of a document that was found."""

    listing: Listing
    text: str
    above: tuple[str, ...]
    hit: Hit
    top: float

    def found(self, fit: float, pieces: tuple[Span, ...]) -> _Found:
        """The list as it is told, for a question that it fits so well."""
        return _Found(
            fit=fit + NEARER * self.hit.score / self.top,
            facts=self.hit.document,
            text=self.text,
            pieces=pieces,
            score=self.top,
            similarity=self.hit.similarity,
        )


def _read(kb: KnowledgeBase, hits: Sequence[Hit]) -> Iterator[_Read]:
    """The lists of the documents of the best hits."""
    first = {hit.document.id: hit for hit in reversed(hits) if hit.document.kind not in _SPOKEN}
    near = [known for known in dict.fromkeys(hit.document.id for hit in hits) if known in first]
    facts = [first[known].document for known in near[:DOCUMENTS]]
    spans = [(one.id, Span(start=0, end=min(LONGEST, one.characters))) for one in facts]
    texts, marks = kb.catalogue.texts(spans), kb.catalogue.marks_over(spans)
    top = max(hit.score for hit in hits) or 1.0
    for one, text, held in zip(facts, texts, marks, strict=True):
        headings = Marks(held)
        for listing in text_lists(text):
            above = headings.heading(listing.items[0])
            yield _Read(listing=listing, text=text, above=above, hit=first[one.id], top=top)


def _lists(asked: AskedList | None, read: Sequence[_Read]) -> Iterator[_Found]:
    """The lists that are what is asked for."""
    if asked is None:
        return
    held = [read_list(one.listing, one.text, _called(one.hit.document), one.above) for one in read]
    for one, fit in zip(read, fits_of(asked, held), strict=True):
        if fit >= LEAST:
            yield one.found(fit, _pieces(one.listing, one.text))


def _called(document: DocumentFacts) -> str:
    """The title, and the name of the file: "Rules" in ``tool-library.html`` are a library's."""
    file = PurePosixPath(unquote(urlsplit(document.uri).path)).stem
    return f"{document.title} {_BETWEEN.sub(' ', file)}"


def _rows(analysis: Analysis, read: Sequence[_Read]) -> Iterator[_Found]:
    """The rows about each of the compared, of tables with a column for what is compared."""
    sides = [parse(side).stem_set for side in analysis.sides]
    aspect = analysis.parsed.stem_set.difference(*sides)
    for one in read:
        header = one.listing.lead
        if not one.listing.table or header is None:
            continue
        rows = [
            next((row for row in one.listing.items if side <= _first(row.of(one.text))), None)
            for side in sides
        ]
        told = [row for row in dict.fromkeys(rows) if row is not None]
        fit = len(aspect & parse(header.of(one.text)).stem_set) / max(1, len(aspect))
        if fit and len(told) == len(sides):
            yield one.found(fit, (header, *sorted(told, key=lambda row: row.start)))


def _first(row: str) -> frozenset[str]:
    return parse(row.partition(" | ")[0]).stem_set


_SPOKEN = ("transcript", "qa")


def _pieces(listing: Listing, text: str) -> tuple[Span, ...]:
    """The list as one piece, or, where it is long or spread, its lead and each item's beginning."""
    span = listing.span
    if not listing.spread and span.end - span.start <= WHOLE:
        return (span,)
    lead = [listing.lead] if listing.lead else []
    return (*lead, *(_beginning(item, text) for item in listing.items[:ITEMS]))


def _beginning(item: Span, text: str) -> Span:
    first = sentence_spans(item.of(text))[0]
    return Span(start=item.start + first.start, end=item.start + first.end)


def _hit(found: _Found, span: Span, passages: Sequence[Passage], rank: int) -> Hit | None:
    """The piece at ``span`` as a hit of the passage in which it begins."""
    holding = next((one for one in passages if one.span.start <= span.start < one.span.end), None)
    if holding is None:
        return None
    return Hit(
        passage=replace(holding, span=span, text=span.of(found.text)),
        document=found.facts,
        score=found.score,
        ranks=(ListRank(name=LISTED, rank=rank, score=found.fit),),
        similarity=found.similarity,
    )


def _inside(hit: Hit, other: Hit) -> bool:
    one, two = hit.passage, other.passage
    inner = two.span.start <= one.span.start and one.span.end <= two.span.end
    return one.document_id == two.document_id and inner
