"""``POST /api/query`` and ``/api/query/deep``: the contract of the archive."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from tests.serve.conftest import client_of

from wellread.config import ServeSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import ModelUsage, Prompt, TextDelta
from wellread.research import research as researching
from wellread.research.research import research
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.values.answers import Question
from wellread.values.reports import (
    WARNINGS,
    PlanEvent,
    ReportEvent,
    ResearchEvent,
    ResearchRequest,
    StopReason,
)

ROOF = "When will the boathouse roof be repaired?"
FERRY = "How much was the ferry Osprey bought for?"
NOWHERE = "How far away is the Andromeda galaxy?"
SOURCE = {"video_id", "video_title", "timestamp", "timestamp_formatted", "excerpt", "speaker"}
ALWAYS = {"answer", "session_id", "sources", "citations", "mode"}
TALK = """WEBVTT

NOTE
title: Talk [live] @ home

00:00:01.000 --> 00:00:05.000
<v Ana>Welcome to the talk about the lighthouse lamp.

01:02:03.000 --> 01:02:09.000
<v Ben>The lighthouse lamp was lit in 1890, see [Old film @ 00:07].
"""
# What a strict reader of the archive takes for the marker of a place in a recording.
MARKER = re.compile(r"\[([^\[\]\n]+) @ ((?:\d+:)?[0-5]\d:[0-5]\d)\]")


def checked(body: dict[str, Any]) -> dict[str, Any]:
    """``body``, once all that the contract says of any reply holds."""
    assert set(body) >= ALWAYS
    assert set(body) <= ALWAYS | {"iterations", "warning", "notes"}
    assert body["mode"] in ("quick", "deep")
    for source in body["sources"]:
        assert set(source) == SOURCE
        assert isinstance(source["video_id"], str)
        if source["timestamp"] is None:
            assert source["timestamp_formatted"] is None
            assert source["speaker"] is None
        else:
            parts = [int(part) for part in source["timestamp_formatted"].split(":")]
            seconds = sum(part * 60**place for place, part in enumerate(reversed(parts)))
            assert seconds == int(source["timestamp"])
    assert all(set(one) == {"video", "timestamp"} for one in body["citations"])
    places = {(one["video_title"], one["timestamp_formatted"]) for one in body["sources"]}
    assert {(one["video"], one["timestamp"]) for one in body["citations"]} == places
    named = MARKER.findall(body["answer"])
    assert set(named) <= places
    if body["answer"] and "error" not in body:
        assert {place for place in places if place[1]} <= set(named)
    return body


async def asked(
    client: httpx.AsyncClient, path: str = "/api/query", status: int = 200, **body: Any
) -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status_code == status, response.text
    return checked(response.json()) if status == 200 else response.json()


# --- the shape -------------------------------------------------------------------------------


async def test_an_answer_names_the_second_of_each_recording(client: httpx.AsyncClient) -> None:
    body = await asked(client, question=ROOF)
    assert set(body) == ALWAYS
    assert "The boathouse roof will be repaired in March. [Talk @ 01:10]" in body["answer"]
    source = next(one for one in body["sources"] if one["timestamp"] is not None)
    assert source == {
        "video_id": source["video_id"],
        "video_title": "Talk",
        "timestamp": 70.0,
        "timestamp_formatted": "01:10",
        "excerpt": "The boathouse roof will be repaired in March.",
        "speaker": "Ben",
    }
    assert {"video": "Talk", "timestamp": "01:10"} in body["citations"]
    assert body["mode"] == "quick"
    whole = await client.get(f"/api/videos/{source['video_id']}/transcript")
    assert whole.status_code == 200


async def test_other_kinds_have_neither_time_nor_speaker_and_say_so(
    client: httpx.AsyncClient,
) -> None:
    body = await asked(client, question=FERRY)
    (source,) = body["sources"]
    assert (source["timestamp"], source["timestamp_formatted"], source["speaker"]) == (None,) * 3
    assert body["citations"] == [{"video": "The ferry", "timestamp": None}]
    assert "[The ferry]" in body["answer"]


async def test_only_what_is_backed_looks_like_a_place_in_a_recording(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    path = tmp_path / "lamp.vtt"
    path.write_text(TALK, encoding="utf-8")
    add(kb, [str(path)], collection="coast")
    async for client in opened(kb):
        body = await asked(client, question="When was the lighthouse lamp lit?")
        assert "see (Old film @ 00:07)." in body["answer"]
        assert "[Talk (live) @ home @ 1:02:03]" in body["answer"]
        assert body["citations"][0] == {"video": "Talk (live) @ home", "timestamp": "1:02:03"}
        assert body["sources"][0]["timestamp"] == 3723.0


# --- sessions --------------------------------------------------------------------------------


async def test_a_conversation_goes_on_and_an_unknown_one_is_begun_anew(
    client: httpx.AsyncClient,
) -> None:
    first = await asked(client, question=ROOF)
    again = await asked(client, question="Who said it?", session_id=first["session_id"])
    assert again["session_id"] == first["session_id"]
    assert any("follow-up" in note for note in again["notes"])
    other = await asked(client, question=ROOF, session_id="s1")
    assert other["session_id"] == "s1"
    assert "warning" not in other
    again = await asked(client, question="Who said it?", session_id="s1")
    assert any("follow-up" in note for note in again["notes"])
    odd = await asked(client, question=ROOF, session_id="a/b")
    assert odd["session_id"].startswith("ses_")
    assert odd["warning"] == "“a/b” is not a usable session id; a new session was started"
    empty = await asked(client, question=ROOF, session_id="")
    assert "warning" not in empty


# --- the mode --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "mode", "ran"),
    [
        (ROOF, "auto", "quick"),
        ("Why will the boathouse roof be repaired?", "auto", "deep"),
        ("What is the difference between the ferry and the boathouse?", "auto", "deep"),
        ("Tell me everything about the ferry Osprey.", "auto", "deep"),
        (ROOF, "deep", "deep"),
        ("Tell me everything about the ferry Osprey.", "quick", "quick"),
        ("Tell me everything about the ferry Osprey.", None, "quick"),
    ],
)
async def test_auto_is_deep_where_one_search_cannot_answer_and_quick_is_the_default(
    client: httpx.AsyncClient, question: str, mode: str | None, ran: str
) -> None:
    how: dict[str, Any] = {"mode": mode} if mode else {}
    body = await asked(client, question=question, **how)
    assert body["mode"] == ran
    assert ("iterations" in body) == (ran == "deep")


async def test_every_marker_of_a_deep_answer_has_the_form_of_the_archive(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    """Those of its disagreements, not only those of its sentences."""
    files = [_recorded(tmp_path, day, price) for day, price in enumerate(("70", "80", "90"), 1)]
    add(kb, list(map(str, files)), collection="barge")
    told = {
        "What is the price of the barge Gannet?": ("What the sources disagree on",),
    }
    for style in ("number", "time"):
        for question, parts in told.items():
            async for client in opened(kb, citations={"style": style}):
                text = (await asked(client, "/api/query/deep", question=question))["answer"]
            for title in parts:
                part = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
                assert MARKER.search(part), title
            assert not re.search(r"\[\d+\]", text)


def _recorded(folder: Path, day: int, price: str) -> Path:
    """A recording of May 2025 that tells another price than the others."""
    file = folder / f"gannet-{day}.vtt"
    file.write_text(
        f"""WEBVTT

