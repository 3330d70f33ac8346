"""Finds the publication time window that a question asks for.

A date in a question often tells when something happened, not when the sources were published, and
a wrong window hides the answer. So a window needs explicit words: a period after "in", "since" or
"before"; a single day on which something was published, or next to a verb of publishing. In
questions about an amount only an exact day or month counts, unless sources are counted. Dates
inside names do not count ("the August storm"). Unless sources are mentioned, the window must
overlap the material's dates of publication: otherwise "in 1937" is about history.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from wellread.ask.understand.question_parts import Limit, asking_sentences, limit
from wellread.ask.understand.source_limits import source_noun
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english_patterns import AFTER_TIME, AMOUNT, BEFORE_TIME, PUBLISHED, TOLD
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

LOOK_BACK = 80  # characters before a date that are searched for words such as "since"
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
    """A time window in the text: its span, the span with its lead-in, its first and last day."""

    span: Span
    cut: Span
    first: date | None
    last: date | None
    sure: bool = False
    exact: bool = False  # a day or month with its year


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeContext:
    """The context for reading times: today, days of publication, whether sources are named."""

    today: date
    days: Collection[date] = ()
    of_sources: bool = False


def windows_of(
    text: str, entities: Sequence[NamedEntity], vocabulary: Vocabulary, times: TimeContext
) -> Iterator[Limit]:
    """Yield the time window of the question; nothing if there are two, which are compared."""
    noun = source_noun(vocabulary)
    amount = AMOUNT.search(text) and not (noun.search(text) or TOLD.search(text))
    asking = asking_sentences(text)
    windows = [
        window
        for window in _windows(text, noun, _times(text, vocabulary, times.today), times)
        if (window.exact or not amount)
        and not any(window.span.overlaps(entity.span) for entity in entities)
        and any(window.span.overlaps(sentence) for sentence in asking)
    ]
    if len(windows) != 1:
        return
    (window,) = windows
    if not (window.sure or times.of_sources or _overlaps_publication(window, vocabulary.published)):
        return
    days = [day.isoformat() for day in (window.first, window.last) if day]
    if len(days) == 2:
        description = " to ".join(dict.fromkeys(days))
    else:
        description = f"{'from' if window.first else 'until'} {days[0]}"
    yield limit(
        "time", window.span, description, date_filters(window.first, window.last), window.cut
    )


def date_filters(first: date | None, last: date | None) -> Filters:
    """The filters for material published from ``first`` to ``last``."""
    return Filters(
        published_from=datetime.combine(first, time.min, UTC) if first else None,
        published_to=datetime.combine(last, time.max, UTC) if last else None,
    )


def days_in(text: str, vocabulary: Vocabulary, today: date) -> list[date]:
    """The single days named in ``text``."""
    times = _times(text, vocabulary, today)
    return [expression.period.first for expression in times if expression.period.grain == "day"]


def _times(text: str, vocabulary: Vocabulary, today: date) -> list[Expression]:
    """The times in ``text``; without a year, the latest such time within the publications."""
    times = expressions_of(text, today)
    if vocabulary.published is None:
        return times
    last = min(today, vocabulary.published[1])
    of_then = {expression.start: expression for expression in expressions_of(text, last)}
    return [
        of_then.get(expression.start, expression) if lacks_year(text, expression) else expression
        for expression in times
    ]


def _windows(
    text: str, noun: re.Pattern[str], expressions: list[Expression], times: TimeContext
) -> Iterator[_Window]:
    while expressions:
        expression, *expressions = expressions
        window = _range_window(text, expression, expressions[0]) if expressions else None
        expressions = expressions[1:] if window else expressions
        window = window or _single_window(text, expression, noun, times)
        if window is not None:
            yield window


def _range_window(text: str, first_time: Expression, last_time: Expression) -> _Window | None:
    joint = _JOINT.fullmatch(text[first_time.end : last_time.start])
    lead = _RANGE.search(text, max(0, first_time.start - LOOK_BACK), first_time.start)
    if joint is None or lead is None or not AFTER_TIME.search(text[last_time.end :]):
        return None
    between = lead["word"].lower() == "between"
    first = _with_year(first_time.period, last_time.period)
    if between != (joint["word"].lower() == "and") or first.first > last_time.period.last:
        return None
    return _Window(
        span=Span(start=first_time.start, end=last_time.end),
        cut=Span(start=lead.start("word"), end=last_time.end),
        first=first.first,
        last=last_time.period.last,
    )


def _with_year(first: Period, last: Period) -> Period:
    """Give a month without a year the year of ``last``, or the year before."""
    if first.month is None:
        return first
    same = month_of(last.last.year, first.month)
    return same if same.first <= last.last else month_of(last.last.year - 1, first.month)


def _single_window(
    text: str, expression: Expression, noun: re.Pattern[str], times: TimeContext
) -> _Window | None:
    lead = BEFORE_TIME.search(text, max(0, expression.start - LOOK_BACK), expression.start)
    word = " ".join((lead["word"] or "").lower().split()) if lead else ""
    after = text[expression.end :]
    behind = re.match(rf"(?:['’]s)?\s+(?P<noun>{noun.pattern})", after, re.IGNORECASE)
    sourced = behind is not None and behind["noun"].lower().endswith("s")
    if not (sourced or AFTER_TIME.search(after)) or not _is_month(text, expression, word):
        return None
    start = lead.start() if lead else expression.start
    if word in _OPEN:
        return _open_window(text, expression, word, start)
    if word == "from" and _ONWARDS.match(after):
        return _open_window(text, expression, "since", start)
    dated = sourced or (
        times.of_sources and word == "from"
    )  # "is there any news on ... from May 2023"
    if not (dated or _asks_for(text, expression, word, noun, times)):
        return None
    return _Window(
        span=Span(start=expression.start, end=expression.end),
        cut=Span(start=start, end=expression.end),
        first=expression.period.first,
        last=expression.period.last,
        sure=sourced or expression.form in RELATIVE or word == "from",
        exact=expression.form in _EXACT and not lacks_year(text, expression),
    )


def _asks_for(
    text: str, expression: Expression, word: str, noun: re.Pattern[str], times: TimeContext
) -> bool:
    before = text[max(0, expression.start - LOOK_BACK) : expression.start]
    single = expression.period.grain == "day"
    if single and word in ("on", "of", "from") and expression.period.first in times.days:
        return True
    if expression.form in RELATIVE or expression.form == "days":
        several = {"of", "for"} if expression.form in RELATIVE else set()
        return word in _WITHIN | {"", "from"} | several
    if word in ("from", "of"):
        lead = rf"(?:{noun.pattern})\s+(?:\w+\s+|are\s+there\s+)?{word}\s+(?:the\s+)?(?:year\s+)?$"
        several_of = word == "of" and not single and _SEVERAL.search(before)
        return bool(re.search(lead, before, re.IGNORECASE) or several_of)
    if single:
        return word == "on" and PUBLISHED.search(text) is not None
    return word in _WITHIN or (word == "" and expression.form in _UNMISTAKABLE)


def _is_month(text: str, month: Expression, word: str) -> bool:
    """Whether an apparent month is one: "May" and "march" are also other words."""
    if month.form != "month":
        return True
    written = text[month.start : month.end]
    return written[:1].isupper() and word in (_OPEN | _WITHIN | {"from", "of"}) and month.start > 0


def _open_window(text: str, expression: Expression, word: str, start: int) -> _Window:
    """A window open on one side; "the end of 2019" means its last day."""
    begin, finish = expression.period.first, expression.period.last
    if expression.form == "edge_year":
        starts = text[expression.start].lower() in "sb"
        begin, finish = (begin, begin) if starts else (finish, finish)
    first = {"since": begin, "after": finish + timedelta(1)}.get(word)
    before = begin - timedelta(1) if word in ("before", "prior to", "ahead of") else finish
    return _Window(
        span=Span(start=expression.start, end=expression.end),
        cut=Span(start=start, end=expression.end),
        first=first,
        last=before if first is None else None,
        sure=expression.form in RELATIVE,
    )


def _overlaps_publication(window: _Window, published: tuple[date, date] | None) -> bool:
    """Whether the window overlaps the dates of publication."""
    if published is None:
        return False
    first, last = published
    if window.first is None or window.last is None:
        return first <= (window.first or window.last or first) <= last
    return window.first <= last and window.last >= first
