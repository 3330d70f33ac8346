"""What the library shows: documents with their state, and sources that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wellread.kb import KnowledgeBase
from wellread.library.named_things import topics
from wellread.library.uploads import uploaded_file
from wellread.serve.features.bodies import Body
from wellread.serve.features.document_views import DocumentBody, documents_body
from wellread.serve.features.timeline_views import TopicBody, topic_body
from wellread.store.catalogue.documents.listings import DocumentPage

DocumentState = Literal["ready", "words ready"]
MOST_TROUBLED = 200


class LibraryDocumentBody(DocumentBody):
    """A document with its state: ``words ready`` is found by its words, and not yet by meaning.

    ``source`` is how it is named to remove it; ``uploaded``: its file lies in the home.
    """

    state: DocumentState
    source: str
    uploaded: bool


class TroubledSourceBody(Body):
    """A source that yielded nothing, and why."""

    collection: str
    uri: str
    status: str
    reason: str


class LibraryBody(Body):
    """Collections, a page of their documents, and what could not be read."""

    collections: tuple[TopicBody, ...]
    total: int
    offset: int
    documents: tuple[LibraryDocumentBody, ...]
    troubled: tuple[TroubledSourceBody, ...]


def library_body(
    kb: KnowledgeBase, page: DocumentPage, offset: int, collections: Sequence[str]
) -> LibraryBody:
    """The library, or some collections of it.

    Raises:
        UnknownCollectionError: ``collections`` names one that does not exist.
        StoreError: the catalogue cannot be read.
    """
    listed = documents_body(page, offset)
    owing = kb.catalogue.vectors.owing(one.document_id for one in listed.documents)
    sources = kb.catalogue.known_sources(one.uri for one in listed.documents)
    documents = [
        LibraryDocumentBody.of(
            one,
            state="words ready" if one.document_id in owing else "ready",
            source=one.uri if (one.collection, one.uri) in sources else one.document_id,
            uploaded=uploaded_file(kb, one.uri) is not None,
        )
        for one in listed.documents
    ]
    return LibraryBody.of(
        collections=[topic_body(one) for one in topics(kb, collections, entities=0)],
        total=listed.total,
        offset=offset,
        documents=documents,
        troubled=kb.catalogue.troubled_sources(collections, MOST_TROUBLED),
    )
