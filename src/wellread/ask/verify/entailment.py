"""Asking a judge about the claims that are in doubt, and what becomes of their verdicts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.answers import Verdict, VerdictName
from wellread.ask.verify.support.doubt import in_doubt
from wellread.ask.verify.support.support_score import learned
from wellread.errors import ModelError
from wellread.models.judge import Case, Judge, Ruling

logger = logging.getLogger(__name__)

RULED, FAILED = "judge", "judge failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A verdict by the built-in steps, and the texts that it was made from."""

    claim: str
    verdict: Verdict
    passages: tuple[str, ...]

    @property
    def doubtful(self) -> bool:
        """Whether a judge has something to add: support that is neither clear nor clearly none."""
        verdict = self.verdict
        return verdict.method == "support" and in_doubt(verdict.score, learned())


def ruled(settled: Sequence[Settled], judge: Judge, most: int) -> list[Verdict]:
    """The verdicts after ``judge`` was asked about the first ``most`` doubtful claims.

    A judge that fails or cannot say leaves the verdict and shows in its method and reason.
    """
    asked = [place for place, each in enumerate(settled) if each.doubtful][:most]
    verdicts = [each.verdict for each in settled]
    if not asked:
        return verdicts
    cases = [Case(claim=settled[place].claim, passages=settled[place].passages) for place in asked]
    for place, ruling in zip(asked, _rulings(judge, cases), strict=True):
        verdicts[place] = _after(verdicts[place], ruling)
    return verdicts


def _rulings(judge: Judge, cases: Sequence[Case]) -> Sequence[Ruling]:
    try:
        rulings = judge(cases)
    except ModelError as error:
        logger.warning("the judge failed, verdicts stay as they were: %s", error)
        return [Ruling(name="undecided", reason=str(error)) for _ in cases]
    if len(rulings) != len(cases):
        reason = f"the judge gave {len(rulings)} rulings for {len(cases)} claims"
        logger.warning("%s, verdicts stay as they were", reason)
        return [Ruling(name="undecided", reason=reason) for _ in cases]
    return rulings


def _after(verdict: Verdict, ruling: Ruling) -> Verdict:
    if ruling.name == "undecided":
        reason = f"{verdict.reason}; the judge could not say: {ruling.reason}"
        return replace(verdict, method=f"{verdict.method}; {FAILED}", reason=reason)
    name, reason = VerdictName(ruling.name), ruling.reason or verdict.reason
    return replace(verdict, name=name, method=RULED, reason=reason)
