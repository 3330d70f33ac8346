"""``wellread calibrate``: fit the confidence on rated answers, and keep it only when it is better.

An answer counts as right from a mean rating of ``RIGHT_FROM`` on. The rating itself as a soft label
would use more of what experts say, but confidence would then be "the rating to expect", and bands
and ``qa.confidence_threshold`` are about "how likely is it right": someone who never gives more
than 70 would have no answer of high confidence any more.

Whether it is better is told on answers that it was not fitted on: ten folds by question, so that an
answer that was given again never stands on both sides, and, where several people rated, each
person's ratings judged by a map that was fitted on those of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from wellread.evaluation.bootstrap import Interval, brier, paired_difference
from wellread.kb import KnowledgeBase
from wellread.learning.calibration.platt_scaling import fit, mapped
from wellread.store.schema.calibration_values import Calibration, RatedAnswer

LEAST = 200  # rated answers
RIGHT_FROM = 50.0  # of 100
FOLDS = 10
SEED = 20_240_501
LEAST_BY_ONE = 20  # answers of a rater whose judgement is held out
MOST_BY_ONE = 0.5  # share of ratings by one person that is said aloud


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of fitting.

    Attributes:
        rated: how many answers were rated; ``missing`` are lacking to fit at all.
        fitted: the calibration that was fitted; None when too few were rated.
        better: whether it is to be kept, and ``why``, in words.
        warnings: what to know about the ratings.
    """

    rated: int
    missing: int = 0
    fitted: Calibration | None = None
    better: bool = False
    why: str = ""
    warnings: tuple[str, ...] = ()


def calibrate(kb: KnowledgeBase, *, keep: bool = True) -> Trial:
    """Fit the confidence of ``kb`` on its rated answers; put it in force when it is better.

    Args:
        keep: False changes nothing.

    Raises:
        StoreError: the catalogue cannot be read or written.
    """
    kb.catalogue.facts_of_answers.complete()
    trial = tried(kb.catalogue.calibrations.rated_answers(), kb.catalogue.calibrations.live())
    if keep and trial.better and trial.fitted is not None:
        kb.catalogue.calibrations.put(trial.fitted)
    return trial


def tried(rated: Sequence[RatedAnswer], live: Calibration | None = None) -> Trial:
    """Fit on ``rated`` and judge it against what is shipped, and against ``live``."""
    if len(rated) < LEAST:
        missing = LEAST - len(rated)
        why = f"rated answers: {len(rated):,}; {missing:,} more are needed"
        return Trial(rated=len(rated), missing=missing, why=why)
    right = [one.score >= RIGHT_FROM for one in rated]
    shipped = [one.shipped for one in rated]
    held_out = _held_out(rated, right)
    before = [brier(one, true) for one, true in zip(shipped, right, strict=True)]
    after = [brier(float(one), true) for one, true in zip(held_out, right, strict=True)]
    gain = paired_difference(before, after)
    slope, intercept = fit(shipped, right)
    people = Counter(author for one in rated for author, _ in one.ratings)
    fitted = Calibration(
        slope=slope,
        intercept=intercept,
        lowest=min(shipped),
        fitted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        answers=len(rated),
        questions=len({one.question for one in rated}),
        raters=len(people),
        largest_share=max(people.values()) / people.total(),
        right=sum(right) / len(right),
        before=sum(before) / len(before),
        after=sum(after) / len(after),
        gain=gain.mean,
        gain_low=gain.low,
        gain_high=gain.high,
    )
    in_force = (
        [brier(live.of(one), true) for one, true in zip(shipped, right, strict=True)]
        if (live)
        else before
    )
    why = _why_not(fitted, gain, sum(in_force) / len(in_force), _by_others(rated))
    said = f"held-out Brier score {fitted.after:.4f}, shipped {fitted.before:.4f}"
    return Trial(
        rated=len(rated),
        fitted=fitted,
        better=not why,
        why=why or f"better on answers that it was not fitted on: {said}",
        warnings=_warnings(fitted),
    )


def _held_out(rated: Sequence[RatedAnswer], right: Sequence[bool]) -> list[float]:
    """For each answer what a map says that was fitted without its fold."""
    questions = sorted({one.question for one in rated})
    order = np.random.default_rng(SEED).permutation(len(questions))
    fold_of = {questions[place]: number % FOLDS for number, place in enumerate(order)}
    folds = [fold_of[one.question] for one in rated]
    found = [one.shipped for one in rated]
    for fold in range(FOLDS):
        inside = [place for place, mine in enumerate(folds) if mine != fold]
        outside = [place for place, mine in enumerate(folds) if mine == fold]
        if not inside or not outside:
            continue
        line = fit([rated[place].shipped for place in inside], [right[place] for place in inside])
        for place, sure in zip(
            outside, mapped([rated[place].shipped for place in outside], *line), strict=True
        ):
            found[place] = float(sure)
    return found


def _by_others(rated: Sequence[RatedAnswer]) -> float | None:
    """How much better a rater's answers are judged by a map of the others' ratings.

    Each rater counts the same, however much they rated. None with a single rater, or when nobody
    rated enough to be held out.
    """
    ratings = [
        (author, one.shipped, score >= RIGHT_FROM) for one in rated for author, score in one.ratings
    ]
    counts = Counter(author for author, _, _ in ratings)
    gains: list[float] = []
    for author in sorted(name for name, count in counts.items() if count >= LEAST_BY_ONE):
        others = [(shipped, true) for name, shipped, true in ratings if name != author]
        if len(others) < LEAST_BY_ONE:
            continue
        line = fit([one for one, _ in others], [true for _, true in others])
        own = [(shipped, true) for name, shipped, true in ratings if name == author]
        sure = mapped([one for one, _ in own], *line)
        errors = zip(own, sure, strict=True)
        lost = sum(brier(one, true) - brier(float(new), true) for (one, true), new in errors)
        gains.append(lost / len(own))
    return sum(gains) / len(gains) if gains else None


def _why_not(fitted: Calibration, gain: Interval, in_force: float, others: float | None) -> str:
    """Why the fitted one is not kept; empty when it is."""
    if fitted.slope <= 0:
        return "ratings do not rise with confidence, so that no map of it helps"
    if gain.low <= 0:
        return (
            "it is not surely better on answers that it was not fitted on: Brier score "
            f"{fitted.after:.4f} instead of {fitted.before:.4f} shipped, a gain between "
            f"{gain.low:.4f} and {gain.high:.4f}"
        )
    if fitted.after >= in_force:
        return (
            f"the one in force is as good: Brier score {in_force:.4f}, this one {fitted.after:.4f}"
        )
    if others is not None and others <= 0:
        return "what one person's ratings teach makes it worse for the others'"
    return ""


def _warnings(fitted: Calibration) -> tuple[str, ...]:
    """What the ratings are one-sided in."""
    found = []
    if fitted.raters == 1:
        found.append(
            "all ratings are of one person: this is how sure that person finds the answers"
        )
    elif fitted.largest_share > MOST_BY_ONE:
        found.append(f"one person gave {fitted.largest_share:.0%} of the ratings")
    if fitted.questions < fitted.answers / 2:
        found.append(f"only {fitted.questions:,} different questions were rated")
    if not 0.05 <= fitted.right <= 0.95:
        found.append(f"{fitted.right:.0%} of the answers were rated right: nearly all are the same")
    return tuple(found)
