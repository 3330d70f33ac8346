"""Routes of the research pages: the plan of a run, its progress, and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from anyio import to_thread
from fastapi import Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.ask.plan import analyse_alone
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.recheck import stored_answer
from wellread.research.planning import edit_plan
from wellread.research.research import begin, default_limits, plan_research
from wellread.research.run_state import state_of
from wellread.serve.error_shapes import Problem, ProblemError, problem_of
from wellread.serve.features.feature import check_may_ask
from wellread.serve.guards.incoming import is_foreign
from wellread.serve.guards.route_rules import Kb
from wellread.serve.web.answer_parts import answer_page_values, limit_choices
from wellread.serve.web.pages.ask_pages import AskQuery
from wellread.serve.web.rendering import page_router, render_page
from wellread.serve.web.runs import TOO_MANY_RESEARCH, Research
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.values.reports import Facet, ProgressEvent, ResearchPlan, ResearchRequest

router = page_router("read")
reads, asks = router.requiring("read", "ask")
MAX_LISTED = 50
MAX_TITLE_CHARS = 200
NEW_PARTS = 2  # empty fields for parts that the reader adds to a plan


class PlanForm(NamedTuple):
    """What the reader made of a plan: the titles of all its parts, those that stay, new ones."""

    titles: Mapping[str, str]
    kept: frozenset[str]
    added: tuple[str, ...]


class Part(NamedTuple):
    """A part of a run; ``found``: passages found for it, None while it is not searched."""

    facet: Facet
    found: int | None
    written: bool


@asks.get("/research")
async def research_page(kb: Kb, request: Request, query: Annotated[AskQuery, Query()]) -> Response:
    """The question to research with its plan, and the reader's own runs."""
    plan = None
    if query.q.strip() and not is_foreign(request.scope):
        check_may_ask(kb)
        plan = await plan_research(kb, _asked(kb, query))
    return await to_thread.run_sync(_planned, kb, request, query, plan)


@asks.post("/research")
async def start(
    kb: Kb, runs: Research, request: Request, query: Annotated[AskQuery, Query()]
) -> Response:
    """Start a run of the plan as the reader changed it, or show its new estimate."""
    check_may_ask(kb)
    fields = await request.form()
    asked = _asked(kb, query)
    plan = await plan_research(kb, asked)
    form = PlanForm(
        titles={
            part.id: str(fields.get(f"title_{part.id}", part.title))[:MAX_TITLE_CHARS]
            for part in plan.facets
        },
        kept=frozenset(map(str, fields.getlist("keep"))),
        added=tuple(
            str(title).strip()[:MAX_TITLE_CHARS] for title in fields.getlist("added") if title
        ),
    )
    titles = {name: title for name, title in form.titles.items() if name in form.kept}
    problem = TOO_MANY_RESEARCH if runs.full else None
    try:
        edited = edit_plan(kb, plan, asked.limits, titles, form.added)
    except RequestError as error:
        edited, problem = plan, problem_of(error)
    if problem or "estimate" in fields:
        return await to_thread.run_sync(_planned, kb, request, query, plan, (form, edited, problem))
    run_id = await begin(kb, asked, edited)
    runs.start(kb, await to_thread.run_sync(_run_named, kb, run_id))
    return RedirectResponse(f"/research/{run_id}", status_code=303)


def _asked(kb: KnowledgeBase, query: AskQuery) -> ResearchRequest:
    asked = query.model_copy(update={"mode": "deep"})
    return ResearchRequest(question=asked.question(), limits=default_limits(kb))


def _planned(
    kb: KnowledgeBase,
    request: Request,
    query: AskQuery,
    plan: ResearchPlan | None,
    changed: tuple[PlanForm, ResearchPlan, Problem | None] | None = None,
) -> Response:
    facets = plan.facets if plan else ()
    everything = frozenset(facet.id for facet in facets)
    untouched = PlanForm({facet.id: facet.title for facet in facets}, everything, ())
    form, estimate, problem = changed or (untouched, plan, None)
    newest = kb.catalogue.research.newest(kb.asker.owner, MAX_LISTED)
    values = {
        "asked": query,
        "plan": plan,
        "estimate": estimate,
        "form": form,
        "added": [*filter(None, form.added), *[""] * NEW_PARTS],
        "why": _why(kb, query) if plan else "",
        "runs": [(run, state_of(kb, run)) for run in newest],
    }
    return render_page(request, "research.html", values, problem=problem)


def _why(kb: KnowledgeBase, query: AskQuery) -> str:
    """Why ``auto`` picks research for this question; empty when the reader chose it."""
    if query.mode != "auto":
        return ""
    analysis = analyse_alone(kb, query.question())
    return analysis.reasons[-1].partition(": ")[2] if analysis.mode == "deep" else ""


@reads.get("/research/{run_id}")
def run_page(kb: Kb, runs: Research, request: Request, run_id: str, pane: bool = False) -> Response:
    """A run: its progress by part, then its report; ``pane``: only the progress."""
    run = _run_named(kb, run_id)
    report = kb.catalogue.research.report(run_id)
    events = kb.catalogue.research.progress(run_id)
    values: dict[str, object] = {
        "run": run,
        "state": state_of(kb, run),
        "seconds": runs.seconds(run_id),
        "plan_parts": _parts(run.plan, events),
        "done_steps": [event.text for event in events],
        "report": report,
    }
    if report is not None:
        stored, answer = stored_answer(kb, run.answer_id, kb.asker.owner)
        values |= answer_page_values(kb, answer, stale=stored.stale)
        values |= {"asked": AskQuery(session=answer.session_id), "choices": limit_choices(kb)}
    template = "parts/research_progress.html" if pane else "research_run.html"
    return render_page(request, template, values)


@asks.post("/research/{run_id}/start")
async def start_again(kb: Kb, runs: Research, run_id: str) -> Response:
    """Go on with a run that failed, was cancelled or was interrupted."""
    run = await to_thread.run_sync(_run_named, kb, run_id)
    if runs.full:
        raise ProblemError(TOO_MANY_RESEARCH)
    if run.state != "done":
        runs.start(kb, run)
    return RedirectResponse(f"/research/{run_id}", status_code=303)


@asks.post("/research/{run_id}/cancel")
async def cancel(kb: Kb, runs: Research, run_id: str) -> Response:
    """Stop a run; what it has found is not written up."""
    await runs.cancel(await to_thread.run_sync(_run_named, kb, run_id))
    return RedirectResponse(f"/research/{run_id}", status_code=303)


@asks.post("/research/{run_id}/remove")
async def remove(kb: Kb, runs: Research, run_id: str) -> Response:
    """Remove a run from the list; the answer of its report stays with the conversations."""
    run = await to_thread.run_sync(_run_named, kb, run_id)
    await runs.cancel(run)
    await to_thread.run_sync(kb.catalogue.research.remove, run.id)
    return RedirectResponse("/research", status_code=303)


def _run_named(kb: KnowledgeBase, run_id: str) -> ResearchRun:
    run = kb.catalogue.research.get(run_id, kb.asker.owner)
    if run is None:
        raise UnknownNameError(f"there is no research {run_id!r}", hint="see /research")
    return run


def _parts(plan: ResearchPlan | None, events: Sequence[ProgressEvent]) -> list[Part]:
    """The parts of a plan with what the events tell about them."""
    parts = []
    for facet in plan.facets if plan else ():
        own = [event for event in events if event.facet == facet.id]
        written = any(event.stage == "write" for event in own)
        found = sum(event.found for event in own if event.stage != "write") if own else None
        parts.append(Part(facet=facet, found=found, written=written))
    return parts
