"""Sources that experts marked down are ranked down, and those marked up a little up: never out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wellread.ask.retrieve.learned.held import Held
from wellread.kb import KnowledgeBase

DOWN, UP = 0.1, 0.03  # of the score, for each person more that marked it down than up, or up
MOST_DOWN, MOST_UP = 0.3, 0.09  # however many they are


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRating:
    """What people said of a source: how many marked it down, and up."""

    down: int
    up: int

    @property
    def factor(self) -> float:
        """What its scores are multiplied with."""
        more = self.up - self.down
        return 1 + min(UP * more, MOST_UP) if more > 0 else 1 + max(DOWN * more, -MOST_DOWN)

    @property
    def label(self) -> str:
        """In words."""
        parts = [
            f"marked {way} by {people} {'expert' if people == 1 else 'experts'}"
            for way, people in (("down", self.down), ("up", self.up))
            if people
        ]
        return f"{', '.join(parts)} (score × {self.factor:.2f})"


Ratings = Mapping[str, SourceRating]


def _ratings(kb: KnowledgeBase) -> Ratings:
    marked = kb.catalogue.feedback.marked_by()
    return {known: SourceRating(down=down, up=up) for known, (down, up) in marked.items()}


source_ratings: Callable[[KnowledgeBase], Ratings] = Held(_ratings).of
"""Document id to what people said of it; StoreError when the catalogue cannot be read."""
