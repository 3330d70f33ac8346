"""Parses expressions of time in a text: years, months, quarters, "late 2024", "the past 30 days".

This is a small grammar of its own, since date libraries load slowly and read "may" and "second" as
dates.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from wellread.errors import RequestError
from wellread.text.english import MONTHS, NUMBER_WORDS
from wellread.text.languages import ENGLISH, languages

# Forms that are relative to the current day.
RELATIVE = frozenset({"past", "past_one", "calendar", "named", "yesterday"})
Grain = Literal["day", "week", "month", "quarter", "year", "recent"]

_MONTHS_BY_PREFIX = {name[:3]: place for place, name in enumerate(MONTHS, 1)} | {"sept": 9}
_LOCAL_MONTHS = {
    name.lower(): place
    for code, words in languages().items()
    for place, name in enumerate(words.months, 1)
    if code != ENGLISH and name.lower() not in MONTHS
}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_COUNTS = {word: int(NUMBER_WORDS[word]) for word in list(NUMBER_WORDS)[1:13]} | {
    "couple of": 2,
    "few": 3,
}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
_THIRDS = {"early": 0, "start": 0, "beginning": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}

_MONTH = rf"(?:{'|'.join(MONTHS)}|sept|{'|'.join(name[:3] for name in MONTHS)})\b\.?"
_WHOLE_MONTH = rf"(?:{'|'.join(MONTHS)})\b"
_LOCAL_MONTH = rf"(?:{'|'.join(_LOCAL_MONTHS)})\b"
_YEAR = r"(?<![\w#.,/:$€£-])(?:19|20)\d\d(?![\w/]|-\w|[.,:]\d)"
_ANY_YEAR = r"(?:19|20)\d\d"
_SEASON = "|".join(_SEASONS)
_UNIT = "day|week|month|quarter|year"
_ORDINAL_ENDING = r"(?:st|nd|rd|th)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The days from ``first`` to ``last``, both included.

    Attributes:
        grain: the size; ``recent`` reaches back from today.
        month: set for a month without a year, whose year depends on the context.
    """

    first: date
    last: date
    grain: Grain
    month: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """An expression of time in a text; ``form`` is the name of its pattern."""

    start: int
    end: int
    form: str
    period: Period


Reader = Callable[[Mapping[str, str], date], Period | None]


def expressions_of(text: str, today: date) -> list[Expression]:
    """The expressions of time in ``text``, in order; impossible dates are skipped."""
    times = []
    for match in _EXPRESSION.finditer(text):
        form = match.lastgroup or ""
        pattern, reader = _FORMS[form]
        groups = pattern.fullmatch(match.group())
        parts = {k: v.lower() for k, v in groups.groupdict().items() if v} if groups else {}
        period = reader(parts, today)
        if period is not None:
            times.append(Expression(start=match.start(), end=match.end(), form=form, period=period))
    return times


_SAYS_A_YEAR = re.compile(r"(?:19|20)\d\d")
_YEARLESS = frozenset("month quarter days day_month month_day local_day".split())


def lacks_year(text: str, time: Expression) -> bool:
    """Whether ``time`` is a month, a quarter or a day without its year."""
    return time.form in _YEARLESS and not _SAYS_A_YEAR.search(text, time.start, time.end)


def month_of(year: int, month: int) -> Period:
    """The period of a full month."""
    last = date(year, month, monthrange(year, month)[1])
    return Period(first=date(year, month, 1), last=last, grain="month")


