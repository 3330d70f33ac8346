"""Whether confidence means what it says, on questions that were kept from training.

    python -m benchmarks.refusal       # asks and records
    python -m benchmarks.calibration   # Brier score, calibration error, the curve

What is predicted: the material answers, and the answer shows it. Of the questions without an answer
in the material as many are left out, by a hash, as it takes for the share of answerable ones that
the weights were learned for.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.confidence_figures import calibration_error
from benchmarks.record import save
from benchmarks.refusal import Row, recorded
from benchmarks.sets.refused import REFUSED
from benchmarks.train_extracts import SHARES
from wellread.evaluation.scores import bootstrap, brier, reliability

ALL = "all"
ANSWERABLE = SHARES["answerable"]


def main() -> None:
    """Measure, print, write ``results/calibration.json``."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "").parse_args()
    by_set = {
        name: in_shares([row for row in recorded(name) if row.group in SHARES]) for name in REFUSED
    }
    everything = [row for rows in by_set.values() for row in rows]
    found = {"sets": {name: figures(rows) for name, rows in {**by_set, ALL: everything}.items()}}
    save("calibration", found)
    print("\n".join(table(found)))


def in_shares(rows: Sequence[Row]) -> list[Row]:
    """All answerable questions, and as many of the others as fit the share learned for."""
    answerable = [row for row in rows if row.group == "answerable"]
    others = [row for row in rows if row.group != "answerable"]
    others.sort(key=lambda row: zlib.crc32(f"calibration/{row.set}/{row.id}".encode()))
    return [*answerable, *others[: round(len(answerable) * (1 - ANSWERABLE) / ANSWERABLE)]]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Brier score, that of always saying the share that was right, and the calibration error."""
    confidences, right = _pairs(rows)
    share = sum(right) / len(right)
    pairs = list(zip(confidences, right, strict=True))
    return {
        "right": asdict(bootstrap([float(one) for one in right])),
        "brier": asdict(bootstrap([brier(sure, one) for sure, one in pairs])),
        "brier of the share": share * (1 - share),
        "calibration error": asdict(calibration_error(confidences, right)),
        "curve": [asdict(one) for one in reliability(confidences, right)],
    }


def _pairs(rows: Sequence[Row]) -> tuple[list[float], list[bool]]:
    return [row.confidence for row in rows], [row.right for row in rows]


def table(found: Mapping[str, Any]) -> list[str]:
    """The figures as a Markdown table."""
    lines = [
        "| set | n | right | Brier | Brier of the share | calibration error |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found["sets"].items():
        cells = [_cell(row["right"]), _cell(row["brier"]), f"{row['brier of the share']:.3f}"]
        cells.append(_cell(row["calibration error"]))
        lines.append(f"| {name} | {row['right']['n']} | {' | '.join(cells)} |")
    lines += ["", "| confidence (all sets) | share of right answers | n |", "|---|---|---|"]
    for point in found["sets"][ALL]["curve"]:
        right = point["right"]
        lines.append(f"| {point['confidence']:.2f} | {_cell(right)} | {right['n']} |")
    return [*lines, ""]


def _cell(row: Mapping[str, float]) -> str:
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


if __name__ == "__main__":
    main()
