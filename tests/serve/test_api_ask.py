from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.serve.conftest import events_in, schema_of

from wellread.asking import answer_in_mode
from wellread.errors import ModelTimeoutError
from wellread.kb import KnowledgeBase
from wellread.serve.features.answering import AskResponse
from wellread.serve.http import ask_api as ask_module
from wellread.serve.http.ask_api import AskRequest
from wellread.types import Filters
from wellread.values.answers import Event, Question, Step, StepEvent

FERRY_QUESTION = "How much was the ferry Osprey bought for?"


async def ask(client: httpx.AsyncClient, **body: object) -> httpx.Response:
    return await client.post("/api/ask", json=body)


ANSWER = (
    "answer citations confidence dataGaps conflicts related sessionId mode answeredBy sentences"
    " usage steps"
)
CITATION = (
    "id number score title url sourceType publishedAt relevance locator quote answerSpan sourceSpan"
    " verdict link viewUrl"
)


async def test_the_answer_has_the_contract_s_fields(client: httpx.AsyncClient) -> None:
    response = await ask(client, question=FERRY_QUESTION)
    assert response.status_code == 200
    body = response.json()
    assert set(ANSWER.split()) <= set(body)
    assert {"score", "reasoning"} <= set(body["confidence"])
    assert {"clustersRetrieved", "tokensUsed", "cost"} == set(body["usage"])
    assert {"input", "output"} == set(body["usage"]["tokensUsed"])
    assert {"name", "seconds", "found"} == set(body["steps"][0])
    assert set(CITATION.split()) <= set(body["citations"][0])
    assert schema_of(AskResponse).model_validate(body).model_dump(mode="json") == body


async def test_spans_point_at_what_they_say(client: httpx.AsyncClient, kb: KnowledgeBase) -> None:
    body = (await ask(client, question=FERRY_QUESTION, topicId="town")).json()
    for sentence in body["sentences"]:
        assert body["answer"][sentence["start"] : sentence["end"]] == sentence["text"]
    for citation in body["citations"]:
        document = kb.catalogue.document(citation["documentId"])
        assert document is not None
        span = citation["sourceSpan"]
        assert document.text[span["start"] : span["end"]] == citation["quote"]


async def test_a_topic_is_a_hard_border(client: httpx.AsyncClient) -> None:
    body = (await ask(client, question=FERRY_QUESTION, topicId="nature")).json()
    assert all(citation["title"] != "The ferry" for citation in body["citations"])
    assert "2.6 million" not in body["answer"]


async def test_options_limit_the_question(client: httpx.AsyncClient) -> None:
    question = "When will the boathouse roof be repaired?"
    found = (await ask(client, question=question, options={"speakers": ["Ben"]})).json()
    assert {citation["kind"] for citation in found["citations"]} == {"transcript"}
    window = {"from": "2025", "to": "2025-10-14"}
    nothing = (await ask(client, question=question, options={"timeWindow": window})).json()
    assert nothing["citations"] == []
    assert nothing["answeredBy"] == "none"


def test_a_request_becomes_the_question_it_says() -> None:
    request = AskRequest.model_validate(
        {
            "question": "  Why? ",
            "topicId": "town",
            "options": {
                "timeWindow": {"from": "2025-02", "to": "2025-02"},
                "kinds": ["paper", "qa"],
                "speakers": ["Ana"],
                "strict": True,
            },
            "mode": "deep",
            "sessionId": "s1",
        }
    )
    assert ask_module.question_of(request) == Question(
        text="Why?",
        filters=Filters(
            collections=("town",),
            kinds=("paper", "qa"),
            speakers=("Ana",),
            published_from=datetime(2025, 2, 1, tzinfo=UTC),
            published_to=datetime(2025, 3, 1, tzinfo=UTC) - timedelta(microseconds=1),
        ),
        mode="deep",
        session_id="s1",
        strict=True,
    )
    bare = AskRequest.model_validate({"question": "Why?"})
    assert ask_module.question_of(bare) == Question(text="Why?")


