"""A scripted server that speaks Anthropic's wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.doubles.replies import Calls, ErrorEvent, Failure, Refusal, Request, Said, Text
from tests.doubles.wire_server import WireServer, event, pieces

STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}

UNAUTHORIZED = Failure(status=401, message="invalid x-api-key", code="authentication_error")
MODEL_NOT_FOUND = Failure(status=404, message="model: scripted", code="not_found_error")
RATE_LIMITED = Failure(
    status=429,
    message="This request would exceed your rate limit",
    code="rate_limit_error",
    retry_after="2",
)
SERVER_ERROR = Failure(status=500, message="Internal server error", code="api_error")
OVERLOADED = Failure(status=529, message="Overloaded", code="overloaded_error")
NO_TEMPERATURE = Failure(
    status=400, message="temperature is not supported by this model", code="invalid_request_error"
)


class AnthropicServer(WireServer):
    """Runs while the ``with`` block lasts."""

    # One address for all models; beta features are named behind it.
    chat_path = re.compile(r"/v1/messages(\?.*)?")

    def prompt(self, body: Mapping[str, Any]) -> str:
        """The system's part, then all messages."""
        contents = [body.get("system", ""), *(m["content"] for m in body.get("messages", ()))]
        return "\n\n".join(_words(content) for content in contents)

    def beginning(self, request: Request, text: str) -> Iterator[bytes]:
        """The opening message, then one block of text, not closed."""
        yield _opening(request, Text(text=text))
        yield from _block(0, {"type": "text", "text": ""}, _texts(text))

    def said(self, request: Request, reply: Said) -> Iterator[bytes]:
        """Blocks of thoughts, text and tool calls, one after another, and the end."""
        yield _opening(request, reply)
        yield event({"type": "ping"}, "ping")
        for place, (empty, deltas) in enumerate(_blocks(reply)):
            yield from _block(place, empty, deltas)
            yield event({"type": "content_block_stop", "index": place}, "content_block_stop")
        delta = {**_stop(reply), "stop_sequence": None}
        usage = {"output_tokens": reply.output_tokens if isinstance(reply, Text) else 5}
        yield event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
        yield event({"type": "message_stop"}, "message_stop")

    def error_event(self, reply: ErrorEvent) -> bytes:
        """An event of its own kind."""
        body = self.error_body(Failure(status=500, message=reply.message, code=reply.code))
        return event(body, "error")

    def error_body(self, failure: Failure) -> Mapping[str, Any]:
        """Kind and message."""
        kind = failure.code or "invalid_request_error"
        said = {"type": kind, "message": failure.message}
        return {"type": "error", "error": said, "request_id": "req_scripted"}


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n\n".join(str(block.get("text", "")) for block in blocks)


def _opening(request: Request, reply: Said) -> bytes:
    read = reply.input_tokens if isinstance(reply, Text) else 11
    message = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": 1},
    }
    return event({"type": "message_start", "message": message}, "message_start")


def _blocks(reply: Said) -> Iterator[tuple[Mapping[str, Any], Sequence[Mapping[str, str]]]]:
    """Each block of a reply, empty, and what comes into it piece by piece."""
    if isinstance(reply, Text) and reply.thoughts:
        thoughts = [{"type": "thinking_delta", "thinking": p} for p in pieces(reply.thoughts)]
        yield {"type": "thinking", "thinking": "", "signature": ""}, thoughts
    if not isinstance(reply, Refusal):
        yield {"type": "text", "text": ""}, _texts(reply.text)
    if isinstance(reply, Calls):
        for number, name, arguments in reply.numbered:
            call = {"type": "tool_use", "id": f"toolu_scripted_{number}", "name": name, "input": {}}
            written = pieces(json.dumps(arguments))
            yield call, [{"type": "input_json_delta", "partial_json": piece} for piece in written]


def _texts(text: str) -> list[dict[str, str]]:
    return [{"type": "text_delta", "text": piece} for piece in pieces(text)]


def _block(
    place: int, empty: Mapping[str, Any], deltas: Sequence[Mapping[str, str]]
) -> Iterator[bytes]:
    start = {"type": "content_block_start", "index": place, "content_block": empty}
    yield event(start, "content_block_start")
    for delta in deltas:
        piece = {"type": "content_block_delta", "index": place, "delta": delta}
        yield event(piece, "content_block_delta")


def _stop(reply: Said) -> dict[str, Any]:
    if isinstance(reply, Calls):
        return {"stop_reason": "tool_use"}
    if isinstance(reply, Refusal):
        details = {"type": "refusal", "category": None, "explanation": reply.text or None}
        return {"stop_reason": "refusal", "stop_details": details}
    return {"stop_reason": STOPS[reply.finish]}
