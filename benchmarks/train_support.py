"""Learns the weights of ``wellread.models.readers``: ``support_weights.json`` for words alone,
``trained_weights.json`` for words with the trained network.

    python -m benchmarks.train_support lexical
    python -m benchmarks.train_support trained

A logistic regression with quadratic penalty over the readings; a reading that speaks for a claim
may not count against it, nor the other way round, which keeps what is learned on one set of use on
another. Learned on SciFact's training claims (CC BY, ODC-By) about abstracts that its validation
claims are not about, half of WiCE dev (ODC-BY) and half of ExpertQA rand_val (MIT); ``claims.py``
measures on the rest. SciFact's training claims are left out for the second file, since the network
was trained on them and is surer there than elsewhere.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.paths import ROOT
from benchmarks.sets.claims import (
    EXPERTQA,
    SCIFACT,
    SCIFACT_TRAIN,
    WICE,
    ClaimCase,
    Read,
    half,
    read_cases,
)
from wellread.models.model_files import sha256_of
from wellread.models.reader import Case, Excerpt
from wellread.models.readers.support_score import AGAINST, FILE, NAMES, Weights, weigh
from wellread.models.readers.trained_model import TrainedModel
from wellread.models.readers.trained_reader import RELATIONS, WEIGHTS, network_pairs, relations

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
    weights = learn(parts, NAMES + RELATIONS if trained else NAMES)
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
        readings = {**row.readings, **relations(model.read(pairs))}
        found.append(Read(case=row.case, readings=readings))
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
    signs = np.array([-1.0 if name in (*AGAINST, "refuted") else 1.0 for name in names])
    found = _fit((values - middle) / scale, right, counts, signs)
    plain = found[:-1] / scale
    bias = float(found[-1] - plain @ middle)
    rounded = {name: round(float(each), 3) for name, each in zip(names, plain, strict=True)}
    weights = Weights(bias=round(bias, 3), readings=rounded, supported=1.0, partial=0.0)
    return _with_thresholds(weights, everything, counts)


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


def _with_thresholds(weights: Weights, cases: Sequence[Read], counts: Floats) -> Weights:
    scores = np.array([weigh(case.readings, weights) for case in cases])
    right = np.array([case.case.supported for case in cases], dtype=bool)
    return Weights(
        bias=weights.bias,
        readings=weights.readings,
        supported=round(_quantile(scores[~right], counts[~right], 1 - FALSE_SUPPORTED), 3),
        partial=round(_quantile(scores[right], counts[right], 1 - KEPT), 3),
    )


def _quantile(scores: Floats, counts: Floats, share: float) -> float:
    order = np.argsort(scores)
    reached = np.cumsum(counts[order]) / counts.sum()
    return float(scores[order][np.searchsorted(reached, share)])


if __name__ == "__main__":
    main()
