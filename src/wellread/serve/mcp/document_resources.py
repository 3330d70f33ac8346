"""Documents as resources, a page of the list at a time, and the app that shows answers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from urllib.parse import parse_qs, quote, unquote, urlsplit

from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from wellread.errors import RequestError, WellreadError
from wellread.library.document_lists import listed
from wellread.serve.error_shapes import problem_of
from wellread.serve.mcp.cursors import decoded, encoded, number
from wellread.serve.mcp.mcp_tools import APP, APP_MIME
from wellread.serve.mcp.places import continued, cursor_at, page_end, placed, readable
from wellread.serve.mcp.results import MOST_TOKENS
from wellread.serve.mcp.served import Served, served_for
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.text.words import harmless
from wellread.types import Filters, Span

DOCUMENTS = "wellread://documents/"
TEMPLATE = f"{DOCUMENTS}{{id}}{{?cursor}}"
PAGE = 100  # documents of a list
PAGE_TOKENS = MOST_TOKENS - 2_000
_APP_META = {"ui": {"csp": {}, "prefersBorder": True}}  # it fetches nothing from anywhere


async def list_resources(
    context: ServerRequestContext[Served], params: PaginatedRequestParams | None
) -> ListResourcesResult:
    """The app and the documents, newest first, a page of them.

    Raises:
        MCPError: the cursor is none of ours.
    """
    cursor = params.cursor if params else None
    return await to_thread.run_sync(_page, served_for(context), cursor)


def _page(served: Served, cursor: str | None) -> ListResourcesResult:
    try:
        offset = number(decoded("resources", cursor), "offset") if cursor else 0
        limits = Filters(collections=served.collections)
        page = listed(served.kb, limits, limit=PAGE, offset=offset)
    except WellreadError as error:
        raise _refused(error) from error
    end = offset + len(page.documents)
    app = [] if offset else [_app()]
    return ListResourcesResult(
        resources=[*app, *map(_resource, page.documents)],
        next_cursor=encoded("resources", {"offset": end}) if end < page.total else None,
    )


async def list_templates(
    _context: ServerRequestContext[Served], _params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    """How the address of a document is made."""
    template = ResourceTemplate(
        name="document",
        title="A document of the library",
        uri_template=TEMPLATE,
        description="Its text; of a long one a page, which ends with the address of the next.",
        mime_type="text/plain",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    context: ServerRequestContext[Served], params: ReadResourceRequestParams
) -> ReadResourceResult:
    """The app's page, or a document's text.

    Raises:
        MCPError: nothing has this address.
    """
    if params.uri == APP:
        page = TextResourceContents(uri=APP, mime_type=APP_MIME, text=app_page(), _meta=_APP_META)
        return ReadResourceResult(contents=[page])
    try:
        text = await to_thread.run_sync(_text, served_for(context), params.uri)
    except WellreadError as error:
        raise _refused(error, params.uri) from error
    contents = TextResourceContents(uri=params.uri, mime_type="text/plain", text=harmless(text))
    return ReadResourceResult(contents=[contents])


@cache
def app_page() -> str:
    """The HTML of the app."""
    return (files(__package__) / "answer_app.html").read_text(encoding="utf-8")


def _text(served: Served, uri: str) -> str:
    if not uri.startswith(DOCUMENTS):
        raise RequestError(f"there is no resource {uri!r}", hint=f"documents are at {DOCUMENTS}ID")
    parts = urlsplit(uri)
    name = unquote(parts.path.removeprefix("/"))
    cursor = parse_qs(parts.query).get("cursor", [""])[0]
    start = 0
    if cursor:
        place, begin, _ = continued(served, "resource", cursor)
        start = begin or 0
    else:
        place = placed(served, name)
    served.opened(place.listed.facts.id)
    whole = place.document.text
    end = page_end(whole, start, PAGE_TOKENS)
    text = readable(place.document, Span(start=start, end=end))
    if end == len(whole):
        return text
    following = quote(cursor_at("resource", place, start=end))
    address = f"{DOCUMENTS}{place.listed.facts.id}?cursor={following}"
    return f"{text}\n\n[The document goes on at {address}]"


def _app() -> Resource:
    return Resource(
        uri=APP,
        name="answer",
        title="Answers with their sources",
        description="Shows an answer with the verdict of each sentence, and opens its sources.",
        mime_type=APP_MIME,
        _meta=_APP_META,
    )


def _resource(one: ListedDocument) -> Resource:
    facts = one.facts
    day = f", {facts.published_at:%Y-%m-%d}" if facts.published_at else ""
    return Resource(
        uri=f"{DOCUMENTS}{facts.id}",
        name=facts.id,
        title=harmless(facts.title),
        description=harmless(f"{facts.kind} in {facts.collection}{day}"),
        mime_type="text/plain",
    )


def _refused(error: WellreadError, uri: str = "") -> MCPError:
    code = INVALID_PARAMS if isinstance(error, RequestError) else INTERNAL_ERROR
    problem = problem_of(error)
    said = f"{problem.detail} ({problem.hint})" if problem.hint else problem.detail
    return MCPError(code, harmless(said), {"uri": uri} if uri else None)
