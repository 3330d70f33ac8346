"""Past questions like a new one: which are found, how a prompt shows them, when they expire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.past_questions import (
    Comparison,
    SimilarityCriteria,
    SimilarQuestion,
    formatted,
    is_same_question,
    similar_questions,
)
from wellread.errors import UnknownCollectionError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import DocumentFacts, PastQuestion, SentenceFeedback
from wellread.values.answers import Question

RULES = """# Lending rules

Membership costs 24 euros a year. A drill can be kept for seven days.
"""


def past(question: str, **fields: Any) -> str:
    record = {
        "question": question,
        "answer": "Membership costs 24 euros a year.",
        "citation_url": "https://library.example/rules",
        "language": "en",
        "feedback": {"score": 80, "sentences": [{"score": 80, "explanation": "Right."}]},
    }
    return json.dumps(record | fields)


QUESTIONS = [
    past("What does membership of the tool library cost?"),
    past(
        "How much does membership of the tool library cost?",
        feedback={"score": 40, "sentences": [{"score": 40, "explanation": "Say a year."}]},
    ),
    past("Tool library membership: what is the cost?", feedback={"score": 60}),
    past(
        "What does it cost?",
        flow=["Can I join the tool library as a member?"],
        feedback={"score": 50},
    ),
    past("Was kostet die Mitgliedschaft?", language="de"),
    past("What does membership cost in the tool library?", feedback={"sentences": []}),
    past("Membership of the tool library, cost?", answer=""),
    past("When does the ferry leave the harbour?"),
]


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    """Two collections: the library with its past questions, and another with one like them."""
    line = past("What does membership of the tool library cost?", answer="It is secret.")
    library = {"rules.md": RULES, "asked.jsonl": "\n".join(QUESTIONS)}
    return make_home(library=library, elsewhere={"asked.jsonl": line})


ASKED = "What does membership of the tool library cost?"
ASK = {"qa": {"confidence_threshold": 0}}
NEAR = SimilarityCriteria(threshold=0.7, most=10, collections=("library",))


def questions(found: list[SimilarQuestion]) -> list[str]:
    return [one.past.question for one in found]


def test_a_question_is_compared_with_questions_not_with_answers(kb: KnowledgeBase) -> None:
    found = similar_questions(kb, ASKED, NEAR)
    assert questions(found)[0] == ASKED
    assert found[0].similarity == pytest.approx(1.0, abs=1e-4)
    assert "When does the ferry leave the harbour?" not in questions(found)
    assert not similar_questions(kb, "Membership costs 24 euros a year.", NEAR)


def test_a_past_follow_up_is_compared_in_words_of_its_own(kb: KnowledgeBase) -> None:
    found = similar_questions(kb, "What does it cost?", NEAR)
    assert "What does it cost?" not in questions(found), "its words alone say nothing"
    found = similar_questions(kb, "What does the tool library cost?", NEAR)
    assert "What does it cost?" in questions(found)


def test_a_collection_is_a_border(kb: KnowledgeBase) -> None:
    found = similar_questions(kb, ASKED, NEAR)
    assert {name for one in found for name in one.collections} == {"library"}
    assert "secret" not in formatted(kb, found)
    elsewhere = similar_questions(kb, ASKED, SimilarityCriteria(collections=("elsewhere",)))
    assert [one.past.answer for one in elsewhere] == ["It is secret."]
    with pytest.raises(UnknownCollectionError, match="nowhere"):
        similar_questions(kb, ASKED, SimilarityCriteria(collections=("nowhere",)))


@pytest.mark.parametrize(
    ("rating", "comparison", "scores"),
    [
        (None, "lt", {40, 50, 60, 80}),
        (50, "lt", {40}),
        (50, "lte", {40, 50}),
        (60, "eq", {60}),
        (0, "lt", set()),
        (100, "lte", {40, 50, 60, 80}),
    ],
)
def test_ratings_are_compared(
    kb: KnowledgeBase, rating: int | None, comparison: Comparison, scores: set[int]
) -> None:
    wanted = SimilarityCriteria(
        threshold=0.7, most=10, rating=rating, comparison=comparison, collections=("library",)
    )
    found = similar_questions(kb, ASKED, wanted)
    assert {one.past.score for one in found} == scores


# --- how a prompt shows them -----------------------------------------------------------------


def hit(expired: str = "", **fields: Any) -> SimilarQuestion:
    document = DocumentFacts(id="doc_1", version="v", collection="c", uri="u", kind="qa", title="t")
    given: dict[str, Any] = {"question": "How far?", "answer": "Two miles.", "score": 70}
    return SimilarQuestion(
        document=document, past=PastQuestion(**given | fields), similarity=0.9, expired=expired
    )


def test_every_part_is_shown_in_order(kb: KnowledgeBase) -> None:
    one = hit(
        flow=("Where is it?", "And the\nharbour?"),
        citation_url="https://a.example",
        expert_citation_url="https://b.example",
        sentences=(
            SentenceFeedback(score=90, explanation="Good."),
            SentenceFeedback(score=0, explanation="Wrong.", harmful=True, content_issue=True),
            SentenceFeedback(),
            SentenceFeedback(content_issue=True),
        ),
    )
    assert formatted(kb, [one]) == (
        "Q: How far?\n"
        "Flow: Where is it? | And the harbour?\n"
        "A: Two miles.\n"
        "Score: 70/100\n"
        "Feedback:\n"
        "- Sentence 1: 90/100; Good.\n"
        "- Sentence 2: 0/100; Wrong.; harmful: true; content issue: true\n"
        "- Sentence 4: content issue: true\n"
        "Citation: https://b.example"
    )


# --- where they are used ---------------------------------------------------------------------


async def test_a_model_is_shown_them_before_the_citation_rules(home: Path) -> None:
    model = ScriptedModel(["Membership costs 24 euros a year [e1]."])
    with open_kb(home, overrides=ASK, embedder=ReadableEmbedder(), model=model) as kb:
        await final(answer(kb, Question(text=ASKED)))
    user = model.prompts[0].user
    at = user.index("# Verified similar questions")
    assert at < user.index(f"Q: {ASKED}") < user.index("# Citations")
    assert "Score: 80/100" in user


def test_feedback_expires_when_its_source_changes(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    rules = files / "rules.md"
    rules.write_text(RULES, encoding="utf-8")
    asked = files / "asked.jsonl"
    lines = [
        past(ASKED, citation_url="rules.md"),
        past("What does it cost to join the tool library?", citation_url="https://gone.example"),
    ]
    asked.write_text("\n".join(lines), encoding="utf-8")
    wanted = SimilarityCriteria(threshold=0.5, most=1)
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(files)], collection="library")
        [fresh] = similar_questions(kb, ASKED, wanted)
        assert fresh.expired == ""
        rules.write_text(RULES.replace("24", "30"), encoding="utf-8")
        add(kb, [str(files)], collection="library")
        expired, other = similar_questions(kb, ASKED, wanted)
        assert expired.past.question == ASKED
        assert expired.expired.startswith("Lending rules has changed since the feedback (2")
        assert other.expired == "", "it does not take the place of one that counts"
        assert "24 euros a year" in formatted(kb, [expired, other])
        assert formatted(kb, [expired]) == ""
        asked.write_text("\n".join([lines[0].replace("Right.", "Right!"), lines[1]]), "utf-8")
        add(kb, [str(files)], collection="library")
        assert similar_questions(kb, ASKED, wanted)[0].expired == "", "the expert looked again"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I close an account?", "How can I close an account?"),
        ("How do I close an account?", "Is there a way to close an account?"),
        ("What does a kayak cost?", "How much does a kayak cost?"),
        ("How long may a kayak be rented?", "How long may kayaks be rented for?"),
        ("In Lima, where can I rent a kayak?", "Where can I rent a kayak in Lima?"),
        (
            "How do I move a file from the desk to the shelf?",
            "How can I move a file to the shelf from the desk?",
        ),
    ],
)
def test_other_words_are_no_other_question(one: str, other: str) -> None:
    assert is_same_question(one, other, 0.9)
    assert is_same_question(other, one, 0.9)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I turn the pump on?", "How do I turn the pump off?"),
        ("Who may enter before noon?", "Who may enter after noon?"),
        ("Is the mill reliable?", "Is the mill unreliable?"),
        ("Can dogs enter the park?", "Can't dogs enter the park?"),
        ("What does a kayak cost for 2 days?", "What does a kayak cost for 3 days?"),
        ("What did a kayak cost in 2019?", "What did a kayak cost in 2021?"),
        ("What did a kayak cost in 2019?", "What did a kayak cost?"),
        ("Is a fine of €5 usual?", "Is a fine of $5 usual?"),
        ("What does a kayak cost in Lima?", "What does a kayak cost in Quito?"),
        ("How far is it from Ghent to Lille?", "How far is it from Lille to Ghent?"),
        ("Is a kayak faster than a canoe?", "Is a canoe faster than a kayak?"),
        ("When was the mill built?", "Why was the mill built?"),
        ("What is on today?", "What is on today?"),
    ],
)
def test_what_turns_a_question_round_makes_it_another(one: str, other: str) -> None:
    assert not is_same_question(one, other, 0.99)
    assert not is_same_question(other, one, 0.99)