def _months(year: int, month: int, count: int, grain: Grain) -> Period:
    """The period of ``count`` months from ``month``, which may be greater than 12."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    end = month + count - 1
    until = month_of(year + (end - 1) // 12, (end - 1) % 12 + 1)
    return Period(first=date(year, month, 1), last=until.last, grain=grain)


def _month_number(word: str) -> int:
    bare = word.rstrip(".")
    return _LOCAL_MONTHS.get(bare) or _MONTHS_BY_PREFIX[bare if bare == "sept" else bare[:3]]


def _day(parts: Mapping[str, str], today: date) -> Period | None:
    month = int(parts["month"]) if parts["month"].isdigit() else _month_number(parts["month"])
    year = int(parts.get("year", today.year))
    try:
        day = date(year, month, int(parts["day"]))
        if "year" not in parts and day > today:
            day = day.replace(year=year - 1)
    except ValueError:
        return None
    return Period(first=day, last=day, grain="day")


def _days(parts: Mapping[str, str], today: date) -> Period | None:
    first = _day(parts, today)
    last = _day({**parts, "day": parts["until"]}, today)
    if first is None or last is None or first.first > last.last:
        return None
    return Period(first=first.first, last=last.last, grain="week")


def _month_year(parts: Mapping[str, str], _today: date) -> Period:
    month = month_of(int(parts["year"]), _month_number(parts["month"]))
    if "part" not in parts:
        return month
    third = _THIRDS[parts["part"]]
    last = month.last if third == 2 else month.first + timedelta(10 * third + 9)
    return Period(first=month.first + timedelta(10 * third), last=last, grain="month")


def _bare_month(parts: Mapping[str, str], today: date) -> Period:
    month = _month_number(parts["month"])
    period = month_of(today.year if month <= today.month else today.year - 1, month)
    return Period(first=period.first, last=period.last, grain="month", month=month)


def _quarter(parts: Mapping[str, str], today: date) -> Period:
    number = int(parts["number"]) if "number" in parts else _ORDINALS[parts["ordinal"]]
    year = int(parts.get("year", today.year))
    if "year" not in parts and 3 * number - 2 > today.month:
        year -= 1
    return _months(year, 3 * number - 2, 3, "quarter")


def _years(parts: Mapping[str, str], _today: date) -> Period | None:
    first, second = parts["year"], parts["until"]
    last = int(second if len(second) == 4 else first[:2] + second)
    if last < int(first):
        return None
    return _months(int(first), 1, 12 * (last - int(first) + 1), "year")


def _past(parts: Mapping[str, str], today: date) -> Period | None:
    word = parts.get("count", "1")
    count = int(word) if word.isdigit() else _COUNTS[word]
    unit = parts["unit"]
    if unit in ("day", "week"):
        days = count * (7 if unit == "week" else 1)
        first = today - timedelta(days) if days < 40_000 else None
    else:
        months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
        first = _months_before(today, months) if months < 1_200 else None
    return Period(first=first, last=today, grain="recent") if first else None


def _months_before(today: date, months: int) -> date:
    month_index = 12 * today.year + today.month - 1 - months
    year, month = month_index // 12, month_index % 12 + 1
    return date(year, month, min(today.day, monthrange(year, month)[1]))


def _calendar(parts: Mapping[str, str], today: date) -> Period:
    units_back = 0 if parts["which"] in ("this", "current") else 1
    unit = parts["unit"]
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * units_back)
        return Period(first=monday, last=monday + timedelta(6), grain="week")
    if unit == "year":
        return _months(today.year - units_back, 1, 12, "year")
    size = 3 if unit == "quarter" else 1
    first_month = (today.month - 1) // size * size + 1 - size * units_back
    return _months(today.year, first_month, size, "month" if size == 1 else "quarter")


def _named_period(parts: Mapping[str, str], today: date) -> Period:
    name = parts["name"]
    is_season = name in _SEASONS
    month = _SEASONS[name] if is_season else _month_number(name)
    size: int = 3 if is_season else 1
    grain: Grain = "quarter" if is_season else "month"
    period = _months(today.year, month, size, grain)
    if parts["which"] in ("this", "current"):
        return period
    return period if period.last < today else _months(today.year - 1, month, size, grain)


_Q = r"(?:q(?P<number>[1-4])|(?P<ordinal>first|second|third|fourth|last)\s+quarter)"
_H = r"(?:h(?P<number>[12])|(?P<ordinal>first|second|last)\s+half)"
_OF = r"(?:\s+of)?(?:\s+the\s+year)?[\s/-]*"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)})"
_Y = rf"(?P<year>{_YEAR})"
_YR = rf"(?P<year>{_ANY_YEAR})(?!\d)"

# ruff: noqa: E501 - one form per line is easier to read
# The first matching form is taken, so longer ones come first.
_SOURCES: tuple[tuple[str, str, Reader], ...] = (
    ("iso_day", r"(?<!\d)(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)", _day),
    ("dotted_day", r"(?<![\d.])(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)", _day),
    ("iso_month", rf"(?<![\w-])(?P<year>{_ANY_YEAR})-(?P<month>\d\d)(?![\w-])", lambda p, _: _months(int(p["year"]), int(p["month"]), 1, "month") if 1 <= int(p["month"]) <= 12 else None),
    ("quarter_late", rf"(?P<year>{_ANY_YEAR})[\s-]?q(?P<number>[1-4])\b", _quarter),
    ("half_late", rf"(?P<year>{_ANY_YEAR})[\s-]?h(?P<number>[12])\b", lambda p, _: _months(int(p["year"]), 6 * (int(p["number"]) if "number" in p else min(_ORDINALS[p["ordinal"]], 2)) - 5, 6, "quarter")),
    ("years", rf"(?<![\w-])(?P<year>{_ANY_YEAR})\s?[-–—/]\s?(?P<until>(?:19|20)?\d\d)(?![\w-])", _years),
    ("local_day", rf"\b(?P<day>\d{{1,2}})\.?\s+(?P<month>{_LOCAL_MONTH})(?:\s+{_YR})?", _day),
    ("ordinal_day", rf"\b(?P<day>\d{{1,2}})\.\s+(?P<month>{_WHOLE_MONTH})\s+{_YR}", _day),
    ("local_month", rf"\b(?P<month>{_LOCAL_MONTH})\s+{_YR}", _month_year),
    ("days", rf"\b(?P<day>\d{{1,2}}){_ORDINAL_ENDING}\s*(?:to|until|till|and|[-–—])\s*(?P<until>\d{{1,2}}){_ORDINAL_ENDING}\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+{_YR})?", _days),
    ("day_month", rf"\b(?P<day>\d{{1,2}}){_ORDINAL_ENDING}\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+{_YR})?", _day),
    ("month_day", rf"\b(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}}){_ORDINAL_ENDING}(?![\w%])(?:,?\s+{_YR})?", _day),
    ("month_year", rf"\b(?:(?P<part>early|mid|late)[\s-])?(?P<month>{_MONTH})(?:,?\s+(?:of\s+)?|/){_YR}", _month_year),
    ("quarter_year", rf"\b{_Q}{_OF}{_YR}", _quarter),
    ("half_year", rf"\b{_H}{_OF}{_YR}", lambda p, _: _months(int(p["year"]), 6 * (int(p["number"]) if "number" in p else min(_ORDINALS[p["ordinal"]], 2)) - 5, 6, "quarter")),
    ("season_year", rf"\b(?P<season>{_SEASON})(?:\s+of)?\s+{_YR}(?:/\d\d)?", lambda p, _: _months(int(p["year"]), _SEASONS[p["season"]], 3, "quarter")),
    ("part_year", rf"\b(?P<part>early|mid|late)(?:\s+in)?[\s-]{_YR}", lambda p, _: _months(int(p["year"]), 4 * _THIRDS[p["part"]] + 1, 4, "quarter")),
    ("edge_year", rf"\b(?P<part>start|beginning|middle|end)\s+of\s+{_YR}", lambda p, _: _months(int(p["year"]), 4 * _THIRDS[p["part"]] + 1, 4, "quarter")),
    ("past", rf"\b(?:last|past|previous|preceding)\s+{_COUNT}\s+(?P<unit>{_UNIT})s?\b", _past),
    ("past_one", rf"\bpast\s+(?P<unit>{_UNIT})\b", _past),
    ("calendar", r"\b(?P<which>this|last|previous|current)\s+(?P<unit>week|month|quarter|year)\b", _calendar),
    ("named", rf"\b(?P<which>this|last|previous)\s+(?P<name>{_SEASON}|{_WHOLE_MONTH})", _named_period),
    ("yesterday", r"\byesterday\b", lambda _, today: Period(first=today - timedelta(1), last=today - timedelta(1), grain="day")),
    ("quarter", r"\bq(?P<number>[1-4])\b", _quarter),
    ("year", _Y, lambda p, _: _months(int(p["year"]), 1, 12, "year")),
    ("month", rf"\b(?P<month>{_WHOLE_MONTH})", _bare_month),
)  # fmt: skip
_FORMS: dict[str, tuple[re.Pattern[str], Reader]] = {
    name: (re.compile(pattern, re.IGNORECASE), reader) for name, pattern, reader in _SOURCES
}
_EXPRESSION = re.compile(
    "|".join(
        f"(?P<{name}>{re.sub(r'[(][?]P<[a-z]+>', '(?:', pattern)})" for name, pattern, _ in _SOURCES
    ),
    re.IGNORECASE,
)


_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_LAST_INSTANT = timedelta(microseconds=1)
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,3}):([0-5]\d(?:\.\d+)?)")


def first_moment(text: str) -> datetime:
    """The first moment of a year, month or day; a full time is returned unchanged."""
    return _bounds(text)[0]


def last_moment(text: str) -> datetime:
    """The last moment of a year, month or day; a full time is returned unchanged."""
    return _bounds(text)[1]


def window_of(
    since: str | None, until: str | None, *, hint: str, empty: str = ""
) -> tuple[datetime | None, datetime | None]:
    """Return the first moment of ``since`` and the last of ``until``, or None for a missing one."""
    start = first_moment(since) if since else None
    end = last_moment(until) if until else None
    if start and end and start > end:
        default_message = f"the time window from {since} to {until} is empty"
        raise RequestError(empty or default_message, hint=hint)
    return start, end


def seconds_of(text: str) -> float:
    """Parse a time in a recording to seconds."""
    stripped = text.strip()
    if _SECONDS.fullmatch(stripped):
        return float(stripped)
    clock = _CLOCK.fullmatch(stripped)
    if clock is None or (clock[1] and int(clock[2]) > 59):
        raise RequestError(
            f"{text!r} is not a time in a recording", hint="write seconds, MM:SS or H:MM:SS"
        )
    return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])


def _bounds(text: str) -> tuple[datetime, datetime]:
    """First and last moment; a time without a zone counts as UTC."""
    text = text.strip()
    partial = _PARTIAL.fullmatch(text)
    try:
        if partial is None:
            moment = datetime.fromisoformat(text)
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            aware.astimezone(UTC)  # reject a time that overflows: later conversions would fail
            return aware, aware
        year, month, day = (int(part) if part else None for part in partial.groups())
        start = datetime(year or 0, month or 1, day or 1, tzinfo=UTC)
        return start, _next_start(start, month, day) - _LAST_INSTANT
    except (ValueError, OverflowError) as error:
        raise RequestError(
            f"'{text}' is not a date", hint="write 2025, 2025-10, 2025-10-14 or 2025-10-14T09:00Z"
        ) from error


def _next_start(start: datetime, month: int | None, day: int | None) -> datetime:
    if day is not None:
        return start + timedelta(days=1)
    if month is not None:
        return start.replace(year=start.year + month // 12, month=month % 12 + 1)
    return start.replace(year=start.year + 1)
