"""``/v1/models`` and ``/v1/chat/completions``: what programs for OpenAI's models speak.

The last message of the user is the question, the turns before it are the conversation; all else
that programs send has no effect. Nothing is streamed that a check could still change: the text is
sent when all of its sentences have their verdicts. Until then the stream holds what is being done
(``docs/decisions/042``).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.answer import answer
from wellread.ask.deliver.related import to_no_question
from wellread.errors import WellreadError
from wellread.identity import random_id, tagged_hash
from wellread.kb import KnowledgeBase
from wellread.research.research import research, usual_limits
from wellread.serve.error_shapes import INTERNAL, Problem, ProblemError, openai_error, problem_of
from wellread.serve.features.answering import answer_body
from wellread.serve.features.feature import may_ask
from wellread.serve.guards.route_rules import Kb
from wellread.serve.openai.answer_markdown import AnswerMarkdown, Marker, address, earlier_turn
from wellread.serve.views import PLAIN
from wellread.text.words import harmless
from wellread.types import EarlierTurn, Filters
from wellread.values.answers import Answer, FinalEvent, Question, StepEvent
from wellread.values.reports import ProgressEvent, ReportEvent, ResearchRequest

logger = logging.getLogger(__name__)
router = APIRouter()
ASK, RESEARCH = "wellread", "wellread-deep"
MOST_NAMED = 10  # models that an error names
TEXTS = ("text", "refusal")  # types of parts that hold words
SPOKEN = ("user", "assistant")
LINE = "\n"  # as OpenAI ends the lines of a stream

# --- models ----------------------------------------------------------------------------------


def model_names(kb: KnowledgeBase) -> list[str]:
    """Every model: all material or one collection, asked or researched."""
    held = kb.catalogue.collection_names()
    return [
        *(ASK, RESEARCH),
        *(f"{ASK}/{name}" for name in held),
        *(f"{RESEARCH}/{name}" for name in held),
    ]


def check_model(kb: KnowledgeBase, name: str) -> None:
    """Refuse a name that no model has."""
    known = model_names(kb)
    if name in known:
        return
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    problem = Problem(
        error="model_not_found",
        detail=f"The model {name!r} does not exist.",
        hint=f"There are: {', '.join(known[:MOST_NAMED])}{more}.",
        status=HTTPStatus.NOT_FOUND,
        param="model",
    )
    raise ProblemError(problem)


def _model(name: str) -> dict[str, Any]:
    """A model. ``created`` says nothing here: the material is as it is when it is asked."""
    return {"id": harmless(name), "object": "model", "created": 0, "owned_by": "wellread"}


@router.get("/v1/models")
def models(kb: Kb) -> dict[str, Any]:
    """What can be asked: all material or one collection, with an answer or a report."""
    return {"object": "list", "data": list(map(_model, model_names(kb)))}


@router.get("/v1/models/{name:path}")
def model(kb: Kb, name: str) -> dict[str, Any]:
    """One of them."""
    check_model(kb, name)
    return _model(name)


# --- what is asked ---------------------------------------------------------------------------


class ContentPart(BaseModel):
    """A part of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class StreamOptions(BaseModel):
    """``include_usage``: a last chunk with the tokens of language models."""

    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """``POST /v1/chat/completions``; other fields have no effect."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None


def question_of(kb: KnowledgeBase, request: CompletionRequest) -> Question:
    """The question of a chat completion after the turns before it.

    It goes on in the session of the last answer that is still known.
    """
    check_model(kb, request.model)
    spoken = [
        (one.role, _words(f"messages[{place}]", one))
        for place, one in enumerate(request.messages)
        if one.role in SPOKEN
    ]
    while spoken and spoken[-1][0] == "assistant" and not spoken[-1][1].strip():
        spoken.pop()
    if not spoken or spoken[-1][0] != "user" or not spoken[-1][1].strip():
        raise _refused(
            "messages",
            "The last message is not a question of the user.",
            "End with a message of the role user that holds text.",
        )
    history = tuple(_turns(spoken[:-1]))
    ids = [one.answer_id for one in history if one.answer_id]
    last = kb.catalogue.sessions.answer(ids[-1], kb.asker.owner) if ids else None
    how, _, collection = request.model.partition("/")
    return Question(
        text=spoken[-1][1].strip(),
        filters=Filters(collections=(collection,) if collection else ()),
        mode="deep" if how == RESEARCH else "auto",
        session_id=last[1].session_id if last else "",
        history=history,
    )


def _words(where: str, message: ChatMessage) -> str:
    """The text of a message."""
    content = message.content
    if content is None or isinstance(content, str):
        return content or ""
    for place, part in enumerate(content):
        if part.type not in TEXTS and message.role == "user":
            raise _refused(
                f"{where}.content[{place}]",
                f"A question is text; {part.type} cannot be read here.",
                "Add the file to the knowledge base (wellread add), then ask about it.",
            )
    return "\n".join(part.text or part.refusal or "" for part in content if part.type in TEXTS)


def _refused(param: str, detail: str, hint: str) -> ProblemError:
    status = HTTPStatus.BAD_REQUEST
    return ProblemError(
        Problem(error="invalid_value", detail=detail, hint=hint, status=status, param=param)
    )


def _turns(spoken: Sequence[tuple[str, str]]) -> Iterable[EarlierTurn]:
    """Questions with what was answered; a question without an answer is a turn too."""
    asked: str | None = None
    said: list[str] = []
    for role, text in spoken:
        if role == "user":
            if asked is not None:
                yield earlier_turn(asked, "\n\n".join(said))
            asked, said = text.strip(), []
        elif asked is not None:
            said.append(text)
    if asked is not None:
        yield earlier_turn(asked, "\n\n".join(said))


# --- what is answered ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The answer, the text that is sent of it, and the markers in that."""

    answer: Answer
    text: str
    markers: Sequence[Marker] = ()


