"""A disagreement of the evidence beside a draft that somebody else wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Claim, Evidence
from wellread.ask.understand.answer_kind import expected_of
from wellread.ask.verify.conflicts.compared_values import values
from wellread.ask.verify.conflicts.detect import Disagreement
from wellread.ask.verify.conflicts.dispute import Dispute, told
from wellread.ask.verify.conflicts.events import with_further_reports
from wellread.ask.verify.conflicts.reasons import reason
from wellread.ask.write.extractive.arrange import Page
from wellread.ask.write.extractive.candidate_sentences import Option, options_of
from wellread.ask.write.extractive.extract import PASSAGES, disputed
from wellread.ask.write.extractive.sentence_score import read
from wellread.questions import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A draft that holds every view."""

    text: str
    claims: tuple[Claim, ...]
    disputes: tuple[Dispute, ...] = ()


def completed(
    analysis: Analysis, evidence: Sequence[Evidence], text: str, claims: Sequence[Claim]
) -> Completed:
    """The draft; where it shows one side of a disagreement only, all views stand below it."""
    pieces = with_further_reports(evidence, PASSAGES)
    options = options_of(pieces)
    found = disputed(analysis, pieces, options, read(analysis, pieces, options))
    if found is None:
        return Completed(text=text, claims=tuple(claims))
    shown = [_shown(analysis, pieces, view[0], claims) for view in found.views]
    if all(claim is not None for claim in shown):
        views = tuple(dict.fromkeys(claim for claim in shown if claim is not None))
        dispute = Dispute(about=_about(found), reason=reason(found, pieces), views=views)
        return Completed(text=text, claims=tuple(claims), disputes=(dispute,))
    page = Page(evidence=pieces, text=text.rstrip(), claims=list(claims))
    dispute = told(found, pieces, page)
    return Completed(text=page.text, claims=tuple(page.claims), disputes=(dispute,))


def _about(found: Disagreement) -> str:
    return f"what “{found.about}” means" if found.kind == "meanings" else found.about


def _shown(
    analysis: Analysis, evidence: Sequence[Evidence], option: Option, claims: Sequence[Claim]
) -> Claim | None:
    """The claim that cites the option's source and gives its value, or quotes it."""
    key = evidence[option.evidence].key
    kind = expected_of(analysis.question)
    wanted = values(kind, option.text, analysis.question)
    for claim in claims:
        if key not in claim.keys:
            continue
        if option.text in claim.text or wanted & values(kind, claim.text, analysis.question):
            return claim
    return None
