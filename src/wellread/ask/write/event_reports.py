"""Whether two documents report one event: the same day and the same place, told at the same time.

Reports of one event use other words for it ("lost power", "were without electricity"), so the
words of a question are no test of whether they answer it alike; what they are about is.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from wellread.answers import Evidence
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

BEGIN = 300  # characters of a report within which its lead begins
LEAST_WORDS = 6  # of a lead; what is shorter is a heading
TOGETHER = timedelta(days=14)  # between two reports of one event
REPORTED = timedelta(days=31)  # from an event to its report: how a day without a year is read

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_WEEKDAYS = {name.lower() for name in calendar.day_name}
_MONTH = "|".join(_MONTHS)
_DAY = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})|({_MONTH})\s+(\d{{1,2}}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a document reports, as its title and its lead say: reports begin with what happened.

    Attributes:
        days: days that they name, as dates; those that cannot be the event's are left out.
        names: words of the names in the lead, its first sentence, as stems.
        lead: all content words of both, as stems.
    """

    published: date
    days: frozenset[date]
    names: frozenset[str]
    lead: frozenset[str]


def reports_of(evidence: Sequence[Evidence]) -> list[Report | None]:
    """For each piece what its document reports; None where no piece begins a dated report."""
    found: dict[str, Report] = {}
    for piece in evidence:
        report = _report(piece) if piece.span.start < BEGIN else None
        if report is not None:
            found.setdefault(piece.hit.document.id, report)
    return [found.get(piece.hit.document.id) for piece in evidence]


def with_further_reports(evidence: Sequence[Evidence], most: int) -> list[Evidence]:
    """The first ``most`` pieces, and of the rest those that report the event of the very first."""
    reports = reports_of(evidence)
    first = reports[0] if reports else None
    further = [
        piece
        for piece, report in zip(evidence[most:], reports[most:], strict=True)
        if first is not None and report is not None and same_event(first, report)
    ]
    return [*evidence[:most], *further]


def _report(piece: Evidence) -> Report | None:
    """None where the document has no date, or its lead names no day or nothing else."""
    published_at = piece.hit.document.published_at
    if published_at is None:
        return None
    published = published_at.date()
    sentences = (span.of(piece.text) for span in sentence_spans(piece.text))
    lead = next((one for one in sentences if len(one.split()) >= LEAST_WORDS), "")
    text = f"{piece.hit.document.title}\n{lead}"
    days = frozenset(
        day for month, number in named_days(text) if (day := _before(published, month, number))
    )
    names = named_stems(lead)
    if not days or not names:
        return None
    return Report(published=published, days=days, names=names, lead=parse(text).stem_set)


def same_event(one: Report, other: Report) -> bool:
    """Whether both may only be about one event."""
    near = abs(one.published - other.published) <= TOGETHER
    return near and bool(one.days & other.days) and bool(one.names & other.names)


def about(question: str, one: Report, other: Report) -> bool:
    """Whether ``question`` names the event: its day or a name of it, and nothing that it lacks."""
    days = named_days(question)
    held = {(day.month, day.day) for day in one.days & other.days}
    names = named_stems(question)
    return bool(days or names) and days <= held and names <= (one.names & other.names)


def named_days(text: str) -> frozenset[tuple[int, int]]:
    """Month and day of every day that ``text`` names."""
    return frozenset(
        (_MONTHS[(before or after).lower()], int(number or later))
        for number, before, after, later in _DAY.findall(text)
    )


def named_stems(text: str) -> frozenset[str]:
    """The words of the names in ``text`` as stems, without dates."""
    return frozenset(
        stem
        for name in parse(text).names
        for word in parse(name).words
        if word[:1].isupper() and word.lower() not in _MONTHS and word.lower() not in _WEEKDAYS
        for stem in parse(word).stems
    )


def date_stems(text: str) -> frozenset[str]:
    """The words of the days that ``text`` names, and of weekdays, as stems."""
    said: Sequence[str] = [match.group() for match in _DAY.finditer(text)]
    weekdays = [word for word in parse(text).words if word.lower() in _WEEKDAYS]
    return frozenset(stem for part in (*said, *weekdays) for stem in parse(part).stems)


def _before(published: date, month: int, day: int) -> date | None:
    """The last such day before the report appeared; None when that is long ago."""
    for year in (published.year, published.year - 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found <= published:
            return found if published - found <= REPORTED else None
    return None
