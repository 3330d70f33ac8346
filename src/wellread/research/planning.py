"""The question as a run understands it, and the plan: what to look for and what that takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anyio import to_thread

from wellread.answers import Question
from wellread.ask.plan import read_as
from wellread.ask.planning_call import planned
from wellread.ask.retrieve.relax import both
from wellread.ask.understand.followups.conversation import Opened, opened, preferences_for
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.reports import MOST_FACETS, Facet, Limits, ResearchPlan, ResearchRequest
from wellread.research.bridges import ANCHORS
from wellread.research.bridges import MOST as BRIDGES
from wellread.research.facets import FirstLook, facets_of, look_first
from wellread.types import Filters

SEARCH_SECONDS, WRITE_SECONDS = 0.06, 2.0  # roughly, on two cores
CALL_SECONDS = 15.0  # of a language model
ROUND_TOKENS, SECTION_TOKENS = 6_000, 3_000  # read in one call; as many as may be are written


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and what a reader of the report has to know of how it was read.

    Attributes:
        filters: the limits that every search keeps to.
        relaxed: limits of the question that matched nothing and were left out.
        failures: steps that failed and were done without, in words.
        whole: whether documents are told as a whole.
    """

    plan: ResearchPlan
    filters: Filters
    relaxed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    whole: bool = False


async def turn_of(kb: KnowledgeBase, question: Question) -> Opened:
    """The question as it is meant after the turns before it.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    known = await to_thread.run_sync(vocabulary_of, kb, question.filters.collections)
    turn = await opened(kb, question, known)
    return (await planned(kb, turn, known)).turn if turn.earlier else turn


def turn_to_plain(turn: Opened) -> dict[str, Any]:
    """What has to be journaled of a turn: how it was read, and its session."""
    return {
        "text": turn.question.text,
        "session": turn.question.session_id,
        "asked": turn.asked,
        "reasons": list(turn.reasons),
        "failures": list(turn.failures),
        "context": turn.context,
    }


def turn_from_plain(question: Question, plain: Mapping[str, Any]) -> Opened:
    """The turn as it was journaled."""
    return Opened(
        question=replace(question, text=plain["text"], session_id=plain["session"]),
        asked=plain["asked"],
        reasons=tuple(plain["reasons"]),
        failures=tuple(plain["failures"]),
        context=plain["context"],
    )


def understood(kb: KnowledgeBase, turn: Opened) -> Analysis:
    """What the question asks for.

    Raises:
        RequestError: it is empty or too long.
        ModelError, StoreError: a part of the home cannot be used.
    """
    known = vocabulary_of(kb, turn.question.filters.collections)
    analysis = read_as(kb, turn.question, known)
    turn = replace(turn, liking=preferences_for(kb, turn.question.owner))
    return replace(turn.read_as(analysis, analysis.respelt), mode="deep")


def plan_of(kb: KnowledgeBase, analysis: Analysis, request: ResearchRequest) -> Planned:
    """The plan by a first look at the material, or with the facets that were given.

    Raises:
        RequestError: too many facets were given, or two of one id.
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as a search.
    """
    first = look_first(kb, analysis)
    facets = facets_of(kb, analysis, first)
    if request.facets is not None:
        facets = _given(request.facets, first.filters)
    return Planned(
        plan=_estimated(kb, analysis.question, facets, first, request.limits),
        filters=first.filters,
        relaxed=tuple(one.value for one in first.relaxed),
        failures=first.failures,
        whole=bool(first.whole),
    )


def _given(facets: tuple[Facet, ...], border: Filters) -> tuple[Facet, ...]:
    """Facets of somebody else's making: none reaches beyond the limits of the question.

    They are numbered anew, since those that a run finds go on from their number.
    """
    if len(facets) > MOST_FACETS:
        raise RequestError(
            f"a plan may have {MOST_FACETS} parts, this one has {len(facets)}",
            hint="leave some out, or ask in two runs",
        )
    ids = [one.id for one in facets]
    if len(set(ids)) < len(ids) or not all(one.query.strip() for one in facets):
        raise RequestError(
            "each part of a plan needs an id of its own and words to search for",
            hint="take the plan as it was shown, and change titles and queries only",
        )
    return tuple(
        replace(one, id=f"f{number}", filters=both(border, one.filters) or border)
        for number, one in enumerate(facets, 1)
    )


def _estimated(
    kb: KnowledgeBase,
    question: str,
    facets: tuple[Facet, ...],
    first: FirstLook,
    limits: Limits,
) -> ResearchPlan:
    """The plan with what it takes at most, by what such runs took."""
    later = ANCHORS + (limits.rounds - 1) * BRIDGES if limits.rounds > 1 else 0
    searched = sum(not one.passages for one in facets)
    searches = min(limits.searches, searched + later)
    seconds = searches * SEARCH_SECONDS + WRITE_SECONDS
    model, tokens, cost, priced = "", 0, 0.0, True
    writer = kb.models.recorded("model")
    if writer is not None:
        calls = limits.rounds + len(facets) + 1
        read = limits.rounds * ROUND_TOKENS + (len(facets) + 1) * SECTION_TOKENS
        written = calls * kb.settings.generation.max_tokens
        price = writer.cost(read, written)
        model, tokens, cost, priced = writer.identity, read + written, price.dollars, price.known
        seconds += calls * CALL_SECONDS
    return ResearchPlan(
        question=question,
        facets=facets,
        searches=searches,
        seconds=round(min(limits.seconds, seconds), 1),
        documents=len(first.whole or first.documents),
        model=model,
        tokens=tokens,
        cost=round(cost, 6),
        priced=priced,
    )
