"""Limits, what was found, and go or no-go for each line and over all.

What has no data is a line of its own, "not measured", and is counted in the verdict's words. What
should have been measured and was not is a no-go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.paths import ROOT
from wellread.errors import RequestError
from wellread.evaluation.report import Check, Figures, Threshold, check_figures, read_thresholds
from wellread.evaluation.scores import Interval

LIMITS = ROOT / "benchmarks" / "release" / "limits.yaml"
State = Literal["go", "no-go", "not measured"]
GO: State = "go"
NO_GO: State = "no-go"
NOT_MEASURED: State = "not measured"
NO_DATA = "no data"
Limits = Mapping[str, Sequence[Threshold]]
Groups = Mapping[str, Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came out of a part: figures by group, and in words what went wrong."""

    groups: Groups
    notes: tuple[str, ...] = ()


def count(number: float, n: int) -> Interval:
    """A count as a figure: it has no interval."""
    return Interval(mean=number, low=number, high=number, n=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One limit and what became of it.

    Attributes:
        part: which set or check it belongs to.
        why: why there is no figure; empty when there is one.
    """

    part: str
    check: Check
    state: State
    why: str = ""

    @property
    def name(self) -> str:
        """Its measure, with the group."""
        return self.check.threshold.name

    @property
    def value(self) -> float | None:
        """The figure that was held against the limit."""
        found = self.check.found
        return None if found is None else getattr(found, self.check.threshold.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Go or no-go over all lines."""

    lines: tuple[Line, ...]

    @property
    def missed(self) -> list[Line]:
        """The lines whose limit was not reached."""
        return [line for line in self.lines if line.state == NO_GO]

    @property
    def unmeasured(self) -> list[Line]:
        """The lines that there was no data for."""
        return [line for line in self.lines if line.state == NOT_MEASURED]

    @property
    def go(self) -> bool:
        """Whether something was measured and every limit that was measured is reached."""
        return not self.missed and len(self.unmeasured) < len(self.lines)

    @property
    def words(self) -> str:
        """The verdict in one sentence, which never hides what was not measured."""
        open_ = len(self.unmeasured)
        total = len(self.lines)
        lacking = f"; {open_} of {total} lines not measured ({NO_DATA})" if open_ else ""
        if self.missed:
            names = ", ".join(f"{line.part} {line.name}" for line in self.missed)
            return f"no-go: {len(self.missed)} of {total} lines missed ({names}){lacking}"
        if not self.go:
            return f"no-go: nothing was measured{lacking}"
        return f"go: {total - open_} of {total} lines reached{lacking}"


def read_limits(path: Path, parts: Collection[str], further: Collection[str]) -> Limits:
    """The limits of each part.

    Args:
        parts: what is measured; each has to have limits, so that none is measured for nothing.
        further: measures beside those of ``wellread eval``.

    Raises:
        RequestError: the file cannot be read, names another part, leaves one out, or says
            something that is not a limit.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise RequestError(f"{path} cannot be read: {error}") from error
    named = given.keys() if isinstance(given, dict) else set()
    if odd := sorted(named ^ set(parts)):
        raise RequestError(f"{path}: limits are for {', '.join(parts)}, each; see {odd[0]}")
    return {part: read_thresholds(f"{path}: {part}", given[part], further) for part in parts}


def judge(limits: Limits, measured: Mapping[str, Measured | None]) -> Verdict:
    """Hold what was measured against the limits; None is a part that there is no data for.

    Raises:
        KeyError: a part was neither measured nor given up.
    """
    lines: list[Line] = []
    for part, thresholds in limits.items():
        found = measured[part]
        if found is None:
            lines += [_unmeasured(part, threshold) for threshold in thresholds]
        else:
            lines += [_line(part, each) for each in check_figures(found.groups, thresholds)]
    return Verdict(lines=tuple(lines))


def _unmeasured(part: str, threshold: Threshold) -> Line:
    check = Check(threshold=threshold, found=None, passed=False)
    return Line(part=part, check=check, state=NOT_MEASURED, why=NO_DATA)


def _line(part: str, check: Check) -> Line:
    if check.found is None:
        return Line(part=part, check=check, state=NO_GO, why="no such figure came out")
    return Line(part=part, check=check, state=GO if check.passed else NO_GO)


MARKS: Mapping[State, str] = {GO: "✓ go", NO_GO: "✗ NO-GO", NOT_MEASURED: f"– {NOT_MEASURED}"}
HEAD = ("", "limit", "found", "n", "")


def table(verdict: Verdict) -> list[str]:
    """Every line, and the verdict under them, in columns."""
    rows: list[tuple[str, ...]] = [HEAD]
    part = ""
    for line in verdict.lines:
        if line.part != part:
            part = line.part
            rows.append((part, "", "", "", ""))
        found = line.check.found
        why = f" ({line.why})" if line.why else ""
        rows.append(
            (
                f"  {line.name}",
                line.check.threshold.wanted,
                found_in_words(line),
                f"{found.n:,}" if found else "–",
                f"{MARKS[line.state]}{why}",
            )
        )
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD) - 1)]
    printed = ["  ".join(_columns(row, widths)).rstrip() for row in rows]
    return [*printed, "", verdict.words[:1].upper() + verdict.words[1:] + "."]


def _columns(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    name, limit, found, n, state = row
    return [
        name.ljust(widths[0]),
        limit.rjust(widths[1]),
        found.rjust(widths[2]),
        n.rjust(widths[3]),
        state,
    ]


def found_in_words(line: Line) -> str:
    """The figure with its interval; a count without."""
    found = line.check.found
    if found is None:
        return "–"
    if found.mean == found.low == found.high:
        return f"{found.mean:g}"
    return str(found)


def body(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON values."""
    return {
        "go": verdict.go,
        "verdict": verdict.words,
        "not_measured": len(verdict.unmeasured),
        "lines": [
            {
                "part": line.part,
                "measure": line.name,
                "min": line.check.threshold.least,
                "max": line.check.threshold.most,
                "bound": line.check.threshold.bound,
                "value": line.value,
                "low": line.check.found.low if line.check.found else None,
                "high": line.check.found.high if line.check.found else None,
                "n": line.check.found.n if line.check.found else 0,
                "state": line.state,
                "why": line.why,
            }
            for line in verdict.lines
        ],
    }
