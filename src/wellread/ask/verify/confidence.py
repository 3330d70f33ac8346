"""How sure an answer is: what its score comes from, what caps it, its band, the reason in words.

Of extracts the score is the fitted chance that they hold the answer (``extract_score.py``); of what
a model wrote it comes from the judge's verdicts and that chance. A base whose answers were rated
may have a calibration of its own, which maps the score to another. The language model's own claim
is recorded beside it, never mixed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from wellread.answers import RELAXED, Confidence
from wellread.ask.aggregate.queries.result import CATALOGUE_SURE
from wellread.ask.write.extracts import Extracts
from wellread.kb import KnowledgeBase
from wellread.store.schema.calibration_values import Calibration

HIGH, MEDIUM = 0.75, 0.5
Band = Literal["high", "medium", "low", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What keeps an answer from being surer than ``most``, and why, in words."""

    most: float
    why: str


LIMIT_LEFT_OUT = Cap(most=RELAXED, why="a limit of the question had to be left out")
DISPUTED = Cap(most=RELAXED, why="the sources differ")


class Scale(TypedDict):
    """What scores of a base are held against."""

    threshold: float
    calibration: Calibration | None


def scale_of(kb: KnowledgeBase) -> Scale:
    """The scale of ``kb`` as it is now.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    return Scale(
        threshold=kb.settings.qa.confidence_threshold,
        calibration=kb.catalogue.calibrations.live(),
    )


def of_extracts(kb: KnowledgeBase, found: Extracts, caps: Sequence[Cap] = ()) -> Confidence:
    """How likely what is shown lets a careful person read the answer.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    scale = scale_of(kb)
    score = round(found.confidence, 3)
    many = f"{score:.0%}".removesuffix("%")  # rounded as the percentage that stands beside it
    likely = f"of 100 questions like this one, about {many} find their answer here"
    for cap in caps:
        if cap.most < score:
            score, likely = cap.most, f"{likely}; but {cap.why}"
    shipped, calibration = score, scale["calibration"]
    if calibration is not None:
        score = calibration.of(score)
        likely += f"; by {calibration.answers:,} rated answers of this base, {shipped} is {score}"
    return Confidence(
        score=score,
        band=band_of(score, scale["threshold"]),
        reasoning=likely,
        shipped=None if calibration is None else shipped,
    )


def declined(sure: Confidence) -> Confidence:
    """The same where nothing that could be shown is left of the answer."""
    return replace(sure, band="none")


def of_catalogue(
    method: str, notes: Sequence[str], certainty: float = CATALOGUE_SURE
) -> Confidence:
    """An exhaustive result is as sure as its question is clear.

    Less so where there is something to say of how it was found.
    """
    if notes:
        reason = f"worked out from the whole catalogue, but {'; '.join(notes)}"
        certainty = min(certainty, RELAXED)
    else:
        reason = f"worked out from the whole catalogue: {method}"
    band: Band = "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low"
    return Confidence(score=certainty, band=band, reasoning=reason)


def of_expert(rating: int, *, whole: bool, threshold: float) -> Confidence:
    """A past answer is as sure as its expert was, and never surer than what is counted.

    Args:
        whole: whether the checker finds each sentence in the sources.
    """
    found = round(min(rating / 100, CATALOGUE_SURE if whole else HIGH), 3)
    held = "its sources still say so" if whole else "its sources have not changed since"
    return Confidence(
        score=found,
        band=band_of(found, threshold),
        reasoning=f"an expert rated this answer to the same question {rating} of 100, and {held}",
    )


def of_correction(*, whole: bool, threshold: float) -> Confidence:
    """What an expert put right, on the place that they gave, is as sure as what is counted.

    Args:
        whole: whether the checker finds each sentence at its place.
    """
    found = CATALOGUE_SURE if whole else HIGH
    held = "its source says so" if whole else "its source has not changed since"
    return Confidence(
        score=found,
        band=band_of(found, threshold),
        reasoning=f"an expert put the answer to the same question right, and {held}",
    )


def band_of(found: float, threshold: float) -> Band:
    """The band of a score; ``none`` below the threshold."""
    if found < threshold:
        return "none"
    if found >= HIGH:
        return "high"
    return "medium" if found >= MEDIUM else "low"
