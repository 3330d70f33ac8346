"""From scored cases to figures: every measure with its interval, by question type and tag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

from wellread.evaluation.bootstrap import (
    Bin,
    Interval,
    auroc,
    bootstrap,
    bootstrap_percentile,
    calibration_error,
    reliability,
)
from wellread.evaluation.measuring import TOTAL
from wellread.evaluation.scores import Scored, measure_names
from wellread.kb import KnowledgeBase

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
        "confidence_auroc": _auroc,
        "calibration_error": _calibration_error,
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


def _calibration_error(cases: Sequence[Scored]) -> Interval | None:
    sure, right = _judgements(cases)
    return calibration_error(sure, right) if sure else None


def _auroc(cases: Sequence[Scored]) -> Interval | None:
    """Confidence of answerable over other questions; a failed case is as wrong as can be."""
    known = [each for each in cases if "refusal_accuracy" in each.scores]
    if not known:
        return None
    answerable = [each.case.expected.answerable is True for each in known]
    scores = [
        float(not able) if each.confidence is None else each.confidence
        for each, able in zip(known, answerable, strict=True)
    ]
    return auroc(scores, answerable)


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
