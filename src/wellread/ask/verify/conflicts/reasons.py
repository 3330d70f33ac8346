"""Why sources may differ, as far as dates, kinds and wording tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.answers import Evidence
from wellread.ask.verify.conflicts.detect import Disagreement
from wellread.ask.write.extractive.candidate_sentences import Option

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_ROUGH = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|more than|at least|up to"
    r"|estimated?|circa|an average)\b",
    re.IGNORECASE,
)
_KINDS = {
    "article": "an article",
    "page": "a page",
    "paper": "a paper",
    "transcript": "a transcript",
    "entity": "an entry",
    "qa": "a past answer",
}


def reason(found: Disagreement, evidence: Sequence[Evidence]) -> str:
    """In words; empty when nothing tells."""
    if found.kind == "meanings":
        return f"the sources are about different things called “{found.about}”"
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
    rough = [_ROUGH.search(option.text) is not None for option in leads]
    if all(rough) or not any(rough):
        return ""
    named = [ordinal for ordinal, each in zip(_ORDINALS, rough, strict=False) if each]
    return f"the {' and the '.join(named)} gives no exact value"
