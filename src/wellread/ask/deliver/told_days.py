"""The date of a source, and which day its "on Monday" was: told where a date is asked for.

News says "on Monday" and "yesterday", announcements say no day at all; who reads them in a year
needs the date. It follows from the date of the source alone, so nothing is claimed but that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from wellread.answers import Citation
from wellread.ask.understand.answer_kind import expected_of, holds
from wellread.text.english import (
    DAYS_FROM_NOW,
    FUTURE,
    MONTHS,
    MONTHS_SHORT,
    REPEATED,
    WEEKDAYS,
)

WEEK = 7
MOST_WORDS_BEFORE = 12  # words before a day among which its sentence says that it is to come

_DAYS = "|".join(map(str.capitalize, WEEKDAYS))
_NOW = "|".join(sorted(DAYS_FROM_NOW, key=len, reverse=True))
_RELATIVE = re.compile(
    rf"(?P<which>(?:[Ll]ast|[Tt]his|[Nn]ext)\s+)?\b(?P<day>{_DAYS})\b|\b(?P<now>{_NOW})\b"
)
_MONTH = "|".join((*MONTHS, *MONTHS_SHORT))
_DATED = re.compile(rf"\b(?:{_MONTH})\b\.?\s+\d|\d\s+(?:of\s+)?(?:{_MONTH})\b|\b\d{{4}}-\d\d", re.I)
_TO_COME = re.compile(rf"\b(?:{'|'.join(FUTURE)})\b", re.IGNORECASE)
_AGAIN = re.compile(rf"\b(?:{'|'.join(REPEATED)})\s+$", re.IGNORECASE)


def told_day(question: str, citations: Sequence[Citation]) -> str:
    """The date of the one day that the quotes call by its weekday, in words.

    Where no quote tells any time, the date of the first source that has one. Empty unless
    ``question`` asks for a date and no quote gives one itself.
    """
    if expected_of(question) != "date" or any(_DATED.search(one.quote) for one in citations):
        return ""
    for citation in citations:
        days = list(_RELATIVE.finditer(citation.quote))
        if len(days) != 1 or citation.published_at is None:
            continue
        day = _date_of(days[0], citation.quote, citation.published_at.date())
        if day is not None:
            said = " ".join(days[0].group().split())
            return f" (“{said}” is {_written(day)}, by the date of [{citation.id}].)"
    dated = next((one for one in citations if one.published_at is not None), None)
    if dated is None or any(holds("date", one.quote, question) for one in citations):
        return ""
    return f" ([{dated.id}] was published on {_written(dated.published_at)}.)"


def _written(day: date | None) -> str:
    return f"{day.day} {day:%B %Y}" if day else ""


def _date_of(found: re.Match[str], quote: str, published: date) -> date | None:
    """The day that a text of ``published`` calls so; None where it may be any such day."""
    if found["now"]:
        return published + timedelta(days=DAYS_FROM_NOW[found["now"]])
    before = quote[: found.start()]
    if _AGAIN.search(before):
        return None
    away = (WEEKDAYS.index(found["day"].lower()) - published.weekday()) % WEEK
    which = (found["which"] or "").strip().lower()
    near = " ".join(before.split()[-MOST_WORDS_BEFORE:])
    if which == "next" or (which != "last" and _TO_COME.search(near)):
        return published + timedelta(days=away or (WEEK if which == "next" else 0))
    if which == "this":
        return None  # of this week, before or after
    return published - timedelta(days=(WEEK - away) % WEEK or (WEEK if which == "last" else 0))
