"""Commands that say how good the base is and how it is asked: ``gaps``, ``coverage``, ``metrics``,
``preferences``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from wellread.errors import RequestError
from wellread.learning.asking_again import ask_again, ask_these
from wellread.learning.coverage_grid import coverage_grid
from wellread.learning.gap_clusters import cluster_named
from wellread.learning.metric_report import PeriodName
from wellread.learning.question_patterns import question_patterns
from wellread.serve.cli.options import (
    Fields,
    Kinds,
    Since,
    Topics,
    Until,
    filters_of,
    option_window,
)
from wellread.serve.features.figures import (
    metrics_body,
    print_metrics,
    report_of,
)
from wellread.serve.features.gaps_and_coverage import (
    CoverageBody,
    cluster_detail,
    coverage_markdown,
    gaps_body,
    print_cluster,
    print_coverage_report,
    print_gaps,
    print_patterns,
    print_reasked,
    print_suggestion,
    set_status,
    suggestion_body,
)
from wellread.serve.features.home_and_jobs import MOST_DAYS, print_usage, usage_body
from wellread.serve.features.people import (
    PreferencesChange,
    change_preferences,
    preferences_body,
    print_personas,
    print_preferences,
)
from wellread.serve.terminal import Terminal, terminal_of
from wellread.serve.views import json_of
from wellread.store.schema.stored_values import GapStatus

app = typer.Typer(rich_markup_mode=None)
RULE = "KIND:VALUE"


Clusters = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID]...", help="A cluster (c12), or one of its questions (12); else a list."
    ),
]
Mark = Annotated[
    GapStatus | None,
    typer.Option(
        "--set", help="planned: somebody is to write it; closed: it is not asked again; open."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write it there; a folder: under its name."),
]


@app.command()
def gaps(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    names: Clusters = None,
    status: Annotated[
        GapStatus | None, typer.Option(help="Only these; without it all that are not closed.")
    ] = None,
    mark: Mark = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="The entry to write: title, type, taxonomy.")
    ] = False,
    out: Out = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask these, or all that are open, again, now.")
    ] = False,
    most: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most that --ask asks.")
    ] = None,
    patterns: Annotated[
        bool, typer.Option("--patterns", help="What is asked often: questions, types, topics.")
    ] = False,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most clusters.")] = 20,
) -> None:
    """List clusters of questions that were not answered, or not well; or show or change some.

    Those asked most come first. Every run of ingest asks open questions again at its end.
    """
    terminal = terminal_of(context)
    chosen = len(names or ())
    if not ask and (chosen > 1 or ((mark or suggest) and not chosen)):
        raise typer.BadParameter("name one cluster; several are for --ask")
    if ask:
        _ask(terminal, names or [], most)
    elif patterns:
        start, end = option_window(since, until)
        with terminal.open() as kb:
            asked_often = question_patterns(kb, kb.asker.owner, start, end)
        terminal.show(asked_often, print_patterns)
    elif not names:
        with terminal.open() as kb:
            body = gaps_body(kb, status, limit)
        if terminal.json:
            facts = json_of(body)
            terminal.write_json({"items": facts.pop("clusters"), **facts})
        else:
            print_gaps(terminal.out, body)
    elif mark:
        _set(terminal, names[0], mark)
    elif suggest:
        _suggest(terminal, names[0], out)
    else:
        with terminal.open() as kb:
            cluster = cluster_detail(kb, names[0])
        terminal.show(cluster, print_cluster)


def _ask(terminal: Terminal, names: list[str], most: int | None) -> None:
    with terminal.open_to_ask() as kb:
        if names:
            clusters = [cluster_named(kb, name) for name in names]
            ids = {gap.id for one in clusters for gap in one.gaps}
            numbers = {int(name) for name in names if name.isdecimal()}
            whole = {gap.id for one in clusters for gap in one.gaps if one.id in names}
            done = ask_these(kb, sorted(ids & (numbers | whole)))
        else:
            done = ask_again(kb, most=most)
    terminal.show(done, print_reasked)


def _set(terminal: Terminal, name: str, status: GapStatus) -> None:
    with terminal.open() as kb:
        body = set_status(kb, name, status)
    plural = "s" if body.gaps != 1 else ""
    terminal.show(body, lambda out, one: out.print(f"{one.gaps} question{plural}: {one.status}"))


def _suggest(terminal: Terminal, name: str, out: Path | None) -> None:
    with terminal.open() as kb:
        body = suggestion_body(kb, name)
    if out is None:
        terminal.show(body, print_suggestion)
        return
    path = out / body.suggestion.file_name if out.is_dir() else out
    if path.exists():
        raise RequestError(f"{path} is there already", hint="give another --out")
    path.write_text(body.suggestion.markdown, encoding="utf-8")
    terminal.show(body, lambda console, _: console.print(str(path), soft_wrap=True))


@app.command()
def coverage(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    topic: Topics = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME", help="A dimension, kind, year, entity_types, …; give two."
        ),
    ] = None,
    kind: Kinds = None,
    field: Fields = None,
    since: Since = None,
    until: Until = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="A report as Markdown on standard output.")
    ] = False,
) -> None:
    """Show which cells of two dimensions have documents, the share covered, and the gaps."""
    where = filters_of(topic, kind, None, since, until, fields=field)
    terminal = terminal_of(context)
    with terminal.open() as kb:
        grid = coverage_grid(kb, where, by or (), owner=kb.asker.owner)
        body = CoverageBody(grid=grid)
    if markdown and not terminal.json:
        typer.echo(coverage_markdown(body), nl=False)
    else:
        terminal.show(body, print_coverage_report)


@app.command()
def metrics(
    context: typer.Context,
    period: Annotated[
        PeriodName, typer.Option(help="The last 24 hours, 7 days or 30 days, or all.")
    ] = "month",
    since: Annotated[
        str, typer.Option("--from", metavar="DATE", help="From then on (2025, 2025-10).")
    ] = "",
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="Up to then.")] = "",
    usage: Annotated[
        bool,
        typer.Option("--usage", help="Calls of models by day, purpose and model; the budget."),
    ] = False,
    days: Annotated[
        int, typer.Option(min=1, max=MOST_DAYS, help="Of --usage: today (UTC) and before.")
    ] = 30,
) -> None:
    """Show questions, answers, verdicts, ratings, topics, gaps, latencies and cost of a time.

    A date takes the place of --period. Nothing of it leaves this machine.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if usage:
            terminal.show(usage_body(kb, days), print_usage)
        else:
            terminal.show(metrics_body(report_of(kb, period, since, until)), print_metrics)


