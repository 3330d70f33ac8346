"""From an analysed question to what was found: each type of question has its strategies.

The first strategy that has something to say decides; direct retrieval always has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wellread.ask.aggregate.strategies.counts import counts
from wellread.ask.aggregate.strategies.coverage import coverage
from wellread.ask.aggregate.strategies.digest import digest
from wellread.ask.aggregate.strategies.explore import explore
from wellread.ask.aggregate.strategies.gaps import gaps
from wellread.ask.aggregate.strategies.relational import clearly_related, related
from wellread.ask.aggregate.strategies.trends import trends
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.retrieve.strategies.compare import compare, synthesis
from wellread.ask.retrieve.strategies.direct import direct
from wellread.ask.retrieve.strategies.guide import guides
from wellread.ask.retrieve.strategies.news import news
from wellread.ask.retrieve.strategies.persona import persona
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, QuestionType

Strategy = Callable[[KnowledgeBase, Analysis], Retrieval | None]

STRATEGIES: Mapping[QuestionType, tuple[Strategy, ...]] = {
    "comparative": (compare, synthesis),
    "synthesis": (digest, news, synthesis),
    "persona": (persona,),
    "counting": (counts, digest),
    "gap_finding": (digest, gaps),
    "meta": (digest, coverage),
    "trend": (trends, digest),
    "relational": (related,),
    "exploratory": (digest, clearly_related, explore),
    "factual": (digest, news, guides, clearly_related),
    "temporal": (digest, news),
}


def find(kb: KnowledgeBase, analysis: Analysis) -> Retrieval:
    """What the strategies of the question's type find.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    for strategy in STRATEGIES.get(analysis.type, ()):
        found = strategy(kb, analysis)
        if found is not None:
            return found
    return direct(kb, analysis)
