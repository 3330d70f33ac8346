"""A company at work: many askers during ingest, a node that is killed, a server that starts anew.

    python -m benchmarks.team --postgres postgresql+psycopg://…/name \\
        --cluster http://127.0.0.1:9200,http://127.0.0.1:9201,http://127.0.0.1:9202 \\
        --kill 'cluster stop 2 --kill' --start 'cluster start' [--minutes 10] [--askers 64]

Two set-ups hold the sample: one server over a folder (left out by ``--team-only``), and two servers
over PostgreSQL and OpenSearch. Each is asked over HTTP for so many minutes without a break, half of
the questions from kept answers where there are any, while two ingests add, change and remove files
by commands. Of the team a shell command ends a node after a quarter of the time, and another brings
it back after half; a server starts anew after three quarters. As behind a load balancer, an asker
that gets no answer goes on to the next server, at most so many times; these are counted.

Wrong are questions without an answer after that, and commands that fail. Lost are documents that
were said to be in and are not, or the other way; at the end ``verify`` has to be clean. The
catalogue is moved by ``wellread backup export`` and ``import``, the index by ``wellread reindex``;
the database has to be empty, and what is made in the cluster is dropped.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx

from benchmarks.homes import documents, filled
from benchmarks.record import save
from benchmarks.research_kills import write_sample
from benchmarks.soak import FILES, QUESTIONS, Told, begun, command, end, finished, on_database
from wellread.kb import open_kb
from wellread.store.base import ServiceAddress
from wellread.store.index.opensearch.passage_index import OpenSearchIndex

SERVERS = 2  # of the team
INGESTS = 2
TRIES = 30  # of one question: a minute, in which a server starts anew
PAUSE = 2.0  # seconds before the next try
BASE = "bench-team"
TROUBLES = (  # of the team: after which part of the time
    (0.25, "a node is killed"),
    (0.5, "the node comes back"),
    (0.75, "a server starts anew"),
)


@dataclass
class Asked(Told):
    """With how long each answer took, in milliseconds, and the files that have to be there."""

    took: list[float] = field(default_factory=list)
    there: set[Path] = field(default_factory=set)
    gone: set[Path] = field(default_factory=set)


def main() -> None:
    """Ask both, print, write ``results/team.json``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--postgres", required=True, help="URL of an empty database")
    parser.add_argument("--cluster", required=True, help="URLs of nodes, with commas between them")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--kill", required=True, help="command that ends a node")
    parser.add_argument("--start", required=True, help="command that brings it back")
    parser.add_argument("--team-only", action="store_true")
    chosen = parser.parse_args()
    with filled("shipped", write_sample) as kb:
        source = kb.home
    figures: dict[str, Any] = {"minutes": chosen.minutes, "askers": chosen.askers}
    with tempfile.TemporaryDirectory(prefix="team-") as folder:
        place = Path(folder)
        if not chosen.team_only:
            home = Path(shutil.copytree(source, place / "embedded"))
            figures["one server, a folder"] = measured(home, 1, chosen)
        home = Path(shutil.copytree(source, place / "team"))
        with moved(home, chosen.postgres, chosen.cluster):
            figures["two servers, PostgreSQL and OpenSearch"] = measured(home, SERVERS, chosen)
    save("team", figures)
    print("\n".join(table(figures)))
    rows = [row for row in figures.values() if isinstance(row, dict)]
    sys.exit(any(row["wrong"] or row["lost"] for row in rows))


@contextmanager
def moved(home: Path, database: str, cluster: str) -> Iterator[None]:
    """The base on a database and in a cluster, for every process that is begun inside."""
    secure = "s" * cluster.startswith("https")
    hosts = ",".join(one.partition("://")[2] for one in cluster.split(","))
    index = f"opensearch+http{secure}://{hosts}/{BASE}"
    with on_database(home, database):
        os.environ["WELLREAD_INDEX_URL"] = index
        try:
            finished(home, "reindex")
            yield
        finally:
            with open_kb(home) as kb:
                place = ServiceAddress(url=index, base=kb.catalogue.reindexing.base_id())
            OpenSearchIndex.drop_others(place)
            del os.environ["WELLREAD_INDEX_URL"]


