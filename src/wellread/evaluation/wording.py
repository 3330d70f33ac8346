"""Figures in words: what measures are called, and which of them a short table shows."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.evaluation.bootstrap import Interval
from wellread.evaluation.report import ALL, Report

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
