"""Renders a catalogue result as a reply: its sentence, a cited line for each row, and a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from wellread.ask.aggregate.query import AggregateKind, AggregateResult, Place, Row
from wellread.ask.deliver.cite import CitedText, Source
from wellread.ask.deliver.reply import flagged_note, notes_of
from wellread.ask.retrieve.rated_questions import flagged_of_documents
from wellread.ask.verify.check_claims import is_quotation
from wellread.ask.verify.confidence import confidence_of_catalogue
from wellread.errors import StoreError
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.sentences import QUOTABLE_CHARS, first_sentence, is_sentence
from wellread.types import DocumentFacts, Span
from wellread.values.answers import CATALOGUE, Answer, Table, Verdict, VerdictName
from wellread.values.locators import Marks
from wellread.values.question import Analysis

MAX_ROWS = 25  # rows in the text; the table has all
MAX_CITED = 3  # documents cited per row
FROM_METADATA = "counted from metadata; the quotation does not say it"
TRIES = 3  # attempts at reading the cited texts, since documents may be removed meanwhile

_NUMBER = re.compile(r"[\d.,]+(?: ?%)?")
Cited = tuple[str, Place | None]  # a document id, and the place to quote from it


def aggregate_reply(kb: KnowledgeBase, result: AggregateResult, analysis: Analysis) -> Answer:
    """Build the reply for a catalogue result.

    Its sentences have verdicts with the method ``catalogue``, as they were counted, not read. A row
    that its quotations do not support is ``not_checked``; a sentence quoted verbatim is ``quoted``.
    """
    rows = result.rows[:MAX_ROWS]
    lines = [_line(row, result.columns) for row in rows]
    ids = {document_id for row in result.rows for document_id in row.document_ids}
    all_flagged, *flagged = flagged_of_documents(kb, [ids, *(row.document_ids for row in rows)])
    allowed = [row for at, row in enumerate(rows) if at not in flagged[at].places(lines)]
    sources = _load_sources(kb, allowed, result)
    verdict = Verdict(name=VerdictName.SUPPORTED, method=CATALOGUE, score=1.0, reason=result.method)
    quoted = replace(verdict, name=VerdictName.QUOTED)
    not_quoted = replace(
        verdict, name=VerdictName.NOT_CHECKED, reason=f"{FROM_METADATA}: {result.method}"
    )
    page = CitedText(kb)
    has_sentence = result.sentence and not all_flagged.holds(result.sentence)
    if has_sentence:
        page.say(result.sentence, verdict, ())
    separator = " " if result.kind == "text" else "\n- "
    for row in allowed:
        page.text += separator if page.text else separator.strip("\n ")
        cited = [sources[place] for place in _cited_places(row) if place in sources]
        supported = row.shown and (
            result.kind == "text" or not cited or _is_supported(row, cited, result.kind)
        )
        line = _line(row, result.columns)
        if (
            supported
            and is_sentence(line)
            and any(is_quotation(line, source.quote) for source in cited)
        ):
            page.say(line, quoted, cited)
        else:
            page.say(line, verdict if supported else not_quoted, cited)
    if len(result.rows) > MAX_ROWS:
        page.text += f"\n\n{len(result.rows) - MAX_ROWS:,} more are in the table."
    sure = confidence_of_catalogue(
        result.method or result.kind, notes_of(analysis, result), result.certainty
    )
    return replace(
        page.answer(CATALOGUE, sure),
        data_gaps=(result.gap or result.sentence,) if result.absent else (),
        table=Table(
            columns=result.columns,
            rows=tuple(row.cells for row in result.rows),
            documents=tuple(row.document_ids for row in result.rows),
            method=result.method,
        )
        if result.kind != "text"
        else None,
        notes=flagged_note(len(rows) - len(allowed) + (bool(result.sentence) and not has_sentence)),
    )


def _is_supported(row: Row, cited: Sequence[Source], kind: AggregateKind) -> bool:
    """Whether the quotations of a row support it.

    True when the row's own passages are quoted, or when the quotations name its subject; a
    relation needs both of its ends named.
    """
    if row.places:
        return True
    cells = row.cells if kind == "relation" else row.cells[:1]
    name_stems = [parse(name).stem_set for cell in cells for name in parse(cell).names or (cell,)]
    return any(
        all(stems <= parse(source.quote).stem_set for stems in name_stems if stems)
        for source in cited
    )


def _line(row: Row, columns: Sequence[str]) -> str:
    """A row as a line of text: its own line, else its first cell with the others in brackets.

    A bare number is preceded by the name of its column.
    """
    first, *others = row.cells
    names = [*columns[1:], *[""] * len(others)]
    described = [
        f"{name.lower()}: {cell}" if name and _NUMBER.fullmatch(cell) else cell
        for name, cell in zip(names, others, strict=False)
        if cell
    ]
    return row.line or (f"{first} ({'; '.join(described)})" if described else first)


def _load_sources(
    kb: KnowledgeBase, rows: Sequence[Row], result: AggregateResult
) -> dict[Cited, Source]:
    """A quotation for each cited document: from the passage found, else from its beginning."""
    cited_places = dict.fromkeys(cited for row in rows for cited in _cited_places(row))
    facts, places, texts = _load_texts(kb, tuple(cited_places), result)
    spans = list(map(first_sentence, texts, places.values()))
    ids = [document_id for document_id, _ in places]
    marks = kb.catalogue.marks_over(list(zip(ids, spans, strict=True)))
    return {
        cited: Source(
            facts=facts[cited[0]],
            quote=text[span.start - place.start : span.end - place.start],
            span=span,
            marks=Marks(document_marks),
        )
        for (cited, place), span, text, document_marks in zip(
            places.items(), spans, texts, marks, strict=True
        )
    }


def _load_texts(
    kb: KnowledgeBase, cited_places: Sequence[Cited], result: AggregateResult, tries: int = TRIES
) -> tuple[dict[str, DocumentFacts], dict[Cited, Span], list[str]]:
    """The facts of the existing documents, and the places and texts to quote from them."""
    passages = {hit.document.id: hit.passage for hit in reversed(result.hits)}
    facts = kb.catalogue.facts({document_id for document_id, _ in cited_places})
    places: dict[Cited, Span] = {}
    for document_id, place in cited_places:
        document, part = facts.get(document_id), place or passages.get(document_id)
        if document is not None and part is not None and part.version == document.version:
            places[document_id, place] = part.span
        elif document is not None and document.characters:
            places[document_id, place] = Span(start=0, end=min(QUOTABLE_CHARS, document.characters))
    try:
        texts = kb.catalogue.texts(
            [(document_id, span) for (document_id, _), span in places.items()]
        )
    except StoreError:  # a document was removed between the two reads
        if tries == 1:
            raise
        return _load_texts(kb, cited_places, result, tries - 1)
    return facts, places, texts


def _cited_places(row: Row) -> tuple[Cited, ...]:
    places = {place.document_id: place for place in row.places}
    documents = tuple(dict.fromkeys(row.document_ids))[:MAX_CITED]
    return tuple((document_id, places.get(document_id)) for document_id in documents)
