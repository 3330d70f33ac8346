"""A soak: askers, adds, removals, verify and research side by side, against one server.

    python -m benchmarks.soak [--minutes 60] [--askers 4] \\
        [--postgres postgresql+psycopg://…/name]

``wellread serve`` runs over a copy of the sample, its catalogue in a file, or in an empty database.
Askers put questions and searches to it without a break; commands add, change, remove and sync a
folder of made files; others run ``verify``, or research a question. Counted are answers that are no
200 (429 aside, which says when to come again), commands that fail, and what the last ``verify``
finds. Memory is the server's resident set, in the middle of each sixth of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.homes import filled
from benchmarks.record import save
from benchmarks.research_kills import SHIPPED, write_sample

QUESTIONS = (
    "Who manages the tool library?",
    "How many passengers does the Kittiwake carry?",
    "What does the tidal array supply?",
    "Why was the ferry late?",
    "How many documents are there?",
    "Compare the microgrid and the tidal array",
    "Which papers are about repair?",
    "When does the harbour master retire?",
    "What was said about grave 3281?",
)
FILES = 40
SIXTHS = 6


@dataclass
class Told:
    """What was done, and what went wrong."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # MiB, every two seconds


def main() -> None:
    """Run, print, write ``results/soak.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--askers", type=int, default=4)
    parser.add_argument("--postgres", default="", help="URL of an empty database")
    chosen = parser.parse_args()
    with filled("shipped", write_sample) as kb:
        source = kb.home
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        home = Path(shutil.copytree(source, Path(folder) / "home"))
        with on_database(home, chosen.postgres) if chosen.postgres else nullcontext():
            told = soaked(home, Path(folder), 60 * chosen.minutes, chosen.askers)
            verified = command(home, "verify", "--json")
        if verified.returncode:
            told.wrong.append(
                f"verify at the end: {verified.stdout[-300:]}{verified.stderr[-300:]}"
            )
    figures = {
        "minutes": chosen.minutes,
        "askers": chosen.askers,
        "done": dict(told.done),
        "wrong": told.wrong,
        "MiB by sixth": by_sixth(told.memory),
    }
    save("soak-postgres" if chosen.postgres else "soak", figures)
    print("\n".join(table(figures)))
    sys.exit(bool(told.wrong))


@contextmanager
def on_database(home: Path, url: str) -> Iterator[None]:
    """Move the catalogue into a database, for every process that is begun inside."""
    archive = home.with_suffix(".tar")
    finished(home, "backup", "export", str(archive))
    shutil.rmtree(home)
    os.environ["WELLREAD_CATALOGUE_URL"] = url
    try:
        finished(home, "backup", "import", str(archive), "--with-settings")
        yield
    finally:
        del os.environ["WELLREAD_CATALOGUE_URL"]


def finished(home: Path, *words: str) -> None:
    """Run a command that has to succeed."""
    done = command(home, *words)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout[-300:]}{done.stderr[-300:]}")


def soaked(home: Path, folder: Path, seconds: float, askers: int) -> Told:
    """What happened in so many seconds."""
    server, address = begun(home)
    told, over = Told(), threading.Event()
    work: Sequence[Callable[[], None]] = (
        *(partial(ask, address, told, over, seed) for seed in range(1, askers + 1)),
        lambda: change(home, folder / "files", told, over),
        lambda: verify(home, told, over),
        lambda: research(home, told, over),
        lambda: watch(server.pid, told, over),
    )
    threads = [threading.Thread(target=each) for each in work]
    for each in threads:
        each.start()
    over.wait(seconds)
    over.set()
    for each in threads:
        each.join()
    if server.poll() is not None:
        told.wrong.append(f"the server ended with {server.returncode}")
    end(server)
    return told


def begun(home: Path) -> tuple[subprocess.Popen[str], str]:
    """A server over ``home``, and the address at which it answers."""
    server = subprocess.Popen(
        [sys.executable, "-m", "wellread.serve.cli", "--home", str(home), "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found is not None, "the server did not start"
    return server, found.group()


def end(server: subprocess.Popen[str]) -> None:
    """Tell a server to stop, and wait until it has."""
    server.terminate()
    server.wait(timeout=60)
    if server.stdout is not None:
        server.stdout.close()


def ask(url: str, told: Told, over: threading.Event, seed: int) -> None:
    """Questions and searches, one after the other."""
    chance = random.Random(seed)
    with httpx.Client(base_url=url, timeout=120) as client:
        while not over.is_set():
            question = chance.choice(QUESTIONS)
            kind = chance.choice(("ask", "ask", "ask", "search"))
            if kind == "search":
                reply = client.get("/api/search", params={"query": question})
            else:
                body = {"question": question, "options": {"fresh": chance.random() < 0.5}}
                reply = client.post("/api/ask", json=body)
            told.done[f"{kind} {reply.status_code}"] += 1
            if reply.status_code == httpx.codes.TOO_MANY_REQUESTS:
                over.wait(float(reply.headers["retry-after"]))
            elif reply.status_code != httpx.codes.OK:
                told.wrong.append(f"{kind} {question!r}: {reply.status_code} {reply.text[:300]}")


def change(home: Path, files: Path, told: Told, over: threading.Event) -> None:
    """Files are added, changed, and removed again."""
    files.mkdir()
    generation = 0
    while not over.is_set():
        generation += 1
        for number in range(FILES):
            said = f"Grave {number + 3_000} was dug in generation {generation}. " * 20
            (files / f"{number}.txt").write_text(said, encoding="utf-8")
        for words in (("add", str(files)), ("remove", "--yes", str(files / "7.txt"))):
            run(home, told, over, *words)
        if generation % 3 == 0:
            for number in range(0, FILES, 2):
                (files / f"{number}.txt").unlink()
            run(home, told, over, "sync", str(files))


def verify(home: Path, told: Told, over: threading.Event) -> None:
    """One after the other, with a breath between."""
    while not over.is_set():
        run(home, told, over, "verify", "--json")
        over.wait(5)


def research(home: Path, told: Told, over: threading.Event) -> None:
    """One question after the other, with a breath between."""
    for question in cycle(SHIPPED):
        run(home, told, over, "research", "--yes", question)
        if over.wait(5):
            return


def run(home: Path, told: Told, over: threading.Event, *words: str) -> None:
    """A command, whose failure counts."""
    if over.is_set():
        return
    done = command(home, *words)
    told.done[f"{words[0]} {done.returncode}"] += 1
    if done.returncode:
        told.wrong.append(f"{' '.join(words)}: {done.stdout[-300:]}{done.stderr[-300:]}")


def command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "wellread.serve.cli", "--home", str(home), *words],
        capture_output=True,
        text=True,
        check=False,
    )


def watch(process: int, told: Told, over: threading.Event) -> None:
    """The resident set, every two seconds."""
    while not over.wait(2):
        held = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        if held:
            told.memory.append(int(held.group(1)) >> 10)


def by_sixth(memory: Sequence[int]) -> list[int]:
    """The median of each sixth of the time."""
    size = max(1, len(memory) // SIXTHS)
    return [round(median(memory[at : at + size])) for at in range(0, len(memory), size)][:SIXTHS]


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as two lines."""
    done = ", ".join(f"{name} × {count:,}" for name, count in sorted(figures["done"].items()))
    held = ", ".join(map(str, figures["MiB by sixth"]))
    return [
        f"{figures['minutes']:g} minutes: {done}; {len(figures['wrong'])} wrong.",
        f"MiB of the server, median of each sixth: {held}.",
        *(json.dumps(one, ensure_ascii=False) for one in figures["wrong"][:10]),
    ]


if __name__ == "__main__":
    main()
