"""Routes ``/api/ask`` (JSON or events) and ``/api/query`` (the format of a video archive).

``/api/query`` is compatible with the interface of a video archive: quick answers use the ordinary
pipeline, deep ones research, each within a time limit.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

from anyio import move_on_after, to_thread
from fastapi import Response
from pydantic import AfterValidator, Field, StringConstraints
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.answer import final
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import check_collections
from wellread.asking import answer_in_mode, with_mode_read
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import Problem, ProblemError, problem_to_tell
from wellread.serve.features.answer_forms import (
    ExplainedResponse,
    Explanation,
    QueryResponse,
    query_body,
)
from wellread.serve.features.answering import (
    AskResponse,
    PastBeside,
    answer_body,
    event_body,
    similar_past_questions,
)
from wellread.serve.features.feature import ASKING, CamelModel, FeatureRouter, StrictModel, refusals
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import json_of
from wellread.text.periods import first_moment, last_moment, window_of
from wellread.types import Filters, Kind, Mode
from wellread.values.answers import Answer, Event, FinalEvent, Question
from wellread.values.question import Analysis
from wellread.values.reports import Report

QuestionText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
TopicId = Annotated[str | None, Field(min_length=1, description="name of a collection")]
MAX_ID_CHARS = 200

router = FeatureRouter("ask", responses=refusals(s404="Unknown topic"))


def _validator(parse: Callable[[str], datetime]) -> AfterValidator:
    """Return a validator that rejects the texts for which ``parse`` raises an error."""

    def validate(text: str) -> str:
        try:
            parse(text)
        except RequestError as error:
            raise ValueError(str(error)) from error
        return text

    return AfterValidator(validate)


class TimeWindow(CamelModel):
    """Limits on the day of publication, both inclusive (``2025``, ``2025-10``, ``2025-10-14``)."""

    from_: Annotated[str, _validator(first_moment)] | None = Field(default=None, alias="from")
    to: Annotated[str, _validator(last_moment)] | None = None


class AskOptions(CamelModel):
    """Limits of a question and options of its answer."""

    time_window: TimeWindow | None = None
    kinds: tuple[Kind, ...] = ()
    speakers: tuple[str, ...] = ()
    max_clusters: int | None = Field(
        default=None, ge=1, description="maximum number of stories used to answer about news"
    )
    strict: bool | None = Field(default=None, description="drop unsupported sentences")
    fresh: bool = Field(default=False, description="write a new answer even if one is stored")
    explain: bool = Field(default=False, description="also explain how the answer was found")


class AskRequest(CamelModel):
    """A question with its collection and options."""

    question: QuestionText
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
    )
    | {200: {"content": {"text/event-stream": {}}}},
)
async def ask(kb: Kb, request: AskRequest) -> ExplainedResponse | AskResponse | Response:
    """Answer a question; with ``stream``, as events ``step``, ``token``, ``sentence``, then
    ``final`` or ``error``. With ``options.explain``, an event ``explanation`` precedes ``final``.
    """
    question = question_of(request)
    # Checked now, because retrieval would raise in the middle of a stream.
    await to_thread.run_sync(check_collections, kb, question.filters)
    explanations: list[Explanation] = []

    def explain(analysis: Analysis, found: Found) -> None:
        explanations.append(Explanation(analysis=analysis, found=found))

    # Asking for an explanation bypasses stored answers, which cannot be explained.
    events = answer_in_mode(kb, question, explain=explain if request.options.explain else None)
    if not request.stream:
        result = await final(events)
        body = answer_body(result, await to_thread.run_sync(similar_past_questions, kb, result))
        return ExplainedResponse(reply=body, explanation=explanations[0]) if explanations else body
    # Awaited before the response starts, so that errors in the question itself still set the
    # HTTP status.
    first = await anext(events)
    return EventSourceResponse(_stream(kb, first, events, explanations))


def question_of(request: AskRequest) -> Question:
    """Return the question in a request."""
    options = request.options
    window = options.time_window or TimeWindow()
    start, end = window_of(
        window.from_,
        window.to,
        hint="swap from and to",
        empty="options.timeWindow ends before it begins",
    )
    filters = Filters(
        collections=(request.topic_id,) if request.topic_id else (),
        kinds=options.kinds,
        speakers=options.speakers,
        published_from=start,
        published_to=end,
    )
    return Question(
        text=request.question,
        filters=filters,
        mode=request.mode,
        session_id=request.session_id or "",
        strict=options.strict,
        fresh=options.fresh,
        max_clusters=options.max_clusters,
    )


def sse(name: str, value: object, number: int | None = None) -> ServerSentEvent:
    """Return a value as a server-sent event."""
    data = json.dumps(json_of(value), ensure_ascii=False, separators=(",", ":"))
    return ServerSentEvent(event=name, data=data, id=None if number is None else str(number))


async def _stream(
    kb: KnowledgeBase,
    first: Event,
    events: AsyncIterator[Event],
    explanations: Sequence[Explanation],
) -> AsyncIterator[ServerSentEvent]:
    """Yield the events as server-sent events; an error becomes the last one."""
    try:
        yield await _event_of(kb, first)
        async for event in events:
            if explanations and isinstance(event, FinalEvent):
                yield sse("explanation", explanations[0])
            yield await _event_of(kb, event)
    except Exception as error:  # noqa: BLE001 - the status has been sent already
        problem = problem_to_tell(error, "answering failed in the middle of a stream")
        yield sse("error", problem.body())


async def _event_of(kb: KnowledgeBase, event: Event) -> ServerSentEvent:
    similar: tuple[PastBeside, ...] = ()
    if isinstance(event, FinalEvent):
        similar = await to_thread.run_sync(similar_past_questions, kb, event.answer)
    return sse(*event_body(event, similar))


# --- routes for video archives ---------------------------------------------------------------

query_router = FeatureRouter(
    "ask",
    responses=refusals(
        s400="Missing or empty question, or an invalid field",
        s403="Answering is switched off",
        s504="The time limit was exceeded",
    ),
    dependencies=ASKING,
)


class QueryRequest(StrictModel):
    """A question about recordings and other material, optionally in a conversation."""

    question: QuestionText
    session_id: Annotated[str, Field(max_length=MAX_ID_CHARS, pattern=r"^[!-~]*$")] | None = Field(
        default=None, description="id of a conversation; an unknown id starts a new one"
    )
    mode: Mode = Field(
        default="quick", description="`auto`: deep when one search cannot answer the question"
    )


class DeepQueryRequest(QueryRequest):
    """A question to research, optionally in a conversation."""

    mode: Literal["deep", "auto"] = Field(default="deep", description="ignored: always deep")


@query_router.post("/api/query")
async def query(kb: Kb, request: QueryRequest) -> QueryResponse:
    """Answer a question in a conversation; an unknown ``session_id`` starts a new one."""
    return await _answer_query(kb, await with_mode_read(kb, _question_of(request)))


@query_router.post("/api/query/deep")
async def query_deep(kb: Kb, request: DeepQueryRequest) -> QueryResponse:
    """Research a question in several rounds of searches and return a report."""
    return await _answer_query(kb, replace(_question_of(request), mode="deep"))


def _question_of(request: QueryRequest) -> Question:
    return Question(text=request.question, mode=request.mode, session_id=request.session_id or "")


async def _answer_query(kb: KnowledgeBase, question: Question) -> QueryResponse:
    """Return the answer, or the report of a deep question, in the format of a video archive."""
    limits, reports = kb.settings.serve, list[Report]()
    seconds = limits.research_seconds if question.mode == "deep" else limits.query_seconds
    result: Answer | None = None
    with move_on_after(seconds):
        result = await final(answer_in_mode(kb, question, on_report=reports.append))
    if result is None:
        detail = f"The answer took longer than {seconds:g} seconds."
        hint = "Ask a narrower question."
        raise ProblemError(Problem(error="timeout", detail=detail, hint=hint, status=504))
    report = reports[0] if reports else None
    build = partial(query_body, kb, result, report=report, requested_id=question.session_id)
    return await to_thread.run_sync(build)
