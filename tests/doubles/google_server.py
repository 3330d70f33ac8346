"""A scripted server that speaks the wire format of Google's Gemini API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.doubles.replies import Calls, Failure, Refusal, Request, Said, Text
from tests.doubles.wire_server import WireServer, event, pieces

CHAT_PATH = re.compile(r"/v1beta/models/([^/:]+):streamGenerateContent\?alt=sse")
FINISHES = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}

# The status is the same as for any other mistake; the details say which one it was.
WRONG_KEY = "API_KEY_INVALID"
UNAUTHORIZED = Failure(
    status=400, message="API key not valid. Please pass a valid API key.", code=WRONG_KEY
)
MODEL_NOT_FOUND = Failure(
    status=404, message="models/scripted is not found for API version v1beta", code="NOT_FOUND"
)
RATE_LIMITED = Failure(
    status=429, message="Resource has been exhausted", code="RESOURCE_EXHAUSTED", retry_after="2"
)
SERVER_ERROR = Failure(status=500, message="An internal error has occurred", code="INTERNAL")
OVERLOADED = Failure(
    status=503, message="The model is overloaded. Please try again later.", code="UNAVAILABLE"
)
NO_TEMPERATURE = Failure(
    status=400, message="temperature is not supported for this model", code="INVALID_ARGUMENT"
)


class GoogleServer(WireServer):
    """Runs while the ``with`` block lasts."""

    chat_path = CHAT_PATH

    def prompt(self, body: Mapping[str, Any]) -> str:
        """The system's part, then all contents."""
        contents = [body.get("systemInstruction") or {}, *body.get("contents", ())]
        return "\n\n".join(
            str(part.get("text", "")) for content in contents for part in content.get("parts", ())
        )

    def beginning(self, request: Request, text: str) -> Iterator[bytes]:
        """Text, with counts from the first event on."""
        for piece in pieces(text):
            yield _event(request, [{"text": piece}])

    def said(self, request: Request, reply: Said) -> Iterator[bytes]:
        """Thoughts, text and calls are parts; the last event gives the reason for the end."""
        if isinstance(reply, Refusal):
            feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": reply.text}
            yield event({"promptFeedback": feedback, **_envelope(request)})
            return
        if isinstance(reply, Text):
            for piece in pieces(reply.thoughts):
                yield _event(request, [{"text": piece, "thought": True}])
        yield from self.beginning(request, reply.text)
        if isinstance(reply, Calls):
            calls = [
                {"functionCall": {"name": name, "args": dict(arguments)}}
                for _, name, arguments in reply.numbered
            ]
            yield _event(request, calls, finish="STOP")
        else:
            counts = {
                "promptTokenCount": reply.input_tokens,
                "candidatesTokenCount": reply.output_tokens,
                "totalTokenCount": reply.input_tokens + reply.output_tokens,
            }
            yield _event(request, [{"text": ""}], finish=FINISHES[reply.finish], counts=counts)

    def error_body(self, failure: Failure) -> Mapping[str, Any]:
        """Number, message, status; how long to wait stands in the details."""
        details = []
        status = failure.code or "INVALID_ARGUMENT"
        if failure.retry_after:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            details.append({"@type": kind, "retryDelay": f"{failure.retry_after}s"})
        if status == WRONG_KEY:
            kind, status = "type.googleapis.com/google.rpc.ErrorInfo", "INVALID_ARGUMENT"
            details.append({"@type": kind, "reason": WRONG_KEY})
        return {
            "error": {
                "code": failure.status,
                "message": failure.message,
                "status": status,
                "details": details,
            }
        }


def _envelope(request: Request, counts: Mapping[str, int] | None = None) -> dict[str, Any]:
    path = CHAT_PATH.fullmatch(request.path)
    return {
        "usageMetadata": counts or {"promptTokenCount": 11, "totalTokenCount": 11},
        "modelVersion": path.group(1) if path else "",
        "responseId": "scripted",
    }


def _event(
    request: Request,
    parts: Sequence[Mapping[str, Any]],
    *,
    finish: str = "",
    counts: Mapping[str, int] | None = None,
) -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return event({"candidates": [candidate], **_envelope(request, counts)})
