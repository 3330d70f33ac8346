"""Routes for documents, recordings and collections: list, read, add, change and remove them."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, BinaryIO

from anyio import to_thread
from fastapi import Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.datastructures import UploadFile

from wellread.errors import RequestError, UnknownCollectionError, UnknownNameError
from wellread.ingest.remove import RemoveReport
from wellread.ingest.sources.addresses import is_page, is_store
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import sees_all
from wellread.library.collection_changes import (
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
    collection_choices,
    collection_name,
    create,
    describe,
    description_of,
    move,
    remove_with_uploads,
    rename,
    retitle,
    sources_of,
)
from wellread.library.named_things import WholeDocument, list_documents, load_document
from wellread.library.recordings import Cue, Recording, Transcript, Turn, recordings, transcript
from wellread.library.uploads import keep_upload
from wellread.serve.features.feature import CamelModel, FeatureRouter, ListQuery, Scope, refusals
from wellread.serve.features.home_and_jobs import Ingest
from wellread.serve.features.people import check_may_edit, check_may_read
from wellread.serve.guards.route_rules import Kb, kb_to_change, note_opened
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
from wellread.store.catalogue.run_logs import Job
from wellread.text.periods import seconds_of
from wellread.types import DocumentFacts

router = FeatureRouter("read")
reads, edits = router.requiring("read", "edit")

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
    page = list_documents(kb, params.filters(), **params.page)
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
    page = recordings(kb, params.filters(), **params.page)
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


# --- adding, changing and removing documents --------------------------------------------------

DOCUMENTS_PATH = "/api/documents"
CollectionField = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
NOT_YOURS = refusals(s403="The collection is not yours to change")


class NewDocument(CamelModel):
    """A web address, or a text with its title. ``collection``: ``default`` when empty."""

    url: Annotated[str, Field(max_length=2_000)] = ""
    title: Annotated[str, Field(max_length=MAX_TITLE_CHARS)] = ""
    text: str = ""
    collection: CollectionField = ""


_FILES = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "collection": {"type": "string", "maxLength": MAX_NAME_CHARS},
    },
}
_NEW_DOCUMENT = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": _FILES},
            "application/json": {"schema": NewDocument.model_json_schema()},
        },
    }
}


@edits.post(DOCUMENTS_PATH, status_code=202, openapi_extra=_NEW_DOCUMENT, responses=NOT_YOURS)
async def add_documents(kb: Kb, ingest: Ingest, request: Request) -> Job:
    """Add files, a web address or a text; return the job that reads them.

    A file whose name the collection already has is stored under another name.
    """
    return await add_material(kb, ingest, request, replace=False)


@edits.put(DOCUMENTS_PATH, status_code=202, openapi_extra=_NEW_DOCUMENT, responses=NOT_YOURS)
async def replace_documents(kb: Kb, ingest: Ingest, request: Request) -> Job:
    """Add material as POST does, in place of the files with the same names or titles."""
    return await add_material(kb, ingest, request, replace=True)


async def add_material(
    kb: KnowledgeBase, ingest: Ingest, request: Request, *, replace: bool
) -> Job:
    """Store the files or the text of the request's body, and queue what it names for reading."""
    if request.headers.get("content-type", "").startswith("multipart/"):
        max_files = kb.settings.serve.max_upload_files
        async with request.form(max_files=max_files, max_fields=20) as form:
            files = [field for field in form.getlist("files") if isinstance(field, UploadFile)]
            name = collection_name(str(form.get("collection") or ""))
            uploads = [(file.filename, file.file) for file in files if file.filename]
            replace = replace or bool(form.get("replace"))
            store = partial(store_files, kb, request, name, uploads, replace=replace)
            inputs = await to_thread.run_sync(store)
    else:
        try:
            new = NewDocument.model_validate_json(await request.body() or b"{}")
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error
        name, inputs = collection_name(new.collection), [new.url.strip()]
        if not new.url:
            uploads = [text_file(new.title, new.text)]
            store = partial(store_files, kb, request, name, uploads, replace=replace)
            inputs = await to_thread.run_sync(store)
        elif is_store(inputs[0]):
            check_may_edit(request, name)
            check_may_read(request, kb, name, inputs)
        elif not is_page(inputs[0]):
            raise RequestError(f"{new.url!r} is not a web address", hint="begin it with https://")
    return await to_thread.run_sync(queue_inputs, kb, ingest, request, name, inputs)


