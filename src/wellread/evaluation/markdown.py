"""A report as a Markdown page, and the curve of its confidence as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wellread.evaluation.report import ALL, Check, Report
from wellread.evaluation.scores import Bin, Interval

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


def page(
    report: Report,
    *,
    checks: Sequence[Check] = (),
    picture: str = "",
) -> str:
    """The report; ``picture`` is the address of the calibration curve, where there is one."""
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
    if picture:
        blocks.append(["## Calibration", "", f"![Share of right answers by confidence]({picture})"])
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


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows),
    ]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


SIZE, LEFT, TOP, EDGE = 280, 56, 16, 48  # pixels: the square, and the room around it
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def curve(bins: Sequence[Bin]) -> str:
    """Each bin as a point with its interval; on the diagonal confidence means what it says."""
    width, height = LEFT + SIZE + TOP, TOP + SIZE + EDGE
    title = "Share of right answers by confidence"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" '
            f'role="img" aria-label="{title}">',
            f"<title>{title}</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *_axes(),
            f'<path d="M{_x(0):.1f} {_y(0):.1f}L{_x(1):.1f} {_y(1):.1f}" '
            'stroke="#999" stroke-dasharray="4 4"/>',
            *_points(bins),
            "</svg>\n",
        ]
    )


def _axes() -> Iterator[str]:
    for tick in TICKS:
        yield (
            f'<path d="M{_x(tick):.1f} {_y(0):.1f}V{_y(1):.1f}M{_x(0):.1f} {_y(tick):.1f}'
            f'H{_x(1):.1f}" stroke="#ddd"/>'
        )
        yield f'<text x="{_x(tick):.1f}" y="{_y(0) + 16:.1f}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{_x(0) - 8:.1f}" y="{_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield (f'<text x="{_x(0.5):.1f}" y="{_y(0) + 38:.1f}" text-anchor="middle">confidence</text>')
    middle = f"{_x(0) - 40:.1f} {_y(0.5):.1f}"
    yield (
        f'<text transform="translate({middle}) rotate(-90)" text-anchor="middle">'
        "share of right answers</text>"
    )


def _points(bins: Sequence[Bin]) -> Iterator[str]:
    if len(bins) > 1:
        line = "L".join(f"{_x(each.confidence):.1f} {_y(each.right.mean):.1f}" for each in bins)
        yield f'<path d="M{line}" fill="none" stroke="#1b6ca8" stroke-width="1.5"/>'
    for each in bins:
        x = f"{_x(each.confidence):.1f}"
        yield (
            f'<path d="M{x} {_y(each.right.low):.1f}V{_y(each.right.high):.1f}" '
            'stroke="#1b6ca8" opacity="0.5"/>'
        )
        yield (
            f'<circle cx="{x}" cy="{_y(each.right.mean):.1f}" r="4" fill="#1b6ca8">'
            f"<title>confidence {each.confidence:.2f}, right {each.right}, "
            f"n = {each.right.n}</title></circle>"
        )


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)
