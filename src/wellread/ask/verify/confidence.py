"""Computes the confidence of an answer: score, caps, band and the reasoning shown to users.

For extracts the score is the fitted probability that they contain the answer
(``extract_score.py``); for model-written text it combines that probability with the judge's
verdicts. The model's own claim is recorded separately and does not affect the score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from anyio import to_thread

from wellread.ask.aggregate.query import DEFAULT_CERTAINTY
from wellread.ask.retrieve.ranking import Found
from wellread.ask.verify.check_claims import METHOD as JUDGE
from wellread.ask.verify.check_claims import VERBATIM, Rival, judge_sentences
from wellread.ask.verify.check_claims import check_claims as check_claims
from wellread.ask.write.extracts import Extracts, choose_extracts
from wellread.ask.write.parse_draft import Answered, Draft
from wellread.kb import KnowledgeBase
from wellread.values.answers import (
    RELAXED_CONFIDENCE,
    Checked,
    Confidence,
    Evidence,
    Verdict,
    VerdictName,
)
from wellread.values.question import Analysis

HIGH, MEDIUM = 0.75, 0.5
Band = Literal["high", "medium", "low", "none"]


Cap = tuple[float, str]
"""An upper limit of the confidence score, and the reason for it."""
LIMIT_LEFT_OUT: Cap = (RELAXED_CONFIDENCE, "a limit of the question had to be left out")
DISPUTED: Cap = (RELAXED_CONFIDENCE, "the sources differ")


def confidence_of_extracts(
    kb: KnowledgeBase, extracts: Extracts, caps: Sequence[Cap] = ()
) -> Confidence:
    """The estimated probability that the shown extracts contain the answer."""
    score = round(extracts.confidence, 3)
    percent = f"{score:.0%}".removesuffix("%")  # rounded like the percentage shown next to it
    reasoning = f"of 100 questions like this one, about {percent} find their answer here"
    for cap, why in caps:
        if cap < score:
            score, reasoning = cap, f"{reasoning}; but {why}"
    band = band_of(score, kb.settings.qa.confidence_threshold)
    return Confidence(score=score, band=band, reasoning=reasoning)


def confidence_of_catalogue(
    method: str, notes: Sequence[str], certainty: float = DEFAULT_CERTAINTY
) -> Confidence:
    """The confidence of a catalogue result: how certain it is that the question was understood.

    Notes on how the result was found limit it.
    """
    if notes:
        reason = f"computed from the whole catalogue, but {'; '.join(notes)}"
        certainty = min(certainty, RELAXED_CONFIDENCE)
    else:
        reason = f"computed from the whole catalogue: {method}"
    return Confidence(score=certainty, band=band_of(certainty, 0.0), reasoning=reason)


def confidence_of_expert(
    rating: int | None, *, fully_supported: bool, threshold: float
) -> Confidence:
    """Confidence of a reused expert-rated answer: its rating, up to that of a catalogue result."""
    highest = DEFAULT_CERTAINTY if fully_supported else HIGH
    score = highest if rating is None else round(min(rating / 100, highest), 3)
    state = "its sources still say so" if fully_supported else "its sources have not changed since"
    judgement = "corrected the answer to the same question"
    if rating is not None:
        judgement = f"rated this answer to the same question {rating} of 100"
    reason = f"an expert {judgement}, and {state}"
    return Confidence(score=score, band=band_of(score, threshold), reasoning=reason)


def band_of(score: float, threshold: float) -> Band:
    """The band of a score; ``none`` below the threshold."""
    if score < threshold:
        return "none"
    if score >= HIGH:
        return "high"
    return "medium" if score >= MEDIUM else "low"


# --- a model's draft with a verdict for each sentence --------------------------------------------

VERDICTS_WEIGHT = 0.8  # the rest is the weight of the evidence
MAX_UNJUDGED = 0.7  # highest score of a model's answer without a judge's verdicts
ANSWERED: Mapping[Answered | None, float] = {"yes": 1.0, "partly": 0.75, "no": 0.4}
_ANSWERED_SO: Mapping[Answered | None, str] = {
    "yes": "answer the question",
    "partly": "answer it in part",
    "no": "do not answer it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedDraft:
    """A draft with a verdict for each claim, its evidence and its confidence.

    Attributes:
        rivals: passages that contradict a sentence, according to the judge.
        failures: reasons why it was not judged.
        note: the origin of an expert's answer; empty for a model's draft.
        own: sentences by which an expert corrects what they flagged as harmful themselves.
    """

    written: Draft
    checked: Sequence[Checked]
    evidence: Sequence[Evidence]
    sure: Confidence
    rivals: tuple[Rival, ...] = ()
    failures: tuple[str, ...] = ()
    note: str = ""
    own: frozenset[str] = frozenset()


async def verify_draft(
    kb: KnowledgeBase,
    analysis: Analysis,
    found: Found,
    evidence: Sequence[Evidence],
    written: Draft,
) -> VerifiedDraft:
    """Check each sentence of the draft, have it judged, and compute the confidence."""
    checked = await to_thread.run_sync(check_claims, written.claims, evidence, analysis.voices)
    ruling = await judge_sentences(kb, analysis, evidence, checked, by=written.by)
    possible_caps = ((LIMIT_LEFT_OUT, found.relaxed), (DISPUTED, ruling.rivals))
    hits = {hit.passage.id for hit in found.hits}  # the probability was fitted on search hits only
    found_pieces = [piece for piece in evidence if piece.hit.passage.id in hits]
    extracts = await to_thread.run_sync(choose_extracts, kb, analysis, found_pieces)
    sure = confidence_of_verdicts(
        [item.verdict for item in ruling.checked],
        extracts.confidence,
        written.answered,
        model_claim=written.model_claim,
        caps=[cap for cap, applies in possible_caps if applies],
    )
    return VerifiedDraft(
        written=replace(written, usage=written.usage + ruling.usage),
        checked=ruling.checked,
        evidence=evidence,
        rivals=ruling.rivals,
        sure=sure,
        failures=(ruling.failure,) if ruling.failure else (),
    )


def confidence_of_verdicts(
    verdicts: Sequence[Verdict],
    evidence: float,
    answered: Answered | None,
    *,
    model_claim: float | None = None,
    caps: Sequence[Cap] = (),
) -> Confidence:
    """The confidence of a model-written answer, from the judge's verdicts and the evidence.

    Its band is ``none`` only when it cites nothing and does not claim to answer: text with a
    citation is always shown. The weights are set by hand, not fitted.
    """
    stated = [verdict for verdict in verdicts if not verdict.states_nothing]
    settled = [verdict for verdict in stated if verdict.name != VerdictName.NOT_CHECKED]
    judged = any(verdict.method in (JUDGE, VERBATIM) for verdict in settled)
    support = sum(1.0 if verdict.name.whole else 0.5 * verdict.name.supports for verdict in settled)
    cited = sum(verdict.name != VerdictName.UNCITED for verdict in stated)
    if judged:
        share = support / len(settled)
        score = VERDICTS_WEIGHT * share + (1 - VERDICTS_WEIGHT) * evidence
        supported = sum(verdict.name.whole for verdict in settled)
        reasoning = f"{supported} of {len(settled)} sentences are supported by what they cite"
    else:
        share = cited / len(stated) if stated else 0.0
        score = min(MAX_UNJUDGED, (share + evidence) / 2)
        reasoning = f"{cited} of {len(stated)} sentences cite a passage, but none was judged"
    if answered in ANSWERED:
        score *= ANSWERED[answered]
        reasoning += f"; the model says that the sources {_ANSWERED_SO[answered]}"
    for cap, why in caps:
        if cap < score:
            score, reasoning = cap, f"{reasoning}; but {why}"
    score = round(score, 3)
    answers = cited or (stated and answered in ("yes", "partly"))
    return Confidence(
        score=score,
        band=band_of(score, 0.0) if answers else "none",
        reasoning=reasoning,
        model_claim=model_claim,
    )
