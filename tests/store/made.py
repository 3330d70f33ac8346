"""Documents and citations of a small collection, as tests of the stores need them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from wellread.identity import document_id, version_of
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Box, Document, Locator, Span
from wellread.values.answers import Citation, VerdictName


def known(name: str) -> str:
    """The id of the document of that name."""
    return document_id("main", f"file:///{name}")


def change(
    name: str, text: str = "Some words.", *, source: str = "", **fields: Any
) -> SourceChange:
    """A document without passages, from a source of its own unless one is given."""
    values = {"uri": f"file:///{name}", "kind": "page", "title": name} | fields
    return SourceChange(
        record=SourceRecord(collection="main", uri=source or name),
        documents=[
            DocumentChange(document=Document(collection="main", text=text, **values), passages=[])
        ],
    )


def citation(number: int, name: str, text: str, span: Span) -> Citation:
    """The whole of a document's text, cited by a stretch of an answer."""
    return Citation(
        id=number,
        document_id=known(name),
        version=version_of(text, ()),
        title=name,
        url="u",
        link="u#page=3",
        kind="page",
        source_type="md",
        published_at=datetime(2025, 1, 2, tzinfo=UTC),
        relevance=0.5,
        locator=Locator(
            label="p. 3", page=3, box=Box(left=0.1, top=0, right=1, bottom=1), heading=("A", "B")
        ),
        quote=text,
        answer_span=span,
        source_span=Span(start=0, end=len(text)),
        verdict=VerdictName.SUPPORTED,
    )
