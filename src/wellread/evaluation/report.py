"""Runs evaluation cases and builds a report of measures with intervals, by type and tag."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import yaml
from anyio import to_thread

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.answer import answer, final
from wellread.ask.plan import find
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import MAX_QUESTION_CHARS, analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.codec import to_plain
from wellread.errors import RequestError, WellreadError
from wellread.evaluation.cases import Case, Resolver
from wellread.evaluation.scores import (
    LESS_IS_BETTER,
    Bin,
    Interval,
    Run,
    Scored,
    bootstrap,
    bootstrap_percentile,
    measure_names,
    reliability,
    score,
)
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

ALL = "all"
# The settings that influence the figures and contain no secrets.
SETTING_SECTIONS = ("retrieval", "qa", "context", "citations", "generation")
EXCLUDED_FIELDS = {"base_url", "api_key_env"}

Figures = Mapping[str, Interval]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """The seconds that one step takes: median and 90th percentile."""

    p50: Interval
    p90: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The evaluated knowledge base: its size, embedder and settings."""

    documents: int
    passages: int
    embedder: str
    settings: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures of one run.

    Attributes:
        groups: ``all``, ``type:...`` and ``tag:...``, each with its figures by measure.
        latency: the seconds of each step.
        curve: the calibration curve in bins of confidence; empty when no case has a verdict.
    """

    name: str
    at: str
    version: str
    retrieval_only: bool
    depths: tuple[int, ...]
    base: Base
    cases: tuple[Scored, ...]
    groups: Mapping[str, Figures]
    latency: Mapping[str, Latency] = field(default_factory=dict)
    curve: tuple[Bin, ...] = ()

    @property
    def failed(self) -> list[Scored]:
        """The cases that raised an error."""
        return [case for case in self.cases if case.failed]

    @property
    def missing(self) -> list[tuple[Scored, str]]:
        """The expected documents and places that the knowledge base does not contain."""
        return [(case, what) for case in self.cases for what in case.missing]


def report_of(
    name: str, base: Base, cases: Sequence[Scored], depths: Sequence[int], *, retrieval_only: bool
) -> Report:
    """Build the report of a run over the case set ``name``."""
    return Report(
        name=name,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=version("wellread"),
        retrieval_only=retrieval_only,
        depths=tuple(depths),
        base=base,
        cases=tuple(cases),
        groups={group: figures_of(members, depths) for group, members in _case_groups(cases)},
        latency=_latency(cases),
        curve=tuple(reliability(*_judgements(cases))),
    )


def base_of(kb: KnowledgeBase) -> Base:
    """Return the properties of ``kb`` that influence the figures."""
    collections = kb.catalogue.listings.kinds()
    return Base(
        documents=sum(entry.documents for entry in collections),
        passages=sum(entry.passages for entry in collections),
        embedder=kb.live().fingerprint.embedder,
        settings={
            section: getattr(kb.settings, section).model_dump(mode="json", exclude=EXCLUDED_FIELDS)
            for section in SETTING_SECTIONS
        },
    )


def figures_of(cases: Sequence[Scored], depths: Sequence[int]) -> dict[str, Interval]:
    """Return every measure that at least one of the cases has, in report order."""
    figures: dict[str, Interval] = {}
    special: Mapping[str, Callable[[Sequence[Scored]], Interval | None]] = {
        "failed": lambda group: bootstrap([float(bool(case.failed)) for case in group]),
        "seconds_p50": lambda group: _total_percentile(group, 0.5),
        "seconds_p90": lambda group: _total_percentile(group, 0.9),
    }
    for name in measure_names(depths):
        if name in special:
            figure = special[name](cases)
        else:
            values = [case.scores[name] for case in cases if name in case.scores]
            figure = bootstrap(values) if values else None
        if figure is not None:
            figures[name] = figure
    return figures


def _case_groups(cases: Sequence[Scored]) -> Iterator[tuple[str, list[Scored]]]:
    yield ALL, list(cases)
    types = dict.fromkeys(case.case.type for case in cases if case.case.type)
    for question_type in types:
        yield f"type:{question_type}", [case for case in cases if case.case.type == question_type]
    tags = dict.fromkeys(tag for case in cases for tag in case.case.tags)
    for tag in tags:
        yield f"tag:{tag}", [case for case in cases if tag in case.case.tags]


def _judgements(cases: Sequence[Scored]) -> tuple[list[float], list[bool]]:
    """The confidences and the verdicts (right or not) of the cases that have both."""
    pairs = [
        (case.confidence, case.right)
        for case in cases
        if case.confidence is not None and case.right is not None
    ]
    return [value for value, _ in pairs], [right for _, right in pairs]


def _total_percentile(cases: Sequence[Scored], share: float) -> Interval | None:
    values = [case.seconds[TOTAL] for case in cases if TOTAL in case.seconds]
    return bootstrap_percentile(values, share) if values else None


def _latency(cases: Sequence[Scored]) -> dict[str, Latency]:
    values: dict[str, list[float]] = {}
    for case in cases:
        for step, seconds in case.seconds.items():
            values.setdefault(step, []).append(seconds)
    return {
        step: Latency(
            p50=bootstrap_percentile(values[step], 0.5), p90=bootstrap_percentile(values[step], 0.9)
        )
        for step in sorted(values, key=lambda name: name == TOTAL)
    }


DEPTHS = (5, 10)
TOTAL = "total"

OnCase = Callable[[int], None]


def evaluate(
    kb: KnowledgeBase,
    cases: Sequence[Case],
    *,
    depths: Sequence[int] = DEPTHS,
    retrieval_only: bool = False,
    on_case: OnCase = lambda _done: None,
) -> list[Scored]:
    """Run and score every case; ``on_case`` is called with the number of finished cases.

    A case that raises is scored like a case without a result and keeps the reason. Answers and
    gaps of the evaluation are not recorded.
    """
    resolver = Resolver(kb)
    targets_of_cases = [resolver.targets(case) for case in cases]
    search(kb, "warm up", Filters(), limit=1)  # loads model and stores before any case is timed
    scored = []

    async def run_all() -> None:
        for done, (case, targets) in enumerate(zip(cases, targets_of_cases, strict=True), 1):
            run = await _run(kb, case, retrieval_only=retrieval_only)
            scored.append(score(case, targets, run, depths, retrieval_only=retrieval_only))
            on_case(done)

    anyio.run(run_all)
    return scored


def question_of(case: Case) -> Question:
    """The question to ask for a case, whose answer is not recorded.

    With several turns, the last comes first; the earliest are dropped when the text is too long,
    so that the question itself is never cut.
    """
    turns = [turn.strip() for turn in reversed(case.turns)]
    while len(turns) > 1 and len("\n".join(turns)) > MAX_QUESTION_CHARS:
        turns.pop()
    text = "\n".join(turns)
    return Question(text=text, filters=case.filters, mode=case.mode, fresh=True, recorded=False)


def in_collections(cases: Sequence[Case], collections: Sequence[str]) -> list[Case]:
    """Return the cases with ``collections`` instead of the collections that they name."""
    return [
        replace(case, filters=replace(case.filters, collections=tuple(collections)))
        for case in cases
    ]


async def _run(kb: KnowledgeBase, case: Case, *, retrieval_only: bool) -> Run:
    question = question_of(case)
    try:
        if retrieval_only:
            return await to_thread.run_sync(_retrieve, kb, question)
        return await _answer(kb, question)
    except WellreadError as error:
        return Run(failed=str(error))


async def _answer(kb: KnowledgeBase, question: Question) -> Run:
    runs: list[tuple[Analysis, Found]] = []
    started = time.perf_counter()
    delivered = await final(
        answer(kb, question, explain=lambda analysis, result: runs.append((analysis, result)))
    )
    total = time.perf_counter() - started
    seconds: defaultdict[str, float] = defaultdict(float)
    for step in delivered.steps:
        seconds[step.name] += step.seconds
    merged = merge_found([result for _, result in runs])
    return Run(
        found=merged, type=runs[0][0].type, answer=delivered, seconds={**seconds, TOTAL: total}
    )


def merge_found(parts: Sequence[Found]) -> Found:
    """Merge the results for the parts of a compound question, the best of each first.

    If one of them is a catalogue result, the merged result is one, so that its list counts.
    """
    if len(parts) == 1:
        return parts[0]
    ranks = zip_longest(*(part.hits for part in parts))
    hits = tuple(hit for rank in ranks for hit in rank if hit is not None)
    listing = next((part for part in parts if isinstance(part, AggregateResult)), parts[0])
    return replace(listing, hits=hits)


def _retrieve(kb: KnowledgeBase, question: Question) -> Run:
    started = time.perf_counter()
    vocabulary = vocabulary_of(kb, question.filters.collections)
    analysis = analyse(question, vocabulary, date.today(), kb.embedder)
    analysed = time.perf_counter()
    result = find(kb, analysis)
    ended = time.perf_counter()
    return Run(
        found=result,
        type=analysis.type,
        seconds={
            "analysis": analysed - started,
            "retrieval": ended - analysed,
            TOTAL: ended - started,
        },
    )


Bound = Literal["mean", "low", "high"]
BOUNDS: tuple[Bound, ...] = ("mean", "low", "high")
HINT = "docs/measuring.md describes gates"
_DEPTH = re.compile(r"@(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The limits that a figure must keep to pass the gate.

    Attributes:
        group: ``all``, or a question type or tag (``type:factual``, ``tag:ferry``).
        bound: the value to compare: the figure itself or an end of its interval.
    """

    measure: str
    group: str = ALL
    least: float | None = None
    most: float | None = None
    bound: Bound = "mean"

    @property
    def name(self) -> str:
        """The name of the threshold in the gate file."""
        return self.measure if self.group == ALL else f"{self.group}/{self.measure}"

    @property
    def wanted(self) -> str:
        """The limits in words, for example ``low end ≥ 0.8``."""
        parts = [f"≥ {self.least:g}"] if self.least is not None else []
        parts += [f"≤ {self.most:g}"] if self.most is not None else []
        value = "" if self.bound == "mean" else f"{self.bound} end "
        return value + " and ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A threshold with the measured figure and whether it passed; without a figure it fails."""

    threshold: Threshold
    found: Interval | None
    passed: bool


