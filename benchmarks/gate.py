"""The release gate: is this state good enough to be released? Go or no-go, line by line.

    python -m benchmarks.gate               # `make gate`: a table, exit status 0 (go) or 1 (no-go)
    python -m benchmarks.gate --json        # the same for machines
    python -m benchmarks.gate --record      # `make gate RECORD=1`: one more row of releases.md

Measured are the shipped sample set, the public sets (where ``../shared/data`` or
``WELLREAD_EVAL_DATA`` is), a held-out exam, the check of a model's prose, planted instructions,
deletes, speed, and the test suite. The limits stand in
``release/limits.yaml``, the history in ``releases.md`` and ``results/releases.svg``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks import speed
from benchmarks.homes import default_embedder
from benchmarks.paths import SAMPLE, has_eval_data
from benchmarks.record import provenance
from benchmarks.release import deletes, drawing, held_out, history, injections, question_sets
from benchmarks.release.verdict import (
    LIMITS,
    NO_DATA,
    Limits,
    Measured,
    Verdict,
    body,
    judge,
    read_limits,
    table,
)
from benchmarks.sets.sample import FOLDERS
from wellread.errors import RequestError
from wellread.evaluation.cases import read_cases
from wellread.evaluation.report import depths_of

FURTHER = (
    question_sets.RATIO,
    question_sets.CITED,
    held_out.STRINGS_RIGHT,
    held_out.STRINGS_WRONG,
    held_out.IN_TROUBLE,
    held_out.PASSED,
    held_out.SUITE_FAILED,
    held_out.SUITE_SECONDS,
    injections.BY_SENTENCES,
    injections.BY_MODEL,
    injections.HEARD,
    deletes.REMOVED,
    deletes.NOT_PROVED,
    deletes.PROBLEMS,
    *speed.RATIOS,
)
SHOWN = 10  # notes of a part


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the gate; ``there``: whether there is data for it."""

    about: str
    there: bool
    measure: Callable[[], Measured]


def main() -> None:
    """Measure, print, record where that is wanted; exit with 1 for a no-go."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="one JSON value instead of the table")
    parser.add_argument("--record", action="store_true", help="append to the history of releases")
    options = parser.parse_args()
    try:
        limits = read_limits(LIMITS, PARTS, FURTHER)
    except RequestError as error:
        raise SystemExit(f"{error}; {error.hint}" if error.hint else str(error)) from error
    told = provenance()  # before: this is the code that is measured
    seconds: dict[str, float] = {}
    measured = measure(parts(limits), seconds)
    verdict = judge(limits, measured)
    if options.json:
        print(json.dumps(body(verdict) | told | {"seconds": seconds}, indent=1, ensure_ascii=False))
    else:
        print("\n".join([*table(verdict), *notes(measured)]))
    if options.record:
        record(verdict, told)
    sys.exit(exit_status(verdict))


def exit_status(verdict: Verdict) -> int:
    """0 for a go, 1 for a no-go."""
    return 0 if verdict.go else 1


FURTHER_PARTS = ("exam", "checker", "injections", "deletes", "speed", "suite")
PARTS = (*(one.name for one in question_sets.SETS), *FURTHER_PARTS)
EXAMINED = (
    "aragog",
    "bitcoin_optech",
    "bitcoin_transcripts",
    "docling_pdfs",
    "qmsum",
    "s3_patterns",
)


def parts(limits: Limits) -> dict[str, Part]:
    """Every part by its name, in the order in which it is measured."""
    return {
        **{
            one.name: Part(
                about=one.about,
                there=one.there,
                measure=partial(question_sets.measure, one, depths_of(limits[one.name])),
            )
            for one in question_sets.SETS
        },
        "exam": Part(
            about="the sealed half of the exam, by gold strings",
            there=all(map(has_eval_data, EXAMINED)),
            measure=held_out.measure_exam,
        ),
        "checker": Part(
            about="a model's sentences, labelled one by one",
            there=has_eval_data("model_answers"),
            measure=held_out.measure_checker,
        ),
        "injections": Part(
            about="instructions planted in sources", there=True, measure=measure_injections
        ),
        "deletes": Part(about="deletes that are proved", there=True, measure=measure_deletes),
        "speed": Part(
            about="seconds by base and of a start, as ratios",
            there=has_eval_data("bitcoin_optech"),
            measure=speed.measure,
        ),
        "suite": Part(
            about="every test, and how long it takes", there=True, measure=held_out.measure_suite
        ),
    }


def measure_injections() -> Measured:
    """In a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        return injections.measure(Path(folder), default_embedder())


def measure_deletes() -> Measured:
    """The sample base, in a home that is gone afterwards."""
    cases = read_cases(SAMPLE / "evaluation.jsonl")
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        material = [SAMPLE / name for name in FOLDERS]
        return deletes.measure(Path(folder) / "home", material, cases, default_embedder())


def measure(some: Mapping[str, Part], seconds: dict[str, float]) -> dict[str, Measured | None]:
    """Measure what there is data for, and say so as it goes on; None for the others."""
    found: dict[str, Measured | None] = {}
    for name, part in some.items():
        if not part.there:
            say(f"{name}: not measured ({NO_DATA}): {part.about}")
            found[name] = None
            continue
        say(f"{name}: {part.about} …")
        started = time.perf_counter()
        found[name] = part.measure()
        seconds[name] = round(time.perf_counter() - started, 1)
        say(f"{name}: {seconds[name]:.0f} s")
    return found


def say(line: str) -> None:
    """Beside the table or the JSON value."""
    print(line, file=sys.stderr, flush=True)


def notes(measured: Mapping[str, Measured | None]) -> list[str]:
    """What went wrong, the first of each part."""
    lines: list[str] = []
    for name, found in measured.items():
        told: Sequence[str] = found.notes if found else ()
        lines += [f"  {name}: {one}" for one in told[:SHOWN]]
        lines += [f"  {name}: … and {len(told) - SHOWN} more"] if len(told) > SHOWN else []
    return ["", "What went wrong:", *lines] if lines else []


def record(verdict: Verdict, told: Mapping[str, str]) -> None:
    """One more row of the history, and the picture anew."""
    history.append(history.release_of(verdict, version("wellread"), told), history.PAGE)
    drawing.PICTURE.write_text(drawing.picture(history.releases(history.PAGE)), encoding="utf-8")
    say(f"recorded in {history.PAGE} and {drawing.PICTURE}")


if __name__ == "__main__":
    main()
