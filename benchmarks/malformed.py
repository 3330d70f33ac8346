"""Malformed requests to every route, in-process: none may fail inside, each error has its shape.

    python -m benchmarks.malformed --requests 5000 --seed 1

The routes are those of the OpenAPI table, of the pages, and of MCP. Each request is drawn from
what a route declares and then spoilt: a value of another type or at the edge, a field too many,
JSON that is broken, text that is none, another method, another kind of body. What is refused must
have the shape of errors (a page for browsers); everything must have the security headers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from benchmarks.record import save
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.features.home_and_jobs import IngestRuns
from wellread.serve.guards.refusals import SECURITY_HEADERS
from wellread.serve.guards.route_rules import MCP_PATH
from wellread.serve.http.app import ROUTERS, create_app
from wellread.store.catalogue.run_logs import Job
from wellread.testing.embedding import ReadableEmbedder

AGAIN = 100  # requests after which something is asked anew
SECONDS = 30.0  # for one request; what streams longer is hung up on
EDGES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31", "2025-13-45")
TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "a\udfffb", "x" * 5_000, "%", "..", "../../etc/passwd", "last",
    "'; DROP TABLE answers; --", "{{7*7}}", "<script>alert(1)</script>", "\u202egnp", "🚢" * 50,
    "-1", "NaN", "1e309", "0x10", "²", "９", "9" * 30, "9" * 5_000, "null", "[]", "a b\r\nc: d",
    "c1", "c" + "9" * 20, "12", str(2**63), str(-(2**63)), "ferry", "Osprey", "town", "00:99:99",
    "99999999999999999999:00", "1:1e5", "\ufeff", "\u2028", "é\u0301" * 9, *EDGES,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 1.5, -0.0, 1e308,
    float("nan"), float("inf"), [], {}, [[]], [None], {"a": {}}, ["x"] * 2_000, *TEXTS,
)  # fmt: skip
GARBAGE = (
    b"", b"{", b"[]", b"null", b'"a"', b"\xff\xfe", b"\xed\xa0\x80", b'{"question": "a', b"{}" * 9,
    b'{"question": "\\ud800"}', b'{"question": "\\u0000"}', b"[" * 100_000, b"\0" * 100,
    b'{"question": ' + b"9" * 6_000 + b"}", b"a=b&c=%00", b"a=" + b"b" * 1_100_000, b"%%%=%zz",
    b'{"a": 1, "a": 2}', "{}".encode("utf-16"), b"--x\r\n\r\n--x--", b"--x",
    b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nb\r\n--x--\r\n',
)  # fmt: skip
KINDS = (
    "application/json", "application/json; charset=utf-16", "text/plain", "", "application/xml",
    "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x",
    "multipart/form-data; boundary=x; charset=undefined", "\xff", "application/json;" * 50,
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO")
HEADERS = ("range", "last-event-id", "if-none-match", "accept-language", "mcp-session-id", "cookie")
FIELDS = (
    "address", "collection", "title", "text", "source", "files", "replace", "score", "comment",
    "status", "correction", "format", "answer_id", "s0-score", "s0-correction",
)  # fmt: skip
RESPONSE_KEYS = ({"error", "detail", "hint"}, {"error"}, {"jsonrpc", "id", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One address of the server, with what it declares to take."""

    method: str
    path: str
    parameters: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoilt:
    """A request as it is sent, byte by byte."""

    target: Target
    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came back; ``faults`` say what was wrong with it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    hung: bool = False
    faults: tuple[str, ...] = ()


class NoIngest(IngestRuns):
    """Takes what is asked for, and reads nothing: routes are measured here."""

    def _run(self, queued: Job) -> None:
        self._note(queued, "done")


