"""From a document and its passages to the rows that the index keeps."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.store.base import IndexRow
from wellread.types import Document, Passage


def index_rows(document: Document, passages: Sequence[Passage]) -> list[IndexRow]:
    """What the index keeps of ``passages`` of ``document``."""
    taxonomy = tuple(
        f"{name}={value}" for name, values in document.taxonomy.items() for value in values
    )
    return [
        IndexRow(
            passage_id=passage.id,
            document_id=passage.document_id,
            version=passage.version,
            span=passage.span,
            collection=document.collection,
            kind=document.kind,
            text=passage.text,
            context=passage.context,
            source_type=document.source_type,
            language=document.language,
            authors=document.authors,
            speakers=passage.speakers,
            taxonomy=taxonomy,
            published_at=document.published_at,
        )
        for passage in passages
    ]
