"""The seam to judges: whoever rules on claims that the built-in steps leave in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

SUPPORTED, PARTIAL = 0.5, 0.25  # of a probability; fact-checking models are trained to decide at .5

RulingName = Literal["supported", "partial", "unsupported", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A claim and the passages that should bear it out."""

    claim: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a judge says of one case.

    Attributes:
        name: ``undecided`` when it cannot say; the verdict then stays what it was.
        reason: in words for a reader; of an undecided case, why.
    """

    name: RulingName
    reason: str = ""


class Judge(Protocol):
    """Rules on cases: any callable, a language model, a fact-checking model, a person.

    Asked only about cases in doubt, all of an answer's together, since it is slow or costs money.
    Calls may come from several threads; they are sync, so async callers go through a worker
    thread.
    """

    def __call__(self, cases: Sequence[Case]) -> Sequence[Ruling]:
        """A ruling for each of ``cases``, in order. One that fails alone is ``undecided``.

        Raises:
            ModelTimeoutError: no ruling at all within the time limit.
            ModelError: the model could not be run or reached.
        """
        ...


def ruling_of(probability: float) -> Ruling:
    """What a fact-checking model's probability says."""
    reason = f"a fact-checking model gives it {probability:.0%}"
    if probability >= SUPPORTED:
        return Ruling(name="supported", reason=reason)
    return Ruling(name="partial" if probability >= PARTIAL else "unsupported", reason=reason)
