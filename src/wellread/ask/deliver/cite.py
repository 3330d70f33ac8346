"""Puts the citations into the text: markers, spans both ways, quotes, places and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wellread.answers import Checked, Citation, Evidence, Sentence, Verdict
from wellread.ask.deliver.citation_style import styled
from wellread.ask.verify.reported_speech import MarksOver
from wellread.kb import KnowledgeBase
from wellread.locators import Marks, link_to
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """An answer's text with its markers, and what stands behind them."""

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]


@dataclass(slots=True)
class _Page:
    """The text under construction."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)


def cite(
    kb: KnowledgeBase, draft: str, checked: Sequence[Checked], evidence: Sequence[Evidence]
) -> Cited:
    """Add a marker after each claim of ``draft`` for every source span that it rests on.

    A claim that is not found in the draft is skipped: only delivered text gets a verdict.
    """
    by_key = {piece.key: piece for piece in evidence}
    sources = sources_of(kb.catalogue.marks_over, list(by_key.values()))
    page = _Page()
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    place = 0
    for item in checked:
        start = draft.find(item.claim.text, place)
        if start < 0:
            continue
        page.add(draft[place:start])
        span = Span(start=page.length, end=page.length + len(item.claim.text))
        page.add(item.claim.text)
        place = start + len(item.claim.text)
        ids = []
        for piece, source in _rests_on(item, by_key):
            citation = sources.citation(piece, source, span, item.verdict, len(citations) + 1)
            known = _same(citations, citation)
            if known is None:
                citations.append(citation)
            ids.append((known or citation).id)
            page.add(f" {_marker(kb, known or citation)}")
        sentences.append(
            Sentence(text=item.claim.text, span=span, verdict=item.verdict, citations=tuple(ids))
        )
    page.add(draft[place:])
    return Cited(text="".join(page.pieces), sentences=tuple(sentences), citations=tuple(citations))


def _rests_on(item: Checked, by_key: dict[str, Evidence]) -> list[tuple[Evidence, Span]]:
    """The evidence that the claim cites, each with the span to open.

    The best span is the verdict's; other cited evidence opens as a whole.
    """
    verdict = item.verdict
    found: list[tuple[Evidence, Span]] = []
    if verdict.key in by_key and verdict.source is not None:
        found.append((by_key[verdict.key], verdict.source))
    for key in item.claim.keys:
        if key in by_key and key != verdict.key:
            found.append((by_key[key], by_key[key].span))
    return found


@dataclass(frozen=True, slots=True)
class Sources:
    """The marks over each piece of evidence, by key: its citations are located by them."""

    marks: dict[str, Marks]

    def citation(
        self, piece: Evidence, source: Span, answer: Span, verdict: Verdict, number: int
    ) -> Citation:
        """The citation of ``source``, a span of the piece's document, for ``answer``."""
        document = piece.hit.document
        locator = self.marks[piece.key].locate(source)
        quote = piece.text[source.start - piece.span.start : source.end - piece.span.start]
        url = document.url or document.uri
        return Citation(
            id=number,
            document_id=document.id,
            version=document.version,
            title=document.title,
            url=url,
            link=link_to(url, locator, quote, media_url=document.media_url),
            kind=document.kind,
            source_type=document.source_type,
            published_at=document.published_at,
            relevance=round(piece.hit.score, 4),
            locator=locator,
            quote=quote,
            answer_span=answer,
            source_span=source,
            verdict=verdict.name,
        )


def sources_of(marks_over: MarksOver, pieces: Sequence[Evidence]) -> Sources:
    """``pieces`` ready to be cited, in one look-up of their marks."""
    marks = marks_over([(piece.hit.document.id, piece.span) for piece in pieces])
    return Sources({piece.key: Marks(found) for piece, found in zip(pieces, marks, strict=True)})


def _same(citations: Sequence[Citation], other: Citation) -> Citation | None:
    for citation in citations:
        if (citation.document_id, citation.source_span) == (
            other.document_id,
            other.source_span,
        ):
            return citation
    return None


def _marker(kb: KnowledgeBase, citation: Citation) -> str:
    """The rendered form of a citation (``citations.style``)."""
    return styled(kb, citation, kb.settings.citations.style)