def main() -> None:
    """Run, print and write ``results/malformed.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        filled(Path(folder)) as kb,
    ):
        figures = asyncio.run(measured(kb, arguments.requests, arguments.seed))
    path = save("malformed", figures)
    print("\n".join(table(figures)))
    print(f"written to {path}")
    if figures["faults"]:
        raise SystemExit(1)


def filled(folder: Path) -> KnowledgeBase:
    """A small home in ``folder``."""
    material = folder / "material"
    material.mkdir()
    (material / "ferry.md").write_text("# The ferry\n\nThe ferry Osprey was bought in 2021.\n")
    (material / "talk.vtt").write_text(
        "WEBVTT\n\n00:00:01.000 --> 00:00:05.000\n<v Ana>The roof of the boathouse leaks.\n"
    )
    kb = open_kb(folder / "home", embedder=ReadableEmbedder())
    add(kb, [str(material)], collection="town")
    return kb


async def measured(kb: KnowledgeBase, requests: int, seed: int) -> dict[str, Any]:
    """Send that many requests; how many had which status, and what was wrong with any."""
    app = create_app(kb)
    app.state.ingest = NoIngest(kb)
    chance = random.Random(seed)
    targets = list(targets_of(app))
    statuses: Counter[int] = Counter()
    faults: list[dict[str, Any]] = []
    hung, slowest = 0, 0.0
    async with app.router.lifespan_context(app):
        for place in range(requests):
            if place % AGAIN == 0:  # some are removed on the way
                known = await ids(app)
            target = targets[place % len(targets)]
            request = spoilt(target, chance, known)
            begun = time.perf_counter()
            outcome = await sent(app, request)
            slowest = max(slowest, time.perf_counter() - begun)
            statuses[outcome.status] += 1
            hung += outcome.hung
            faults += [told_of(request, outcome, fault) for fault in outcome.faults]
    return {
        "requests": requests,
        "seed": seed,
        "routes": len(targets),
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "hung_up_on": hung,
        "slowest": slowest,
        "failed_inside": sum(count for status, count in statuses.items() if status >= 500),
        "faults": faults,
    }


def targets_of(app: FastAPI) -> Iterator[Target]:
    """Every address with each of its methods."""
    described = app.openapi()
    schemas = described.get("components", {}).get("schemas", {})
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            content = route.get("requestBody", {}).get("content", {})
            schema: Mapping[str, Any] = next(
                (one["schema"] for one in content.values() if "schema" in one), {}
            )
            names = tuple(
                one["name"] for one in route.get("parameters", ()) if one["in"] == "query"
            )
            body = resolved(schema, schemas)
            yield Target(method=method.upper(), path=path, parameters=names, body=body)
    shown = {(one.upper(), path) for path, ways in described["paths"].items() for one in ways}
    waiting: list[APIRouter] = list(ROUTERS)
    for router in waiting:
        for route in router.routes:
            inner = getattr(route, "original_router", None)
            if inner is not None:
                waiting.append(inner)
            elif isinstance(route, APIRoute):
                path = route.path.replace(":path}", "}")
                for method in sorted(route.methods or ()):
                    if (method, path) not in shown:
                        names = tuple(one.alias for one in route.dependant.query_params)
                        yield Target(method=method, path=path, parameters=names)
    yield from (Target(method=method, path=MCP_PATH) for method in ("POST", "GET", "DELETE"))
    yield from (Target(method="GET", path=path) for path in ("/static/{name}", "/openapi.json"))
    yield Target(method="GET", path="/{nowhere}")


def resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that fits a JSON schema, as far as one is easily made."""
    if "$ref" in schema:
        named = schemas.get(schema["$ref"].rpartition("/")[2], {})
        return resolved(named, schemas, depth + 1) if depth < 6 else {}
    if "anyOf" in schema:
        return resolved(schema["anyOf"][0], schemas, depth)
    if "enum" in schema or "const" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        return {name: resolved(one, schemas, depth + 1) for name, one in fields.items()}
    if schema.get("type") == "array":
        return [resolved(schema.get("items", {}), schemas, depth + 1)]
    numbers = {"integer": schema.get("minimum", 1), "number": 1.0, "boolean": False}
    return numbers.get(str(schema.get("type")), "ferry")


async def ids(app: FastAPI) -> list[str]:
    """Ids of things that are there, so that some requests go past the first look."""
    target = Target(method="POST", path="/api/ask")
    asked = json.dumps({"question": "When was the ferry bought?"}).encode()
    kind = ((b"host", b"127.0.0.1"), (b"content-type", b"application/json"))
    first = Spoilt(
        target=target, method="POST", path="/api/ask", query=b"", headers=kind, body=asked
    )
    answer = json.loads((await sent(app, first)).body)
    found = [answer["id"], answer["sessionId"], answer["citations"][0]["documentId"]]
    for path, name in (("/api/jobs", "jobs"), ("/api/gaps", "clusters")):
        looked = Spoilt(target=target, method="GET", path=path, query=b"", headers=kind, body=b"")
        found += [one["id"] for one in json.loads((await sent(app, looked)).body)[name]]
    return [str(one) for one in found]


def spoilt(target: Target, chance: random.Random, known: Sequence[str]) -> Spoilt:
    """A request to ``target`` with something wrong, mostly."""

    def odd() -> str:
        pool = known if chance.random() < 0.3 else TEXTS
        return chance.choice(pool)

    path = re.sub(
        r"{[^}]+}", lambda _: odd().replace("\ud800", "?").replace("\udfff", "?"), target.path
    )
    pairs = [(name, odd()) for name in target.parameters if chance.random() < 0.4]
    if chance.random() < 0.1:
        pairs.append((chance.choice(("format", "query", "q", "topic", "nothing")), odd()))
    query = urlencode(pairs, errors="surrogatepass").encode()
    if chance.random() < 0.05:
        query += b"&%ff=%00&%zz&=&" + b"a" * chance.choice((1, 5_000))
    method = chance.choice(METHODS) if chance.random() < 0.08 else target.method
    body, kind = _body(target, chance)
    headers = [(b"host", b"127.0.0.1"), (b"content-type", kind.encode("latin-1"))]
    if chance.random() < 0.3:
        headers.append((b"accept", chance.choice((b"text/html", b"application/json", b"*/*", b""))))
    if chance.random() < 0.1:
        headers.append((chance.choice(HEADERS).encode(), odd().encode("utf-8", "replace")[:200]))
    if chance.random() < 0.03:
        headers.append((b"content-length", chance.choice((b"-1", b"9" * 30, b"a", b"1e3"))))
    return Spoilt(
        target=target, method=method, path=path, query=query, headers=tuple(headers), body=body
    )


