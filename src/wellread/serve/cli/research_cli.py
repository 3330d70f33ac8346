"""``wellread research``: a question researched in rounds, after a plan that is shown first."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.text import Text

from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.research.research import begin, plan_research, research, usual_limits
from wellread.serve.cli.options import Kinds, Since, Speakers, Topics, Until, filters_of
from wellread.serve.features.researching import (
    cancel_run,
    estimate,
    needs_yes,
    print_event,
    print_plan,
    print_report,
    print_run,
    print_runs,
    report_markdown,
    research_event_body,
    run_body,
    run_facts,
    run_named,
)
from wellread.serve.terminal import Terminal, terminal_of
from wellread.serve.views import json_of
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Question
from wellread.values.reports import (
    Limits,
    Report,
    ReportEvent,
    ResearchPlan,
    ResearchRequest,
)

REFUSED = 3  # exit status
PROMPT = "Enter goes on · no › "


def somebody_types() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty()


def ask_reader(console: Console) -> None:
    """Go on where the reader says yes.

    Raises:
        Exit: it was refused, or the input ended.
    """
    while True:
        word = _line(console).strip()
        if word in ("", "y", "yes"):
            return
        if word in ("n", "no", "q"):
            console.print("Refused; nothing is looked for.")
            raise typer.Exit(REFUSED)


def _line(console: Console) -> str:
    """What is typed; the end of the input refuses."""
    console.print(Text(PROMPT, style="bold"), end="")
    try:
        return input()
    except EOFError:
        return "no"


app = typer.Typer(rich_markup_mode=None)

LISTED = 50

Rounds = Annotated[int | None, typer.Option(min=1, max=10, help="Most rounds of searching.")]
Seconds = Annotated[float | None, typer.Option(min=0.1, help="Longest that it may work.")]
Searches = Annotated[int | None, typer.Option(min=1, max=1000, help="Most searches.")]
Dollars = Annotated[
    float | None, typer.Option(min=0, help="US dollars that the language model may cost.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Follow the plan without asking.")]
OnlyPlan = Annotated[
    bool, typer.Option("--plan", help="Show the plan with its estimate, and stop.")
]
Events = Annotated[
    bool,
    typer.Option("--events", help="Each event as a line of JSON; the last holds the report."),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Also write the report into this Markdown file.")
]
Resume = Annotated[str, typer.Option(metavar="RUN", help="Go on with a run that was interrupted.")]
Listing = Annotated[bool, typer.Option("--list", help="List the newest runs.")]
Show = Annotated[str, typer.Option(metavar="RUN", help="Show a run's report; 'last': the newest.")]
Cancel = Annotated[str, typer.Option(metavar="RUN", help="Ask a run to stop.")]


@app.command(name="research")
def research_command(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in quotes.")] = "",
    topic: Topics = None,
    kind: Kinds = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    rounds: Rounds = None,
    seconds: Seconds = None,
    searches: Searches = None,
    dollars: Dollars = None,
    yes: Yes = False,
    plan: OnlyPlan = False,
    events: Events = False,
    out: Out = None,
    resume: Resume = "",
    listing: Listing = False,
    show: Show = "",
    cancel: Cancel = "",
) -> None:
    """Research a question in rounds of searches; a report with a verdict for every sentence.

    The plan with its estimate comes first; one of more than 20 seconds or 0.10 dollars needs a
    yes. Ctrl-C ends the search and answers from what was found; a second one stops at once.

    Exit status: 0 a report, 1 an error (also: a plan that needs a yes, and nobody to ask),
    2 wrong options, 3 the plan was refused, 130 stopped at once; --resume goes on.
    """
    terminal = terminal_of(context)
    if sum(map(bool, (question.strip(), resume, listing, show, cancel))) != 1:
        raise typer.BadParameter("give a question, or one of --resume, --list, --show, --cancel")
    with terminal.open_to_ask() as kb:
        face = ResearchFace(terminal=terminal, kb=kb, events=events, out=out)
        if listing:
            face.list_runs()
        elif show:
            face.show(run_named(kb, show))
        elif cancel:
            face.cancel(run_named(kb, cancel))
        elif resume:
            face.resume(run_named(kb, resume))
        else:
            filters = filters_of(topic, kind, speaker, since, until)
            asked = Question(text=question, filters=filters, mode="deep", owner=kb.asker.owner)
            limits = limited_to(usual_limits(kb), rounds, seconds, searches, dollars)
            request = ResearchRequest(question=asked, limits=limits)
            face.ask(request, yes=yes, only_plan=plan)


def limited_to(
    usual: Limits,
    rounds: int | None,
    seconds: float | None,
    searches: int | None,
    dollars: float | None,
) -> Limits:
    """The limits of the settings with those that were given in their place."""
    return Limits(
        rounds=usual.rounds if rounds is None else rounds,
        seconds=usual.seconds if seconds is None else seconds,
        searches=usual.searches if searches is None else searches,
        dollars=usual.dollars if dollars is None else dollars,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchFace:
    """Research on one terminal: plan and progress on standard error, the report on the other.

    Attributes:
        events: whether each event is written as a line of JSON.
        out: the file that the report is written into as well.
        deaf: whether interrupts are ignored, as in a shell's background.
    """

    terminal: Terminal
    kb: KnowledgeBase
    events: bool = False
    out: Path | None = None
    deaf: bool = field(
        default_factory=lambda: signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    )

    @property
    def silent(self) -> bool:
        """Whether a program reads what is written."""
        return self.terminal.json or self.events

    def ask(self, request: ResearchRequest, *, yes: bool, only_plan: bool) -> None:
        """Plan, ask where that is needed, and follow the plan.

        Raises:
            RequestError: the plan needs a yes, and there is nobody to ask.
            Exit: it was refused.
        """
        plan = anyio.run(plan_research, self.kb, request)
        if only_plan:
            self._show_plan(plan)
            return
        if not self.silent:
            print_plan(self.terminal.err, plan)
        if needs_yes(self.kb, plan) and not yes:
            if self.silent or not somebody_types():
                raise RequestError(
                    f"the plan needs a yes: {estimate(plan)[0].lower()}{estimate(plan)[1:]}",
                    hint="give --yes, or lower limits (--rounds, --seconds)",
                )
            ask_reader(self.terminal.err)
        request = replace(request, facets=plan.facets)
        self._follow(anyio.run(begin, self.kb, request, plan), request)

    def resume(self, run: ResearchRun) -> None:
        """Go on with a run that was begun; what it did is not done again."""
        if run.plan is not None and not self.silent:
            print_plan(self.terminal.err, run.plan)
        self._follow(run.id, run.request)

    def list_runs(self) -> None:
        """Show the newest runs."""
        runs = [
            run_facts(self.kb, one)
            for one in self.kb.catalogue.research.newest(self.kb.asker.owner, LISTED)
        ]
        self.terminal.show_list(runs, lambda out: print_runs(out, runs))

    def show(self, run: ResearchRun) -> None:
        """Show a run's report, or how it stands."""
        report = self.kb.catalogue.research.report(run.id)
        if self.terminal.json:
            self.terminal.write_json(run_body(self.kb, run))
        elif report is None:
            print_run(self.terminal.out, run_facts(self.kb, run))
        else:
            self._print(report)
        if report is not None:
            self._write_out(report)

    def cancel(self, run: ResearchRun) -> None:
        """Ask a run to stop.

        Raises:
            RequestError: it has ended.
        """
        state = cancel_run(self.kb, run)
        if state is None:
            raise RequestError(f"research {run.id} has ended", hint=f"--show {run.id}")
        if self.terminal.json:
            self.terminal.write_json({"id": run.id, "state": state})
        elif state == "running":
            self.terminal.out.print(f"{run.id} stops soon and answers from what it has.")
        else:
            self.terminal.out.print(f"{run.id} is cancelled.")

    def _show_plan(self, plan: ResearchPlan) -> None:
        if self.terminal.json:
            self.terminal.write_json(plan)
        else:
            print_plan(self.terminal.out, plan)

    def _print(self, report: Report) -> None:
        shown = as_rendered(report.answer, self.kb.settings.citations)
        print_report(self.terminal.out, replace(report, answer=shown))

    def _follow(self, run_id: str, request: ResearchRequest) -> None:
        """Work on a run and write its report."""
        self._tell("begun", {"id": run_id})
        if not self.silent:
            self.terminal.err.print(Text(f"{run_id}: Ctrl-C answers from what is found until then"))
        try:
            report = anyio.run(self._work, run_id, request)
        except KeyboardInterrupt:
            self.terminal.err.print(
                f"Stopped. Go on with: wellread research --resume {run_id}", soft_wrap=True
            )
            raise
        if self.terminal.json and not self.events:
            self.terminal.write_json(report)
        elif not self.events:
            self._print(report)
        self._write_out(report)

    async def _work(self, run_id: str, request: ResearchRequest) -> Report:
        """The report of a run; the first Ctrl-C has it answer, the second stops at once.

        Raises:
            KeyboardInterrupt: it was stopped.
        """
        outcome: Report | BaseException = KeyboardInterrupt()
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, run_id, group.cancel_scope)
            try:
                outcome = await self._reported(run_id, request)
            except (WellreadError, OSError) as error:  # the group would wrap it
                outcome = error
            group.cancel_scope.cancel()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def _reported(self, run_id: str, request: ResearchRequest) -> Report:
        number = 0
        async for event in research(self.kb, request, run_id=run_id):
            number += 1
            name, body = research_event_body(event)
            self._tell(name, json_of(body), number)
            if not self.silent:
                print_event(self.terminal.err, event)
            if isinstance(event, ReportEvent):
                return event.report
        raise RequestError(f"research {run_id} ended without a report", hint="ask again")

    async def _listen(self, run_id: str, scope: anyio.CancelScope) -> None:
        """Wait for Ctrl-C; on Windows, where that is not possible, the first one stops at once."""
        if sys.platform == "win32" or self.deaf:
            return
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                self.terminal.err.print(
                    "Answering from what was found; Ctrl-C again stops at once."
                )
                await anyio.to_thread.run_sync(self.kb.catalogue.research.cancel, run_id)
                break
            async for _ in signals:
                scope.cancel()

    def _tell(self, name: str, data: object, number: int = 0) -> None:
        """A line of JSON; the number of an event is that by which it can be read again."""
        if self.events:
            told = {"number": number, "event": name, "data": data}
            typer.echo(json.dumps(told, ensure_ascii=False))

    def _write_out(self, report: Report) -> None:
        if self.out is not None:
            self.out.write_text(report_markdown(self.kb, report), encoding="utf-8")
            if not self.silent:
                self.terminal.err.print(f"Written to {self.out}", soft_wrap=True)
