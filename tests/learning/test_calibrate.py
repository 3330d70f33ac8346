"""Confidence fitted on a base's own ratings: better kept, worse not, one command back."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.learning.ledger import cited, rated, unanswered

from wellread.errors import StoreError
from wellread.kb import KnowledgeBase, open_kb
from wellread.learning.calibration.calibrate import LEAST, calibrate, tried
from wellread.learning.calibration.platt_scaling import fit
from wellread.store.catalogue.learning import calibration_records
from wellread.store.schema.calibration_values import Calibration, RatedAnswer

MADE = Calibration(
    slope=0.5, intercept=-1.0, lowest=0.3, fitted_at="2026-03-18T12:00:00+00:00", answers=300,
    questions=300, raters=2, largest_share=0.5, right=0.6, before=0.3, after=0.2, gain=0.1,
    gain_low=0.05, gain_high=0.15,
)  # fmt: skip


def answers(
    truth: Callable[[float], float],
    count: int = 400,
    raters: Sequence[str] = ("ada", "ben"),
    seed: int = 3,
) -> list[RatedAnswer]:
    """Rated answers of which as many are right as ``truth`` says of their confidence."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        shipped = round(0.3 + 0.69 * draw.random(), 3)
        score = 90.0 if draw.random() < truth(shipped) else 10.0
        found.append(
            RatedAnswer(
                answer_id=f"ans_{number}",
                question=f"question {number}",
                shipped=shipped,
                confidence=shipped,
                score=score,
                ratings=((raters[number % len(raters)], score),),
            )
        )
    return found


def too_sure(shipped: float) -> float:
    return shipped / 2


def as_told(shipped: float) -> float:
    return shipped


def test_too_few_ratings_say_how_many_are_missing() -> None:
    trial = tried(answers(too_sure, LEAST - 1))
    assert (trial.missing, trial.fitted, trial.better) == (1, None, False)
    assert "1 more are needed" in trial.why
    assert tried(answers(too_sure, LEAST)).fitted is not None


def test_one_that_is_better_on_held_out_answers_is_kept() -> None:
    trial = tried(answers(too_sure))
    assert trial.better
    assert trial.fitted is not None
    assert trial.fitted.after < trial.fitted.before
    assert trial.fitted.gain_low > 0
    assert trial.fitted.of(0.9) == pytest.approx(0.45, abs=0.08)


def test_one_that_is_no_better_is_not_kept() -> None:
    trial = tried(answers(as_told))
    assert not trial.better
    assert "not surely better" in trial.why


def test_ratings_against_confidence_are_no_calibration() -> None:
    trial = tried(answers(lambda shipped: 0.05 if shipped > 0.6 else 0.95))
    assert not trial.better
    assert "do not rise with confidence" in trial.why


def test_a_question_asked_again_stands_on_one_side_only() -> None:
    # Two questions say nothing of a third. Folds that split a question would believe they do: each
    # answer would be foretold by others to the same question.
    some = zip(answers(as_told, 3), (0.3, 0.6, 0.9), (0.0, 0.0, 100.0), strict=True)
    often = [
        replace(
            one,
            answer_id=f"{one.answer_id}/{turn}",
            shipped=shipped,
            score=score,
            ratings=(("ada", score),),
        )
        for one, shipped, score in some
        for turn in range(80)
    ]
    trial = tried(often)
    assert not trial.better
    assert any("3 different questions" in told for told in trial.warnings)
    apart = tried([replace(one, question=one.answer_id) for one in often])
    assert apart.better


def test_what_one_person_teaches_must_hold_for_the_others() -> None:
    strict = answers(lambda shipped: shipped * 0.1, 300, ("ada",))
    fair = answers(lambda _: 1.0, 60, ("ben",), seed=5)
    fair = [replace(one, answer_id=f"b/{one.answer_id}", question=f"b {one.question}")
            for one in fair]  # fmt: skip
    trial = tried([*strict, *fair])
    assert not trial.better
    assert "worse for the others" in trial.why
    assert any("83% of the ratings" in told for told in trial.warnings)


