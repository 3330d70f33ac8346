"""From a question to a checked answer, over real stores: extractive, by a model, and refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.answer import answer, final
from wellread.ask.deliver.cite import relevances
from wellread.ask.retrieve.search import search
from wellread.errors import ModelError, UnknownCollectionError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters
from wellread.values.answers import (
    Answer,
    FinalEvent,
    Question,
    SentenceEvent,
    StepEvent,
    TokenEvent,
)

FERRY = """# The ferry

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.

## Timetable

The ferry leaves the harbour at six every morning. On Sundays it leaves at nine.
"""
LIBRARY = """# Tool library

The tool library lends ladders and drills to every member for two weeks.
"""
# The readable embedder puts a question and its answer further apart than a real model does.
LENIENT: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.1}}
PAST = '{"question": "When does the ferry leave?", "answer": "The ferry leaves at noon."}\n'


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home that each test gets a copy of."""
    root = tmp_path_factory.mktemp("answer")
    folder = root / "material"
    folder.mkdir()
    (folder / "ferry.md").write_text(FERRY, encoding="utf-8")
    (folder / "past.jsonl").write_text(PAST, encoding="utf-8")
    (root / "library.md").write_text(LIBRARY, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)], collection="town")
        add(kb, [str(root / "library.md")], collection="tools")
    return root / "home"


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "home"))


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with open_kb(home, overrides=LENIENT, embedder=ReadableEmbedder()) as opened:
        yield opened


