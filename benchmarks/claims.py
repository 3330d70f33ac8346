"""Checking claims without a model: are they borne out by their evidence or not.

    python -m benchmarks.claims
    python -m benchmarks.claims --show-failures 20

Every case goes through ``ask/verify/check_claims.py`` as a sentence of an answer that cites its
evidence, with the built-in embedder and without a judge. Beside it: the share of the claim's words
that the evidence holds (the floor), and the rule of before. Measured are cases that no weight was
learned from: the second half of WiCE dev and of ExpertQA rand_val by groups (a page, a question),
and SciFact's validation claims, whose abstracts are kept out of the training. Failures of WiCE's
half and of SciFact were read, though, and rules of fact changed afterwards. Figures go to
``results/claims.json``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.doubles.evidence import evidence_of

from benchmarks.earlier_check import earlier_scores
from benchmarks.record import save
from benchmarks.sets.claims import (
    EXPERTQA,
    SCIFACT,
    WICE,
    ClaimCase,
    KnownVectors,
    half,
    vectors,
)
from wellread.answers import Claim, Verdict
from wellread.ask.verify.check_claims import verify
from wellread.evaluation.bootstrap import Floats, Interval, bootstrap, interval
from wellread.models.reader import Checking
from wellread.models.readers.lexical import LexicalReader
from wellread.models.readers.trained_model import TrainedModel
from wellread.models.readers.trained_reader import TrainedReader
from wellread.text.parsed import parse

VERDICTS = ("supported", "partial", "unsupported")


def main() -> None:
    """Measure, print one table per set, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--show-failures", type=int, default=0, help="of each kind, per set")
    parser.add_argument("--reader", choices=("trained", "lexical"), default="trained")
    parser.add_argument("--half", choices=("dev", "unseen"), default="unseen")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    for name, cases in halves(arguments.half).items():
        verdicts, milliseconds = verdicts_of(cases, trained=arguments.reader == "trained")
        figures[name] = measured(cases, verdicts) | {"milliseconds": milliseconds}
        print(name)
        for key, value in figures[name].items():
            print(f"  {key}: {value}")
        _show_failures(cases, verdicts, arguments.show_failures)
    save(f"claims-{arguments.reader}-{arguments.half}", {"sets": figures})


def halves(which: str) -> dict[str, list[ClaimCase]]:
    """The cases of a half by set; weights are learned from the development halves."""
    number = 0 if which == "dev" else 1
    sets = {"WiCE": WICE, "SciFact": SCIFACT, "ExpertQA": EXPERTQA}
    return {name: half(one.cases(), number) for name, one in sets.items()}


def verdicts_of(cases: Sequence[ClaimCase], *, trained: bool) -> tuple[list[Verdict], float]:
    """What ``verify`` says of each case, and milliseconds of one without embedding."""
    embedder = KnownVectors()
    lexical = LexicalReader(lambda: embedder)
    checker = TrainedReader(lexical, TrainedModel()) if trained else lexical
    verdicts = [verdict_of(case, checker) for case in cases]  # embeds what is new
    started = time.perf_counter()
    for case in cases:
        verdict_of(case, checker)
    spent = time.perf_counter() - started
    embedder.keep()
    return verdicts, round(1000 * spent / len(cases), 1)


def verdict_of(case: ClaimCase, checker: Checking) -> Verdict:
    """What ``verify`` says of the claim as a sentence that cites its evidence."""
    evidence = evidence_of(*case.passages, title=case.title)
    claim = Claim(text=case.claim, keys=tuple(piece.key for piece in evidence))
    return verify([claim], evidence, checker)[0]


