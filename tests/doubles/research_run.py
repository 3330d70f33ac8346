"""A run of research in memory: journal, limits and pool, as simple as they can be."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from wellread.models.base import ModelUsage
from wellread.reports import StopReason
from wellread.research.model.context import RoundsEnd
from wellread.types import Hit


class Killed(BaseException):
    """The process is gone."""


class MemoryRun:
    """Keeps what it is told.

    Args:
        journal: of a run that was begun before.
        searches, dollars: limits; None: none.
        stops: asked first: why to stop now.
        dies_after: so many steps are made and noted, then the process is killed.
    """

    def __init__(
        self,
        journal: dict[str, str] | None = None,
        *,
        searches: int | None = None,
        dollars: float | None = None,
        stops: Callable[[MemoryRun], StopReason | None] = lambda run: None,
        dies_after: int | None = None,
    ) -> None:
        self.journal = {} if journal is None else journal
        self.made: list[str] = []
        self.usages: list[ModelUsage] = []
        self.begun = 0
        self.pool: dict[str, dict[str, Hit]] = {}
        self.facets: list[tuple[str, str, int]] = []
        self.ended: tuple[RoundsEnd, str] | None = None
        self._searches = searches
        self._dollars = dollars
        self._stops = stops
        self._dies_after = dies_after

    @property
    def id(self) -> str:
        return "run_test"

    @property
    def cost(self) -> float:
        return sum(usage.cost for usage in self.usages)

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        if key not in self.journal:
            if self._dies_after is not None and len(self.made) >= self._dies_after:
                raise Killed
            made = await make()
            self.made.append(key)
            self.journal[key] = json.dumps(made)
        return json.loads(self.journal[key])

    def stop(self) -> StopReason | None:
        if reason := self._stops(self):
            return reason
        if self._searches is not None and self.begun >= self._searches:
            return "budget"
        if self._dollars is not None and self.cost >= self._dollars:
            return "budget"
        return None

    def searched(self) -> None:
        self.begun += 1

    def spend(self, usage: ModelUsage) -> None:
        self.usages.append(usage)

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        known = {name for held in self.pool.values() for name in held}
        self.pool.setdefault(facet, {}).update({hit.passage.id: hit for hit in hits})
        return len({hit.passage.id for hit in hits} - known)

    def found(self, facet: str) -> Sequence[Hit]:
        return list(self.pool.get(facet, {}).values())

    def open_facet(self, title: str, query: str, round_number: int) -> str:
        self.facets.append((title, query, round_number))
        return f"f{len(self.facets) + 10}"

    def end_rounds(self, reason: RoundsEnd, text: str = "") -> None:
        self.ended = (reason, text)

    @property
    def texts(self) -> list[str]:
        """What the pool holds."""
        return [hit.passage.text for held in self.pool.values() for hit in held.values()]
