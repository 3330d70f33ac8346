"""``POST /api/ask``, one JSON answer or its events as they happen; ``/api/check`` verifies a text,
``/api/catalogue`` works out what is asked by fields."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Response
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.aggregate.execute import CatalogueRequest
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.library.check_text import GivenText, check, check_texts
from wellread.serve.api.middleware import may_ask
from wellread.serve.error_shapes import INTERNAL, Problem, problem_of
from wellread.serve.features.asking.answer_bodies import AskResponse, answer_body, event_body
from wellread.serve.features.asking.explanations import (
    ExplainedResponse,
    ExplanationBody,
    explanation,
)
from wellread.serve.features.asking.past_beside import PastQuestionBody, past_beside
from wellread.serve.features.asking.text_checks import CheckResponse, check_body
from wellread.serve.features.bodies import Body, ErrorBody
from wellread.serve.features.catalogue_queries import (
    CatalogueResponse,
    catalogue_body,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.text.periods import first_moment, last_moment, window_of
from wellread.types import Filters, Kind, Mode
from wellread.values.answers import Event, FinalEvent, Question
from wellread.values.question import Analysis

logger = logging.getLogger(__name__)

Explaining = Callable[[], Awaitable[ExplanationBody]]
MOST_SOURCES = 100

router = APIRouter()


class _RequestBody(Body):
    # A misspelt option must not be taken for "no limit".
    model_config = ConfigDict(extra="forbid")


def _readable(read: Callable[[str], datetime]) -> AfterValidator:
    """Refuses what ``read`` refuses, as a field that is wrong."""

    def checked(text: str) -> str:
        try:
            read(text)
        except RequestError as error:
            raise ValueError(str(error)) from error
        return text

    return AfterValidator(checked)


class TimeWindow(_RequestBody):
    """Limits on the day of publication, both inclusive (``2025``, ``2025-10``, ``2025-10-14``)."""

    from_: Annotated[str, _readable(first_moment)] | None = Field(default=None, alias="from")
    to: Annotated[str, _readable(last_moment)] | None = None


class AskOptions(_RequestBody):
    """What limits a question, beside its topic."""

    time_window: TimeWindow | None = None
    max_clusters: int | None = Field(
        default=None,
        ge=1,
        description="most stories that news is told from",
    )
    kinds: tuple[Kind, ...] = ()
    speakers: tuple[str, ...] = ()
    strict: bool | None = Field(default=None, description="drop unsupported sentences")
    fresh: bool = Field(default=False, description="write anew, whatever answer is kept")
    explain: bool = Field(default=False, description="also how the answer was found, and why so")


class AskRequest(_RequestBody):
    """A question, the collection it is asked of, and how."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    topic_id: str | None = Field(default=None, min_length=1, description="name of a collection")
    options: AskOptions = AskOptions()
    mode: Mode = "auto"
    session_id: str | None = None
    stream: bool = Field(default=False, description="answer with server-sent events")


class SourceText(_RequestBody):
    """A source that is given with the text."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    title: str = ""


class CheckRequest(_RequestBody):
    """A text to check: against ``sources`` where there are some, else against what is stored."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    topic_id: str | None = Field(default=None, min_length=1, description="name of a collection")
    sources: tuple[SourceText, ...] = Field(
        default=(), max_length=MOST_SOURCES, description="check against these texts alone"
    )
    strict: bool = Field(
        default=False, description="a sentence that is supported in part fails the check too"
    )


@router.post(
    "/api/ask",
    response_model=ExplainedResponse | AskResponse,
    dependencies=[Depends(may_ask)],
    responses={
        400: {"model": ErrorBody, "description": "Missing or empty question, or a bad option"},
        403: {"model": ErrorBody, "description": "Answering is switched off"},
        404: {"model": ErrorBody, "description": "Unknown topic"},
        413: {"model": ErrorBody, "description": "The body is too large"},
        "4XX": {"model": ErrorBody, "description": "Another fault of the request"},
        "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
    },
)
async def ask(kb: Kb, request: AskRequest) -> Response | AskResponse:
    """Answer a question; with ``stream`` the events step, token, sentence, final or error.

    With ``options.explain`` the event explanation comes before final.
    """
    question = question_of(request)
    # Before a stream begins, what retrieval would raise in the middle of it.
    await to_thread.run_sync(check_collections, kb, question.filters)
    told: list[tuple[Analysis, Found]] = []
    # An answer that is given again cannot be explained, so only who asks for it is told.
    tell = (lambda *both: told.append(both)) if request.options.explain else None
    events = answer(kb, question, explain=tell)
    if not request.stream:
        done = await final(events)
        body = answer_body(done, await to_thread.run_sync(past_beside, kb, done))
        if not told:
            return body
        return ExplainedResponse(**dict(body), explanation=await _explaining(kb, told)())
    # The first event comes before the response starts: what is wrong with the question
    # itself still ends in an HTTP status.
    first = await anext(events)
    why = _explaining(kb, told) if request.options.explain else None
    return EventSourceResponse(_stream(kb, first, events, why))


