from __future__ import annotations

from datetime import UTC, datetime

from tests.doubles.evidence import evidence_of

from wellread.serve.features.answering import answer_body, event_body
from wellread.serve.views import json_of, view_url
from wellread.types import AppliedLimit, Box, Locator, Span
from wellread.values.answers import (
    Answer,
    Citation,
    Confidence,
    Conflict,
    Event,
    FinalEvent,
    Related,
    Sentence,
    SentenceEvent,
    Step,
    StepEvent,
    Table,
    TokenEvent,
    Usage,
    Verdict,
    VerdictName,
    View,
)

SENTENCE = Sentence(
    text="It is blue.",
    span=Span(start=40, end=51),
    verdict=Verdict(name=VerdictName.PARTIAL, method="facts", score=0.4, reason="no colour"),
    citations=(2,),
    marked=True,
)
ANSWER = Answer(
    id="ans_1",
    question="Why?",
    text="x" * 60,
    citations=(
        Citation(
            id=2,
            document_id="doc_1",
            version="ver_1",
            title="T",
            url="https://e.example/a.pdf",
            link="https://e.example/a.pdf#page=5",
            kind="paper",
            source_type="pdf",
            published_at=datetime(2025, 3, 1, tzinfo=UTC),
            relevance=0.7,
            locator=Locator(label="p. 5", page=5, box=Box(left=0.1, top=0.2, right=0.3, bottom=1)),
            quote="blue",
            answer_span=Span(start=40, end=51),
            source_span=Span(start=7, end=11),
            verdict=VerdictName.PARTIAL,
        ),
    ),
    sentences=(SENTENCE,),
    confidence=Confidence(score=0.5, band="low", reasoning="r", model_claim=0.9),
    answered_by="openai:m",
    mode="deep",
    session_id="s",
    fallback="f",
    data_gaps=("gap",),
    conflicts=(Conflict(about="age", views=(View(text="old", citations=(1,)),), reason="date"),),
    related=(
        Related(kind="story", title="flood", id="s1", collection="c", url="u", reason="near"),
    ),
    suggestions=("what next?",),
    type="factual",
    standalone="who is she?",
    cached=True,
    repaired_citations=4,
    dropped_sentences=5,
    notes=("note",),
    limits=(AppliedLimit(kind="time", value="2025", origin="question", relaxed=True),),
    table=Table(columns=("What",), rows=(("row",),), documents=(("doc_1",),), method="counted"),
    hallucinated_citations=3,
    usage=Usage(input_tokens=10, output_tokens=20, cost=0.5, clusters=4),
    steps=(Step(name="s", seconds=1.5, found=6),),
)
SENTENCE_BODY = {
    "text": "It is blue.",
    "start": 40,
    "end": 51,
    "verdict": "partial",
    "method": "facts",
    "score": 0.4,
    "reason": "no colour",
    "citations": [2],
    "marked": True,
}
ANSWER_BODY = {
    "id": "ans_1",
    "question": "Why?",
    "answer": "x" * 60,
    "citations": [
        {
            "id": "2",
            "number": 2,
            "documentId": "doc_1",
            "title": "T",
            "url": "https://e.example/a.pdf",
            "link": "https://e.example/a.pdf#page=5",
            "viewUrl": "/view/doc_1?start=7&end=11&version=ver_1#cited",
            "kind": "paper",
            "sourceType": "pdf",
            "publishedAt": "2025-03-01T00:00:00Z",
            "relevance": "the answer rests on it for “It is blue.”; published 2025-03-01",
            "score": 0.7,
            "locator": "p. 5",
            "place": {
                "page": 5,
                "box": {"left": 0.1, "top": 0.2, "right": 0.3, "bottom": 1.0},
                "begin": None,
                "speaker": None,
                "heading": [],
                "line": None,
            },
            "quote": "blue",
            "answerSpan": {"start": 40, "end": 51},
            "sourceSpan": {"start": 7, "end": 11},
            "verdict": "partial",
        }
    ],
    "confidence": {"score": 0.5, "band": "low", "reasoning": "r", "modelClaim": 0.9},
    "dataGaps": ["gap"],
    "conflicts": [{"about": "age", "views": [{"text": "old", "citations": [1]}], "reason": "date"}],
    "related": [
        {
            "kind": "story",
            "title": "flood",
            "id": "s1",
            "collection": "c",
            "url": "u",
            "reason": "near",
        }
    ],
    "suggestions": ["what next?"],
    "type": "factual",
    "standalone": "who is she?",
    "cached": True,
    "similar": [],
    "repairedCitations": 4,
    "droppedSentences": 5,
    "notes": ["note"],
    "limits": [{"kind": "time", "value": "2025", "origin": "question", "relaxed": True}],
    "table": {
        "columns": ["What"],
        "rows": [["row"]],
        "documents": [["doc_1"]],
        "method": "counted",
    },
    "sessionId": "s",
    "mode": "deep",
    "answeredBy": "openai:m",
    "fallback": "f",
    "hallucinatedCitations": 3,
    "sentences": [SENTENCE_BODY],
    "usage": {"clustersRetrieved": 4, "tokensUsed": {"input": 10, "output": 20}, "cost": 0.5},
    "steps": [{"name": "s", "seconds": 1.5, "found": 6}],
}


def test_every_field_of_an_answer_arrives() -> None:
    assert json_of(answer_body(ANSWER)) == ANSWER_BODY


def test_every_event_has_its_name_and_body() -> None:
    events: tuple[Event, ...] = (
        StepEvent(step=Step(name="s", seconds=1.5, found=6)),
        TokenEvent(text="It "),
        SentenceEvent(sentence=SENTENCE),
        FinalEvent(answer=ANSWER),
    )
    shown = [(name, json_of(body)) for name, body in map(event_body, events)]
    assert shown == [
        ("step", {"name": "s", "seconds": 1.5, "found": 6}),
        ("token", {"text": "It "}),
        ("sentence", SENTENCE_BODY),
        ("final", ANSWER_BODY),
    ]


def test_evidence_is_shown_with_its_place() -> None:
    (piece,) = evidence_of("The tide turns at six.")
    body = json_of(piece)
    assert body["key"] == "e1"
    assert body["quote"] == "The tide turns at six."
    assert body["viewUrl"] == "/view/doc_1?start=0&end=22&version=ver_1#cited"
    assert body["link"] == "file:///1.md"
    assert body["score"] == piece.hit.score


def test_ids_are_escaped_in_addresses() -> None:
    address = view_url("a/b?c", "v&w", Span(start=1, end=2))
    assert address == "/view/a%2Fb%3Fc?start=1&end=2&version=v%26w#cited"
