"""``wellread research``: a question researched in rounds, after a plan that is shown first."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from typing import Annotated

import anyio
import typer
from rich.console import Console

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.research.research import begin, plan_research, research, usual_limits
from wellread.serve.cli.answer_printing import print_answer
from wellread.serve.cli.options import Yes, limited
from wellread.serve.features.researching import (
    cancel_run,
    end_line,
    estimate,
    needs_yes,
    research_event_body,
    run_body,
    run_facts,
    run_named,
)
from wellread.serve.terminal import Terminal, print_line, print_rows, terminal_of
from wellread.serve.views import json_of
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.types import Filters
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Question
from wellread.values.reports import (
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchPlan,
    ResearchRequest,
)

REFUSED = 3  # exit status
RUNS = "run=id begun=created_at state seconds question:line"
RUN = "id state question reason"


app = typer.Typer(rich_markup_mode=None)

LISTED = 50

Rounds = Annotated[int | None, typer.Option(min=1, max=10, help="Most rounds of searching.")]
Seconds = Annotated[float | None, typer.Option(min=0.1, help="Longest that it may work.")]
Dollars = Annotated[
    float | None, typer.Option(min=0, help="US dollars that the language model may cost.")
]
OnlyPlan = Annotated[
    bool, typer.Option("--plan", help="Show the plan with its estimate, and stop.")
]
Events = Annotated[
    bool,
    typer.Option("--events", help="Each event as a line of JSON; the last holds the report."),
]
Resume = Annotated[str, typer.Option(metavar="RUN", help="Go on with a run that was interrupted.")]
Listing = Annotated[bool, typer.Option("--list", help="List the newest runs.")]
Show = Annotated[str, typer.Option(metavar="RUN", help="Show a run's report; 'last': the newest.")]
Cancel = Annotated[str, typer.Option(metavar="RUN", help="Ask a run to stop.")]


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
    cancel: Cancel = "",
) -> None:
    """Research a question in rounds of searches; a report with a verdict for every sentence.

    The plan with its estimate comes first; one of more than 20 seconds or 0.10 dollars needs a
    yes. Ctrl-C stops, and --resume goes on; --cancel has a run answer from what was found.

    Exit status: 0 a report, 1 an error (also: a plan that needs a yes, and nobody to ask),
    2 wrong options, 3 the plan was refused, 130 stopped.
    """
    terminal = terminal_of(context)
    if sum(map(bool, (question.strip(), resume, listing, show, cancel))) != 1:
        raise typer.BadParameter("give a question, or one of --resume, --list, --show, --cancel")
    with terminal.open_to_ask() as kb:
        face = ResearchFace(terminal=terminal, kb=kb, events=events)
        if listing:
            newest = kb.catalogue.research.newest(kb.asker.owner, LISTED)
            runs = [run_facts(kb, run) for run in newest]
            terminal.show_rows(runs, RUNS, none="Nothing was researched yet.")
        elif show:
            face.show(run_named(kb, show))
        elif cancel:
            face.cancel(run_named(kb, cancel))
        elif resume:
            run = run_named(kb, resume)
            face.follow(run.id, run.request)
        else:
            asked = Question(text=question, filters=filters, mode="deep", owner=kb.asker.owner)
            usual = usual_limits(kb)
            limits = replace(
                usual,
                rounds=usual.rounds if rounds is None else rounds,
                seconds=usual.seconds if seconds is None else seconds,
                dollars=usual.dollars if dollars is None else dollars,
            )
            face.ask(ResearchRequest(question=asked, limits=limits), yes=yes, only_plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchFace:
    """Research on one terminal: plan and progress on standard error, the report on the other.

    With ``events`` each event is written as a line of JSON.
    """

    terminal: Terminal
    kb: KnowledgeBase
    events: bool = False

    @property
    def silent(self) -> bool:
        """Whether a program reads what is written."""
        return self.terminal.json or self.events

    def ask(self, request: ResearchRequest, *, yes: bool, only_plan: bool) -> None:
        """Plan, ask where that is needed, and follow the plan."""
        plan = anyio.run(plan_research, self.kb, request)
        if only_plan:
            self.terminal.show(plan, _print_plan)
            return
        if not self.silent:
            _print_plan(self.terminal.err, plan)
        if needs_yes(self.kb, plan) and not yes:
            if self.silent or not somebody_types():
                raise RequestError(
                    f"the plan needs a yes: {estimate(plan)[0].lower()}{estimate(plan)[1:]}",
                    hint="give --yes, or lower limits (--rounds, --seconds)",
                )
            if not typer.confirm("Follow it?", default=True, err=True):
                self.terminal.err.print("Refused; nothing is looked for.")
                raise typer.Exit(REFUSED)
        request = replace(request, facets=plan.facets)
        self.follow(anyio.run(begin, self.kb, request, plan), request)

    def show(self, run: ResearchRun) -> None:
        """Show a run's report, or how it stands."""
        report = self.kb.catalogue.research.report(run.id)
        if self.terminal.json or report is None:
            self.terminal.show_facts(run_body(self.kb, run), RUN)
        else:
            self._print(report)

    def cancel(self, run: ResearchRun) -> None:
        """Ask a run to stop."""
        state = cancel_run(self.kb, run)
        if state is None:
            raise RequestError(f"research {run.id} has ended", hint=f"--show {run.id}")
        soon = f"{run.id} stops soon and answers from what it has."
        told = soon if state == "running" else f"{run.id} is cancelled."
        self.terminal.say({"id": run.id, "state": state}, told)

    def follow(self, run_id: str, request: ResearchRequest) -> None:
        """Work on a run, and write its report; what it did before is not done again."""
        self._tell("begun", {"id": run_id})
        try:
            report = anyio.run(self._reported, run_id, request)
        except KeyboardInterrupt:
            again = f"Stopped. Go on with: wellread research --resume {run_id}"
            print_line(self.terminal.err, again)
            raise
        if self.terminal.json and not self.events:
            self.terminal.write_json(report)
        elif not self.events:
            self._print(report)

    async def _reported(self, run_id: str, request: ResearchRequest) -> Report:
        number = 0
        async for event in research(self.kb, request, run_id=run_id):
            number += 1
            name, body = research_event_body(event)
            self._tell(name, json_of(body), number)
            if isinstance(event, ProgressEvent) and not self.silent:
                print_line(self.terminal.err, f"  {event.round}  {event.text}", "dim")
            if isinstance(event, ReportEvent):
                return event.report
        raise RequestError(f"research {run_id} ended without a report", hint="ask again")

    def _print(self, report: Report) -> None:
        """The report with a sign per sentence, its sources, and why it ended."""
        shown = as_rendered(report.answer, self.kb.settings.citations)
        print_answer(self.terminal.out, shown, seconds=report.seconds)
        print_line(self.terminal.out, end_line(report), "dim")

    def _tell(self, name: str, data: object, number: int = 0) -> None:
        """A line of JSON; the number of an event is that by which it can be read again."""
        if self.events:
            told = {"number": number, "event": name, "data": data}
            typer.echo(json.dumps(told, ensure_ascii=False))


def somebody_types() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty()


def _print_plan(console: Console, plan: ResearchPlan) -> None:
    """What is looked for and why, and what that takes at most."""
    print_rows(console, plan.facets, "look_for=title because=why", f"Plan: {plan.question}")
    print_line(console, estimate(plan), "dim")
