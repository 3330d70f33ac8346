"""Puts an exhaustive result into words: a sentence, a list with citations, and the whole table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wellread.answers import RELAXED, Citation, Confidence, Sentence, Table, Verdict, VerdictName
from wellread.ask.deliver.citation_style import styled
from wellread.ask.deliver.reply import Reply
from wellread.ask.retrieve.retrieval import AggregateResult, Place, Retrieval, Row
from wellread.errors import StoreError
from wellread.kb import KnowledgeBase
from wellread.locators import Marks, link_to
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Span

CATALOGUE = "catalogue"
SHOWN_ROWS = 25  # in the text; the table has all
SENTENCE_WORDS = 4  # at least, of what is quoted as a sentence
CITED_DOCUMENTS = 3  # of one row
QUOTED = 400  # characters of a document's beginning that a quote is taken from
TRIES = 3  # of reading what is cited, while documents go
SURE = 0.95

_NUMBER = re.compile(r"[\d.,]+(?: ?%)?")
Cited = tuple[str, Place | None]  # a document, and what to quote of it


def tell(kb: KnowledgeBase, tally: AggregateResult, found: Retrieval) -> Reply:
    """The reply that delivers ``tally``.

    The verdict of its sentences is by the method ``catalogue``: they were counted, not read.
    """
    shown = tally.rows[:SHOWN_ROWS]
    page = _Page(kb=kb, sources=_sources(kb, shown, found), method=tally.method)
    page.say(tally.sentence, ())
    for row in shown:
        page.text += "\n- "
        page.say(_line(row, tally.columns), _cited(row))
    if len(tally.rows) > len(shown):
        page.text += f"\n\n{len(tally.rows) - len(shown):,} more are in the table."
    return Reply(
        text=page.text,
        by=CATALOGUE,
        sentences=tuple(page.sentences),
        citations=tuple(page.citations),
        data_gaps=(tally.gap or tally.sentence,) if tally.absent else (),
        table=_table(tally),
    )


def _table(tally: AggregateResult) -> Table:
    return Table(
        columns=tally.columns,
        rows=tuple(row.cells for row in tally.rows),
        documents=tuple(row.document_ids for row in tally.rows),
        method=tally.method,
    )


def sureness(tally: AggregateResult, notes: Sequence[str]) -> Confidence:
    """An exhaustive result is sure, unless there is something to say of how it was found."""
    if notes:
        reason = f"worked out from the whole catalogue, but {'; '.join(notes)}"
        return Confidence(score=RELAXED, band="medium", reasoning=reason)
    reason = f"worked out from the whole catalogue: {tally.method or tally.kind}"
    return Confidence(score=SURE, band="high", reasoning=reason)


@dataclass(slots=True)
class _Source:
    """What is cited of a document: its facts, a quotation and its place."""

    facts: DocumentFacts
    quote: str
    span: Span
    marks: Marks


@dataclass(slots=True)
class _Page:
    """The reply under construction."""

    kb: KnowledgeBase
    sources: dict[Cited, _Source]
    method: str
    text: str = ""
    sentences: list[Sentence] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)

    def say(self, text: str, cited: Iterable[Cited]) -> None:
        """Add a sentence and its citations."""
        span = Span(start=len(self.text), end=len(self.text) + len(text))
        self.text += text
        numbers = []
        for known in cited:
            if known in self.sources:
                citation = self._citation(self.sources[known], span)
                numbers.append(citation.id)
                self.text += f" {styled(self.kb, citation, self.kb.settings.citations.style)}"
        verdict = Verdict(
            name=VerdictName.SUPPORTED, method=CATALOGUE, score=1.0, reason=self.method
        )
        self.sentences.append(
            Sentence(text=text, span=span, verdict=verdict, citations=tuple(numbers))
        )

    def _citation(self, source: _Source, answer: Span) -> Citation:
        for known in self.citations:
            if (known.document_id, known.source_span) == (source.facts.id, source.span):
                return known
        facts = source.facts
        locator = source.marks.locate(source.span)
        url = facts.url or facts.uri
        citation = Citation(
            id=len(self.citations) + 1,
            document_id=facts.id,
            version=facts.version,
            title=facts.title,
            url=url,
            link=link_to(url, locator, source.quote, media_url=facts.media_url),
            kind=facts.kind,
            source_type=facts.source_type,
            published_at=facts.published_at,
            relevance=1.0,
            locator=locator,
            quote=source.quote,
            answer_span=answer,
            source_span=source.span,
            verdict=VerdictName.SUPPORTED,
        )
        self.citations.append(citation)
        return citation


def _line(row: Row, columns: Sequence[str]) -> str:
    """A row as a line: as it says itself, else its first cell, then the others with a value.

    A number alone says nothing, so it is told what it counts.
    """
    first, *others = row.cells
    names = [*columns[1:], *[""] * len(others)]
    said = [
        f"{name.lower()}: {cell}" if name and _NUMBER.fullmatch(cell) else cell
        for name, cell in zip(names, others, strict=False)
        if cell
    ]
    return row.line or (f"{first} ({'; '.join(said)})" if said else first)


def _sources(kb: KnowledgeBase, rows: Sequence[Row], found: Retrieval) -> dict[Cited, _Source]:
    """What can be cited of the rows' documents: the passage that was found, else the beginning."""
    wanted = dict.fromkeys(cited for row in rows for cited in _cited(row))
    facts, places, texts = _texts(kb, tuple(wanted), found)
    quoted = [
        (known, first_sentence(text, span))
        for ((known, _), span), text in zip(places.items(), texts, strict=True)
    ]
    marks = kb.catalogue.marks_over(quoted)
    return {
        cited: _Source(
            facts=facts[known],
            quote=text[span.start - whole.start : span.end - whole.start],
            span=span,
            marks=Marks(held),
        )
        for (cited, whole), (known, span), text, held in zip(
            places.items(), quoted, texts, marks, strict=True
        )
    }


