"""Passages that name a question's time themselves, whenever they were published.

"Which projects did the fund pay for in 2025?" limits the search to what appeared in 2025; yet a
page without a date, or a report of the year after, may be what says "in 2025".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import datetime

from wellread.types import Filters, Hit

LONGEST = 24  # months that are named one by one
# Words by which a question asks for what was said or published then, not for what happened.
_TOLD_THEN = re.compile(
    r"\b(?:report(?:ed|s)?|publish(?:ed)?|wr(?:ote|itten|ites?)|posted|appeared|said|say|says|told"
    r"|talk(?:s|ed)?|discuss(?:es|ed|ions?)?|mention(?:s|ed)?|cover(?:s|ed|age)|issued|news"
    r"|headlines?|interviews?|episodes?|meetings?|newsletters?|articles?|posts?|papers?)\b",
    re.IGNORECASE,
)


def period_named(question: str, filters: Filters) -> re.Pattern[str] | None:
    """What a text that names the time window of ``filters`` matches.

    None where there is no window of whole months or of one day, or where ``question`` asks for
    what was said or published in it.
    """
    since, until = filters.published_from, filters.published_to
    if since is None or until is None or _TOLD_THEN.search(question):
        return None
    if since.date() == until.date():
        return re.compile(_day(since), re.IGNORECASE)
    months = _months(since, until)
    if not months:
        return None
    years = {year for year, _ in months}
    whole = [str(year) for year in years if all((year, month) in months for month in range(1, 13))]
    forms = [rf"\b{year}\b" for year in whole]
    forms += [_month(year, month) for year, month in months if str(year) not in whole]
    return re.compile("|".join(sorted(forms)), re.IGNORECASE)


def naming(hits: Sequence[Hit], named: re.Pattern[str]) -> list[Hit]:
    """The hits whose text, title or headings match ``named``."""
    return [hit for hit in hits if named.search(f"{hit.passage.context}\n{hit.passage.text}")]


def _months(since: datetime, until: datetime) -> list[tuple[int, int]]:
    """The months from ``since`` to ``until``; none when one of them is not whole, or too many."""
    last = calendar.monthrange(until.year, until.month)[1]
    count = 12 * (until.year - since.year) + until.month - since.month + 1
    if since.day != 1 or until.day != last or not 0 < count <= LONGEST:
        return []
    first = 12 * since.year + since.month - 1
    return [(at // 12, at % 12 + 1) for at in range(first, first + count)]


def _month(year: int, month: int) -> str:
    return rf"\b(?:{_name(month)},?\s+{year}|{year}-{month:02})\b"


def _day(day: datetime) -> str:
    name = _name(day.month)
    number = rf"{day.day}(?:st|nd|rd|th)?"
    worded = rf"(?:{number}\s+(?:of\s+)?{name}|{name}\s+{number}),?\s+{day.year}"
    return rf"\b(?:{worded}|{day.year}-{day.month:02}-{day.day:02})\b"


def _name(month: int) -> str:
    full, short = calendar.month_name[month], calendar.month_abbr[month]
    return rf"(?:{full}|{short}\.?)"
