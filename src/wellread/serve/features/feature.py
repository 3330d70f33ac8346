"""How a function becomes a route: its parameters are its signature, its JSON is its value's.

::

    router = FeatureRouter()

    @router.get("/api/stories")
    def stories(kb: Kb, scope: Scope, query: str = "") -> StoryList:
        ...

What the function returns goes out as ``views`` shows it (a pydantic model and a ``Response`` as
they are), and its schema is in the description of the interface. Whoever has a knowledge base calls
the same function. A parameter that is not known is refused, so that a misspelt limit is none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from functools import wraps
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from wellread.ask.retrieve.search import SearchMode
from wellread.library.named_things import pair_of
from wellread.serve.error_shapes import QA_SWITCHED_OFF, ProblemError
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import json_of, view_of
from wellread.store.catalogue.documents.listings import Order
from wellread.text.periods import window_of
from wellread.types import Filters, Kind

MOST_RESULTS = 200
DEEPEST = 1_000  # results of a search that may be left out in front
FAR = 1_000_000_000
# Contracts that are frozen take any parameter where they did.
LENIENT = ("/api/entities/{name:path}",)


class ErrorBody(BaseModel):
    """Every error looks like this."""

    error: str
    detail: str
    hint: str


Refusals = dict[int | str, dict[str, Any]]


def refusals(**told: str) -> Refusals:
    """What a route answers beside its value: ``s404="No such entity"``, ``s4XX=…``."""
    return {
        int(name[1:]) if name[1:].isdecimal() else name[1:]: {
            "model": ErrorBody,
            "description": words,
        }
        for name, words in told.items()
    }


REFUSED = refusals(
    s400="A parameter is unknown, missing or out of range", s404="A name that nothing has"
)
FAILED = "A model or a store failed"


class FeatureRoute(APIRoute):
    """A route that refuses parameters that its function does not have."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind the look at the parameters' names."""
        handle = super().get_route_handler()
        known = set(_parameters(self.dependant))
        lenient = self.path in LENIENT

        async def strict(request: Request) -> Response:
            unknown = [name for name in request.query_params if name not in known]
            if unknown and not lenient:
                told = {"loc": ("query", unknown[0]), "msg": "Extra inputs are not permitted"}
                raise RequestValidationError([told])
            return await handle(request)

        return strict


def _parameters(dependant: Dependant) -> Iterator[str]:
    """The names that a route takes in its query."""
    for field in dependant.query_params:
        model = field.field_info.annotation
        if inspect.isclass(model) and issubclass(model, BaseModel):
            yield from (each.alias or name for name, each in model.model_fields.items())
        else:
            yield field.alias
    for inner in dependant.dependencies:
        yield from _parameters(inner)


