"""Learns the weights of confidence and writes ``src/wellread/ask/verify/confidence.json``.

    python -m benchmarks.refusal           # asks and records
    python -m benchmarks.exam --record     # the same for the exam's development half
    python -m benchmarks.train_confidence  # learns from the training half of what was recorded

A logistic regression of "the material answers, and the answer shows it" on the readings. Each set
counts alike, but for ``COUNTS``; in each, ``ANSWERABLE`` of the weight is on answerable questions,
since people mostly ask their material what it can answer, the rest on those that are foreign to it,
unanswerable, or whose answer was withheld. The log odds are then made ``SLOPE`` as steep: the
questions of the sets are nearer to their texts than a user's, and the exam's development half asks
for .65 of what they give. No reading of a place in a list is used: where the right passages are
withheld, the others' places tell.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.homes import default_embedder
from benchmarks.paths import ROOT
from benchmarks.refusal import Row, path_of, recorded
from benchmarks.sets.refused import REFUSED, WITHHELD
from wellread.ask.verify.confidence import FILE, MEANING, READ, READ_WHOLE, WORDS, values_of
from wellread.ask.verify.confidence_features import Features
from wellread.evaluation.bootstrap import auroc

ANSWERABLE = 0.6
SHARES = {"answerable": ANSWERABLE, "foreign": 0.24, "unanswerable": 0.16, WITHHELD: 0.16}
COUNTS = {"far": 0.3}  # as much as a whole set costs MTRAG .02 of the area under the curve
SLOPE = 0.7
PENALTY = 1.0
ROUNDS = 50

Floats = NDArray[np.float64]


def main() -> None:
    """Learn, check across sets, write."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "").parse_args()
    rows = {name: usable(recorded(name)) for name in (*REFUSED, "exam") if path_of(name).exists()}
    read = any(map(_read, rows["xquad"]))
    rows = {name: [row for row in own if _read(row) == read] for name, own in rows.items()}
    kept = [row for members in rows.values() for row in members if not row.held_out]
    whole, plain = (READ_WHOLE, READ + WORDS) if read else (MEANING + WORDS, WORDS)
    for name in rows:
        across(name, rows, whole)
    path = ROOT / "src" / "wellread" / "ask" / "verify" / FILE
    known = json.loads(path.read_text(encoding="utf-8"))
    text = known | {
        "about": "logistic regression over wellread.ask.verify.confidence_features; "
        "written by benchmarks/train_confidence.py",
        "embedder": default_embedder().identity.partition("/")[0],
        ("read" if read else "whole"): flatter(learn(kept, whole)),
        ("read_by_words" if read else "by_words"): flatter(learn(kept, plain)),
        "trained_on": known["trained_on"]
        | {
            f"{name}{' read' if read else ''}": n
            for name, n in Counter(r.set for r in kept).items()
        },
    }
    path.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


def _read(row: Row) -> bool:
    return row.readings["answers"] is not None


def usable(rows: Sequence[Row]) -> list[Row]:
    """The rows that were judged and whose group says clearly what would have been right."""
    return [row for row in rows if row.readings and row.group in SHARES]


def across(name: str, rows: dict[str, list[Row]], names: Sequence[str]) -> None:
    """Print how weights learned on the other sets do on all of ``name``."""
    others = [row for other, members in rows.items() if other != name for row in members]
    found = learn(others, names)
    likely = predict(rows[name], found)
    parts = []
    for group in dict.fromkeys(row.group for row in rows[name]):
        scores = [p for p, row in zip(likely, rows[name], strict=True) if row.group == group]
        parts.append(f"{group} declined {np.mean(np.asarray(scores) < 0.3):.3f}")
    area = auroc(likely.tolist(), [row.group == "answerable" for row in rows[name]])
    print(f"{name}, learned on the others: {', '.join(parts)}; AUROC {area}")


def learn(rows: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    """The bias and the weight of each of ``names``, by Newton's method with an L2 penalty.

    None counts against an answer: one that came out so is left out, and weighs nothing.
    """
    data = np.column_stack([_values(rows, names), np.ones(len(rows))])
    right = np.array([row.right for row in rows], dtype=np.float64)
    counts = _counts(rows)
    penalty = np.eye(data.shape[1]) * PENALTY
    penalty[-1, -1] = 0.0
    found = np.zeros(data.shape[1])
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-data @ found))
        slope = data.T @ (counts * (likely - right)) + penalty @ found
        bend = (data.T * (counts * likely * (1 - likely))) @ data + penalty
        found = found - np.linalg.solve(bend, slope)
    if (found[:-1] < 0).any():
        helpful = [name for name, weight in zip(names, found, strict=False) if weight >= 0]
        again = learn(rows, helpful)
        return {"bias": again["bias"], **{name: again.get(name, 0.0) for name in names}}
    numbers = [round(float(each), 3) for each in found]
    return {"bias": numbers[-1], **dict(zip(names, numbers, strict=False))}


def flatter(weights: dict[str, float]) -> dict[str, float]:
    """``SLOPE`` of each weight."""
    return {name: round(SLOPE * weight, 3) for name, weight in weights.items()}


def predict(rows: Sequence[Row], weights: dict[str, float]) -> Floats:
    """The probability of each row."""
    names = [name for name in weights if name != "bias"]
    odds = _values(rows, names) @ np.array([weights[name] for name in names]) + weights["bias"]
    likely: Floats = 1 / (1 + np.exp(-odds))
    return likely


def _values(rows: Sequence[Row], names: Sequence[str]) -> Floats:
    values = [values_of(Features(**row.readings)) for row in rows]
    return np.array([[one[name] for name in names] for one in values], dtype=np.float64)


def _counts(rows: Sequence[Row]) -> Floats:
    size = Counter((row.set, row.group) for row in rows)
    counts = np.array(
        [COUNTS.get(r.set, 1.0) * SHARES[r.group] / size[r.set, r.group] for r in rows]
    )
    scaled: Floats = counts * len(rows) / counts.sum()
    return scaled


if __name__ == "__main__":
    main()
