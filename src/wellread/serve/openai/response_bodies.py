"""The JSON of the Responses interface: a response, and the events in which it is streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from wellread.answers import Usage
from wellread.serve.error_shapes import Problem
from wellread.serve.features.bodies import PlainBody
from wellread.serve.openai.conversation_input import ResponseRequest
from wellread.serve.openai.delivery import Delivered, wellread_fields
from wellread.serve.openai.openai_bodies import (
    SearchResultBody,
    citation_fields,
    search_results_of,
    urls_of,
)

RESPONSE, MESSAGE = "resp_", "msg_"  # with what ids begin
Event = dict[str, Any]


class ResponseAnnotationBody(PlainBody):
    """A marker of the text, ``[start_index, end_index)`` in characters, and what it links to."""

    type: Literal["url_citation"] = "url_citation"
    start_index: int
    end_index: int
    url: str
    title: str


class OutputTextBody(PlainBody):
    """The answer."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: tuple[ResponseAnnotationBody, ...] = ()
    logprobs: tuple[()] = ()


class OutputMessageBody(PlainBody):
    """The message that holds it."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed"]
    content: tuple[OutputTextBody, ...]


class CachedTokensBody(PlainBody):
    """Always none."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


class ReasoningTokensBody(PlainBody):
    """Always none."""

    reasoning_tokens: int = 0


class ResponseUsageBody(PlainBody):
    """Tokens of language models; none where no model wrote."""

    input_tokens: int
    input_tokens_details: CachedTokensBody = CachedTokensBody()
    output_tokens: int
    output_tokens_details: ReasoningTokensBody = ReasoningTokensBody()
    total_tokens: int


class ResponseErrorBody(PlainBody):
    """Why there is no answer."""

    code: Literal["server_error", "rate_limit_exceeded", "invalid_prompt"]
    message: str


class TextFormatBody(PlainBody):
    """Markdown is text."""

    type: Literal["text"] = "text"


class TextConfigBody(PlainBody):
    """What form the answer has."""

    format: TextFormatBody = TextFormatBody()


class ResponseBody(PlainBody):
    """A response, with citations and proof beside what OpenAI has."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: Literal["in_progress", "completed", "failed"]
    background: bool = False
    error: ResponseErrorBody | None = None
    incomplete_details: None = None
    instructions: str | list[Any] | None = None
    max_output_tokens: None = None
    metadata: dict[str, str] = Field(default={})
    model: str
    output: tuple[OutputMessageBody, ...] = ()
    parallel_tool_calls: bool = False
    previous_response_id: str | None = None
    store: bool
    temperature: None = None
    text: TextConfigBody = TextConfigBody()
    tool_choice: Literal["none"] = "none"
    tools: tuple[()] = ()
    top_p: None = None
    truncation: Literal["disabled"] = "disabled"
    usage: ResponseUsageBody | None = None
    citations: tuple[str, ...] = ()
    search_results: tuple[SearchResultBody, ...] = ()
    wellread: dict[str, Any] | None = Field(
        default=None, description="the fields of an answer of /api/ask, in snake_case"
    )


def begun_body(request: ResponseRequest, response_id: str, created: int) -> ResponseBody:
    """A response without its answer."""
    return ResponseBody(
        id=response_id,
        created_at=created,
        status="in_progress",
        instructions=request.instructions,
        metadata=request.metadata or {},
        model=request.model,
        previous_response_id=request.previous_response_id,
        store=request.store is not False,
    )


def response_body(begun: ResponseBody, done: Delivered, now: int) -> ResponseBody:
    """The response with its answer."""
    return begun.model_copy(
        update={
            "status": "completed",
            "completed_at": now,
            "output": (_message(done),),
            "usage": _usage(done.answer.usage),
            "citations": tuple(urls_of(done)),
            "search_results": tuple(search_results_of(done)),
            "wellread": wellread_fields(done),
        }
    )


def failed_body(begun: ResponseBody, problem: Problem) -> ResponseBody:
    """The response without an answer, and why there is none."""
    code = "rate_limit_exceeded" if problem.status == 429 else "server_error"
    code = "invalid_prompt" if problem.status in (400, 404) else code
    message = " ".join(filter(None, (problem.detail, problem.hint)))
    error = ResponseErrorBody.model_validate({"code": code, "message": message})
    return begun.model_copy(update={"status": "failed", "error": error})


def response_events(begun: ResponseBody, whole: ResponseBody, done: Delivered) -> Iterator[Event]:
    """The events of a response, in OpenAI's order, without their numbers."""
    yield from begun_events(begun)
    (message,) = whole.output
    (part,) = message.content
    empty = part.model_copy(update={"text": "", "annotations": ()})
    opened = message.model_copy(update={"status": "in_progress", "content": ()})
    item: Event = {"output_index": 0}
    yield {"type": "response.output_item.added", **item, "item": _json(opened)}
    place = {"item_id": message.id, "output_index": 0, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": _json(empty)}
    for piece in done.markdown.pieces:
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    for number, one in enumerate(part.annotations):
        yield {
            "type": "response.output_text.annotation.added",
            **place,
            "annotation_index": number,
            "annotation": _json(one),
        }
    yield {"type": "response.output_text.done", **place, "text": part.text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": _json(part)}
    yield {"type": "response.output_item.done", **item, "item": _json(message)}
    yield {"type": "response.completed", "response": _json(whole)}


def begun_events(begun: ResponseBody) -> Iterator[Event]:
    """The events with which every stream of a response begins."""
    yield {"type": "response.created", "response": _json(begun)}
    yield {"type": "response.in_progress", "response": _json(begun)}


def failed_events(begun: ResponseBody, problem: Problem) -> Iterator[Event]:
    """The events of a response that has no answer."""
    yield from begun_events(begun)
    yield {"type": "response.failed", "response": _json(failed_body(begun, problem))}


def _json(body: PlainBody) -> Any:
    return body.model_dump(mode="json")


def _message(done: Delivered) -> OutputMessageBody:
    annotations = (
        ResponseAnnotationBody(**citation_fields(marker)) for marker in done.markdown.markers
    )
    part = OutputTextBody(text=done.markdown.text, annotations=tuple(annotations))
    return OutputMessageBody(id=f"{MESSAGE}{done.answer.id}", status="completed", content=(part,))


def _usage(usage: Usage) -> ResponseUsageBody:
    return ResponseUsageBody(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
    )
