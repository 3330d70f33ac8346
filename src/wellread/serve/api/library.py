"""``GET /api/documents`` and ``GET /api/videos``: what there is, and each of it whole."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from wellread.kb import KnowledgeBase
from wellread.library.document_lists import listed, whole
from wellread.library.recordings import recordings, transcript
from wellread.serve.api.lookup_schemas import (
    DocumentsBody,
    RecordingsBody,
    TranscriptBody,
    WholeDocumentBody,
)
from wellread.serve.api.queries import DocumentQuery, ListQuery, TranscriptQuery
from wellread.serve.api.search import REFUSED
from wellread.serve.lookups import (
    documents_body,
    recordings_body,
    transcript_body,
    whole_document_body,
)
from wellread.serve.timecodes import seconds_of


def library_router(kb: KnowledgeBase) -> APIRouter:
    """The routes over ``kb``."""
    router = APIRouter(responses=REFUSED)

    @router.get("/api/documents", response_model=DocumentsBody)
    def documents(asked: Annotated[ListQuery, Query()]) -> DocumentsBody:
        """The documents that meet the limits, a page of them."""
        page = listed(
            kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order
        )
        return documents_body(page, asked.offset)

    # An id, a title, or an address with slashes.
    @router.get("/api/documents/{name:path}", response_model=WholeDocumentBody)
    def document(name: str, asked: Annotated[DocumentQuery, Query()]) -> WholeDocumentBody:
        """The document with this id, title or address."""
        return whole_document_body(whole(kb, name, asked.collections), text=asked.text)

    @router.get("/api/videos", response_model=RecordingsBody)
    def videos(asked: Annotated[ListQuery, Query()]) -> RecordingsBody:
        """Transcripts, and what else has a recording, a page of them."""
        found = recordings(
            kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order
        )
        return recordings_body(found, asked.offset)

    @router.get("/api/videos/{name:path}/transcript", response_model=TranscriptBody)
    def whole_transcript(name: str, asked: Annotated[TranscriptQuery, Query()]) -> TranscriptBody:
        """The recording turn by turn, or the turns of one speaker or some time."""
        found = transcript(
            kb,
            name,
            collections=asked.collections,
            speaker=asked.speaker,
            since=seconds_of(asked.from_) if asked.from_ else None,
            until=seconds_of(asked.to) if asked.to else None,
        )
        return transcript_body(found)

    return router
