"""Past questions beside an answer that no model wrote: by command, REST and page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import client_of

from wellread.ask.answer import answer, final
from wellread.identity import sentence_hash
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app
from wellread.store.schema.stored_values import Feedback, SentenceRating
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.values.answers import Question

KEPT = "A drill can be kept for seven days."
RULES = f"# Rules\n\n{KEPT} Saws are lent to members only.\n"
ASKED = "How many days can a drill from the tool library be kept?"
TURNED = "How many days can a drill from the tool library not be kept?"
SURE = {"qa": {"confidence_threshold": 0}}


def past(question: str, answered: str, **fields: Any) -> str:
    record = {
        "question": question,
        "answer": answered,
        "citation_url": "https://library.example/rules",
        "language": "en",
        "feedback": {"score": 60, "sentences": [{"score": 60, "explanation": "Say more."}]},
    }
    return json.dumps(record | fields)


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    """Rules, and past questions in their collection and in another."""
    files, other = tmp_path / "files", tmp_path / "other"
    files.mkdir()
    other.mkdir()
    (files / "rules.md").write_text(RULES, encoding="utf-8")
    wrong = {"score": 5, "sentences": [{"explanation": "It is a week.", "content_issue": True}]}
    condemned = past(TURNED, "More than a week.", feedback=wrong)
    lines = [past(ASKED, "A week. " + "word " * 200), condemned]
    (files / "asked.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (other / "asked.jsonl").write_text(past(ASKED, "It is secret."), encoding="utf-8")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(files)], collection="library")
        add(kb, [str(other)], collection="elsewhere")
    return home


@pytest.fixture
def kb(filled: Path) -> Any:
    with open_kb(filled, overrides=SURE, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
async def client(kb: KnowledgeBase) -> AsyncIterator[httpx.AsyncClient]:
    async with reaching(kb) as opened:
        yield opened


def reaching(kb: KnowledgeBase) -> httpx.AsyncClient:
    return client_of(create_app(kb))


async def told(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    asked = {"question": ASKED, "topicId": "library", **fields}
    response = await client.post("/api/ask", json=asked)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


async def judged(kb: KnowledgeBase, question: str = ASKED, **said: Any) -> str:
    """The id of a new answer that an expert said something about."""
    asked = Question(text=question, fresh=True)
    answered = await final(answer(kb, asked))
    now = datetime(2026, 3, 4, tzinfo=UTC)
    given = Feedback(
        id=f"fbk_{answered.id}",
        answer_id=answered.id,
        author="mara",
        question=question,
        created_at=now,
        updated_at=now,
        **said,
    )
    kb.catalogue.feedback.put(given)
    return answered.id


async def test_an_extracted_answer_has_them_and_says_which_are_the_same(
    client: httpx.AsyncClient,
) -> None:
    body = await told(client)
    assert body["answeredBy"] == "extractive"
    first, second = body["similar"]
    assert (first["question"], first["verified"]) == (ASKED, True)
    assert (second["question"], second["verified"]) == (TURNED, False)
    assert (first["correction"], second["correction"]) == ("", "It is a week.")
    assert (first["score"], first["expired"], first["answerId"]) == (60, "", "")
    assert first["documentId"].startswith("doc_")
    assert first["link"] == "https://library.example/rules"
    assert first["answer"].endswith("word…")
    assert len(first["answer"]) <= 401


async def test_a_collection_is_a_border_and_another_limit_shows_none(
    client: httpx.AsyncClient,
) -> None:
    assert "secret" not in json.dumps((await told(client))["similar"])
    everywhere = await client.post("/api/ask", json={"question": ASKED})
    assert "secret" in json.dumps(everywhere.json()["similar"])
    assert (await told(client, options={"kinds": ["page"]}))["similar"] == []


async def test_a_model_that_writes_is_told_of_them_instead(filled: Path) -> None:
    model = ScriptedModel(["A drill can be kept for seven days [e1]."])
    with open_kb(filled, overrides=SURE, embedder=ReadableEmbedder(), model=model) as kb:
        async with reaching(kb) as client:
            body = await told(client)
    assert body["answeredBy"] not in ("extractive", "none")
    assert body["similar"] == []


async def test_what_is_flagged_is_left_out(kb: KnowledgeBase) -> None:
    said = sentence_hash(KEPT)
    rating = SentenceRating(sentence=0, content=said, harmful=True)
    known = await judged(kb, TURNED, sentences=(rating,))
    async with reaching(kb) as client:
        similar = (await told(client))["similar"]
    [one] = [each for each in similar if each["answerId"] == known]
    assert KEPT not in json.dumps(similar)
    assert "left out: an expert flagged it as harmful" in one["answer"]


async def test_what_a_file_of_past_questions_calls_harmful_is_left_out(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    said = {"score": 10, "sentences": [{"explanation": "No."}, {"harmful": True}]}
    line = past(ASKED, "Ask first. Keep it for ever.", feedback=said)
    (tmp_path / "bad.jsonl").write_text(line, encoding="utf-8")
    add(kb, [str(tmp_path / "bad.jsonl")], collection="bad")
    async with reaching(kb) as client:
        similar = (await client.post("/api/ask", json={"question": ASKED})).json()["similar"]
    [one] = [each for each in similar if each["score"] == 10]
    assert one["answer"] == "Ask first. [left out: an expert flagged it as harmful]"


async def test_an_expired_one_is_shown_as_expired_and_never_as_verified(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    known = await judged(kb, score=20)
    (tmp_path / "files" / "rules.md").write_text(
        "# Rules\n\nNo drill is lent now. A drill can be kept for nine days.\n", encoding="utf-8"
    )
    add(kb, [str(tmp_path / "files")], collection="library")
    async with reaching(kb) as client:
        similar = (await client.post("/api/ask", json={"question": ASKED})).json()["similar"]
    [one] = [each for each in similar if each["answerId"] == known]
    assert one["expired"]
    assert one["verified"] is False


async def test_the_page_shows_them_and_not_the_answer_itself(kb: KnowledgeBase) -> None:
    known = await judged(kb, score=20)
    async with reaching(kb) as client:
        own = (await client.get(f"/answers/{known}", headers={"accept": "text/html"})).text
        body = await told(client)
        other = (await client.get(f"/answers/{body['id']}", headers={"accept": "text/html"})).text
    assert '<section aria-label="Asked before">' in own
    assert "similar, not verified; rated 5 of 100" in own
    block = own.split('<section aria-label="Asked before">')[1].split("</section>")[0]
    assert f"/answers/{known}" not in block
    assert "verified: the same question" in other