@router.post(
    "/api/check",
    response_model=CheckResponse,
    responses={
        400: {"model": ErrorBody, "description": "No text, no sentence, or a bad field"},
        404: {"model": ErrorBody, "description": "Unknown topic"},
        413: {"model": ErrorBody, "description": "The body is too large"},
        "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
    },
)
def check_text(kb: Kb, request: CheckRequest) -> CheckResponse:
    """A verdict for each sentence of ``text``, by ``sources`` or by what is stored."""
    if not request.sources:
        topics = (request.topic_id,) if request.topic_id else ()
        found = check(kb, request.text, filters=Filters(collections=topics))
        return check_body(found, strict=request.strict, stored=True)
    if request.topic_id:
        raise RequestError("topicId and sources exclude each other", hint="leave one out")
    given = [GivenText(text=source.text, title=source.title) for source in request.sources]
    found = check_texts(kb, request.text, given)
    return check_body(found, strict=request.strict, stored=False)


def question_of(request: AskRequest) -> Question:
    """What a request asks.

    Raises:
        RequestError: the time window ends before it begins.
    """
    options, window = request.options, request.options.time_window or TimeWindow()
    start, end = window_of(
        window.from_,
        window.to,
        hint="swap from and to",
        empty="options.timeWindow ends before it begins",
    )
    return Question(
        text=request.question,
        filters=Filters(
            collections=(request.topic_id,) if request.topic_id else (),
            kinds=options.kinds,
            speakers=options.speakers,
            published_from=start,
            published_to=end,
        ),
        mode=request.mode,
        session_id=request.session_id or "",
        strict=options.strict,
        fresh=options.fresh,
        max_clusters=options.max_clusters,
    )


def _explaining(kb: KnowledgeBase, told: list[tuple[Analysis, Found]]) -> Explaining:
    """Gives the explanation of the answer, once there is one."""

    async def explain() -> ExplanationBody:
        return await to_thread.run_sync(explanation, kb, *told[0])

    return explain


async def _stream(
    kb: KnowledgeBase, first: Event, events: AsyncIterator[Event], explain: Explaining | None
) -> AsyncIterator[ServerSentEvent]:
    """The events as server-sent ones; an error on the way is the last of them."""
    try:
        yield await _sent(kb, first)
        async for event in events:
            if explain is not None and isinstance(event, FinalEvent):
                why = await explain()
                yield ServerSentEvent(event="explanation", data=why.model_dump_json())
            yield await _sent(kb, event)
    except WellreadError as error:
        yield _failed(problem_of(error))
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        yield _failed(INTERNAL)


async def _sent(kb: KnowledgeBase, event: Event) -> ServerSentEvent:
    similar: tuple[PastQuestionBody, ...] = ()
    if isinstance(event, FinalEvent):
        similar = await to_thread.run_sync(past_beside, kb, event.answer)
    name, body = event_body(event, similar)
    return ServerSentEvent(event=name, data=body.model_dump_json())


def _failed(problem: Problem) -> ServerSentEvent:
    body = ErrorBody(**problem.body())
    return ServerSentEvent(event="error", data=body.model_dump_json())


@router.post(
    "/api/catalogue",
    response_model=CatalogueResponse,
    responses={
        400: {"model": ErrorBody, "description": "A field that is wrong, and what is allowed"},
        404: {"model": ErrorBody, "description": "Unknown topic"},
        413: {"model": ErrorBody, "description": "The body is too large"},
        "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
    },
)
def catalogue(kb: Kb, asked: CatalogueRequest) -> CatalogueResponse:
    """Work out a count, a list, gaps, coverage, a trend or a walk through the graph."""
    return catalogue_body(kb, asked)
