"""Confidence: readings of the question against the evidence, the score, its band and reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from wellread.answers import RELAXED, Evidence, Question, Verdict, VerdictName
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.confidence import (
    LIMIT_LEFT_OUT,
    comparable,
    judge,
    learned,
    score,
)
from wellread.ask.verify.confidence_features import Features, features_of
from wellread.ask.verify.verified_draft import confidence_of_verdicts
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import DocumentFacts, Hit, Locator, Passage, Span

GOOD = Features(sentence=0.8, passage=0.75, together=0.9, words=1.0, names=1.0, closeness=0.7)
FAR = Features(sentence=0.2, passage=0.2, together=0.2, words=0.2, names=0.0, closeness=0.1)
TEXT = "The heron boathouse was rebuilt in 2020. Its roof is made of slate."


def piece(text: str = TEXT, title: str = "", similarity: float | None = None) -> Evidence:
    span = Span(start=0, end=len(text))
    passage = Passage(
        id="psg_1", document_id="doc_1", version="v", span=span, text=text, context=title
    )
    document = DocumentFacts(
        id="doc_1", version="v", collection="c", uri="u", kind="page", title=title
    )
    hit = Hit(passage=passage, document=document, score=1.0, similarity=similarity)
    return Evidence(key="e1", hit=hit, text=text, span=span, locator=Locator(label=""))


def read(question: str, *evidence: Evidence, nearest: float | None = 0.5) -> Features:
    analysis = analyse(Question(text=question), Vocabulary(), date(2026, 1, 1))
    return features_of(analysis, evidence, LexicalReader(ReadableEmbedder), nearest)


def test_words_in_one_place_count_more_than_strewn_ones() -> None:
    one = read("What is the roof of the heron boathouse made of?", piece())
    apart = piece("The heron sleeps. It rains often. A boathouse burns. It snows. Roof tiles fall.")
    other = read("What is the roof of the heron boathouse made of?", apart)
    assert one.words == 1.0
    assert one.together == pytest.approx(1.0)
    assert other.together < one.together


def test_a_word_of_the_title_counts() -> None:
    without = read("Where is the Marlow slate roof?", piece())
    titled = read("Where is the Marlow slate roof?", piece(title="Marlow"))
    assert without.names == 0.0
    assert titled.names == 1.0
    assert titled.words > without.words


def test_the_nearest_sentence_is_worked_out_when_it_is_not_known() -> None:
    exact = read("Its roof is made of slate.", piece(), nearest=None)
    assert exact.sentence == pytest.approx(1.0, abs=1e-3)
    assert read("Its roof is made of slate.", piece(), nearest=0.25).sentence == 0.25


def test_without_evidence_nothing_is_read() -> None:
    found = read("What is the roof made of?", nearest=None)
    assert (found.sentence, found.passage, found.together, found.words) == (0, 0, 0, 0)
    assert judge(found, 0.3).band == "none"


def test_a_near_passage_is_high_and_a_far_one_is_none() -> None:
    assert judge(GOOD, 0.3).band == "high"
    assert judge(FAR, 0.3).band == "none"
    assert judge(FAR, 0.0).band == "low"


def test_cosines_of_another_embedder_are_not_weighed_and_the_reason_says_so() -> None:
    low, high = replace(GOOD, sentence=0.0, passage=0.0), replace(GOOD, sentence=1.0, passage=1.0)
    assert score(low, comparable=False) == score(high, comparable=False)
    assert score(low, comparable=True) < score(high, comparable=True)
    assert "words alone" in judge(GOOD, 0.3, comparable=False).reasoning
    assert "words alone" not in judge(GOOD, 0.3).reasoning
    assert not comparable(ReadableEmbedder())


def test_a_limit_let_go_of_caps_the_score() -> None:
    capped = judge(GOOD, 0.3, caps=[LIMIT_LEFT_OUT])
    assert (capped.score, capped.band) == (RELAXED, "medium")
    weak = judge(FAR, 0.0)
    assert judge(FAR, 0.0, caps=[LIMIT_LEFT_OUT]) == weak


def test_the_reason_names_what_is_not_held() -> None:
    reason = judge(replace(GOOD, words=0.4, names=0.0), 0.3).reasoning
    assert "40% of the question's words" in reason
    assert "none of its names and numbers" in reason


def test_every_weight_speaks_for_the_answer() -> None:
    known = learned()
    for weights in (known.whole, known.by_words):
        assert weights.bias < 0
        assert all(value >= 0 for value in weights.features.values())


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
