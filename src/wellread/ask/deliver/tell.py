"""A result of the catalogue as a reply: its sentence, a cited line for each row, and the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from wellread.ask.aggregate.read.result import AggregateKind, AggregateResult, Place, Row
from wellread.ask.deliver.cite import CitedText, Source
from wellread.ask.deliver.reply import Reply, flagged_note
from wellread.ask.retrieve.rated_questions import flagged_of_documents
from wellread.ask.verify.check_claims import is_quotation
from wellread.errors import StoreError
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.sentences import QUOTED, first_sentence, is_sentence
from wellread.types import DocumentFacts, Span
from wellread.values.answers import CATALOGUE, Table, Verdict, VerdictName
from wellread.values.locators import Marks

SHOWN_ROWS = 25  # in the text; the table has all
CITED_DOCUMENTS = 3  # of one row
FROM_METADATA = "counted from metadata, the quotation does not say it"
TRIES = 3  # of reading what is cited, while documents go

_NUMBER = re.compile(r"[\d.,]+(?: ?%)?")
Cited = tuple[str, Place | None]  # a document, and what to quote of it


def tell(kb: KnowledgeBase, result: AggregateResult) -> Reply:
    """The reply that delivers ``result``.

    The verdict of its sentences is by the method ``catalogue``: they were counted, not read. A row
    whose quotations do not say it is not called supported by them; a
    sentence that they hold word for word is quoted.
    """
    rows = result.rows[:SHOWN_ROWS]
    lines = [_line(row, result.columns) for row in rows]
    every = {known for row in result.rows for known in row.document_ids}
    of_all, *flagged = flagged_of_documents(kb, [every, *(row.document_ids for row in rows)])
    shown = [row for at, row in enumerate(rows) if at not in flagged[at].places(lines)]
    sources = _sources(kb, shown, result)
    verdict = Verdict(name=VerdictName.SUPPORTED, method=CATALOGUE, score=1.0, reason=result.method)
    quoted = replace(verdict, name=VerdictName.QUOTED)
    unread = replace(
        verdict, name=VerdictName.NOT_CHECKED, reason=f"{FROM_METADATA}: {result.method}"
    )
    page = CitedText(kb)
    summed_up = result.sentence and not of_all.holds(result.sentence)
    if summed_up:
        page.say(result.sentence, verdict, ())
    between = " " if result.kind == "text" else "\n- "
    for row in shown:
        page.text += between if page.text else between.strip("\n ")
        cited = [sources[known] for known in _cited(row) if known in sources]
        says = row.shown and (result.kind == "text" or not cited or _says(row, cited, result.kind))
        line = _line(row, result.columns)
        if says and is_sentence(line) and any(is_quotation(line, one.quote) for one in cited):
            page.say(line, quoted, cited)
        else:
            page.say(line, verdict if says else unread, cited)
    if len(result.rows) > SHOWN_ROWS:
        page.text += f"\n\n{len(result.rows) - SHOWN_ROWS:,} more are in the table."
    return Reply(
        text=page.text,
        by=CATALOGUE,
        sentences=tuple(page.sentences),
        citations=tuple(page.citations),
        data_gaps=(result.gap or result.sentence,) if result.absent else (),
        table=_table(result) if result.kind != "text" else None,
        notes=flagged_note(len(rows) - len(shown) + (bool(result.sentence) and not summed_up)),
    )


def _says(row: Row, cited: Sequence[Source], kind: AggregateKind) -> bool:
    """Whether the quotations of a row show what it says.

    They do where its own places are quoted, or else where they name what it is of; of a relation,
    both that it holds between.
    """
    if row.places:
        return True
    named = row.cells if kind == "relation" else row.cells[:1]
    wanted = [parse(name).stem_set for cell in named for name in parse(cell).names or (cell,)]
    return any(
        all(stems <= parse(source.quote).stem_set for stems in wanted if stems) for source in cited
    )


def _table(result: AggregateResult) -> Table:
    return Table(
        columns=result.columns,
        rows=tuple(row.cells for row in result.rows),
        documents=tuple(row.document_ids for row in result.rows),
        method=result.method,
    )


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


def _sources(
    kb: KnowledgeBase, rows: Sequence[Row], result: AggregateResult
) -> dict[Cited, Source]:
    """What can be cited of the rows' documents: the passage that was found, else the beginning."""
    wanted = dict.fromkeys(cited for row in rows for cited in _cited(row))
    facts, places, texts = _texts(kb, tuple(wanted), result)
    quoted = [
        (known, first_sentence(text, span))
        for ((known, _), span), text in zip(places.items(), texts, strict=True)
    ]
    marks = kb.catalogue.marks_over(quoted)
    return {
        cited: Source(
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
    kb: KnowledgeBase, wanted: Sequence[Cited], result: AggregateResult, tries: int = TRIES
) -> tuple[dict[str, DocumentFacts], dict[Cited, Span], list[str]]:
    """The facts of those documents that are there, and of those with a text its cited part."""
    passages = {hit.document.id: hit.passage for hit in reversed(result.hits)}
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
        return _texts(kb, wanted, result, tries - 1)
    return facts, places, texts


def _cited(row: Row) -> tuple[Cited, ...]:
    """The documents of a row that its line cites."""
    places = {place.document_id: place for place in row.places}
    documents = tuple(dict.fromkeys(row.document_ids))[:CITED_DOCUMENTS]
    return tuple((known, places.get(known)) for known in documents)
