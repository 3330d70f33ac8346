"""How an answer was found: as JSON, and in a stream."""

from __future__ import annotations

import httpx
from tests.serve.conftest import events_in, schema_of

from wellread.kb import KnowledgeBase
from wellread.serve.features.answer_forms import ExplainedResponse, Explanation
from wellread.serve.features.answering import AskResponse

QUESTION = "How much was the ferry Osprey bought for?"


async def ask(client: httpx.AsyncClient, text: str, **fields: object) -> httpx.Response:
    body = {"question": text, "options": {"explain": True}, **fields}
    return await client.post("/api/ask", json=body)


async def test_the_explanation_says_how_each_passage_was_found(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    response = await ask(client, QUESTION, topicId="town")
    assert response.status_code == 200
    body = schema_of(ExplainedResponse).model_validate(response.json())
    assert body.model_dump(mode="json") == response.json()
    why = response.json()["explanation"]
    assert why["analysis"]["type"] == "factual"
    assert why["analysis"]["reasons"]
    assert why["strategy"] == "direct retrieval"
    best = why["used"][0]
    assert best["title"] == "The ferry"
    assert {place["name"] for place in best["ranks"]} == {"text", "vector", "closeness"}
    assert set(kb.catalogue.live_passages([best["passageId"]])) == {best["passageId"]}
    scores = [used["score"] for used in why["used"]]
    assert scores[0] == max(scores)


async def test_in_a_stream_it_comes_just_before_the_answer(client: httpx.AsyncClient) -> None:
    response = await ask(client, QUESTION, topicId="town", stream=True)
    events = [(name, data) for _, name, data in events_in(response.text)]
    assert [name for name, _ in events[-2:]] == ["explanation", "final"]
    assert [name for name, _ in events].count("explanation") == 1
    assert schema_of(Explanation).model_validate(events[-2][1])
    assert events[-2][1]["used"][0]["title"] == "The ferry"
    assert schema_of(AskResponse).model_validate(events[-1][1])
