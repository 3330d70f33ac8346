"""The time window that a question sets, as dates of publication.

A date in a question often says when something happened, not when the sources about it appeared,
and a wrong window hides the answer. So a window is only read where the words ask for one: a
period after "in", "since", "before"; single days on which something was published, or beside words
for publishing; in questions for an amount only a named day or month, unless sources are what is
counted; none inside a name ("the August storm"). And where nothing says that sources are meant,
none before or after all that the material was published: "in 1937" is then a matter of history.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from wellread.ask.understand.question_parts import Limit, asked_part, limit
from wellread.ask.understand.source_limits import source_noun
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english_followups import AFTER_TIME, AMOUNT, BEFORE_TIME, PUBLISHED, TOLD
from wellread.text.periods import (
    RELATIVE,
    Expression,
    Period,
    expressions_of,
    lacks_year,
    month_of,
)
from wellread.types import Filters, Span
from wellread.values.question import NamedEntity

LOOK_BACK = 80  # characters before a date that tell what it is
_RANGE = re.compile(r"\b(?P<word>between|from|in|during)\s+(?:the\s+)?$", re.IGNORECASE)
_JOINT = re.compile(
    r"\s*(?P<word>\b(?:and|to|until|till|through)\b|-|–|—)\s*(?:the\s+)?", re.IGNORECASE
)
_ONWARDS = re.compile(r"^\s+on(?:wards?\b|\s*(?:$|[?.,;:]))", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(?:\w{2,}s|best|rest|most)\s+of\s+(?:the\s+)?(?:year\s+)?$", re.IGNORECASE
)
_EXACT = frozenset({"iso_day", "dotted_day", "day_month", "month_day", "month_year", "iso_month"})
_OPEN = frozenset({"since", "after", "before", "prior to", "ahead of", "until", "till", "up to"})
_WITHIN = frozenset({"in", "during", "throughout", "within", "over", "across", "at"})
_UNMISTAKABLE = frozenset({"quarter_late", "half_late", "years", "iso_month"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """Where it stands, with the words that lead to it, and which days it holds."""

    span: Span
    cut: Span
    first: date | None
    last: date | None
    sure: bool = False
    exact: bool = False  # a day or a month that is named with its year


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What the times of a question are read with."""

    today: date
    days: Collection[date] = ()
    of_sources: bool = False


def windows_of(
    text: str, entities: Sequence[NamedEntity], vocabulary: Vocabulary, times: Times
) -> Iterator[Limit]:
    """The time window of the question; none when there are two (they are compared)."""
    noun = source_noun(vocabulary)
    amount = AMOUNT.search(text) and not (noun.search(text) or TOLD.search(text))
    asking = asked_part(text)
    found = [
        window
        for window in _windows(text, noun, _times(text, vocabulary, times.today), times)
        if (window.exact or not amount)
        and not any(window.span.overlaps(entity.span) for entity in entities)
        and any(window.span.overlaps(sentence) for sentence in asking)
    ]
    if len(found) != 1:
        return
    (one,) = found
    if not (one.sure or times.of_sources or _divides(one, vocabulary.published)):
        return
    days = [day.isoformat() for day in (one.first, one.last) if day]
    if len(days) == 2:
        said = " to ".join(dict.fromkeys(days))
    else:
        said = f"{'from' if one.first else 'until'} {days[0]}"
    yield limit("time", one.span, said, of_days(one.first, one.last), one.cut)


def of_days(first: date | None, last: date | None) -> Filters:
    """The filters that what was published from ``first`` to ``last`` meets."""
    return Filters(
        published_from=datetime.combine(first, time.min, UTC) if first else None,
        published_to=datetime.combine(last, time.max, UTC) if last else None,
    )


def days_in(text: str, vocabulary: Vocabulary, today: date) -> list[date]:
    """The single days that ``text`` names."""
    times = _times(text, vocabulary, today)
    return [one.period.first for one in times if one.period.grain == "day"]


def _times(text: str, vocabulary: Vocabulary, today: date) -> list[Expression]:
    """The times in the text; one without a year is the last such time of what was published."""
    times = expressions_of(text, today)
    if vocabulary.published is None:
        return times
    last = min(today, vocabulary.published[1])
    of_then = {one.start: one for one in expressions_of(text, last)}
    return [of_then.get(one.start, one) if lacks_year(text, one) else one for one in times]


def _windows(
    text: str, noun: re.Pattern[str], expressions: list[Expression], times: Times
) -> Iterator[_Window]:
    while expressions:
        one, *expressions = expressions
        window = _range(text, one, expressions[0]) if expressions else None
        expressions = expressions[1:] if window else expressions
        window = window or _single(text, one, noun, times)
        if window is not None:
            yield window


