"""Learns the weights of ``wellread.models.readers``: ``support_weights.json`` for words alone,
``trained_weights.json`` for words with the trained network.

    python -m benchmarks.train_support lexical
    python -m benchmarks.train_support trained

A logistic regression with quadratic penalty over the readings; a reading that speaks for a claim
may not count against it, nor the other way round, which keeps what is learned on one set of use on
another. Learned on SciFact's training claims (CC BY, ODC-By) about abstracts that its validation
claims are not about, half of WiCE dev (ODC-BY) and half of ExpertQA rand_val (MIT); ``claims.py``
measures on the rest. The second file takes the first one's weights over: only how much the network
counts beside them is learned, on the two halves, since the network was trained on SciFact's claims
and is surer there than elsewhere (stacked generalisation, Wolpert 1992). The thresholds are those
of whole verdicts: a claim that another step objects to needs no high score to be refused.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims import verdict_of
from benchmarks.paths import ROOT
from benchmarks.sets.claims import (
    EXPERTQA,
    SCIFACT,
    SCIFACT_TRAIN,
    WICE,
    ClaimCase,
    KnownVectors,
    Read,
    half,
    read_cases,
)
from wellread.models.model_files import sha256_of
from wellread.models.reader import Case, Checking, Entailment, Excerpt, Limits
from wellread.models.readers.lexical import LexicalReader
from wellread.models.readers.support_score import AGAINST, FILE, NAMES, Weights, learned, weigh
from wellread.models.readers.trained_model import TrainedModel
from wellread.models.readers.trained_reader import (
    ENTAILS,
    WEIGHTS,
    TrainedReader,
    network_pairs,
)
from wellread.models.readers.trained_reader import with_relations as joined

PENALTY = 10.0
ROUNDS = 500
MOST = 600  # cases that a set counts for at most, so that none drowns the others
FALSE_SUPPORTED = 0.10  # of the claims not supported in full, those let through
KEPT = 0.80  # of the supported claims, those that reach "partial"

Floats = NDArray[np.float64]


def main() -> None:
    """Learn, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("which", choices=("lexical", "trained"))
    trained = parser.parse_args().which == "trained"
    parts = with_network() if trained else training()
    weights = stacked(parts) if trained else learn(parts, NAMES)
    text = {
        "about": "Logistic regression over wellread.models.readers.support_score"
        f"{' and the network' if trained else ''}; written by benchmarks/train_support.py",
        **({"network": sha256_of(TrainedModel().path)} if trained else {}),
        "trained_on": {name: len(cases) for name, cases in parts.items()},
        "bias": weights.bias,
        "readings": dict(weights.readings),
        "supported": weights.supported,
        "partial": weights.partial,
    }
    name = WEIGHTS if trained else FILE
    path = ROOT / "src" / "wellread" / "models" / "readers" / name
    path.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


def training() -> dict[str, list[Read]]:
    """What the shipped weights are learned from, by set."""
    return {
        SCIFACT_TRAIN.name: read_cases(apart(SCIFACT_TRAIN.cases(), SCIFACT.cases())),
        WICE.name: read_cases(half(WICE.cases(), 0)),
        EXPERTQA.name: read_cases(half(EXPERTQA.cases(), 0)),
    }


def with_network() -> dict[str, list[Read]]:
    """The sets that the network never saw, with what it says of each case."""
    return {one.name: with_relations(read_cases(half(one.cases(), 0))) for one in (WICE, EXPERTQA)}


def with_relations(rows: Sequence[Read]) -> list[Read]:
    """``rows`` with the network's readings among the others."""
    model = TrainedModel()
    found = []
    for row in rows:
        passages = [Excerpt(text=text, title=row.case.title) for text in row.case.passages]
        pairs = network_pairs(Case(claim=row.case.claim, passages=tuple(passages)))
        found.append(Read(case=row.case, readings=joined(row.readings, model.read(pairs))))
    return found


def apart(cases: Sequence[ClaimCase], reported: Sequence[ClaimCase]) -> list[ClaimCase]:
    """``cases`` without those whose abstract or claim is among the ``reported``."""
    groups = {case.group for case in reported}
    claims = {case.claim for case in reported}
    return [case for case in cases if case.group not in groups and case.claim not in claims]


def learn(parts: dict[str, list[Read]], names: Sequence[str]) -> Weights:
    """Weights and thresholds from ``parts``; each set counts alike, and so does each class."""
    everything = [case for cases in parts.values() for case in cases]
    values = np.array([[case.readings[name] for name in names] for case in everything])
    right = np.array([case.case.supported for case in everything], dtype=np.float64)
    counts = np.concatenate([_counts(cases) for cases in parts.values()])
    middle, scale = values.mean(axis=0), values.std(axis=0) + 1e-6
    signs = np.array([-1.0 if name in AGAINST else 1.0 for name in names])
    found = _fit((values - middle) / scale, right, counts, signs)
    plain = found[:-1] / scale
    bias = float(found[-1] - plain @ middle)
    rounded = {name: round(float(each), 3) for name, each in zip(names, plain, strict=True)}
    weights = Weights(bias=round(bias, 3), readings=rounded, supported=1.0, partial=0.0)
    return _with_thresholds(weights, everything, counts, trained=False)


