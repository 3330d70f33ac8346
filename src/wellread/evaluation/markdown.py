"""A report as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wellread.evaluation.report import ALL, Check, Report
from wellread.evaluation.scores import Interval

_SHORT = ("ndcg@10", "span_ndcg@10", "answer_right", "citation_precision", "refusal_accuracy")
SHOWN_CASES = 10


def value(figure: Interval) -> str:
    """The figure itself."""
    return f"{figure.mean:.3f}"


def bounds(figure: Interval) -> str:
    """Its interval."""
    return f"{figure.low:.3f} – {figure.high:.3f}"


def milliseconds(figure: Interval) -> str:
    """Seconds as milliseconds with their interval."""
    return f"{figure.mean * 1000:,.0f} [{figure.low * 1000:,.0f}, {figure.high * 1000:,.0f}]"


def short_measures(report: Report) -> list[str]:
    """The measures that tables by type and tag show: recall at the first depth, and a few more."""
    first = f"recall@{report.depths[0]}"
    wanted = (first, f"span_{first}", *_SHORT, "type_accuracy")
    return [name for name in wanted if name in report.groups[ALL]]


def shown(report: Report) -> list[tuple[str, Interval]]:
    """The measures of all cases that a table shows; latency has one of its own."""
    return [
        (name, figure)
        for name, figure in report.groups[ALL].items()
        if not name.startswith("seconds_") and (name != "failed" or figure.mean)
    ]


def parts(report: Report) -> list[str]:
    """The groups other than ``all``."""
    return [group for group in report.groups if group != ALL]


def heading(report: Report) -> str:
    """What was measured, in one line."""
    how = "retrieval only" if report.retrieval_only else "full answers"
    return (
        f"{report.name} · {_many(len(report.cases), 'case')} · {how} · "
        f"{_many(report.base.documents, 'document')}, {_many(report.base.passages, 'passage')}"
    )


def failures(report: Report) -> list[str]:
    """Cases that raised an error, and expected things that the base does not hold; the first."""
    raised = [f"line {each.case.line} failed: {each.failed}" for each in report.failed]
    absent = [
        f"line {each.case.line}: not in the knowledge base: {what}" for each, what in report.missing
    ]
    return [*_first(raised, "failed cases"), *_first(absent, "expected things that are not there")]


def depth_note(report: Report) -> str:
    """Says when a measure looks deeper than retrieval goes; empty when none does."""
    top = report.base.settings.get("retrieval", {}).get("top_k")
    deep = [k for k in report.depths if isinstance(top, int) and k > top]
    if not deep:
        return ""
    return f"Retrieval returns at most {top} passages (retrieval.top_k), less than {max(deep)}."


def _first(lines: Sequence[str], what: str) -> list[str]:
    more = len(lines) - SHOWN_CASES
    return [*lines[:SHOWN_CASES], *([f"… and {more:,} more {what}"] if more > 0 else [])]


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def page(report: Report, *, checks: Sequence[Check] = ()) -> str:
    """The report."""
    blocks = [
        [f"# {_cell(heading(report))}", "", _origin(report)],
        _table(("measure", "value", "95 % interval", "n"), _measures(report)),
    ]
    if checks:
        blocks.append(["## Gate", "", *_table(("measure", "wanted", "found", ""), _gate(checks))])
    if parts(report):
        names = short_measures(report)
        blocks.append(["## By type and tag", "", *_table(("group", "n", *names), _parts(report))])
    blocks.append(
        ["## Latency (milliseconds)", "", *_table(("step", "p50", "p90"), _latency(report))]
    )
    if report.curve:
        head = ("confidence", "share of right answers", "n")
        blocks.append(["## Calibration", "", *_table(head, _curve(report))])
    notes = [*failures(report), *filter(None, [depth_note(report)])]
    if notes:
        blocks.append(["## Notes", "", *(f"- {_cell(note)}" for note in notes)])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _origin(report: Report) -> str:
    return (
        f"Wellread {report.version}, {report.at}, embedder {_cell(report.base.embedder)}. "
        "Intervals: 95 % percentile bootstrap over the cases; a case without a result scores zero."
    )


def _measures(report: Report) -> Iterable[Sequence[str]]:
    for name, figure in shown(report):
        yield name, value(figure), bounds(figure), f"{figure.n:,}"


def _parts(report: Report) -> Iterable[Sequence[str]]:
    for group in parts(report):
        figures = report.groups[group]
        cells = [str(figures[name]) if name in figures else "–" for name in short_measures(report)]
        yield group, f"{figures['failed'].n:,}", *cells


def _latency(report: Report) -> Iterable[Sequence[str]]:
    for step, seconds in report.latency.items():
        yield step, milliseconds(seconds.p50), milliseconds(seconds.p90)


def _gate(checks: Sequence[Check]) -> Iterable[Sequence[str]]:
    for each in checks:
        found = str(each.found) if each.found else "not measured"
        yield each.threshold.name, each.threshold.wanted, found, "✓" if each.passed else "**✗**"


def _curve(report: Report) -> Iterable[Sequence[str]]:
    for each in report.curve:
        yield f"{each.confidence:.2f}", str(each.right), f"{each.right.n:,}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows),
    ]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
