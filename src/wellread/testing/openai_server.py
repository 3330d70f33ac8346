"""A small local server that speaks the OpenAI chat wire format and misbehaves on request.

Real sockets on a free port of 127.0.0.1. ``GET /v1/models`` and ``POST /v1/chat/completions``,
plain and streamed. Every chat request takes the next reply of the script; the last one repeats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

from wellread.testing import openai_wire as wire

CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
IDLE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request that the server got; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """All messages of a chat request, joined by blank lines."""
        return "\n\n".join(str(message["content"]) for message in self.body.get("messages", ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A good reply. Its end may be left out the way some servers do.

    Attributes:
        finish: the reason given for the end; empty for none.
        counted: whether token counts are sent (when asked for, in a stream).
    """

    text: str
    finish: str = "stop"
    counted: bool = True
    input_tokens: int = 11
    output_tokens: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The model declines, in the field that the wire format has for it."""

    text: str = "I can't help with that."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An HTTP error with the body that OpenAI sends."""

    status: int
    message: str
    code: str = ""
    retry_after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Sends ``text``, then nothing more until the server closes."""

    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """Sends ``text`` and closes the connection.

    Attributes:
        cleanly: end the HTTP body as if all were well, instead of in the middle of it.
    """

    text: str = ""
    cleanly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """Sends ``text``, then an event that is not JSON."""

    text: str = ""
    data: str = '{"choices": [{"delta"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent:
    """Sends ``text``, then an error inside the stream, as overloaded servers do."""

    text: str = ""
    message: str = "The server had an error while processing your request"
    code: str = "server_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Answers 200 with a web page, as a server does at a wrong address."""

    html: str = "<!doctype html><title>Welcome</title>"


Scripted = Text | Refusal | Failure | Hang | CutOff | Malformed | ErrorEvent | Page
Reply = Scripted | Callable[[Request], Scripted]

EMPTY = Text(text="", output_tokens=0)
UNAUTHORIZED = Failure(status=401, message="Incorrect API key provided", code="invalid_api_key")
MODEL_NOT_FOUND = Failure(
    status=404, message="The model does not exist or you do not have access", code="model_not_found"
)
RATE_LIMITED = Failure(
    status=429, message="Rate limit reached", code="rate_limit_exceeded", retry_after="2"
)
NO_CREDIT = Failure(
    status=429, message="You exceeded your current quota", code="insufficient_quota"
)
SERVER_ERROR = Failure(status=500, message="Internal error")
OVERLOADED = Failure(status=503, message="The model is overloaded")


class OpenAIServer:
    """Runs while the ``with`` block lasts.

    Example::

        with OpenAIServer([RATE_LIMITED, Text(text="Blue [e1].")]) as server:
            settings = GenerationSettings(model="any", base_url=server.url)

    Attributes:
        requests: every request so far, in order of arrival.
    """

    def __init__(self, replies: Sequence[Reply], *, models: Sequence[str] = ("scripted",)) -> None:
        if not replies:
            raise ValueError("the script is empty")
        self.requests: list[Request] = []
        self.closing = Event()
        self.models = tuple(models)
        self._replies = tuple(replies)
        self._asked = 0
        self._lock = Lock()
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def chats(self) -> list[Request]:
        """The chat requests among ``requests``."""
        return [request for request in self.requests if request.path == CHAT_PATH]

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def record(self, request: Request) -> None:
        """Note a request."""
        with self._lock:
            self.requests.append(request)

    def next_reply(self, request: Request) -> Scripted:
        """What a chat request is answered with."""
        with self._lock:
            reply = self._replies[min(self._asked, len(self._replies) - 1)]
            self._asked += 1
        return reply(request) if callable(reply) else reply


