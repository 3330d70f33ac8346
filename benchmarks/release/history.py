"""The history of releases: one row of ``benchmarks/releases.md`` for each, written and read.

A row holds every figure with the limit of its day, so that the picture needs nothing else:
``sample: citation_recall 0.5 (≥ 0.35), failed 0 (≤ 0)<br>xquad: …``. A missed figure is bold; what
there was no data for is a dash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.paths import ROOT
from benchmarks.release.verdict import NO_GO, Line, Verdict
from wellread.errors import RequestError

PAGE = ROOT / "benchmarks" / "releases.md"
COLUMNS = ("date", "version", "commit", "verdict", "figures", "machine")
NOTHING = "–"
BETWEEN = "<br>"
INTRODUCTION = """\
# Releases

Each row is one run of the release gate (`make gate RECORD=1`), as it came out. A `+` after the
commit means that the working tree had changes. Beside every figure stands the limit of its day; a
missed one is bold, and a dash is what there was no data for. What the figures are:
[docs/measuring.md](../docs/measuring.md#the-release-gate); today's limits:
[limits.yaml](release/limits.yaml). Times depend on the machine, so only their ratio is held to a
limit.

![Every figure over the releases, with its limit](results/releases.svg)

"""
_FIGURE = re.compile(r"(\S+) (\*\*)?(–|-?\d+(?:\.\d+)?)(?:\*\*)? \(([^)]*)\)")
_LIMIT = re.compile(r"([≥≤]) (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a release.

    Attributes:
        value: None where there was no data.
        limit: in words, as ``≥ 0.8``.
    """

    name: str
    value: float | None
    limit: str
    missed: bool = False

    @property
    def ends(self) -> list[float]:
        """The numbers of the limit."""
        return [float(number) for _, number in _LIMIT.findall(self.limit)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One row of the history; ``parts``: name to figures."""

    date: str
    version: str
    commit: str
    verdict: str
    parts: Mapping[str, tuple[Figure, ...]]
    machine: str

    @property
    def go(self) -> bool:
        """Whether it was a go."""
        return self.verdict.startswith("go")


def release_of(verdict: Verdict, version: str, provenance: Mapping[str, str]) -> Release:
    """The row of a verdict; ``provenance`` is that of ``record.provenance``."""
    return Release(
        date=provenance["at"][:10],
        version=version,
        commit=provenance["commit"],
        verdict=verdict.words,
        parts={
            part: tuple(map(_figure, lines))
            for part, lines in groupby(verdict.lines, key=lambda line: line.part)
        },
        machine=provenance["machine"],
    )


def _figure(line: Line) -> Figure:
    value = None if line.value is None else round(line.value, 3)
    limit = line.check.threshold.wanted
    return Figure(name=line.name, value=value, limit=limit, missed=line.state == NO_GO)


def append(release: Release, page: Path = PAGE) -> None:
    """Write one more row; rows that are there stay as they are."""
    if page.exists():
        before = page.read_text(encoding="utf-8")
    else:
        heads = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
        before = INTRODUCTION + heads
    page.write_text(f"{before}{row(release)}\n", encoding="utf-8")


def row(release: Release) -> str:
    """The release as a row of the table."""
    figures = BETWEEN.join(
        f"{part}: {', '.join(map(_written, some))}" for part, some in release.parts.items()
    )
    cells = (
        release.date,
        release.version,
        release.commit,
        release.verdict,
        figures,
        release.machine,
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _written(figure: Figure) -> str:
    value = NOTHING
    if figure.value is not None:
        value = f"{figure.value:.3f}".rstrip("0").rstrip(".")
    return f"{figure.name} {f'**{value}**' if figure.missed else value} ({figure.limit})"


def releases(page: Path = PAGE) -> list[Release]:
    """The rows, oldest first.

    Raises:
        RequestError: a row is not as ``append`` writes it.
    """
    if not page.exists():
        return []
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    return [_release(line) for line in lines if line != f"| {' | '.join(COLUMNS)} |"]


def _release(line: str) -> Release:
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if len(cells) != len(COLUMNS):
        raise RequestError(f"this is no row of the history of releases: {line[:80]}")
    date, version, commit, verdict, figures, machine = cells
    parts = dict(_part(one) for one in figures.split(BETWEEN))
    return Release(
        date=date, version=version, commit=commit, verdict=verdict, parts=parts, machine=machine
    )


def _part(written: str) -> tuple[str, tuple[Figure, ...]]:
    name, _, listed = written.partition(": ")
    return name, tuple(
        Figure(
            name=known,
            value=None if value == NOTHING else float(value),
            limit=limit,
            missed=bool(bold),
        )
        for known, bold, value, limit in _FIGURE.findall(listed)
    )


def names(history: Sequence[Release]) -> list[tuple[str, str]]:
    """Part and name of every figure, those of the latest release first."""
    return list(
        dict.fromkeys(
            (part, figure.name)
            for release in reversed(history)
            for part, figures in release.parts.items()
            for figure in figures
        )
    )
