"""Times as people type them: days and moments (``2025``, ``2025-10``, ``2025-10-14``, ISO 8601),
and places in a recording (``90``, ``1:30``, ``1:01:30``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from wellread.errors import RequestError

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_LAST_INSTANT = timedelta(microseconds=1)
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,3}):([0-5]\d(?:\.\d+)?)")


def first_moment(text: str) -> datetime:
    """The first moment of the year, month or day; a full time stands for itself.

    Raises:
        RequestError: not a date.
    """
    return _bounds(text)[0]


def last_moment(text: str) -> datetime:
    """The last moment of the year, month or day; a full time stands for itself.

    Raises:
        RequestError: not a date.
    """
    return _bounds(text)[1]


def window_of(
    since: str | None, until: str | None, *, hint: str, empty: str = ""
) -> tuple[datetime | None, datetime | None]:
    """The first moment of ``since`` and the last of ``until``; None for what is not given.

    Args:
        empty: what to say of a window that ends before it begins, where not the usual.

    Raises:
        RequestError: a date that is none, or a window that ends before it begins.
    """
    start = first_moment(since) if since else None
    end = last_moment(until) if until else None
    if start and end and start > end:
        usual = f"the time window from {since} to {until} is empty"
        raise RequestError(empty or usual, hint=hint)
    return start, end


def seconds_of(text: str) -> float:
    """The seconds that a place in a recording stands for.

    Raises:
        RequestError: it is neither a number of seconds nor ``MM:SS`` nor ``H:MM:SS``.
    """
    plain = text.strip()
    if _SECONDS.fullmatch(plain):
        return float(plain)
    clock = _CLOCK.fullmatch(plain)
    if clock is None or (clock[1] and int(clock[2]) > 59):
        raise RequestError(
            f"{text!r} is not a time in a recording", hint="write seconds, MM:SS or H:MM:SS"
        )
    return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])


def _bounds(text: str) -> tuple[datetime, datetime]:
    """First and last moment; a time without a zone is taken as UTC."""
    text = text.strip()
    partial = _PARTIAL.fullmatch(text)
    try:
        if partial is None:
            moment = datetime.fromisoformat(text)
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            aware.astimezone(UTC)  # what its offset takes out of time would fail in every reader
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
