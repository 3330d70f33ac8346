"""Traces for OpenTelemetry: a span for each request, and in it one for each step and model call.

No words of questions, titles or keys are in them: a request is named by its route as declared.
Names and attributes of requests are OpenTelemetry's semantic conventions for HTTP servers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from threading import Timer

from fastapi import FastAPI
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.values.calls import Watch, Work, watched_by

PATH = "/v1/traces"  # of the protocol, OTLP over HTTP
FAILED = 500
LAST_SECONDS = 2  # for what is left to be sent when the server stops
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Traces:
    """Where spans go.

    Attributes:
        close: sends what is left, and lets go of threads.
    """

    tracer: Tracer
    close: Callable[[], None]

    def follow(self, app: FastAPI) -> None:
        """Make spans of the requests to ``app``; called last, it takes in all the guards."""
        app.add_middleware(TracedRequests, tracer=self.tracer)


def traces_to(address: str) -> Traces:
    """Spans go to the collector at ``address``, in batches, by a thread of their own.

    The variables ``OTEL_*`` of OpenTelemetry hold too: service name, headers, sampling. A
    collector that does not answer is told in the log and costs no request anything.
    """
    resource = Resource.create({"service.version": version("wellread")})
    named = resource.attributes.get("service.name", "")
    if str(named).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "wellread"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=address.rstrip("/") + PATH)
    provider.add_span_processor(BatchSpanProcessor(exporter))

    def close() -> None:
        # The library waits for a collector that is gone as long as for one that is slow.
        giving_up = Timer(LAST_SECONDS, exporter.shutdown)
        giving_up.start()
        provider.force_flush()
        giving_up.cancel()
        provider.shutdown()

    return Traces(provider.get_tracer("wellread"), close)


class TracedRequests:
    """Makes the spans of each request; a caller's ``traceparent`` is their parent."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self.app = app
        self.tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on in a span."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        caller = TraceContextTextMapPropagator().extract(dict(Headers(scope=scope)))
        method = scope["method"]
        span = self.tracer.start_span(method, context=caller, kind=SpanKind.SERVER)
        state = scope.setdefault("state", {})
        state["trace"] = f"{span.get_span_context().trace_id:032x}"

        async def looked_at(message: Message) -> None:
            if message["type"] == "http.response.start":
                told(span, message["status"])
            await send(message)

        try:
            with watched_by(self._watch(span)):
                await self.app(scope, receive, looked_at)
        finally:
            route = state.get("route", "")
            span.update_name(f"{method} {route}".strip())
            span.set_attributes({"http.request.method": method, "http.route": route})
            span.end()

    def _watch(self, parent: Span) -> Watch:
        context = set_span_in_context(parent)

        def watch(work: Work) -> None:
            end = time.time_ns()
            span = self.tracer.start_span(
                work.name,
                context=context,
                start_time=end - int(work.seconds * NANOSECONDS),
                attributes={f"wellread.{name}": fact for name, fact in work.facts.items()},
            )
            if work.facts.get("error"):
                span.set_status(StatusCode.ERROR, str(work.facts["error"]))
            span.end(end)

        return watch


def told(span: Span, status: int) -> None:
    """Note how a request was answered; only the server's own failures are errors of a span."""
    span.set_attribute("http.response.status_code", status)
    if status >= FAILED:
        span.set_status(StatusCode.ERROR)
