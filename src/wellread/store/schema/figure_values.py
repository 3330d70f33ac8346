"""What the figures of answers add up to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Answers and what they add up to.

    Attributes:
        cited: answered, with citations; ``uncited``: answered without any.
        unanswered: the material did not hold it.
        asked_back: it was asked what is meant, or nothing was asked.
        cached: given before and given again; counted in all others, too.
        high, medium, low: bands of confidence of those that were answered.
        confidence: their mean; 0 when there are none.
        cost: in US dollars.
    """

    asked: int = 0
    cited: int = 0
    uncited: int = 0
    unanswered: int = 0
    asked_back: int = 0
    follow_ups: int = 0
    cached: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0
    confidence: float = 0.0
    citations: int = 0
    quoted: int = 0
    supported: int = 0
    partial: int = 0
    not_checked: int = 0
    uncited_sentences: int = 0
    unsupported: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Answers of one day (``2026-03-18``) or hour (``2026-03-18 12``), in UTC."""

    start: str
    asked: int
    cited: int
    unanswered: int
    follow_ups: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds of one step; ``percentiles`` are those of ``PERCENTILES``, by the nearest rank."""

    name: str
    answers: int
    seconds: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What answers were about: ``kind`` is ``collection``, ``field`` or ``word``."""

    kind: str
    topic: str
    asked: int
    unanswered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCount:
    """Questions of one kind and status in the ledger of gaps."""

    kind: str
    status: str
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls of one purpose, provider and model; ``cost`` in US dollars, ``seconds`` of all."""

    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float