@app.command()
def preferences(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar=RULE,
            help="These sources rank a little higher: document:, collection:, source_type: or "
            "site:; repeatable, in place of earlier ones; an empty value: none.",
        ),
    ] = None,
    lower: Annotated[
        list[str] | None, typer.Option(metavar=RULE, help="These rank a little lower.")
    ] = None,
    mute: Annotated[
        list[str] | None,
        typer.Option(metavar=RULE, help="These are not used unless they are asked for."),
    ] = None,
    length: Annotated[
        str | None, typer.Option(help="short, normal or long; empty: the setting.")
    ] = None,
    persona: Annotated[
        str | None, typer.Option(metavar="ID", help="A persona of the home; empty: none.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option(metavar="NAME", help="Asked where none is named; empty: all.")
    ] = None,
    learn: Annotated[
        bool | None,
        typer.Option("--learn/--forget", help="Let ratings add to this, or drop what they added."),
    ] = None,
    revoke: Annotated[
        list[str] | None,
        typer.Option(metavar="DOCUMENT", help="Take back what was learned about a document."),
    ] = None,
    list_personas: Annotated[
        bool, typer.Option("--personas", help="List the personas of the home.")
    ] = False,
) -> None:
    """Show what you prefer, or change it."""
    given = {
        "preferred": _rules(prefer),
        "lowered": _rules(lower),
        "muted": _rules(mute),
        "length": length,
        "persona": persona,
        "collection": collection,
        "consent": learn,
        "revoke": tuple(revoke or ()),
    }
    try:
        change = PreferencesChange.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"{first['loc'][0]}: {first['msg']}") from error
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if change != PreferencesChange():
            change_preferences(kb, kb.asker.owner, change)
        body = preferences_body(kb, kb.asker.owner)
    terminal.show(body, print_personas if list_personas else print_preferences)


def _rules(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(one for one in given if one.strip())
