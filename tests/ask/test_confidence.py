"""Confidence: readings of the question against the evidence, the score, its band and reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from wellread.ask.verify.confidence_features import Features, features_of, support
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import DocumentFacts, Hit, Locator, Passage, Span

GOOD = Features(sentence=0.8, passage=0.75, together=0.9, words=1.0, names=1.0, closeness=0.7)
FAR = Features(sentence=0.2, passage=0.2, together=0.2, words=0.2, names=0.0, closeness=0.1)
UNIT = st.floats(min_value=0, max_value=1)
READINGS = st.builds(
    Features,
    sentence=UNIT,
    passage=UNIT,
    together=UNIT,
    words=UNIT,
    names=UNIT,
    closeness=UNIT,
    support=UNIT,
)
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
    return features_of(analysis, evidence, (), LexicalReader(ReadableEmbedder), nearest)


def verdict(name: VerdictName) -> Verdict:
    return Verdict(name=name, method="support", score=0.5)


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


def test_support_counts_partial_sentences_half() -> None:
    assert support([verdict(VerdictName.SUPPORTED), verdict(VerdictName.PARTIAL)]) == 0.75
    assert support([verdict(VerdictName.UNSUPPORTED), verdict(VerdictName.UNCITED)]) == 0
    assert support([]) == 1


@given(READINGS, st.booleans())
def test_the_score_is_a_share_and_grows_with_support(found: Features, known: bool) -> None:
    full = score(replace(found, support=1.0), comparable=known)
    assert 0 <= score(found, comparable=known) <= full <= 1


def test_a_near_passage_is_high_and_a_far_one_is_none() -> None:
    assert judge(GOOD, 0.3).band == "high"
    assert judge(FAR, 0.3).band == "none"
    assert judge(FAR, 0.0).band == "low"


def test_an_answer_of_which_no_sentence_is_borne_out_is_none_however_near() -> None:
    sure = judge(replace(GOOD, support=0.0), 0.0)
    assert sure.band == "none"
    assert "none of the sentences" in sure.reasoning


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


def test_the_models_claim_is_kept_beside_and_changes_nothing() -> None:
    assert judge(GOOD, 0.3, model_claim=0.01).score == judge(GOOD, 0.3).score
    assert judge(GOOD, 0.3, model_claim=0.01).model_claim == 0.01


def test_the_reason_names_what_is_not_held() -> None:
    reason = judge(replace(GOOD, words=0.4, names=0.0), 0.3).reasoning
    assert "40% of the question's words" in reason
    assert "none of its names and numbers" in reason


def test_every_weight_speaks_for_the_answer() -> None:
    known = learned()
    for weights in (known.whole, known.by_words):
        assert weights.bias < 0
        assert all(value >= 0 for value in weights.features.values())
