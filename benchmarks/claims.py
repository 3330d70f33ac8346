"""Checking claims without a model: are they borne out by their evidence or not.

    python -m benchmarks.claims
    python -m benchmarks.claims --show-failures 20

Every set is measured with the plain share of the claim's words (the floor), with the shipped
weights on the cases that they were not learned from, and with weights learned from the other sets
alone. Figures go to ``results/claims.json``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.record import save
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
from benchmarks.train_support import learn
from wellread.ask import words
from wellread.ask.support.readings import Source, compare, readings
from wellread.ask.support.score import Weights, learned, weigh
from wellread.evaluation.bootstrap import Interval, bootstrap
from wellread.evaluation.calibration import auroc

TESTED = (WICE, SCIFACT, EXPERTQA)


def main() -> None:
    """Measure, print one table per set, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--show-failures", type=int, default=0, help="of each kind, per set")
    arguments = parser.parse_args()
    read = {each.name: read_cases(each.cases()) for each in (SCIFACT_TRAIN, *TESTED)}
    figures: dict[str, Any] = {}
    for each in TESTED:
        held_out = read[each.name] if each is SCIFACT else _half(read[each.name], 1)
        others = {
            name: cases
            for name, cases in read.items()
            if name != SCIFACT.name
            and not (name == each.name or (name == SCIFACT_TRAIN.name and each is SCIFACT))
        }
        figures[each.name] = {
            "about": each.about,
            "held_out": measured(held_out, learned()),
            "all_learned_from_other_sets": measured(read[each.name], learn(others)),
        }
        _show(each.name, figures[each.name])
        _show_failures(held_out, learned(), arguments.show_failures)
    figures["milliseconds"] = {each.name: _pace(each.cases()) for each in TESTED}
    print(figures["milliseconds"])
    save("claims", figures)


def measured(cases: Sequence[Read], weights: Weights) -> dict[str, Any]:
    """AUROC of the floor and of the score, verdicts by label, false and true "supported"."""
    right = [case.case.supported for case in cases]
    scores = [weigh(case.readings, weights) for case in cases]
    over = [score >= weights.supported for score in scores]
    false = [float(given) for given, true in zip(over, right, strict=True) if not true]
    kept = [float(given) for given, true in zip(over, right, strict=True) if true]
    table: dict[str, dict[str, int]] = {}
    for case, score in zip(cases, scores, strict=True):
        row = table.setdefault(case.case.label, {"supported": 0, "partial": 0, "unsupported": 0})
        row[_name(score, weights)] += 1
    return {
        "n": len(cases),
        "auroc_words": _written(auroc([overlap(case.case) for case in cases], right)),
        "auroc": _written(auroc(scores, right)),
        "false_supported": _written(bootstrap(false)),
        "true_supported": _written(bootstrap(kept)),
        "verdicts_by_label": table,
    }


def overlap(case: ClaimCase) -> float:
    """The floor: which share of the claim's content words the evidence holds, by their stems."""
    wanted = frozenset(words.stems(case.claim))
    held = frozenset(stem for text in case.passages for stem in words.stems(text))
    return len(wanted & held) / max(1, len(wanted))


def _half(cases: Sequence[Read], which: int) -> list[Read]:
    kept = {id(case) for case in half([each.case for each in cases], which)}
    return [each for each in cases if id(each.case) in kept]


def _name(score: float, weights: Weights) -> str:
    if score >= weights.supported:
        return "supported"
    return "partial" if score >= weights.partial else "unsupported"


def _written(value: Interval | None) -> list[float]:
    return [round(part, 3) for part in (value.mean, value.low, value.high)] if value else []


def _pace(cases: Sequence[ClaimCase]) -> dict[str, float]:
    """Milliseconds for one claim, and for one sentence of its evidence, without embedding."""
    started = time.perf_counter()
    sentences = 0
    for case in cases:
        laid = compare(case.claim, [Source(text=text, title=case.title) for text in case.passages])
        readings(laid, [0.5] * len(laid.best))
        sentences += len(laid.lines)
    spent = 1000 * (time.perf_counter() - started)
    return {"claim": round(spent / len(cases), 2), "sentence": round(spent / sentences, 3)}


def _show(name: str, figures: Mapping[str, Any]) -> None:
    print(name)
    for which in ("held_out", "all_learned_from_other_sets"):
        print(f"  {which}")
        for key, value in figures[which].items():
            print(f"    {key}: {value}")


def _show_failures(cases: Sequence[Read], weights: Weights, count: int) -> None:
    ranked = sorted(cases, key=lambda case: weigh(case.readings, weights))
    wrong = {
        "supported, scored lowest": [case for case in ranked if case.case.supported],
        "not supported, scored highest": [case for case in ranked[::-1] if not case.case.supported],
    }
    for kind, found in wrong.items():
        for case in found[:count]:
            score = weigh(case.readings, weights)
            print(f"  {kind} {score:.2f} ({case.case.label}): {case.case.claim}")


if __name__ == "__main__":
    main()
