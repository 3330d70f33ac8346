"""Plans before they are followed: when one needs a yes, and how one is edited; short runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.research.research import usual_limits
from wellread.types import Filters
from wellread.values.reports import Facet, Limits, ResearchPlan

SHORT_ROUNDS, SHORT_SECONDS = 2, 20.0  # of a research that answers a single question


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFacet:
    """A part of a plan as somebody wants it; one of a known id keeps what is left empty."""

    id: str = ""
    title: str = ""
    query: str = ""


def short_limits(kb: KnowledgeBase) -> Limits:
    """The limits of a short research: those of the settings where they are lower."""
    usual = usual_limits(kb)
    return replace(
        usual,
        rounds=min(usual.rounds, SHORT_ROUNDS),
        seconds=min(usual.seconds, SHORT_SECONDS),
    )


def needs_yes(kb: KnowledgeBase, plan: ResearchPlan) -> bool:
    """Whether the estimate is above what is followed without asking, or its price is not known."""
    own = kb.settings.research
    dear = plan.cost > own.auto_dollars or not plan.priced
    return plan.seconds > own.auto_seconds or (bool(plan.model) and dear)


def dropped(facets: Sequence[Facet], numbers: Collection[int]) -> tuple[Facet, ...]:
    """The plan without its parts of these numbers, which count from 1.

    Raises:
        RequestError: there is no part of a number, or none would be left.
    """
    wrong = sorted(number for number in numbers if not 0 < number <= len(facets))
    if wrong:
        raise RequestError(
            f"the plan has no part {wrong[0]}", hint=f"its parts are 1 to {len(facets)}"
        )
    kept = tuple(one for number, one in enumerate(facets, 1) if number not in numbers)
    if not kept:
        raise RequestError("a plan needs a part at least", hint="add one before this one goes")
    return kept


def added(facets: Sequence[Facet], words: str, limits: Filters) -> tuple[Facet, ...]:
    """The plan with one more part, which is searched for by ``words`` as they are."""
    return (*facets, _new(facets, words, words, limits))


def given_facets(
    plan: ResearchPlan, wanted: Sequence[GivenFacet], limits: Filters
) -> tuple[Facet, ...]:
    """The parts of ``plan`` as they are wanted: some left out, changed, or new.

    Args:
        limits: of the question, which new parts keep to.

    Raises:
        RequestError: a part is neither known nor has words of its own.
    """
    known = {one.id: one for one in plan.facets}
    made: list[Facet] = []
    for one in wanted:
        old = known.get(one.id)
        if old is not None:
            query = one.query.strip() or old.query
            passages = old.passages if query == old.query else ()
            title = one.title.strip() or old.title
            made.append(replace(old, title=title, query=query, passages=passages))
            continue
        query = one.query.strip() or one.title.strip()
        if not query:
            raise RequestError(
                f"the plan has no part {one.id!r}",
                hint="give the id of a part of the plan, or a title or query of a new one",
            )
        made.append(_new([*plan.facets, *made], one.title.strip() or query, query, limits))
    if len({one.id for one in made}) < len(made):
        raise RequestError("a part of the plan is named twice", hint="name each of them once")
    return tuple(made)


def _new(facets: Sequence[Facet], title: str, query: str, limits: Filters) -> Facet:
    """A part that somebody added; it keeps to the limits of the question as it was read."""
    asked = next((one.filters for one in facets if one.kind == "question"), limits)
    taken = {one.id for one in facets}
    free = next(one for number in range(1, len(taken) + 2) if (one := f"f{number}") not in taken)
    return Facet(
        id=free, kind="term", title=title, query=query, filters=asked, why="added to the plan"
    )