NOTE
title: Gannet {day}
date: 2025-05-0{day}

00:00:01.000 --> 00:00:05.000
<v Ana>Welcome to the news about the barge Gannet.

00:0{day}:03.000 --> 00:0{day}:09.000
<v Ben>The price of the barge Gannet is {price} thousand euros.
""",
        encoding="utf-8",
    )
    return file


# --- errors ----------------------------------------------------------------------------------


async def test_what_the_material_does_not_answer_is_no_error(client: httpx.AsyncClient) -> None:
    for path in ("/api/query", "/api/query/deep"):
        body = await asked(client, path, question=NOWHERE)
        assert (body["sources"], body["citations"]) == ([], [])
        assert "don't have enough" in body["answer"]


@pytest.mark.parametrize("path", ["/api/query", "/api/query/deep"])
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": " \n"},
        {"question": None},
        {"question": 7},
        {"question": "long " * 2_000},
        {"question": "x", "sessionId": "y"},
        {"question": "x", "session_id": 7},
        {"question": "x", "session_id": "no spaces"},
        {"question": "x", "session_id": "x" * 201},
        {"question": "x", "mode": "slow"},
    ],
)
async def test_a_wrong_query_is_refused(
    client: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    response = await client.post(path, json=body)
    assert response.status_code == 400
    problem = response.json()
    assert set(problem) == {"error", "detail", "hint"}
    assert problem["error"] == "bad_request"


@pytest.mark.parametrize("failure", [ModelError("on fire"), ModelTimeoutError("asleep")])
async def test_where_the_model_fails_sentences_are_extracted_and_it_is_said(
    kb: KnowledgeBase, failure: ModelError
) -> None:
    async for client in opened(kb, ScriptedModel([failure], identity="one:model")):
        body = await asked(client, question=ROOF)
        assert f"answered by extractive: one:model failed: {failure}" in body["warning"]
        assert "[Talk @ 01:10]" in body["answer"]


# --- time-out --------------------------------------------------------------------------------


class Asleep:
    """A model that never answers."""

    identity = "asleep:model"

    async def stream(self, _: Prompt) -> AsyncIterator[TextDelta | ModelUsage]:
        await anyio.sleep_forever()
        yield TextDelta(text="never")


async def opened(
    kb: KnowledgeBase, model: Any = None, **sections: dict[str, object]
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application over the same home, with other settings."""
    overrides: dict[str, dict[str, object]] = {
        "cache": {"answers": False},
        "qa": {"confidence_threshold": 0.05},
        **sections,
    }
    with open_kb(kb.home, overrides=overrides, embedder=ReadableEmbedder(), model=model) as made:
        async with client_of(create_app(made)) as client:
            yield client


