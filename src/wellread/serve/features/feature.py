"""Turns functions into HTTP routes: parameters from the signature, JSON from the return type.

::

    router = FeatureRouter("read")

    @router.get("/api/stories")
    def stories(kb: Kb, scope: Scope, query: str = "") -> StoryList:
        ...

Return values are serialised by ``views`` (pydantic models and ``Response`` objects unchanged), and
their schema goes into the OpenAPI description. Other callers may call the same function directly.
Unknown parameters are refused, so that a misspelt limit is not silently ignored. Each route has the
access that its router requires (``route_rules``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from copy import copy
from datetime import datetime
from functools import wraps
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.library.named_things import pair_of
from wellread.serve.error_shapes import OPENAI_PATH, QA_SWITCHED_OFF, ProblemError
from wellread.serve.guards.route_rules import Access, Kb
from wellread.serve.views import json_of, view_of
from wellread.store.catalogue.documents.listings import Order
from wellread.text.periods import window_of
from wellread.types import Filters, Kind

MAX_RESULTS = 200
MAX_SEARCH_OFFSET = 1_000
MAX_OFFSET = 1_000_000_000
# Routes with a frozen contract still accept unknown parameters.
LENIENT_PATHS = ("/api/entities/{name:path}",)


class ErrorBody(BaseModel):
    """The body of every error."""

    error: str
    detail: str
    hint: str


class OpenAIError(BaseModel):
    """What went wrong, in OpenAI's words."""

    message: str
    type: str
    param: str | None
    code: str


class OpenAIErrorBody(BaseModel):
    """The body of every error below ``/v1``."""

    error: OpenAIError


Refusals = dict[int | str, dict[str, Any]]


def refusals(**descriptions: str) -> Refusals:
    """OpenAPI descriptions of error replies: ``s404="No such entity"``, ``s4XX=…``."""
    return {
        int(name[1:]) if name[1:].isdecimal() else name[1:]: {
            "model": ErrorBody,
            "description": description,
        }
        for name, description in descriptions.items()
    }


# What every route may reply; a route describes what is special about it.
REFUSED = refusals(
    s400="A parameter is unknown, missing or out of range",
    s401="Nobody is signed in, or the key is wrong",
    s403="This user may not do that",
    s404="Something with this name does not exist, or is not open to this user",
    s413="The body is too large",
    s421="The server does not go by this host name",
    s429="Too many requests, or the budget is spent; see the header Retry-After",
    s4XX="Refused for another reason, which the body tells",
    s5XX="A model or a store failed, or the server is stopping",
)


class FeatureRoute(APIRoute):
    """A route that refuses query parameters unknown to its function.

    Attributes:
        access: what the asker has to be allowed to do.
    """

    access: Access

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, preceded by the check of parameter names."""
        handle = super().get_route_handler()
        parameters = set(_query_parameters(self.dependant))
        lenient = self.path in LENIENT_PATHS or self.path.startswith(OPENAI_PATH)

        async def strict(request: Request) -> Response:
            unknown = [name for name in request.query_params if name not in parameters]
            if unknown and not lenient:
                problem = {"loc": ("query", unknown[0]), "type": "extra_forbidden"}
                raise RequestValidationError([problem])
            return await handle(request)

        return strict


def _query_parameters(dependant: Dependant) -> Iterator[str]:
    """Yield the query parameters of a route."""
    for field in dependant.query_params:
        model = field.field_info.annotation
        if inspect.isclass(model) and issubclass(model, BaseModel):
            yield from (part.alias or name for name, part in model.model_fields.items())
        else:
            yield field.alias
    for inner in dependant.dependencies:
        yield from _query_parameters(inner)


class FeatureRouter(APIRouter):
    """A router whose routes are of the class ``FeatureRoute`` and require ``access``."""

    def __init__(self, access: Access, *, responses: Refusals = REFUSED, **options: Any) -> None:
        super().__init__(route_class=FeatureRoute, **options)
        self.refusals = REFUSED | responses
        self.access = access

    def requiring(self, *accesses: Access) -> list[FeatureRouter]:
        """Return a router for each access, which adds its routes to those of this one."""
        routers = [copy(self) for _ in accesses]
        for router, access in zip(routers, accesses, strict=True):
            router.access = access
        return routers

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add the route of ``endpoint``, with its return type as schema."""
        value_type = _value_type(get_type_hints(endpoint).get("return"))
        replies = self.refusals | (options.get("responses") or {})
        if path.startswith(OPENAI_PATH):
            replies = {
                status: reply | {"model": OpenAIErrorBody} for status, reply in replies.items()
            }
        options["responses"] = replies
        if value_type is not None:
            status = options.get("status_code") or 200
            reply = {"model": _schema_type(value_type), "description": "The reply"}
            options["responses"] = {**replies, status: reply | replies.get(status, {})}
            endpoint = _with_json_response(endpoint, status)
        super().add_api_route(path, endpoint, **{**options, "response_model": None})
        cast(FeatureRoute, self.routes[-1]).access = self.access


def _union_members(type_hint: Any) -> tuple[Any, ...]:
    return get_args(type_hint) if get_origin(type_hint) in (Union, UnionType) else (type_hint,)


def _value_type(type_hint: Any) -> Any:
    """Return the part of a return type that ``views`` serialises; None if there is none."""
    members = [
        member
        for member in _union_members(type_hint)
        if member is not None and not (inspect.isclass(member) and issubclass(member, Response))
    ]
    return Union[tuple(members)] if members else None  # noqa: UP007 - known at run time


def _schema_type(type_hint: Any) -> Any:
    models = tuple(view_of(kind).schema_type(kind) for kind in _union_members(type_hint))
    return Union[models]  # noqa: UP007 - as above


