"""Builds the FastAPI application over one knowledge base, and runs it with uvicorn."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import uvicorn
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wellread.config import ServeSettings
from wellread.errors import RequestError, StoreError, WellreadError, invalid_value
from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import (
    INTERNAL,
    OPENAI_PATH,
    Problem,
    ProblemError,
    problem_of,
    problem_of_status,
)
from wellread.serve.features import (
    documents_found,
    entities_shown,
    figures,
    gaps_and_coverage,
    home_and_jobs,
    kept_answers,
    material_found,
    people,
    timelines_shown,
)
from wellread.serve.features.feature import FeatureRoute
from wellread.serve.features.home_and_jobs import IngestRuns
from wellread.serve.guards.incoming import (
    MAX_HEADER_BYTES,
    AllowedHosts,
    BodyLimits,
    ForeignRequests,
    RequestBodies,
    timed_connection,
)
from wellread.serve.guards.refusals import ErrorResponses, RequestLog, SecurityHeaders
from wellread.serve.guards.route_rules import MCP_PATH, RouteRules, Rule, WorkLimits, WorkQueue
from wellread.serve.guards.sign_in import COOKIE, Authenticator, RateLimits, SignIn
from wellread.serve.http import ask_api, chat_completions
from wellread.serve.web.document_layout import PageImages
from wellread.serve.web.identity_provider import provider_of
from wellread.serve.web.pages import (
    account_pages,
    ask_pages,
    document_pages,
    learning_pages,
    library_pages,
    lookup_pages,
    research_pages,
    settings_pages,
    users_pages,
)
from wellread.serve.web.rendering import error_page, wants_page
from wellread.serve.web.runs import AskRuns, ResearchRuns

logger = logging.getLogger(__name__)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# In the order in which /docs lists their routes.
API_ROUTERS = (
    ask_api.router,
    ask_api.query_router,
    kept_answers.router,
    home_and_jobs.router,
    entities_shown.router,
    timelines_shown.stories_router,
    material_found.router,
    documents_found.router,
    timelines_shown.router,
    kept_answers.feedback_router,
    gaps_and_coverage.router,
    gaps_and_coverage.coverage_router,
    figures.router,
    people.router,
)
PAGE_ROUTERS = (
    ask_pages.router,
    research_pages.router,
    document_pages.router,
    library_pages.router,
    lookup_pages.router,
    learning_pages.router,
    account_pages.router,
    settings_pages.router,
    users_pages.router,
)
ROUTERS = (*API_ROUTERS, chat_completions.router, *PAGE_ROUTERS)
# The access to routes that no ``FeatureRouter`` declares.
OTHER_RULES: tuple[Rule, ...] = (
    ("GET", "/openapi.json", "read"),
    ("*", MCP_PATH, "ask"),
    ("GET", "/static", "open"),
)
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
MAX_HEALTH_CHECKS = 2  # health checks at once, in threads of their own
TRIM_SECONDS = 6 * 3_600
GRACE_SECONDS = 5  # grace period of running requests when the server stops


def rules() -> list[Rule]:
    """Return the rules of all routes, in the order in which the application tries them."""
    first, *others = OTHER_RULES
    routes = [route for router in ROUTERS for route in router.routes]
    declared: list[Rule] = [
        (method, route.path, route.access)
        for route in routes
        if isinstance(route, FeatureRoute)
        for method in sorted(route.methods or ())
    ]
    return [first, *declared, *others]


# Without users, a request needs none of these (the empty requirement).
SIGN_IN_WAYS: dict[str, dict[str, str]] = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key: wellread users key NAME"},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "After /sign-in"},
}


class Application(FastAPI):
    """The application, whose description also says how to sign in."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description of all routes but the pages."""
        described = super().openapi()
        described["components"]["securitySchemes"] = SIGN_IN_WAYS
        described["security"] = [{}, *({name: []} for name in SIGN_IN_WAYS)]
        return described


