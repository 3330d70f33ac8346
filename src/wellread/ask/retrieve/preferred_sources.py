"""Sources that the asker prefers, or that experts rated, rank a little higher or lower.

A factor is bounded, so that a liked source never beats one that fits far better; only what the
asker muted is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.ask.retrieve.flagged_sentences import Held
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, SourceRule, fitting
from wellread.types import Filters, Hit, ListRank

HIGHER, LOWER = 1.2, 0.8
PREFERRED, LOWERED = "preferred by you", "ranked lower by you"
BEST = 5  # hits among which a muted source would have mattered


def by_preference(analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, without muted ones, once liked ones have gained and others lost."""
    liked = analysis.liking
    if not (liked.preferred or liked.lowered or liked.muted):
        return list(hits)
    scored = [_weighed(analysis, hit) for hit in hits if not muted(analysis, hit)]
    return sorted(scored, key=lambda hit: -hit.score)


def muted(analysis: Analysis, hit: Hit) -> bool:
    """Whether the asker muted the hit's source, and did not ask for it in this question."""
    rules = [rule for rule in analysis.liking.muted if not _asked_for(analysis, rule)]
    return fitting(rules, hit.document) is not None


def muted_words(analysis: Analysis, best: Sequence[Hit]) -> str:
    """What muting kept out of the ``best`` hits of a search without it; empty when nothing."""
    titles = dict.fromkeys(hit.document.title for hit in best if muted(analysis, hit))
    named = ", ".join(f"“{title}”" for title in titles)
    return f"muted by you and not used, though among the best: {named}" if named else ""


def _weighed(analysis: Analysis, hit: Hit) -> Hit:
    liked = analysis.liking
    for rules, factor, name in (
        (liked.preferred, HIGHER, PREFERRED),
        (liked.lowered, LOWER, LOWERED),
    ):
        if fitting(rules, hit.document):
            rank = ListRank(name=name, rank=1, score=factor)
            return replace(hit, score=min(1.0, hit.score * factor), ranks=(*hit.ranks, rank))
    return hit


def _asked_for(analysis: Analysis, rule: SourceRule) -> bool:
    """Whether the asker's limits or the question's words name what the rule is about."""
    limits = [analysis.filters, *(one.filters for one in analysis.constraints)]
    return any(rule.value.casefold() in _values(one, rule) for one in limits)


def _values(limits: Filters, rule: SourceRule) -> set[str]:
    named = {
        "document": limits.document_ids,
        "collection": limits.collections,
        "source_type": limits.source_types,
        "site": (),
    }[rule.kind]
    return {value.casefold() for value in named}


# --- sources that experts rated: ranked down or up, never out ------------------------------------

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
