"""OpenAI-compatible routes ``/v1/models`` and ``/v1/chat/completions``.

The user's last message is the question, and earlier turns are the conversation; all other fields
are ignored. The answer is streamed only after all sentences have their verdicts, because checks
may still change it; until then, the stream reports progress (``docs/decisions/042``).
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal

from anyio import to_thread
from fastapi import Depends, Request, Response
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.deliver.related import small_talk_reply
from wellread.asking import answer_in_mode
from wellread.errors import WellreadError
from wellread.identity import random_id, tagged_hash
from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import Problem, ProblemError, openai_error, problem_to_tell
from wellread.serve.features.answering import answer_body
from wellread.serve.features.feature import FeatureRouter, check_may_ask
from wellread.serve.guards.route_rules import Kb
from wellread.serve.http.answer_markdown import AnswerMarkdown, Marker, citation_url, earlier_turn
from wellread.serve.views import PLAIN
from wellread.text.characters import harmless
from wellread.types import EarlierTurn, Filters
from wellread.values.answers import Answer, FinalEvent, Question, StepEvent
from wellread.values.reports import Report

router = FeatureRouter("read")
reads, asks = router.requiring("read", "ask")
ASK, RESEARCH = "wellread", "wellread-deep"
MAX_NAMED_MODELS = 10  # models listed in an error message
TEXT_TYPES = ("text", "refusal")  # types of text parts
SPOKEN_ROLES = ("user", "assistant")
LINE_END = "\n"  # line end in OpenAI's streams

# --- models ----------------------------------------------------------------------------------


def model_names(kb: KnowledgeBase) -> list[str]:
    """Return all model names: for everything or one collection, quick or deep."""
    collections = kb.catalogue.collection_names()
    return [
        *(ASK, RESEARCH),
        *(f"{ASK}/{name}" for name in collections),
        *(f"{RESEARCH}/{name}" for name in collections),
    ]


def check_model(kb: KnowledgeBase, name: str) -> None:
    """Raise 404 for an unknown model name."""
    names = model_names(kb)
    if name in names:
        return
    more = f" and {len(names) - MAX_NAMED_MODELS} more" if len(names) > MAX_NAMED_MODELS else ""
    problem = Problem(
        error="model_not_found",
        detail=f"The model {name!r} does not exist.",
        hint=f"Known models: {', '.join(names[:MAX_NAMED_MODELS])}{more}.",
        status=HTTPStatus.NOT_FOUND,
        param="model",
    )
    raise ProblemError(problem)


def _model(name: str) -> dict[str, Any]:
    """Return the JSON of a model; ``created`` is required but has no meaning here."""
    return {"id": harmless(name), "object": "model", "created": 0, "owned_by": "wellread"}


@reads.get("/v1/models")
def models(kb: Kb) -> dict[str, Any]:
    """List the models: all material or one collection, for an answer or a report."""
    return {"object": "list", "data": list(map(_model, model_names(kb)))}


@reads.get("/v1/models/{name:path}")
def model(kb: Kb, name: str) -> dict[str, Any]:
    """Return one model."""
    check_model(kb, name)
    return _model(name)


# --- requests --------------------------------------------------------------------------------


class ContentPart(BaseModel):
    """A part of a message's content."""

    type: str
    text: str | None = None
    refusal: str | None = None


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class StreamOptions(BaseModel):
    """``include_usage`` adds a last chunk with the token counts."""

    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """The body of ``POST /v1/chat/completions``; other fields are ignored."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None


def question_of(kb: KnowledgeBase, request: CompletionRequest) -> Question:
    """Return the question of a chat completion with its earlier turns.

    It continues the session of the last stored answer among them.
    """
    check_model(kb, request.model)
    turns = [
        (message.role, _text_of(f"messages[{index}]", message))
        for index, message in enumerate(request.messages)
        if message.role in SPOKEN_ROLES
    ]
    while turns and turns[-1][0] == "assistant" and not turns[-1][1].strip():
        turns.pop()
    if not turns or turns[-1][0] != "user" or not turns[-1][1].strip():
        raise _request_error(
            "messages",
            "The last message is not a question from the user.",
            "End with a message of the role user that contains text.",
        )
    history = tuple(_turns(turns[:-1]))
    answer_ids = [turn.answer_id for turn in history if turn.answer_id]
    last = kb.catalogue.sessions.answer(answer_ids[-1], kb.asker.owner) if answer_ids else None
    model, _, collection = request.model.partition("/")
    return Question(
        text=turns[-1][1].strip(),
        filters=Filters(collections=(collection,) if collection else ()),
        mode="deep" if model == RESEARCH else "auto",
        session_id=last[1].session_id if last else "",
        history=history,
    )


def _text_of(where: str, message: ChatMessage) -> str:
    """Return the text of a message; raises for other content from the user."""
    content = message.content
    if content is None or isinstance(content, str):
        return content or ""
    for index, part in enumerate(content):
        if part.type not in TEXT_TYPES and message.role == "user":
            raise _request_error(
                f"{where}.content[{index}]",
                f"A question has to be text; {part.type} is not supported.",
                "Add the file to the knowledge base (wellread add), then ask about it.",
            )
    return "\n".join(part.text or part.refusal or "" for part in content if part.type in TEXT_TYPES)


def _request_error(param: str, detail: str, hint: str) -> ProblemError:
    status = HTTPStatus.BAD_REQUEST
    return ProblemError(
        Problem(error="invalid_value", detail=detail, hint=hint, status=status, param=param)
    )


def _turns(messages: Sequence[tuple[str, str]]) -> Iterable[EarlierTurn]:
    """Yield the earlier questions with their answers, which may be empty."""
    question: str | None = None
    replies: list[str] = []
    for role, text in messages:
        if role == "user":
            if question is not None:
                yield earlier_turn(question, "\n\n".join(replies))
            question, replies = text.strip(), []
        elif question is not None:
            replies.append(text)
    if question is not None:
        yield earlier_turn(question, "\n\n".join(replies))


# --- replies ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedAnswer:
    """An answer with its Markdown text and the markers in it."""

    answer: Answer
    text: str
    markers: Sequence[Marker] = ()


async def deliver(
    kb: KnowledgeBase, question: Question, base: str
) -> AsyncIterator[str | RenderedAnswer]:
    """Yield progress messages and, last, the answer.

    Args:
        base: the base URL of this server, as the client addressed it.
    """
    small_talk = small_talk_reply(question, programs=True)
    if small_talk is not None:  # has no sources and no confidence
        yield RenderedAnswer(answer=replace(small_talk, id=random_id("ans")), text=small_talk.text)
        return
    reports: list[Report] = []
    result: Answer | None = None
    async for event in answer_in_mode(kb, question, on_report=reports.append):
        if isinstance(event, FinalEvent):
            result = event.answer
        elif isinstance(event, StepEvent):
            yield f"{event.step.name}: {event.step.found:,} found"
    if result is None:
        raise WellreadError("the answer ended without a result", hint="report this as a defect")
    markdown = AnswerMarkdown(result, base, reports[0] if reports else None)
    yield RenderedAnswer(answer=result, text=markdown.text, markers=markdown.markers)


def _proof(reply: RenderedAnswer, base: str) -> dict[str, Any]:
    """Return the citation URLs in order, and the fields of ``POST /api/ask``."""
    citations = sorted(reply.answer.citations, key=lambda citation: citation.id)
    urls = [citation_url(citation, base) for citation in citations]
    return {"citations": urls, "wellread": PLAIN.json(answer_body(reply.answer))}


def _usage(reply: RenderedAnswer) -> dict[str, int]:
    """Return the token counts of language models; 0 without a model."""
    usage = reply.answer.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _annotations(reply: RenderedAnswer) -> list[dict[str, Any]]:
    """Return an annotation per marker with its position (in code points) and link."""
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
        for marker in reply.markers
    ]


@asks.post("/v1/chat/completions", response_model=None, dependencies=[Depends(check_may_ask)])
async def chat_completions(
    kb: Kb, http: Request, request: CompletionRequest
) -> Response | dict[str, Any]:
    """Answer the user's last message in its conversation, with citations and proof."""
    question = await to_thread.run_sync(question_of, kb, request)
    base = str(http.base_url).rstrip("/")
    created = time.time()
    chat_id = tagged_hash("chatcmpl", question.text, str(created), str(time.perf_counter_ns()))
    head = {"id": chat_id, "created": int(created), "model": request.model}
    events = deliver(kb, question, base)
    if not request.stream:
        (reply,) = [event async for event in events if isinstance(event, RenderedAnswer)]
        return _completion(reply, head, base)
    # Awaited before the response starts, so that errors in the question itself still set the
    # HTTP status.
    first = await anext(events)
    options = request.stream_options
    usage = bool(options and options.include_usage)
    return EventSourceResponse(_stream(first, events, head, base, usage=usage), sep=LINE_END)


