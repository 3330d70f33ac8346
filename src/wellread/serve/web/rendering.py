"""Fills the templates of pages, and gives the same data as JSON to whoever asks for that."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import QueryParams
from starlette.templating import Jinja2Templates

from wellread.serve.error_shapes import OPENAI_PATH, Problem
from wellread.serve.features.feature import FeatureRoute
from wellread.serve.guards.route_rules import rules
from wellread.serve.views import json_of, look_at
from wellread.store.schema.stored_values import Rights
from wellread.text.words import harmless
from wellread.values.answer_blocks import draft_html
from wellread.values.answers import VerdictName
from wellread.values.locators import format_time

NAVIGATION = (
    ("/", "Ask"),
    ("/conversations", "Conversations"),
    ("/library", "Library"),
    ("/search", "Search"),
    ("/stories", "Stories"),
    ("/entities", "Entities"),
    ("/gaps", "Gaps"),
    ("/figures", "Metrics"),
    ("/coverage", "Coverage"),
    ("/usage", "Usage"),
    ("/preferences", "Preferences"),
)
NOT_KEPT = {"cache-control": "no-store"}  # what is removed must not stay in a browser's cache


class PageRoute(FeatureRoute):
    """A page: ``format=json`` gives its data, which no page has to declare."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind a look at the form that is asked for."""
        handle = super().get_route_handler()

        async def formed(request: Request) -> Response:
            given = parse_qsl(request.scope["query_string"].decode("latin-1"), True)
            wanted = [value for name, value in given if name == "format"]
            if wanted:
                if wanted[-1] not in ("html", "json"):
                    told = {"loc": ("query", "format"), "msg": "Input should be 'html' or 'json'"}
                    raise RequestValidationError([told])
                request.state.format = wanted[-1]
                kept = [(name, value) for name, value in given if name != "format"]
                request.scope["query_string"] = urlencode(kept).encode()
            return await handle(Request(request.scope, request.receive))

        return formed


def page_router() -> APIRouter:
    """Routes of pages, which the description of the interface leaves out."""
    return APIRouter(include_in_schema=False, route_class=PageRoute)


def shown(
    request: Request, template: str, body: object, *, status: int = 200, **extra: Any
) -> Response:
    """The page made of ``body``, or ``body`` itself where JSON is asked for.

    Args:
        extra: further values for the template; none of the data that the page shows.
    """
    if wants_json(request):
        return JSONResponse(json_of(body), status_code=status, headers=NOT_KEPT)
    return drawn(request, template, {"body": look_at(body), **extra}, status=status)


def drawn(
    request: Request, template: str, values: Mapping[str, Any], *, status: int = 200
) -> Response:
    """The page of a template that has no data of its own."""
    rights = _rights(request)
    known = {
        "navigation": _navigation(rights),
        "here": request.url.path,
        "signed_in": rights.user.name if rights is not None and rights.user else "",
        **values,
    }
    return templates.TemplateResponse(
        request, template, known, status_code=status, headers=dict(NOT_KEPT)
    )


def _rights(request: Request) -> Rights | None:
    """What the request may do; None where it was refused before that was known."""
    found = request.scope.get("state", {}).get("rights")
    return found if isinstance(found, Rights) else None


def _navigation(rights: Rights | None) -> tuple[tuple[str, str], ...]:
    """The pages that may be opened."""
    if rights is None:
        return NAVIGATION
    rule = {path: access for method, path, access in rules() if method == "GET"}
    return tuple(one for one in NAVIGATION if rule[one[0]] in rights.scopes)


def fragment(template: str, **values: Any) -> str:
    """The HTML of a part of a page."""
    return templates.env.get_template(template).render(values)


def error_page(request: Request, problem: Problem) -> Response:
    """The page that tells of a problem, and what to do."""
    return drawn(request, "error.html", {"problem": problem}, status=problem.status)


def wants_json(request: Request) -> bool:
    """Whether the data is asked for: by ``?format=json`` or by ``Accept``."""
    asked: str = getattr(request.state, "format", "")
    if asked:
        return asked == "json"
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def wants_page(request: Request) -> bool:
    """Whether a person waits for the response: a browser asks for HTML, and not the interface."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not request.url.path.startswith(("/api/", OPENAI_PATH))


def web_link(link: str) -> str:
    """``link`` when a browser may follow it from a page of ours; a script or a file may not."""
    return link if urlsplit(link).scheme in ("http", "https") else ""


def _moment(given: datetime | None) -> str:
    return given.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if given else ""


def _day(given: datetime | None) -> str:
    return given.date().isoformat() if given else ""


def _with(query: Mapping[str, Any], **changed: Any) -> str:
    """The query string of ``query`` with some parameters changed; empty ones are left out."""
    if isinstance(query, QueryParams):
        query = {name: list(filter(None, query.getlist(name))) for name in query}
    given = {**query, **changed}
    return urlencode(
        {name: value for name, value in given.items() if value not in ("", None, (), [])},
        doseq=True,
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("wellread.serve.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    environment.filters |= {
        "moment": _moment,
        "day": _day,
        "clock": format_time,
        "web_link": web_link,
        "percent": lambda share: f"{share:.0%}",
        "with": _with,
        "iso": lambda moment: f"{moment:%Y-%m-%d %H:%M}",
        "segment": lambda name: quote(name, safe=""),
        "drawn": draft_html,
    }
    environment.globals["verdicts"] = {one.value: one for one in VerdictName}
    return environment


templates = Jinja2Templates(env=_environment())
