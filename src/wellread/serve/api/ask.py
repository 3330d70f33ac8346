"""``POST /api/ask``: one JSON answer, or its events as they happen."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from anyio import to_thread
from fastapi import APIRouter, Depends, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.answers import Event, FinalEvent, Question
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.retrieval import Found
from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.serve.api.explain_schemas import ExplainedResponse, ExplanationBody
from wellread.serve.api.failures import ProblemError
from wellread.serve.api.schemas import AskOptions, AskRequest, AskResponse, ErrorBody
from wellread.serve.explain import explanation
from wellread.serve.present import answer_body, event_body
from wellread.serve.problems import INTERNAL, QA_SWITCHED_OFF, Problem, problem_of
from wellread.serve.timecodes import first_moment, last_moment
from wellread.types import Filters

logger = logging.getLogger(__name__)

Explaining = Callable[[], Awaitable[ExplanationBody]]


def ask_router(kb: KnowledgeBase) -> APIRouter:
    """The route over ``kb``."""

    def switched_on() -> None:
        if not kb.settings.qa.enabled:
            raise ProblemError(QA_SWITCHED_OFF)

    router = APIRouter()

    @router.post(
        "/api/ask",
        response_model=ExplainedResponse | AskResponse,
        dependencies=[Depends(switched_on)],
        responses={
            400: {"model": ErrorBody, "description": "Missing or empty question, or a bad option"},
            403: {"model": ErrorBody, "description": "Answering is switched off"},
            404: {"model": ErrorBody, "description": "Unknown topic"},
            413: {"model": ErrorBody, "description": "The body is too large"},
            "4XX": {"model": ErrorBody, "description": "Another fault of the request"},
            "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
        },
    )
    async def ask(request: AskRequest) -> Response | AskResponse:
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
            body = answer_body(await final(events))
            if not request.options.explain:
                return body
            return ExplainedResponse(**dict(body), explanation=await _explaining(kb, told)())
        # The first event comes before the response starts: what is wrong with the question
        # itself still ends in an HTTP status.
        first = await anext(events)
        why = _explaining(kb, told) if request.options.explain else None
        return EventSourceResponse(_stream(first, events, why))

    return router


def question_of(request: AskRequest) -> Question:
    """What a request asks.

    Raises:
        RequestError: the time window ends before it begins.
    """
    return Question(
        text=request.question,
        filters=_filters(request.topic_id, request.options),
        mode=request.mode,
        session_id=request.session_id or "",
        strict=request.options.strict,
        fresh=request.options.fresh,
        max_clusters=request.options.max_clusters,
    )


def _filters(topic: str | None, options: AskOptions) -> Filters:
    window = options.time_window
    start = first_moment(window.from_) if window and window.from_ else None
    end = last_moment(window.to) if window and window.to else None
    if start and end and start > end:
        raise RequestError("options.timeWindow ends before it begins", hint="swap from and to")
    return Filters(
        collections=(topic,) if topic else (),
        kinds=options.kinds,
        speakers=options.speakers,
        published_from=start,
        published_to=end,
    )


def _explaining(kb: KnowledgeBase, told: list[tuple[Analysis, Found]]) -> Explaining:
    """Gives the explanation of the answer, once there is one."""

    async def explain() -> ExplanationBody:
        return await to_thread.run_sync(explanation, kb, *told[0])

    return explain


async def _stream(
    first: Event, events: AsyncIterator[Event], explain: Explaining | None
) -> AsyncIterator[ServerSentEvent]:
    """The events as server-sent ones; an error on the way is the last of them."""
    try:
        yield _sent(first)
        async for event in events:
            if explain is not None and isinstance(event, FinalEvent):
                why = await explain()
                yield ServerSentEvent(event="explanation", data=why.model_dump_json())
            yield _sent(event)
    except WellreadError as error:
        yield _failed(problem_of(error))
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        yield _failed(INTERNAL)


def _sent(event: Event) -> ServerSentEvent:
    name, body = event_body(event)
    return ServerSentEvent(event=name, data=body.model_dump_json())


def _failed(problem: Problem) -> ServerSentEvent:
    body = ErrorBody(**problem.body())
    return ServerSentEvent(event="error", data=body.model_dump_json())
