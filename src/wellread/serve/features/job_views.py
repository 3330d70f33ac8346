"""Runs and how their sources fared, calls of models and what they cost: JSON and tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, cast, get_args

from pydantic import BeforeValidator
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from wellread.errors import SourceError
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import Level, Period, Standing, dollars
from wellread.kb.seen_by import sees_all
from wellread.models.prices import SET_PRICES, is_listed, named, tariff_of
from wellread.serve.features.bodies import PlainBody
from wellread.serve.features.home_reports import JobSourceBody
from wellread.serve.terminal import SHORT_ID, right, table, whole
from wellread.store.catalogue.run_logs import ItemStatus, Job, Total
from wellread.text.words import harmless
from wellread.values.calls import EMBED_PASSAGE

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
    failed: int


class JobsBody(PlainBody):
    """The newest runs, and passages of any run that still wait for their vector."""

    jobs: list[JobBody]
    waiting: int


class JobDetailBody(JobBody):
    """One run with its sources."""

    counts: dict[str, int]
    sources: list[JobSourceBody]


def job_named(kb: KnowledgeBase, given: str) -> Job | None:
    """The one job whose id begins so, with ``job_`` or, as lists show it, without."""
    jobs = kb.catalogue.jobs
    return jobs.beginning(given) or jobs.beginning(f"job_{given}")


def item_status(given: str) -> ItemStatus | None:
    """The status that was typed; None when there was none.

    Raises:
        SourceError: there is no such status.
    """
    if not given:
        return None
    if given not in get_args(ItemStatus):
        raise SourceError(given, f"is no status: {', '.join(get_args(ItemStatus))}")
    return cast(ItemStatus, given)


def print_jobs(console: Console, found: Sequence[JobBody]) -> None:
    """A line per job."""
    if not found:
        console.print("Nothing was run yet. Add something: wellread add PATH")
        return
    columns = ("job", "what", "collection", "state", "started", right("sources"), right("passages"))
    rows = (
        (
            job.id.removeprefix("job_")[:SHORT_ID],
            job.action,
            job.collection,
            _state(job),
            f"{datetime.fromisoformat(job.started_at).astimezone():%Y-%m-%d %H:%M}",
            f"{job.done:,}/{job.total:,}",
            f"{job.vectors:,}/{job.passages:,}",
        )
        for job in found
    )
    console.print(table(columns, rows))


def _state(job: JobBody) -> Text:
    """How a run ended, and how many of its sources could not be read."""
    told = Text(job.state, style=_STATE_STYLE.get(job.state, ""))
    return told.append(f", {job.failed:,} failed", style="red") if job.failed else told


def print_job(console: Console, job: JobDetailBody) -> None:
    """One job with a line per source."""
    style = _STATE_STYLE.get(job.state, "")
    into = f" into “{harmless(job.collection)}”" if job.collection else ""
    console.print(Text.assemble(f"{job.action}{into}: ", (job.state, style)))
    if job.reason:
        console.print(Text(harmless(job.reason), style=style), soft_wrap=True)
    told = ", ".join(f"{count:,} {status}" for status, count in job.counts.items())
    console.print(
        f"{job.done:,} of {job.total:,} sources ({told or 'none'}); {job.passages:,} passages "
        f"found by words, {job.vectors:,} by meaning as well"
    )
    for item in job.sources:
        line = item.line(f"{item.seconds:6.2f} s  {item.passages:>5,}  ")
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


def usage_body(kb: KnowledgeBase, days: int) -> UsageReportBody:
    """The calls of today (UTC) and the days before it, ``days`` altogether, and the budgets.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    totals = kb.catalogue.calls.totals(since)
    # What all together spent says when others asked.
    standing = kb.ledger.standing() if sees_all(kb) else Standing()
    return UsageReportBody.of(
        days=days,
        since=since,
        calls=sum(one.calls for one in totals),
        input_tokens=sum(one.input_tokens for one in totals),
        output_tokens=sum(one.output_tokens for one in totals),
        cost=sum(one.cost for one in totals),
        questions_cost=sum(one.cost for one in totals if one.purpose != EMBED_PASSAGE),
        budget_level=standing.level,
        budgets=[BudgetBody.of(budget, limit=budget.dollars) for budget in standing.budgets],
        lines=[CallsBody.of(one, price_known=_priced(kb, one)) for one in totals],
    )


def _priced(kb: KnowledgeBase, total: Total) -> bool:
    """Whether the price of these calls is known, by the settings or by the list of prices."""
    if total.cost or not (total.input_tokens or total.output_tokens):
        return True
    settings = kb.settings.generation
    for role, name in settings.by_role.items():
        own = tariff_of(settings, role)
        priced = own.read is not None and own.written is not None
        if priced and total.model in (name, named(name)[1]):
            return True  # also when they say 0
    return is_listed(total.provider, total.model)


def print_usage(console: Console, report: UsageReportBody) -> None:
    """The calls as a table, their sum, and each budget."""
    if report.lines:
        console.print(_calls_table(report))
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
            f"price unknown: these calls count nothing in the sum and in the budget ({SET_PRICES})"
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


def _calls_table(report: UsageReportBody) -> Table:
    names = ("Calls", "Failed", "Read", "Written", "Seconds", "Cost")
    columns = [whole("Day"), whole("Purpose"), Column("Model"), *map(right, names)]
    rows = (
        (
            line.day.isoformat(),
            line.purpose,
            f"{line.model} ({line.provider})" if line.model else line.provider,
            f"{line.calls:,}",
            f"{line.failed:,}" if line.failed else "",
            f"{line.input_tokens:,}",
            f"{line.output_tokens:,}",
            f"{line.seconds:,.1f}",
            dollars(line.cost) if line.price_known else "price unknown",
        )
        for line in report.lines
    )
    return table(columns, rows, header_style="bold")
