"""What a run of research gives to those who work in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

from wellread.models.base import ModelUsage
from wellread.reports import StopReason
from wellread.types import Hit

RoundsEnd = StopReason | Literal["failed"]
"""Why the rounds of a model ended; ``failed``: the model did, and the run goes on without it."""


class RunContext(Protocol):
    """One run: its journal, its limits, and the passages found so far.

    A run that is taken up again calls everything in the same order; what ``once`` has noted is
    not done again, but ``searched``, ``spend`` and ``add`` are told of it as the first time.
    """

    @property
    def id(self) -> str:
        """Names the run; the same after it was taken up again."""
        ...

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """The JSON value that ``make`` gave when ``key`` was first seen in this run."""
        ...

    def stop(self) -> StopReason | None:
        """Why no further search or call of a model may begin; asked before each."""
        ...

    def searched(self) -> None:
        """A search is about to begin; it counts from now on."""
        ...

    def spend(self, usage: ModelUsage) -> None:
        """A call of a model has ended, whether it failed or not, and took so much."""
        ...

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        """Put passages into the run's pool under a facet's id.

        One passage may stand under several facets. Counted are those that stood under none.
        """
        ...

    def found(self, facet: str) -> Sequence[Hit]:
        """The passages in the pool under that facet, the best first."""
        ...

    def open_facet(self, title: str, query: str, round_number: int) -> str:
        """A facet that a model named; its id, also that of an old one that is the same.

        Empty: the run takes no further ones.
        """
        ...

    def end_rounds(self, reason: RoundsEnd, text: str = "") -> None:
        """The rounds of the model are over; ``text`` says more in words where it failed."""
        ...
