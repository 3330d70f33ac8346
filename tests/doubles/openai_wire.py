"""The OpenAI chat wire format, built from plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tests.doubles.replies import Calls, ErrorEvent, Failure, Refusal, Request, Said, Text
from tests.doubles.wire_server import event

CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
CREATED = 1_700_000_000
PIECE = 12
DONE = b"data: [DONE]\n\n"


def pieces(text: str) -> list[str]:
    """``text`` in pieces of ``PIECE`` characters."""
    borders = [*range(0, len(text), PIECE), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]


class OpenAIWire:
    """``/v1/chat/completions``, plain and streamed, and ``/v1/models``."""

    def __init__(self, models: tuple[str, ...]) -> None:
        self._models = models

    def listed(self, path: str) -> Mapping[str, Any] | None:
        """The models that the server has."""
        if path != MODELS_PATH:
            return None
        rows = [
            {"id": name, "object": "model", "created": CREATED, "owned_by": "wellread"}
            for name in self._models
        ]
        return {"object": "list", "data": rows}

    def is_chat(self, path: str) -> bool:
        """One address for all models."""
        return path == CHAT_PATH

    def is_streamed(self, request: Request) -> bool:
        """A field of the body says so."""
        return bool(request.body.get("stream"))

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
            if reply.finish:
                yield _chunk(request, {}, reply.finish)
            options = request.body.get("stream_options") or {}
            if reply.counted and options.get("include_usage"):
                yield event(
                    {**_envelope(request, "chat.completion.chunk"), "choices": [], **_usage(reply)}
                )
        yield DONE

    def whole(self, request: Request, reply: Said) -> Mapping[str, Any]:
        """One choice with the whole message."""
        refused = isinstance(reply, Refusal)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if refused else reply.text,
            "refusal": reply.text if refused else None,
        }
        finish: str | None = "stop"
        if isinstance(reply, Calls):
            message["tool_calls"] = [
                _call(place, name, json.dumps(arguments))
                for place, name, arguments in reply.numbered
            ]
            finish = "tool_calls"
        if isinstance(reply, Text):
            finish = reply.finish or None
        return {
            **_envelope(request, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            **(_usage(reply) if isinstance(reply, Text) and reply.counted else {}),
        }

    def error_event(self, reply: ErrorEvent) -> bytes:
        """An event with the body of a failure, and the end."""
        return event(self.error_body(Failure(status=500, message=reply.message, code=reply.code)))

    def error_body(self, failure: Failure) -> Mapping[str, Any]:
        """Message and code."""
        code = failure.code or None
        return {
            "error": {"message": failure.message, "type": "scripted", "param": None, "code": code}
        }


def _envelope(request: Request, kind: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-scripted",
        "object": kind,
        "created": CREATED,
        "model": request.body.get("model", ""),
    }


def _chunk(request: Request, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({**_envelope(request, "chat.completion.chunk"), "choices": [choice]})


def _called(request: Request, reply: Calls) -> Iterator[bytes]:
    """The name first, then the arguments as JSON that is cut anywhere."""
    for place, name, arguments in reply.numbered:
        yield _chunk(request, {"tool_calls": [{"index": place, **_call(place, name, "")}]})
        for piece in pieces(json.dumps(arguments)):
            call = {"index": place, "function": {"arguments": piece}}
            yield _chunk(request, {"tool_calls": [call]})


def _call(place: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_scripted_{place}", "type": "function", "function": function}


def _usage(reply: Text) -> dict[str, Any]:
    return {
        "usage": {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
        }
    }