class FeatureRouter(APIRouter):
    """Routes of features."""

    def __init__(self, *, responses: Refusals = REFUSED, **options: Any) -> None:
        super().__init__(responses=responses, route_class=FeatureRoute, **options)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add the route of a function."""
        told = _values(get_type_hints(endpoint).get("return"))
        if told is not None:
            status = options.get("status_code") or 200
            reply = {"model": _described(told), "description": "Successful Response"}
            options["responses"] = {status: reply, **(options.get("responses") or {})}
            endpoint = _shown(endpoint, status)
        super().add_api_route(path, endpoint, **{**options, "response_model": None})


def _parts(told: Any) -> tuple[Any, ...]:
    return get_args(told) if get_origin(told) in (Union, UnionType) else (told,)


def _values(told: Any) -> Any:
    """What of a return type is a value that goes out; None: nothing is."""
    held = [
        each
        for each in _parts(told)
        if each is not None and not (inspect.isclass(each) and issubclass(each, Response))
    ]
    return Union[tuple(held)] if held else None  # noqa: UP007 - of types that only now are known


def _described(told: Any) -> Any:
    kinds = tuple(view_of(each).described(each) for each in _parts(told))
    return Union[kinds]  # noqa: UP007 - as above


def _shown(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """``endpoint`` with its value as JSON."""

    def out(value: Any) -> Response:
        if isinstance(value, Response):
            return value
        return JSONResponse(json_of(value), status_code=status)

    if inspect.iscoroutinefunction(endpoint):

        @wraps(endpoint)
        async def awaited(*given: Any, **named: Any) -> Response:
            return out(await endpoint(*given, **named))

        return awaited

    @wraps(endpoint)
    def called(*given: Any, **named: Any) -> Response:
        return out(endpoint(*given, **named))

    return called


def may_ask(kb: Kb) -> None:
    """Refuse questions where they are switched off."""
    if not kb.settings.qa.enabled:
        raise ProblemError(QA_SWITCHED_OFF)


ASKING = [Depends(may_ask)]


# --- what is asked for -----------------------------------------------------------------------


class StrictModel(BaseModel):
    """What is asked for; a field or parameter that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class CamelModel(BaseModel):
    """What is asked for, in camelCase; a misspelt option must not be taken for "no limit"."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True
    )


def _given(values: list[str]) -> tuple[str, ...]:
    """The values without empty ones, which forms send for what was left out."""
    return tuple(value for value in values if value.strip())


class ScopeQuery(StrictModel):
    """In which collections to look; both names are repeatable and mean the same."""

    topic: list[str] = []
    collection: list[str] = []

    @property
    def collections(self) -> tuple[str, ...]:
        """All collections that were named."""
        return tuple(dict.fromkeys(_given([*self.topic, *self.collection])))


class FieldsQuery(ScopeQuery):
    """By what documents are told apart. Values of one field are alternatives, fields add up."""

    kind: list[Kind] = []
    author: list[str] = []
    language: list[str] = []
    source_type: list[str] = []
    taxonomy: list[str] = Field(default=[], description="dimension=value")

    def filters(self) -> Filters:
        """What the parameters limit a search to: those that a query of this kind has."""
        given = self.model_dump()
        since = given.get("from_") or given.get("start", "")
        until = given.get("to") or given.get("end", "")
        start, end = window_of(since, until, hint="swap the two dates")
        return Filters(
            collections=self.collections,
            kinds=tuple(self.kind),
            source_types=_given(self.source_type),
            languages=_given(self.language),
            authors=_given(self.author),
            speakers=_given(given.get("speaker", [])),
            published_from=start,
            published_to=end,
            taxonomy=tuple(pair_of(field) for field in _given(self.taxonomy)),
        )


class DatedQuery(FieldsQuery):
    """With the first and last day of publication, both inclusive."""

    from_: str = Field(default="", alias="from")
    to: str = ""


class RankedQuery(BaseModel):
    """What is ranked, and which part of the list; without a query there is no ranking."""

    query: str = ""
    mode: SearchMode = "hybrid"
    limit: int = Field(default=10, ge=1, le=MOST_RESULTS)
    offset: int = Field(default=0, ge=0, le=DEEPEST)


class SpeakerQuery(RankedQuery, DatedQuery):
    """What one speaker says, about the query or at all."""


class SearchQuery(SpeakerQuery):
    """A search by words."""

    query: str
    speaker: list[str] = []


class DateRangeQuery(RankedQuery, FieldsQuery):
    """What was published in a time, about the query or at all."""

    start: str = ""
    end: str = ""
    speaker: list[str] = []


class ListQuery(DatedQuery):
    """A page of a list of documents."""

    speaker: list[str] = []
    order: Order = "newest"
    limit: int = Field(default=20, ge=1, le=MOST_RESULTS)
    offset: int = Field(default=0, ge=0, le=FAR)


async def _scope(
    topic: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    collection: Annotated[list[str], Query()] = [],  # noqa: B006
) -> tuple[str, ...]:
    return ScopeQuery(topic=topic, collection=collection).collections


async def _window(
    from_: Annotated[str, Query(alias="from")] = "", to: str = ""
) -> tuple[datetime | None, datetime | None]:
    return window_of(from_, to, hint="swap the two dates")


Scope = Annotated[tuple[str, ...], Depends(_scope)]
"""The collections that ``topic`` and ``collection`` name."""
Window = Annotated[tuple[datetime | None, datetime | None], Depends(_window)]
"""The first and the last moment that ``from`` and ``to`` name; None: without an end."""
Many = Annotated[int, Query(ge=1, le=MOST_RESULTS)]
"""How many of a list."""
Offset = Annotated[int, Query(ge=0, le=FAR)]
"""How many of a list are left out in front."""
RowNumber = Annotated[int, Field(ge=0, lt=2**63)]
"""The number of a row: no database has one beyond."""


def event_after(last_event_id: str) -> int | None:
    """The number in the header ``Last-Event-ID``; None when it holds none of an event."""
    given = last_event_id.strip()
    is_one = given.isascii() and given.isdecimal() and len(given) < len(str(FAR))
    return int(given) if is_one else None
