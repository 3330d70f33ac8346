"""Routes that list documents and recordings, and that return documents and transcripts."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any

from fastapi import Query, Request

from wellread.library.named_things import WholeDocument, list_documents, load_document
from wellread.library.recordings import Cue, Recording, Transcript, Turn, recordings, transcript
from wellread.serve.features.feature import FeatureRouter, ListQuery, Scope
from wellread.serve.guards.route_rules import Kb, note_opened
from wellread.serve.views import (
    FACES,
    Shape,
    address_of,
    document_view,
    source_link,
    view_url_of_span,
)
from wellread.store.catalogue.documents.entity_graph import EntityMentions
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.text.periods import seconds_of
from wellread.types import DocumentFacts

router = FeatureRouter("read")

# --- documents and recordings ----------------------------------------------------------------


def _addresses(path: str) -> dict[str, Any]:
    """Return the computed fields ``url`` and ``view_url`` of the document at ``path``."""
    document: Callable[[Any], DocumentFacts] = attrgetter(path)
    return {
        "url": (str, lambda value: address_of(document(value))),
        "view_url": (str, lambda value: document_view(document(value).id)),
    }


FACES.show(
    ListedDocument,
    """document_id=facts.id collection=facts.collection uri=facts.uri kind=facts.kind
    title=facts.title url view_url source_type=facts.source_type language=facts.language
    authors=facts.authors published_at=facts.published_at added_at media_url=facts.media_url
    summary taxonomy characters=facts.characters passages""",
    **_addresses("facts"),
)
FACES.show(EntityMentions, "*node mentions", mentions=(int, lambda entity: len(entity.places)))
FACES.show(
    Recording,
    """document_id=document.facts.id collection=document.facts.collection kind=document.facts.kind
    title=document.facts.title url view_url media_url=document.facts.media_url
    language=document.facts.language published_at=document.facts.published_at duration speakers
    segments=document.passages""",
    **_addresses("document.facts"),
)
FACES.show(Cue, "source_span=span begin finish")


class SpokenTurn(
    Shape,
    line="""speaker=turn.speaker begin=turn.begin finish=turn.finish text=turn.text
    locator=turn.locator.label place=turn.locator link view_url source_span=turn.span
    passage_id=turn.passage_id cues=turn.cues""",
    link=(str, lambda body: source_link(body.document, body.turn.locator, body.turn.text)),
    view_url=(str, lambda body: view_url_of_span(body.document, body.turn.span)),
):
    """The uninterrupted speech of one speaker; ``begin`` and ``finish`` in seconds."""

    turn: Turn
    document: DocumentFacts


FACES.show(
    Transcript,
    "*recording total turns",
    turns=(
        tuple[SpokenTurn, ...],
        lambda value: [
            SpokenTurn(turn=turn, document=value.recording.document.facts) for turn in value.turns
        ],
    ),
)


class DocumentsBody(Shape):
    """A page of documents, with the total number."""

    total: int
    offset: int
    documents: tuple[ListedDocument, ...]


class RecordingsBody(Shape):
    """A page of recordings, with the total number."""

    total: int
    offset: int
    videos: tuple[Recording, ...]


class WholeDocumentBody(
    Shape,
    line="""*document.listed version=document.listed.facts.version speakers=document.speakers
    abstract entities=document.entities text""",
    abstract=(
        str | None,
        lambda body: (
            body.document.document.summary if body.document.document.kind == "paper" else None
        ),
    ),
    text=(str | None, lambda body: body.document.document.text if body.with_text else None),
):
    """A document with its ``text`` (null unless requested) and the entities it mentions.

    Attributes:
        abstract: the abstract of a paper, which may be empty; null for other documents.
    """

    document: WholeDocument
    with_text: bool = True


@router.get("/api/documents")
def documents(kb: Kb, params: Annotated[ListQuery, Query()]) -> DocumentsBody:
    """List the documents that match the filters."""
    page = list_documents(
        kb, params.filters(), limit=params.limit, offset=params.offset, order=params.order
    )
    return DocumentsBody(total=page.total, offset=params.offset, documents=page.documents)


# The name may contain slashes, because addresses are names too.
@router.get("/api/documents/{name:path}")
def document(
    kb: Kb, request: Request, name: str, scope: Scope, text: bool = True
) -> WholeDocumentBody:
    """Return the document with this id, title or address."""
    loaded = load_document(kb, name, scope)
    note_opened(request, loaded.listed.facts.id)
    return WholeDocumentBody(document=loaded, with_text=text)


@router.get("/api/videos")
def videos(kb: Kb, params: Annotated[ListQuery, Query()]) -> RecordingsBody:
    """List transcripts and other documents with a recording."""
    page = recordings(
        kb, params.filters(), limit=params.limit, offset=params.offset, order=params.order
    )
    return RecordingsBody(total=page.total, offset=params.offset, videos=page.recordings)


@router.get("/api/videos/{name:path}/transcript")
def whole_transcript(
    kb: Kb,
    request: Request,
    name: str,
    scope: Scope,
    speaker: str = "",
    from_: Annotated[str, Query(alias="from")] = "",
    to: str = "",
) -> Transcript:
    """Return the transcript turn by turn, optionally of one speaker or part of the time.

    Times are seconds, ``MM:SS`` or ``H:MM:SS``.
    """
    recording = transcript(
        kb,
        name,
        collections=scope,
        speaker=speaker,
        since=seconds_of(from_) if from_ else None,
        until=seconds_of(to) if to else None,
    )
    note_opened(request, recording.recording.document.facts.id)
    return recording
