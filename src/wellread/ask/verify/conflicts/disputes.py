"""Disagreements of the evidence on their way into an answer, whoever drafted it.

A draft that shows one view only gets the others; what was extracted gives way to all views. Once
the sentences are checked and cited, each view knows its citations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.answers import Claim, Conflict, Evidence, Sentence, View
from wellread.ask.understand.answer_kind import expected_of
from wellread.ask.verify.conflicts.detect import Disagreement, disagreement, values_of
from wellread.ask.write.candidate_sentences import Option, Page
from wellread.ask.write.drafting import Written
from wellread.ask.write.extract import material_of
from wellread.ask.write.passage_reading import PassageReadings
from wellread.questions import Analysis
from wellread.text.english import ROUGHLY
from wellread.text.parsed import parse

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_ROUGH = re.compile(rf"\b(?:{'|'.join(ROUGHLY)}|estimated?|an average)\b", re.IGNORECASE)
_KINDS = {
    "article": "an article",
    "page": "a page",
    "paper": "a paper",
    "transcript": "a transcript",
    "entity": "an entry",
    "qa": "a past answer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A disagreement whose sentences stand in a draft: one claim for each view.

    Attributes:
        about: what on.
        reason: why the sources may differ, in words; may be empty.
    """

    about: str
    reason: str
    views: tuple[Claim, ...]


def with_disputes(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    written: Written,
    readings: PassageReadings | None = None,
) -> tuple[Written, tuple[Dispute, ...]]:
    """The draft with every view of what the sources disagree on, and the disagreements.

    Only where the question asks for one thing, and the draft is no list of steps or sides.

    Args:
        readings: what the reader said of the evidence, where one read it.
    """
    if analysis.type not in ("factual", "temporal", "counting") or written.arranged:
        return written, ()
    material = written.material or material_of(analysis, evidence)
    odds = {place: one.odds for place, one in readings.sentences.items()} if readings else {}
    found = disagreement(analysis, material.evidence, material.options, odds)
    if found is None:
        return written, ()
    if written.material is not None:
        page = Page(evidence=material.evidence)
    else:
        shown = [
            _shown(analysis, material.evidence, view[0], written.claims) for view in found.views
        ]
        if all(claim is not None for claim in shown):
            views = tuple(dict.fromkeys(claim for claim in shown if claim is not None))
            why = reason(found, material.evidence)
            return written, (Dispute(about=found.about, reason=why, views=views),)
        page = Page(
            evidence=material.evidence, text=written.text.rstrip(), claims=[*written.claims]
        )
    dispute = told(found, material.evidence, page)
    return replace(written, text=page.text, claims=tuple(page.claims)), (dispute,)


def settled(disputes: Sequence[Dispute], sentences: Sequence[Sentence]) -> tuple[Conflict, ...]:
    """The disputes as conflicts, each view with the citations of its delivered sentence.

    A view whose sentence was not delivered is left out, and a dispute with one view left.
    """
    found = []
    for dispute in disputes:
        views = [
            View(text=sentence.text, citations=sentence.citations)
            for claim in dispute.views
            for sentence in sentences
            if sentence.text == claim.text and claim.source in (None, sentence.verdict.source)
        ]
        if len(views) > 1:
            found.append(Conflict(about=dispute.about, views=tuple(views), reason=dispute.reason))
    return tuple(found)


def told(found: Disagreement, evidence: Sequence[Evidence], page: Page) -> Dispute:
    """Write every view onto ``page``, a list under a line that says what follows."""
    why = reason(found, evidence)
    page.label(f"The sources differ{f' ({why})' if why else ''}:")
    begun = len(page.claims)
    for lead, *others in found.views:
        page.view(lead, also=[evidence[other.evidence].key for other in others])
    return Dispute(about=found.about, reason=why, views=tuple(page.claims[begun:]))


def _shown(
    analysis: Analysis, evidence: Sequence[Evidence], option: Option, claims: Sequence[Claim]
) -> Claim | None:
    """The claim that cites the option's source and gives its value, or quotes it."""
    key = evidence[option.evidence].key
    kind = expected_of(analysis.question)
    wanted = values_of(kind, option.text, analysis.question)
    for claim in claims:
        if key not in claim.keys:
            continue
        if option.text in claim.text or wanted & values_of(kind, claim.text, analysis.question):
            return claim
    return None


def reason(found: Disagreement, evidence: Sequence[Evidence]) -> str:
    """In words; empty when nothing tells."""
    leads = [view[0] for view in found.views]
    parts = [_dates(leads, evidence), _years(leads), _kinds(leads, evidence), _rough(leads)]
    return "; ".join(part for part in parts if part)


def _dates(leads: Sequence[Option], evidence: Sequence[Evidence]) -> str:
    dates = [evidence[option.evidence].hit.document.published_at for option in leads]
    days = [date.date() for date in dates if date is not None]
    if len(days) < len(leads) or len(set(days)) == 1:
        return ""
    return "the " + ", the ".join(
        f"{ordinal} is of {day:%-d %B %Y}".replace("%-d", str(day.day))
        for ordinal, day in zip(_ORDINALS, days, strict=False)
    )


def _years(leads: Sequence[Option]) -> str:
    years = [sorted(set(_YEAR.findall(option.text))) for option in leads]
    if not all(len(each) == 1 for each in years) or len({each[0] for each in years}) == 1:
        return ""
    return "they speak of different years: " + ", ".join(each[0] for each in years)


def _kinds(leads: Sequence[Option], evidence: Sequence[Evidence]) -> str:
    kinds = [evidence[option.evidence].hit.document.kind for option in leads]
    if len(set(kinds)) == 1:
        return ""
    return "the " + ", the ".join(
        f"{ordinal} is {_KINDS[kind]}" for ordinal, kind in zip(_ORDINALS, kinds, strict=False)
    )


def _rough(leads: Sequence[Option]) -> str:
    rough = [_is_rough(option.text) for option in leads]
    if all(rough) or not any(rough):
        return ""
    named = [ordinal for ordinal, each in zip(_ORDINALS, rough, strict=False) if each]
    return f"the {' and the '.join(named)} gives no exact value"


def _is_rough(text: str) -> bool:
    """Whether its one amount is no exact one; of several nobody knows which one is rough."""
    return _ROUGH.search(text) is not None and len(parse(text).quantities) < 2