def _completion(reply: RenderedAnswer, head: Mapping[str, Any], base: str) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": reply.text,
        "refusal": None,
        "annotations": _annotations(reply),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    completion = {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(reply)}
    return completion | _proof(reply, base)


async def _stream(
    first: str | RenderedAnswer,
    events: AsyncIterator[str | RenderedAnswer],
    head: Mapping[str, Any],
    base: str,
    *,
    usage: bool,
) -> AsyncIterator[ServerSentEvent]:
    """Yield the chunks as server-sent events; an error becomes the last one.

    Args:
        usage: whether to add a chunk with the token counts.
    """

    def chunk(choices: Sequence[Mapping[str, Any]], **extra: Any) -> ServerSentEvent:
        return _event_of({**head, "object": "chat.completion.chunk", "choices": choices, **extra})

    def delta(value: Mapping[str, Any], finish: str | None = None, **extra: Any) -> ServerSentEvent:
        choice = {"index": 0, "delta": value, "logprobs": None, "finish_reason": finish}
        return chunk([choice], **extra)

    try:
        yield delta({"role": "assistant", "content": ""})
        event = first
        while not isinstance(event, RenderedAnswer):
            yield delta({"reasoning_content": f"{event}\n"})
            event = await anext(events)
        yield delta({"content": event.text})
        yield delta({"annotations": _annotations(event)}, "stop", **_proof(event, base))
        if usage:
            yield chunk([], usage=_usage(event))
        yield ServerSentEvent(data="[DONE]", sep=LINE_END)
    except Exception as error:  # noqa: BLE001 - the status has been sent already
        problem = problem_to_tell(error, "answering failed in the middle of a stream")
        yield _event_of(openai_error(problem))


def _event_of(chunk: Mapping[str, Any]) -> ServerSentEvent:
    # Characters outside ASCII are escaped, because some clients break lines at U+2028.
    return ServerSentEvent(data=json.dumps(chunk), sep=LINE_END)
