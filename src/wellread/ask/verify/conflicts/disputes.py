"""What the evidence disagrees on, and why it may: every view is shown with its citations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.answers import Conflict, Evidence, Sentence, View
from wellread.ask.verify.conflicts.detect import Disagreement, Statement, disagreement
from wellread.ask.write.extract_windows import tells, told_in
from wellread.questions import Analysis
from wellread.text.english import ROUGHLY
from wellread.text.parsed import parse
from wellread.types import Span

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


def disputed(analysis: Analysis, evidence: Sequence[Evidence]) -> Disagreement | None:
    """What the evidence disagrees on, where the question asks for one thing."""
    if analysis.type not in ("factual", "temporal", "counting"):
        return None
    statements = [
        Statement(evidence=number, span=span.moved(piece.span.start), text=text)
        for number, piece in enumerate(evidence)
        for _, span, text in told_in(piece, analysis.voices)
        if tells(piece.text, span, text) and not text.endswith("?")
    ]
    return disagreement(analysis, evidence, statements)


def stated_of(found: Disagreement | None) -> list[tuple[int, Span]]:
    """The sentences that state the views: the number of the piece and the span of the document."""
    return [(view[0].evidence, view[0].span) for view in found.views] if found else []


def told(found: Disagreement, evidence: Sequence[Evidence]) -> str:
    """The line above the extracts that state the views."""
    why = reason(found, evidence)
    return f"The sources differ{f' ({why})' if why else ''}:\n\n"


def conflict_of(
    found: Disagreement, evidence: Sequence[Evidence], sentences: Sequence[Sentence]
) -> tuple[Conflict, ...]:
    """The views with the citations of the sentences that state them; none where one is left."""
    views = []
    for lead, *_ in found.views:
        key = evidence[lead.evidence].key
        for sentence in sentences:
            source = sentence.verdict.source
            if sentence.verdict.key == key and source and source.overlaps(lead.span):
                views.append(View(text=sentence.text, citations=sentence.citations))
                break
    if len(views) < 2:
        return ()
    return (Conflict(about=found.about, views=tuple(views), reason=reason(found, evidence)),)


def reason(found: Disagreement, evidence: Sequence[Evidence]) -> str:
    """In words; empty when nothing tells."""
    leads = [view[0] for view in found.views]
    parts = [_dates(leads, evidence), _years(leads), _kinds(leads, evidence), _rough(leads)]
    return "; ".join(part for part in parts if part)


def _dates(leads: Sequence[Statement], evidence: Sequence[Evidence]) -> str:
    dates = [evidence[statement.evidence].hit.document.published_at for statement in leads]
    days = [date.date() for date in dates if date is not None]
    if len(days) < len(leads) or len(set(days)) == 1:
        return ""
    return "the " + ", the ".join(
        f"{ordinal} is of {day:%-d %B %Y}".replace("%-d", str(day.day))
        for ordinal, day in zip(_ORDINALS, days, strict=False)
    )


def _years(leads: Sequence[Statement]) -> str:
    years = [sorted(set(_YEAR.findall(statement.text))) for statement in leads]
    if not all(len(each) == 1 for each in years) or len({each[0] for each in years}) == 1:
        return ""
    return "they speak of different years: " + ", ".join(each[0] for each in years)


def _kinds(leads: Sequence[Statement], evidence: Sequence[Evidence]) -> str:
    kinds = [evidence[statement.evidence].hit.document.kind for statement in leads]
    if len(set(kinds)) == 1:
        return ""
    return "the " + ", the ".join(
        f"{ordinal} is {_KINDS[kind]}" for ordinal, kind in zip(_ORDINALS, kinds, strict=False)
    )


def _rough(leads: Sequence[Statement]) -> str:
    rough = [_is_rough(statement.text) for statement in leads]
    if all(rough) or not any(rough):
        return ""
    named = [ordinal for ordinal, each in zip(_ORDINALS, rough, strict=False) if each]
    return f"the {' and the '.join(named)} gives no exact value"


def _is_rough(text: str) -> bool:
    """Whether its one amount is no exact one; of several nobody knows which one is rough."""
    return _ROUGH.search(text) is not None and len(parse(text).quantities) < 2
