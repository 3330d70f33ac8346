"""Command ``research``: plan and run a research in rounds of searches, and print its report."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from typing import Annotated

import anyio
import typer
from rich.console import Console

from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import dollars as format_dollars
from wellread.research.research import begin, default_limits, plan_research, research
from wellread.research.run_state import state_of
from wellread.serve.cli.answer_printing import print_answer
from wellread.serve.cli.ask_cli import EXIT_NOT_ANSWERED
from wellread.serve.cli.options import Yes, limited
from wellread.serve.features.answering import AskResponse, answer_body
from wellread.serve.terminal import Terminal, opened, print_line, print_rows
from wellread.serve.views import FACES, Shape, json_of
from wellread.store.catalogue.asking.research_records import MAX_RUNS, ResearchRun
from wellread.types import Filters
from wellread.values.answer_text import as_rendered
from wellread.values.answers import NOBODY, Question
from wellread.values.reports import (
    Facet,
    Limits,
    PlanEvent,
    ProgressEvent,
    ReadDocument,
    Report,
    ReportEvent,
    ReportSection,
    ResearchPlan,
    ResearchRequest,
    RunState,
)

RUNS = "run=id begun=created_at state seconds question:line"
RUN = "id state question reason"


app = typer.Typer(rich_markup_mode=None)

MAX_LISTED = 50

Rounds = Annotated[int | None, typer.Option(min=1, max=10, help="Maximum number of search rounds.")]
Seconds = Annotated[float | None, typer.Option(min=0.1, help="Time limit in seconds.")]
Dollars = Annotated[
    float | None, typer.Option(min=0, help="Cost limit of the language model in US dollars.")
]
OnlyPlan = Annotated[bool, typer.Option("--plan", help="Show the plan with its estimate and exit.")]
Events = Annotated[
    bool,
    typer.Option("--events", help="Write each event as a line of JSON; the last has the report."),
]
Resume = Annotated[str, typer.Option(metavar="RUN", help="Continue an interrupted run.")]
Listing = Annotated[bool, typer.Option("--list", help="List the newest runs.")]
Show = Annotated[str, typer.Option(metavar="RUN", help="Show the report of a run, or of 'last'.")]


LAST = "last"

# The JSON of these values: see ``serve/views.py``.
FACES.show(Facet, "* -filters -passages")
FACES.show_whole(Limits, ResearchPlan, ProgressEvent, ReadDocument)
FACES.show(ReportSection, "facet title start=span.start end=span.end found")
FACES.show(
    Report,
    "* answer",
    answer=(AskResponse, lambda report: answer_body(report.answer)),
)


class RunBody(
    Shape,
    line="""id=run.id state question=run.request.question.text created_at=run.created_at
    finished_at=run.finished_at seconds=run.seconds reason=run.reason answer_id=run.answer_id
    limits=run.request.limits plan=run.plan ?report""",
):
    """A run with its report, if it has one; ``reason``: why it failed."""

    run: ResearchRun
    state: RunState
    report: Report | None = None


def run_named(kb: KnowledgeBase, name: str) -> ResearchRun:
    """Return the run with this id or unique prefix of an id, or the ``last`` one."""
    runs = kb.catalogue.research.newest(kb.asker.owner, MAX_RUNS)
    matches = runs[:1] if name == LAST else [run for run in runs if run.id.startswith(name)]
    if len(matches) != 1:
        raise UnknownNameError(
            f"{name!r} is ambiguous" if matches else f"there is no research {name!r}",
            hint="see 'wellread research --list'",
        )
    return matches[0]


def needs_confirmation(kb: KnowledgeBase, plan: ResearchPlan) -> bool:
    """Whether a plan needs confirmation: its estimate is too high or its price unknown."""
    settings = kb.settings.research
    is_expensive = plan.cost > settings.auto_dollars or not plan.priced
    return plan.seconds > settings.auto_seconds or (bool(plan.model) and is_expensive)


def describe_plan(plan: ResearchPlan) -> str:
    """Describe the maximum number of searches, seconds and cost of a plan."""
    text = f"At most {plan.searches} searches, about {plan.seconds:.0f} s"
    if plan.model:
        money = format_dollars(plan.cost) if plan.priced else "an unknown price"
        text += f"; {plan.model}: up to {plan.tokens:,} tokens, {money}"
    documents = f"a first look found {plan.documents} documents"
    return f"{text}; {documents}" if plan.documents else text


def describe_result(report: Report) -> str:
    """Describe what a run did and why it ended, with its id."""
    cited = sum(document.cited for document in report.documents)
    took = f"{report.searches} searches in {_number_of(report.rounds, 'round')}"
    read = f"{_number_of(len(report.documents), 'document')} read, {cited} cited"
    calls = f", {_number_of(report.calls, 'model call')}" if report.calls else ""
    return f"{took}, {read}{calls}; ended: {report.stopped.replace('_', ' ')} ({report.id})"


def _number_of(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


@app.command(name="research")
@limited()
def research_command(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in quotes.")] = "",
    *,
    filters: Filters,
    rounds: Rounds = None,
    seconds: Seconds = None,
    dollars: Dollars = None,
    yes: Yes = False,
    plan: OnlyPlan = False,
    events: Events = False,
    resume: Resume = "",
    listing: Listing = False,
    show: Show = "",
) -> None:
    """Research a question in rounds of searches and report with a verdict for every sentence.

    The plan with its estimate is shown first; a plan of more than 20 seconds or 0.10 dollars needs
    confirmation. Ctrl-C interrupts a run, and --resume continues it.

    Exit status: 0 a report, 1 an error (also: a plan to confirm without a terminal), 2 wrong
    options, 3 the plan was refused or the material has no answer, 130 interrupted.
    """
    if sum(map(bool, (question.strip(), resume, listing, show))) != 1:
        raise typer.BadParameter("give a question, or one of --resume, --list, --show")
    with opened(context, Terminal.open_to_ask) as (terminal, kb):
        face = ResearchFace(terminal=terminal, kb=kb, events=events)
        if listing:
            newest = kb.catalogue.research.newest(kb.asker.owner, MAX_LISTED)
            runs = [RunBody(run=run, state=state_of(kb, run)) for run in newest]
            terminal.show_rows(runs, RUNS, none="There are no research runs yet.")
        elif show:
            face.show(run_named(kb, show))
        elif resume:
            run = run_named(kb, resume)
            face.follow(run.id, run.request)
        else:
            request = Question(text=question, filters=filters, mode="deep", owner=kb.asker.owner)
            defaults = default_limits(kb)
            limits = replace(
                defaults,
                rounds=defaults.rounds if rounds is None else rounds,
                seconds=defaults.seconds if seconds is None else seconds,
                dollars=defaults.dollars if dollars is None else dollars,
            )
            face.ask(ResearchRequest(question=request, limits=limits), yes=yes, only_plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchFace:
    """Research on a terminal: plan and progress on standard error, the report on standard output.

    With ``events`` each event is written as a line of JSON.
    """

    terminal: Terminal
    kb: KnowledgeBase
    events: bool = False

    @property
    def silent(self) -> bool:
        """Whether a program reads the output."""
        return self.terminal.json or self.events

    def ask(self, request: ResearchRequest, *, yes: bool, only_plan: bool) -> None:
        """Plan, ask for confirmation if needed, and run the plan."""
        plan = anyio.run(plan_research, self.kb, request)
        if only_plan:
            self.terminal.show(plan, _print_plan)
            return
        if not self.silent:
            _print_plan(self.terminal.err, plan)
        if needs_confirmation(self.kb, plan) and not yes:
            if self.silent or not is_interactive():
                description = describe_plan(plan)
                detail = f"the plan needs confirmation: {description[0].lower()}{description[1:]}"
                raise RequestError(detail, hint="use --yes, or lower limits (--rounds, --seconds)")
            if not typer.confirm("Run this plan?", default=True, err=True):
                self.terminal.err.print("Plan refused; nothing was searched.")
                raise typer.Exit(EXIT_NOT_ANSWERED)
        self.follow(anyio.run(begin, self.kb, request, plan), request)

    def show(self, run: ResearchRun) -> None:
        """Show a run's report, or its state."""
        report = self.kb.catalogue.research.report(run.id)
        if self.terminal.json or report is None:
            body = RunBody(run=run, state=state_of(self.kb, run), report=report)
            self.terminal.show_facts(body, RUN)
        else:
            self._print(report)

    def follow(self, run_id: str, request: ResearchRequest) -> None:
        """Work on a run and print its report; a model call already made is not repeated."""
        self._write_event("begun", {"id": run_id})
        try:
            report = anyio.run(self._run, run_id, request)
        except KeyboardInterrupt:
            self.kb.catalogue.research.fail(run_id, "", "interrupted")
            again = f"Interrupted. Continue with: wellread research --resume {run_id}"
            print_line(self.terminal.err, again)
            raise
        if self.terminal.json and not self.events:
            self.terminal.write_json(report)
        elif not self.events:
            self._print(report)
        if report.answer.answered_by == NOBODY:
            raise typer.Exit(EXIT_NOT_ANSWERED)

    async def _run(self, run_id: str, request: ResearchRequest) -> Report:
        number = 0
        async for event in research(self.kb, request, run_id=run_id):
            number += 1
            match event:
                case PlanEvent(plan=plan):
                    self._write_event("plan", json_of(plan), number)
                case ProgressEvent():
                    self._write_event("progress", json_of(event), number)
                    if not self.silent:
                        print_line(self.terminal.err, f"  {event.round}  {event.text}", "dim")
                case ReportEvent(report=report):
                    self._write_event("report", json_of(report), number)
                    return report
        raise RequestError(f"research {run_id} ended without a report", hint="ask again")

    def _print(self, report: Report) -> None:
        """Print the report with a symbol per sentence, its sources, and the reason it ended."""
        rendered = as_rendered(report.answer, self.kb.settings.citations)
        print_answer(self.terminal.out, rendered, seconds=report.seconds)
        print_line(self.terminal.out, describe_result(report), "dim")

    def _write_event(self, name: str, data: object, number: int = 0) -> None:
        if self.events:
            line = {"number": number, "event": name, "data": data}
            typer.echo(json.dumps(line, ensure_ascii=False))


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def _print_plan(console: Console, plan: ResearchPlan) -> None:
    print_rows(console, plan.facets, "look_for=title because=why", f"Plan: {plan.question}")
    print_line(console, describe_plan(plan), "dim")
