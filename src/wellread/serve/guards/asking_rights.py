"""In whose name a request is answered; every route and protocol takes the asker from here.

The sign-in (``sign_in``) puts ``request.state.asker`` there before a route is reached; a request
without one reads nothing. What is not the asker's is not there: the answer is 404, as for a name
that nothing has.
"""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection, Request

from wellread.errors import UnknownCollectionError, UnknownNameError
from wellread.identity import NOBODY, Asker
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import seen_by, sees_all, whole_of


def asker_of(request: HTTPConnection) -> Asker:
    """Who asks: whom the sign-in found; without users, whoever sits at the machine."""
    found = getattr(request.state, "asker", None)
    return found if isinstance(found, Asker) else NOBODY


def opened_for(request: HTTPConnection) -> KnowledgeBase:
    """The knowledge base of the application as the asker of ``request`` has it.

    Raises:
        StoreError: the catalogue cannot be opened.
    """
    return seen_by(cast(KnowledgeBase, request.app.state.kb), asker_of(request))


def note_opened(request: HTTPConnection, document_id: str) -> None:
    """The request is shown this document, or a part of it: for the audit log."""
    request.state.opened = (*opened_by(request), document_id)


def opened_by(request: HTTPConnection) -> tuple[str, ...]:
    """The ids of the documents that the request was shown."""
    noted: tuple[str, ...] = getattr(request.state, "opened", ())
    return noted


async def _opened(request: Request) -> KnowledgeBase:
    return opened_for(request)


async def _opened_whole(request: Request) -> KnowledgeBase:
    kb = opened_for(request)
    if not sees_all(kb):
        raise UnknownNameError(f"there is nothing at {request.url.path}")
    return kb


Kb = Annotated[KnowledgeBase, Depends(_opened)]
"""The knowledge base that the application is over, as the asker has it."""

WholeKb = Annotated[KnowledgeBase, Depends(_opened_whole)]
"""The same for what concerns all of it; who may not read everything finds nothing there (404)."""


def to_change(kb: KnowledgeBase, collection: str) -> KnowledgeBase:
    """The whole knowledge base, for a change of a collection that the asker was given.

    Whether the asker may change anything at all is for the sign-in to say.

    Raises:
        UnknownCollectionError: the asker may not read it.
    """
    if sees_all(kb) or _reads(kb, collection):
        return whole_of(kb)
    raise UnknownCollectionError(f"there is no collection named {collection!r}")


def _reads(kb: KnowledgeBase, collection: str) -> bool:
    reads = kb.asker.reads
    return isinstance(reads, frozenset) and collection in reads
