from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from wellread.serve.cli import answer_printing as render
from wellread.types import Locator, Span
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

LINK = "https://example.org/" + "a-rather-long-path/" * 8 + "paper.pdf#page=5"
TEXT = "The array makes 2 MW [1]. It never fails. Some say otherwise [1]."


def sentence(start: int, end: int, name: VerdictName, reason: str = "") -> Sentence:
    return Sentence(
        text=TEXT[start:end],
        span=Span(start=start, end=end),
        verdict=Verdict(name=name, method="support", score=0.5, reason=reason),
        citations=(1,),
    )


def citation(**changes: Any) -> Citation:
    base = Citation(
        id=1,
        document_id="doc_1",
        version="ver_1",
        title="Tides",
        url="https://example.org/paper.pdf",
        link=LINK,
        kind="paper",
        source_type="pdf",
        published_at=datetime(2025, 3, 1, tzinfo=UTC),
        relevance=0.9,
        locator=Locator(label="p. 5", page=5),
        quote="The array makes 2 MW\nat spring tide.",
        answer_span=Span(start=0, end=25),
        source_span=Span(start=100, end=136),
        verdict=VerdictName.SUPPORTED,
    )
    return replace(base, **changes)


def answer(**changes: Any) -> Answer:
    base = Answer(
        id="ans_1",
        question="What does it make?",
        text=TEXT,
        citations=(citation(),),
        sentences=(
            sentence(0, 25, VerdictName.SUPPORTED),
            sentence(26, 41, VerdictName.UNSUPPORTED, "nothing says so"),
            sentence(42, 65, VerdictName.PARTIAL, "only one of two names"),
        ),
        confidence=Confidence(score=0.72, band="medium", reasoning="two sources agree"),
        answered_by="extractive",
        mode="quick",
        data_gaps=("the year",),
        notes=("a note",),
        hallucinated_citations=2,
        usage=Usage(input_tokens=10, output_tokens=5),
        steps=(Step(name="retrieval", seconds=0.0123, found=12),),
    )
    return replace(base, **changes)


def printed(shown: Answer, *, detailed: bool = False, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=72,
        force_terminal=terminal,
        highlight=False,
        markup=False,
        emoji=False,
        color_system="truecolor" if terminal else None,
    )
    render.print_answer(console, shown, seconds=0.25, detailed=detailed)
    return out.getvalue()


def test_every_sentence_is_followed_by_its_sign() -> None:
    assert printed(answer()).splitlines()[0] == (
        "The array makes 2 MW [1]. ✓ It never fails. ✗ Some say otherwise [1]. ~"
    )


def test_a_link_stands_on_one_unbroken_line() -> None:
    assert f"    {LINK}" in printed(answer()).splitlines()
    assert f";{LINK}\x1b\\" in printed(answer(), terminal=True)


def test_source_text_cannot_drive_the_terminal() -> None:
    nasty = "\x1b]0;owned\x07 [bold]x[/bold] :smile: \u202e\x9b2J"
    shown = printed(
        answer(
            text=f"{nasty} [1].",
            sentences=(),
            citations=(citation(title=nasty, quote=nasty, link=f"https://e.example/{nasty}"),),
            notes=(nasty,),
        )
    )
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert "[bold]x[/bold] :smile:" in shown
