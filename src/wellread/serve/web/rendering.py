"""Renders the HTML pages from their templates, with the navigation and shared filters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import Request
from fastapi.responses import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import QueryParams
from starlette.templating import Jinja2Templates

from wellread.serve.error_shapes import OPENAI_PATH, Problem
from wellread.serve.features.feature import FeatureRouter
from wellread.serve.guards.route_rules import Access
from wellread.serve.views import template_view
from wellread.store.schema.stored_values import Rights
from wellread.text.characters import harmless
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
NO_STORE = {"cache-control": "no-store"}  # removed material must not stay in browser caches


def page_router(access: Access) -> FeatureRouter:
    """A router for pages, which are not listed in the OpenAPI schema."""
    return FeatureRouter(access, include_in_schema=False)


def page_response(request: Request, template: str, body: object, **values: Any) -> Response:
    """Render a page with the exposed fields of ``body`` and more values."""
    return render_page(request, template, {"body": template_view(body), **values})


def render_page(
    request: Request, template: str, values: Mapping[str, Any], *, status: int = 200
) -> Response:
    """Render a template with ``values`` and the navigation."""
    rights = _rights(request)
    context = {
        "navigation": [
            (path, name)
            for path, name in NAVIGATION
            if rights is None or request.app.state.authenticator.rules.allows(rights.scopes, path)
        ],
        "here": request.url.path,
        "signed_in": rights.user.name if rights is not None and rights.user else "",
        **values,
    }
    return templates.TemplateResponse(
        request, template, context, status_code=status, headers=dict(NO_STORE)
    )


def _rights(request: Request) -> Rights | None:
    rights = request.scope.get("state", {}).get("rights")
    return rights if isinstance(rights, Rights) else None


def fragment(template: str, **values: Any) -> str:
    """The HTML of a partial template."""
    return templates.env.get_template(template).render(values)


def error_page(request: Request, problem: Problem) -> Response:
    """The error page for a problem."""
    return render_page(request, "error.html", {"problem": problem}, status=problem.status)


def wants_page(request: Request) -> bool:
    """Whether the client is a browser that asks for a page, not for the API."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not request.url.path.startswith(("/api/", OPENAI_PATH))


def web_link(link: str) -> str:
    """``link`` if it is an http(s) address that a page may link to; otherwise empty."""
    return link if urlsplit(link).scheme in ("http", "https") else ""


def _moment(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if moment else ""


def _day(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else ""


def _with(query: Mapping[str, Any], **changed: Any) -> str:
    """The query string of ``query`` with changed parameters; empty values are left out."""
    if isinstance(query, QueryParams):
        query = {name: list(filter(None, query.getlist(name))) for name in query}
    parameters = {**query, **changed}
    return urlencode(
        {name: value for name, value in parameters.items() if value not in ("", None, (), [])},
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
        "first_paragraph": lambda text: " ".join(text.partition("\n\n")[0].split()),
    }
    environment.globals["verdicts"] = {verdict.value: verdict for verdict in VerdictName}
    return environment


templates = Jinja2Templates(env=_environment())