def text_file(title: str, text: str) -> tuple[str, BinaryIO]:
    """A pasted text as a Markdown file with its name."""
    heading = " ".join(title.split())
    if not heading or not text.strip():
        raise RequestError("give a web address, or a text with a title")
    content = f"# {heading}\n\n{text.replace(chr(13), '')}\n"
    return f"{heading[:80]}.md", io.BytesIO(content.encode())


def store_files(
    kb: KnowledgeBase,
    request: Request,
    collection: str,
    uploads: Sequence[tuple[str, BinaryIO]],
    *,
    replace: bool = False,
) -> list[str]:
    """Store files, given as name and content, and return their paths."""
    check_may_edit(request, collection)
    if not uploads:
        raise RequestError("no file was chosen", hint="choose at least one")
    whole = kb_to_change(kb, collection)
    return [
        str(keep_upload(whole, collection, name, stream, replace=replace))
        for name, stream in uploads
    ]


def queue_inputs(
    kb: KnowledgeBase, ingest: Ingest, request: Request, collection: str, inputs: Sequence[str]
) -> Job:
    """Queue paths and web addresses for reading."""
    check_may_edit(request, collection)
    kb_to_change(kb, collection)
    request.state.changed = f"{collection}, {len(inputs)} sources"  # for the audit log
    return ingest.start("add", inputs, collection)


class DocumentChanges(CamelModel):
    """Changes of a document; missing fields stay as they are."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS)] | None = None
    collection: CollectionField | None = None


@edits.patch("/api/documents/{name:path}", responses=NOT_YOURS)
def change_document(
    kb: Kb, request: Request, name: str, changes: DocumentChanges
) -> WholeDocumentBody:
    """Give the document with this id another title, or move it into another collection.

    Documents of one source (a feed, a table) move together. A moved document has another id.
    """
    facts = _document_facts(kb, name)
    check_may_edit(request, facts.collection)
    whole = kb_to_change(kb, facts.collection)
    if changes.title is not None:
        retitle(whole, facts.id, changes.title)
    new_id = facts.id
    if changes.collection is not None:
        moved = move_documents(kb, request, [facts.id], changes.collection)
        new_id = moved.get(facts.id, facts.id)
    request.state.changed = f"{facts.collection}, {facts.id}"
    return WholeDocumentBody(document=load_document(whole, new_id), with_text=False)


def move_documents(
    kb: KnowledgeBase, request: Request, document_ids: Sequence[str], into: str
) -> dict[str, str]:
    """Move documents with their sources, if the user may edit both collections; return new ids."""
    into = collection_name(into)
    check_may_edit(request, into)
    by_collection = sources_of(kb, document_ids)
    for name in by_collection:
        check_may_edit(request, name)
    request.state.changed = f"{into}, {len(document_ids)} documents"  # for the audit log
    moved: dict[str, str] = {}
    for name, uris in by_collection.items():
        moved |= move(kb_to_change(kb, name), name, uris, into)
    return moved


@edits.delete("/api/documents/{name:path}", responses=NOT_YOURS)
def remove_document(kb: Kb, request: Request, name: str) -> RemoveReport:
    """Remove the document with this id and everything derived from it; return the proof."""
    facts = _document_facts(kb, name)
    return remove_material(kb, request, facts.collection, removable(kb, [facts]))


def _document_facts(kb: KnowledgeBase, document_id: str) -> DocumentFacts:
    facts = kb.catalogue.facts([document_id]).get(document_id)
    if facts is None:
        raise UnknownNameError(f"there is no document with the id {document_id!r}")
    return facts


def removable(kb: KnowledgeBase, documents: Sequence[DocumentFacts]) -> list[str]:
    """What to remove for each document: its source if that is its own, or else its id."""
    sources = kb.catalogue.known_sources(facts.uri for facts in documents)
    return [
        facts.uri if (facts.collection, facts.uri) in sources else facts.id for facts in documents
    ]


def remove_material(
    kb: KnowledgeBase, request: Request, collection: str, sources: Sequence[str] | None
) -> RemoveReport:
    """Remove documents or sources of a collection, or all of it (None), with the proof."""
    check_may_edit(request, collection)
    named = "all of it" if sources is None else f"{len(sources)} sources"
    request.state.changed = f"{collection}, {named}"  # for the audit log
    whole = kb_to_change(kb, collection)
    if not sees_all(kb):
        for source in sources or ():
            facts = kb.catalogue.facts([source]).get(source)
            in_collection = facts is not None and facts.collection == collection
            if not in_collection and kb.catalogue.source(collection, source) is None:
                raise UnknownNameError(f"{collection!r} has no document or source {source!r}")
    report = remove_with_uploads(whole, collection, sources)
    if not sees_all(kb):  # do not reveal what other collections hold
        report = dataclasses.replace(report, counts={}, answers=0, shared=0, traces=())
    return report


# --- collections -----------------------------------------------------------------------------


class CollectionBody(Shape, line="name description documents passages"):
    """A collection with the number of its documents and passages."""

    name: str
    description: str
    documents: int
    passages: int


class CollectionsBody(Shape, line="total collections"):
    """All collections, by name."""

    total: int
    collections: tuple[CollectionBody, ...]


@reads.get("/api/collections")
def collections(kb: Kb) -> CollectionsBody:
    """List the collections, also empty ones."""
    rows = kb.catalogue.listings.kinds()
    bodies = tuple(
        CollectionBody(
            name=name,
            description=description_of(kb, name),
            documents=sum(row.documents for row in rows if row.collection == name),
            passages=sum(row.passages for row in rows if row.collection == name),
        )
        for name in collection_choices(kb)
    )
    return CollectionsBody(total=len(bodies), collections=bodies)


class NewCollection(CamelModel):
    """A new, empty collection."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    description: Annotated[str, Field(max_length=500)] = ""


