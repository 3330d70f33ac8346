"""The research pages: a plan that the reader edits, progress by part, cancel, going on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from tests.doubles.gated_search import SearchGate
from tests.serve.conftest import client_of, page, words

from wellread.kb import KnowledgeBase
from wellread.research.research import begin, default_limits
from wellread.serve.http.app import create_app
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.values.answers import Question
from wellread.values.reports import ResearchRequest

ASKED = "Compare the ferry and the boathouse"


@pytest.fixture
async def client(kb: KnowledgeBase) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that works on research."""
    server = create_app(kb)
    async with client_of(server) as opened:
        yield opened
    await server.state.research.close()


def newest(kb: KnowledgeBase) -> ResearchRun:
    return kb.catalogue.research.newest()[0]


async def ended(kb: KnowledgeBase, *states: str) -> ResearchRun:
    """The newest run, once it is in one of the states."""
    with anyio.fail_after(60):
        while (run := await anyio.to_thread.run_sync(newest, kb)).state not in states:
            await asyncio.sleep(0.02)
    return run


async def start(client: httpx.AsyncClient, **fields: Any) -> str:
    form = {"keep": ["f1", "f2", "f3"], **fields}
    reply = await client.post("/research", params={"q": ASKED}, data=form)
    assert reply.status_code == 303, reply.text
    return reply.headers["location"]


async def test_a_deep_question_and_one_that_auto_finds_deep_lead_to_a_plan(
    client: httpx.AsyncClient,
) -> None:
    for mode in ("deep", "auto"):
        asked = await client.get("/", params={"q": ASKED, "mode": mode})
        assert asked.headers["location"].startswith("/research?q=Compare")
    shown = await page(client, asked.headers["location"])
    assert "It compares several things, so this is a research run" in words(shown)
    titles = [field.get("value") for field in shown.cssselect(".plan input[name^=title]")]
    assert titles == ["In general", "ferry", "boathouse"]
    assert "Searchesup to 13" in words(shown.cssselect(".estimate")[0])
    quick = await client.get("/", params={"q": "When does the ferry leave?", "mode": "auto"})
    assert quick.headers["location"].startswith("/ask/")


async def test_parts_are_dropped_renamed_and_added_and_the_report_has_its_sources(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    changes = {"keep": ["f1", "f3"], "title_f3": "boathouse roof", "added": ["seagrass", " "]}
    address = await start(client, **changes)
    run = await ended(kb, "done")
    assert run.plan is not None
    facets = [(facet.title, facet.query) for facet in run.plan.facets if facet.round == 1]
    assert facets[1:] == [("boathouse roof", "boathouse roof"), ("seagrass", "seagrass")]
    shown = await page(client, address)
    said = words(shown.cssselect("article.answer")[0])
    assert "Volunteers planted two hectares of seagrass" in said
    assert shown.cssselect("a.cite[href^='/view/']")
    listed = await page(client, "/research")
    assert f"{ASKED} " in words(listed.cssselect("ul.list")[0])


async def test_a_plan_without_parts_is_refused_with_what_was_typed(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    form = {"title_f2": "the white ferry"}
    refused = await client.post(
        "/research", params={"q": ASKED}, data=form, headers={"accept": "text/html"}
    )
    assert refused.status_code == 400
    assert "the plan has 0 parts" in refused.text
    assert 'value="the white ferry"' in refused.text
    form = {"keep": "f1", "added": "seagrass", "estimate": "yes"}
    again = await client.post("/research", params={"q": ASKED}, data=form)
    assert "up to 12" in again.text  # ten titles and two parts
    assert 'value="seagrass"' in again.text
    assert kb.catalogue.research.newest() == []


async def test_progress_is_told_by_part_and_a_cancelled_run_can_start_again(
    kb: KnowledgeBase, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SearchGate(monkeypatch, free=0)
    address = await start(client)
    await anyio.to_thread.run_sync(gate.reached.wait, 30)
    pane = await page(client, address, pane=True)
    assert [words(item) for item in pane.cssselect(".parts li")] == [
        "In general waiting", "ferry waiting", "boathouse waiting"
    ]  # fmt: skip
    assert pane.cssselect("[data-running]")
    gate.open()
    await client.post(f"{address}/cancel")
    assert newest(kb).state == "cancelled"
    stopped = await page(client, address)
    assert "You stopped this run." in words(stopped)
    await client.post(f"{address}/start")
    await ended(kb, "done")
    assert (await page(client, address)).cssselect("article.answer")


async def test_a_server_takes_up_what_an_earlier_one_left(kb: KnowledgeBase) -> None:
    request = ResearchRequest(question=Question(text=ASKED, mode="deep"), limits=default_limits(kb))
    left, given_up = await begin(kb, request), await begin(kb, request)
    kb.catalogue.research.work(left, "", 999_999_999)
    kb.catalogue.research.fail(given_up, "", "interrupted")
    server = create_app(kb)
    async with server.router.lifespan_context(server):
        with anyio.fail_after(60):
            while not kb.catalogue.research.report(left):
                await asyncio.sleep(0.02)
    assert kb.catalogue.research.report(given_up) is None


async def test_a_server_that_stops_waits_until_the_runs_left_are_read(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, may_read, has_read = kb.catalogue.research, threading.Event(), threading.Event()

    def slow(*_: Any) -> list[ResearchRun]:
        assert may_read.wait(60)
        has_read.set()
        return []

    monkeypatch.setattr(records, "newest", slow)
    app = create_app(kb)
    async with app.router.lifespan_context(app):
        asyncio.get_running_loop().call_later(0.05, may_read.set)
    assert has_read.is_set()


async def test_a_run_is_removed_and_its_report_stays(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    address = await start(client)
    run = await ended(kb, "done")
    await client.post(f"{address}/remove")
    assert (await client.get(address)).status_code == 404
    assert (await client.get(f"/answers/{run.answer_id}")).status_code == 200
