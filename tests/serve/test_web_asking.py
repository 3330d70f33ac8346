"""Asking through pages: runs that can be replayed and cancelled, limits, errors, no scripts."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from anyio import to_thread
from fastapi import FastAPI
from tests.serve.conftest import client_of, events_in, page

from wellread.ingest.remove import remove_conversation, remove_documents
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import ModelUsage, Prompt, TextDelta
from wellread.serve.http.app import create_app
from wellread.serve.web.runs import MAX_RUNNING, AskRun, AskRuns
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import FinalEvent, TokenEvent

ASKED = "How much was the ferry Osprey bought for?"
REPLY = "The ferry Osprey was bought for 2.6 million euros in 2021. [e1]"


class GatedModel:
    """Writes its reply letter by letter, each when the gate lets it through."""

    identity = "gated:model"

    def __init__(self) -> None:
        self.gate = asyncio.Semaphore(0)
        self.begun = asyncio.Event()
        self.left = False

    async def stream(self, _prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        self.begun.set()
        try:
            for letter in REPLY:
                await self.gate.acquire()
                yield TextDelta(text=letter)
            yield ModelUsage(model=self.identity, input_tokens=10, output_tokens=10)
        finally:
            self.left = True

    def open(self, letters: int = 10_000) -> None:
        for _ in range(letters):
            self.gate.release()


@pytest.fixture
async def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
async def app(home: Path, filled_home: Path, model: GatedModel) -> AsyncIterator[FastAPI]:
    shutil.copytree(filled_home, home)  # a kept answer would not be asked for again
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        made = create_app(kb)
        yield made
        await made.state.runs.close()


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app, accept="text/html") as opened:
        yield opened


async def begin(client: httpx.AsyncClient, **more: str) -> str:
    """The address of the page of a question that was just asked."""
    reply = await client.get("/", params={"q": ASKED, "collection": "town", **more})
    assert reply.status_code == 303, reply.text
    return str(reply.headers["location"])


def run_of(app: FastAPI, page: str) -> AskRun:
    runs: AskRuns = app.state.runs
    run = runs.get(app.state.kb, urlsplit(page).path.rpartition("/")[2])
    assert run is not None
    return run


async def test_a_reader_that_comes_back_misses_no_letter(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel
) -> None:
    run = run_of(app, await begin(client))
    await model.begun.wait()
    letters = ""
    seen = 0
    model.open()
    # Each reader leaves after a few events; the next goes on where it was.
    while run.state == "running" or seen < len(run.events):
        async for number, event in run.follow(seen):
            assert number == seen
            seen += 1
            letters += event.text if isinstance(event, TokenEvent) else ""
            if seen % 3 == 0:
                break
    assert letters == REPLY
    assert seen == len(run.events)


async def test_a_reload_gets_the_same_events_again(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel
) -> None:
    page = await begin(client)
    model.open()
    path = urlsplit(page).path
    await client.get(f"{path}/events")  # until it has ended
    whole = events_in((await client.get(f"{path}/events")).text)
    events = run_of(app, page).events
    assert sum(isinstance(one, TokenEvent) for one in events) > 1
    assert [name for _, name, _ in whole].count("token") == 1  # the draft is drawn once
    assert (whole[-1][0], whole[-1][1]) == (len(events) - 1, "final")
    again = events_in((await client.get(f"{path}/events")).text)
    assert again == whole
    headers = {"last-event-id": "5"}
    rest = events_in((await client.get(f"{path}/events", headers=headers)).text)
    assert rest == [one for one in whole if (one[0] or 0) > 5]
    rest = events_in((await client.get(f"{path}/events", params={"after": 4})).text)
    assert rest == [one for one in whole if (one[0] or 0) >= 4]
    assert isinstance(events[-1], FinalEvent)


def _remove_cited(kb: KnowledgeBase, run: AskRun) -> None:
    assert run.answer
    remove_documents(kb, [one.document_id for one in run.answer.citations])


def _remove_beside(kb: KnowledgeBase, run: AskRun) -> None:
    """A document that the draft was written from, and that the answer does not cite."""
    assert run.answer
    cited = {one.document_id for one in run.answer.citations}
    others = [one.id for one in kb.catalogue.documents("town") if one.id not in cited]
    remove_documents(kb, others)


def _remove_conversation(kb: KnowledgeBase, run: AskRun) -> None:
    assert run.answer
    remove_conversation(kb, run.answer.session_id, "")


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        (_remove_cited, {"step", "final"}),
        (_remove_beside, {"step", "final"}),
        (_remove_conversation, {"step", "ended"}),
    ],
)
async def test_words_of_what_was_removed_never_come_again(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel, gone: Any, told: set[str]
) -> None:
    page = urlsplit(await begin(client)).path
    model.open()
    assert "2.6 million" in (await client.get(f"{page}/events")).text
    await to_thread.run_sync(gone, app.state.kb, run_of(app, page))
    again = events_in((await client.get(f"{page}/events")).text)
    assert {name for _, name, _ in again} == told
    stays = gone is _remove_beside
    assert any("2.6 million" in json.dumps(data) for _, _, data in again) == stays


async def test_a_draft_of_what_is_removed_meanwhile_is_not_told(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel
) -> None:
    page = urlsplit(await begin(client)).path
    await model.begun.wait()
    ferry = [one.id for one in app.state.kb.catalogue.documents("town")]
    await to_thread.run_sync(remove_documents, app.state.kb, ferry)
    model.open()
    again = events_in((await client.get(f"{page}/events")).text)
    assert not {name for _, name, _ in again} & {"token", "sentence"}
    assert "2.6 million" not in json.dumps([data for _, _, data in again])


async def test_a_greeting_is_answered_on_the_page_and_kept_nowhere(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    page = (await client.get("/", params={"q": "Hello!"})).headers["location"]
    told = events_in((await client.get(f"{urlsplit(page).path}/events")).text)
    assert [name for _, name, _ in told] == ["final"]
    assert "Hello." in told[0][2]["html"]
    shown = await client.get(page)
    assert shown.status_code == 200
    assert "What would you like to know" in shown.text
    assert app.state.kb.catalogue.answers() == []


async def test_cancelling_ends_the_call_of_the_model(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel
) -> None:
    page = await begin(client)
    await model.begun.wait()
    path = urlsplit(page).path
    assert (await client.post(f"{path}/cancel", params={"q": ASKED})).status_code == 303
    assert model.left
    number, name, data = events_in((await client.get(f"{path}/events")).text)[-1]
    assert (number, name, data["state"]) == (None, "ended", "cancelled")
    shown = (await client.get(page)).text
    assert "You stopped this question" in shown
    assert "Ask again" in shown


async def test_what_a_stopped_server_was_answering_is_interrupted(
    client: httpx.AsyncClient,
) -> None:
    page = f"/ask/of-another-server?q={ASKED}&collection=town"
    assert (await client.get("/ask/of-another-server/events")).status_code == 404
    shown = (await client.get(page)).text
    assert "Interrupted" in shown
    again = next(
        part for part in shown.split('"') if part.startswith("/?") and "collection" in part
    )
    assert parse_qs(urlsplit(again.replace("&amp;", "&")).query)["q"] == [ASKED]


async def test_without_scripts_the_answer_is_waited_for(
    client: httpx.AsyncClient, model: GatedModel
) -> None:
    page = await begin(client)
    html = (await client.get(page)).text
    assert f"url={urlsplit(page).path}/wait" in html
    model.open()
    reply = await client.get(f"{urlsplit(page).path}/wait", follow_redirects=True)
    assert reply.url.path.startswith("/answers/")
    assert "2.6 million euros" in reply.text


@pytest.mark.parametrize(
    ("typed", "leads", "shown"),
    [
        (f"/ask {ASKED} --detailed --coverage", "/ask/", ["detailed", "coverage"]),
        (f"/ask {ASKED} --sources-only", "/search", []),
    ],
)
async def test_a_typed_command_is_the_question_and_its_options(
    client: httpx.AsyncClient, model: GatedModel, typed: str, leads: str, shown: list[str]
) -> None:
    model.open()
    reply = await client.get("/app/ask", params={"q": typed, "collection": "town"})
    reply = await client.get(reply.headers["location"])
    address = urlsplit(reply.headers["location"])
    asked = parse_qs(address.query)
    assert address.path.startswith(leads)
    assert [ASKED] in (asked.get("q"), asked.get("query"))
    assert asked["collection"] == ["town"]
    assert asked.get("show", []) == shown
    if shown:
        waited = await client.get(f"{address.path}/wait?{address.query}", follow_redirects=True)
        assert parse_qs(waited.url.query.decode()) == {"show": shown}
        assert 'aria-label="Coverage"' in waited.text
        assert '<details class="steps-list" open>' in waited.text


async def test_the_next_question_of_an_answer_keeps_its_documents_and_days(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel
) -> None:
    model.open()
    document = next(
        one.id for one in app.state.kb.catalogue.documents("town") if "ferry" in one.uri
    )
    limits = {"document": document, "from": "2020-05"}
    address = urlsplit(await begin(client, **limits))
    waited = await client.get(f"{address.path}/wait", follow_redirects=True)
    kept = dict((await page(client, waited.url.path)).get_element_by_id("ask").fields)
    assert kept["document"] == document
    assert kept["from"] == "2020-05-01"
    assert not kept["to"]


async def test_every_collection_is_no_limit(app: FastAPI, client: httpx.AsyncClient) -> None:
    names = [one.collection for one in app.state.kb.catalogue.vocabulary.of(())]
    assert len(names) > 1
    page = (await client.get("/", params={"q": ASKED, "collection": names})).headers["location"]
    assert run_of(app, page).question.filters.collections == ()
    page = (await client.get("/", params={"q": ASKED, "collection": names[:1]})).headers["location"]
    assert run_of(app, page).question.filters.collections == (names[0],)


async def test_a_conversation_is_renamed_rated_and_opened_at_its_newest_answer(
    app: FastAPI, client: httpx.AsyncClient, model: GatedModel
) -> None:
    model.open()
    wait = urlsplit(await begin(client)).path
    address = (await client.get(f"{wait}/wait", follow_redirects=True)).url.path
    (session,) = app.state.kb.catalogue.sessions.of("")[:1]
    path = f"/conversations/{session.id}"
    renamed = await client.post(f"{path}/rename", data={"title": "The\n ferry"})
    assert renamed.headers["location"] == path
    assert (await client.get(path)).headers["location"] == address
    assert (await client.post(f"{path}/rename", data={"title": " "})).status_code == 400
    assert [one.title for one in app.state.kb.catalogue.sessions.of("")][:1] == ["The ferry"]
    assert (await client.post(f"{address}/rate", data={"score": "100"})).status_code == 303
    given = app.state.kb.catalogue.feedback.of_answers([address.rpartition("/")[2]])
    assert [one.score for many in given.values() for one in many] == [100]


async def test_too_many_questions_at_once_are_refused(client: httpx.AsyncClient) -> None:
    for _ in range(MAX_RUNNING):
        await begin(client)
    reply = await client.get("/", params={"q": ASKED})
    assert reply.status_code == 429
    assert int(reply.headers["retry-after"]) > 0
    assert "Wait until one has finished" in reply.text


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"q": ASKED, "collection": "nowhere"}, 404, "nowhere"),
        ({"q": ASKED, "from": "yesteryear"}, 400, "yesteryear"),
        ({"q": "x" * 5_000}, 400, "5,000 characters"),
        ({"q": ASKED, "kolection": "town"}, 400, "kolection"),
    ],
)
async def test_a_bad_limit_is_a_page_that_says_so(
    client: httpx.AsyncClient, query: dict[str, str], status: int, words: str
) -> None:
    reply = await client.get("/", params=query)
    assert reply.status_code == status
    assert reply.headers["content-type"].startswith("text/html")
    assert words in reply.text
    as_data = await client.get("/", params=query, headers={"accept": "application/json"})
    assert as_data.status_code == status
    assert set(as_data.json()) == {"error", "detail", "hint"}
