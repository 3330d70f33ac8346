"""Bounds concurrent work: questions wait in a bounded queue; other requests are not queued.

A flood of questions thus leaves room for other requests. A full queue answers 429 with the seconds
to wait. When a client disconnects, its work is cancelled, whether queued or running, because nobody
would read the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.serve.error_shapes import STOPPING, Problem, problem_of_status
from wellread.serve.guards.incoming import READING
from wellread.serve.guards.refusals import ErrorResponses, Guard
from wellread.serve.guards.route_rules import MCP_PATH, route_of

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


class QueueFullError(Exception):
    """Raised when the queue is full or the server is stopping."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class WorkQueue:
    """Runs ``most`` pieces of work at once; up to ``MAX_WAITING`` more wait in order of arrival."""

    def __init__(self, max_running: int, work_name: str) -> None:
        self._max_running = max_running
        self._work_name = work_name
        self._places = asyncio.Semaphore(max_running)
        self._count = 0
        self._stopping = False

    def stop(self) -> None:
        """Refuse waiting and new requests; running work continues."""
        self._stopping = True
        for _ in range(self._count):
            self._places.release()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a free place and occupy it inside the ``async with``."""
        if self._count >= self._max_running + MAX_WAITING:
            limits = f"{self._max_running} {self._work_name} at once"
            detail = f"{limits}, and {MAX_WAITING} are already waiting."
            raise QueueFullError(problem_of_status(429, detail, "Try again in a moment."))
        self._count += 1
        try:
            async with self._places:
                if self._stopping:
                    raise QueueFullError(STOPPING)
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
        if not queued and scope["method"] not in READING:
            await self.app(scope, receive, send)  # changes are completed even without a client
            return
        watched = _WatchedRequest(receive, send)
        with anyio.CancelScope() as work:
            watching = asyncio.create_task(watched.end(work))
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
        except QueueFullError as error:
            await self.responses.send(error.problem, scope, watched.receive, watched.send)


def is_queued(scope: Scope) -> bool:
    """Whether the request has to wait in the queue."""
    return scope["method"] == "POST" and route_of(scope) in _QUEUED


class _WatchedRequest:
    """Watches for a disconnect: the first message after the body says that the client has gone."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._body: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._body_returned = False
        self._gone = asyncio.Event()
        self._ended = False

    async def end(self, work: anyio.CancelScope) -> None:
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
