"""Documents as resources: the newest are listed, each is read by its address."""

from __future__ import annotations

from urllib.parse import unquote

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
from wellread.library.named_things import listed
from wellread.serve.error_shapes import problem_of
from wellread.serve.mcp.places import page_end, placed, readable
from wellread.serve.mcp.results import MOST_TOKENS
from wellread.serve.mcp.served import Served, served_for
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.text.words import harmless
from wellread.types import Filters, Span

DOCUMENTS = "wellread://documents/"
TEMPLATE = f"{DOCUMENTS}{{id}}"
MOST_LISTED = 100
PAGE_TOKENS = MOST_TOKENS - 2_000


async def list_resources(
    context: ServerRequestContext[Served], _params: PaginatedRequestParams | None
) -> ListResourcesResult:
    """The newest documents."""
    return await to_thread.run_sync(_newest, served_for(context))


def _newest(served: Served) -> ListResourcesResult:
    try:
        page = listed(served.kb, Filters(collections=served.collections), limit=MOST_LISTED)
    except WellreadError as error:
        raise _refused(error) from error
    return ListResourcesResult(resources=[_resource(one) for one in page.documents])


async def list_templates(
    _context: ServerRequestContext[Served], _params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    """How the address of a document is made."""
    template = ResourceTemplate(
        name="document",
        title="A document of the library",
        uri_template=TEMPLATE,
        description="Its text; of a long one the beginning.",
        mime_type="text/plain",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    context: ServerRequestContext[Served], params: ReadResourceRequestParams
) -> ReadResourceResult:
    """A document's text.

    Raises:
        MCPError: nothing has this address.
    """
    try:
        text = await to_thread.run_sync(_text, served_for(context), params.uri)
    except WellreadError as error:
        raise _refused(error, params.uri) from error
    contents = TextResourceContents(uri=params.uri, mime_type="text/plain", text=harmless(text))
    return ReadResourceResult(contents=[contents])


def _text(served: Served, uri: str) -> str:
    if not uri.startswith(DOCUMENTS):
        raise RequestError(f"there is no resource {uri!r}", hint=f"documents are at {DOCUMENTS}ID")
    place = placed(served, unquote(uri.removeprefix(DOCUMENTS)))
    served.opened(place.listed.facts.id)
    whole = place.document.text
    end = page_end(whole, 0, PAGE_TOKENS)
    text = readable(place.document, Span(start=0, end=end))
    return text if end == len(whole) else f"{text}\n\n[The document goes on; search finds the rest]"


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
