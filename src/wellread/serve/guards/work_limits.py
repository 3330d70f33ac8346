"""How much is worked on at once: questions, checks and the rest each in a bounded queue of its own.

So a flood of one leaves room for the others, and ``/healthz`` is in no queue at all. What finds a
queue full is told when to come back. The work of a client that has gone is stopped, whether it
waits for its turn or runs: what a program asked that nobody reads would cost as much as the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.serve.error_shapes import STOPPING, Problem, problem_of_status
from wellread.serve.guards.incoming import READING
from wellread.serve.guards.refusals import Refusals
from wellread.serve.guards.route_rules import MCP_PATH, route_of

Kind = Literal["ask", "check"]
WAITING = 32  # in each queue, beside what is worked on
_ASKS = (
    "/api/ask",
    "/api/query",
    "/api/query/deep",
    "/api/research",
    "/api/gaps/ask",
    "/v1/chat/completions",
)
_CHECKS = (
    "/api/catalogue",
    "/api/answers/{answer_id}/verify",
    "/answers/{answer_id}/verify",
)
_KINDS: Mapping[str, Kind] = {**dict.fromkeys(_ASKS, "ask"), **dict.fromkeys(_CHECKS, "check")}


class FullError(Exception):
    """As much waits as may wait, or the server stops."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class WorkQueue:
    """Lets in ``most`` at once, and ``WAITING`` wait for their turn in the order they came."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._room = asyncio.Semaphore(most)
        self._inside = 0
        self._stopping = False

    def stop(self) -> None:
        """Refuse who waits, and who comes; what is worked on goes on."""
        self._stopping = True
        for _ in range(self._inside):
            self._room.release()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and hold it.

        Raises:
            FullError: too many wait already, or the server stops.
        """
        if self._inside >= self._most + WAITING:
            detail = f"{self._most} {self._what} at once, and {WAITING} wait already."
            raise FullError(problem_of_status(429, detail, "Try again in a moment."))
        self._inside += 1
        try:
            async with self._room:
                if self._stopping:
                    raise FullError(STOPPING)
                yield
        finally:
            self._inside -= 1


class WorkQueues:
    """The queues of one server."""

    def __init__(self, asks: int, checks: int) -> None:
        self._queues: Mapping[Kind, WorkQueue] = {
            "ask": WorkQueue(asks, "questions are answered"),
            "check": WorkQueue(checks, "texts are checked"),
        }

    def of(self, kind: Kind) -> WorkQueue:
        """The queue for that kind of work."""
        return self._queues[kind]

    def stop(self) -> None:
        """Let nobody in any more, in any queue."""
        for queue in self._queues.values():
            queue.stop()


class WorkLimits:
    """Gives each request its turn, and ends it when its client has gone."""

    def __init__(self, app: ASGIApp, queues: WorkQueues, refusals: Refusals) -> None:
        self.app = app
        self.queues = queues
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when it is its turn."""
        if scope["type"] != "http" or route_of(scope) == MCP_PATH:
            # Its SDK stops a call whose client cancels it, or hangs up (newer protocol).
            await self.app(scope, receive, send)
            return
        kind = work_at(scope)
        if kind is None and scope["method"] not in READING:
            await self.app(scope, receive, send)  # a change that was asked for is made
            return
        watched = _Watched(receive, send)
        with anyio.CancelScope() as work:
            watching = asyncio.create_task(watched.end(work))
            try:
                await self._in_turn(kind, scope, watched)
            finally:
                watching.cancel()

    async def _in_turn(self, kind: Kind | None, scope: Scope, watched: _Watched) -> None:
        if kind is None:
            await self.app(scope, watched.receive, watched.send)
            return
        try:
            async with self.queues.of(kind).turn():
                await self.app(scope, watched.receive, watched.send)
        except FullError as error:
            await self.refusals.refuse(error.problem, scope, watched.receive, watched.send)


def work_at(scope: Scope) -> Kind | None:
    """What kind of work a request asks for; None when it is none to speak of."""
    return _KINDS.get(route_of(scope)) if scope["method"] == "POST" else None


class _Watched:
    """A request whose client is watched: the first message after its body says that it has gone."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._body: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._taken = False
        self._gone = asyncio.Event()
        self._ended = False

    async def end(self, work: anyio.CancelScope) -> None:
        """Stop ``work`` when the client goes before its response has ended."""
        self._body.set_result(await self._receive())
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        if not self._ended:
            work.cancel()

    async def receive(self) -> Message:
        """The body, which was read whole, and then that the client has gone."""
        if not self._taken:
            self._taken = True
            return await self._body
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send, noting the end."""
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = True
        await self._send(message)
