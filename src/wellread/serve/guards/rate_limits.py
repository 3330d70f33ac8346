"""How often somebody may come: requests, questions, and tries to sign in.

Counted in this process, or in a store that all processes share (``users.limits_storage``).
"""

from __future__ import annotations

import math
import threading
import time
from typing import Literal

from limits import RateLimitItem, parse_many
from limits.errors import ConfigurationError
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, RateLimiter

from wellread.config import UsersSettings
from wellread.errors import SettingsError

Counted = Literal["request", "ask", "name", "address"]
FROM_ONE_ADDRESS = 4  # times as many failed sign-ins as by one name: an office has one address
HOURS_TRIES = 20  # times as many an hour as a minute


class RateLimits:
    """The limits of one server."""

    def __init__(self, settings: UsersSettings) -> None:
        tries = settings.tries_per_minute
        minutes: dict[Counted, int] = {
            "request": settings.requests_per_minute,
            "ask": settings.asks_per_minute,
        }
        self._items: dict[Counted, list[RateLimitItem]] = {
            what: parse_many(f"{most}/minute") if most else [] for what, most in minutes.items()
        }
        failed: dict[Counted, int] = {"name": tries, "address": tries * FROM_ONE_ADDRESS}
        for what, most in failed.items():
            self._items[what] = parse_many(f"{most}/minute;{most * HOURS_TRIES}/hour")
        try:
            storage = storage_from_string(settings.limits_storage)
            self._limiter = MovingWindowRateLimiter(storage)
        except (ConfigurationError, ValueError, ImportError) as error:
            raise SettingsError(
                f"users.limits_storage cannot be used: {error}",
                hint="memory://, or redis://HOST:PORT with the package redis installed",
            ) from error
        # Counters, which one can be taken back from; a moving window keeps moments.
        self._tries = FixedWindowRateLimiter(storage)
        self._trying = threading.Lock()

    def take(self, what: Counted, who: str) -> int | None:
        """Count one; None when that is allowed, else the seconds to wait."""
        for item in self._items[what]:
            if not self._limiter.hit(item, what, who):
                return _pause(self._limiter, item, what, who)
        return None

    def take_try(self, name: str, address: str) -> int | None:
        """Count a try to sign in, before its password is looked at; as ``take``.

        One that is not allowed is not counted: it is told nothing.
        """
        counted: list[tuple[RateLimitItem, str, str]] = []
        with self._trying:
            for item, what, who in self._tries_of(name, address):
                counted.append((item, what, who))
                if not self._tries.hit(item, what, who):
                    self._take_back(counted)
                    return _pause(self._tries, item, what, who)
        return None

    def give_back(self, name: str, address: str) -> None:
        """The password was right, or was not looked at: the try does not count."""
        with self._trying:
            self._take_back(self._tries_of(name, address))

    def _tries_of(self, name: str, address: str) -> list[tuple[RateLimitItem, str, str]]:
        named: tuple[tuple[Counted, str], ...] = (("name", name), ("address", address))
        return [(item, f"tried {what}", who) for what, who in named for item in self._items[what]]

    def _take_back(self, counted: list[tuple[RateLimitItem, str, str]]) -> None:
        for item, what, who in counted:
            if self._tries.storage.get(item.key_for(what, who)) > 0:  # else its time is over
                self._tries.hit(item, what, who, cost=-1)


def _pause(limiter: RateLimiter, item: RateLimitItem, what: str, who: str) -> int:
    reset = limiter.get_window_stats(item, what, who).reset_time
    return max(1, math.ceil(reset - time.time()))
