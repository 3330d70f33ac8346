"""The readings weighed into a probability, by numbers learned from development data.

The score is the probability that the material answers the question and that the answer shows it.
The numbers stand in ``weights.json``; ``benchmarks/train_confidence.py`` writes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from wellread.ask.verify.confidence.confidence_features import Readings
from wellread.models.base import Embedder

FILE = "weights.json"
MEANING = ("sentence", "passage")
WORDS = ("together", "words", "names", "closeness")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic regression: the log odds are ``bias`` and each reading times its weight."""

    bias: float
    readings: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The numbers that come with the package.

    Attributes:
        embedder: the embedder whose cosines ``whole`` was learned with.
        whole: for answers over that embedder's vectors.
        by_words: for those over any other: one model's cosine of .6 is another's .3.
    """

    embedder: str
    whole: Weights
    by_words: Weights


def score(readings: Readings, *, comparable: bool) -> float:
    """How likely the answer is right, 0-1.

    Sentences that are not borne out count against it: with none of them borne out half is left.

    Args:
        comparable: whether the cosines are those of ``Learned.embedder``.
    """
    known = learned()
    odds = weigh(readings, known.whole if comparable else known.by_words)
    return (1 + readings.support) / 2 / (1 + math.exp(-odds))


def comparable(embedder: Embedder) -> bool:
    """Whether the cosines of ``embedder`` are those that the weights were learned with.

    A file of another precision has the same cosines; so only the model's name counts.
    """
    return embedder.identity.partition("/")[0] == learned().embedder


def weigh(readings: Readings, weights: Weights) -> float:
    """The log odds of ``readings``, whatever was borne out."""
    values = values_of(readings)
    return weights.bias + math.fsum(
        weight * values[name] for name, weight in weights.readings.items()
    )


def values_of(readings: Readings) -> dict[str, float]:
    """The readings that are weighed, by name."""
    return {
        "sentence": readings.sentence,
        "passage": readings.passage,
        "together": readings.together,
        "words": readings.words,
        "names": readings.names,
        "closeness": readings.closeness,
    }


@cache
def learned() -> Learned:
    """The numbers that come with the package."""
    file = resources.files("wellread.ask.verify.confidence") / FILE
    read = json.loads(file.read_text(encoding="utf-8"))
    return Learned(
        embedder=str(read["embedder"]),
        whole=_weights(read["whole"], MEANING + WORDS),
        by_words=_weights(read["by_words"], WORDS),
    )


def _weights(read: Mapping[str, float], names: tuple[str, ...]) -> Weights:
    return Weights(bias=float(read["bias"]), readings={name: float(read[name]) for name in names})