def read_gate(path: Path) -> list[Threshold]:
    """The thresholds of a YAML or JSON file."""
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise RequestError(f"{path} is not YAML or JSON: {error}", hint=HINT) from error
    return read_thresholds(str(path), loaded)


def read_thresholds(where: str, measures: object, extra: Collection[str] = ()) -> list[Threshold]:
    """The thresholds of a mapping from measure to limits; ``where`` names it in errors.

    Args:
        extra: further allowed measures, for which less is better.
    """
    if not isinstance(measures, Mapping) or not measures:
        raise RequestError(f"{where} contains no measures with thresholds", hint=HINT)
    return [_threshold(where, str(name), limits, extra) for name, limits in measures.items()]


def depths_of(thresholds: Sequence[Threshold]) -> set[int]:
    """The ranking depths that the thresholds need."""
    fixed = measure_names([])
    ranked = (threshold.measure for threshold in thresholds if threshold.measure not in fixed)
    return {int(depth.group(1)) for depth in map(_DEPTH.search, ranked) if depth}


def check_report(report: Report, thresholds: Sequence[Threshold]) -> list[Check]:
    """Check every threshold against the report, in order."""
    return check_figures(report.groups, thresholds)


def check_figures(groups: Mapping[str, Figures], thresholds: Sequence[Threshold]) -> list[Check]:
    """Check every threshold against the figures of the groups, in order."""
    checks = []
    for limit in thresholds:
        figure = groups.get(limit.group, {}).get(limit.measure)
        value = float(getattr(figure, limit.bound)) if figure else float("nan")
        enough = limit.least is None or value >= limit.least
        passed = figure is not None and enough and (limit.most is None or value <= limit.most)
        checks.append(Check(threshold=limit, found=figure, passed=passed))
    return checks


