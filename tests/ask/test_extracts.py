"""Extracts: what is read of a question's evidence, and what is shown around what answers."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from wellread.ask.answer import answer, final
from wellread.ask.verify.confidence import (
    LIMIT_LEFT_OUT,
    confidence_of_extracts,
    confidence_of_verdicts,
)
from wellread.ask.write.extract_score import MIN_FOLLOWING_WORDS, extend_forward
from wellread.ask.write.extracts import Extracts
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answers import NOBODY, RELAXED_CONFIDENCE, Question, Verdict, VerdictName

TEXTS = [
    " ".join(f"Sentence {number} of text {text} tells of the harbour." for number in range(40))
    for text in range(12)
]


@given(st.integers(0, 39), st.integers(1, 8))
def test_what_follows_the_marked_sentence_is_shown_too(first: int, many: int) -> None:
    text = TEXTS[0]
    spans = sentence_spans(text)
    window = spans[first : first + many]
    stretch = Span(start=window[0].start, end=window[-1].end)
    shown = extend_forward(text, stretch, [window[-1]])
    assert (shown.start, shown.end >= stretch.end) == (stretch.start, True)
    assert any(shown.end == span.end for span in spans), "it ends with a sentence"
    behind = text[window[-1].end : shown.end].split()
    assert len(behind) >= MIN_FOLLOWING_WORDS or shown.end == len(text)


async def test_nothing_is_quoted_to_a_question_about_something_else(
    demo: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(demo / "home", tmp_path / "home")
    with open_kb(Path(home)) as kb:
        for question in ("How far away is Andromeda?", "How do I bake sourdough?"):
            refused = await final(answer(kb, Question(text=question)))
            assert refused.answered_by == NOBODY
            assert not refused.sentences, "what is about something else is not called near"
            assert not refused.citations


def test_extracts_are_as_sure_as_the_chance_that_they_hold_the_answer(tmp_path: Path) -> None:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        sure, unsure = (confidence_of_extracts(kb, Extracts(confidence=one)) for one in (0.9, 0.1))
        capped = confidence_of_extracts(kb, Extracts(confidence=0.9), [LIMIT_LEFT_OUT])
    assert (sure.score, sure.band, unsure.band) == (0.9, "high", "none")
    assert "about 90 find their answer here" in sure.reasoning
    assert (capped.score, capped.band) == (RELAXED_CONFIDENCE, "medium")
    assert "a limit of the question had to be left out" in capped.reasoning


def verdicts(*names: VerdictName) -> list[Verdict]:
    return [Verdict(name=name, method="judge", score=0.0) for name in names]


def test_an_answer_of_a_model_is_as_sure_as_its_verdicts() -> None:
    good, part, bad = VerdictName.SUPPORTED, VerdictName.PARTIAL, VerdictName.UNSUPPORTED
    sure = confidence_of_verdicts(verdicts(good, good), 0.9, "yes", model_claim=0.1)
    assert (sure.band, sure.model_claim) == ("high", 0.1)
    assert sure.reasoning.startswith("2 of 2 sentences are supported")
    mixed = confidence_of_verdicts(verdicts(good, part), 0.9, "yes")
    wrong = confidence_of_verdicts(verdicts(bad, bad), 0.9, "yes")
    in_part = confidence_of_verdicts(verdicts(good, good), 0.9, "partly")
    assert sure.score > mixed.score > wrong.score
    assert sure.score > in_part.score
    assert wrong.band == "low"
    capped = confidence_of_verdicts(verdicts(good), 0.9, "yes", caps=[LIMIT_LEFT_OUT])
    assert capped.score == RELAXED_CONFIDENCE
