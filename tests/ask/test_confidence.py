"""Confidence: of extracts, and of what a model wrote; what caps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wellread.answers import RELAXED, Verdict, VerdictName
from wellread.ask.verify.confidence import LIMIT_LEFT_OUT, confidence_of_verdicts, of_extracts
from wellread.ask.write.extract_score import COLUMNS, MODES, comparable, learned
from wellread.ask.write.extracts import Extracts
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder


def test_extracts_are_as_sure_as_the_chance_that_they_hold_the_answer(tmp_path: Path) -> None:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        sure, unsure = (of_extracts(kb, Extracts(confidence=one)) for one in (0.9, 0.1))
        capped = of_extracts(kb, Extracts(confidence=0.9), [LIMIT_LEFT_OUT])
    assert (sure.score, sure.band, unsure.band) == (0.9, "high", "none")
    assert "about 90 find their answer here" in sure.reasoning
    assert (capped.score, capped.band) == (RELAXED, "medium")
    assert "a limit of the question had to be left out" in capped.reasoning


def test_each_way_of_reading_has_weights_of_its_own() -> None:
    known = learned()
    assert set(known.score) == set(known.sure) == set(MODES)
    for mode, columns in MODES.items():
        used = [name for name, weight in zip(COLUMNS, known.score[mode], strict=True) if weight]
        assert set(used) <= set(columns)
    assert not comparable(ReadableEmbedder())


def verdicts(*names: VerdictName) -> list[Verdict]:
    return [Verdict(name=name, method="judge", score=0.0) for name in names]


def test_an_answer_of_a_model_is_as_sure_as_its_verdicts() -> None:
    good, part, bad = VerdictName.SUPPORTED, VerdictName.PARTIAL, VerdictName.UNSUPPORTED
    sure = confidence_of_verdicts(verdicts(good, good), 0.9, "yes", model_claim=0.1)
    assert (sure.band, sure.model_claim) == ("high", 0.1)
    assert sure.reasoning.startswith("2 of 2 sentences are borne out")
    mixed = confidence_of_verdicts(verdicts(good, part), 0.9, "yes")
    wrong = confidence_of_verdicts(verdicts(bad, bad), 0.9, "yes")
    in_part = confidence_of_verdicts(verdicts(good, good), 0.9, "partly")
    assert sure.score > mixed.score > wrong.score
    assert sure.score > in_part.score
    assert wrong.band == "low"
    capped = confidence_of_verdicts(verdicts(good), 0.9, "yes", caps=[LIMIT_LEFT_OUT])
    assert capped.score == RELAXED


def test_without_verdicts_citations_and_evidence_count() -> None:
    unjudged = [replace(one, method="nearest") for one in verdicts(VerdictName.NOT_CHECKED)]
    bare = verdicts(VerdictName.UNCITED)
    near = confidence_of_verdicts(unjudged, 0.9, None)
    assert near.band == "medium"
    assert "nobody has judged them" in near.reasoning
    assert confidence_of_verdicts(unjudged, 0.1, None).score < near.score
    assert confidence_of_verdicts(unjudged, 0.0, "no").band == "low", "it cites something"
    assert confidence_of_verdicts(bare, 0.9, None).band == "none"
    assert confidence_of_verdicts(bare, 0.9, "yes").band == "low"
