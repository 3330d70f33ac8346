"""Extracts: what is read of a question's evidence, and what is shown around what answers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.doubles.evidence import evidence_of

from wellread.answers import NOBODY, Evidence, Question
from wellread.ask.answer import answer, final
from wellread.ask.write.extract_score import (
    FOLLOWING,
    MARKED,
    NEAREST,
    READ,
    Readers,
    Window,
    carried_on,
    comparable,
    judged,
    windows_of,
)
from wellread.kb import open_kb
from wellread.models.base import Purpose
from wellread.models.reader import Reading
from wellread.testing.embedding import ReadableEmbedder
from wellread.text.sentences import sentence_spans
from wellread.types import Span

TEXTS = [
    " ".join(f"Sentence {number} of text {text} tells of the harbour." for number in range(40))
    for text in range(12)
]


class CountingReader:
    """To it the last sentence of every window answers."""

    identity = "counting"

    def __init__(self) -> None:
        self.windows = 0

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> list[Reading]:
        self.windows += len(texts)
        return [Reading(answers=1.0, sentences=np.arange(float(len(text)))) for text in texts]


class CountingEmbedder(ReadableEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        self.passages += texts if purpose == "passage" else []
        return super().embed(texts, purpose)


def windows_in(evidence: Sequence[Evidence]) -> list[Window]:
    return [one for at, piece in enumerate(evidence) for one in windows_of(at, piece, ())]


def test_eight_windows_are_read_and_two_sentences_of_the_best_four_are_embedded() -> None:
    evidence, reader, embedder = evidence_of(*TEXTS), CountingReader(), CountingEmbedder()
    windows = windows_in(evidence)
    assert len(windows) > READ
    readers = Readers(network=reader, embedder=embedder)
    found = judged("What tells of the harbour?", windows, evidence, readers)
    assert reader.windows == READ
    assert len(embedder.passages) == NEAREST * MARKED
    last = {window.texts[-1] for window in windows}
    assert last & {*embedder.passages}, "what the network marks is compared"
    assert len(found.windows) == NEAREST


def test_only_the_shipped_embedder_has_cosines_that_the_weights_know() -> None:
    assert not comparable(ReadableEmbedder())


@given(st.integers(0, 39), st.integers(1, 8))
def test_what_follows_the_marked_sentence_is_shown_too(first: int, many: int) -> None:
    text = TEXTS[0]
    spans = sentence_spans(text)
    window = spans[first : first + many]
    stretch = Span(start=window[0].start, end=window[-1].end)
    shown = carried_on(text, stretch, [window[-1]])
    assert (shown.start, shown.end >= stretch.end) == (stretch.start, True)
    assert any(shown.end == span.end for span in spans), "it ends with a sentence"
    behind = text[window[-1].end : shown.end].split()
    assert len(behind) >= FOLLOWING or shown.end == len(text)


@pytest.mark.parametrize("question", ["How far away is Andromeda?", "How do I bake sourdough?"])
async def test_nothing_is_quoted_to_a_question_about_something_else(
    demo: Path, tmp_path: Path, question: str
) -> None:
    home = shutil.copytree(demo / "home", tmp_path / "home")
    with open_kb(Path(home)) as kb:
        refused = await final(answer(kb, Question(text=question)))
    assert refused.answered_by == NOBODY
    assert not refused.sentences, "what is about something else is not called near"
    assert not refused.citations
