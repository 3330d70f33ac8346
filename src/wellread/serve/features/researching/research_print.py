"""Deep research for the eye: the plan, what is looked for, the report, the list of runs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wellread.kb import KnowledgeBase
from wellread.kb.language_models import dollars
from wellread.library.answer_export import Export, exported
from wellread.library.recheck import stored_answer
from wellread.serve.features.asking.answer_print import print_answer
from wellread.serve.features.researching.research_bodies import RunFactsBody
from wellread.serve.terminal import fold, right, table, whole
from wellread.text.words import harmless
from wellread.values.reports import (
    ProgressEvent,
    Report,
    ResearchEvent,
    ResearchPlan,
    StopReason,
)

_STOPS: dict[StopReason, str] = {
    "complete": "there was nothing more to look for",
    "no_new_evidence": "the last round found nothing new",
    "round_limit": "the last round allowed was over",
    "time_limit": "the time was used up",
    "budget": "the budget was used up",
    "cancelled": "it was cancelled",
}


def print_plan(console: Console, plan: ResearchPlan) -> None:
    """What is looked for and why, and what that takes at most."""
    console.print(Text.assemble(("Plan: ", "bold"), harmless(plan.question)))
    columns = (right(""), fold("Look for", "bold"), fold("because", "dim"))
    rows = ((str(number), one.title, one.why) for number, one in enumerate(plan.facets, 1))
    console.print(table(columns, rows))
    console.print(Text(harmless(estimate(plan)), style="dim"), soft_wrap=True)


def estimate(plan: ResearchPlan) -> str:
    """What a plan takes at most, in words."""
    said = f"At most {plan.searches} searches, about {plan.seconds:.0f} s"
    if plan.model:
        money = dollars(plan.cost) if plan.priced else "an unknown price"
        said += f"; {plan.model}: up to {plan.tokens:,} tokens, {money}"
    found = f"a first look found {plan.documents} documents"
    return f"{said}; {found}" if plan.documents else said


def print_event(console: Console, event: ResearchEvent) -> None:
    """A line on what is looked for and found on the way; nothing for plan and report."""
    if isinstance(event, ProgressEvent):
        line = Text(f"  {event.round}  ", style="cyan")
        line.append(harmless(event.text), style="dim")
        console.print(line, soft_wrap=True)


def print_report(console: Console, report: Report) -> None:
    """The report with a sign per sentence, its sources, and why it ended."""
    print_answer(console, report.answer, seconds=report.seconds, detailed=False)
    console.print(Text(harmless(end_line(report)), style="dim"), soft_wrap=True)


def end_line(report: Report) -> str:
    """What a run took, why it ended, and what it was called."""
    cited = sum(one.cited for one in report.documents)
    took = f"{report.searches} searches in {_counted(report.rounds, 'round')}"
    read = f"{_counted(len(report.documents), 'document')} read, {cited} cited"
    calls = f", {_counted(report.calls, 'call')} of the model" if report.calls else ""
    return f"{took}, {read}{calls}; ended since {_STOPS[report.stopped]} ({report.id})"


def report_markdown(kb: KnowledgeBase, report: Report) -> str:
    """The report as a Markdown file, with its sources and what the run took.

    Raises:
        UnknownNameError: its answer is not kept any more.
        StoreError: the catalogue cannot be read.
    """
    stored, answer = stored_answer(kb, report.answer.id, kb.asker.owner)
    text = exported(kb, stored, answer, Export(form="markdown")).rstrip()
    warning = f"> **Note.** {harmless(report.warning)}\n\n" if report.warning else ""
    return f"{text}\n\n{warning}*{harmless(end_line(report))}.*\n"


def print_runs(console: Console, runs: Sequence[RunFactsBody]) -> None:
    """A line for each run, the newest first."""
    if not runs:
        console.print(Text("Nothing was researched yet.", style="yellow"))
        return
    columns = (whole("Run"), whole("Begun"), whole("State"), right("Seconds"), "Question")
    rows = (
        (
            one.id,
            f"{one.created_at.astimezone():%Y-%m-%d %H:%M}",
            one.state,
            f"{one.seconds:.1f}",
            one.question,
        )
        for one in runs
    )
    console.print(table(columns, rows))


def print_run(console: Console, run: RunFactsBody) -> None:
    """A run that has no report: how it stands, and how it goes on."""
    line = Text.assemble((f"{run.id}: ", "bold"), run.state)
    if run.reason:
        line.append(f" ({harmless(run.reason)})")
    console.print(line, soft_wrap=True)
    if run.state in ("interrupted", "failed", "planned"):
        console.print(Text(f"  wellread research --resume {run.id}"), soft_wrap=True)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
