"""Renders the HTML pages from their templates, with the navigation and shared filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit

from fastapi import Request
from fastapi.responses import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import QueryParams
from starlette.templating import Jinja2Templates

from wellread.kb.language_models import dollars
from wellread.serve.error_shapes import OPENAI_PATH, Problem
from wellread.serve.features.feature import FeatureRouter
from wellread.serve.guards.route_rules import Access, asker_of, kb_for
from wellread.serve.views import template_view
from wellread.store.catalogue.asking.answer_records import SessionFacts
from wellread.store.catalogue.documents.collection_records import CollectionWords
from wellread.store.schema.stored_values import Rights
from wellread.text.characters import harmless
from wellread.values.answer_blocks import draft_html
from wellread.values.answers import VerdictName
from wellread.values.locators import format_time

# The places of the application, and their pages. The first page that the asker may open is where a
# place begins; addresses below its pages belong to a place, as do those in ``BELONGING``.
PLACES = {
    "Ask": {"/": "Ask"},
    "Library": {
        "/library": "Documents",
        "/library/collections": "Collections",
        "/library/jobs": "Activity",
    },
    "Explore": {
        "/search": "Search",
        "/stories": "Stories",
        "/entities": "Entities",
        "/media": "Recordings",
        "/timelines": "Timelines",
    },
    "Insights": {
        "/gaps": "Gaps",
        "/coverage": "Coverage",
        "/figures": "Metrics",
        "/usage": "Usage",
    },
    "Settings": {
        "/settings": "Settings",
        "/preferences": "Preferences",
        "/health": "Health",
        "/users": "Users",
        "/account": "Account",
    },
}
BELONGING = {"Ask": ("/ask/", "/answers/", "/conversations", "/research"), "Library": ("/view/",)}
# Pages that are offered only where there is something to show on them.
HOLDING = {
    "/stories": "stories",
    "/entities": "entities",
    "/media": "recordings",
    "/timelines": "dates",
}
THEMES = ("system", "light", "dark")
THEME_COOKIE = "wellread_theme"
MAX_RECENT = 12  # conversations in the rail
NO_STORE = {"cache-control": "no-store"}  # removed material must not stay in browser caches


def page_router(access: Access) -> FeatureRouter:
    """A router for pages, which are not listed in the OpenAPI schema."""
    return FeatureRouter(access, include_in_schema=False)


def page_response(
    request: Request, template: str, body: object, *, status: int = 200, **values: Any
) -> Response:
    """Render a page with the exposed fields of ``body`` and more values."""
    return render_page(request, template, {"body": template_view(body), **values}, status=status)


def render_page(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    *,
    status: int = 200,
    problem: Problem | None = None,
) -> Response:
    """Render a template with ``values`` inside the frame that all pages share.

    ``problem``: why what was sent was refused; the page shows it beside what was typed.

    It reads the catalogue for the rail, so call it in a worker thread.
    """
    frame = {**_places(request), "rail": _rail(request), "problem": problem}
    context = {**frame, **values}
    if context["here_in"] == "Explore":
        holds = kb_for(request).catalogue.listings.holds()
        context["tabs"] = [
            tab
            for tab in context["tabs"]
            if tab.here or HOLDING.get(tab.address, "") in holds | {""}
        ]
    return _response(request, template, context, problem.status if problem else status)


def error_page(request: Request, problem: Problem) -> Response:
    """The error page for a problem; it reads nothing from the catalogue."""
    context = {**_places(request), "rail": None, "problem": problem}
    return _response(request, "error.html", context, problem.status)


def _response(request: Request, template: str, context: Mapping[str, Any], status: int) -> Response:
    rights, theme = _rights(request), request.cookies.get(THEME_COOKIE, "")
    frame = {
        "here": request.url.path,
        "signed_in": rights.user.name if rights is not None and rights.user else "",
        "theme": theme if theme in THEMES else "system",
        "may_edit": rights is None or "edit" in rights.scopes,
        "is_admin": may_see_paths(request),
        "shut_out": asker_of(request).reads == frozenset(),
        "admins": partial(_admin_names, request),
    }
    return templates.TemplateResponse(
        request, template, {**frame, **context}, status_code=status, headers=dict(NO_STORE)
    )


def _admin_names(request: Request) -> list[str]:
    """The names of the admins, whom a user without rights has to ask."""
    users = request.app.state.authenticator.accounts.users.list_all()
    return [user.name for user in users if user.role == "admin" and not user.disabled]


class Link(NamedTuple):
    """A link of the navigation; ``here``: it leads to the current page or its place."""

    name: str
    address: str
    here: bool


def _places(request: Request) -> dict[str, Any]:
    """The places and the tabs of the current one that the asker may open."""
    path, rights = request.url.path, _rights(request)
    rules = request.app.state.authenticator.rules
    found: dict[str, Any] = {"navigation": [], "tabs": [], "here_in": "", "settings_address": ""}
    for name, pages in PLACES.items():
        # Of a page below a list, the tab is the list's.
        tab = next((page for page in reversed(pages) if f"{path}/".startswith(f"{page}/")), "")
        here = bool(tab) or path.startswith(BELONGING.get(name, ()))
        tabs = [
            Link(name=title, address=address, here=address == tab)
            for address, title in pages.items()
            if rights is None or rules.allows(rights, address)
        ]
        if here:
            found |= {"here_in": name, "tabs": tabs}
        if tabs and name == "Settings":
            found["settings_address"] = tabs[0].address
        elif tabs:
            found["navigation"].append(Link(name=name, address=tabs[0].address, here=here))
    return found


class Rail(NamedTuple):
    """What the rail shows of the asker's own: collections to ask, conversations by day.

    ``default`` is the collection that the asker's preferences name; may be empty.
    """

    collections: Sequence[CollectionWords]
    conversations: Sequence[tuple[str, Sequence[SessionFacts]]]
    default: str
    model: str


def _rail(request: Request) -> Rail | None:
    """Read the rail; None while nobody is signed in."""
    rights = _rights(request)
    if rights is not None and "read" not in rights.scopes:
        return None
    kb = kb_for(request)
    sessions = kb.catalogue.sessions.of(kb.asker.owner, MAX_RECENT)
    days = [(day, list(group)) for day, group in groupby(sessions, _day_of)]
    return Rail(
        collections=kb.catalogue.vocabulary.of(()),
        conversations=days,
        default=kb.catalogue.preferences.of(kb.asker.owner).effective.collection,
        model=kb.settings.generation.model,
    )


def _day_of(session: SessionFacts) -> str:
    """The heading under which the rail lists a conversation."""
    days = (datetime.now(UTC).date() - session.seen_at.astimezone(UTC).date()).days
    return next((name for most, name in _AGES if days <= most), "Earlier")


_AGES = ((0, "Today"), (1, "Yesterday"), (7, "Last week"), (30, "Last month"))


def _rights(request: Request) -> Rights | None:
    rights = request.scope.get("state", {}).get("rights")
    return rights if isinstance(rights, Rights) else None


def fragment(template: str, **values: Any) -> str:
    """The HTML of a partial template."""
    return templates.env.get_template(template).render(values)


def wants_page(request: Request) -> bool:
    """Whether the client is a browser that asks for a page, not for the API."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not request.url.path.startswith(("/api/", OPENAI_PATH))