def _range(text: str, one: Expression, other: Expression) -> _Window | None:
    """ "between A and B", "from A to B"."""
    joint = _JOINT.fullmatch(text[one.end : other.start])
    lead = _RANGE.search(text, max(0, one.start - LOOK_BACK), one.start)
    if joint is None or lead is None or not AFTER_TIME.search(text[other.end :]):
        return None
    between = lead["word"].lower() == "between"
    first = _beside(one.period, other.period)
    if between != (joint["word"].lower() == "and") or first.first > other.period.last:
        return None
    return _Window(
        span=Span(start=one.start, end=other.end),
        cut=Span(start=lead.start("word"), end=other.end),
        first=first.first,
        last=other.period.last,
    )


def _beside(first: Period, last: Period) -> Period:
    """A month without a year has the year of what it is named with, or the one before."""
    if first.month is None:
        return first
    same = month_of(last.last.year, first.month)
    return same if same.first <= last.last else month_of(last.last.year - 1, first.month)


def _single(text: str, one: Expression, noun: re.Pattern[str], times: Times) -> _Window | None:
    lead = BEFORE_TIME.search(text, max(0, one.start - LOOK_BACK), one.start)
    word = " ".join((lead["word"] or "").lower().split()) if lead else ""
    after = text[one.end :]
    behind = re.match(rf"(?:['’]s)?\s+(?P<noun>{noun.pattern})", after, re.IGNORECASE)
    sourced = behind is not None and behind["noun"].lower().endswith("s")
    if not (sourced or AFTER_TIME.search(after)) or not _is_month(text, one, word):
        return None
    start = lead.start() if lead else one.start
    if word in _OPEN:
        return _open(text, one, word, start)
    if word == "from" and _ONWARDS.match(after):
        return _open(text, one, "since", start)
    dated = sourced or (
        times.of_sources and word == "from"
    )  # "is there any news on ... from May 2023"
    if not (dated or _asks_for(text, one, word, noun, times)):
        return None
    return _Window(
        span=Span(start=one.start, end=one.end),
        cut=Span(start=start, end=one.end),
        first=one.period.first,
        last=one.period.last,
        sure=sourced or one.form in RELATIVE or word == "from",
        exact=one.form in _EXACT and not lacks_year(text, one),
    )


def _asks_for(text: str, one: Expression, word: str, noun: re.Pattern[str], times: Times) -> bool:
    """Whether ``word`` before a period makes it a window."""
    before = text[max(0, one.start - LOOK_BACK) : one.start]
    single = one.period.grain == "day"
    if single and word in ("on", "of", "from") and one.period.first in times.days:
        return True
    if one.form in RELATIVE or one.form == "days":
        several = {"of", "for"} if one.form in RELATIVE else set()
        return word in _WITHIN | {"", "from"} | several
    if word in ("from", "of"):
        lead = rf"(?:{noun.pattern})\s+(?:\w+\s+|are\s+there\s+)?{word}\s+(?:the\s+)?(?:year\s+)?$"
        several_of = word == "of" and not single and _SEVERAL.search(before)
        return bool(re.search(lead, before, re.IGNORECASE) or several_of)
    if single:
        return word == "on" and PUBLISHED.search(text) is not None
    return word in _WITHIN or (word == "" and one.form in _UNMISTAKABLE)


def _is_month(text: str, one: Expression, word: str) -> bool:
    """Whether what looks like a month is one: "May" and "march" are also other words."""
    if one.form != "month":
        return True
    written = text[one.start : one.end]
    return written[:1].isupper() and word in (_OPEN | _WITHIN | {"from", "of"}) and one.start > 0


def _open(text: str, one: Expression, word: str, start: int) -> _Window:
    """A window that is open to one side; "the end of 2019" is its last day there."""
    begin, finish = one.period.first, one.period.last
    if one.form == "edge_year":
        starts = text[one.start].lower() in "sb"
        begin, finish = (begin, begin) if starts else (finish, finish)
    first = {"since": begin, "after": finish + timedelta(1)}.get(word)
    before = begin - timedelta(1) if word in ("before", "prior to", "ahead of") else finish
    return _Window(
        span=Span(start=one.start, end=one.end),
        cut=Span(start=start, end=one.end),
        first=first,
        last=before if first is None else None,
        sure=one.form in RELATIVE,
    )


def _divides(window: _Window, published: tuple[date, date] | None) -> bool:
    """Whether the window divides what was published: one that holds all of it says nothing."""
    if published is None:
        return False
    first, last = published
    if window.first is None or window.last is None:
        return first <= (window.first or window.last or first) <= last
    return window.first <= last and window.last >= first
