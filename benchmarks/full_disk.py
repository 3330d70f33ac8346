"""A disk that fills up in the middle of adding, updating, removing, re-indexing and migrating.

    python -m benchmarks.full_disk [--trials 60]

Each home lies on a file system in memory (``mount -t tmpfs``: root on Linux) with less room than
the work needs, from none on. Then the work has to end with an error of ours that says that there
is no room; given room again, the home is looked at as in ``benchmarks.kills``: every document is
whole and is its old or its new version, words find it. The same work is run again, and ``verify``
has to be clean.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kills import (
    ACTIONS,
    DO,
    by_action,
    check,
    old_home,
    opened,
    prepare,
    texts_of,
    write_files,
)
from benchmarks.record import save
from wellread.errors import WellreadError
from wellread.ingest import reindex as next_index
from wellread.ingest import run
from wellread.ingest.integrity.verify import verify
from wellread.ingest.pipeline import commit as vectors

ENOUGH = 256 << 20  # bytes of a disk that is never full
NO_ROOM = ("no space", "is full", "disk full", "no room", "room left", "has room")


@dataclass
class Told:
    """What was counted for one action.

    Attributes:
        full: the room was too little, and the work ended with an error that says so.
        fitted: the room was enough after all.
        said: an example of what was said.
    """

    full: int = 0
    fitted: int = 0
    left_undone: int = 0
    said: str = ""
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Run, print and write ``results/full_disk.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--child", nargs=3, help="be the process that runs out of room")
    chosen = parser.parse_args()
    if chosen.child:
        sys.exit(child(*chosen.child))
    chance = random.Random(4)
    told = {action: Told() for action in ACTIONS}
    rounds = chosen.trials // len(ACTIONS)
    with tempfile.TemporaryDirectory(prefix="full-disk-") as folder:
        for number in range(rounds * len(ACTIONS)):
            action = ACTIONS[number % len(ACTIONS)]
            share = (number // len(ACTIONS) + chance.random()) / rounds
            one(action, Path(folder) / str(number), told[action], share)
            print(number + 1, action, round(share, 2), told[action], flush=True)
    figures = {
        action: {
            "no room": each.full,
            "fitted": each.fitted,
            "left something undone": each.left_undone,
            "said": each.said,
            "wrong": each.wrong,
        }
        for action, each in told.items()
    }
    save("full_disk", {"trials": rounds * len(ACTIONS), "actions": figures})
    print("\n".join(table({"actions": figures})))
    sys.exit(any(each.wrong for each in told.values()))


def one(action: str, place: Path, told: Told, share: float) -> None:
    """Run an action with a share of the room that it takes, look, and finish it with enough."""
    folder = place / "files"
    folder.mkdir(parents=True)
    before = write_files(folder, 0)
    with disk(place / "disk") as mounted:
        home = mounted / "home"
        if action == "migrate":
            before = old_home(mounted)
        else:
            with opened(home) as kb:
                if action != "add":
                    run.add(kb, [str(folder)])
        after = prepare(action, folder, before)
        used = taken(mounted)
        resize(mounted, used + int(share * needed(action, home, folder, place)))
        ended = subprocess.run(
            [sys.executable, "-m", "benchmarks.full_disk", "--child", action, home, folder],
            capture_output=True,
            text=True,
            check=False,
        )
        resize(mounted, ENOUGH)
        said = (ended.stdout + ended.stderr).strip()
        if ended.returncode == 0:
            told.fitted += 1
        elif ended.returncode == 1 and any(words in said.lower() for words in NO_ROOM):
            told.full += 1
            told.said = told.said or said
        else:
            told.wrong.append(f"{action} at {share:.2f}: {said[-400:]}")
        try:
            with opened(home, action) as kb:
                told.left_undone += check(kb, {} if action == "add" else before, after)
                DO[action](kb, folder)
            with opened(home, action) as kb:
                problems = verify(kb).problems
                assert problems == (), problems
                assert texts_of(kb) == after, "the work was not finished"
        except (AssertionError, WellreadError) as error:
            told.wrong.append(f"{action} at {share:.2f}, afterwards: {error}")
    shutil.rmtree(place)


def child(action: str, home: str, folder: str) -> int:
    """Do what is asked; 1 when it was refused by an error of ours, which is printed."""
    run.WINDOW_PASSAGES = vectors.BATCH_PASSAGES = next_index.WINDOW_PASSAGES = 6
    try:
        with opened(Path(home), action) as kb:
            DO[action](kb, Path(folder))
    except WellreadError as error:
        print(error)
        return 1
    return 0


GROWTH: dict[str, int] = {}


def needed(action: str, home: Path, folder: Path, place: Path) -> int:
    """Bytes that the action takes at its end, of a copy of the home elsewhere; measured once."""
    if action not in GROWTH:
        copy = place / "copy"
        shutil.copytree(home, copy)
        before = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
        subprocess.run(
            [sys.executable, "-m", "benchmarks.full_disk", "--child", action, copy, folder],
            check=True,
        )
        after = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
        GROWTH[action] = max(200_000, after - before)
    return GROWTH[action]


@contextmanager
def disk(place: Path) -> Iterator[Path]:
    """A file system of its own.

    Raises:
        SystemExit: this user may mount none.
    """
    place.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ENOUGH}", "tmpfs", str(place)]
    if subprocess.run(mount, check=False).returncode:
        raise SystemExit("a file system in memory cannot be mounted here: be root, on Linux")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def resize(mounted: Path, size: int) -> None:
    """Let it hold so many bytes."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(mounted)], check=True)


def taken(mounted: Path) -> int:
    """Bytes that are in use there."""
    return shutil.disk_usage(mounted).used


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    columns = {"no room": "no room, and said so", "fitted": "", "left something undone": ""}
    return by_action(figures, "no room while", columns)


if __name__ == "__main__":
    main()