def test_ratings_of_one_person_are_said_to_be_that() -> None:
    trial = tried(answers(too_sure, raters=("ada",)))
    assert trial.better
    assert any("one person" in told for told in trial.warnings)


def test_nothing_is_gained_by_fitting_twice() -> None:
    rated_answers = answers(too_sure)
    first = tried(rated_answers)
    again = tried(rated_answers, first.fitted)
    assert not again.better
    assert "is as good" in again.why


def test_the_same_ratings_give_the_same_map() -> None:
    one, other = tried(answers(too_sure)).fitted, tried(answers(too_sure)).fitted
    assert one is not None
    assert other is not None
    assert replace(one, fitted_at="") == replace(other, fitted_at="")


# --- the map ---


@pytest.mark.parametrize("slope", [0.01, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("intercept", [-3.0, 0.0, 3.0])
def test_the_map_never_turns_two_answers_round(slope: float, intercept: float) -> None:
    made = replace(MADE, slope=slope, intercept=intercept)
    found = [made.of(score / 1000) for score in range(1001)]
    assert found == sorted(found)
    assert 0 <= found[0] <= found[-1] <= 1


def test_below_what_was_rated_no_score_is_raised() -> None:
    sure = replace(MADE, slope=1.0, intercept=3.0)
    assert sure.of(0.29) == 0.29
    assert sure.of(0.4) > 0.9


def test_few_ratings_move_the_map_little() -> None:
    slope, intercept = fit([0.5, 0.6], [False, False])
    assert abs(slope - 1) < 0.2
    assert -0.3 < intercept < 0


# --- in a home ---


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with 240 rated answers that were too sure, and a refusal that was rated too."""
    with open_kb(tmp_path / "home") as kb:
        for one in answers(too_sure, 240):
            kb.catalogue.record_answer(cited(one.answer_id, one.shipped, question=one.question))
            ((author, score),) = one.ratings
            kb.catalogue.feedback.put(rated(one.answer_id, score, author, one.question))
        kb.catalogue.record_answer(unanswered("ans_none"))
        kb.catalogue.feedback.put(rated("ans_none", 100))
        kb.catalogue.record_answer(cited("ans_counted", answered_by="catalogue"))
        kb.catalogue.feedback.put(rated("ans_counted", 100))
    return tmp_path / "home"


def live(kb: KnowledgeBase) -> Calibration | None:
    return kb.catalogue.calibrations.live()


def test_it_is_in_force_until_it_is_taken_back(home: Path) -> None:
    with open_kb(home) as kb:
        assert calibrate(kb, keep=False).better
        assert live(kb) is None
        trial = calibrate(kb)
        assert trial.rated == 240  # what the learned score did not judge is left out
    with open_kb(home) as kb:
        assert live(kb) == trial.fitted
        assert not calibrate(kb).better
        assert kb.catalogue.calibrations.undo() == trial.fitted
        assert live(kb) is None
        assert kb.catalogue.calibrations.undo() is None


def test_a_crash_leaves_the_one_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_kb(home) as kb:
        kb.catalogue.calibrations.put(MADE)

        def crash(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(calibration_records, "put_properties", crash)
        with pytest.raises(StoreError):
            kb.catalogue.calibrations.put(replace(MADE, slope=0.9))
        with pytest.raises(StoreError):
            kb.catalogue.calibrations.undo()
    with open_kb(home) as kb:
        assert live(kb) == MADE


def test_only_the_newest_are_kept(home: Path) -> None:
    with open_kb(home) as kb:
        for number in range(14):
            kb.catalogue.calibrations.put(replace(MADE, answers=number))
        kept = [one.answers for one in kb.catalogue.calibrations.every()]
        assert kept == list(range(4, 14))
