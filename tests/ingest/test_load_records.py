"""Records: items and past questions in JSON Lines, past questions in CSV."""

from __future__ import annotations

import json

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import PastQuestion, SentenceFeedback


def lines_of(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


ITEMS = lines_of(
    {
        "title": "Dredging",
        "text": "The channel is dredged in May.\n\nBoats wait outside.",
        "url": "https://port.example/dredging",
        "published_at": "2024-05-01",
        "authors": ["Ida Lund"],
        "topics": ["channel"],
    },
    {"id": "item-2", "body": "The lamp on the mole is green.", "kind": "page"},
)

PAST = {
    "question": "When is the channel dredged?",
    "answer": "It is dredged in May.",
    "flow": ["Is the channel deep?"],
    "citation_url": "https://port.example/dredging",
    "feedback": {
        "score": 80,
        "citation_url": "https://port.example/better",
        "sentences": [{"score": "90", "explanation": "right", "harmful": False}],
    },
}

TABLE = """question,answer,score,sentence_1_score,sentence_2_explanation,sentence_2_harmful
"Is the mole lit?","Yes, in
green.",75,60,too short,yes
Who owns the crane?,The guild.,,,,
"""


class TestItems(LoaderContract):
    good = source_of("items.jsonl", ITEMS.replace(', "kind": "page"', ""))
    expected_kind = "article"
    quotes = (("Boats wait outside.", {"line": 1}), ("The lamp on the mole", {"line": 2}))
    broken = (
        source_of("comma.jsonl", ITEMS + '{"text": "x",}\n'),
        source_of("list.jsonl", "[1, 2]\n"),
        source_of("textless.jsonl", '{"title": "only"}\n'),
        source_of("number.jsonl", '{"text": 7}\n'),
    )


class TestPastQuestions(LoaderContract):
    good = source_of("past.jsonl", lines_of(PAST, {"question": "Why?", "score": 0}))
    expected_kind = "qa"
    quotes = (
        ("When is the channel dredged?", {"line": 1}),
        ("It is dredged in May.", {"line": 1}),
        ("Why?", {"line": 2}),
    )
    broken = (
        source_of("score.jsonl", lines_of({"question": "Why?", "score": 101})),
        source_of("flag.jsonl", lines_of({"question": "Why?", "score": True})),
        source_of("blank.jsonl", lines_of({"question": " ", "answer": "Yes."})),
        source_of("feedback.jsonl", lines_of({"question": "Why?", "feedback": 5})),
        source_of("rows.jsonl", lines_of({"question": "Why?", "sentences": ["no"], "score": 1})),
    )


class TestTable(LoaderContract):
    good = source_of("past.csv", TABLE)
    expected_kind = "qa"
    quotes = (("Is the mole lit?", {"line": 2}), ("Who owns the crane?", {"line": 4}))
    broken = (
        source_of("wide.csv", TABLE + "a,b,1,2,3,4,5\n"),
        source_of("quote.csv", TABLE + '"open,b\n'),
    )


def test_an_item_has_its_facts() -> None:
    first, second = kinds.load(source_of("items.jsonl", ITEMS), LoaderLimits())
    assert (first.uri, first.title) == ("https://port.example/dredging", "Dredging")
    assert first.authors == ("Ida Lund",)
    assert first.taxonomy == {"topics": ("channel",)}
    assert first.published_at is not None
    assert (second.uri, second.kind) == ("item-2", "page")
    assert second.title == "The lamp on the mole is green."


def test_a_past_question_keeps_the_feedback() -> None:
    (document,) = kinds.load(source_of("past.jsonl", lines_of(PAST)), LoaderLimits())
    assert document.past_question == PastQuestion(
        question="When is the channel dredged?",
        answer="It is dredged in May.",
        flow=("Is the channel deep?",),
        citation_url="https://port.example/dredging",
        score=80,
        expert_citation_url="https://port.example/better",
        sentences=(SentenceFeedback(score=90, explanation="right"),),
    )


def test_the_columns_of_a_table_are_gathered_into_sentences() -> None:
    first, second = kinds.load(source_of("past.csv", TABLE), LoaderLimits())
    past = first.past_question
    assert past is not None
    assert past.score == 75
    assert past.sentences == (
        SentenceFeedback(score=60),
        SentenceFeedback(explanation="too short", harmful=True),
    )
    assert second.past_question == PastQuestion(question="Who owns the crane?", answer="The guild.")


@pytest.mark.parametrize("line", [1, 3])
def test_the_error_names_the_line(line: int) -> None:
    rows = [json.dumps({"text": "fine"})] * 3
    rows[line - 1] = "{"
    with pytest.raises(SourceError, match=f"malformed line {line}"):
        kinds.load(source_of("rows.jsonl", "\n".join(rows)), LoaderLimits())
