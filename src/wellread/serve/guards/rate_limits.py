"""How often somebody may come: requests, questions, and failed sign-ins.

Counted in this process, or in a store that all processes share (``users.limits_storage``).
"""

from __future__ import annotations

import math
import time
from typing import Literal

from limits import RateLimitItem, parse_many
from limits.errors import ConfigurationError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from wellread.config.team_settings import UsersSettings
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
            self._limiter = MovingWindowRateLimiter(storage_from_string(settings.limits_storage))
        except (ConfigurationError, ValueError, ImportError) as error:
            raise SettingsError(
                f"users.limits_storage cannot be used: {error}",
                hint="memory://, or redis://HOST:PORT with the package redis installed",
            ) from error

    def take(self, what: Counted, who: str) -> int | None:
        """Count one; None when that is allowed, else the seconds to wait."""
        for item in self._items[what]:
            if not self._limiter.hit(item, what, who):
                return self._pause(item, what, who)
        return None

    def pause(self, what: Counted, who: str) -> int | None:
        """The seconds to wait before one more is allowed; None when it is. Counts nothing."""
        for item in self._items[what]:
            if not self._limiter.test(item, what, who):
                return self._pause(item, what, who)
        return None

    def _pause(self, item: RateLimitItem, what: Counted, who: str) -> int:
        reset = self._limiter.get_window_stats(item, what, who).reset_time
        return max(1, math.ceil(reset - time.time()))