def _texts(
    kb: KnowledgeBase, wanted: Sequence[Cited], found: Retrieval, tries: int = TRIES
) -> tuple[dict[str, DocumentFacts], dict[Cited, Span], list[str]]:
    """The facts of those documents that are there, and of those with a text its cited part.

    Raises:
        StoreError: documents go again and again while they are read.
    """
    passages = {hit.document.id: hit.passage for hit in reversed(found.hits)}
    facts = kb.catalogue.facts({known for known, _ in wanted})
    places: dict[Cited, Span] = {}
    for known, place in wanted:
        there, part = facts.get(known), place or passages.get(known)
        if there is not None and part is not None and part.version == there.version:
            places[known, place] = part.span
        elif there is not None and there.characters:
            places[known, place] = Span(start=0, end=min(QUOTED, there.characters))
    try:
        texts = kb.catalogue.texts([(known, span) for (known, _), span in places.items()])
    except StoreError:  # one went between the two looks
        if tries == 1:
            raise
        return _texts(kb, wanted, found, tries - 1)
    return facts, places, texts


def _cited(row: Row) -> tuple[Cited, ...]:
    """The documents of a row that its line cites."""
    places = {place.document_id: place for place in row.places}
    documents = tuple(dict.fromkeys(row.document_ids))[:CITED_DOCUMENTS]
    return tuple((known, places.get(known)) for known in documents)


def first_sentence(text: str, place: Span) -> Span:
    """The first whole sentence of ``text``, which stands at ``place`` of its document.

    A heading says less than the sentence after it, so it is taken only where nothing follows.
    """
    spans = sentence_spans(text) or [Span(start=0, end=len(text))]
    first = next((span for span in spans if _is_sentence(span.of(text))), spans[0])
    return Span(start=place.start + first.start, end=place.start + first.end)


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= SENTENCE_WORDS and text.rstrip("\"'”’)").endswith((".", "!", "…"))