def _with_json_response(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Wrap ``endpoint`` so that its value becomes a JSON response."""

    def to_response(value: Any) -> Response:
        if isinstance(value, Response):
            return value
        return JSONResponse(json_of(value), status_code=status)

    if inspect.iscoroutinefunction(endpoint):

        @wraps(endpoint)
        async def async_endpoint(*args: Any, **kwargs: Any) -> Response:
            return to_response(await endpoint(*args, **kwargs))

        return async_endpoint

    @wraps(endpoint)
    def sync_endpoint(*args: Any, **kwargs: Any) -> Response:
        return to_response(endpoint(*args, **kwargs))

    return sync_endpoint


def check_may_ask(kb: Kb) -> None:
    """Raise 403 when answering is switched off."""
    if not kb.settings.qa.enabled:
        raise ProblemError(QA_SWITCHED_OFF)


ASKING = [Depends(check_may_ask)]


# --- request bodies and query parameters -----------------------------------------------------


class StrictModel(BaseModel):
    """A request body or query that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


class CamelModel(BaseModel):
    """A request body in camelCase that refuses unknown fields, so that typos are noticed."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True
    )


def _without_empty(values: list[str]) -> tuple[str, ...]:
    """Drop empty values, which forms send for unset fields."""
    return tuple(value for value in values if value.strip())


class ScopeQuery(StrictModel):
    """The collections to use; both parameters are repeatable and mean the same."""

    topic: list[str] = []
    collection: list[str] = []

    @property
    def collections(self) -> tuple[str, ...]:
        """The named collections without repetitions."""
        return tuple(dict.fromkeys(_without_empty([*self.topic, *self.collection])))


class FieldsQuery(ScopeQuery):
    """Filters on document fields: values of one field are alternatives, fields combine."""

    kind: list[Kind] = []
    author: list[str] = []
    language: list[str] = []
    source_type: list[str] = []
    taxonomy: list[str] = Field(default=[], description="dimension=value")
    document: list[str] = Field(default=[], description="ids of documents, and no others")

    def filters(self) -> Filters:
        """Convert the parameters that this query has into filters."""
        values = self.model_dump()
        since = values.get("from_") or values.get("start", "")
        until = values.get("to") or values.get("end", "")
        start, end = window_of(since, until, hint="swap the two dates")
        return Filters(
            collections=self.collections,
            kinds=tuple(self.kind),
            document_ids=_without_empty(self.document),
            source_types=_without_empty(self.source_type),
            languages=_without_empty(self.language),
            authors=_without_empty(self.author),
            speakers=_without_empty(values.get("speaker", [])),
            published_from=start,
            published_to=end,
            taxonomy=tuple(pair_of(field) for field in _without_empty(self.taxonomy)),
        )


class DatedQuery(FieldsQuery):
    """Filters with the first and last day of publication, both inclusive."""

    from_: str = Field(default="", alias="from")
    to: str = ""


class RankedQuery(BaseModel):
    """A query and the page of its results; without a query, results are not ranked."""

    query: str = ""
    mode: SearchMode = "hybrid"
    limit: int = Field(default=10, ge=1, le=MAX_RESULTS)
    offset: int = Field(default=0, ge=0, le=MAX_SEARCH_OFFSET)


class SpeakerQuery(RankedQuery, DatedQuery):
    """Passages of one speaker, optionally about a query."""


class SearchQuery(SpeakerQuery):
    """A search for a query, which is required."""

    query: str
    speaker: list[str] = []


class DateRangeQuery(RankedQuery, FieldsQuery):
    """Passages published in a period, optionally about a query."""

    start: str = ""
    end: str = ""
    speaker: list[str] = []


class ListQuery(DatedQuery):
    """A page of a list of documents."""

    speaker: list[str] = []
    order: Order = "newest"
    limit: int = Field(default=20, ge=1, le=MAX_RESULTS)
    offset: int = Field(default=0, ge=0, le=MAX_OFFSET)

    @property
    def page(self) -> dict[str, Any]:
        """The order and the part of the list."""
        return {"order": self.order, "limit": self.limit, "offset": self.offset}


async def _scope(
    topic: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    collection: Annotated[list[str], Query()] = [],  # noqa: B006
) -> tuple[str, ...]:
    return ScopeQuery(topic=topic, collection=collection).collections


async def _window(
    from_: Annotated[str, Query(alias="from")] = "", to: str = ""
) -> tuple[datetime | None, datetime | None]:
    return window_of(from_, to, hint="swap the two dates")


def window_problems(dates: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the first and the last day of a form, by the name of its field."""
    (since, first), (until, last) = dates.items()
    for name, window in ((since, (first, "")), (until, ("", last)), (until, (first, last))):
        try:
            window_of(*window, hint="swap the two dates")
        except RequestError as error:
            return {name: str(error)}
    return {}


Scope = Annotated[tuple[str, ...], Depends(_scope)]
"""The collections named by ``topic`` and ``collection``."""
Window = Annotated[tuple[datetime | None, datetime | None], Depends(_window)]
"""The first and last moment of ``from`` and ``to``; None for an open end."""
Limit = Annotated[int, Query(ge=1, le=MAX_RESULTS)]
"""The length of a page."""
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]
"""The number of items before the page."""


def last_event_number(last_event_id: str) -> int | None:
    """Parse the header ``Last-Event-ID``; None when it is not an event number."""
    text = last_event_id.strip()
    is_number = text.isascii() and text.isdecimal() and len(text) < len(str(MAX_OFFSET))
    return int(text) if is_number else None