def _body(target: Target, chance: random.Random) -> tuple[bytes, str]:
    """A body and what it is called."""
    kind = chance.choice(KINDS) if chance.random() < 0.15 else "application/json"
    if chance.random() < 0.2:
        return chance.choice(GARBAGE), kind
    if target.path == MCP_PATH:
        call = {"jsonrpc": "2.0", "id": 1, "method": chance.choice(("tools/call", "initialize"))}
        call["params"] = _mutated({"name": "ask", "arguments": {"question": "ferry"}}, chance)
        return _dumped(call), kind
    if target.body:
        return _dumped(_mutated(target.body, chance)), kind
    if target.method == "POST":
        given = [(name, chance.choice(TEXTS)) for name in FIELDS if chance.random() < 0.5]
        if target.path.endswith("/address"):  # nothing of this machine, nothing of the network
            given = [(name, value) for name, value in given if not Path(value[:99]).exists()]
        encoded = urlencode(given, errors="surrogatepass").encode()
        return encoded, "application/x-www-form-urlencoded" if chance.random() < 0.9 else kind
    return b"", kind


def _mutated(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """``value`` with some of its parts replaced, left out or added."""
    if chance.random() < 0.12:
        return chance.choice(VALUES)
    if isinstance(value, dict):
        kept = {
            name: _mutated(one, chance, depth + 1)
            for name, one in value.items()
            if chance.random() < (0.9 if depth else 0.75)
        }
        return {**kept, "nothing": 1} if chance.random() < 0.05 else kept
    if isinstance(value, list):
        return [_mutated(one, chance, depth + 1) for one in value] * chance.choice((0, 1, 1, 3))
    return value


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


async def sent(app: FastAPI, request: Spoilt) -> Outcome:
    """Send a request to the application, and look at what comes back."""
    outcome = Outcome()
    gone = asyncio.Event()
    waiting = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            outcome.status = message["status"]
            outcome.headers = {
                name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]
            }
        elif message["type"] == "http.response.body":
            outcome.body += message.get("body", b"")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": quote(request.path, errors="replace").encode(),
        "query_string": request.query,
        "root_path": "",
        "headers": list(request.headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    raised = ""
    task = asyncio.ensure_future(app(scope, receive, send))
    done, _ = await asyncio.wait((task,), timeout=SECONDS)
    if not done:
        outcome.hung = True
        gone.set()
        await asyncio.wait((task,), timeout=SECONDS)
    if task.done() and task.exception() is not None:
        raised = f"raised {task.exception()!r}"
    outcome.faults = tuple(filter(None, (raised, *judged(request, outcome))))
    return outcome


def judged(request: Spoilt, outcome: Outcome) -> Iterator[str]:
    """What is wrong with a response."""
    if not outcome.status:
        yield "no response"
        return
    if outcome.status >= 500:
        yield f"status {outcome.status}"
    for name, value in SECURITY_HEADERS.items():
        if outcome.headers.get(name) != value:
            yield f"the header {name} is {outcome.headers.get(name)!r}"
    if outcome.status == 429 and not outcome.headers.get("retry-after", "").isdecimal():
        yield "429 without Retry-After"
    if outcome.status < 400 or request.method == "HEAD":
        return
    kind = outcome.headers.get("content-type", "")
    if kind.startswith("text/html"):
        if b"<h1" not in outcome.body or b"</html>" not in outcome.body:
            yield "no page of an error"
    elif not kind.startswith("application/json"):
        yield f"an error as {kind or 'nothing'}"
    elif not _shaped(outcome.body):
        yield f"an error of another shape: {outcome.body[:100]!r}"


def _shaped(body: bytes) -> bool:
    try:
        told = json.loads(body)
    except ValueError:
        return False
    if not isinstance(told, dict) or set(told) not in RESPONSE_KEYS:
        return False
    if set(told) == {"error"}:
        return set(told["error"]) == {"message", "type", "param", "code"}
    return True


def told_of(request: Spoilt, outcome: Outcome, fault: str) -> dict[str, Any]:
    """A fault with enough to make it again."""
    return {
        "fault": fault,
        "request": f"{request.method} {request.path[:200]!r}?{request.query[:300].decode()}",
        "headers": [one.decode("latin-1")[:100] for pair in request.headers for one in pair],
        "body": request.body[:300].decode("latin-1"),
        "reply": outcome.body[:200].decode("latin-1"),
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    groups: Counter[str] = Counter()
    for status, count in figures["statuses"].items():
        groups[f"{status[0]}xx"] += count
    return [
        "| requests | routes | 2xx | 3xx | 4xx | 5xx | of another shape or without headers |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        f"| {figures['requests']:,} | {figures['routes']} | {groups['2xx']:,} | "
        f"{groups['3xx']:,} | {groups['4xx']:,} | {groups['5xx']:,} | "
        f"{len(figures['faults'])} |",
        "",
        f"The slowest took {figures['slowest']:.1f} s.",
    ]


if __name__ == "__main__":
    main()
