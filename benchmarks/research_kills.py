"""Kills: SIGKILL at a random moment of deep research, resumed; whether the report is the same.

    python -m benchmarks.research_kills [--kills 20]

Each run is ``wellread research QUESTION --yes --events`` as a process of its own, in a copy of the
home of Bitcoin Optech's newsletters (the sample's where that data is not there). It is killed at a
moment between its first line and the end of an undisturbed run, the moments spread over that
length, and ``--resume`` brings it to its end; every fourth is killed a second time on the way.
Then everything that is kept of it is compared with the undisturbed run's, ids and seconds aside.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.homes import default_embedder, filled
from benchmarks.paths import SAMPLE, eval_data
from benchmarks.record import save
from benchmarks.sets.meetings import MENTIONS
from wellread.codec import to_plain
from wellread.kb import KnowledgeBase, open_kb

SEED = 5
TWICE = 4  # every so manyeth is killed again while it is resumed
OPTECH = (
    "Tell me everything about Taproot",
    "Compare anchor outputs and package relay",
    "How did opinions on replace-by-fee change over time?",
    "What led to the work on transaction pinning?",
    "Tell me everything about watchtowers",
)
SHIPPED = (
    "Tell me everything about the tool library",
    "How did the repair vouchers come about?",
    "Compare the microgrid and the tidal array",
    "How did opinions on the ferry change over time?",
    "Tell me everything about the repair café",
)
# Of a run and its report; the rest is its own: ids, seconds, when it was.
OWN = frozenset({"id", "sessionId", "session_id", "answer_id", "seconds", "createdAt", "steps"})
NUMBERED = frozenset({"citations", "facets", "documents"})  # whose ids are the same in any run


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """A run that nobody killed: what is kept of it, and its seconds from its first line on."""

    kept: Mapping[str, Any]
    seconds: float


@dataclass
class Told:
    """What was counted of one question."""

    kills: int = 0
    again: int = 0
    at: list[float] = field(default_factory=list)  # share of the run's length
    events: list[int] = field(default_factory=list)  # kept when it was killed
    late: int = 0  # the report was kept before the signal came
    same: int = 0
    different: list[str] = field(default_factory=list)


def main() -> None:
    """Run, print and write ``results/research_kills.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="research-kills-") as folder:
        source, material, questions = home_to_copy(Path(folder))
        told = all_of(source, questions, Path(folder), chosen.kills)
    figures = {
        "material": material,
        "kills": sum(one.kills for one in told.values()),
        "same": sum(one.same for one in told.values()),
        "questions": {question: to_plain_row(row) for question, row in told.items()},
    }
    save("research_kills", figures)
    print("\n".join(table(figures)))
    sys.exit(figures["same"] != figures["kills"])


def home_to_copy(folder: Path) -> tuple[Path, str, Sequence[str]]:
    """The home that every run gets a copy of, what is in it, and the questions."""
    try:
        eval_data("bitcoin_optech")
    except SystemExit:
        with filled("shipped", write_sample) as kb:
            home = kb.home
        return shutil.copytree(home, folder / "source"), "the sample", SHIPPED
    with filled(MENTIONS.name, MENTIONS.write) as kb:
        home = kb.home
    return shutil.copytree(home, folder / "source"), "Optech's newsletters", OPTECH


def write_sample(folder: Path) -> None:
    """The files that come with the program."""
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)


def all_of(source: Path, questions: Sequence[str], folder: Path, kills: int) -> dict[str, Told]:
    """Kill runs of the questions in turn, until so many were killed while they were at work."""
    chance = random.Random(SEED)
    told = {question: Told() for question in questions}
    whole = {question: undisturbed(source, question, folder) for question in questions}
    number = 0
    while number < kills:
        question = questions[number % len(questions)]
        share = (number + chance.random()) / kills
        home = shutil.copytree(source, folder / "home")
        if struck(home, question, whole[question], share, told[question], chance, number):
            number += 1
        print(number, question, told[question], flush=True)
        shutil.rmtree(home)
    return told


def undisturbed(source: Path, question: str, folder: Path) -> Undisturbed:
    """The same run that nobody kills; the second of two, when files are warm."""
    found: list[Undisturbed] = []
    for _ in range(2):
        home = shutil.copytree(source, folder / "home")
        process, run_id = started(home, question)
        began = time.perf_counter()
        process.communicate()
        seconds = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(f"the run on {question!r} failed")
        found.append(Undisturbed(kept=kept_of(home, run_id), seconds=seconds))
        shutil.rmtree(home)
    difference = different(found[0].kept, found[1].kept)
    if difference:
        raise SystemExit(f"two undisturbed runs on {question!r} differ: {difference}")
    return found[1]


