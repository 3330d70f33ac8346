"""Commands that show what is missing and how well answers work, and set preferences."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from wellread.kb.language_models import dollars
from wellread.learning.asking_again import RetryReport, ask_again, ask_these
from wellread.learning.coverage_grid import coverage_grid
from wellread.learning.gap_clusters import find_cluster
from wellread.learning.metric_report import PeriodName
from wellread.learning.question_patterns import QuestionPatterns, question_patterns
from wellread.models.recording import SET_PRICES
from wellread.serve.cli.answer_printing import print_markdown
from wellread.serve.cli.options import Since, Until, limited, option_window
from wellread.serve.features import gaps_and_coverage, home_and_jobs
from wellread.serve.features.figures import MetricsBody, report_of, types_of
from wellread.serve.features.gaps_and_coverage import (
    GapClusterDetailBody,
    cluster_detail,
    coverage_markdown,
    set_status,
    suggestion_body,
)
from wellread.serve.features.home_and_jobs import MAX_DAYS, UsageReport
from wellread.serve.features.people import (
    PreferencesBody,
    change_preferences,
    format_rule,
    preferences_body,
    preferences_change,
)
from wellread.serve.terminal import (
    Terminal,
    opened,
    print_facts,
    print_line,
    print_rows,
    terminal_of,
)
from wellread.serve.views import json_of
from wellread.store.schema.stored_values import GapStatus
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)
# The fields that lists and facts print: see ``serve/terminal.py``.
GAPS = "cluster=id status asked questions about=name for_example=example:line"
GAP = "id status question kind:words asked reason asked_again=tried answered_since=closed_by:id"
REASKED = "question answer=answer_id:id why"
OFTEN = "asked unanswered question"
COUNTED = "asked unanswered name"
METRICS = """from=since:day until=until:day questions_asked=sums.asked before=previous.asked
    answered_with_citations=sums.cited_rate:percent not_answered=sums.no_answer_rate:percent
    asked_back=sums.asked_back follow-ups=sums.follow_up_rate:percent given_again=sums.cached
    mean_confidence=sums.confidence verdicts=sums.verdicts answered_by
    ratings=ratings.given mean_rating=ratings.mean"""
TREND = "from=start:begin asked how_many=asked:bar cited unanswered"
STEPS = "step=name answers p50:seconds p90:seconds p95:seconds p99:seconds"
CALLS = "purpose model provider calls failed read=input_tokens written=output_tokens cost"
PERSONAS = "id name length wish=prompt"


Clusters = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID]...", help="A cluster (c12) or one of its questions (12); without it, list."
    ),
]
NewStatus = Annotated[
    GapStatus | None,
    typer.Option("--set", help="planned: will be written; closed: not asked again; open."),
]


@app.command()
def gaps(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    names: Clusters = None,
    status: Annotated[
        GapStatus | None, typer.Option(help="Only this status. [default: all but closed]")
    ] = None,
    new_status: NewStatus = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Suggest an entry to write: title, type, taxonomy.")
    ] = False,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask these, or all open questions, again now.")
    ] = False,
    patterns: Annotated[
        bool, typer.Option("--patterns", help="Show frequent questions, types and topics.")
    ] = False,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of clusters.")] = 20,
) -> None:
    """List clusters of unanswered or poorly answered questions, or show or change one.

    Most asked come first. Every ingest run asks open questions again at its end.
    """
    terminal = terminal_of(context)
    chosen = len(names or ())
    if not ask and (chosen > 1 or ((new_status or suggest) and not chosen)):
        raise typer.BadParameter("name one cluster; several are allowed only with --ask")
    if ask:
        _ask(terminal, names or [])
    elif patterns:
        start, end = option_window(since, until)
        with terminal.open() as kb:
            asked_often = question_patterns(kb, kb.asker.owner, start, end)
        terminal.show(asked_often, _print_patterns)
    elif not names:
        _list(terminal, status, limit)
    else:
        _show_cluster(terminal, names[0], new_status, suggest=suggest)


def _list(terminal: Terminal, status: GapStatus | None, limit: int) -> None:
    with terminal.open() as kb:
        body = gaps_and_coverage.gaps(kb, status, limit)
    if terminal.json:
        terminal.write_listing(body, "clusters")
        return
    terminal.show_rows(body.clusters, GAPS, body.total, none="There are no gaps.")
    print_facts(terminal.out, body, "Questions=counts")


def _show_cluster(
    terminal: Terminal, name: str, new_status: GapStatus | None, *, suggest: bool
) -> None:
    with terminal.open() as kb:
        if new_status:
            changed = set_status(kb, name, new_status)
            terminal.say(changed, f"{changed.status}: {changed.gaps:,}")
        elif suggest:
            body = suggestion_body(kb, name)
            terminal.say(body, body.suggestion.markdown.rstrip("\n"))
        else:
            terminal.show(cluster_detail(kb, name), _print_cluster)


def _print_cluster(console: Console, body: GapClusterDetailBody) -> None:
    print_facts(console, body, "cluster=id status name")
    print_rows(console, body.cluster.gaps, GAP, "Questions")


def _ask(terminal: Terminal, names: list[str]) -> None:
    with terminal.open_to_ask() as kb:
        if names:
            clusters = [find_cluster(kb, name) for name in names]
            ids = {gap.id for cluster in clusters for gap in cluster.gaps}
            numbers = {int(name) for name in names if name.isdecimal()}
            chosen = (cluster for cluster in clusters if cluster.id in names)
            named_gaps = {gap.id for cluster in chosen for gap in cluster.gaps}
            report = ask_these(kb, sorted(ids & (numbers | named_gaps)))
        else:
            report = ask_again(kb)
    terminal.show(report, _print_reasked)


def _print_reasked(console: Console, report: RetryReport) -> None:
    print_rows(console, report.tried, REASKED)
    if not report.tried:
        print_line(console, "No open question can be answered by the new material.", "dim")
    if report.waiting:
        print_line(console, f"{report.waiting:,} more are waiting: wellread gaps --ask", "yellow")


def _print_patterns(console: Console, body: QuestionPatterns) -> None:
    print_line(console, f"{body.asked:,} questions asked, {body.unanswered:,} without an answer")
    print_rows(console, body.often, OFTEN, "Questions")
    parts = {
        "Types": body.types,
        "Topics": body.topics,
        "Taxonomy": body.taxonomy,
        "Words": body.terms,
    }
    for title, counts in parts.items():
        print_rows(console, [count for count in counts if count.asked], COUNTED, title)


@app.command()
@limited("topic kind field since until")
def coverage(
    context: typer.Context,
    *,
    filters: Filters,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME", help="A dimension, kind, year, entity_types, …; once or twice."
        ),
    ] = None,
) -> None:
    """Show what the values of one or two dimensions have, the share covered, and the gaps.

    Redirected to a file, the report is Markdown.
    """
    with opened(context) as (terminal, kb):
        grid = coverage_grid(kb, filters, by or (), owner=kb.asker.owner)
    terminal.show(grid, lambda out, body: print_markdown(out, coverage_markdown(body)))


@app.command()
def metrics(
    context: typer.Context,
    period: Annotated[
        PeriodName, typer.Option(help="The last 24 hours, 7 days or 30 days, or all time.")
    ] = "month",
    since: Annotated[
        str, typer.Option("--from", metavar="DATE", help="From this date on (2025, 2025-10).")
    ] = "",
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="Up to this date.")] = "",
    usage: Annotated[
        bool,
        typer.Option("--usage", help="Show model calls by day, purpose and model, and the budget."),
    ] = False,
    days: Annotated[
        int,
        typer.Option(min=1, max=MAX_DAYS, help="Days shown by --usage, including today (UTC)."),
    ] = 30,
) -> None:
    """Show questions, answers, verdicts, ratings, topics, gaps, latencies and cost of a period.

    --from and --to replace --period. No figures leave this machine.
    """
    with opened(context) as (terminal, kb):
        if usage:
            terminal.show(home_and_jobs.usage(kb, days), _print_usage)
        else:
            terminal.show(MetricsBody(report=report_of(kb, period, since, until)), _print_metrics)


def _print_usage(console: Console, report: UsageReport) -> None:
    print_rows(console, report.lines, f"day {CALLS} priced=price_known")
    print_line(
        console,
        f"{report.calls:,} calls in {report.days:,} days, {report.input_tokens:,} tokens read, "
        f"{report.output_tokens:,} written, {dollars(report.cost)}",
        "bold",
    )
    if any(not line.price_known for line in report.lines):
        print_line(console, f"calls with an unknown price count as zero ({SET_PRICES})", "yellow")
    for budget in report.budgets:
        remaining = f"{dollars(budget.left)} of {dollars(budget.dollars)} left"
        print_line(console, f"Budget of the {budget.period} (UTC): {remaining}")
    if not report.budgets:
        print_line(console, "No budget is set (budget.daily, budget.monthly).", "dim")


def _print_metrics(console: Console, body: MetricsBody) -> None:
    report = body.report
    if not report.sums.asked:
        print_line(console, "No questions in this period. Ask one: wellread ask QUESTION")
        return
    print_facts(console, body, METRICS)
    periods = [period for period in report.trend if period.asked]
    print_rows(console, periods, TREND, f"Questions by {report.period.part}")
    print_rows(console, report.latencies, STEPS, "Seconds by step")
    topics = {
        "Types of questions": types_of(report),
        "Collections": report.collections,
        "Fields of sources": report.fields,
        "Words of questions": report.words,
    }
    for title, counts in topics.items():
        print_rows(console, counts, COUNTED, title)
    print_rows(console, report.gaps, "kind:words status questions", "Gaps")
    print_rows(console, report.calls, CALLS, "Calls of models")


@app.command()
def preferences(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="preferred, lowered, muted, length, persona, collection, consent or revoke.",
        ),
    ] = "",
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VALUE]...",
            help="Sources as KIND:VALUE (document, collection, source_type, site); short, normal "
            "or long; yes or no to learning from ratings; a document; nothing: none.",
        ),
    ] = None,
) -> None:
    """Show your preferences, or replace one of them."""
    takes_list = name in ("preferred", "lowered", "muted", "revoke", "restore")
    given_values = values or []
    new_value = given_values if takes_list else " ".join(given_values)
    change = preferences_change({name: new_value} if name else {})
    with opened(context) as (terminal, kb):
        if name:
            change_preferences(kb, kb.asker.owner, change)
        body = preferences_body(kb, kb.asker.owner)
    terminal.show(body, _print_preferences)


def _print_preferences(console: Console, body: PreferencesBody) -> None:
    for name, rules in (
        ("preferred", body.preferred),
        ("ranked lower", body.lowered),
        ("muted", body.muted),
    ):
        print_line(console, f"{name}: {', '.join(map(format_rule, rules)) or '–'}")
    print_facts(console, body, "length language persona collection learns_from_ratings=consent")
    for entry in body.learned:
        learned, rule = entry.learned, format_rule(entry.rule)
        state = "revoked" if learned.revoked else "in force"
        print_line(console, f"learned: {learned.effect} {rule}, {learned.why} ({state})")
    personas: list[dict[str, Any]] = json_of(body)["personas"]
    print_rows(console, personas, PERSONAS, "Personas")
