"""How sure an answer is, its band and the reason in words (SPEC 7).

The language model's own claim is recorded beside it, never mixed in.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from wellread.answers import RELAXED, Confidence
from wellread.ask.verify.confidence.confidence_features import Readings
from wellread.ask.verify.confidence.confidence_score import score

HIGH, MEDIUM = 0.75, 0.5
NUMBERLESS = 0.45  # at most, when the answer lacks the number that is asked for
LENIENT = 1.0  # added to the log odds before anything is written: a model may find what words hide
CLOSE, NEAR = 0.6, 0.4  # cosines of the trained embedder
WHOLE, MOST = 0.95, 0.6  # shares of the question's words

Band = Literal["high", "medium", "low", "none"]


def judge(
    readings: Readings,
    threshold: float,
    model_claim: float | None = None,
    *,
    comparable: bool = True,
) -> Confidence:
    """The score with its band and its reason.

    Below ``threshold`` the band is ``none``, and so it is when no sentence is borne out.

    Args:
        comparable: whether the cosines are those of the embedder that the weights were learned
            with; when not, only words are weighed, and the reason says so.
    """
    found = round(score(readings, comparable=comparable), 3)
    return Confidence(
        score=found,
        band=_band(found, threshold) if readings.support else "none",
        reasoning=_reason(readings, comparable=comparable),
        model_claim=model_claim,
    )


def hopeful(readings: Readings, threshold: float, *, comparable: bool = True) -> bool:
    """Whether an answer from this evidence could reach ``threshold``.

    When it could not, no model is asked for what the sources do not hold. It errs on the side of
    asking: the answer itself is judged again.
    """
    found = score(replace(readings, support=1.0), comparable=comparable)
    if found in (0.0, 1.0):
        return found >= threshold
    odds = math.log(found / (1 - found)) + LENIENT
    return 1 / (1 + math.exp(-odds)) >= threshold


def without_a_limit(sure: Confidence) -> Confidence:
    """The same when the answer does not keep to a limit of the question: never highly sure."""
    return _at_most(sure, "a limit of the question had to be left out")


def disagreed(sure: Confidence) -> Confidence:
    """The same when the sources differ: never highly sure which of them is right."""
    return _at_most(sure, "the sources differ")


def without_a_number(sure: Confidence) -> Confidence:
    """The same when a number is asked for and the answer gives none."""
    return _at_most(sure, "a number is asked for, and no sentence gives one", NUMBERLESS, "low")


def _at_most(
    sure: Confidence, why: str, most: float = RELAXED, band: Band = "medium"
) -> Confidence:
    if sure.score <= most or sure.band == "none":
        return sure
    return replace(sure, score=most, band=band, reasoning=f"{sure.reasoning}; but {why}")


def _band(found: float, threshold: float) -> Band:
    if found < threshold:
        return "none"
    if found >= HIGH:
        return "high"
    return "medium" if found >= MEDIUM else "low"


def _reason(readings: Readings, *, comparable: bool) -> str:
    parts = [_by_meaning(readings)] if comparable else []
    parts.append(f"one passage holds {_share(readings.words)} words")
    if readings.names < 1:
        parts.append(
            f"only {readings.names:.0%} of its names and numbers"
            if readings.names
            else "none of its names and numbers"
        )
    said = ", ".join(parts)
    if not comparable:
        said += " (judged by words alone: the weights were not learned with this embedder)"
    if readings.support < 1:
        borne = f"{readings.support:.0%}" if readings.support else "none"
        said += f"; {borne} of the sentences are borne out by what they cite"
    return said


def _by_meaning(readings: Readings) -> str:
    nearest = max(readings.sentence, readings.passage)
    how = "close to" if nearest >= CLOSE else "near" if nearest >= NEAR else "far from"
    return f"the best passage is {how} the question ({nearest:.2f})"


def _share(share: float) -> str:
    if share >= WHOLE:
        return "all the question's"
    if share >= MOST:
        return f"most of the question's ({share:.0%})"
    return f"{share:.0%} of the question's" if share else "none of the question's"