def with_model(home: Path, *replies: str | Exception) -> tuple[KnowledgeBase, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return open_kb(home, overrides=LENIENT, embedder=ReadableEmbedder(), model=model), model


async def ask(kb: KnowledgeBase, text: str, **fields: object) -> Answer:
    filters = fields.get("filters", Filters())
    assert isinstance(filters, Filters)
    strict = bool(fields.get("strict", False))
    return await final(answer(kb, Question(text=text, filters=filters, strict=strict)))


def check_consistent(kb: KnowledgeBase, given: Answer) -> None:
    """What holds for every answer: spans, quotes and numbers say the same thing."""
    for sentence in given.sentences:
        assert sentence.span.of(given.text) == sentence.text
    for number, citation in enumerate(given.citations, 1):
        assert citation.id == number
        (stored,) = kb.catalogue.texts([(citation.document_id, citation.source_span)])
        assert citation.quote == stored
        assert f"[{number}]" in given.text
    cited = {number for sentence in given.sentences for number in sentence.citations}
    assert cited == {citation.id for citation in given.citations}


async def test_an_extracted_answer_is_verbatim_and_cited(kb: KnowledgeBase) -> None:
    given = await ask(kb, "How much was paid for the ferry Osprey?")
    assert given.answered_by == "extractive"
    marked = [one.text for one in given.sentences if one.marked]
    assert marked[0] == "The ferry Osprey was bought for 2.6 million euros in 2021."
    assert given.text.count("[1]") == 1
    assert {sentence.verdict.name for sentence in given.sentences} == {"quoted"}
    assert all(sentence.citations for sentence in given.sentences)
    assert given.citations[0].locator.heading == ("The ferry",)
    check_consistent(kb, given)


async def test_events_come_in_order_and_the_answer_is_last(kb: KnowledgeBase) -> None:
    events = [event async for event in answer(kb, Question(text="When does the ferry leave?"))]
    steps = [event.step.name for event in events if isinstance(event, StepEvent)]
    assert steps == ["analysis", "retrieval", "evidence", "extracts", "citation"]
    last = events[-1]
    assert isinstance(last, FinalEvent)
    told = [event.sentence for event in events if isinstance(event, SentenceEvent)]
    assert tuple(told) == last.answer.sentences != ()


async def test_a_question_the_material_does_not_answer_is_declined(kb: KnowledgeBase) -> None:
    given = await ask(kb, "Which composer wrote the Magic Flute?")
    assert (given.answered_by, given.citations, given.sentences) == ("none", (), ())
    assert given.confidence.band == "none"
    assert given.data_gaps
    assert [gap.question for gap in kb.catalogue.gaps()] == [given.question]


async def test_past_answers_are_no_evidence_unless_asked_for(kb: KnowledgeBase) -> None:
    given = await ask(kb, "When does the ferry leave the harbour?")
    assert "noon" not in given.text
    asked = await ask(kb, "When does the ferry leave the harbour?", filters=Filters(kinds=("qa",)))
    assert {citation.kind for citation in asked.citations} <= {"qa"}


async def test_collections_are_a_hard_border(kb: KnowledgeBase) -> None:
    given = await ask(kb, "Who lends ladders and drills?", filters=Filters(collections=("town",)))
    assert given.answered_by == "none"
    with pytest.raises(UnknownCollectionError, match="no collection named 'moon'"):
        await ask(kb, "Anything?", filters=Filters(collections=("moon",)))


async def test_a_model_s_answer_is_checked_like_any_other(home: Path) -> None:
    reply = (
        "The Osprey cost 2.6 million euros [e1]. She was bought in 1887 [e1]. It is blue [e9].\n"
        '---\n{"confidence": 0.9, "data_gaps": ["the colour"],'
        ' "relevance": {"e1": "It tells what she cost.", "e9": "It is unknown."}}'
    )
    kb, model = with_model(home, reply)
    with kb:
        given = await ask(kb, "What did the ferry Osprey cost?")
        check_consistent(kb, given)
    assert given.answered_by == "scripted:model"
    names = [sentence.verdict.name for sentence in given.sentences]
    assert names[1] == "partial"
    assert "1887" in given.sentences[1].verdict.reason
    assert names[2] == "uncited"
    assert given.hallucinated_citations == 1
    assert given.confidence.model_claim == 0.9
    assert "the colour" in given.data_gaps
    assert {one.why for one in given.citations} == {"It tells what she cost."}
    assert all(why.startswith("It tells what she cost") for why in relevances(given).values())
    assert given.usage.output_tokens > 0
    assert "[e" not in given.text
    assert "Osprey was bought" in model.prompts[0].user


async def test_a_model_streams_and_its_tail_is_not_shown(home: Path) -> None:
    kb, _ = with_model(home, 'The Osprey cost 2.6 million euros [e1].\n---\n{"confidence": 0.5}')
    with kb:
        events = [
            event
            async for event in answer(kb, Question(text="How much was paid for the ferry Osprey?"))
        ]
    shown = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert shown == "The Osprey cost 2.6 million euros [e1]."


async def test_a_model_that_fails_is_replaced_and_the_answer_says_so(home: Path) -> None:
    kb, _ = with_model(home, ModelError("the server is on fire"))
    with kb:
        given = await ask(kb, "How much was paid for the ferry Osprey?")
    assert given.answered_by == "extractive"
    assert "the server is on fire" in given.fallback
    assert "2.6 million" in given.text


async def test_a_model_that_answers_from_nowhere_is_declined(home: Path) -> None:
    kb, _ = with_model(home, "Mozart wrote several operas in Vienna.")
    with kb:
        given = await ask(kb, "What did the ferry Osprey cost?")
    assert given.answered_by == "none"
    assert "Mozart" not in given.text


def test_search_explains_itself_and_drops_what_is_not_live(kb: KnowledgeBase) -> None:
    hits = search(kb, "ferry timetable on Sundays", Filters(collections=("town",)))
    assert {place.name for hit in hits for place in hit.ranks} == {"text", "vector", "closeness"}
    victim = hits[0].passage.document_id
    kb.catalogue.remove_documents([victim])  # the index still has its rows
    left = search(kb, "ferry timetable on Sundays", Filters())
    assert victim not in {hit.passage.document_id for hit in left}


async def test_a_reader_that_fails_shows_in_the_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wellread.models.trained_reader.FILE", "gone.onnx")
    with open_kb(home, overrides=LENIENT, embedder=ReadableEmbedder()) as kb:
        given = await ask(kb, "When does the ferry leave the harbour?")
        assert given.answered_by == "extractive"
        assert all(each.verdict.name.whole for each in given.sentences)
        assert "the passage reader failed; extracts were chosen without it" in given.failures[0]
        assert "gone.onnx" in given.failures[0]