class _Server(ThreadingHTTPServer):
    # Joined at the end, so that no socket outlives the test.
    daemon_threads = False

    def __init__(self, script: OpenAIServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet: the requests are recorded."""

    def do_GET(self) -> None:
        """List the models."""
        self._record({})
        if self.path == MODELS_PATH:
            self._json(200, wire.model_list(self.server.script.models))
        else:
            self._json(404, wire.error_body(f"no route {self.path}", ""))

    def do_POST(self) -> None:
        """Answer a chat request from the script."""
        length = int(self.headers.get("content-length", 0))
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            self._json(400, wire.error_body("the body is not JSON", ""))
            return
        request = self._record(body)
        if self.path != CHAT_PATH:
            self._json(404, wire.error_body(f"no route {self.path}", ""))
            return
        reply = self.server.script.next_reply(request)
        try:
            if isinstance(reply, Failure):
                headers = {"retry-after": reply.retry_after} if reply.retry_after else {}
                self._json(reply.status, wire.error_body(reply.message, reply.code), headers)
            elif isinstance(reply, Page):
                self._send(200, "text/html; charset=utf-8", reply.html.encode(), {})
            elif body.get("stream"):
                self._stream(reply, body)
            else:
                self._whole(reply, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has left; that is its right

    def _record(self, body: Mapping[str, Any]) -> Request:
        request = Request(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
        )
        self.server.script.record(request)
        return request

    def _json(
        self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._send(status, "application/json", json.dumps(value).encode(), headers or {})

    def _send(self, status: int, kind: str, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self._end_headers()
        self.wfile.write(data)

    def _end_headers(self) -> None:
        # One request a connection: no thread waits for a next one when the server closes.
        self.send_header("connection", "close")
        self.end_headers()

    def _whole(self, reply: Scripted, body: Mapping[str, Any]) -> None:
        """A reply in one piece; what cannot be said in one piece closes the connection."""
        model = body.get("model", "")
        if isinstance(reply, Hang):
            self.server.script.closing.wait(IDLE_SECONDS)
        elif isinstance(reply, ErrorEvent):
            self._json(500, wire.error_body(reply.message, reply.code))
        elif isinstance(reply, Malformed):
            self._send(200, "application/json", reply.data.encode(), {})
        elif isinstance(reply, Refusal):
            self._json(200, wire.completion(model, reply.text, "stop", refused=True))
        elif isinstance(reply, Text):
            value = wire.completion(model, reply.text, reply.finish)
            if reply.counted:
                value["usage"] = wire.usage(reply.input_tokens, reply.output_tokens)
            self._json(200, value)
        self.close_connection = True

    def _stream(self, reply: Scripted, body: Mapping[str, Any]) -> None:
        """A reply as server-sent events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self._end_headers()
        model = body.get("model", "")
        if isinstance(reply, Refusal):
            self._event(wire.chunk(model, {"role": "assistant", "refusal": reply.text}))
            self._event(wire.chunk(model, {}, "stop"))
        elif not isinstance(reply, Failure | Page):
            for delta in wire.deltas(reply.text):
                self._event(wire.chunk(model, delta))
        if isinstance(reply, Hang):
            self.server.script.closing.wait(IDLE_SECONDS)
            return
        if isinstance(reply, CutOff):
            if reply.cleanly:
                self._part(b"")
            return
        if isinstance(reply, Malformed):
            self._part(f"data: {reply.data}\n\n".encode())
        if isinstance(reply, ErrorEvent):
            self._event(wire.error_body(reply.message, reply.code))
        if isinstance(reply, Text):
            self._ending(reply, body)
        self._part(b"data: [DONE]\n\n")
        self._part(b"")

    def _ending(self, reply: Text, body: Mapping[str, Any]) -> None:
        model = body.get("model", "")
        if reply.finish:
            self._event(wire.chunk(model, {}, reply.finish))
        options = body.get("stream_options") or {}
        if reply.counted and options.get("include_usage"):
            self._event(
                {
                    **wire.chunk(model, {}),
                    "choices": [],
                    "usage": wire.usage(reply.input_tokens, reply.output_tokens),
                }
            )

    def _event(self, value: Mapping[str, Any]) -> None:
        self._part(f"data: {json.dumps(value)}\n\n".encode())

    def _part(self, data: bytes) -> None:
        """One part of a chunked body; an empty one ends it."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()