def web_link(link: str) -> str:
    """``link`` if it is an http(s) address that a page may link to; otherwise empty."""
    return link if urlsplit(link).scheme in ("http", "https") else ""


def may_see_paths(request: Request) -> bool:
    """Whether the asker may see folders of the server: an admin."""
    rights = _rights(request)
    return rights is None or rights.is_admin


def source_name(address: str, whole: bool = False) -> str:
    """A source's name for readers: of a file only the name, unless they may see its folder."""
    if address.startswith(("file:", "/")):
        path = unquote(address.removeprefix("file://"))
        return path if whole else path.rstrip("/").rpartition("/")[2]
    return address


def _moment(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if moment else ""


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
        "day": lambda moment: moment.date().isoformat() if moment else "",
        "clock": format_time,
        "web_link": web_link,
        "source_name": source_name,
        "percent": lambda share: f"{share:.0%}",
        "with": _with,
        "iso": lambda moment: f"{moment:%Y-%m-%d %H:%M}",
        "segment": lambda name: quote(name, safe=""),
        "drawn": draft_html,
        "first_paragraph": lambda text: " ".join(text.partition("\n\n")[0].split()),
    }
    environment.globals["verdicts"] = {verdict.value: verdict for verdict in VerdictName}
    environment.globals["dollars"] = dollars
    return environment


templates = Jinja2Templates(env=_environment())
