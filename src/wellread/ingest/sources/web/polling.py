"""When watched feeds and pages are looked at again.

Each has its own time: after ``web.poll_minutes``, later when its server says that nothing changes
before, and later and later, up to a day, while it fails. Times differ by a tenth, so that sources
that were added together do not ask together for ever.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST_PAUSE = timedelta(days=1)
SPREAD = 0.1
MOST_DOUBLINGS = 16


def pause(interval: timedelta, failures: int, chance: float) -> timedelta:
    """How long to leave a source alone after ``failures`` failures in a row.

    Args:
        chance: from 0 to 1; shortens or lengthens the pause by up to a tenth.
    """
    doubled = interval * (1 << min(failures, MOST_DOUBLINGS))
    longest = max(LONGEST_PAUSE, interval)
    return min(doubled, longest) * (1 - SPREAD + 2 * SPREAD * chance)


@dataclass(slots=True)
class _Poll:
    due: datetime
    failures: int = 0


class Polls:
    """The sources to look at, and when.

    Args:
        interval: between two looks at one of them.
        chance: gives numbers from 0 to 1.
    """

    def __init__(self, interval: timedelta, *, chance: Callable[[], float] = random.random) -> None:
        self._interval = interval
        self._chance = chance
        self._polls: dict[str, _Poll] = {}

    def keep(self, uris: Iterable[str], now: datetime) -> None:
        """These are the sources from now on. New ones are due; of the others nothing changes."""
        self._polls = {uri: self._polls.get(uri) or _Poll(due=now) for uri in uris}

    def looked(
        self, uri: str, now: datetime, *, failed: bool, poll_after: datetime | None = None
    ) -> None:
        """``uri`` was looked at.

        Args:
            poll_after: its server does not want to be asked, or has nothing new, before.
        """
        poll = self._polls.get(uri)
        if poll is None:
            return
        poll.failures = poll.failures + 1 if failed else 0
        due = now + pause(self._interval, poll.failures, self._chance())
        poll.due = max(due, poll_after) if poll_after else due

    def postpone(self, uri: str, until: datetime) -> None:
        """``uri`` is not to be looked at before ``until``."""
        if poll := self._polls.get(uri):
            poll.due = max(poll.due, until)

    def due(self, now: datetime) -> frozenset[str]:
        """What is to be looked at."""
        return frozenset(uri for uri, poll in self._polls.items() if poll.due <= now)
