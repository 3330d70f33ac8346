"""Finds the access that a route requires, limits requests to readable material, queues questions.

The rule is chosen by the route that the router will run, never by the spelling of the path:
``/mcp%0A`` runs the route ``/mcp``. ``sign_in`` sets the asker of a request; material that the
asker may not read is reported as missing (404).

Questions wait in a bounded queue, so that a flood of them leaves room for other requests. A full
queue answers 429. When a client disconnects, its work is cancelled, whether queued or running,
because nobody would read the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, cast

import anyio
from fastapi import Depends
from starlette.requests import HTTPConnection, Request
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.errors import UnknownCollectionError, UnknownNameError
from wellread.identity import NOBODY, Asker
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import base_of, sees_all, view_for
from wellread.serve.error_shapes import STOPPING, ProblemError, problem_of_status
from wellread.serve.guards.refusals import ErrorResponses, Guard
from wellread.store.schema.stored_values import Rights

# ``open``: anybody; ``own``: users signed in with a browser, about their own account; otherwise the
# scope that the user's role or key must have.
Access = Literal["open", "own", "read", "ask", "edit", "admin"]

MCP_PATH = "/mcp"
READING_METHODS = ("GET", "HEAD")
Rule = tuple[str, str, Access]  # method, declared path and required access


class RouteRules:
    """Finds the declared path and the required access of a request."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = {(method, path): access for method, path, access in rules}

    def allows(self, rights: Rights, page: str) -> bool:
        """Whether a user with these rights may open the page at this path."""
        access = self._rules["GET", page]
        return bool(rights.session_id) if access == "own" else access in rights.scopes

    def of(self, scope: Scope) -> tuple[str, Access]:
        """Return the declared path and the required access; ``("", "own")`` if no route matches."""
        path = route_of(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        access = self._rules.get((method, path)) or self._rules.get(("*", path))
        return (path, access) if access else ("", "own")


def route_of(scope: Scope) -> str:
    """Return the declared path of the route that will run; empty when no route matches.

    It is found as the router finds it and cached in the request's state.
    """
    state = scope.setdefault("state", {})
    if "route" not in state:
        routes = scope["app"].router.routes
        matches = (route for route in routes if route.matches(scope)[0] is Match.FULL)
        state["route"] = getattr(next(matches, None), "path", "")
    return str(state["route"])


def asker_of(request: HTTPConnection) -> Asker:
    """Return the asker that ``sign_in`` found; ``NOBODY`` if there is none."""
    asker = getattr(request.state, "asker", None)
    return asker if isinstance(asker, Asker) else NOBODY


def kb_for(request: HTTPConnection) -> KnowledgeBase:
    """Return the knowledge base, restricted to what the asker of ``request`` may read."""
    return view_for(cast(KnowledgeBase, request.app.state.kb), asker_of(request))


def note_opened(request: HTTPConnection, document_id: str) -> None:
    """Record for the audit log that the request shows this document or a part of it."""
    request.state.opened = (*opened_ids(request), document_id)


def opened_ids(request: HTTPConnection) -> tuple[str, ...]:
    """The ids of the documents that the request has shown."""
    document_ids: tuple[str, ...] = getattr(request.state, "opened", ())
    return document_ids


def kept_in_state(name: str) -> Any:
    """Return a dependency on what the application keeps in its state under ``name``."""

    async def kept(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(kept)


async def _kb_dependency(request: Request) -> KnowledgeBase:
    return kb_for(request)


async def _whole_kb_dependency(request: Request) -> KnowledgeBase:
    kb = kb_for(request)
    if not sees_all(kb):
        raise UnknownNameError(f"nothing was found at {request.url.path}")
    return kb


Kb = Annotated[KnowledgeBase, Depends(_kb_dependency)]
"""The application's knowledge base, restricted to what the asker may read."""

WholeKb = Annotated[KnowledgeBase, Depends(_whole_kb_dependency)]
"""The knowledge base for routes about all of it; 404 for askers who may not read everything."""


def kb_to_change(kb: KnowledgeBase, collection: str) -> KnowledgeBase:
    """Return the unrestricted knowledge base, to change a collection that the asker may read.

    Whether the asker may change it is checked elsewhere (``sign_in``, ``check_may_edit``).
    """
    reads = kb.asker.reads
    if sees_all(kb) or (isinstance(reads, frozenset) and collection in reads):
        return base_of(kb)
    raise UnknownCollectionError(f"there is no collection named {collection!r}")


MAX_WAITING = 32  # requests in a queue, besides the running ones
_QUEUED = (
    "/api/ask",
    "/api/query",
    "/api/query/deep",
    "/api/gaps/ask",
    "/v1/chat/completions",
    "/api/answers/{answer_id}/verify",
    "/answers/{answer_id}/verify",
)


class WorkQueue:
    """Runs ``max_running`` jobs at once; up to ``MAX_WAITING`` more wait in order of arrival."""

    def __init__(self, max_running: int, work_name: str) -> None:
        self._max_running = max_running
        self._work_name = work_name
        self._free_places = asyncio.Semaphore(max_running)
        self._count = 0
        self._stopping = False

    def stop(self) -> None:
        """Refuse waiting and new requests; running work continues."""
        self._stopping = True
        for _ in range(self._count):
            self._free_places.release()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a free place and occupy it inside the ``async with``.

        Raises:
            ProblemError: the queue is full or the server is stopping.
        """
        if self._count >= self._max_running + MAX_WAITING:
            limits = f"{self._max_running} {self._work_name} at once"
            detail = f"{limits}, and {MAX_WAITING} are already waiting."
            raise ProblemError(problem_of_status(429, detail, "Try again in a moment."))
        self._count += 1
        try:
            async with self._free_places:
                if self._stopping:
                    raise ProblemError(STOPPING)
                yield
        finally:
            self._count -= 1


class WorkLimits(Guard):
    """Queues the requests that ask for answers; cancels a request whose client disconnects."""

    def __init__(self, app: ASGIApp, queue: WorkQueue, responses: ErrorResponses) -> None:
        super().__init__(app, responses)
        self.queue = queue

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, after its turn in the queue if it needs one."""
        if route_of(scope) == MCP_PATH:
            # The MCP SDK itself stops calls whose client cancels or (newer protocol) hangs up.
            await self.app(scope, receive, send)
            return
        queued = is_queued(scope)
        if not queued and scope["method"] not in READING_METHODS:
            await self.app(scope, receive, send)  # changes are completed even without a client
            return
        watched = _WatchedRequest(receive, send)
        with anyio.CancelScope() as work:
            watching = asyncio.create_task(watched.cancel_on_disconnect(work))
            try:
                await self._in_turn(queued, scope, watched)
            finally:
                watching.cancel()

    async def _in_turn(self, queued: bool, scope: Scope, watched: _WatchedRequest) -> None:
        if not queued:
            await self.app(scope, watched.receive, watched.send)
            return
        try:
            async with self.queue.turn():
                await self.app(scope, watched.receive, watched.send)
        except ProblemError as error:
            await self.responses.send(error.problem, scope, watched.receive, watched.send)


def is_queued(scope: Scope) -> bool:
    """Whether the request has to wait in the queue."""
    return scope["method"] == "POST" and route_of(scope) in _QUEUED


class _WatchedRequest:
    """A request whose client may disconnect, which the first message after the body reports."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._body: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._body_returned = False
        self._gone = asyncio.Event()
        self._ended = False

    async def cancel_on_disconnect(self, work: anyio.CancelScope) -> None:
        """Cancel ``work`` when the client disconnects before the response has ended."""
        self._body.set_result(await self._receive())
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        if not self._ended:
            work.cancel()

    async def receive(self) -> Message:
        """Return the whole body, then wait for the disconnect message."""
        if not self._body_returned:
            self._body_returned = True
            return await self._body
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = True
        await self._send(message)
