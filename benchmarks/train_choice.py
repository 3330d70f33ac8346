"""Learns how sentences of the evidence are weighed where the reader read them.

    python -m benchmarks.train_choice                  # asks, records, learns, prints
    python -m benchmarks.train_choice --recorded       # learns again from what was recorded

Candidates are the readable sentences of what was found for a question, gold is one that overlaps a
gold answer. A logistic regression over ``ask/write/sentence_score.py``'s features and the reader's
log odds; learned on the development halves of XQuAD, ClapNQ and the sample's labelled questions,
each counting alike. Printed are the weights and how often the first sentence is gold.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.extractive import SETS, sample
from benchmarks.homes import filled
from benchmarks.paths import CACHE
from benchmarks.sets.asked import Asked
from wellread.answers import Question
from wellread.ask.plan import find
from wellread.ask.retrieve.ranking import pack
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ask.write.extract import material_of
from wellread.ask.write.passage_reading import read_evidence
from wellread.kb import KnowledgeBase

NAMES = ("terms", "above", "pairs", "passage", "expected", "lacking", "fits", "leaning", "read")
LIMIT = 400
PENALTY = 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate sentence; ``held_out`` is kept from training."""

    set: str
    question: str
    held_out: bool
    gold: bool
    features: dict[str, float]


def main() -> None:
    """Ask, record, learn, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="xquad,clapnq,sample,far")
    parser.add_argument("--recorded", action="store_true", help="ask nothing, learn again")
    options = parser.parse_args()
    path = CACHE / "cases" / "choice.jsonl"
    if not options.recorded:
        rows = [row for name in options.sets.split(",") for row in _asked(name)]
        path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")
    read = [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [row for row in read if not row.held_out]
    weights = learn(kept)
    print({name: round(float(one), 3) for name, one in zip((*NAMES, "bias"), weights, strict=True)})
    for name in dict.fromkeys(row.set for row in read):
        for held_out in (False, True):
            part = [row for row in read if row.set == name and row.held_out == held_out]
            alone = np.zeros(len(NAMES) + 1)
            alone[NAMES.index("read")] = 1
            print(
                f"{name}, {'unseen' if held_out else 'development'} half: first sentence is gold "
                f"{first(part, weights):.3f}; by the reader alone {first(part, alone):.3f} "
                f"of {len({row.question for row in part})}"
            )


def _asked(name: str) -> Iterator[Row]:
    chosen = SETS[name]
    with filled(chosen.name, chosen.write) as kb:
        for one in sample([each for each in chosen.questions(kb) if each.gold], LIMIT):
            yield from _rows(kb, name, one)


def _rows(kb: KnowledgeBase, name: str, one: Asked) -> Iterator[Row]:
    asking = Question(text=one.text, filters=one.filters)
    analysis = analyse(asking, vocabulary_of(kb), date.today())
    found = find(kb, analysis)
    evidence = pack(kb, found.hits)
    if not evidence or kb.passage_reader is None:
        return
    readings = read_evidence(analysis, evidence, kb.passage_reader)
    material = material_of(analysis, evidence)
    # A passage's questions stay together.
    group = one.gold[0].document_id if name in ("xquad", "far") else one.id
    for option, features in zip(material.options, material.features, strict=True):
        reading = readings.sentences.get((option.evidence, option.place))
        if reading is None or not option.readable:
            continue
        document = material.evidence[option.evidence].hit.document.id
        values: dict[str, Any] = asdict(features)
        yield Row(
            set=name,
            question=one.id,
            held_out=zlib.crc32(f"{name}/{group}".encode()) % 2 == 1,
            gold=any(g.document_id == document and g.span.overlaps(option.span) for g in one.gold),
            features={
                **{key: float(value) for key, value in values.items()},
                "leaning": float(option.leaning),
                "read": reading.odds,
            },
        )


def learn(rows: Sequence[Row]) -> Floats:
    """The weight of each of ``NAMES`` and the bias, by Newton's method with an L2 penalty."""
    data = np.column_stack([_values(rows), np.ones(len(rows))])
    right = np.array([row.gold for row in rows], dtype=np.float64)
    sizes = {name: sum(row.set == name for row in rows) for name in {row.set for row in rows}}
    counts = np.array([len(rows) / len(sizes) / sizes[row.set] for row in rows])
    penalty = np.eye(data.shape[1]) * PENALTY
    penalty[-1, -1] = 0.0
    found = np.zeros(data.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-data @ found))
        slope = data.T @ (counts * (likely - right)) + penalty @ found
        bend = (data.T * (counts * likely * (1 - likely))) @ data + penalty
        found = found - np.linalg.solve(bend, slope)
    return found


def first(rows: Sequence[Row], weights: Floats) -> float:
    """How often the candidate with the highest score is gold."""
    odds = _values(rows) @ weights[:-1]
    best: dict[str, tuple[float, bool]] = {}
    for row, value in zip(rows, odds, strict=True):
        if row.question not in best or value > best[row.question][0]:
            best[row.question] = (float(value), row.gold)
    return float(np.mean([gold for _, gold in best.values()]))


def _values(rows: Sequence[Row]) -> Floats:
    return np.array([[row.features[name] for name in NAMES] for row in rows], dtype=np.float64)


if __name__ == "__main__":
    main()
