"""Runs kept in files, and the differences of a run to a kept one, case by case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wellread.codec import to_plain
from wellread.errors import RequestError
from wellread.evaluation.bootstrap import Interval, paired_difference
from wellread.evaluation.report import Report
from wellread.evaluation.scores import Scored, measure_names

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What of a kept run is compared: case id to its scores, and what it was a run of."""

    name: str
    at: str
    retrieval_only: bool
    scores: Mapping[str, Mapping[str, float]]
    questions: Mapping[str, str]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A measure then and now over the same cases; ``difference`` is now less then."""

    measure: str
    then: float
    now: float
    difference: Interval
    higher: int
    lower: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run against a kept one.

    Attributes:
        only_then, only_now: cases that the other run does not have; they are not compared.
        settings: setting to its value then and now, where they differ.
    """

    name: str
    at: str
    cases: int
    rows: tuple[Difference, ...]
    only_then: int
    only_now: int
    settings: Mapping[str, tuple[object, object]]


def body(report: Report) -> dict[str, Any]:
    """The whole report as JSON values."""
    return {
        "format": FORMAT,
        "set": report.name,
        "at": report.at,
        "version": report.version,
        "retrieval_only": report.retrieval_only,
        "depths": list(report.depths),
        "base": to_plain(report.base),
        "figures": {group: to_plain(figures) for group, figures in report.groups.items()},
        "latency": to_plain(report.latency),
        "curve": to_plain(report.curve),
        "cases": [_case(each) for each in report.cases],
    }


def save(report: Report, path: Path) -> None:
    """Keep the run in a file, for ``load``.

    Raises:
        RequestError: the file cannot be written.
    """
    text = json.dumps(body(report), ensure_ascii=False, indent=1) + "\n"
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``.

    Raises:
        RequestError: the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror or error}") from error


def load(path: Path) -> Saved:
    """A run that ``save`` kept.

    Raises:
        RequestError: the file cannot be read, or holds something else.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # not UTF-8, or not JSON
        raise _not_a_run(path) from error
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise _not_a_run(path)
    try:
        return Saved(
            name=kept["set"],
            at=kept["at"],
            retrieval_only=kept["retrieval_only"],
            scores={each["id"]: each["scores"] for each in kept["cases"]},
            questions={each["id"]: each["question"] for each in kept["cases"]},
            settings=kept["base"]["settings"],
        )
    except (KeyError, TypeError) as error:
        raise _not_a_run(path) from error


def compare(report: Report, then: Saved) -> Comparison:
    """The differences of ``report`` to a kept run, over the cases that both have.

    Raises:
        RequestError: the runs have no case in common.
    """
    now = {each.case.id: each for each in report.cases}
    shared = [
        known for known, each in now.items() if then.questions.get(known) == each.case.turns[-1]
    ]
    if not shared:
        raise RequestError(
            f"the kept run of {then.name} has no case in common with {report.name}",
            hint="compare runs of the same set",
        )
    rows = []
    for measure in measure_names(report.depths):
        ids = [k for k in shared if measure in now[k].scores and measure in then.scores[k]]
        if ids:
            rows.append(
                _difference(
                    measure,
                    [float(then.scores[known][measure]) for known in ids],
                    [now[known].scores[measure] for known in ids],
                )
            )
    return Comparison(
        name=then.name,
        at=then.at,
        cases=len(shared),
        rows=tuple(rows),
        only_then=len(then.scores) - len(shared),
        only_now=len(now) - len(shared),
        settings=_changed(then.settings, report.base.settings),
    )


def comparison_body(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values."""
    plain: dict[str, Any] = to_plain(comparison)
    return plain


def _difference(measure: str, then: list[float], now: list[float]) -> Difference:
    pairs = list(zip(then, now, strict=True))
    return Difference(
        measure=measure,
        then=sum(then) / len(then),
        now=sum(now) / len(now),
        difference=paired_difference(now, then),
        higher=sum(new > old for old, new in pairs),
        lower=sum(new < old for old, new in pairs),
    )


def _changed(
    then: Mapping[str, Mapping[str, object]], now: Mapping[str, Mapping[str, object]]
) -> dict[str, tuple[object, object]]:
    old, new = _flat(then), _flat(now)
    return {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def _flat(settings: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {
        f"{section}.{name}": value
        for section, values in settings.items()
        for name, value in values.items()
    }


def _case(each: Scored) -> dict[str, Any]:
    return {
        "id": each.case.id,
        "line": each.case.line,
        "question": each.case.turns[-1],
        "type": each.case.type,
        "tags": list(each.case.tags),
        "scores": dict(each.scores),
        "right": each.right,
        "answered": each.answered,
        "confidence": each.confidence,
        "failed": each.failed,
        "missing": list(each.missing),
        "seconds": dict(each.seconds),
        "text": each.text,
    }


def _not_a_run(path: Path) -> RequestError:
    return RequestError(
        f"{path} is not a kept evaluation run", hint="'wellread eval SET --save FILE' makes one"
    )