@edits.post("/api/collections", status_code=201, responses=NOT_YOURS)
def create_collection(kb: Kb, request: Request, new: NewCollection) -> CollectionBody:
    """Make an empty collection."""
    check_may_edit(request, collection_name(new.name))
    name = create(kb_to_change(kb, collection_name(new.name)), new.name, new.description)
    return _collection_body(kb, name)


class CollectionChanges(CamelModel):
    """Changes of a collection; missing fields stay as they are.

    Attributes:
        merge: ``name`` may be that of another collection, which takes all of its documents.
    """

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)] | None = None
    description: Annotated[str, Field(max_length=500)] | None = None
    merge: bool = False


@edits.patch("/api/collections/{name:path}", responses=NOT_YOURS)
def change_collection(
    kb: Kb, request: Request, name: str, changes: CollectionChanges
) -> CollectionBody:
    """Rename or describe a collection, or merge it with another one (``merge``)."""
    check_may_edit(request, name)
    whole = kb_to_change(kb, name)
    request.state.changed = name
    if changes.description is not None:
        describe(whole, name, changes.description)
    if changes.name is not None:
        new = collection_name(changes.name)
        check_may_edit(request, new)
        rename(whole, name, new, merge=changes.merge)
        request.state.changed = f"{name}, now {new}"
        name = new
    return _collection_body(whole, name)


@edits.delete("/api/collections/{name:path}", responses=NOT_YOURS)
def remove_collection(kb: Kb, request: Request, name: str) -> RemoveReport:
    """Remove a collection with all its documents; return the proof."""
    return remove_material(kb, request, name, None)


def _collection_body(kb: KnowledgeBase, name: str) -> CollectionBody:
    found = next((body for body in collections(kb).collections if body.name == name), None)
    if found is None:
        raise UnknownCollectionError(f"there is no collection named {name!r}")
    return found
