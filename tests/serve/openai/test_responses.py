"""The Responses interface: the object, its events in order, and going on after a response."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.serve.openai.conftest import COST, assistant, events_of, user

from wellread.kb import KnowledgeBase

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


async def respond(client: httpx.AsyncClient, given: Any, **fields: Any) -> httpx.Response:
    body = {"model": "wellread", "input": given, **fields}
    return await client.post("/v1/responses", json=body)


async def test_a_response_has_openai_s_form_and_the_proof_beside_it(
    client: httpx.AsyncClient,
) -> None:
    told = {"instructions": "Be short.", "metadata": {"a": "b"}}
    body = (await respond(client, COST, **told)).json()
    read = Response.model_validate(body, strict=True)
    assert "2.6 million euros" in read.output_text
    assert (read.status, read.error, read.metadata) == ("completed", None, {"a": "b"})
    assert read.instructions == "Be short."
    assert body["wellread"]["ignored"] == ["instructions"]
    assert body["id"] == f"resp_{body['wellread']['answer_id']}"
    (part,) = body["output"][0]["content"]
    for one, url in zip(part["annotations"], body["citations"], strict=True):
        cut = part["text"][one["start_index"] : one["end_index"]]
        assert cut == f"[\\[{body['citations'].index(url) + 1}\\]]({url})"
        assert one["url"] == url
    assert part["annotations"]


async def test_the_events_come_in_order_and_end_with_the_response(
    client: httpx.AsyncClient,
) -> None:
    whole = (await respond(client, COST)).json()
    events = events_of((await respond(client, COST, stream=True)).text)
    for event in events:
        EVENT.validate_python(event, strict=True)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert list(dict.fromkeys(kinds)) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    deltas = "".join(one["delta"] for one in events if one["type"].endswith("text.delta"))
    (done,) = [one for one in events if one["type"] == "response.output_text.done"]
    last = events[-1]["response"]
    assert deltas == done["text"] == last["output"][0]["content"][0]["text"]
    added = [one["annotation"] for one in events if one["type"].endswith("annotation.added")]
    assert added == whole["output"][0]["content"][0]["annotations"]
    assert len({one["response"]["id"] for one in events if "response" in one}) == 1
    assert last["wellread"]["verdicts"] == whole["wellread"]["verdicts"]


@pytest.mark.parametrize("stream", [False, True])
async def test_previous_response_id_goes_on_in_its_session(
    client: httpx.AsyncClient, stream: bool
) -> None:
    first = (await respond(client, "What does the ferry Osprey carry?")).json()
    given = "And when does it leave the harbour?"
    reply = await respond(client, given, previous_response_id=first["id"], stream=stream)
    body = events_of(reply.text)[-1]["response"] if stream else reply.json()
    assert body["previous_response_id"] == first["id"]
    assert "Osprey" in body["wellread"]["standalone"]
    assert body["wellread"]["session_id"] == first["wellread"]["session_id"]


async def test_a_response_that_is_not_the_last_is_gone_on_from_where_it_was(
    client: httpx.AsyncClient,
) -> None:
    first = (await respond(client, "What is the ferry Osprey?")).json()
    second = "What do seagrass meadows store?"
    await respond(client, second, previous_response_id=first["id"])
    third = (await respond(client, "When does it leave?", previous_response_id=first["id"])).json()
    assert "Osprey" in third["wellread"]["standalone"]


async def test_items_are_the_conversation(client: httpx.AsyncClient) -> None:
    said = [
        {"type": "message", **user("What is the ferry Osprey?")},
        {**assistant(""), "content": [{"type": "output_text", "text": "A boat."}]},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
        {"role": "user", "content": [{"type": "input_text", "text": "When does it leave?"}]},
    ]
    body = (await respond(client, said)).json()
    assert "Osprey" in body["wellread"]["standalone"]
    assert body["wellread"]["ignored"] == ["input[2] (function_call_output)"]


async def test_what_may_not_be_kept_cannot_be_gone_on_from(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    kept = (await respond(client, "What is the ferry Osprey?")).json()
    given = "When does it leave?"
    body = (await respond(client, given, store=False, previous_response_id=kept["id"])).json()
    assert body["store"] is False
    assert "Osprey" in body["wellread"]["standalone"]
    assert [one.id for one in kb.catalogue.answers()] == [kept["wellread"]["answer_id"]]
    again = await respond(client, "And on Sundays?", previous_response_id=body["id"])
    assert again.status_code == 400
    error = again.json()["error"]
    assert (error["param"], error["code"]) == (
        "previous_response_id",
        "previous_response_not_found",
    )


@pytest.mark.parametrize("unknown", ["resp_nothing", "resp_", "resp_ans_", "ans_1"])
async def test_an_unknown_previous_response_is_refused(
    client: httpx.AsyncClient, unknown: str
) -> None:
    await respond(client, COST)
    reply = await respond(client, "And then?", previous_response_id=unknown)
    assert reply.status_code == 400
    assert unknown in reply.json()["error"]["message"]