def measured(home: Path, servers: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """What happened in so many minutes, and what ``verify`` says afterwards."""
    told, over = Asked(), threading.Event()
    with listening(home, servers) as (addresses, anew):
        work: list[Callable[[], None]] = [
            partial(ask, addresses, told, over, at) for at in range(chosen.askers)
        ]
        for number in range(INGESTS):
            work.append(partial(ingest, home, home.with_name(f"{home.name}-{number}"), told, over))
        if servers > 1:
            work.append(partial(trouble, chosen, anew, told, over))
        threads = [threading.Thread(target=each) for each in work]
        for each in threads:
            each.start()
        over.wait(60 * chosen.minutes)
        over.set()
        for each in threads:
            each.join()
    verified = command(home, "verify", "--json")
    if verified.returncode:
        told.wrong.append(f"verify: {verified.stdout[-300:]}{verified.stderr[-300:]}")
    cuts = quantiles(told.took, n=20)
    return {
        "answers": len(told.took),
        "answers a second": round(len(told.took) / chosen.minutes / 60, 1),
        "p50 ms": round(cuts[9]),
        "p95 ms": round(cuts[18]),
        "longest ms": round(max(told.took)),
        "done": dict(told.done),
        "lost": lost(home, told),
        "wrong": told.wrong,
    }


def ask(addresses: list[str], told: Asked, over: threading.Event, seed: int) -> None:
    """Questions, one after the other."""
    chance = random.Random(seed)
    with httpx.Client(timeout=300) as client:
        while not over.is_set():
            question = chance.choice(QUESTIONS)
            body = {"question": question, "options": {"fresh": chance.random() < 0.5}}
            began = time.perf_counter()
            failed = ""
            for at in range(seed, seed + TRIES):
                try:
                    reply = client.post(f"{addresses[at % len(addresses)]}/api/ask", json=body)
                except httpx.TransportError as error:
                    failed = repr(error)
                else:
                    failed = "" if reply.is_success else f"{reply.status_code} {reply.text[:300]}"
                if not failed:
                    told.done["ask"] += 1
                    told.took.append(1_000 * (time.perf_counter() - began))
                    break
                told.done["ask again"] += 1
                time.sleep(PAUSE)
            if failed:
                told.wrong.append(f"{question!r}: {failed}")


def ingest(home: Path, files: Path, told: Asked, over: threading.Event) -> None:
    """Files are added, changed and removed; which of them have to be there."""
    files.mkdir()
    names = {files / f"{number}.txt" for number in range(FILES)}
    removed = files / "7.txt"
    generation = 0
    while not over.is_set():
        generation += 1
        for name in sorted(names):
            said = f"Grave {int(name.stem) + 3_000} was dug in generation {generation}. " * 20
            name.write_text(said, encoding="utf-8")
        if run(home, told, over, "add", str(files)):
            told.there |= names
            told.gone -= names
        if run(home, told, over, "remove", "--yes", str(removed)):
            told.there.discard(removed)
            told.gone.add(removed)
        if generation % 3 == 0 and not over.is_set():
            halved = {name for name in names if int(name.stem) % 2 == 0}
            for name in halved:
                name.unlink()
            if run(home, told, over, "sync", str(files)):
                told.there -= halved
                told.gone |= halved


def run(home: Path, told: Asked, over: threading.Event, *words: str) -> bool:
    """Whether a command was begun and went well; where it did not go well, that counts."""
    if over.is_set():
        return False
    done = command(home, *words)
    told.done[words[0]] += 1
    if done.returncode:
        told.wrong.append(f"{' '.join(words)}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return not done.returncode


def trouble(
    chosen: argparse.Namespace, anew: Callable[[], None], told: Asked, over: threading.Event
) -> None:
    """What a company has to live through, each in its time."""
    steps: tuple[Callable[[], None], ...] = (
        partial(shell, chosen.kill),
        partial(shell, chosen.start),
        anew,
    )
    began = time.monotonic()
    for (part, name), step in zip(TROUBLES, steps, strict=True):
        over.wait(max(0.0, began + 60 * chosen.minutes * part - time.monotonic()))
        step()
        told.done[name] += 1


def shell(words: str) -> None:
    """A command of the one who measures."""
    subprocess.run(words, shell=True, check=True, stdout=subprocess.DEVNULL)


def lost(home: Path, told: Asked) -> list[str]:
    """The documents that are not as the commands said."""
    with open_kb(home) as kb:
        there = {document.uri for document in documents(kb)}
    wanted = [uri for uri in (file.as_uri() for file in told.there) if uri not in there]
    return sorted(wanted + [uri for uri in (file.as_uri() for file in told.gone) if uri in there])


@contextmanager
def listening(home: Path, servers: int) -> Iterator[tuple[list[str], Callable[[], None]]]:
    """The addresses of so many servers over one base, and what lets the first start anew."""
    running = [begun(home) for _ in range(servers)]
    addresses = [address for _, address in running]

    def anew() -> None:
        end(running[0][0])
        running[0] = begun(home)
        addresses[0] = running[0][1]

    try:
        yield addresses, anew
    finally:
        for server, _ in running:
            end(server)


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [
        f"{figures['askers']} askers for {figures['minutes']:g} minutes, during two ingests.",
        "",
        "| set-up | answers | a second | p50, ms | p95, ms | longest, ms | asked again "
        "| commands of ingest | lost | wrong |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = {name: row for name, row in figures.items() if isinstance(row, dict)}
    for name, row in rows.items():
        commands = sum(row["done"].get(word, 0) for word in ("add", "remove", "sync"))
        lines.append(
            f"| {name} | {row['answers']:,} | {row['answers a second']} | {row['p50 ms']:,} "
            f"| {row['p95 ms']:,} | {row['longest ms']:,} | {row['done'].get('ask again', 0)} "
            f"| {commands} | {len(row['lost'])} | {len(row['wrong'])} |"
        )
    wrong = [one for row in rows.values() for one in (*row["lost"], *row["wrong"])]
    return [*lines, *wrong[:10]]


if __name__ == "__main__":
    main()