def struck(
    home: Path,
    question: str,
    whole: Undisturbed,
    share: float,
    told: Told,
    chance: random.Random,
    number: int,
) -> bool:
    """Kill a run, resume it, compare; whether it was at work when it was killed."""
    process, run_id = started(home, question)
    killed(process, share * whole.seconds)
    events, ended = standing(home, run_id)
    if ended:
        told.late += 1
        return False
    told.kills += 1
    told.at.append(round(share, 2))
    told.events.append(events)
    if number % TWICE == TWICE - 1:
        process, _ = started(home, "--resume", run_id)
        killed(process, chance.random() * whole.seconds / 2)
        told.again += not standing(home, run_id)[1]
    if not standing(home, run_id)[1]:
        process, _ = started(home, "--resume", run_id)
        said = process.communicate()[0]
        if process.returncode:
            told.different.append(f"the resumed run failed: {said[-300:]}")
            return True
    difference = different(whole.kept, kept_of(home, run_id))
    told.same += not difference
    if difference:
        told.different.append(difference)
    return True


def started(home: Path, *words: str) -> tuple[subprocess.Popen[str], str]:
    """The program at work on a question, or on a run again, and the run's id: its first line."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "wellread.serve.cli", "--home", str(home), "research"),
            *(*words, "--yes", "--events"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    try:
        return process, str(json.loads(first)["data"]["id"])
    except ValueError:
        raise SystemExit(first + process.communicate()[0]) from None


def killed(process: subprocess.Popen[str], seconds: float) -> None:
    """Kill the process after so many seconds, unless it has ended by itself."""
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def opened(home: Path) -> KnowledgeBase:
    """The home, looked at from outside."""
    return open_kb(home, embedder=default_embedder())


def standing(home: Path, run_id: str) -> tuple[int, bool]:
    """How many events of a run are kept, and whether it has ended."""
    with opened(home) as kb:
        run = kb.catalogue.research.get(run_id)
        assert run is not None, "the run is lost"
        return len(kb.catalogue.research.progress(run_id)), run.state == "done"


def kept_of(home: Path, run_id: str) -> dict[str, Any]:
    """The report with its answer, the events, the answers and the gaps that are kept, as JSON."""
    with opened(home) as kb:
        report = kb.catalogue.research.report(run_id)
        assert report is not None, "there is no report"
        events = kb.catalogue.research.progress(run_id)
        body = to_plain(report)
        answer = body.pop("answer")
        parts = {
            **{name: answer.pop(name) for name in ("text", "citations", "sentences")},
            **{name: body.pop(name) for name in ("sections", "matrix", "timeline", "documents")},
            "answer": answer,
            "report": body,
            "events": to_plain(events),
            "answers": [one.question for one in kb.catalogue.answers()],
            "gaps": [[one.question, one.reason] for one in kb.catalogue.gaps()],
        }
    return {name: without_own(part, name) for name, part in parts.items()}


def without_own(value: Any, inside: str = "") -> Any:
    """``value`` without what is each run's own."""
    if isinstance(value, dict):
        return {
            name: without_own(each, name)
            for name, each in value.items()
            if name not in OWN or (name == "id" and inside in NUMBERED)
        }
    return [without_own(each, inside) for each in value] if isinstance(value, list) else value


def different(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Which parts differ, each with the first place where it does; empty: none."""
    found = []
    for name, part in first.items():
        one, other = (json.dumps(each, ensure_ascii=False) for each in (part, second[name]))
        if one != other:
            at = next(
                (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
                min(len(one), len(other)),
            )
            place = slice(max(0, at - 60), at + 60)
            found.append(f"{name}: {one[place]!r} is {other[place]!r}")
    return "; ".join(found)


def to_plain_row(told: Told) -> dict[str, Any]:
    """One question's row of the result file."""
    return {
        "kills": told.kills,
        "killed again": told.again,
        "at": told.at,
        "events kept": told.events,
        "had ended": told.late,
        "same": told.same,
        "different": told.different,
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [
        "| question | kills | again while resumed | events kept at a kill (median) | the same |",
        "|---|---|---|---|---|",
    ]
    for question, row in figures["questions"].items():
        events = median(row["events kept"]) if row["events kept"] else 0
        counts = (row["kills"], row["killed again"], events, row["same"])
        lines.append(f"| {question} | {' | '.join(map(str, counts))} |")
    return lines


if __name__ == "__main__":
    main()
