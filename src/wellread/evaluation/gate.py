"""Thresholds that turn a report into go or no-go."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from wellread.errors import RequestError
from wellread.evaluation.bootstrap import Interval
from wellread.evaluation.report import ALL, Report
from wellread.evaluation.scores import LESS_IS_BETTER, measure_names

Bound = Literal["mean", "low", "high"]
BOUNDS: tuple[Bound, ...] = ("mean", "low", "high")
HINT = "docs/evaluation.md describes gates"
_DEPTH = re.compile(r"@(\d+)$")
_FIELDS = ("min", "max", "bound")


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
    if not isinstance(loaded, dict) or not loaded:
        raise RequestError(f"{path} holds no measures with thresholds", hint=HINT)
    return [_threshold(path, str(name), given) for name, given in loaded.items()]


def depths_of(thresholds: Sequence[Threshold]) -> set[int]:
    """The depths that the thresholds need to be measured at."""
    fixed = measure_names([])
    asked = (each.measure for each in thresholds if each.measure not in fixed)
    return {int(depth.group(1)) for depth in map(_DEPTH.search, asked) if depth}


def check(report: Report, thresholds: Sequence[Threshold]) -> list[Check]:
    """Every threshold held against the report, in order."""
    checks = []
    for each in thresholds:
        found = report.groups.get(each.group, {}).get(each.measure)
        checks.append(Check(threshold=each, found=found, passed=_reached(each, found)))
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


def _reached(threshold: Threshold, found: Interval | None) -> bool:
    if found is None:
        return False
    value = float(getattr(found, threshold.bound))
    enough = threshold.least is None or value >= threshold.least
    return enough and (threshold.most is None or value <= threshold.most)


def _threshold(path: Path, name: str, given: object) -> Threshold:
    group, slash, measure = name.rpartition("/")
    depth = _DEPTH.search(measure)
    if measure not in measure_names([int(depth.group(1))] if depth else []):
        raise RequestError(
            f"{path}: there is no measure {measure!r}",
            hint=f"there are {', '.join(measure_names(['k']))}",
        )
    if slash and not group.startswith(("type:", "tag:")):
        raise RequestError(f"{path}: {name}: a group is type:... or tag:...", hint=HINT)
    where = f"{path}: {name}"
    least, most, bound = _limits(where, measure, given)
    return Threshold(measure=measure, group=group or ALL, least=least, most=most, bound=bound)


def _limits(where: str, measure: str, given: object) -> tuple[float | None, float | None, Bound]:
    """A bare number is the worst value allowed: a minimum, a maximum where less is better."""
    if not isinstance(given, Mapping):
        number = _number(where, given)
        return (None, number, "mean") if measure in LESS_IS_BETTER else (number, None, "mean")
    unknown = [str(name) for name in given if name not in _FIELDS]
    if unknown:
        raise RequestError(f"{where}: unknown field {unknown[0]}", hint=HINT)
    bound = given.get("bound", "mean")
    if bound not in BOUNDS:
        raise RequestError(f"{where}: bound is one of {', '.join(BOUNDS)}", hint=HINT)
    least = _number(where, given["min"]) if "min" in given else None
    most = _number(where, given["max"]) if "max" in given else None
    if least is None and most is None:
        raise RequestError(f"{where}: give min, max or both", hint=HINT)
    return least, most, cast(Bound, bound)


def _number(where: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or given != given:
        raise RequestError(f"{where}: {given!r} is not a number", hint=HINT)
    return float(given)
