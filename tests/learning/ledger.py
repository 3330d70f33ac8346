"""Answers and ratings for tests of what is counted: small, and whole enough to be recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from tests.store.made import citation_of

from wellread.store.schema.stored_values import Feedback
from wellread.types import Span
from wellread.values.answers import (
    Answer,
    Citation,
    Confidence,
    Sentence,
    Step,
    Usage,
    Verdict,
    VerdictName,
)

Band = Literal["high", "medium", "low", "none"]
NOW = datetime(2026, 3, 18, 12, 30, tzinfo=UTC)


def sentence(name: VerdictName) -> Sentence:
    span = Span(start=0, end=2)
    return Sentence(
        text="So",
        span=span,
        verdict=Verdict(name=name, method="support", score=1.0),
        citations=(1,),
    )


def citation(document: str = "doc_1", version: str = "ver_1") -> Citation:
    span = Span(start=0, end=2)
    return citation_of(
        document_id=document, version=version, quote="So", answer_span=span, source_span=span
    )


def cited(name: str, score: float = 0.8, **changed: Any) -> Answer:
    """An answer with one supported and one partly supported sentence."""
    band: Band = "high" if score >= 0.75 else "medium" if score >= 0.5 else "low"
    values: dict[str, Any] = {
        "id": name,
        "question": "When does the ferry leave?",
        "text": "So",
        "citations": (citation(),),
        "sentences": (sentence(VerdictName.SUPPORTED), sentence(VerdictName.PARTIAL)),
        "confidence": Confidence(score=score, band=band, reasoning="two sources"),
        "answered_by": "extractive",
        "type": "factual",
        "session_id": "ses_1",
        "usage": Usage(input_tokens=7, output_tokens=3, cost=0.5),
        "steps": (
            Step(name="retrieval", seconds=0.2),
            Step(name="draft", seconds=0.5),
            Step(name="draft", seconds=0.3),
        ),
    }
    return Answer(**{**values, **changed})


def unanswered(name: str) -> Answer:
    return cited(
        name,
        0.1,
        citations=(),
        sentences=(),
        answered_by="none",
        data_gaps=("nothing about ferries",),
        confidence=Confidence(score=0.1, band="none", reasoning=""),
    )


def rated(
    answer_id: str, score: float | None, author: str = "ada", question: str = "", expired: str = ""
) -> Feedback:
    return Feedback(
        id=f"fbk_{answer_id}_{author}",
        answer_id=answer_id,
        author=author,
        question=question or f"question of {answer_id}",
        created_at=NOW,
        updated_at=NOW,
        score=score,
        expired=expired,
    )
