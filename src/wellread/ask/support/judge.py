"""The seam to a judge: whoever rules on a claim that the readings leave in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from wellread.ask.support.score import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a judge says of a claim, and why, in words for a reader."""

    name: Literal["supported", "partial", "unsupported"]
    reason: str


class Judge(Protocol):
    """Rules on one claim. A language model, or a person.

    Asked only when the readings leave doubt (``in_doubt``), since it is slow or costs money.
    """

    def __call__(self, claim: str, passages: Sequence[str]) -> Ruling | None:
        """Whether ``passages`` bear ``claim`` out; ``None`` when it cannot say.

        Raises:
            ModelError: the model could not be run or reached.
        """
        ...


def in_doubt(score: float, weights: Weights) -> bool:
    """Whether ``score`` lies between the thresholds, where a judge has most to add."""
    return weights.partial <= score < weights.supported
