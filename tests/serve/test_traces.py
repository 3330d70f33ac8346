"""Spans that go to a collector over real HTTP, in OpenTelemetry's own form."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from fastapi import FastAPI

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from wellread.kb import KnowledgeBase
from wellread.serve.server.app import create_app
from wellread.values.calls import Call, Work, watched_by

QUESTION = "When does the ferry Osprey leave the harbour?"
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collector(ThreadingHTTPServer):
    """Keeps what is sent to it."""

    bodies: list[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Span]:
        found: list[Span] = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [span for scope in resource.scope_spans for span in scope.spans]
        return found


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector(("127.0.0.1", 0), _Taking) as server:
        server.bodies = []
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def traced(kb: KnowledgeBase, address: str) -> FastAPI:
    kb.settings = kb.settings.model_copy(
        update={"serve": kb.settings.serve.model_copy(update={"traces": address})}
    )
    return create_app(kb)


async def asked(app: FastAPI, question: str, **headers: str) -> httpx.Response:
    """The reply to a question, when the server has stopped and all spans are sent."""
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        return await client.post("/api/ask", json={"question": question}, headers=headers)


async def test_a_question_is_a_span_with_its_steps_inside(
    kb: KnowledgeBase, collector: Collector
) -> None:
    given = await asked(traced(kb, collector.url), QUESTION, traceparent=CALLER)
    assert given.status_code == 200
    (request,) = [span for span in collector.spans() if span.kind == Span.SPAN_KIND_SERVER]
    assert request.name == "POST /api/ask"
    assert request.trace_id.hex() == CALLER.split("-")[1]
    assert request.parent_span_id.hex() == CALLER.split("-")[2]
    told = {one.key: one.value for one in request.attributes}
    assert told["http.response.status_code"].int_value == 200
    steps = [span for span in collector.spans() if span.parent_span_id == request.span_id]
    assert [step.name for step in steps] == [one["name"] for one in given.json()["steps"]]
    assert all(step.start_time_unix_nano <= step.end_time_unix_nano for step in steps)
    assert steps[0].start_time_unix_nano >= request.start_time_unix_nano - 1_000_000


async def test_no_span_holds_words_of_a_question_or_a_source(
    kb: KnowledgeBase, collector: Collector
) -> None:
    given = await asked(traced(kb, collector.url), QUESTION)
    assert given.json()["citations"]
    sent = b"".join(collector.bodies).lower()
    assert b"/api/ask" in sent
    for word in (b"ferry", b"osprey", b"harbour", b"sundays"):
        assert word not in sent


async def test_a_collector_that_is_gone_costs_no_answer(kb: KnowledgeBase) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        given = await asked(traced(kb, address), QUESTION)
    assert given.status_code == 200


def test_a_call_of_a_model_is_told_without_its_words(kb: KnowledgeBase) -> None:
    made = Call(purpose="answer", provider="openai", model="m", input_tokens=7, seconds=0.5)
    told: list[Work] = []
    with watched_by(told.append):
        kb.ledger.record(made)
        kb.ledger.record(replace(made, error="timed out"))
    kb.ledger.record(made)
    assert [one.name for one in told] == ["call of a model"] * 2
    assert told[0].seconds == 0.5
    assert told[0].facts["input_tokens"] == 7
    assert [one.facts["error"] for one in told] == ["", "timed out"]
