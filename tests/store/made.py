"""Documents, citations and answers of a small collection, as tests of what is kept need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from wellread.identity import document_id, passage_id, version_of
from wellread.store.catalogue import Catalogue
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Box, Document, Locator, Passage, Span
from wellread.values.answers import Answer, Citation, Confidence, VerdictName


def known(name: str) -> str:
    """The id of the document of that name."""
    return document_id("main", f"file:///{name}")


def kept(document: Document, passages: Sequence[Passage] = (), source: str = "") -> SourceChange:
    """The document with its passages, from a source of its own unless one is named."""
    record = SourceRecord(collection=document.collection, uri=source or document.uri)
    change = DocumentChange(document=document, passages=passages)
    return SourceChange(record=record, documents=[change])


def put(catalogue: Catalogue, *documents: Document) -> None:
    """Keep the documents, without passages."""
    for one in documents:
        catalogue.commit([kept(one)])


def passages_of(document: Document, spans: Iterable[Span], **facts: Any) -> list[Passage]:
    """A passage of the document for each span."""
    key = document_id(document.collection, document.uri)
    version = version_of(document.text, document.marks)
    return [
        Passage(
            id=passage_id(key, version, span),
            document_id=key,
            version=version,
            span=span,
            text=span.of(document.text),
            **facts,
        )
        for span in spans
    ]


def change(
    name: str, text: str = "Some words.", *, source: str = "", **fields: Any
) -> SourceChange:
    """A document without passages, from a source of its own unless one is given."""
    values = {"uri": f"file:///{name}", "kind": "page", "title": name} | fields
    return kept(Document(collection="main", text=text, **values), source=source or name)


def citation_of(number: int = 1, **fields: Any) -> Citation:
    """A citation of a page; ``fields`` stand in for its own."""
    plain: dict[str, Any] = {
        "id": number,
        "document_id": "doc_1",
        "version": "ver_1",
        "title": "Ferry",
        "url": "u",
        "link": "u",
        "kind": "page",
        "source_type": "",
        "published_at": None,
        "relevance": 1.0,
        "locator": Locator(label=""),
        "quote": "",
        "answer_span": Span(start=0, end=1),
        "source_span": Span(start=0, end=1),
        "verdict": VerdictName.SUPPORTED,
    }
    return Citation(**plain | fields)


def citation(number: int, name: str, text: str, span: Span) -> Citation:
    """The whole of a document's text, cited by a stretch of an answer."""
    return citation_of(
        number,
        document_id=known(name),
        version=version_of(text, ()),
        title=name,
        link="u#page=3",
        source_type="md",
        published_at=datetime(2025, 1, 2, tzinfo=UTC),
        relevance=0.5,
        locator=Locator(
            label="p. 3", page=3, box=Box(left=0.1, top=0, right=1, bottom=1), heading=("A", "B")
        ),
        quote=text,
        answer_span=span,
        source_span=Span(start=0, end=len(text)),
    )


def answer_of(**fields: Any) -> Answer:
    """An answer of nothing; ``fields`` stand in for its own."""
    plain: dict[str, Any] = {
        "id": "ans_1",
        "question": "?",
        "text": "",
        "citations": (),
        "sentences": (),
        "confidence": Confidence(score=0.5, band="medium", reasoning=""),
        "answered_by": "extractive",
    }
    return Answer(**plain | fields)
