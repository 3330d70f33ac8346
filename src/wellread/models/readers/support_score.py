"""How well the cited passages bear a claim out, 0-1: the readings weighed by learned numbers.

The numbers stand in ``support_weights.json``; ``benchmarks/train_support.py`` writes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from wellread.models.base import Embedder
from wellread.models.readers.support_features import (
    NAMES,
    Compared,
    Source,
    compare,
    contained,
    readings,
)
from wellread.types import Span

FILE = "support_weights.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic regression: the log odds are ``bias`` and each reading times its weight.

    Attributes:
        supported: the score from which a claim counts as borne out.
        partial: the score from which it counts as borne out in part.
    """

    bias: float
    readings: Mapping[str, float]
    supported: float
    partial: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How far a claim is borne out, and by which sentence.

    Attributes:
        source: which of the sources holds the best sentence; ``None`` when none shares a word.
        span: the best sentence, in that source's text.
        readings: what the score was computed from, by name.
        contained: one sentence holds every word of the claim, in its order.
    """

    score: float
    source: int | None
    span: Span
    readings: Mapping[str, float]
    contained: bool = False


def support(claim: str, sources: Sequence[Source], embedder: Embedder) -> Support:
    """How far ``sources`` together bear ``claim`` out.

    Embeds the claim and at most three sentences; nothing when no sentence shares a word with it.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    compared = compare(claim, sources)
    if not any(line.held for line in compared.best):
        return Support(score=0.0, source=None, span=Span(start=0, end=0), readings={})
    nearness = near(compared, embedder)
    found = readings(compared, nearness)
    place = max(range(len(nearness)), key=lambda at: (_held(compared, at) + nearness[at], -at))
    best = compared.best[place]
    return Support(
        score=weigh(found, learned()),
        source=best.source,
        span=best.span,
        readings=found,
        contained=contained(compared),
    )


def near(compared: Compared, embedder: Embedder) -> list[float]:
    """The cosine of the claim and each of ``compared.best``."""
    texts = [compared.claim, *(line.text for line in compared.best)]
    vectors = embedder.embed(texts, "passage")
    return [float(value) for value in vectors[1:] @ vectors[0]]


def weigh(found: Mapping[str, float], weights: Weights) -> float:
    """The score of ``found``, 0-1."""
    odds = weights.bias + math.fsum(weights.readings[name] * found[name] for name in NAMES)
    return 1 / (1 + math.exp(-odds))


def in_doubt(score: float, weights: Weights) -> bool:
    """Whether ``score`` lies between the thresholds, where a judge has most to add."""
    return weights.partial <= score < weights.supported


@cache
def learned() -> Weights:
    """The numbers that come with the package."""
    text = resources.files("wellread.models.readers").joinpath(FILE).read_text(encoding="utf-8")
    read = json.loads(text)
    return Weights(
        bias=float(read["bias"]),
        readings={name: float(read["readings"][name]) for name in NAMES},
        supported=float(read["supported"]),
        partial=float(read["partial"]),
    )


def _held(compared: Compared, at: int) -> float:
    return sum(compared.worth[stem] for stem in compared.best[at].held)
