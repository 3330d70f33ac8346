"""From scored cases to figures: every measure with its interval, by question type and tag."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, Unpack, cast

import anyio
import yaml
from anyio import to_thread

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.answer import answer, final
from wellread.ask.plan import find
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import LONGEST_QUESTION, analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.codec import to_plain
from wellread.config import CacheSettings
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
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.gap_records import Filing
from wellread.types import Filters
from wellread.values.answers import Answer, Question
from wellread.values.question import Analysis

ALL = "all"
# What decides the figures, and holds no secret.
SECTIONS = ("retrieval", "qa", "context", "citations", "generation")
NOT_KEPT = {"base_url", "api_key_env"}

Figures = Mapping[str, Interval]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds of one step."""

    p50: Interval
    p90: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What was measured: the knowledge base and its settings."""

    documents: int
    passages: int
    embedder: str
    settings: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures of one run.

    Attributes:
        groups: ``all``, ``type:...`` and ``tag:...`` to their figures by measure.
        latency: step to its seconds.
        curve: judgements of confidence in bins; empty when none was judged.
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
        return [each for each in self.cases if each.failed]

    @property
    def missing(self) -> list[tuple[Scored, str]]:
        """What cases expect and the base does not hold."""
        return [(each, what) for each in self.cases for what in each.missing]


def report_of(
    name: str,
    base: Base,
    cases: Sequence[Scored],
    depths: Sequence[int],
    *,
    retrieval_only: bool,
) -> Report:
    """All figures of a run over the set ``name``."""
    return Report(
        name=name,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=version("wellread"),
        retrieval_only=retrieval_only,
        depths=tuple(depths),
        base=base,
        cases=tuple(cases),
        groups={group: figures_of(members, depths) for group, members in _groups(cases)},
        latency=_latency(cases),
        curve=tuple(reliability(*_judgements(cases))),
    )


def base_of(kb: KnowledgeBase) -> Base:
    """What of ``kb`` decides the figures."""
    collections = kb.catalogue.stats()
    return Base(
        documents=sum(each.documents for each in collections),
        passages=sum(each.passages for each in collections),
        embedder=kb.live().fingerprint.embedder,
        settings={
            section: getattr(kb.settings, section).model_dump(mode="json", exclude=NOT_KEPT)
            for section in SECTIONS
        },
    )


def figures_of(cases: Sequence[Scored], depths: Sequence[int]) -> dict[str, Interval]:
    """Every measure that at least one of the cases has, in the order of a report."""
    found: dict[str, Interval] = {}
    whole: Mapping[str, Callable[[Sequence[Scored]], Interval | None]] = {
        "failed": lambda each: bootstrap([float(bool(one.failed)) for one in each]),
        "seconds_p50": lambda each: _total(each, 0.5),
        "seconds_p90": lambda each: _total(each, 0.9),
    }
    for name in measure_names(depths):
        if name in whole:
            figure = whole[name](cases)
        else:
            values = [each.scores[name] for each in cases if name in each.scores]
            figure = bootstrap(values) if values else None
        if figure is not None:
            found[name] = figure
    return found


def _groups(cases: Sequence[Scored]) -> Iterator[tuple[str, list[Scored]]]:
    yield ALL, list(cases)
    types = dict.fromkeys(each.case.type for each in cases if each.case.type)
    for known in types:
        yield f"type:{known}", [each for each in cases if each.case.type == known]
    tags = dict.fromkeys(tag for each in cases for tag in each.case.tags)
    for tag in tags:
        yield f"tag:{tag}", [each for each in cases if tag in each.case.tags]


def _judgements(cases: Sequence[Scored]) -> tuple[list[float], list[bool]]:
    """Confidence, and whether the answer was right, where both are known."""
    known = [
        (each.confidence, each.right)
        for each in cases
        if each.confidence is not None and each.right is not None
    ]
    return [sure for sure, _ in known], [right for _, right in known]


def _total(cases: Sequence[Scored], share: float) -> Interval | None:
    values = [each.seconds[TOTAL] for each in cases if TOTAL in each.seconds]
    return bootstrap_percentile(values, share) if values else None


def _latency(cases: Sequence[Scored]) -> dict[str, Latency]:
    values: dict[str, list[float]] = {}
    for each in cases:
        for step, seconds in each.seconds.items():
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
    """Run every case and score it; ``on_case`` is told how many are done.

    A case that raises is scored as one without a result, with the reason. Answers and gaps of
    evaluation are not recorded in the home.
    """
    resolver = Resolver(kb)
    wanted = [resolver.targets(case) for case in cases]
    search(kb, "warm up", Filters(), limit=1)  # opens model and stores: no case's time
    scored = []

    async def run_all() -> None:
        for done, (case, targets) in enumerate(zip(cases, wanted, strict=True), 1):
            run = await _run(kb, case, retrieval_only=retrieval_only)
            scored.append(score(case, targets, run, depths, retrieval_only=retrieval_only))
            on_case(done)

    with unrecorded(kb):
        anyio.run(run_all)
    return scored


def question_of(case: Case) -> Question:
    """The case as it is asked.

    Of several turns the last comes first and the earliest go when they are too long together:
    what is cut off must not be the question itself.
    """
    turns = [turn.strip() for turn in reversed(case.turns)]
    while len(turns) > 1 and len("\n".join(turns)) > LONGEST_QUESTION:
        turns.pop()
    return Question(text="\n".join(turns), filters=case.filters, mode=case.mode, fresh=True)


def in_collections(cases: Sequence[Case], collections: Sequence[str]) -> list[Case]:
    """The same cases, asked of these collections and not of those that they name themselves."""
    return [
        replace(case, filters=replace(case.filters, collections=tuple(collections)))
        for case in cases
    ]


@contextmanager
def unrecorded(kb: KnowledgeBase) -> Iterator[None]:
    """Inside, ``kb`` keeps neither answers nor gaps: nobody asked these questions."""
    kept, settings = kb.catalogue, kb.settings
    silent = _Silent.open(kb.place.where)
    kb.catalogue = silent
    kb.settings = settings.model_copy(update={"cache": CacheSettings(answers=False)})
    try:
        yield
    finally:
        kb.catalogue, kb.settings = kept, settings
        silent.close()


class _Silent(Catalogue):
    def record_answer(self, answer: Answer, read: Iterable[str] = ()) -> None:
        """Keep nothing."""

    def record_gap(self, _question: str, _reason: str, **_known: Unpack[Filing]) -> int:
        """Keep nothing."""
        return 0


async def _run(kb: KnowledgeBase, case: Case, *, retrieval_only: bool) -> Run:
    asked = question_of(case)
    try:
        if retrieval_only:
            return await to_thread.run_sync(_retrieve, kb, asked)
        return await _answer(kb, asked)
    except WellreadError as error:
        return Run(failed=str(error))


async def _answer(kb: KnowledgeBase, asked: Question) -> Run:
    seen: list[tuple[Analysis, Found]] = []
    started = time.perf_counter()
    given = await final(
        answer(kb, asked, explain=lambda analysis, found: seen.append((analysis, found)))
    )
    total = time.perf_counter() - started
    seconds: defaultdict[str, float] = defaultdict(float)
    for step in given.steps:
        seconds[step.name] += step.seconds
    found = together([each for _, each in seen])
    return Run(found=found, type=seen[0][0].type, answer=given, seconds={**seconds, TOTAL: total})


def together(parts: Sequence[Found]) -> Found:
    """What was found for each of the questions in one, the best of each first.

    A result of the catalogue stays one, so that its list counts.
    """
    if len(parts) == 1:
        return parts[0]
    ranks = zip_longest(*(part.hits for part in parts))
    hits = tuple(hit for rank in ranks for hit in rank if hit is not None)
    listing = next((part for part in parts if isinstance(part, AggregateResult)), parts[0])
    return replace(listing, hits=hits)


def _retrieve(kb: KnowledgeBase, asked: Question) -> Run:
    started = time.perf_counter()
    vocabulary = vocabulary_of(kb, asked.filters.collections)
    analysis = analyse(asked, vocabulary, date.today(), kb.embedder)
    analysed = time.perf_counter()
    found = find(kb, analysis)
    ended = time.perf_counter()
    return Run(
        found=found,
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
    """The thresholds of a YAML or JSON file."""
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


def body(report: Report) -> dict[str, Any]:
    """The whole report as JSON values."""
    whole: dict[str, Any] = to_plain(replace(report, cases=()))
    named = {"format": FORMAT, "set": whole.pop("name"), "figures": whole.pop("groups")}
    return {**named, **whole, "cases": [_case(each) for each in report.cases]}


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror or error}") from error


def _case(scored: Scored) -> dict[str, Any]:
    """A case with its scores, without what the set says of it."""
    case = scored.case
    plain: dict[str, Any] = to_plain(
        {name: getattr(case, name) for name in ("id", "line", "type", "tags")}
        | {"question": case.turns[-1]}
        | {each.name: getattr(scored, each.name) for each in fields(scored) if each.name != "case"}
    )
    return plain
