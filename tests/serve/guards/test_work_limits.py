"""Work in bounded queues: a flood is refused, the server answers, and nobody's work is stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx
import pytest
from fastapi import Response
from tests.serve.test_api_errors import assert_problem

from wellread.kb import KnowledgeBase
from wellread.serve.features import kept_answers
from wellread.serve.guards import route_rules
from wellread.serve.guards.route_rules import WorkQueue
from wellread.serve.http import app, ask_api, chat_completions
from wellread.serve.http.app import create_app

VERIFY = "/api/answers/ans_1/verify"
SAID = b'{"role": "user", "content": "When?"}'


class Gate:
    """Stands in for work in a thread, which waits until it is let go."""

    def __init__(self) -> None:
        self.entered = 0
        self.open = threading.Event()

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.entered += 1
        self.open.wait(30)
        return Response()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setattr(kept_answers, "verify_again", made)
    yield made
    made.open.set()


async def until(said: Any) -> None:
    with anyio.fail_after(20):
        while not said():
            await anyio.sleep(0.005)


async def test_much_work_leaves_room_for_everything_else(
    client: httpx.AsyncClient, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_rules, "MAX_WAITING", 3)
    async with anyio.create_task_group() as group:
        replies: list[httpx.Response] = []

        async def worked() -> None:
            replies.append(await client.post(VERIFY))

        for _ in range(60):
            group.start_soon(worked)
        await until(lambda: len(replies) == 49 and gate.entered == 8)
        for refused in replies:
            body = assert_problem(refused, 429, "too_many_requests")
            assert "answered at once" in body["detail"]
            assert int(refused.headers["retry-after"]) > 0
        assert (await client.get("/healthz")).json()["status"] == "ok"
        assert (await client.get("/api/search?query=ferry")).status_code == 200
        gate.open.set()
    assert [reply.status_code for reply in replies].count(200) == 11


async def test_health_answers_though_every_thread_is_taken(
    client: httpx.AsyncClient, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()
    monkeypatch.setattr(type(kb.catalogue.vectors), "passages_pending", lambda _: let_go.wait(30))
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(client.get, "/api/jobs")
        await anyio.sleep(0.1)
        assert (await client.get("/healthz")).status_code == 200
        let_go.set()


class Caller:
    """One request by hand, whose client may hang up."""

    def __init__(self, kb: KnowledgeBase, path: str, body: bytes) -> None:
        self.app = create_app(kb)
        self.hangs_up = asyncio.Event()
        self.sent: list[Any] = []
        self._waiting = [{"type": "http.request", "body": body, "more_body": False}]
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

    async def receive(self) -> Any:
        if self._waiting:
            return self._waiting.pop()
        await self.hangs_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    def start(self) -> asyncio.Task[None]:
        return asyncio.ensure_future(self.app(self.scope, self.receive, self.send))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/ask", b'{"question": "When?"}'),
        ("/api/query", b'{"question": "When?"}'),
        (
            "/v1/chat/completions",
            b'{"model": "wellread", "messages": [%s]}' % SAID,
        ),
    ],
)
async def test_the_work_of_a_client_that_left_is_stopped(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, path: str, body: bytes
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(*_: Any, **__: Any) -> AsyncIterator[Any]:
        begun.set()
        try:
            await anyio.sleep_forever()
            yield None
        finally:
            ended.set()

    for module in (ask_api, chat_completions):
        monkeypatch.setattr(module, "answer_in_mode", endless)
    caller = Caller(kb, path, body)
    task = caller.start()
    with anyio.fail_after(20):
        await begun.wait()
        caller.hangs_up.set()
        await ended.wait()
        await task
    assert caller.sent == [] or caller.sent[0]["status"] == 499


async def test_who_waits_and_leaves_makes_room(
    kb: KnowledgeBase, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = WorkQueue(2, "questions are answered")
    monkeypatch.setattr(app, "WorkQueue", lambda *_: queue)
    callers = [Caller(kb, VERIFY, b"") for _ in range(4)]
    for one in callers:
        one.app = callers[0].app
    tasks = [one.start() for one in callers[:3]]
    await until(lambda: gate.entered == 2)  # which ones is open
    tasks.append(callers[3].start())
    await until(lambda: queue._count == 4)
    callers[3].hangs_up.set()
    with anyio.fail_after(20):
        await tasks[3]
    assert callers[3].sent == []
    gate.open.set()
    await asyncio.gather(*tasks[:3])
    assert [one.sent[0]["status"] for one in callers[:3]] == [200, 200, 200]
    assert gate.entered == 3


async def test_who_waits_when_the_server_stops_is_told_to_come_back(
    kb: KnowledgeBase, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a queue at once, and whoever is worked on when the server waits no longer."""
    queue = WorkQueue(2, "questions are answered")
    monkeypatch.setattr(app, "WorkQueue", lambda *_: queue)
    callers = [Caller(kb, VERIFY, b"") for _ in range(4)]
    for one in callers:
        one.app = callers[0].app
    tasks = [one.start() for one in callers[:2]]
    await until(lambda: gate.entered == 2)
    tasks.append(callers[2].start())
    state = callers[0].app.state
    await until(lambda: queue._count == 3)
    state.stopping = True
    state.queue.stop()
    tasks.append(callers[3].start())  # its connection was open
    await asyncio.wait(tasks[2:], timeout=20)
    tasks[0].cancel()  # as the server does
    gate.open.set()
    await asyncio.wait(tasks, timeout=20)
    assert [one.sent[0]["status"] for one in callers] == [503, 200, 503, 503]
    for number in (0, 2, 3):
        assert int(dict(callers[number].sent[0]["headers"])[b"retry-after"]) > 0