def gate_body(checks: Sequence[Check]) -> dict[str, Any]:
    """The result of the gate as JSON values."""
    return {
        "passed": all(check.passed for check in checks),
        "checks": [
            {
                "measure": check.threshold.name,
                "min": check.threshold.least,
                "max": check.threshold.most,
                "bound": check.threshold.bound,
                "value": getattr(check.found, check.threshold.bound) if check.found else None,
                "passed": check.passed,
            }
            for check in checks
        ],
    }


def _threshold(source: str, name: str, spec: object, extra: Collection[str]) -> Threshold:
    where = f"{source}: {name}"
    group, slash, measure = name.rpartition("/")
    depth = _DEPTH.search(measure)
    measures = [*measure_names([int(depth.group(1))] if depth else []), *extra]
    if measure not in measures:
        raise RequestError(
            f"{source}: there is no measure {measure!r}",
            hint=f"known measures: {', '.join([*measure_names(['k']), *extra])}",
        )
    if slash and not group.startswith(("type:", "tag:")):
        raise RequestError(f"{where}: a group is type:... or tag:...", hint=HINT)
    if not isinstance(spec, Mapping):  # the worst value allowed
        spec = {"max" if measure in {*LESS_IS_BETTER, *extra} else "min": spec}
    unknown = [str(field) for field in spec if field not in ("min", "max", "bound")]
    if unknown:
        raise RequestError(f"{where}: unknown field {unknown[0]}", hint=HINT)
    bound = spec.get("bound", "mean")
    if bound not in BOUNDS:
        raise RequestError(f"{where}: bound is one of {', '.join(BOUNDS)}", hint=HINT)
    limits = {field: _number(where, spec[field]) for field in ("min", "max") if field in spec}
    if not limits:
        raise RequestError(f"{where}: give min, max or both", hint=HINT)
    return Threshold(
        measure=measure,
        group=group or ALL,
        least=limits.get("min"),
        most=limits.get("max"),
        bound=cast(Bound, bound),
    )


def _number(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise RequestError(f"{where}: {value!r} is not a number", hint=HINT)
    return float(value)


FORMAT = 1


def report_body(report: Report) -> dict[str, Any]:
    """The whole report as JSON values."""
    values: dict[str, Any] = to_plain(replace(report, cases=()))
    head = {"format": FORMAT, "set": values.pop("name"), "figures": values.pop("groups")}
    return {**head, **values, "cases": [_case_body(case) for case in report.cases]}


def _case_body(scored: Scored) -> dict[str, Any]:
    """A case with its scores as JSON values, without its expectations."""
    case = scored.case
    plain: dict[str, Any] = to_plain(
        {name: getattr(case, name) for name in ("id", "line", "type", "tags")}
        | {"question": case.turns[-1]}
        | {part.name: getattr(scored, part.name) for part in fields(scored) if part.name != "case"}
    )
    return plain
