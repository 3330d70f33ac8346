"""What stands beside an answer: related material, and further questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Related
from wellread.ask.reply import Reply
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Up to five things to explore, and questions that the material can answer."""

    related: tuple[Related, ...] = ()
    suggestions: tuple[str, ...] = ()


def beside(kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit], reply: Reply) -> Beside:
    """What to name beside ``reply``; nothing when ``features.suggest_related`` is off."""
    return Beside(related=reply.related)
