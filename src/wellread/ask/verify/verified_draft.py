"""A draft with a verdict for each of its sentences, and how sure the answer is that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Checked, Confidence, Evidence
from wellread.ask.retrieve.reported_speech import heard
from wellread.ask.retrieve.retrieval import Found
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.confidence import (
    LIMIT_LEFT_OUT,
    judge,
    scale_of,
)
from wellread.ask.verify.confidence_features import features_of
from wellread.ask.write.drafting import Drafting, Written
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A draft with a verdict for each claim, and how sure it is.

    ``own``: sentences by which an expert puts right what they flagged as harmful themselves.
    """

    written: Written | None
    checked: Sequence[Checked]
    sure: Confidence
    own: frozenset[str] = frozenset()


def verified_draft(
    kb: KnowledgeBase,
    analysis: Analysis,
    found: Found,
    evidence: Sequence[Evidence],
    drafting: Drafting,
) -> Verified:
    """Check each sentence of the draft, and say how sure the answer is."""
    written = drafting.written
    checked = check_claims(
        written.claims if written else (),
        evidence,
        kb.checker,
        voices=analysis.voices,
        reader=kb.reader,
        most=kb.settings.reader.most,
    )
    features = features_of(
        analysis,
        heard(evidence, analysis.voices),
        [item.verdict for item in checked],
        kb.lexical,
    )
    sure = judge(
        features,
        **scale_of(kb),
        model_claim=written.model_claim if written else None,
        caps=[LIMIT_LEFT_OUT] if found.relaxed else [],
    )
    return Verified(written=written, checked=checked, sure=sure)
