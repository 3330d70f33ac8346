"""Days and moments as people type them: ``2025``, ``2025-10``, ``2025-10-14``, or ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from wellread.errors import RequestError

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_LAST_INSTANT = timedelta(microseconds=1)


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


def _bounds(text: str) -> tuple[datetime, datetime]:
    """First and last moment; a time without a zone is taken as UTC."""
    text = text.strip()
    partial = _PARTIAL.fullmatch(text)
    try:
        if partial is None:
            moment = datetime.fromisoformat(text)
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
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
