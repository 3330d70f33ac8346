"""How sure an answer is: what its score comes from, what caps it, its band, the reason in words.

Of extracts the score is the fitted chance that they hold the answer (``extract_score.py``); of what
a model wrote it comes from the judge's verdicts and that chance. The language model's own claim is
recorded beside it, never mixed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from anyio import to_thread

from wellread.ask.aggregate.read.result import CATALOGUE_SURE
from wellread.ask.retrieve.ranking import Found
from wellread.ask.verify.check_claims import VERBATIM
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.judge import METHOD as JUDGE
from wellread.ask.verify.judge import Rival, judged
from wellread.ask.write.drafting import Written
from wellread.ask.write.extracts import Extracts, extracts_of
from wellread.ask.write.parse_draft import Answered
from wellread.kb import KnowledgeBase
from wellread.values.answers import RELAXED, Checked, Confidence, Evidence, Verdict, VerdictName
from wellread.values.question import Analysis

HIGH, MEDIUM = 0.75, 0.5
Band = Literal["high", "medium", "low", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What keeps an answer from being surer than ``most``, and why, in words."""

    most: float
    why: str


LIMIT_LEFT_OUT = Cap(most=RELAXED, why="a limit of the question had to be left out")
DISPUTED = Cap(most=RELAXED, why="the sources differ")


def of_extracts(kb: KnowledgeBase, found: Extracts, caps: Sequence[Cap] = ()) -> Confidence:
    """How likely what is shown lets a careful person read the answer."""
    score = round(found.confidence, 3)
    many = f"{score:.0%}".removesuffix("%")  # rounded as the percentage that stands beside it
    likely = f"of 100 questions like this one, about {many} find their answer here"
    for cap in caps:
        if cap.most < score:
            score, likely = cap.most, f"{likely}; but {cap.why}"
    band = band_of(score, kb.settings.qa.confidence_threshold)
    return Confidence(score=score, band=band, reasoning=likely)


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


def of_expert(rating: int | None, *, whole: bool, threshold: float) -> Confidence:
    """A past answer is as sure as its expert was, and never surer than what is counted.

    Args:
        rating: None for one that the expert put right.
        whole: whether the checker finds each sentence in the sources.
    """
    most = CATALOGUE_SURE if whole else HIGH
    found = most if rating is None else round(min(rating / 100, most), 3)
    held = "its sources still say so" if whole else "its sources have not changed since"
    said = "put the answer to the same question right"
    if rating is not None:
        said = f"rated this answer to the same question {rating} of 100"
    reason = f"an expert {said}, and {held}"
    return Confidence(score=found, band=band_of(found, threshold), reasoning=reason)


def band_of(found: float, threshold: float) -> Band:
    """The band of a score; ``none`` below the threshold."""
    if found < threshold:
        return "none"
    if found >= HIGH:
        return "high"
    return "medium" if found >= MEDIUM else "low"


# --- a model's draft with a verdict for each sentence --------------------------------------------

BY_VERDICTS = 0.8  # what the verdicts weigh of a model's answer, the rest the evidence
UNJUDGED = 0.7  # how sure an answer of a model is at most that nobody has judged
ANSWERED: Mapping[Answered | None, float] = {"yes": 1.0, "partly": 0.75, "no": 0.4}
_ANSWERED_SO: Mapping[Answered | None, str] = {
    "yes": "answer the question",
    "partly": "answer it in part",
    "no": "do not answer it",
}


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
    """Check each sentence of the draft, have it judged, and say how sure the answer is."""
    checked = await to_thread.run_sync(check_claims, written.claims, evidence, analysis.voices)
    ruling = await judged(kb, analysis, evidence, checked, by=written.by)
    known = ((LIMIT_LEFT_OUT, found.relaxed), (DISPUTED, ruling.rivals))
    hits = {hit.passage.id for hit in found.hits}  # what the chance of an answer was fitted on
    near = [piece for piece in evidence if piece.hit.passage.id in hits]
    shown = await to_thread.run_sync(extracts_of, kb, analysis, near)
    sure = confidence_of_verdicts(
        [item.verdict for item in ruling.checked],
        shown.confidence,
        written.answered,
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


def confidence_of_verdicts(
    verdicts: Sequence[Verdict],
    evidence: float,
    answered: Answered | None,
    *,
    model_claim: float | None = None,
    caps: Sequence[Cap] = (),
) -> Confidence:
    """How sure an answer is that a model wrote: by the judge's verdicts and the evidence.

    Its band is ``none`` only where it says that it is no answer and cites nothing: what a model
    wrote with a citation is shown. The three numbers are set by hand, not learned.

    Args:
        verdicts: of its sentences.
        evidence: how likely the evidence answers the question, 0-1.
        answered: what the model says of that itself.
    """
    stated = [one for one in verdicts if not one.states_nothing]
    settled = [one for one in stated if one.name != VerdictName.NOT_CHECKED]
    judged = any(one.method in (JUDGE, VERBATIM) for one in settled)
    borne_out = sum(1.0 if one.name.whole else 0.5 * one.name.supports for one in settled)
    cited = sum(one.name != VerdictName.UNCITED for one in stated)
    if judged:
        share = borne_out / len(settled)
        found = BY_VERDICTS * share + (1 - BY_VERDICTS) * evidence
        whole = sum(one.name.whole for one in settled)
        reasoning = f"{whole} of {len(settled)} sentences are borne out by what they cite"
    else:
        share = cited / len(stated) if stated else 0.0
        found = min(UNJUDGED, (share + evidence) / 2)
        reasoning = f"{cited} of {len(stated)} sentences cite a passage, and nobody has judged them"
    if answered in ANSWERED:
        found *= ANSWERED[answered]
        reasoning += f"; the model says that the sources {_ANSWERED_SO[answered]}"
    for cap in caps:
        if cap.most < found:
            found, reasoning = cap.most, f"{reasoning}; but {cap.why}"
    found = round(found, 3)
    answers = cited or (stated and answered in ("yes", "partly"))
    return Confidence(
        score=found,
        band=band_of(found, 0.0) if answers else "none",
        reasoning=reasoning,
        model_claim=model_claim,
    )
