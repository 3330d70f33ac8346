"""Past questions under the names that people and programs give their fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of
from wellread.types import Document, PastQuestion, SentenceFeedback

WHOLE = PastQuestion(
    question="When is the channel dredged?",
    answer="It is dredged in May. Boats wait.",
    flow=("Is the channel deep?", "How deep?"),
    citation_url="https://port.example/dredging",
    score=80,
    expert_citation_url="https://port.example/better",
    sentences=(
        SentenceFeedback(score=90, explanation="right"),
        SentenceFeedback(explanation="since when?", harmful=True, content_issue=True),
    ),
)
NESTED: dict[str, Any] = {
    "question": WHOLE.question,
    "answer": WHOLE.answer,
    "flow": list(WHOLE.flow),
    "citationUrl": WHOLE.citation_url,
    "language": "EN",
    "feedback": {
        "totalScore": 80,
        "citationUrl": WHOLE.expert_citation_url,
        "sentences": [
            {"score": 90, "explanation": "right", "harmful": False, "contentIssue": False},
            {"explanation": "since when?", "harmful": True, "contentIssue": True},
        ],
    },
}
FLAT: dict[str, Any] = {
    "Question": WHOLE.question,
    "Answer": WHOLE.answer,
    "History": [
        {"role": "user", "content": WHOLE.flow[0]},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": WHOLE.flow[1]},
    ],
    "citation": {"url": WHOLE.citation_url},
    "lang": "en",
    "expertScore": "80/100",
    "better_citation": WHOLE.expert_citation_url,
    "sentence_feedback": [
        {"rating": "90%", "comment": "right"},
        {"reason": "since when?", "isHarmful": "yes", "content-issue flag": "x"},
    ],
}
HEADERS = (
    "question,answer,flow,citation_url,language,total_score,expert_citation_url,"
    "sentence_1_score,sentence_1_explanation,sentence_2_explanation,sentence_2_harmful,"
    "sentence_2_content_issue",
    "Question;Answer;History;Citation URL;Language;Expert score;Better citation;"
    "Sentence 1 score;Sentence 1 comment;Sentence 2 comment;Sentence 2 harmful flag;"
    "Sentence 2 content issue",
    "question\tanswer\tearlierTurns\tcitedUrl\tlang\trating\tcorrectCitationUrl\t"
    "s1_score\ts1_feedback\texplanation_2\tharmful_2\tcontentIssue_2",
)
ROW = (
    WHOLE.question, WHOLE.answer, "Is the channel deep?\nHow deep?", WHOLE.citation_url, "en",
    "80", WHOLE.expert_citation_url, "90", "right", "since when?", "true", "1",
)  # fmt: skip


def load(name: str, text: str) -> Document:
    (document,) = kinds.load(source_of(name, text), LoaderLimits())
    return document


@pytest.mark.parametrize("record", [NESTED, FLAT], ids=["nested", "flat"])
def test_a_record(record: dict[str, Any]) -> None:
    for name, text in (("a.jsonl", json.dumps(record)), ("a.json", json.dumps([record], indent=2))):
        document = load(name, text)
        assert document.past_question == WHOLE
        assert document.language == "en"
        assert document.url == WHOLE.citation_url


@pytest.mark.parametrize("header", HEADERS)
def test_a_row_of_a_table(header: str) -> None:
    between = next(sign for sign in ",;\t" if sign in header)
    row = between.join(f'"{cell}"' for cell in ROW)
    document = load("Past.CSV", f"\ufeff{header}\r\n{row}\r\n")
    assert document.past_question == WHOLE
    assert document.language == "en"


@pytest.mark.parametrize("score", ["101", "-1", "high", "[80]"])
def test_a_score_out_of_range_names_the_line(score: str) -> None:
    with pytest.raises(SourceError, match="malformed line 2: score"):
        load("a.csv", f"question,answer,total score\nWhy?,So.,{score}\n")
