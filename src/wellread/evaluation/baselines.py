"""What a report is held against: thresholds (go or no-go), and runs kept in files, by case."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from wellread.codec import to_plain
from wellread.errors import RequestError
from wellread.evaluation.report import ALL, Figures, Report
from wellread.evaluation.scores import (
    LESS_IS_BETTER,
    Interval,
    Scored,
    measure_names,
    paired_difference,
)

Bound = Literal["mean", "low", "high"]
BOUNDS: tuple[Bound, ...] = ("mean", "low", "high")
HINT = "docs/measuring.md describes gates"
_DEPTH = re.compile(r"@(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What one figure has to reach.

    Attributes:
        group: ``all``, or a question type or tag (``type:factual``, ``tag:ferry``).
        bound: which value counts: the figure itself, or an end of its interval.
    """

    measure: str
    group: str = ALL
    least: float | None = None
    most: float | None = None
    bound: Bound = "mean"

    @property
    def name(self) -> str:
        """As it stands in the file."""
        return self.measure if self.group == ALL else f"{self.group}/{self.measure}"

    @property
    def wanted(self) -> str:
        """In words: ``low ≥ 0.8``."""
        parts = [f"≥ {self.least:g}"] if self.least is not None else []
        parts += [f"≤ {self.most:g}"] if self.most is not None else []
        value = "" if self.bound == "mean" else f"{self.bound} end "
        return value + " and ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One threshold and whether it is reached. What was not measured is not reached."""

    threshold: Threshold
    found: Interval | None
    passed: bool


def read_gate(path: Path) -> list[Threshold]:
    """The thresholds of a YAML or JSON file.

    Raises:
        RequestError: the file cannot be read or says something that is not a threshold.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise RequestError(f"{path} is not YAML or JSON: {error}", hint=HINT) from error
    return read_thresholds(str(path), loaded)


def read_thresholds(where: str, given: object, further: Collection[str] = ()) -> list[Threshold]:
    """The thresholds of a mapping from measure to what it must reach; ``where`` it stands.

    Args:
        further: measures that are known here beside those of a report; of these less is better.

    Raises:
        RequestError: it is no such mapping, or says something that is not a threshold.
    """
    if not isinstance(given, Mapping) or not given:
        raise RequestError(f"{where} holds no measures with thresholds", hint=HINT)
    return [_threshold(where, str(name), wanted, further) for name, wanted in given.items()]


def depths_of(thresholds: Sequence[Threshold]) -> set[int]:
    """The depths that the thresholds need to be measured at."""
    fixed = measure_names([])
    asked = (each.measure for each in thresholds if each.measure not in fixed)
    return {int(depth.group(1)) for depth in map(_DEPTH.search, asked) if depth}


def check(report: Report, thresholds: Sequence[Threshold]) -> list[Check]:
    """Every threshold held against the report, in order."""
    return check_figures(report.groups, thresholds)


def check_figures(groups: Mapping[str, Figures], thresholds: Sequence[Threshold]) -> list[Check]:
    """Every threshold held against the figures of groups, in order."""
    checks = []
    for each in thresholds:
        found = groups.get(each.group, {}).get(each.measure)
        value = float(getattr(found, each.bound)) if found else float("nan")
        enough = each.least is None or value >= each.least
        passed = found is not None and enough and (each.most is None or value <= each.most)
        checks.append(Check(threshold=each, found=found, passed=passed))
    return checks


def gate_body(checks: Sequence[Check]) -> dict[str, Any]:
    """The outcome as JSON values."""
    return {
        "passed": all(each.passed for each in checks),
        "checks": [
            {
                "measure": each.threshold.name,
                "min": each.threshold.least,
                "max": each.threshold.most,
                "bound": each.threshold.bound,
                "value": getattr(each.found, each.threshold.bound) if each.found else None,
                "passed": each.passed,
            }
            for each in checks
        ],
    }


def _threshold(source: str, name: str, given: object, further: Collection[str]) -> Threshold:
    where = f"{source}: {name}"
    group, slash, measure = name.rpartition("/")
    depth = _DEPTH.search(measure)
    known = [*measure_names([int(depth.group(1))] if depth else []), *further]
    if measure not in known:
        raise RequestError(
            f"{source}: there is no measure {measure!r}",
            hint=f"there are {', '.join([*measure_names(['k']), *further])}",
        )
    if slash and not group.startswith(("type:", "tag:")):
        raise RequestError(f"{where}: a group is type:... or tag:...", hint=HINT)
    if not isinstance(given, Mapping):  # the worst value allowed
        given = {"max" if measure in {*LESS_IS_BETTER, *further} else "min": given}
    unknown = [str(field) for field in given if field not in ("min", "max", "bound")]
    if unknown:
        raise RequestError(f"{where}: unknown field {unknown[0]}", hint=HINT)
    bound = given.get("bound", "mean")
    if bound not in BOUNDS:
        raise RequestError(f"{where}: bound is one of {', '.join(BOUNDS)}", hint=HINT)
    limits = {field: _number(where, given[field]) for field in ("min", "max") if field in given}
    if not limits:
        raise RequestError(f"{where}: give min, max or both", hint=HINT)
    return Threshold(
        measure=measure,
        group=group or ALL,
        least=limits.get("min"),
        most=limits.get("max"),
        bound=cast(Bound, bound),
    )


def _number(where: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or given != given:
        raise RequestError(f"{where}: {given!r} is not a number", hint=HINT)
    return float(given)


FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What of a kept run is compared: case id to its scores, and what it was a run of."""

    name: str
    at: str
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
    whole: dict[str, Any] = to_plain(replace(report, cases=()))
    named = {"format": FORMAT, "set": whole.pop("name"), "figures": whole.pop("groups")}
    return {**named, **whole, "cases": [_case(each) for each in report.cases]}


def save(report: Report, path: Path) -> None:
    """Keep the run in a file, for ``load``.

    Raises:
        RequestError: the file cannot be written.
    """
    write_text(path, json.dumps(body(report), ensure_ascii=False, indent=1) + "\n")


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
        if kept["format"] != FORMAT:
            raise ValueError(f"format {kept['format']}")
        return Saved(
            name=kept["set"],
            at=kept["at"],
            scores={each["id"]: each["scores"] for each in kept["cases"]},
            questions={each["id"]: each["question"] for each in kept["cases"]},
            settings=kept["base"]["settings"],
        )
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError) as error:  # ValueError: not UTF-8, or not JSON
        raise RequestError(
            f"{path} is not a kept evaluation run",
            hint="'wellread eval SET --save FILE' makes one",
        ) from error


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


def _case(scored: Scored) -> dict[str, Any]:
    """A case with its scores, without what the set says of it."""
    case = scored.case
    plain: dict[str, Any] = to_plain(
        {name: getattr(case, name) for name in ("id", "line", "type", "tags")}
        | {"question": case.turns[-1]}
        | {each.name: getattr(scored, each.name) for each in fields(scored) if each.name != "case"}
    )
    return plain
