"""The HTTP interface over one open knowledge base, and the server that runs it."""

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
from wellread.errors import RequestError, StoreError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.api import ask_api, research_api
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
from wellread.serve.features.researching import ResearchTasks
from wellread.serve.guards.incoming import (
    LONGEST_HEADERS,
    BodyLimits,
    ForeignRequests,
    LocalNames,
    RequestBodies,
    within,
)
from wellread.serve.guards.refusals import Refusals, RequestLog, SecurityHeaders
from wellread.serve.guards.route_rules import MCP_PATH, RouteRules
from wellread.serve.guards.sign_in import Door, RateLimits, SignIn
from wellread.serve.guards.work_limits import WorkLimits, WorkQueue
from wellread.serve.openai import chat_completions
from wellread.serve.web.document_layout import PageImages
from wellread.serve.web.identity_provider import provider_of
from wellread.serve.web.pages.library_pages import UPLOAD_PATH
from wellread.serve.web.pages.routers import PAGE_ROUTERS
from wellread.serve.web.rendering import error_page, wants_page
from wellread.serve.web.runs import AskRuns, IngestRuns

logger = logging.getLogger(__name__)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# In the order in which the documentation lists their routes.
API_ROUTERS = (
    ask_api.router,
    ask_api.query_router,
    research_api.router,
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
ROUTERS = (*API_ROUTERS, chat_completions.router, *PAGE_ROUTERS)
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
ASKED_FOR_HEALTH = 2  # at once, each in a thread that nothing else takes
TRIM_SECONDS = 6 * 3_600
SECONDS_TO_FINISH = 5  # for requests still running when the server is told to stop


def create_app(kb: KnowledgeBase, *, demand_users: bool = False) -> FastAPI:
    """The application over ``kb``, which the caller opened and closes.

    Args:
        demand_users: nobody is let in without signing in, also while there are no users.
    """
    runs, ingest, images = AskRuns(), IngestRuns(kb), PageImages()
    researched = ResearchTasks(kb)
    served = kb.settings.serve
    queue = WorkQueue(served.asks_at_once, "questions are answered")
    mcp_route, answering_mcp = _mcp(kb, queue)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await researched.take_up()
        ingest.take_up()
        async with answering_mcp, _trimming(kb):
            yield
        await researched.close()
        await runs.close()
        await to_thread.run_sync(ingest.close)

    # The framework's pages load scripts from elsewhere; /docs is a page of ours.
    app = FastAPI(
        title="Wellread",
        version=version("wellread"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.kb = kb
    app.state.runs = runs
    app.state.research = researched
    app.state.ingest = ingest
    app.state.page_images = images
    app.state.room_for_health = CapacityLimiter(ASKED_FOR_HEALTH)
    app.state.door = Door(
        accounts=kb.catalogue.accounts,
        settings=kb.settings,
        rates=RateLimits(kb.settings.users),
        rules=RouteRules(),
        demanded=demand_users,
    )
    app.state.identity_provider = provider_of(kb.settings.oidc)
    _guard(app, served, queue)
    # Taken as they are: include_router makes each route anew, a third of a second for every app.
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    app.router.routes.append(mcp_route)
    app.mount("/static", StaticFiles(directory=str(files("wellread.serve.web") / "static")))
    return app


@asynccontextmanager
async def _trimming(kb: KnowledgeBase) -> AsyncIterator[None]:
    """Let old entries of the audit log go, a day's worth now and at every turn."""

    async def trim() -> None:
        audit, days = kb.catalogue.accounts.audit, kb.settings.users.audit_days
        await to_thread.run_sync(audit.trim, days)

    async def keep_up() -> None:
        while True:
            await asyncio.sleep(TRIM_SECONDS)
            try:
                await trim()
            except StoreError as error:
                logger.warning("the audit log was not trimmed: %s", error)

    await trim()
    turns = asyncio.create_task(keep_up())
    yield
    turns.cancel()


def _guard(app: FastAPI, served: ServeSettings, queue: WorkQueue) -> None:
    """Put the guards before the routes; the last one added is the first to be asked."""
    app.state.stopping, app.state.queue = False, queue
    refusals = Refusals(error_page, wants_page)
    shape_errors(app, refusals)
    bodies = BodyLimits(
        most_bytes=served.max_request_bytes,
        seconds=served.body_seconds,
        larger={UPLOAD_PATH: served.max_upload_bytes},
    )
    app.add_middleware(WorkLimits, queue=queue, refusals=refusals)
    app.add_middleware(RequestBodies, limits=bodies, refusals=refusals)
    app.add_middleware(SignIn, door=app.state.door, refusals=refusals)
    app.add_middleware(ForeignRequests, refusals=refusals)
    anywhere = app.state.door.demanded and not served.names
    names = None if anywhere else (*LOCAL_NAMES, *served.names)
    app.add_middleware(LocalNames, names=names, refusals=refusals)
    app.add_middleware(SecurityHeaders, refusals=refusals)
    app.add_middleware(RequestLog)


def _mcp(
    kb: KnowledgeBase, queue: WorkQueue
) -> tuple[BaseRoute, AbstractAsyncContextManager[None]]:
    """The route of the Model Context Protocol, and what has to be entered while it answers."""
    try:
        # The SDK takes a third of a second to load, and is an extra.
        from wellread.serve.mcp.mcp_server import http_route, http_sessions  # noqa: PLC0415
        from wellread.serve.mcp.tool_calls import Served  # noqa: PLC0415
    except ImportError:
        return Route(MCP_PATH, _without_mcp, methods=["GET", "POST", "DELETE"]), nullcontext()
    sessions = http_sessions(Served(kb=kb, queue=queue), kb.settings.serve.max_request_bytes)
    return http_route(MCP_PATH, sessions), sessions.run()


async def _without_mcp(_request: Request) -> JSONResponse:
    problem = problem_of_status(
        501,
        "The Model Context Protocol needs the extra 'mcp', which is not installed.",
        "pip install 'wellread[mcp]', and start the server again.",
    )
    return JSONResponse(problem.body(), status_code=problem.status)


def serve(
    kb: KnowledgeBase, host: str, port: int, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve ``kb`` until interrupted; ``on_ready`` is told the address that it listens on."""
    alone = address_to_serve(host, has_admin=kb.catalogue.accounts.users.has_admin).is_loopback
    listener = listen(host, port)
    with listener:
        # Opened before the first request, so that a damaged home is told at once.
        kb.live().embedder.embed(["ready"], "query")
        address = address_of(listener)
        config = server_config(kb, demand_users=not alone)
        _Server(config, lambda: on_ready and on_ready(address)).run(sockets=[listener])


def server_config(kb: KnowledgeBase, *, demand_users: bool = False) -> uvicorn.Config:
    """How the server that runs the application over ``kb`` is set up."""
    proxies = kb.settings.serve.proxies
    return uvicorn.Config(
        create_app(kb, demand_users=demand_users),
        http=within(kb.settings.serve.header_seconds),
        ws="none",
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )


class _Server(uvicorn.Server):
    """Says when it takes connections: a client that is told the address sooner is refused."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as any server does, then say so."""
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say at ``/healthz`` and to who waits for a turn that it stops, and finish what runs."""
        if isinstance(self.config.app, FastAPI):
            self.config.app.state.stopping = True
            self.config.app.state.queue.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one."""
    address = parsed(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((str(address), port))
    except OSError as error:
        listener.close()
        raise RequestError(
            f"cannot listen on {address}, port {port}: {error.strerror}",
            hint="choose another with --port; --port 0 takes a free one",
        ) from error
    return listener


def address_to_serve(host: str, *, has_admin: Callable[[], bool]) -> Address:
    """The address of ``host``, where it may be served."""
    address = parsed(host)
    if not address.is_loopback and not has_admin():
        raise RequestError(
            f"listening on {host} is refused: other machines could read the knowledge base, "
            "and there is no admin yet who says who may",
            hint="make one first: wellread users add NAME --role admin",
        )
    return address


def parsed(host: str) -> Address:
    """The address that a host stands for."""
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise RequestError(
            f"listening on {host!r} is refused: it is no address",
            hint="give one of this machine's, 0.0.0.0 for all of them, or 127.0.0.1",
        ) from error


def address_of(listener: socket.socket) -> str:
    """The URL of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


SEE = "The format is described at /docs and in /openapi.json."
SEE_OPENAI = "docs/programs.md has the routes and fields of /v1."
_HINTS = {
    404: SEE,
    405: SEE,
    413: "Shorten the body.",
}


def shape_errors(app: FastAPI, refusals: Refusals) -> None:
    """Make ``app`` answer the errors that its routes raise on purpose as ``refusals`` do.

    Any other error goes through to ``SecurityHeaders``.
    """

    async def shaped(request: Request, error: Exception) -> Response:
        problem, headers = _problem_in(error)
        if request.scope["path"].startswith(OPENAI_PATH):
            problem, headers = _for_openai(problem, error), _retries(error, headers)
        return refusals.response(request, problem, headers)

    for kind in (ProblemError, WellreadError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, shaped)


def _problem_in(error: Exception) -> tuple[Problem, Mapping[str, str] | None]:
    """The problem that ``error`` stands for, and headers that belong to it."""
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
