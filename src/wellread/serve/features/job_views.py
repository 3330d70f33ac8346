"""Runs and how their sources fared, calls of models and what they cost: JSON and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, get_args

from pydantic import BeforeValidator
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.errors import SourceError
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import Level, Period, dollars
from wellread.library.model_usage import UsageReport
from wellread.serve.features.bodies import PlainBody
from wellread.serve.features.home_reports import STATUS_STYLE, named
from wellread.serve.terminal import SHORT_ID, harmless
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem

Moment = Annotated[
    str, BeforeValidator(lambda given: given.isoformat() if isinstance(given, datetime) else given)
]

_STATE_STYLE = {
    "running": "cyan",
    "done": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "yellow",
}


class JobBody(PlainBody):
    """One run. ``passages`` are found by words, ``vectors`` of them by meaning as well."""

    id: str
    action: str
    collection: str
    inputs: list[str]
    state: str
    reason: str
    started_at: Moment
    finished_at: Moment | None
    total: int
    done: int
    passages: int
    vectors: int


class JobsBody(PlainBody):
    """The newest runs, and passages of any run that still wait for their vector."""

    jobs: list[JobBody]
    waiting: int


class JobSourceBody(PlainBody):
    """How one source fared; ``seconds`` it took to parse."""

    uri: str
    status: str
    reason: str
    seconds: float
    documents: int
    passages: int


class JobDetailBody(JobBody):
    """One run with its sources."""

    counts: dict[str, int]
    sources: list[JobSourceBody]


def job_named(kb: KnowledgeBase, given: str) -> Job | None:
    """The one job whose id begins so, with ``job_`` or, as lists show it, without."""
    return kb.catalogue.jobs.get(given) or kb.catalogue.jobs.get(f"job_{given}")


def job_detail_body(job: Job, counts: Mapping[str, int], items: Sequence[JobItem]) -> JobDetailBody:
    """One run with its sources."""
    return JobDetailBody.of(job, counts=counts, sources=items)


def item_status(given: str) -> ItemStatus | None:
    """The status that was typed; None when there was none.

    Raises:
        SourceError: there is no such status.
    """
    if not given:
        return None
    for status in get_args(ItemStatus):
        if status == given:
            found: ItemStatus = status
            return found
    raise SourceError(given, f"is no status: {', '.join(get_args(ItemStatus))}")


def print_jobs(console: Console, found: Sequence[JobBody]) -> None:
    """A line per job."""
    if not found:
        console.print("Nothing was run yet. Add something: wellread add PATH")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "what", "collection", "state", "started"):
        table.add_column(heading)
    table.add_column("sources", justify="right")
    table.add_column("passages", justify="right")
    for job in found:
        table.add_row(
            job.id.removeprefix("job_")[:SHORT_ID],
            job.action,
            Text(harmless(job.collection)),
            Text(job.state, style=_STATE_STYLE.get(job.state, "")),
            f"{datetime.fromisoformat(job.started_at).astimezone():%Y-%m-%d %H:%M}",
            f"{job.done:,}/{job.total:,}",
            f"{job.vectors:,}/{job.passages:,}",
        )
    console.print(table)


def print_job(console: Console, job: JobDetailBody) -> None:
    """One job with a line per source."""
    style = _STATE_STYLE.get(job.state, "")
    console.print(
        Text.assemble(f"{job.action} into “{harmless(job.collection)}”: ", (job.state, style))
    )
    if job.reason:
        console.print(Text(harmless(job.reason), style=style), soft_wrap=True)
    told = ", ".join(f"{count:,} {status}" for status, count in job.counts.items())
    console.print(
        f"{job.done:,} of {job.total:,} sources ({told or 'none'}); {job.passages:,} passages "
        f"found by words, {job.vectors:,} by meaning as well"
    )
    for item in job.sources:
        line = Text.assemble(
            (f"{item.status:<9} ", STATUS_STYLE.get(item.status, "")),
            f"{item.seconds:6.2f} s  {item.passages:>5,}  ",
            harmless(named(item.uri)),
            (f"  {harmless(item.reason)}" if item.reason else "", "dim"),
        )
        console.print(line, soft_wrap=True)


MOST_DAYS = 400  # older calls are forgotten


class CallsBody(PlainBody):
    """Calls of one day (UTC), purpose and model. ``cost`` in US dollars, 0 without a known price.

    ``seconds`` is the sum of what each call took.
    """

    day: date
    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    price_known: bool
    seconds: float


class BudgetBody(PlainBody):
    """A budget in US dollars; what runs counts with the most that it may cost."""

    period: Period
    since: datetime
    limit: float
    spent: float
    left: float


class UsageReportBody(PlainBody):
    """Calls since midnight (UTC) some days ago, the newest day first.

    ``questions_cost`` is what counts in the budget: all but reading material in.
    """

    days: int
    since: datetime
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    questions_cost: float
    budget_level: Level
    budgets: list[BudgetBody]
    lines: list[CallsBody]


def usage_body(report: UsageReport) -> UsageReportBody:
    """The whole report."""
    return UsageReportBody.of(
        report,
        questions_cost=report.questions,
        budget_level=report.level,
        budgets=[BudgetBody.of(budget, limit=budget.dollars) for budget in report.budgets],
        lines=[CallsBody.of(line.total, price_known=line.priced) for line in report.lines],
    )


def print_usage(console: Console, report: UsageReportBody) -> None:
    """The calls as a table, their sum, and each budget."""
    if report.lines:
        console.print(_usage_table(report))
        plural = "s" if report.calls != 1 else ""
        total = (
            f"{report.calls:,} call{plural}, {report.input_tokens:,} tokens read, "
            f"{report.output_tokens:,} written, {dollars(report.cost)}"
        )
        console.print(Text(total, style="bold"))
    else:
        console.print(Text(f"No model was called in {report.days:,} days.", style="dim"))
    if any(not line.price_known for line in report.lines):
        note = (
            "price unknown: these calls count nothing in the sum and in the budget "
            "(set generation.input_price and generation.output_price)"
        )
        console.print(Text(note, style="yellow"))
    for budget in report.budgets:
        line = f"Budget of the {budget.period} (UTC): {dollars(budget.left)} of "
        share = budget.left / budget.limit if budget.limit else 0.0
        line += f"{dollars(budget.limit)} left ({share:.0%})"
        style = "green" if report.budget_level == "normal" else "yellow" if budget.left else "red"
        console.print(Text(line, style=style))
    if not report.budgets:
        console.print(Text("No budget is set (budget.daily, budget.monthly).", style="dim"))


def _usage_table(report: UsageReportBody) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("Day", "Purpose", "Model"):
        table.add_column(name, no_wrap=name != "Model")
    for name in ("Calls", "Failed", "Read", "Written", "Seconds", "Cost"):
        table.add_column(name, justify="right")
    for line in report.lines:
        model = f"{line.model} ({line.provider})" if line.model else line.provider
        table.add_row(
            line.day.isoformat(),
            line.purpose,
            harmless(model),
            f"{line.calls:,}",
            f"{line.failed:,}" if line.failed else "",
            f"{line.input_tokens:,}",
            f"{line.output_tokens:,}",
            f"{line.seconds:,.1f}",
            dollars(line.cost) if line.price_known else "price unknown",
        )
    return table
