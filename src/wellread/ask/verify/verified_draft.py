"""A model's draft with a verdict for each sentence, and how sure the answer is.

A model judges it (``judge.py``); how sure it is follows from the verdicts and from the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyio import to_thread

from wellread.answers import Checked, Confidence, Evidence
from wellread.ask.retrieve.retrieval import Found
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.confidence import (
    DISPUTED,
    LIMIT_LEFT_OUT,
    confidence_of_verdicts,
    scale_of,
)
from wellread.ask.verify.judge import Rival, judged
from wellread.ask.write.drafting import Written
from wellread.ask.write.extracts import extracts_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A draft with a verdict for each claim, and how sure it is.

    Attributes:
        rivals: passages that give another value than a sentence, by the judge.
        failures: why nobody has judged it, in words.
        own: sentences by which an expert puts right what they flagged as harmful themselves.
    """

    written: Written | None
    rivals: tuple[Rival, ...] = ()
    checked: Sequence[Checked]
    sure: Confidence
    failures: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()


async def verified_draft(
    kb: KnowledgeBase,
    analysis: Analysis,
    found: Found,
    evidence: Sequence[Evidence],
    written: Written,
) -> Verified:
    """Check each sentence of the draft, have it judged, and say how sure the answer is.

    Raises:
        ModelError: the embedder cannot be run.
        StoreError: the catalogue cannot be read.
    """
    checked = await to_thread.run_sync(check_claims, written.claims, evidence, analysis.voices)
    ruling = await judged(kb, analysis, evidence, checked, by=written.by)
    known = ((LIMIT_LEFT_OUT, found.relaxed), (DISPUTED, ruling.rivals))
    shown = await to_thread.run_sync(extracts_of, kb, analysis, evidence)
    scale = await to_thread.run_sync(scale_of, kb)
    sure = confidence_of_verdicts(
        [item.verdict for item in ruling.checked],
        shown.confidence,
        written.answered,
        calibration=scale["calibration"],
        model_claim=written.model_claim,
        caps=[cap for cap, applies in known if applies],
    )
    return Verified(
        written=replace(written, usage=written.usage + ruling.usage),
        rivals=ruling.rivals,
        checked=ruling.checked,
        sure=sure,
        failures=(ruling.failure,) if ruling.failure else (),
    )