def measured(cases: Sequence[ClaimCase], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """AUROC of score, floor and earlier rule; verdicts by label; false and true "supported"."""
    right = [case.supported for case in cases]
    scores = [verdict.score for verdict in verdicts]
    floor = [overlap(case) for case in cases]
    over = [verdict.name.whole for verdict in verdicts]
    pairs = list(zip(over, right, strict=True))
    table: dict[str, dict[str, int]] = {}
    for case, verdict in zip(cases, verdicts, strict=True):
        row = table.setdefault(case.label, dict.fromkeys(VERDICTS, 0))
        row[_named(verdict)] += 1
    return {
        "n": len(cases),
        "supported_share": round(sum(right) / len(right), 3),
        "auroc_words": _written(areas(floor, right)),
        "auroc_earlier": _written(areas(earlier_scores(cases, vectors), right)),
        "auroc": _written(areas(scores, right)),
        "gain_over_words": _written(gain(scores, floor, right)),
        "false_supported": _written(bootstrap([float(given) for given, true in pairs if not true])),
        "true_supported": _written(bootstrap([float(given) for given, true in pairs if true])),
        "three_classes": _written(balanced(cases, verdicts)),
        "verdicts_by_label": table,
        "methods": {
            method: sum(verdict.method == method for verdict in verdicts)
            for method in sorted({verdict.method for verdict in verdicts})
        },
    }


def overlap(case: ClaimCase) -> float:
    """The floor: which share of the claim's content words the evidence holds, by their stems."""
    wanted = parse(case.claim).stem_set
    held = frozenset(stem for text in case.passages for stem in parse(text).stems)
    return len(wanted & held) / max(1, len(wanted))


def balanced(cases: Sequence[ClaimCase], verdicts: Sequence[Verdict]) -> Interval:
    """Mean share of right verdicts over the three classes of the set (chance: 1/3).

    A contradicted claim is told right when the facts speak against it; one without evidence when
    it is unsupported for lack of support.
    """
    labels = sorted({case.label for case in cases})
    classes = np.array([labels.index(case.label) for case in cases])
    right = np.array(
        [_told(case, verdict, labels) for case, verdict in zip(cases, verdicts, strict=True)]
    )

    def mean(drawn: NDArray[np.int64]) -> Floats:
        shares = [
            np.where(classes[drawn] == each, right[drawn], np.nan) for each in range(len(labels))
        ]
        return np.asarray(np.mean([np.nanmean(share, axis=1) for share in shares], axis=0))

    return interval(len(cases), mean)


def _told(case: ClaimCase, verdict: Verdict, labels: Sequence[str]) -> float:
    if "contradicted" not in labels:
        return float(
            VERDICTS.index(_named(verdict)) == ("supported", "partial", "none").index(case.label)
        )
    told = "none"
    if verdict.name.whole:
        told = "supported"
    elif verdict.method == "facts":
        told = "contradicted"
    return float(told == case.label)


def _named(verdict: Verdict) -> str:
    """The verdict as one of ``VERDICTS``: what is quoted is borne out."""
    return "supported" if verdict.name.whole else verdict.name


def areas(scores: Sequence[float], right: Sequence[bool]) -> Interval:
    """The area under the ROC curve."""
    return interval(len(right), _area(scores, right))


def gain(scores: Sequence[float], floor: Sequence[float], right: Sequence[bool]) -> Interval:
    """How much larger the area of ``scores`` is than that of ``floor``, on the same cases."""
    mine, other = _area(scores, right), _area(floor, right)
    return interval(len(right), lambda drawn: mine(drawn) - other(drawn))


def _area(scores: Sequence[float], right: Sequence[bool]) -> Callable[[NDArray[np.int64]], Floats]:
    values = np.round(np.asarray(scores, dtype=np.float64), 9)
    classes = np.asarray(right, dtype=bool)
    # For each pair how far the first wins: 1, ½ or 0. Some 100,000 pairs in these sets.
    wins = (np.sign(values[:, None] - values[None, :]) + 1) / 2

    def area(drawn: NDArray[np.int64]) -> Floats:
        n = len(values)
        counts = np.zeros((len(drawn), n))
        for row, numbers in enumerate(drawn):
            counts[row] = np.bincount(numbers, minlength=n)
        above, below = counts[:, classes], counts[:, ~classes]
        won = np.einsum("ri,ij,rj->r", above, wins[np.ix_(classes, ~classes)], below, optimize=True)
        return np.asarray(won / (above.sum(axis=1) * below.sum(axis=1)))

    return area


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown lines."""
    sets = figures["sets"]
    lines = [
        "| | " + " | ".join(f"{name} (n = {one['n']:,})" for name, one in sets.items()) + " |",
        "|---|" + "---:|" * len(sets),
    ]
    rows = {
        "AUROC of the verdict's score": "auroc",
        "AUROC of the share of words (floor)": "auroc_words",
        "AUROC of the earlier rule": "auroc_earlier",
        "gain over the floor": "gain_over_words",
        "false “supported”": "false_supported",
        "true “supported”": "true_supported",
        "three classes, mean share right": "three_classes",
    }
    for said, key in rows.items():
        lines.append(f"| {said} | {' | '.join(_cell(one[key]) for one in sets.values())} |")
    paces = ", ".join(f"{name} {one['milliseconds']:g}" for name, one in sets.items())
    lines += ["", f"Milliseconds a claim, without embedding: {paces}.", ""]
    for name, one in sets.items():
        told = "; ".join(
            f"{label} → " + ", ".join(f"{row[verdict]} {verdict}" for verdict in VERDICTS)
            for label, row in one["verdicts_by_label"].items()
        )
        lines.append(f"{name}, label → verdicts: {told}.")
        lines.append("")
    return lines[:-1]


def _cell(value: Sequence[float]) -> str:
    mean, low, high = (f"{part:.3f}".replace("0.", ".", 1) for part in value)
    return f"{mean} [{low}, {high}]"


def _written(value: Interval) -> list[float]:
    return [round(part, 3) for part in (value.mean, value.low, value.high)]


def _show_failures(cases: Sequence[ClaimCase], verdicts: Sequence[Verdict], count: int) -> None:
    ranked = sorted(zip(cases, verdicts, strict=True), key=lambda pair: pair[1].score)
    wrong = {
        "supported, scored lowest": [pair for pair in ranked if pair[0].supported],
        "not supported, scored highest": [pair for pair in ranked[::-1] if not pair[0].supported],
    }
    for kind, found in wrong.items():
        for case, verdict in found[:count]:
            told = f"{verdict.score:.2f} {verdict.name} ({verdict.reason})"
            print(f"  {kind}, {case.label}: {told}: {case.claim}")


if __name__ == "__main__":
    main()