def stacked(parts: dict[str, list[Read]]) -> Weights:
    """The weights of words alone with that of the network, learned beside them, and thresholds."""
    words = learned()
    everything = [case for cases in parts.values() for case in cases]
    counts = np.concatenate([_counts(cases) for cases in parts.values()])
    right = np.array([case.case.supported for case in everything], dtype=np.float64)
    known = np.array([logit(weigh(case.readings, words)) for case in everything])
    said = np.array([case.readings[ENTAILS] for case in everything])
    data = np.column_stack([said, np.ones(len(said))])
    found = np.zeros(2)
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-(known + data @ found)))
        slope = data.T @ (counts * (likely - right))
        bend = (data.T * (counts * likely * (1 - likely))) @ data
        found = found - np.linalg.solve(bend, slope)
    weights = Weights(
        bias=round(words.bias + float(found[1]), 3),
        readings={**words.readings, ENTAILS: round(max(0.0, float(found[0])), 3)},
        supported=1.0,
        partial=0.0,
    )
    return _with_thresholds(weights, everything, counts, trained=True)


def logit(chance: float) -> float:
    """The log odds of a probability."""
    return float(np.log(chance / (1 - chance)))


def unopposed(cases: Sequence[Read], *, trained: bool) -> NDArray[np.bool_]:
    """Which claims no step but the score speaks against, as ``check_claims`` sees them."""
    embedder = KnownVectors()
    words = LexicalReader(lambda: embedder)
    checker = _Sure(TrainedReader(words, TrainedModel()) if trained else words)
    return np.array([verdict_of(case.case, checker).name.whole for case in cases], dtype=bool)


@dataclass(frozen=True, slots=True)
class _Sure:
    """Takes every claim for borne out, so that only the other steps speak against it."""

    checker: Checking

    @property
    def identity(self) -> str:
        """That of whom it asks."""
        return self.checker.identity

    def entails(self, cases: Sequence[Case]) -> list[Entailment]:
        """What ``checker`` says, with limits that every score reaches."""
        limits = Limits(supported=-1.0, partial=-2.0)
        found = self.checker.entails(cases)
        return [replace(one, limits=limits) if one.source is not None else one for one in found]


def _counts(cases: Sequence[Read]) -> Floats:
    right = np.array([case.case.supported for case in cases], dtype=bool)
    worth = min(len(cases), MOST) / len(cases)
    share = float(right.mean())
    counts: Floats = np.where(right, 0.5 / share, 0.5 / (1 - share)) * worth
    return counts


def _fit(values: Floats, right: Floats, counts: Floats, known: Floats) -> Floats:
    """Accelerated projected gradient (Nesterov 1983); the last number is the bias."""
    data = np.column_stack([values, np.ones(len(values))])
    signs = np.append(known, 0.0)
    penalty = np.full(data.shape[1], PENALTY)
    penalty[-1] = 0.0
    step = 1 / (np.linalg.eigvalsh((data.T * counts / 4) @ data).max() + PENALTY)
    now = ahead = np.zeros(data.shape[1])
    pace = 1.0
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-data @ ahead))
        moved = ahead - step * (data.T @ (counts * (likely - right)) + penalty * ahead)
        moved = np.where(signs * moved < 0, 0.0, moved)
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = moved + (pace - 1) / faster * (moved - now)
        now, pace = moved, faster
    return now


def _with_thresholds(
    weights: Weights, cases: Sequence[Read], counts: Floats, *, trained: bool
) -> Weights:
    scores = np.array([weigh(case.readings, weights) for case in cases])
    right = np.array([case.case.supported for case in cases], dtype=bool)
    passed = unopposed(cases, trained=trained)
    return Weights(
        bias=weights.bias,
        readings=weights.readings,
        supported=round(_least(scores, ~right & passed, counts, ~right), 3),
        partial=round(_quantile(scores[right], counts[right], 1 - KEPT), 3),
    )


def _least(
    scores: Floats, wrong: NDArray[np.bool_], counts: Floats, against: NDArray[np.bool_]
) -> float:
    """The score from which on at most ``FALSE_SUPPORTED`` of ``against`` are among ``wrong``."""
    order = np.argsort(-scores)
    reached = np.cumsum((counts * wrong)[order]) / counts[against].sum()
    allowed = np.flatnonzero(reached <= FALSE_SUPPORTED)
    return float(scores[order][allowed[-1]])


def _quantile(scores: Floats, counts: Floats, share: float) -> float:
    order = np.argsort(scores)
    reached = np.cumsum(counts[order]) / counts.sum()
    return float(scores[order][np.searchsorted(reached, share)])


if __name__ == "__main__":
    main()
