"""``/api/research``: plans, runs of the server, events that can be read again, errors."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.doubles.gated_search import PATIENCE, SearchGate
from tests.serve.conftest import client_of, events_in

from wellread.ingest.remove import remove_named
from wellread.kb import KnowledgeBase, open_kb
from wellread.research.research import begin
from wellread.serve.features.researching import MAX_RUNNING, ResearchTasks
from wellread.serve.server.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question
from wellread.values.reports import ResearchRequest

BASE_URL = "http://127.0.0.1"
ASKED = "Compare ropes and anchors"
QUICK = {"limits": {"rounds": 1, "searches": 8}}


@pytest.fixture
def kb(home: Path, harbour_home: Path) -> Iterator[KnowledgeBase]:
    shutil.copytree(harbour_home, home)
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
async def app(kb: KnowledgeBase) -> AsyncIterator[FastAPI]:
    made = create_app(kb)
    yield made
    await made.state.research.close()


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as opened:
        yield opened


@pytest.fixture
def gate(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchGate]:
    """Searches wait, after the first one."""
    made = SearchGate(monkeypatch, free=1)
    yield made
    made.open()


async def waiting(gate: SearchGate) -> None:
    """Until a search waits."""
    assert await asyncio.to_thread(gate.reached.wait, PATIENCE)


async def until(true: Callable[[], bool | Awaitable[bool]]) -> None:
    """Until something is so; a test that waits in vain fails."""
    async with asyncio.timeout(PATIENCE):
        while not (found if isinstance(found := true(), bool) else await found):
            await asyncio.sleep(0.01)


async def begun(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    reply = await client.post("/api/research", json={"question": ASKED, **QUICK, **more})
    assert reply.status_code == (201 if more.get("planOnly") else 202), reply.text
    body: dict[str, Any] = reply.json()
    return body


async def got(client: httpx.AsyncClient, run_id: str) -> dict[str, Any]:
    reply = await client.get(f"/api/research/{run_id}")
    assert reply.status_code == 200
    body: dict[str, Any] = reply.json()
    return body


async def events(
    client: httpx.AsyncClient, run_id: str, after: int | None = None, last: str | None = None
) -> list[tuple[int | None, str, Any]]:
    """Number, name and data of each event of a run, until it ends."""
    params = {} if after is None else {"after": after}
    headers = {} if last is None else {"last-event-id": last}
    reply = await client.get(f"/api/research/{run_id}/events", params=params, headers=headers)
    assert reply.status_code == 200
    return events_in(reply.text)


async def test_a_run_is_planned_worked_on_and_reported(client: httpx.AsyncClient) -> None:
    run = await begun(client, limits={})
    assert (run["question"], run["report"]) == (ASKED, None)
    assert [one["title"] for one in run["plan"]["facets"]] == ["In general", "ropes", "anchors"]
    assert run["plan"]["seconds"] > 0
    told = await events(client, run["id"])
    assert [name for _, name, _ in told[:2]] == ["plan", "progress"]
    assert told[-1] == (None, "ended", {"id": run["id"], "state": "done", "reason": ""})
    done = await got(client, run["id"])
    report = done["report"]
    assert told[-2][1:] == ("report", report)
    assert done["state"] == "done"
    assert report["stopped"] == "complete"
    assert (report["warning"], report["rounds"]) == ("", 2)
    text = report["answer"]["answer"]
    for section in report["sections"]:
        assert text[section["start"] : section["end"]].startswith("## ")
    assert {one["facet"] for one in report["sections"] if one["found"]} >= {"f2", "f3"}
    cited = {one["documentId"] for one in report["answer"]["citations"]}
    assert {one["id"] for one in report["documents"] if one["cited"]} == cited
    stored = await client.get(f"/api/answers/{done['answerId']}")
    assert stored.json()["answer"] == text


async def test_events_are_numbered_and_can_be_read_again(client: httpx.AsyncClient) -> None:
    run = await begun(client)
    both = await asyncio.gather(events(client, run["id"]), events(client, run["id"]))
    assert both[0] == both[1]
    whole = both[0]
    assert [number for number, _, _ in whole[:-1]] == list(range(1, len(whole)))
    assert await events(client, run["id"]) == whole
    assert await events(client, run["id"], after=3) == whole[3:]
    assert await events(client, run["id"], after=1, last="4") == whole[4:]
    assert await events(client, run["id"], last="none") == whole
    assert await events(client, run["id"], after=len(whole) - 1) == whole[-1:]


async def test_a_plan_waits_for_start(client: httpx.AsyncClient) -> None:
    run = await begun(client, planOnly=True, limits={"rounds": 1, "dollars": 0.5})
    assert run["state"] == "planned"
    assert run["limits"] == {"rounds": 1, "seconds": 60.0, "searches": 60, "dollars": 0.5}
    path = f"/api/research/{run['id']}/start"
    assert (await client.post(path)).status_code == 202
    told = await events(client, run["id"])
    assert told[0][2]["facets"] == run["plan"]["facets"]
    assert told[-1][2]["state"] == "done"
    assert (await client.post(path)).status_code == 409


async def test_limits_and_options_of_a_request(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    run = await begun(
        client,
        topicId="harbour",
        options={"speakers": ["Ben Reed"], "timeWindow": {"from": "2026"}},
        planOnly=True,
    )
    kept = kb.catalogue.research.get(run["id"])
    assert kept is not None
    assert kept.request.question.filters.speakers == ("Ben Reed",)
    assert kept.request.facets is not None
    assert kept.request.facets[0].filters.speakers == ("Ben Reed",)
    assert kept.request.facets[0].filters.collections == ("harbour",)


async def test_a_cancelled_run_answers_from_what_it_has(
    client: httpx.AsyncClient, gate: SearchGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await begun(client)
    await waiting(gate)
    reply = await client.post(f"/api/research/{run['id']}/cancel")
    assert (reply.status_code, reply.json()["cancel"]) == (200, True)
    gate.open()
    told = await events(client, run["id"])
    assert told[-1][2]["state"] == "cancelled"
    report = (await got(client, run["id"]))["report"]
    assert (report["stopped"], report["rounds"]) == ("cancelled", 1)
    assert "cancelled" in report["warning"]
    again = await client.post(f"/api/research/{run['id']}/cancel")
    assert (again.status_code, again.json()["error"]) == (409, "conflict")


async def test_only_a_few_are_at_work_at_once(client: httpx.AsyncClient, gate: SearchGate) -> None:
    planned = await begun(client, planOnly=True)
    running = [await begun(client) for _ in range(MAX_RUNNING)]
    await waiting(gate)
    refused = await client.post("/api/research", json={"question": ASKED})
    assert (refused.status_code, refused.json()["error"]) == (429, "too_many_requests")
    start = await client.post(f"/api/research/{planned['id']}/start")
    assert start.status_code == 429
    assert (await begun(client, planOnly=True))["state"] == "planned"
    gate.open()
    for run in running:
        assert (await events(client, run["id"]))[-1][2]["state"] == "done"
    assert (await client.post(f"/api/research/{planned['id']}/start")).status_code == 202
    await events(client, planned["id"])


async def test_what_is_not_there_is_told(client: httpx.AsyncClient) -> None:
    for method, path in (
        ("GET", ""),
        ("GET", "/events"),
        ("POST", "/start"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ):
        reply = await client.request(method, f"/api/research/run_nothing{path}")
        assert (reply.status_code, reply.json()["error"]) == (404, "not_found"), path


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 400, "bad_request"),
        ({"question": "  "}, 400, "bad_request"),
        ({"question": "x" * 4_001}, 400, "bad_request"),
        ({"question": ASKED, "topicId": "sea"}, 404, "unknown_topic"),
        ({"question": ASKED, "limits": {"rounds": 11}}, 400, "bad_request"),
        ({"question": ASKED, "limits": {"hours": 1}}, 400, "bad_request"),
        ({"question": ASKED, "mode": "deep"}, 400, "bad_request"),
        ({"question": ASKED, "facets": [{"id": "f1"}]}, 400, "bad_request"),
        ({"question": ASKED, "options": {"timeWindow": {"from": "soon"}}}, 400, "bad_request"),
    ],
)
async def test_wrong_requests_are_refused_and_leave_nothing(
    client: httpx.AsyncClient, kb: KnowledgeBase, body: dict[str, Any], status: int, error: str
) -> None:
    reply = await client.post("/api/research", json=body)
    assert (reply.status_code, reply.json()["error"]) == (status, error)
    assert set(reply.json()) == {"error", "detail", "hint"}
    assert kb.catalogue.research.newest() == []


async def test_a_run_at_work_is_removed(client: httpx.AsyncClient, gate: SearchGate) -> None:
    run = await begun(client)
    await waiting(gate)
    follower = asyncio.create_task(events(client, run["id"]))
    removal = asyncio.create_task(client.delete(f"/api/research/{run['id']}"))
    await asyncio.sleep(0)
    gate.open()
    assert (await removal).json()["state"] == "removed"
    assert (await client.get(f"/api/research/{run['id']}")).status_code == 404
    assert (await follower)[-1][1] == "ended"
    assert (await client.get("/api/research")).json()["runs"] == []


async def test_a_run_goes_with_a_source_that_it_read(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    run = await begun(client)
    await events(client, run["id"])
    await asyncio.to_thread(remove_named, kb, "harbour", ["Handbook"])
    assert (await client.get(f"/api/research/{run['id']}")).status_code == 404


async def test_a_run_whose_source_goes_meanwhile_ends(
    client: httpx.AsyncClient,
    kb: KnowledgeBase,
    gate: SearchGate,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = await begun(client)
    await waiting(gate)
    follower = asyncio.create_task(events(client, run["id"]))
    kept = kb.catalogue.research
    # One search went through, whichever came first; what it read is noted with it.
    await until(lambda: any(step.startswith("search/") for step in kept.steps(run["id"])))
    await asyncio.to_thread(remove_named, kb, "harbour", ["Handbook"])
    gate.open()
    last = (await follower)[-1]
    assert (last[1], last[2]["state"]) == ("ended", "removed")
    assert not [one for one in caplog.records if one.exc_info]  # no surprise to the server


# --- runs of other processes ----------------------------------------------------------------------


async def left_behind(kb: KnowledgeBase, host: str) -> str:
    """A run that is noted as running, and nobody works on it."""
    run_id = await begin(kb, ResearchRequest(question=Question(text=ASKED)))
    kb.catalogue.research.work(run_id, host, os.getpid())
    return run_id


async def at_work(client: httpx.AsyncClient, run_id: str) -> bool:
    """Whether the run was taken up."""
    return str((await got(client, run_id))["state"]) != "interrupted"


async def test_a_run_of_a_dead_process_is_resumed(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    run_id = await left_behind(kb, platform.node())
    assert (await got(client, run_id))["state"] == "interrupted"
    assert (await events(client, run_id))[-1][2]["state"] == "interrupted"
    resumed = await client.post(f"/api/research/{run_id}/start")
    assert resumed.status_code == 202
    assert (await client.post(f"/api/research/{run_id}/start")).status_code == 409
    await until(lambda: at_work(client, run_id))
    assert (await events(client, run_id))[-1][2]["state"] == "done"
    assert (await client.post(f"/api/research/{run_id}/start")).status_code == 409


@pytest.mark.sqlite_only  # a server of databases says whether anybody works on it
async def test_a_run_of_another_machine_is_left_alone(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    run_id = await left_behind(kb, "another-machine")
    assert (await got(client, run_id))["state"] == "running"
    assert (await client.post(f"/api/research/{run_id}/start")).status_code == 409
    assert await ResearchTasks(kb).take_up() == []


def test_a_server_takes_up_what_one_before_it_left(kb: KnowledgeBase) -> None:
    run_id = asyncio.run(left_behind(kb, platform.node()))
    planned = asyncio.run(begin(kb, ResearchRequest(question=Question(text=ASKED))))
    with TestClient(create_app(kb), base_url=BASE_URL) as client:
        deadline = time.monotonic() + PATIENCE
        while client.get(f"/api/research/{run_id}").json()["state"] != "done":
            assert time.monotonic() < deadline
        assert client.get(f"/api/research/{planned}").json()["state"] == "planned"


async def test_a_server_that_ends_leaves_runs_for_the_next(
    client: httpx.AsyncClient, app: FastAPI, kb: KnowledgeBase, gate: SearchGate
) -> None:
    run = await begun(client)
    await waiting(gate)
    closing = asyncio.create_task(app.state.research.close())
    await asyncio.sleep(0)
    gate.open()
    await closing
    assert (await got(client, run["id"]))["state"] == "interrupted"
    following = ResearchTasks(kb)
    assert await following.take_up() == [run["id"]]
    await until(lambda: at_work(client, run["id"]))
    told = await events(client, run["id"])
    assert [number for number, _, _ in told[:-1]] == list(range(1, len(told)))
    assert told[-1][2]["state"] == "done"
    await following.close()


async def test_a_run_that_waited_for_its_turn_is_taken_up_and_a_mere_plan_is_not(
    client: httpx.AsyncClient, app: FastAPI, kb: KnowledgeBase, gate: SearchGate
) -> None:
    tasks: ResearchTasks = app.state.research
    for _ in range(MAX_RUNNING):
        await begun(client)
    await waiting(gate)
    planned = await begun(client, planOnly=True)
    asked = ResearchRequest(question=Question(text=ASKED))
    queued = await begin(kb, asked)
    await tasks.start(kb, queued, asked)
    assert (await got(client, queued))["state"] == "planned"
    assert await ResearchTasks(kb).take_up() == []  # this one's turn is still to come
    closing = asyncio.create_task(tasks.close())
    await asyncio.sleep(0)
    gate.open()
    await closing
    assert (await got(client, queued))["state"] == "interrupted"
    assert (await got(client, planned["id"]))["state"] == "planned"
    following = ResearchTasks(kb)
    assert (await following.take_up())[-1] == queued
    assert (await events(client, queued))[-1][2]["state"] == "done"
    assert (await got(client, planned["id"]))["state"] == "planned"
    await following.close()


async def test_a_report_that_was_written_and_not_told_is_told(
    client: httpx.AsyncClient, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await begun(client)
    whole = await events(client, run["id"])
    real = kb.catalogue.research.events

    def without_report(run_id: str, after: int = 0) -> list[Any]:
        return [one for one in real(run_id, after) if one.number < len(whole) - 1]

    monkeypatch.setattr(kb.catalogue.research, "events", without_report)
    assert await events(client, run["id"]) == whole
    assert await events(client, run["id"], after=len(whole) - 1) == whole[-1:]
