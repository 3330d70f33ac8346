"""A scripted server that speaks the OpenAI chat wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.doubles.replies import Calls, Failure, Refusal, Request, Said
from tests.doubles.wire_server import WireServer, event, pieces

UNAUTHORIZED = Failure(status=401, message="Incorrect API key provided", code="invalid_api_key")
MODEL_NOT_FOUND = Failure(
    status=404, message="The model does not exist or you do not have access", code="model_not_found"
)
RATE_LIMITED = Failure(
    status=429, message="Rate limit reached", code="rate_limit_exceeded", retry_after="2"
)
SERVER_ERROR = Failure(status=500, message="Internal error")
OVERLOADED = Failure(status=503, message="The model is overloaded")
NO_TEMPERATURE = Failure(
    status=400,
    message="Unsupported value: 'temperature' does not support 0.3 with this model.",
    code="unsupported_value",
)


class OpenAIServer(WireServer):
    """Runs while the ``with`` block lasts.

    Example::

        with OpenAIServer([RATE_LIMITED, Text(text="Blue [e1].")]) as server:
            settings = GenerationSettings(model="any", base_url=server.url)
    """

    chat_path = re.compile("/v1/chat/completions")
    base = "/v1"

    def prompt(self, body: Mapping[str, Any]) -> str:
        """All messages."""
        return "\n\n".join(str(message["content"]) for message in body.get("messages", ()))

    def beginning(self, request: Request, text: str) -> Iterator[bytes]:
        """The role by itself, then the text."""
        yield _chunk(request, {"role": "assistant", "content": ""})
        for piece in pieces(text):
            yield _chunk(request, {"content": piece})

    def said(self, request: Request, reply: Said) -> Iterator[bytes]:
        """Text, refusal or tool call; then the reason for the end and the counts."""
        if isinstance(reply, Refusal):
            yield _chunk(request, {"role": "assistant", "refusal": reply.text})
            yield _chunk(request, {}, "stop")
        elif isinstance(reply, Calls):
            yield from self.beginning(request, reply.text)
            yield from _called(request, reply)
            yield _chunk(request, {}, "tool_calls")
        else:
            for piece in pieces(reply.thoughts):
                yield _chunk(request, {"reasoning_content": piece})
            yield from self.beginning(request, reply.text)
            yield _chunk(request, {}, reply.finish)
            if (request.body.get("stream_options") or {}).get("include_usage"):
                read, written = reply.input_tokens, reply.output_tokens
                counts = {
                    "prompt_tokens": read,
                    "completion_tokens": written,
                    "total_tokens": read + written,
                }
                yield event({**_envelope(request), "choices": [], "usage": counts})
        yield b"data: [DONE]\n\n"

    def error_body(self, failure: Failure) -> Mapping[str, Any]:
        """Message and code."""
        said = {"message": failure.message, "type": "scripted", "param": None}
        return {"error": {**said, "code": failure.code or None}}


def _envelope(request: Request) -> dict[str, Any]:
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": request.body.get("model", ""),
    }


def _chunk(request: Request, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({**_envelope(request), "choices": [choice]})


def _called(request: Request, reply: Calls) -> Iterator[bytes]:
    """The name first, then the arguments as JSON that is cut anywhere."""
    for place, name, arguments in reply.numbered:
        call = {
            "index": place,
            "id": f"call_scripted_{place}",
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        yield _chunk(request, {"tool_calls": [call]})
        for piece in pieces(json.dumps(arguments)):
            call = {"index": place, "function": {"arguments": piece}}
            yield _chunk(request, {"tool_calls": [call]})