async def test_a_stream_tells_steps_and_sentences_and_ends_with_the_answer(
    client: httpx.AsyncClient,
) -> None:
    response = await ask(client, question=FERRY_QUESTION, stream=True)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [(name, data) for _, name, data in events_in(response.text)]
    names = [name for name, _ in events]
    assert names[0] == "step"
    assert "sentence" in names
    assert names.count("final") == 1
    assert names[-1] == "final"
    final = events[-1][1]
    assert schema_of(AskResponse).model_validate(final)
    assert "2.6 million euros" in final["answer"]
    told = [body for name, body in events if name == "sentence"]
    assert [body["text"] for body in told] == [sentence["text"] for sentence in final["sentences"]]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 400, "bad_request"),
        ({"question": ""}, 400, "bad_request"),
        ({"question": " \n"}, 400, "bad_request"),
        ({"question": None}, 400, "bad_request"),
        ({"question": 7}, 400, "bad_request"),
        ({"question": "long " * 2_000}, 400, "bad_request"),
        ({"question": "x", "mode": "slow"}, 400, "bad_request"),
        ({"question": "x", "sesionId": "typo"}, 400, "bad_request"),
        ({"question": "x", "options": {"maxClusters": 0}}, 400, "bad_request"),
        ({"question": "x", "options": {"timeWindow": {"from": "soon"}}}, 400, "bad_request"),
        (
            {"question": "x", "options": {"timeWindow": {"from": "2025", "to": "2024"}}},
            400,
            "bad_request",
        ),
        ({"question": "x", "topicId": "atlantis"}, 404, "unknown_topic"),
    ],
)
async def test_a_bad_request_is_refused_before_anything_is_streamed(
    client: httpx.AsyncClient, body: dict[str, object], status: int, error: str
) -> None:
    response = await ask(client, **body, stream=True)
    assert response.status_code == status
    problem = response.json()
    assert set(problem) == {"error", "detail", "hint"}
    assert problem["error"] == error
    assert all(isinstance(value, str) for value in problem.values())
    assert problem["detail"]
    assert problem["hint"]


def failing(error: Exception, *, late: bool) -> Any:
    async def answer(
        _kb: KnowledgeBase, _question: Question, **_options: object
    ) -> AsyncIterator[Event]:
        if late:
            yield StepEvent(step=Step(name="analysis", seconds=0.0))
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (ModelTimeoutError("the model took 120 s", hint="try again"), 504, "model_timeout"),
        (ZeroDivisionError("a secret path"), 500, "internal"),
    ],
)
async def test_a_failure_is_a_status_or_the_last_event(
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    name: str,
) -> None:
    monkeypatch.setattr(ask_module, "answer_in_mode", failing(error, late=False))
    response = await ask(client, question="x", stream=True)
    assert response.status_code == status
    assert response.json()["error"] == name
    monkeypatch.setattr(ask_module, "answer_in_mode", failing(error, late=True))
    response = await ask(client, question="x")
    assert response.status_code == status
    assert response.json()["error"] == name
    response = await ask(client, question="x", stream=True)
    assert response.status_code == 200
    events = [(name, data) for _, name, data in events_in(response.text)]
    assert [event for event, _ in events] == ["step", "error"]
    assert set(events[-1][1]) == {"error", "detail", "hint"}
    assert events[-1][1]["error"] == name
    assert "a secret path" not in response.text
    if status == 500:
        assert "failed in the middle of a stream" in caplog.text


async def test_a_deep_question_is_a_research_run(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    asked = {"question": "Everything about the ferry Osprey", "mode": "deep", "stream": True}
    events = events_in((await ask(client, **asked)).text)
    assert {name for _, name, _ in events} == {"step", "sentence", "final"}
    assert (events[-1][1], events[-1][2]["mode"]) == ("final", "deep")
    (run,) = kb.catalogue.research.newest(None, 9)
    assert (run.state, run.answer_id) == ("done", events[-1][2]["id"])


async def test_a_deep_question_that_is_left_leaves_no_run(kb: KnowledgeBase) -> None:
    asked = Question(text="Everything about the ferry Osprey", mode="deep")
    events = answer_in_mode(kb, asked)
    assert isinstance(await anext(events), StepEvent)
    await events.aclose()
    assert kb.catalogue.research.newest(None, 9) == []
