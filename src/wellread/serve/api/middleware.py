"""Around every request: host names, size of the body, security headers, the shape of errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.errors import WellreadError
from wellread.serve.api.queries import Kb
from wellread.serve.error_shapes import (
    INTERNAL,
    OPENAI_PATH,
    QA_SWITCHED_OFF,
    Problem,
    body_at,
    problem_of,
    problem_of_status,
)

# A recording may lie anywhere; it is fetched when somebody presses play.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
SEE = "The format is described in /openapi.json and docs/api.md."
SEE_OPENAI = "docs/openai.md has the routes and fields of /v1."
_HINTS = {
    404: SEE,
    405: SEE,
    413: "Shorten the body, or raise serve.max_request_bytes.",
}


class ProblemError(Exception):
    """Ends a request with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


ErrorPage = Callable[[Request, Problem], Response]


def shape_errors(app: FastAPI, page: ErrorPage, wants_page: Callable[[Request], bool]) -> None:
    """Make ``app`` answer every error in the one shape, or as ``page`` to whoever wants one."""

    async def shaped(request: Request, error: Exception) -> Response:
        problem, headers = _problem_in(error)
        if wants_page(request):
            return page(request, problem)
        path = request.url.path
        if path.startswith(OPENAI_PATH):
            problem, headers = _for_openai(problem, error), _retries(error, headers)
        return JSONResponse(body_at(path, problem), status_code=problem.status, headers=headers)

    for kind in (ProblemError, WellreadError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, shaped)


def _problem_in(error: Exception) -> tuple[Problem, Mapping[str, str] | None]:
    """The problem that ``error`` stands for, and headers that belong to it.

    One that nobody expects is raised again by Starlette afterwards: the server logs its traceback.
    """
    problem: Problem = INTERNAL
    headers: Mapping[str, str] | None = None
    match error:
        case ProblemError():
            problem = error.problem
        case WellreadError():
            problem = problem_of(error)
        case RequestValidationError():  # 400, naming the first field that is wrong
            first = error.errors()[0]
            # The first part says where it was looked for: in the body, the query, the path.
            where = ".".join(str(part) for part in first["loc"][1:])
            detail = f"{where}: {first['msg']}" if where else str(first["msg"])
            problem = problem_of_status(400, detail, SEE, param=where)
        case HTTPException(status_code=status):
            problem = problem_of_status(status, str(error.detail), _HINTS.get(status, ""))
            headers = error.headers
    return problem, headers


def _for_openai(problem: Problem, error: Exception) -> Problem:
    """``problem`` with what helps whoever calls the interface of OpenAI."""
    nowhere = isinstance(error, HTTPException) and problem.status in (404, 405)
    return replace(problem, hint=SEE_OPENAI if nowhere or problem.hint == SEE else problem.hint)


def _retries(error: Exception, headers: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """``headers`` with whether the client of OpenAI is to try again by itself."""
    if not isinstance(error, WellreadError):
        return headers
    return {**(headers or {}), "x-should-retry": "true" if error.retryable else "false"}


def may_ask(kb: Kb) -> None:
    """Refuse questions where they are switched off."""
    if not kb.settings.qa.enabled:
        raise ProblemError(QA_SWITCHED_OFF)


class SecurityHeaders:
    """Adds the strict content-security policy and its companions to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; add the headers as the response starts."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


class LocalNames:
    """Refuses requests that name another host than this machine.

    A web page could otherwise point a name of its own at 127.0.0.1 and read the answers (DNS
    rebinding); the browser then sends that name.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app = app
        self.names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when it names this machine."""
        if scope["type"] != "http" or _host(scope) in self.names:
            await self.app(scope, receive, send)
            return
        problem = problem_of_status(
            421,
            f"This server does not answer for the host {_host(scope)!r}.",
            "Use http://127.0.0.1 with the port that it printed.",
        )
        await _refuse(problem, scope, send)


class SameOrigin:
    """Refuses changes that another web page asks for in its visitor's name.

    A browser says where a request comes from (``Sec-Fetch-Site``, else ``Origin``); programs send
    neither and are let through.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on unless it changes something and comes from elsewhere."""
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            headers = Headers(scope=scope)
            site = headers.get("sec-fetch-site")
            origin = headers.get("origin")
            foreign = site not in ("same-origin", "none") if site else False
            if not site and origin is not None:
                foreign = urlsplit(origin).netloc != headers.get("host", "")
            if foreign:
                problem = problem_of_status(
                    403,
                    "The request comes from a page of another address.",
                    "Use the pages of this server, or send no Origin.",
                )
                await _refuse(problem, scope, send)
                return
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses a body of more than ``limit`` bytes, by its announced size or while it arrives.

    Args:
        larger: paths whose bodies have a limit of their own (uploads).
    """

    def __init__(self, app: ASGIApp, limit: int, larger: Mapping[str, int]) -> None:
        self.app = app
        self.limit = limit
        self.larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.larger.get(scope["path"], self.limit)
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdigit() and int(announced) > limit:
            await _refuse(too_large(limit), scope, send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                # Raised inside the route that reads the body, so it ends as any HTTP error does.
                raise HTTPException(413, too_large(limit).detail)
            return message

        await self.app(scope, counted, send)


def too_large(limit: int) -> Problem:
    """The problem of a body that is larger than ``limit`` bytes."""
    return problem_of_status(
        413,
        f"The request body is larger than {limit:,} bytes.",
        "Shorten it, or raise serve.max_request_bytes.",
    )


def _host(scope: Scope) -> str:
    """The host that the request names, without its port."""
    named = Headers(scope=scope).get("host", "").lower()
    if named.startswith("["):
        return named.partition("]")[0] + "]"
    return named.partition(":")[0]


async def _refuse(problem: Problem, scope: Scope, send: Send) -> None:
    body = json.dumps(body_at(scope["path"], problem)).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
