"""Bodies, read before any work begins: of limited size and time, and of text that can be kept.

A body of which every byte is there cannot hold up a worker, and what reads on knows that the next
message says that the client has gone. Uploads are the exception: they are counted and timed while
the route reads them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.serve.error_shapes import Problem, problem_of_status
from wellread.serve.guards.refusals import Refusals
from wellread.serve.guards.route_rules import route_of

SLOWEST = 64_000  # bytes a second that a body has to come at, once its first seconds are over
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
DEEPEST = 200  # levels of JSON; nothing that is asked for has five


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How large a body may be, and how slow.

    Attributes:
        larger: routes whose bodies have a limit of their own (uploads), read by their routes.
        seconds: until the first byte has come; after that at ``SLOWEST`` at least.
    """

    most_bytes: int
    seconds: float
    larger: Mapping[str, int] = field(default_factory=dict)

    def of(self, scope: Scope) -> int:
        """The most bytes that a body may have at the address that is asked."""
        return self.larger.get(route_of(scope), self.most_bytes)


class RefusedBodyError(Exception):
    """A body that is too large, too slow, or broken off."""

    def __init__(self, problem: Problem | None = None) -> None:
        super().__init__(problem.detail if problem else "the client has gone")
        self.problem = problem


class RequestBodies:
    """Reads bodies within their limits, and passes them on whole."""

    def __init__(self, app: ASGIApp, limits: BodyLimits, refusals: Refusals) -> None:
        self.app = app
        self.limits = limits
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its whole body, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limits.of(scope)
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and (len(announced) > 18 or int(announced) > limit):
            await self.refusals.refuse(too_large(limit), scope, receive, send)
            return
        reader = _Reader(receive, limit, self.limits.seconds)
        if route_of(scope) in self.limits.larger:
            await self.app(scope, reader.counted, send)
            return
        try:
            body = await reader.whole()
        except RefusedBodyError as error:
            if error.problem is not None:
                closing = {"connection": "close"}
                await self.refusals.refuse(error.problem, scope, receive, send, closing)
            return
        problem = unreadable(scope, body)
        if problem is not None:
            await self.refusals.refuse(problem, scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)


class _Reader:
    """Receives a body, counting its bytes and its seconds."""

    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._begun = asyncio.get_running_loop().time()
        self._taken = 0
        self._ended = False

    async def next(self) -> Message:
        """The next message.

        Raises:
            RefusedBodyError: too much has come, or too little in this time.
        """
        if self._ended:
            return await self._receive()
        until = self._begun + self._seconds + self._taken / SLOWEST
        try:
            async with asyncio.timeout_at(until):
                message = await self._receive()
        except TimeoutError:
            raise RefusedBodyError(TOO_SLOW) from None
        self._taken += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._taken > self._limit:
            raise RefusedBodyError(too_large(self._limit))
        return message

    async def whole(self) -> bytes:
        """The body.

        Raises:
            RefusedBodyError: as ``next``, or the client has gone.
        """
        pieces = []
        while not self._ended:
            message = await self.next()
            if message["type"] == "http.disconnect":
                raise RefusedBodyError
            pieces.append(message.get("body", b""))
        return b"".join(pieces)

    async def counted(self) -> Message:
        """As ``next``, for a route that reads a body itself and ends as with any HTTP error."""
        try:
            return await self.next()
        except RefusedBodyError as error:
            problem = error.problem or TOO_SLOW
            raise HTTPException(problem.status, problem.detail) from error


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body once, and from then on whatever comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        if waiting:
            return waiting.pop()
        while (message := await receive())["type"] != "http.disconnect":
            pass  # of a request that was read whole, nothing else can be told
        return message

    return replayed


TOO_SLOW = problem_of_status(
    HTTPStatus.REQUEST_TIMEOUT,
    "The request came too slowly.",
    "Send it again at once.",
)


def too_large(limit: int) -> Problem:
    """The problem of a body that is larger than ``limit`` bytes."""
    return problem_of_status(
        413,
        f"The request body is larger than {limit:,} bytes.",
        "Shorten it.",
    )


UNREADABLE = problem_of_status(
    400,
    "The request holds a character that is none: NUL, or half of a surrogate pair.",
    "Leave it out; texts are valid Unicode without U+0000.",
)
TOO_DEEP = problem_of_status(
    400, f"The JSON is nested deeper than {DEEPEST} levels.", "Send it flat."
)


def unreadable(scope: Scope, body: bytes) -> Problem | None:
    """What is wrong with the text of a request; None when all of it can be kept as it is.

    JSON that is none passes: the routes say where it is wrong.
    """
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return UNREADABLE
    if not body:
        return None
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    if kind in FORMS:
        return UNREADABLE if b"\0" in body or b"%00" in body else None
    try:
        value = json.loads(body)
    except ValueError:
        return None
    except RecursionError:
        return TOO_DEEP
    return _unreadable_value(value)


def _unreadable_value(value: object) -> Problem | None:
    waiting = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        if depth > DEEPEST:
            return TOO_DEEP
        if isinstance(each, dict):
            waiting += [(part, depth + 1) for pair in each.items() for part in pair]
        elif isinstance(each, list):
            waiting += [(part, depth + 1) for part in each]
        elif isinstance(each, str) and ("\0" in each or _half_pairs(each)):
            return UNREADABLE
    return None


def _half_pairs(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)