async def delivering(
    kb: KnowledgeBase, question: Question, base: str
) -> AsyncIterator[str | Delivered]:
    """What is done for the answer, in words; then the answer, always the last.

    Args:
        base: the address of this server, as the program calls it.
    """
    nothing = to_no_question(question, programs=True)
    if nothing is not None:  # not even the marks of an answer stand beside it
        yield Delivered(answer=replace(nothing, id=random_id("ans")), text=nothing.text)
        return
    given, report = None, None
    if question.mode == "deep":
        wanted = ResearchRequest(question=question, limits=usual_limits(kb))
        async for done in research(kb, wanted):
            if isinstance(done, ReportEvent):
                given, report = done.report.answer, done.report
            elif isinstance(done, ProgressEvent):
                yield done.text
    else:
        async for event in answer(kb, question):
            if isinstance(event, FinalEvent):
                given = event.answer
            elif isinstance(event, StepEvent):
                yield f"{event.step.name}: {event.step.found:,} found"
    if given is None:
        raise WellreadError("the answer ended without a result", hint="report this as a defect")
    markdown = AnswerMarkdown(given, base, report)
    yield Delivered(answer=given, text=markdown.text, markers=markdown.markers)


def _proof(done: Delivered, base: str) -> dict[str, Any]:
    """The addresses of the citations by number, and the fields of ``POST /api/ask``."""
    cited = sorted(done.answer.citations, key=lambda one: one.id)
    urls = [address(citation, base) for citation in cited]
    return {"citations": urls, "wellread": PLAIN.json(answer_body(done.answer))}


def _usage(done: Delivered) -> dict[str, int]:
    """What language models read and wrote; nothing where none wrote."""
    usage = done.answer.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _annotations(done: Delivered) -> list[dict[str, Any]]:
    """One annotation for each marker: where it stands, in code points, and what it links to."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": marker.span.start,
                "end_index": marker.span.end,
                "url": marker.url,
                "title": harmless(marker.citation.title or marker.citation.url),
            },
        }
        for marker in done.markers
    ]


@router.post("/v1/chat/completions", response_model=None, dependencies=[Depends(may_ask)])
async def chat_completions(
    kb: Kb, http: Request, request: CompletionRequest
) -> Response | dict[str, Any]:
    """Answer the last message of the user after the turns before it, with citations and proof."""
    question = await to_thread.run_sync(question_of, kb, request)
    base = str(http.base_url).rstrip("/")
    now = time.time()
    known = tagged_hash("chatcmpl", question.text, str(now), str(time.perf_counter_ns()))
    head = {"id": known, "created": int(now), "model": request.model}
    events = delivering(kb, question, base)
    if not request.stream:
        (done,) = [event async for event in events if isinstance(event, Delivered)]
        return _completion(done, head, base)
    # The first event comes before the response starts: what is wrong with the question
    # itself still ends in an HTTP status.
    first = await anext(events)
    options = request.stream_options
    usage = bool(options and options.include_usage)
    return EventSourceResponse(_stream(first, events, head, base, usage=usage), sep=LINE)


def _completion(done: Delivered, head: Mapping[str, Any], base: str) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": done.text,
        "refusal": None,
        "annotations": _annotations(done),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(done)}
    return whole | _proof(done, base)


async def _stream(
    first: str | Delivered,
    events: AsyncIterator[str | Delivered],
    head: Mapping[str, Any],
    base: str,
    *,
    usage: bool,
) -> AsyncIterator[ServerSentEvent]:
    """The chunks as server-sent events; an error on the way is the last of them.

    Args:
        usage: whether a last chunk has the tokens.
    """

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> ServerSentEvent:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sent([choice], **more)

    def sent(choices: Sequence[Mapping[str, Any]], **more: Any) -> ServerSentEvent:
        return _sent({**head, "object": "chat.completion.chunk", "choices": choices, **more})

    def whole(done: Delivered) -> Iterator[ServerSentEvent]:
        yield chunk({"content": done.text})
        yield chunk({"annotations": _annotations(done)}, "stop", **_proof(done, base))
        if usage:
            yield sent([], usage=_usage(done))

    try:
        yield chunk({"role": "assistant", "content": ""})
        event = first
        while not isinstance(event, Delivered):
            yield chunk({"reasoning_content": f"{event}\n"})
            event = await anext(events)
        for told in whole(event):
            yield told
        yield ServerSentEvent(data="[DONE]", sep=LINE)
    except WellreadError as error:
        yield _sent(openai_error(problem_of(error)))
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        yield _sent(openai_error(INTERNAL))


def _sent(chunk: Mapping[str, Any]) -> ServerSentEvent:
    # Letters outside of ASCII are escaped: some clients break lines at U+2028.
    return ServerSentEvent(data=json.dumps(chunk), sep=LINE)
