"""One call of a tool: over which material, who is told of progress, where the viewer is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request

from wellread.errors import RequestError, UnknownCollectionError
from wellread.kb import KnowledgeBase
from wellread.serve.guards.asking_rights import note_opened, opened_for
from wellread.serve.guards.work_limits import WorkQueues

if TYPE_CHECKING:  # an extra, which the server does without
    from mcp.server.context import ServerRequestContext

T = TypeVar("T")
FILL = "the user can add documents in a terminal: wellread add PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A knowledge base, or only these ``collections`` of it.

    Attributes:
        queues: in which tools wait for their turn, beside what else the server does.
        opened: is told the id of each document that is shown.

    Raises:
        UnknownCollectionError: one of ``collections`` does not exist.
    """

    kb: KnowledgeBase
    collections: tuple[str, ...] = ()
    queues: WorkQueues | None = None
    opened: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        known = self.kb.catalogue.collection_names()
        for name in self.collections:
            if name not in known:
                raise _unknown(name, known)

    def within(self, collection: str | None) -> tuple[str, ...]:
        """The collections to look in when ``collection`` is asked for.

        Raises:
            UnknownCollectionError: it is not among those served; whether it exists is not told.
        """
        if collection is None:
            return self.collections
        if self.collections and collection not in self.collections:
            raise _unknown(collection, self.collections)
        return (collection,)

    def check_filled(self) -> None:
        """Refuse what needs material while there is none, so that nobody is told "no answer".

        Raises:
            RequestError: there is no document in what is served.
        """
        known = self.kb.catalogue.collection_names()
        if not (set(known) & set(self.collections) if self.collections else known):
            raise RequestError("the library is empty: there is nothing to answer from", hint=FILL)


def _unknown(name: str, known: tuple[str, ...] | list[str]) -> UnknownCollectionError:
    return UnknownCollectionError(
        f"there is no collection named {name!r}",
        hint=f"known: {', '.join(known) or 'none yet; add sources first'}",
    )


def served_for(context: ServerRequestContext[Served]) -> Served:
    """What is served to whoever asks: over HTTP what the asker of the request may read.

    Raises:
        StoreError: the catalogue cannot be opened.
    """
    served, request = context.lifespan_context, context.request
    if not isinstance(request, Request):
        return served
    return replace(served, kb=opened_for(request), opened=partial(note_opened, request))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call.

    Attributes:
        tell: reports progress in words, to a client that wants to know.
        viewer: where the built-in viewer answers (``http://127.0.0.1:8420``); empty over stdio.
    """

    served: Served
    tell: Callable[[str], Awaitable[None]]
    viewer: str = ""

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base."""
        return self.served.kb

    def view_url(self, path: str) -> str | None:
        """Where a browser shows what the viewer has at ``path``; None without a viewer."""
        return f"{self.viewer}{path}" if self.viewer and path else None


@asynccontextmanager
async def closing(events: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """``events``, ended when the caller stops, so that a cancelled call leaves no work behind."""
    try:
        yield events
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
