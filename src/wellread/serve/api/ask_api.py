"""``/api/ask`` and its kin: answers as JSON or as events, a text verified, the archive's form.

``/api/query`` is the interface of a video archive: quick answers go the way of every answer, deep
ones that of research. Each has a time limit of its own; when it is up the reply is 504, in the same
shape, with what was found until then. ``/api/catalogue`` works out what is asked by fields.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

from anyio import move_on_after, to_thread
from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, Field, StringConstraints
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.aggregate.execute import CatalogueRequest, worked_out
from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.answer import answer, final
from wellread.ask.plan import reading
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.research.research import research, usual_limits
from wellread.serve.error_shapes import INTERNAL, problem_of
from wellread.serve.features.answer_forms import (
    ExplainedResponse,
    Explanation,
    QueryResponse,
    QueryTimeoutResponse,
    explanation,
    found_so_far,
    places_for,
    query_body,
    timeout_body,
)
from wellread.serve.features.answering import (
    AskResponse,
    PastBeside,
    answer_body,
    event_body,
    past_beside,
)
from wellread.serve.features.feature import (
    ASKING,
    FAILED,
    CamelModel,
    FeatureRouter,
    StrictModel,
    refusals,
)
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import PLAIN, json_of
from wellread.text.periods import first_moment, last_moment, window_of
from wellread.types import Filters, Kind, Mode
from wellread.values.answers import Answer, Citation, Event, FinalEvent, Question
from wellread.values.question import Analysis
from wellread.values.reports import ProgressEvent, Report, ReportEvent, ResearchRequest

logger = logging.getLogger(__name__)

Explaining = Callable[[], Awaitable[Explanation]]
Asked = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
TopicId = Annotated[str | None, Field(min_length=1, description="name of a collection")]
LONGEST_ID = 200
FINISHING = 15.0  # seconds after its limit until research that did not stop by itself is stopped
LOOKING = 10.0  # seconds for finding what can be told when the time is up

router = FeatureRouter(
    responses=refusals(s404="Unknown topic", s413="The body is too large", s5XX=FAILED)
)


def _readable(read: Callable[[str], datetime]) -> AfterValidator:
    """Refuses what ``read`` refuses, as a field that is wrong."""

    def checked(text: str) -> str:
        try:
            read(text)
        except RequestError as error:
            raise ValueError(str(error)) from error
        return text

    return AfterValidator(checked)


class TimeWindow(CamelModel):
    """Limits on the day of publication, both inclusive (``2025``, ``2025-10``, ``2025-10-14``)."""

    from_: Annotated[str, _readable(first_moment)] | None = Field(default=None, alias="from")
    to: Annotated[str, _readable(last_moment)] | None = None


class WhereOptions(CamelModel):
    """What limits a question, beside its topic."""

    time_window: TimeWindow | None = None
    kinds: tuple[Kind, ...] = ()
    speakers: tuple[str, ...] = ()


class AskOptions(WhereOptions):
    """What limits a question, and how it is answered."""

    max_clusters: int | None = Field(
        default=None, ge=1, description="most stories that news is told from"
    )
    strict: bool | None = Field(default=None, description="drop unsupported sentences")
    fresh: bool = Field(default=False, description="write anew, whatever answer is kept")
    explain: bool = Field(default=False, description="also how the answer was found, and why so")


class AskRequest(CamelModel):
    """A question, the collection it is asked of, and how."""

    question: Asked
    topic_id: TopicId = None
    options: AskOptions = AskOptions()
    mode: Mode = "auto"
    session_id: str | None = None
    stream: bool = Field(default=False, description="answer with server-sent events")


@router.post(
    "/api/ask",
    dependencies=ASKING,
    responses=refusals(
        s400="Missing or empty question, or a bad option",
        s403="Answering is switched off",
        s4XX="Another fault of the request",
    ),
)
async def ask(kb: Kb, request: AskRequest) -> ExplainedResponse | AskResponse | Response:
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
        return ExplainedResponse(reply=body, explanation=await _explaining(kb, told)())
    # The first event comes before the response starts: what is wrong with the question
    # itself still ends in an HTTP status.
    first = await anext(events)
    why = _explaining(kb, told) if request.options.explain else None
    return EventSourceResponse(_stream(kb, first, events, why))


@router.post(
    "/api/catalogue", responses=refusals(s400="A field that is wrong, and what is allowed")
)
def catalogue(kb: Kb, asked: CatalogueRequest) -> AggregateResult:
    """Work out a count, a list, gaps, coverage, a trend or a walk through the graph."""
    return worked_out(kb, asked)


def question_of(request: AskRequest) -> Question:
    """What a request asks.

    Raises:
        RequestError: the time window ends before it begins.
    """
    options = request.options
    return Question(
        text=request.question,
        filters=filters_of(request.topic_id, options),
        mode=request.mode,
        session_id=request.session_id or "",
        strict=options.strict,
        fresh=options.fresh,
        max_clusters=options.max_clusters,
    )


def filters_of(topic_id: str | None, options: WhereOptions) -> Filters:
    """What limits a question.

    Raises:
        RequestError: the time window ends before it begins.
    """
    window = options.time_window or TimeWindow()
    start, end = window_of(
        window.from_,
        window.to,
        hint="swap from and to",
        empty="options.timeWindow ends before it begins",
    )
    return Filters(
        collections=(topic_id,) if topic_id else (),
        kinds=options.kinds,
        speakers=options.speakers,
        published_from=start,
        published_to=end,
    )


def sent(name: str, value: object, number: int | None = None) -> ServerSentEvent:
    """A value as a server-sent event."""
    data = json.dumps(json_of(value), ensure_ascii=False, separators=(",", ":"))
    return ServerSentEvent(event=name, data=data, id=None if number is None else str(number))


def _explaining(kb: KnowledgeBase, told: list[tuple[Analysis, Found]]) -> Explaining:
    """Gives the explanation of the answer, once there is one."""

    async def explain() -> Explanation:
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
                yield sent("explanation", await explain())
            yield await _sent(kb, event)
    except WellreadError as error:
        yield sent("error", problem_of(error).body())
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        yield sent("error", INTERNAL.body())


async def _sent(kb: KnowledgeBase, event: Event) -> ServerSentEvent:
    similar: tuple[PastBeside, ...] = ()
    if isinstance(event, FinalEvent):
        similar = await to_thread.run_sync(past_beside, kb, event.answer)
    return sent(*event_body(event, similar))


# --- the interface of a video archive --------------------------------------------------------

query_router = FeatureRouter(
    responses={
        **refusals(
            s400="Missing or empty question, or a wrong field",
            s403="Answering is switched off",
            s5XX=FAILED,
        ),
        504: {
            "model": PLAIN.model(QueryTimeoutResponse),
            "description": "The time is up; what was found until",
        },
    },
    dependencies=ASKING,
)


class QueryRequest(StrictModel):
    """A question over recordings and everything else, in a conversation or not."""

    question: Asked
    session_id: Annotated[str, Field(max_length=LONGEST_ID, pattern=r"^[!-~]*$")] | None = Field(
        default=None, description="of a conversation; one that is not known begins it"
    )
    mode: Mode = Field(
        default="quick", description="`auto`: deep for what one search cannot answer"
    )


class DeepQueryRequest(QueryRequest):
    """A question to research, in a conversation or not."""

    mode: Literal["deep", "auto"] = Field(default="deep", description="deep in any case")


@query_router.post("/api/query")
async def query(kb: Kb, request: QueryRequest) -> QueryResponse | Response:
    """Answer a question of a conversation; an unknown ``session_id`` begins one."""
    asked = _question(request, request.mode)
    if asked.mode == "auto" and (await to_thread.run_sync(reading, kb, asked)).mode == "deep":
        asked = _question(request, "deep")
    return await (_deep(kb, asked) if asked.mode == "deep" else _quick(kb, asked))


@query_router.post("/api/query/deep")
async def query_deep(kb: Kb, request: DeepQueryRequest) -> QueryResponse | Response:
    """Research a question: several searches, in rounds, and a report."""
    return await _deep(kb, _question(request, "deep"))


def _question(request: QueryRequest, mode: Mode) -> Question:
    return Question(text=request.question, mode=mode, session_id=request.session_id or "")


async def _quick(kb: KnowledgeBase, asked: Question) -> QueryResponse | Response:
    seconds = kb.settings.serve.query_seconds
    done: Answer | None = None
    with move_on_after(seconds):
        done = await final(answer(kb, asked))
    if done is not None:
        return await to_thread.run_sync(partial(query_body, kb, done, asked_in=asked.session_id))
    body = await _so_far(kb, asked, "quick")
    return _late(body, seconds, "serve.query_seconds")


async def _deep(kb: KnowledgeBase, asked: Question) -> QueryResponse | Response:
    seconds = kb.settings.serve.research_seconds
    wanted = ResearchRequest(question=asked, limits=replace(usual_limits(kb), seconds=seconds))
    report: Report | None = None
    progress: list[ProgressEvent] = []
    with move_on_after(seconds + FINISHING):
        async for event in research(kb, wanted):
            match event:
                case ProgressEvent():
                    progress.append(event)
                case ReportEvent():
                    report = event.report
    if report is None:
        body = await _so_far(kb, asked, "deep", progress)
        return _late(body, seconds, "serve.research_seconds")
    made = partial(query_body, kb, report.answer, report=report, asked_in=asked.session_id)
    body = await to_thread.run_sync(made)
    if report.stopped == "time_limit":
        return _late(body, seconds, "serve.research_seconds")
    return body


async def _so_far(
    kb: KnowledgeBase,
    asked: Question,
    mode: Literal["quick", "deep"],
    progress: Sequence[ProgressEvent] = (),
) -> QueryResponse:
    """What can be told when the time is up: the places that a quick look finds."""
    places: Sequence[Citation] = ()
    with move_on_after(LOOKING):
        places = await to_thread.run_sync(places_for, kb, asked, abandon_on_cancel=True)
    return await to_thread.run_sync(partial(found_so_far, kb, asked, mode, places, progress))


def _late(body: QueryResponse, seconds: float, setting: str) -> JSONResponse:
    late = timeout_body(body, seconds=seconds, setting=setting)
    return JSONResponse(json_of(late), status_code=504)
