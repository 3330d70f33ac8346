"""A report as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wellread.evaluation import wording
from wellread.evaluation.gate import Check
from wellread.evaluation.report import Report
from wellread.evaluation.saved import Comparison


def page(
    report: Report,
    *,
    checks: Sequence[Check] = (),
    comparison: Comparison | None = None,
    picture: str = "",
) -> str:
    """The report; ``picture`` is the address of the calibration curve, where there is one."""
    blocks = [
        [f"# {_cell(wording.heading(report))}", "", _origin(report)],
        _table(("measure", "value", "95 % interval", "n"), _measures(report)),
    ]
    if checks:
        blocks.append(["## Gate", "", *_table(("measure", "wanted", "found", ""), _gate(checks))])
    if comparison:
        blocks.append(_comparison(comparison))
    if wording.parts(report):
        names = wording.short_measures(report)
        blocks.append(["## By type and tag", "", *_table(("group", "n", *names), _parts(report))])
    blocks.append(
        ["## Latency (milliseconds)", "", *_table(("step", "p50", "p90"), _latency(report))]
    )
    if picture:
        blocks.append(["## Calibration", "", f"![Share of right answers by confidence]({picture})"])
    notes = [*wording.failures(report), *filter(None, [wording.depth_note(report)])]
    if notes:
        blocks.append(["## Notes", "", *(f"- {_cell(note)}" for note in notes)])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _origin(report: Report) -> str:
    return (
        f"Wellread {report.version}, {report.at}, embedder {_cell(report.base.embedder)}. "
        "Intervals: 95 % percentile bootstrap over the cases; a case without a result scores zero."
    )


def _measures(report: Report) -> Iterable[Sequence[str]]:
    for name, figure in wording.shown(report):
        yield name, wording.value(figure), wording.bounds(figure), f"{figure.n:,}"


def _parts(report: Report) -> Iterable[Sequence[str]]:
    for group in wording.parts(report):
        figures = report.groups[group]
        cells = [
            str(figures[name]) if name in figures else "–"
            for name in wording.short_measures(report)
        ]
        yield group, f"{figures['failed'].n:,}", *cells


def _latency(report: Report) -> Iterable[Sequence[str]]:
    for step, seconds in report.latency.items():
        yield step, wording.milliseconds(seconds.p50), wording.milliseconds(seconds.p90)


def _gate(checks: Sequence[Check]) -> Iterable[Sequence[str]]:
    for each in checks:
        found = str(each.found) if each.found else "not measured"
        yield each.threshold.name, each.threshold.wanted, found, "✓" if each.passed else "**✗**"


def _comparison(comparison: Comparison) -> list[str]:
    rows = (
        (
            row.measure,
            f"{row.then:.3f}",
            f"{row.now:.3f}",
            f"{row.difference.mean:+.3f} [{row.difference.low:+.3f}, {row.difference.high:+.3f}]",
            f"{row.higher:,} / {row.lower:,}",
        )
        for row in comparison.rows
    )
    head = ("measure", "then", "now", "difference", "higher / lower")
    title = f"## Against {_cell(comparison.name)} of {comparison.at}"
    changed = [f"- {name}: {old} → {new}" for name, (old, new) in comparison.settings.items()]
    return [title, "", *_table(head, rows), *(["", *changed] if changed else [])]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows),
    ]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