async def test_when_the_time_is_up_it_is_told(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServeSettings, "query_seconds", 0.5)
    async for client in opened(kb, Asleep()):
        told = await asked(client, status=504, question=ROOF, mode="quick")
    assert told["error"] == "timeout"
    assert "longer than 0.5 seconds" in told["detail"]
    assert "narrower" in told["hint"]


def scripted(*events: ResearchEvent | str) -> Any:
    """Stands in for research: yields events; a string is where it never goes on."""

    async def run(
        kb: KnowledgeBase, request: ResearchRequest, **_: object
    ) -> AsyncIterator[ResearchEvent]:
        assert request.limits.seconds == kb.settings.research.seconds
        for event in events:
            if isinstance(event, str):
                await anyio.sleep_forever()
            else:
                yield event

    return run


async def ended(kb: KnowledgeBase, question: str) -> ReportEvent:
    """How research of the question ends."""
    request = ResearchRequest(question=Question(text=question))
    events = [event async for event in research(kb, request)]
    assert isinstance(events[-1], ReportEvent)
    return events[-1]


@pytest.mark.parametrize(("stopped", "rounds"), [("time_limit", 3), ("round_limit", 10)])
async def test_a_report_that_stopped_at_a_limit_warns(
    kb: KnowledgeBase,
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    stopped: StopReason,
    rounds: int,
) -> None:
    whole = (await ended(kb, ROOF)).report
    cut = replace(whole, stopped=stopped, rounds=rounds, warning=WARNINGS[stopped])
    monkeypatch.setattr(researching, "research", scripted(ReportEvent(report=cut)))
    body = await asked(client, question=ROOF, mode="deep")
    assert (body["iterations"], body["warning"]) == (rounds, WARNINGS[stopped])
    assert "[Talk @ 01:10]" in body["answer"]


async def test_research_that_does_not_stop_is_stopped(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = (await ended(kb, ROOF)).report.plan
    monkeypatch.setattr(researching, "research", scripted(PlanEvent(plan=plan), "never"))
    monkeypatch.setattr(ServeSettings, "research_seconds", 0.2)
    async for client in opened(kb):
        body = await asked(client, "/api/query/deep", 504, question=ROOF)
    assert body["error"] == "timeout"
    assert body["hint"]
