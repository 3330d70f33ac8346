"""Whether an answer gives the kind of thing that is asked for; otherwise it is not sure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from wellread.answers import LIMITED, Question
from wellread.ask.answer import answer, final
from wellread.ask.understand.answer_kind import enumerated, fits_of, holds, lacking
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder


@pytest.mark.parametrize(
    ("question", "given", "other"),
    [
        ("When did it open?", "It opened in May 2021.", "It opened with a speech."),
        ("When did it open?", "It opens at 08:30.", "Version 0.21.0 opened it (Roe et al., 2019)."),
        ("Who runs it?", "Ada Nott runs it.", "It runs well."),
        ("Who runs it?", "The harbour board runs it.", "It runs by itself."),
        ("Where is it?", "It is in the old net shed.", "It is in the first half of it."),
        ("Where is it?", "It stands near Tern Bay.", "It is useful."),
        ("How many boats are there?", "The yard has 12 boats.", "In 2019 it had 4 cranes."),
        ("How many cells does it have?", "It is large (cells=340M).", "BIP12 is one of COVID-19."),
    ],
)
def test_the_kind_tells(question: str, given: str, other: str) -> None:
    assert lacking(question, [other, given]) is None
    assert lacking(question, [other]) is not None


def test_other_questions_lack_nothing() -> None:
    assert lacking("Why does it float?", ["It floats."]) is None


def test_numbers_in_names_are_no_amounts() -> None:
    assert not holds("number", "COVID-19 and B12 were named in #63.", "How much is it?")
    assert fits_of("How many patients were there?")("COVID-19 patients came.") == -1


def test_an_answer_of_another_kind_is_not_sure_and_does_not_claim_that_none_is_given(
    tmp_path: Path,
) -> None:
    page = tmp_path / "mill.md"
    page.write_text("# Oat mill\n\nThe oat mill was built with stones, oat mill owners say.\n")
    low: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.2}}
    with open_kb(tmp_path / "home", overrides=low, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(page)])
        said = asyncio.run(final(answer(kb, Question(text="When was the oat mill built?"))))
    assert said.text.startswith(LIMITED)
    assert said.confidence.score < 0.5
    for sentence in said.sentences:
        assert sentence.span.of(said.text).startswith("The oat mill")


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("It holds oak, ash, elm and yew.", 4),
        ("Two sorts are used: oak [8] and ash (10).", 2),
        ("It came late, after a long day, and was eaten.", 0),
        ("It is sold to members, subject to the rules of use and the tide.", 0),
        ("Oak and Ash 3, 77-85.", 2),
    ],
)
def test_what_a_sentence_names_one_after_the_other_is_counted(sentence: str, named: int) -> None:
    assert min(4, enumerated(sentence)) == named or (named == 0 and enumerated(sentence) < 3)
