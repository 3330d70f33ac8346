"""Of which time news is told: the asked one, else the last there is, else all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from wellread.ask.aggregate.queries.result import Scope, day
from wellread.ask.retrieve.relax import narrowed
from wellread.ask.retrieve.story_search import WINDOW
from wellread.questions import Constraint
from wellread.types import Filters

_NOT_RECENT = "nothing is from the last 30 days, so the newest of all dates is listed"


def times_of(
    scope: Scope, where: Sequence[Filters], times: Sequence[Constraint]
) -> Iterator[tuple[Filters, tuple[Constraint, ...], tuple[str, ...]]]:
    """The asked time or the last days, then all dates.

    Each with the limits that are let go of, and what else has to be said.
    """
    asked = narrowed(Filters(), times)
    own = any(limit.published_from or limit.published_to for limit in where)
    if asked is not None and not times and not own:
        now = datetime.now(UTC)
        asked = Filters(published_from=now - WINDOW, published_to=now + timedelta(days=1))
    if asked is not None:
        yield asked, (), ()
    if asked is not None and times:
        yield from _last_time(scope, asked)
    if times or not own:
        yield Filters(), tuple(times), () if times else (_NOT_RECENT,)


def _last_time(
    scope: Scope, asked: Filters
) -> Iterator[tuple[Filters, tuple[Constraint, ...], tuple[str, ...]]]:
    """As long a time as was asked for before the last day of sources that ended before it."""
    since, until = asked.published_from, asked.published_to
    last = next((one.published_at for one in scope.dated(1)), None)
    if since is None or until is None or last is None or last >= since:
        return
    end = last.replace(hour=23, minute=59, second=59)
    first = end - (until - since)
    said = (
        f"nothing is from {day(since)} to {day(until)}: the sources end on {day(last)}, so their "
        f"last days are told, from {day(first)} on"
    )
    yield Filters(published_from=first, published_to=end), (), (said,)
