"""Renders an evaluation report as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wellread.evaluation.report import ALL, Check, Report
from wellread.evaluation.scores import Interval

_SHORT = ("ndcg@10", "span_ndcg@10", "answer_right", "citation_precision", "refusal_accuracy")
MAX_CASES_LISTED = 10


def format_milliseconds(figure: Interval) -> str:
    """A figure in seconds as milliseconds, with its interval."""
    return f"{figure.mean * 1000:,.0f} [{figure.low * 1000:,.0f}, {figure.high * 1000:,.0f}]"


def short_measures(report: Report) -> list[str]:
    """The measures in the tables by type and tag: recall at the first depth and a few others."""
    first_recall = f"recall@{report.depths[0]}"
    names = (first_recall, f"span_{first_recall}", *_SHORT, "type_accuracy")
    return [name for name in names if name in report.groups[ALL]]


def table_measures(report: Report) -> list[tuple[str, Interval]]:
    """The measures of all cases for the main table, without latency."""
    return [
        (name, figure)
        for name, figure in report.groups[ALL].items()
        if not name.startswith("seconds_") and (name != "failed" or figure.mean)
    ]


def subgroups(report: Report) -> list[str]:
    """The groups other than ``all``."""
    return [group for group in report.groups if group != ALL]


def heading(report: Report) -> str:
    """One line on the evaluated set, its size and the knowledge base."""
    how = "retrieval only" if report.retrieval_only else "full answers"
    return (
        f"{report.name} · {_plural(len(report.cases), 'case')} · {how} · "
        f"{_plural(report.base.documents, 'document')}, "
        f"{_plural(report.base.passages, 'passage')}"
    )


def failures(report: Report) -> list[str]:
    """Lines on the first failed cases and the first expectations that the base does not contain."""
    raised = [f"line {case.case.line} failed: {case.failed}" for case in report.failed]
    absent = [
        f"line {case.case.line}: not in the knowledge base: {what}" for case, what in report.missing
    ]
    return [*_limit_lines(raised, "failed cases"), *_limit_lines(absent, "missing expectations")]


def depth_note(report: Report) -> str:
    """A note when a measure needs more passages than retrieval returns; else empty."""
    top = report.base.settings.get("retrieval", {}).get("top_k")
    deep = [k for k in report.depths if isinstance(top, int) and k > top]
    if not deep:
        return ""
    return f"Retrieval returns at most {top} passages (retrieval.top_k), less than {max(deep)}."


def _limit_lines(lines: Sequence[str], what: str) -> list[str]:
    more = len(lines) - MAX_CASES_LISTED
    return [*lines[:MAX_CASES_LISTED], *([f"… and {more:,} more {what}"] if more > 0 else [])]


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def markdown_page(report: Report, *, checks: Sequence[Check] = ()) -> str:
    """Render the report, with the gate's result when there are ``checks``."""
    blocks = [
        [f"# {_cell(heading(report))}", "", _origin(report)],
        _table(("measure", "value", "95 % interval", "n"), _measure_rows(report)),
    ]
    if checks:
        blocks.append(["## Gate", "", *_table(("measure", "wanted", "found", ""), _checks(checks))])
    if subgroups(report):
        names = short_measures(report)
        blocks.append(["## By type and tag", "", *_table(("group", "n", *names), _groups(report))])
    blocks.append(
        ["## Latency (milliseconds)", "", *_table(("step", "p50", "p90"), _latency_rows(report))]
    )
    if report.curve:
        head = ("confidence", "share of right answers", "n")
        blocks.append(["## Calibration", "", *_table(head, _calibration_rows(report))])
    notes = [*failures(report), *filter(None, [depth_note(report)])]
    if notes:
        blocks.append(["## Notes", "", *(f"- {_cell(note)}" for note in notes)])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _origin(report: Report) -> str:
    return (
        f"Wellread {report.version}, {report.at}, embedder {_cell(report.base.embedder)}. "
        "Intervals: 95 % percentile bootstrap over the cases; a case without a result scores zero."
    )


def _measure_rows(report: Report) -> Iterable[Sequence[str]]:
    for name, figure in table_measures(report):
        yield name, f"{figure.mean:.3f}", f"{figure.low:.3f} – {figure.high:.3f}", f"{figure.n:,}"


def _groups(report: Report) -> Iterable[Sequence[str]]:
    for group in subgroups(report):
        figures = report.groups[group]
        cells = [str(figures[name]) if name in figures else "–" for name in short_measures(report)]
        yield group, f"{figures['failed'].n:,}", *cells


def _latency_rows(report: Report) -> Iterable[Sequence[str]]:
    for step, seconds in report.latency.items():
        yield step, format_milliseconds(seconds.p50), format_milliseconds(seconds.p90)


def _checks(checks: Sequence[Check]) -> Iterable[Sequence[str]]:
    for check in checks:
        figure = str(check.found) if check.found else "not measured"
        yield check.threshold.name, check.threshold.wanted, figure, "✓" if check.passed else "**✗**"


def _calibration_rows(report: Report) -> Iterable[Sequence[str]]:
    for bin_ in report.curve:
        yield f"{bin_.confidence:.2f}", str(bin_.right), f"{bin_.right.n:,}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows),
    ]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
