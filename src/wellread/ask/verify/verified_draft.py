"""A draft with a verdict for each of its sentences, and how sure the answer is that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Checked, Confidence, Evidence
from wellread.ask.retrieve.reported_speech import heard
from wellread.ask.retrieve.retrieval import Found
from wellread.ask.verify.asked_for import misses
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.confidence import (
    DISPUTED,
    LIMIT_LEFT_OUT,
    hopeful,
    judge,
    scale_of,
)
from wellread.ask.verify.confidence_features import features_of
from wellread.ask.verify.conflicts.disputes import Dispute, with_disputes
from wellread.ask.write.drafting import Drafting, Written
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A draft with a verdict for each claim, what its sources dispute, and how sure it is.

    ``own``: sentences by which an expert puts right what they flagged as harmful themselves.
    """

    written: Written | None
    disputes: tuple[Dispute, ...] = ()
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
    """Add what the sources dispute, check each sentence, and say how sure the answer is."""
    written = drafting.written
    disputes: tuple[Dispute, ...] = ()
    checked: list[Checked] = []
    if written is not None:
        written, disputes = with_disputes(analysis, evidence, written, drafting.readings)
        checked = check_claims(
            written.claims,
            evidence,
            kb.lexical if drafting.reader_failed else kb.checker,
            voices=analysis.voices,
            reader=kb.reader,
            most=kb.settings.reader.most,
        )
    caps = misses(analysis, evidence, [item.claim for item in checked])
    known = ((LIMIT_LEFT_OUT, found.relaxed), (DISPUTED, disputes))
    features = features_of(
        analysis,
        heard(evidence, analysis.voices),
        [item.verdict for item in checked],
        kb.lexical,
        written.similarity if written and written.similarity else None,
        drafting.readings,
    )
    sure = judge(
        features,
        **scale_of(kb),
        model_claim=written.model_claim if written else None,
        caps=[*caps, *(cap for cap, applies in known if applies)],
    )
    return Verified(written=written, disputes=disputes, checked=checked, sure=sure)


def worth_writing(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence], drafting: Drafting
) -> bool:
    """Whether anything is written at all. Without a model nothing is lost by trying."""
    if kb.model is None or not evidence:
        return bool(evidence)
    heard_now = heard(evidence, analysis.voices)
    features = features_of(analysis, heard_now, (), kb.lexical, None, drafting.readings)
    return hopeful(features, **scale_of(kb))
