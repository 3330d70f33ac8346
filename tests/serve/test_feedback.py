"""Feedback on answers: by REST, on the page, on the command line, as files and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from wellread.ask.answer import answer, final
from wellread.identity import sentence_hash, words_hash
from wellread.ingest.remove import remove_collection
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import (
    as_input,
    as_jsonl,
    feedback_of,
    give_feedback,
    import_feedback,
)
from wellread.serve.cli import app
from wellread.types import Filters
from wellread.values.answers import Answer, Question

WORDS = "carries ninety passengers"


@pytest.fixture
async def asked(kb: KnowledgeBase) -> Answer:
    question = Question(
        text="What did the ferry Osprey cost?", filters=Filters(collections=("town",))
    )
    found = await final(answer(kb, question))
    assert found.sentences
    assert found.citations
    return found


@pytest.fixture
def place(asked: Answer) -> str:
    return f"/api/answers/{asked.id}/feedback"


def harmful(kb: KnowledgeBase) -> set[str]:
    return {each for marked in kb.catalogue.feedback.harmful_by().values() for each in marked}


async def document_of(client: httpx.AsyncClient, ending: str) -> str:
    listed = (await client.get("/api/documents")).json()["documents"]
    return str(next(one["documentId"] for one in listed if one["uri"].endswith(ending)))


async def test_five_different_things(client: httpx.AsyncClient, place: str) -> None:
    start = {"comment": "read it", "sentences": [{"sentence": 0, "score": 40}]}
    assert (await client.put(place, json={**start, "score": 70})).status_code == 200

    async def after(change: dict[str, Any]) -> str:
        reply = await client.patch(place, json=change)
        assert reply.status_code == 200, reply.text
        assert (await client.get(place)).json() == reply.json()
        return json.dumps(reply.json()["score"])

    assert await after({"score": 0}) == "0"
    assert await after({"score": 0.0}) == "0.0"
    assert await after({}) == "0.0"
    assert await after({"score": None}) == "null"
    refused = await client.patch(place, json={"score": ""})
    assert refused.status_code == 400
    for score in ("0", "0.0"):
        change = f'{{"sentences": [{{"sentence": 0, "score": {score}}}]}}'
        reply = await client.patch(
            place, content=change, headers={"content-type": "application/json"}
        )
        assert json.dumps(reply.json()["sentences"][0]["score"]) == score
        assert reply.json()["comment"] == "read it"
    reply = await client.patch(place, json={"sentences": [{"sentence": 0, "harmful": False}]})
    assert json.dumps(reply.json()["sentences"][0]["score"]) == "0.0"
    assert reply.json()["sentences"][0]["harmful"] is False
    gone = {"sentences": [{"sentence": 0, "score": None, "harmful": None}]}
    assert (await client.patch(place, json=gone)).json()["sentences"] == []


@pytest.mark.parametrize(
    "bad",
    [
        {"score": 101},
        {"score": -0.1},
        {"score": True},
        {"author": "eve", "score": 5},
        {"owner": "eve", "score": 5},
        {"sentences": [{"sentence": 99, "score": 5}]},
        {"sentences": [{"sentence": 0, "score": 5}, {"sentence": 0, "score": 6}]},
        {},
    ],
)
async def test_what_is_refused(client: httpx.AsyncClient, place: str, bad: dict[str, Any]) -> None:
    assert (await client.put(place, json=bad)).status_code == 400
    assert (await client.get(place)).status_code == 404


async def test_a_sentence_that_is_rated_anew_is_no_longer_harmful(
    client: httpx.AsyncClient, kb: KnowledgeBase, asked: Answer, place: str
) -> None:
    bad = {"sentence": 0, "score": 10}
    await client.put(place, json={"sentences": [{**bad, "harmful": True}]})
    assert harmful(kb) == {sentence_hash(asked.sentences[0].text)}
    await client.put(place, json={"sentences": [bad]})
    assert harmful(kb) == set()


async def test_a_better_citation_is_looked_up(
    client: httpx.AsyncClient, kb: KnowledgeBase, asked: Answer, place: str
) -> None:
    known = await document_of(client, "ferry.md")
    text = kb.catalogue.document(known)
    assert text is not None
    start = text.text.index(WORDS)
    by_words = {"citations": [{"documentId": known, "words": WORDS}]}
    by_place = {"citations": [{"documentId": known, "start": start, "end": start + len(WORDS)}]}
    for given_so in (by_words, by_place):
        (cited,) = (await client.put(place, json=given_so)).json()["citations"]
        assert cited["span"] == {"start": start, "end": start + len(WORDS)}
        assert cited["content"] == words_hash(WORDS)
    for wrong in (
        {"documentId": known, "words": "carries ninety elephants"},
        {"documentId": known, "words": "leaves"},
        {"documentId": known, "start": 0, "end": 10**6},
        {"documentId": known, "start": 5, "end": 5},
    ):
        assert (await client.put(place, json={"citations": [wrong]})).status_code == 400
    gone = {"citations": [{"documentId": "doc_0", "start": 0, "end": 4}]}
    assert (await client.put(place, json=gone)).status_code == 404


async def test_a_bad_answer_files_one_gap(
    client: httpx.AsyncClient, kb: KnowledgeBase, asked: Answer, place: str
) -> None:
    await client.put(place, json={"score": 50})
    assert kb.catalogue.gaps() == []
    await client.patch(place, json={"score": 49.5, "comment": "too short"})
    await client.patch(place, json={"score": 20})
    (gap,) = kb.catalogue.gaps()
    assert (gap.question, gap.reason, gap.answer_id) == (asked.question, "too short", asked.id)
    assert (gap.kind, gap.asked) == ("badly_rated", 1)


async def test_removed_words_leave_it(
    client: httpx.AsyncClient, kb: KnowledgeBase, asked: Answer, home: Path, place: str
) -> None:
    said = "The ferry Osprey was bought for 2.6 million euros in 2021"
    sentence = {"sentence": 0, "explanation": f"It says: {said}."}
    given_so = {
        "comment": f"See {said}.",
        "correction": f"{said}, I think",
        "sentences": [sentence],
    }
    await client.put(place, json=given_so)
    remove_collection(kb, "town")
    kept = (await client.get(place)).text
    assert "million euros" not in kept
    assert "I think" in kept
    for file in home.rglob("*"):
        if file.is_file():
            assert said.encode() not in file.read_bytes(), file


async def test_it_goes_with_its_conversation(
    client: httpx.AsyncClient, kb: KnowledgeBase, asked: Answer, place: str
) -> None:
    await client.put(place, json={"score": 80, "sentences": [{"sentence": 0, "harmful": True}]})
    assert harmful(kb)
    kb.catalogue.sessions.remove(asked.session_id, "")
    assert kb.catalogue.feedback.count() == 0
    assert harmful(kb) == set()


SCORES = st.none() | st.integers(0, 100) | st.floats(0, 100)
TEXTS = st.text(max_size=20) | st.sampled_from(["=1+1", "'", "a\r\nb", "\r", '"', ",", " x "])
FLAGS = st.none() | st.booleans()


@given(score=SCORES, comment=TEXTS, correction=TEXTS, rated=SCORES, flags=st.tuples(FLAGS, FLAGS))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_lose_nothing(
    kb: KnowledgeBase,
    asked: Answer,
    score: Any,
    comment: str,
    correction: str,
    rated: Any,
    flags: tuple[bool | None, ...],
) -> None:
    known = asked.citations[0].document_id
    names = ("harmful", "content_issue")
    rating = {
        "sentence": 0,
        "score": rated,
        "explanation": comment,
        **dict(zip(names, flags, strict=True)),
    }
    cited = {"document_id": known, "words": WORDS}
    said = {"score": score, "comment": comment, "correction": correction, "citations": [cited]}
    kept = give_feedback(
        kb,
        asked.id,
        {**said, "sentences": [{**rating, "citation": cited}]},
        author="",
        replace_all=True,
    )
    written = as_jsonl([kept])
    kb.catalogue.feedback.remove(kept.id)
    assert import_feedback(kb, written, author="").refused == ()
    back = feedback_of(kb, asked.id, "")
    assert back is not None
    assert repr(as_input(back)) == repr(as_input(kept))


async def test_lines_are_refused_one_by_one(kb: KnowledgeBase, asked: Answer) -> None:
    lines = [
        {"answer_id": "ans_elsewhere", "score": 3},
        {"answer_id": asked.id, "score": 0, "by": "Dr Rao", "author": "eve"},
        {"question": "Why?", "answer": "Because."},
        {"answer_id": asked.id, "score": 9},
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines) + "{\n"
    found = import_feedback(kb, text, author="")
    assert found.answers == (asked.id,)
    assert [one.line for one in found.refused] == [1, 3, 4, 5]
    assert "wellread add" in found.refused[1].reason
    kept = feedback_of(kb, asked.id, "")
    assert kept is not None
    assert (repr(kept.score), kept.by, kept.author) == ("0", "Dr Rao", "")


def test_on_the_command_line(
    runner: CliRunner, kb: KnowledgeBase, asked: Answer, tmp_path: Path
) -> None:
    def told(*words: str, status: int = 0) -> str:
        found = runner.invoke(app, ["feedback", *words])
        assert found.exit_code == status, found.output
        return found.output

    told("last", "--score", "40", "--comment", "Half of it.")
    shown = told(asked.id)
    assert "score: 40\nComment: Half of it." in shown
    assert "40" in told()
    file = tmp_path / "all.jsonl"
    file.write_text(told("export"), encoding="utf-8")
    told(asked.id, "--remove")
    told(asked.id, status=1)
    told("import", str(file))
    assert told(asked.id) == shown
    told("last", "--score", "ten", status=2)
