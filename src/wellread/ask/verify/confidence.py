"""How sure an answer is: a learned score, what caps it, its band, and the reason in words.

The score is the probability that the material answers the question and that the answer shows it.
Its weights stand in ``confidence.json``; ``benchmarks/train_confidence.py`` writes it. A base whose
answers were rated may have a calibration of its own, which maps that score to another. The language
model's own claim is recorded beside it, never mixed in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal, TypedDict

from wellread.answers import RELAXED, Confidence
from wellread.ask.aggregate.queries.result import CATALOGUE_SURE
from wellread.ask.verify.confidence_features import Features
from wellread.kb import KnowledgeBase
from wellread.models.base import Embedder
from wellread.store.schema.calibration_values import Calibration

FILE = "confidence.json"
MEANING = ("sentence", "passage")
WORDS = ("together", "words", "names", "closeness")
READ = ("answers", "chosen")
READ_WHOLE = (*READ, "passage", *WORDS)
HIGH, MEDIUM = 0.75, 0.5
CLOSE, NEAR = 0.6, 0.4  # cosines of the trained embedder
WHOLE, MOST = 0.95, 0.6  # shares of the question's words
Band = Literal["high", "medium", "low", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What keeps an answer from being surer than ``most``, and why, in words."""

    most: float
    why: str


LIMIT_LEFT_OUT = Cap(most=RELAXED, why="a limit of the question had to be left out")
DISPUTED = Cap(most=RELAXED, why="the sources differ")
NAMELESS = Cap(most=0.45, why="no passage has the name that is asked about")


class Scale(TypedDict):
    """What scores of a base are held against: the arguments of ``judge`` that hang on it alone."""

    threshold: float
    comparable: bool
    calibration: Calibration | None


def scale_of(kb: KnowledgeBase) -> Scale:
    """The scale of ``kb`` as it is now.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    return Scale(
        threshold=kb.settings.qa.confidence_threshold,
        comparable=comparable(kb.embedder),
        calibration=kb.catalogue.calibrations.live(),
    )


def judge(
    features: Features,
    threshold: float,
    *,
    caps: Sequence[Cap] = (),
    comparable: bool = True,
    calibration: Calibration | None = None,
) -> Confidence:
    """The score with its band and its reason.

    Below ``threshold`` the band is ``none``.

    Args:
        caps: what is known against the answer; each that lowers the score is named in the reason.
        comparable: whether the cosines are those of the embedder that the weights were learned
            with; when not, only words are weighed, and the reason says so.
        calibration: the base's own; threshold and bands are held against what it makes of a score.
    """
    found = round(score(features, comparable=comparable), 3)
    reasoning = _reason(features, comparable=comparable)
    for cap in (*caps, *([NAMELESS] if not features.names else [])):
        if cap.most < found and found >= threshold:
            found, reasoning = cap.most, f"{reasoning}; but {cap.why}"
    shipped = None if calibration is None else found
    if calibration is not None:
        found = calibration.of(found)
        reasoning += (
            f"; by {calibration.answers:,} rated answers of this base, {shipped} is {found}"
        )
    return Confidence(
        score=found,
        band=band_of(found, threshold),
        reasoning=reasoning,
        shipped=shipped,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic regression: the log odds are ``bias`` and each feature times its weight."""

    bias: float
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The numbers that come with the package.

    Attributes:
        embedder: the embedder whose cosines ``whole`` was learned with.
        whole: for answers over that embedder's vectors.
        by_words: for those over any other: one model's cosine of .6 is another's .3.
        read: as ``whole``, for answers whose passages the reader read.
        read_by_words: as ``by_words``, for the same.
    """

    embedder: str
    whole: Weights
    by_words: Weights
    read: Weights
    read_by_words: Weights

    def weights(self, features: Features, *, comparable: bool) -> Weights:
        """Those that ``features`` are weighed with."""
        if features.answers is None:
            return self.whole if comparable else self.by_words
        return self.read if comparable else self.read_by_words


def score(features: Features, *, comparable: bool) -> float:
    """How likely the evidence answers, 0-1.

    Args:
        comparable: whether the cosines are those of ``Learned.embedder``.
    """
    odds = weigh(features, learned().weights(features, comparable=comparable))
    return 1 / (1 + math.exp(-odds))


def comparable(embedder: Embedder) -> bool:
    """Whether the cosines of ``embedder`` are those that the weights were learned with.

    A file of another precision has the same cosines; so only the model's name counts.
    """
    return embedder.identity.partition("/")[0] == learned().embedder


def weigh(features: Features, weights: Weights) -> float:
    """The log odds of ``features``, whatever was borne out."""
    values = values_of(features)
    return weights.bias + math.fsum(
        weight * values[name] for name, weight in weights.features.items()
    )


def values_of(features: Features) -> dict[str, float]:
    """The features that are weighed, by name."""
    return {
        "sentence": features.sentence,
        "passage": features.passage,
        "together": features.together,
        "words": features.words,
        "names": features.names,
        "closeness": features.closeness,
        "answers": features.answers or 0.0,
        "chosen": features.chosen or 0.0,
    }


@cache
def learned() -> Learned:
    """The numbers that come with the package."""
    file = resources.files("wellread.ask.verify") / FILE
    read = json.loads(file.read_text(encoding="utf-8"))
    return Learned(
        embedder=str(read["embedder"]),
        whole=_weights(read["whole"], MEANING + WORDS),
        by_words=_weights(read["by_words"], WORDS),
        read=_weights(read["read"], READ_WHOLE),
        read_by_words=_weights(read["read_by_words"], READ + WORDS),
    )


def _weights(read: Mapping[str, float], names: tuple[str, ...]) -> Weights:
    return Weights(bias=float(read["bias"]), features={name: float(read[name]) for name in names})


def band_of(found: float, threshold: float) -> Band:
    """The band of a score."""
    if found < threshold:
        return "none"
    if found >= HIGH:
        return "high"
    return "medium" if found >= MEDIUM else "low"


def _reason(features: Features, *, comparable: bool) -> str:
    parts = [_by_meaning(features)] if comparable else []
    if features.answers is not None:
        likely = 1 / (1 + math.exp(-features.answers))
        parts.insert(0, f"the reader gives it {likely:.0%} that a passage answers")
    parts.append(f"one passage holds {_share(features.words)} words")
    if features.names < 1:
        parts.append(
            f"only {features.names:.0%} of its names and numbers"
            if features.names
            else "none of its names and numbers"
        )
    said = ", ".join(parts)
    if not comparable:
        said += " (judged by words alone: the weights were not learned with this embedder)"
    return said


def _by_meaning(features: Features) -> str:
    nearest = max(features.sentence, features.passage)
    how = "close to" if nearest >= CLOSE else "near" if nearest >= NEAR else "far from"
    return f"the best passage is {how} the question ({nearest:.2f})"


def _share(share: float) -> str:
    if share >= WHOLE:
        return "all the question's"
    if share >= MOST:
        return f"most of the question's ({share:.0%})"
    return f"{share:.0%} of the question's" if share else "none of the question's"
