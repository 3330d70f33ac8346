"""Kills: SIGKILL at random moments of adding, updating, removing, re-indexing and migrating.

    python -m benchmarks.kills --kills 100

After each kill the home is looked at as a user would: every document is whole and is its old or
its new version, words find it, and nothing but leftovers of the killed run is reported by
``verify``. Then the same work is run again to its end, and ``verify`` has to be clean.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sqlite3
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from benchmarks.paths import ROOT
from benchmarks.record import save
from wellread.ask.retrieve.search import search
from wellread.ingest import reindex as next_index
from wellread.ingest import run
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.verify import verify
from wellread.ingest.pipeline import commit as vectors
from wellread.ingest.reindex import reindex as make_index
from wellread.ingest.remove import remove_sources
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.store.schema.tables import HEAD
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

ACTIONS = ("add", "update", "sync", "remove", "reindex", "migrate")
FILES = 24
COLLECTION = "default"
OLD_HOME = ROOT / "tests" / "store" / "homes" / "0008-lived.tar.gz"  # of an earlier release
# Each process begins as a copy of one that has loaded everything: a kill costs no start.
FORKING = get_context("forkserver")
LENGTHS: dict[str, float] = {}  # seconds that each action takes when nobody kills it
# What a killed run may leave, and the next run takes away: rows of versions that never became live
# are hidden by the version check, and vectors that are still marked as owed are made again.
LEFTOVERS = (damage.ORPHAN, damage.UNFINISHED, damage.DEAD_JOB, damage.HAS_VECTORS)


@dataclass
class Told:
    """What was counted for one action."""

    struck: int = 0
    at_work: int = 0
    left_undone: int = 0
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Run, print and write ``results/kills.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    FORKING.set_forkserver_preload([run.__name__, next_index.__name__, ReadableEmbedder.__module__])
    told = {action: Told() for action in ACTIONS}
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        for number in range(arguments.kills):
            action = ACTIONS[number % len(ACTIONS)]
            one(action, Path(folder) / action, told[action], chance)
            print(number + 1, action, told[action], flush=True)
    figures: dict[str, Any] = {
        action: {
            "struck": each.struck,
            "at work": each.at_work,
            "left something undone": each.left_undone,
            "wrong": each.wrong,
        }
        for action, each in told.items()
    }
    save("kills", {"kills": arguments.kills, "actions": figures})
    print(json.dumps(figures, indent=1))
    sys.exit(any(each.wrong for each in told.values()))


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    columns = {"struck": "kills", "at work": "at work", "left something undone": ""}
    return by_action(figures, "killed while", columns)


def by_action(figures: Mapping[str, Any], head: str, columns: Mapping[str, str]) -> list[str]:
    """A row for each action: ``columns`` (name to heading; empty: its name), and what is wrong."""
    headings = " | ".join(shown or name for name, shown in columns.items())
    lines = [f"| {head} | {headings} | wrong |", "|---" * (len(columns) + 2) + "|"]
    for action, row in figures["actions"].items():
        counts = " | ".join(str(row[name]) for name in columns)
        lines.append(f"| {action} | {counts} | {len(row['wrong'])} |")
    return lines


def one(action: str, place: Path, told: Told, chance: random.Random) -> None:
    """Set a home up, let a process work in it, kill that, look, and finish its work."""
    home, folder = place / "home", place / "files"
    before = set_up(action, place)
    after = prepare(action, folder, before)
    if action not in LENGTHS:
        LENGTHS[action] = trial(action, home, folder, place)
    process, line = start(action, home, folder)
    time.sleep(chance.uniform(0, LENGTHS[action]))
    process.kill()
    process.join()
    told.struck += process.exitcode == -signal.SIGKILL
    told.at_work += not finished(line)
    held_before = {} if action == "add" else before
    behind = schema_of(home) != HEAD if action == "migrate" else False
    try:
        with opened(home, action) as kb:
            told.left_undone += check(kb, held_before, after) or behind
            DO[action](kb, folder)
        with opened(home, action) as kb:
            problems = verify(kb).problems
            assert problems == (), problems
            assert texts_of(kb) == after, "the work was not finished"
            assert kb.catalogue.vectors.passages_pending() == 0
    except AssertionError as error:
        told.wrong.append(f"{action}: {error}")
    shutil.rmtree(place)


def set_up(action: str, place: Path) -> dict[str, str]:
    """The files and the home as they are before; the home is made once and copied."""
    home, folder, kept = place / "home", place / "files", place.with_name(f"{place.name}-before")
    folder.mkdir(parents=True)
    if action == "migrate":
        return old_home(place)
    before = write_files(folder, 0)
    if not kept.exists():
        with opened(home) as kb:
            if action != "add":
                run.add(kb, [str(folder)])
        shutil.copytree(home, kept)
        shutil.rmtree(home)
    shutil.copytree(kept, home)
    return before


def check(kb: KnowledgeBase, before: dict[str, str], after: dict[str, str]) -> bool:
    """Every document is its old or its new version, whole and found; whether work is left."""
    problems = verify(kb).problems
    lost = [problem for problem in problems if problem.kind not in LEFTOVERS]
    assert lost == [], lost
    held = texts_of(kb)
    for name in set(before) & set(after):
        assert name in held, f"{name} is lost"
    for name, text in held.items():
        assert text in (before.get(name), after.get(name)), f"{name} is neither old nor new"
    for facts in kb.catalogue.documents(COLLECTION):
        name = facts.uri.rsplit("/", 1)[1]
        hits = search(kb, held[name][-60:], Filters(document_ids=(facts.id,)))
        assert hits, f"{name} is not found"
        assert all(hit.passage.text == hit.passage.span.of(held[name]) for hit in hits)
    return bool(problems) or held != after


def trial(action: str, home: Path, folder: Path, place: Path) -> float:
    """Seconds that the action takes in a copy of the home when nobody kills it."""
    copy = place / "trial"
    shutil.copytree(home, copy)
    process, line = start(action, copy, folder)
    began = time.perf_counter()
    process.join()
    assert finished(line), f"the trial of {action} failed"
    return time.perf_counter() - began


def start(action: str, home: Path, folder: Path) -> tuple[ForkServerProcess, Connection]:
    """A process that has loaded everything and has just begun; what it says when it is done."""
    ours, theirs = FORKING.Pipe(duplex=False)
    process = FORKING.Process(target=child, args=(theirs, action, home, folder))
    process.start()
    theirs.close()
    assert ours.recv() == "begun"
    return process, ours


def finished(line: Connection) -> bool:
    """Whether the process, which has ended, came to the end of its work."""
    try:
        return bool(line.recv() == "done")
    except EOFError:
        return False
    finally:
        line.close()


def child(line: Connection, action: str, home: Path, folder: Path) -> None:
    """The process that is killed."""
    run.WINDOW_PASSAGES = vectors.BATCH_PASSAGES = next_index.WINDOW_PASSAGES = 6
    line.send("begun")
    with opened(home, action) as kb:
        DO[action](kb, folder)
    line.send("done")


def opened(home: Path, action: str = "") -> KnowledgeBase:
    """The home; for re-indexing with settings that ask for smaller passages."""
    overrides = {"chunking": {"tokens": 40}} if action == "reindex" else None
    return open_kb(home, overrides=overrides, embedder=ReadableEmbedder())


def write_files(folder: Path, generation: int) -> dict[str, str]:
    """Documents of a few passages each."""
    texts = {}
    for number in range(FILES):
        words = " ".join(f"harbour{number} tide{generation} lantern." for _ in range(60))
        text = f"Paper {number} of generation{generation}.\n\n{words}"
        (folder / f"{number}.txt").write_text(text)
        texts[f"{number}.txt"] = text
    return texts


def prepare(action: str, folder: Path, before: dict[str, str]) -> dict[str, str]:
    """Change the folder as the action needs it; what the home has to hold afterwards."""
    after = write_files(folder, 1) if action in ("update", "sync") else dict(before)
    if action in ("sync", "remove"):
        for number in range(0, FILES, 2):
            del after[f"{number}.txt"]
            if action == "sync":
                (folder / f"{number}.txt").unlink()
    return after


def add(kb: KnowledgeBase, folder: Path) -> None:
    run.add(kb, [str(folder)])


def sync(kb: KnowledgeBase, folder: Path) -> None:
    run.sync(kb, [str(folder)])


def remove(kb: KnowledgeBase, folder: Path) -> None:
    uris = [(folder / f"{number}.txt").as_uri() for number in range(0, FILES, 2)]
    for place in range(0, len(uris), 3):
        remove_sources(kb, COLLECTION, uris[place : place + 3])


def reindex(kb: KnowledgeBase, _folder: Path) -> None:
    make_index(kb)


def migrate(kb: KnowledgeBase, _folder: Path) -> None:
    assert kb.catalogue.listings.kinds()  # opening brings the schema up to date


DO: dict[str, Callable[[KnowledgeBase, Path], None]] = {
    "add": add,
    "update": add,
    "sync": sync,
    "remove": remove,
    "reindex": reindex,
    "migrate": migrate,
}


def old_home(place: Path) -> dict[str, str]:
    """The home of an earlier release, and the texts that it holds."""
    with tarfile.open(OLD_HOME) as archive:
        archive.extractall(place, filter="data")
    copy = shutil.copytree(place / "home", place / "converted")
    with opened(copy, "migrate") as kb:
        texts = texts_of(kb)
    shutil.rmtree(copy)
    return texts


def schema_of(home: Path) -> str:
    """The schema of a home's catalogue, before the home is opened."""
    with closing(sqlite3.connect(home / CATALOGUE_FILE)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def texts_of(kb: KnowledgeBase) -> dict[str, str]:
    """File name to the text that is live."""
    held = {}
    for known in kb.catalogue.document_ids():
        document = kb.catalogue.document(known)
        assert document is not None
        held[document.uri.rsplit("/", 1)[1]] = document.text
    return held


if __name__ == "__main__":
    main()