def create_app(kb: KnowledgeBase, *, require_sign_in: bool = False) -> FastAPI:
    """Build the application over ``kb``, which the caller opens and closes.

    Args:
        require_sign_in: require sign-in even while there are no users.
    """
    runs, research, images = AskRuns(), ResearchRuns(kb), PageImages()
    ingest = IngestRuns(kb)
    settings = kb.settings.serve
    queue = WorkQueue(settings.asks_at_once, "questions are answered")
    mcp_route, mcp_context = _mcp_route_and_context(kb, queue)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        ingest.take_up()
        research.take_up()
        async with mcp_context, _trimmed_audit_log(kb):
            yield
        await runs.close()
        await research.close()
        await to_thread.run_sync(ingest.close)

    # FastAPI's own /docs loads scripts from other sites; ours does not.
    app = Application(
        title="Wellread",
        summary="Answers from your own material, with a cited passage behind every sentence.",
        version=version("wellread"),
        servers=[{"url": "/", "description": "This server"}],
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.kb = kb
    app.state.runs = runs
    app.state.research = research
    app.state.ingest = ingest
    app.state.page_images = images
    app.state.room_for_health = CapacityLimiter(MAX_HEALTH_CHECKS)
    app.state.authenticator = Authenticator(
        accounts=kb.catalogue.accounts,
        settings=kb.settings,
        rates=RateLimits(kb.settings.users),
        rules=RouteRules(rules()),
        sign_in_required=require_sign_in,
    )
    app.state.identity_provider = provider_of(kb.settings.oidc)
    _add_middleware(app, settings, queue)
    # include_router would rebuild each route, which takes a third of a second per application.
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    app.router.routes.append(mcp_route)
    app.mount("/static", StaticFiles(directory=str(files("wellread.serve.web") / "static")))
    return app


@asynccontextmanager
async def _trimmed_audit_log(kb: KnowledgeBase) -> AsyncIterator[None]:
    """Delete expired entries of the audit log at the start and every ``TRIM_SECONDS``."""

    async def trim() -> None:
        audit, days = kb.catalogue.accounts.audit, kb.settings.users.audit_days
        await to_thread.run_sync(audit.trim, days)

    async def trim_repeatedly() -> None:
        while True:
            await asyncio.sleep(TRIM_SECONDS)
            try:
                await trim()
            except StoreError as error:
                logger.warning("old entries of the audit log could not be deleted: %s", error)

    await trim()
    repetition = asyncio.create_task(trim_repeatedly())
    yield
    repetition.cancel()


def _add_middleware(app: FastAPI, settings: ServeSettings, queue: WorkQueue) -> None:
    """Add the middleware; the last one added runs first."""
    app.state.stopping, app.state.queue = False, queue
    responses = ErrorResponses(error_page, wants_page)
    shape_errors(app, responses)
    bodies = BodyLimits(
        max_bytes=settings.max_request_bytes,
        seconds=settings.body_seconds,
        max_bytes_by_route=dict.fromkeys(
            (library_pages.UPLOAD_PATH, documents_found.DOCUMENTS_PATH), settings.max_upload_bytes
        ),
    )
    app.add_middleware(WorkLimits, queue=queue, responses=responses)
    app.add_middleware(RequestBodies, limits=bodies, responses=responses)
    app.add_middleware(SignIn, auth=app.state.authenticator, responses=responses)
    app.add_middleware(ForeignRequests, responses=responses)
    any_host = app.state.authenticator.sign_in_required and not settings.names
    names = None if any_host else (*LOCAL_NAMES, *settings.names)
    app.add_middleware(AllowedHosts, names=names, responses=responses)
    app.add_middleware(SecurityHeaders, responses=responses)
    app.add_middleware(RequestLog, responses=responses)


def _mcp_route_and_context(
    kb: KnowledgeBase, queue: WorkQueue
) -> tuple[BaseRoute, AbstractAsyncContextManager[None]]:
    """Return the MCP route and the context within which it can answer."""
    try:
        # The SDK is an extra and takes a third of a second to import.
        from wellread.serve.mcp.mcp_server import OwnedSessions, http_sessions  # noqa: PLC0415
        from wellread.serve.mcp.tool_calls import ServedLibrary  # noqa: PLC0415
    except ImportError:
        return Route(MCP_PATH, _without_mcp, methods=["GET", "POST", "DELETE"]), nullcontext()
    sessions = http_sessions(ServedLibrary(kb=kb, queue=queue), kb.settings.serve.max_request_bytes)
    return Route(MCP_PATH, endpoint=OwnedSessions(sessions)), sessions.run()


async def _without_mcp(_request: Request) -> JSONResponse:
    problem = problem_of_status(
        501,
        "The Model Context Protocol needs the extra 'mcp', which is not installed.",
        "Run pip install 'wellread[mcp]' and restart the server.",
    )
    return JSONResponse(problem.body(), status_code=problem.status)


def serve(
    kb: KnowledgeBase, host: str, port: int, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve ``kb`` until interrupted; calls ``on_ready`` with the URL once it accepts requests."""
    local_only = address_to_serve(host, has_admin=kb.catalogue.accounts.users.has_admin).is_loopback
    listener = listen(host, port)
    with listener:
        # Opened before the first request, so that a damaged home fails at once.
        kb.live().embedder.embed(["ready"], "query")
        address = url_of(listener)
        config = server_config(kb, require_sign_in=not local_only)
        _Server(config, lambda: on_ready and on_ready(address)).run(sockets=[listener])


def server_config(kb: KnowledgeBase, *, require_sign_in: bool = False) -> uvicorn.Config:
    """Return the uvicorn configuration of a server over ``kb``."""
    proxies = kb.settings.serve.proxies
    return uvicorn.Config(
        create_app(kb, require_sign_in=require_sign_in),
        http=timed_connection(kb.settings.serve.header_seconds),
        ws="none",
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


class _Server(uvicorn.Server):
    """A server that calls ``on_started`` as soon as it accepts connections."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call ``on_started``."""
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Mark the server as stopping, refuse queued requests and finish the running ones."""
        if isinstance(self.config.app, FastAPI):
            self.config.app.state.stopping = True
            self.config.app.state.queue.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket; port 0 takes a free port."""
    address = parse_address(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else no TCP_NODELAY
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((str(address), port))
    except OSError as error:
        listener.close()
        raise RequestError(
            f"cannot listen on {address}, port {port}: {error.strerror}",
            hint="choose another port with --port; --port 0 takes a free one",
        ) from error
    return listener


def address_to_serve(host: str, *, has_admin: Callable[[], bool]) -> Address:
    """Return the address of ``host``; raises when it may not be served."""
    address = parse_address(host)
    if not address.is_loopback and not has_admin():
        raise RequestError(
            f"listening on {host} is refused: other machines could read the knowledge base, "
            "and there is no admin account yet",
            hint="create one first: wellread users add NAME --role admin",
        )
    return address


def parse_address(host: str) -> Address:
    """Parse the IP address of a host."""
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise RequestError(
            f"listening on {host!r} is refused: it is not an IP address",
            hint="give an address of this machine, 0.0.0.0 for all of them, or 127.0.0.1",
        ) from error


def url_of(listener: socket.socket) -> str:
    """Return the URL of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


FORMAT_HINT = "The format is described at /docs and in /openapi.json."
OPENAI_HINT = "docs/programs.md has the routes and fields of /v1."
_HINTS = {404: FORMAT_HINT, 405: FORMAT_HINT, 413: "Shorten the body."}


def shape_errors(app: FastAPI, responses: ErrorResponses) -> None:
    """Make ``app`` use ``responses`` for expected errors of its routes.

    Any other error propagates to ``SecurityHeaders``.
    """

    async def error_response(request: Request, error: Exception) -> Response:
        problem, headers = _problem_and_headers(error)
        if request.scope["path"].startswith(OPENAI_PATH):
            problem, headers = _for_openai(problem, headers, error)
        return responses.response(request, problem, headers)

    for kind in (ProblemError, WellreadError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, error_response)


def _problem_and_headers(error: Exception) -> tuple[Problem, Mapping[str, str] | None]:
    """Return the problem for ``error`` and its headers."""
    problem: Problem = INTERNAL
    headers: Mapping[str, str] | None = None
    match error:
        case ProblemError():
            problem = error.problem
        case WellreadError():
            problem = problem_of(error)
        case RequestValidationError():  # 400, naming the first field that is wrong
            first = error.errors()[0]
            # The first part is the location: body, query or path.
            field = ".".join(str(part) for part in first["loc"][1:])
            problem = problem_of_status(400, invalid_value(first, field), FORMAT_HINT, param=field)
        case HTTPException(status_code=status):
            problem = problem_of_status(status, str(error.detail), _HINTS.get(status, ""))
            headers = error.headers
    return problem, headers


def _for_openai(
    problem: Problem, headers: Mapping[str, str] | None, error: Exception
) -> tuple[Problem, Mapping[str, str] | None]:
    """Add a hint for callers of OpenAI's interface, and whether its client should retry."""
    no_route = isinstance(error, HTTPException) and problem.status in (404, 405)
    if no_route or problem.hint == FORMAT_HINT:
        problem = replace(problem, hint=OPENAI_HINT)
    if isinstance(error, WellreadError):
        headers = {**(headers or {}), "x-should-retry": "true" if error.retryable else "false"}
    return problem, headers
