"""Answers with everything filled in that a test does not name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wellread.types import Locator, Span
from wellread.values.answers import Answer, Citation, Confidence, Sentence, Verdict, VerdictName


def citation_of(number: int = 1, **changes: Any) -> Citation:
    base = Citation(
        id=number,
        document_id=f"doc_{number}",
        version="ver_1",
        title="Log",
        url="https://a.example/",
        link="https://a.example/#page=2",
        kind="paper",
        source_type="",
        published_at=None,
        relevance=1.0,
        locator=Locator(label="p. 2", page=2),
        quote="It may have sunk.",
        answer_span=Span(start=0, end=0),
        source_span=Span(start=0, end=17),
        verdict=VerdictName.SUPPORTED,
    )
    return replace(base, **changes)


def sentence_of(
    text: str, start: int, name: VerdictName = VerdictName.SUPPORTED, *cited: int
) -> Sentence:
    verdict = Verdict(name=name, method="support", score=0.5)
    span = Span(start=start, end=start + len(text))
    return Sentence(text=text, span=span, verdict=verdict, citations=cited)


def answer_of(
    text: str, sentences: Sequence[Sentence] = (), citations: Sequence[Citation] = (), **more: Any
) -> Answer:
    base = Answer(
        id="ans_1",
        question="Why?",
        text=text,
        citations=tuple(citations),
        sentences=tuple(sentences),
        confidence=Confidence(score=0.41, band="low", reasoning=""),
        answered_by="extractive",
    )
    return replace(base, **more)
