"""Thirty-two askers during ingest: two servers on PostgreSQL and OpenSearch, and one on a folder.

    python -m benchmarks.team --postgres postgresql+psycopg://…/name \\
        --cluster http://127.0.0.1:9200,http://127.0.0.1:9201 [--minutes 5] [--askers 32]

Both set-ups hold the sample and are asked the same questions over HTTP for so many minutes, each
asker at one server without a break, while files are added, changed and removed by commands. Half of
the questions may be answered from kept answers. Counted are replies that are no 200 and commands
that fail; at the end ``verify`` has to be clean. The catalogue is moved by ``wellread backup
export`` and ``import``, the index by ``wellread reindex``; the database has to be
empty, and what is made in the cluster is dropped.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx

from benchmarks.homes import filled
from benchmarks.record import save
from benchmarks.research_kills import write_sample
from benchmarks.soak import QUESTIONS, Told, begun, change, command, end
from wellread.kb import open_kb
from wellread.store.base import ServiceAddress
from wellread.store.index.opensearch.passage_index import OpenSearchIndex

SERVERS = 2  # of the team
BASE = "bench-team"


@dataclass
class Asked(Told):
    """With how long each answer took, in milliseconds."""

    took: list[float] = field(default_factory=list)


def main() -> None:
    """Ask both, print, write ``results/team.json``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--postgres", required=True, help="URL of an empty database")
    parser.add_argument("--cluster", required=True, help="URLs of nodes, with commas between them")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--askers", type=int, default=32)
    chosen = parser.parse_args()
    with filled("shipped", write_sample) as kb:
        source = kb.home
    figures: dict[str, Any] = {"minutes": chosen.minutes, "askers": chosen.askers}
    with tempfile.TemporaryDirectory(prefix="team-") as folder:
        place = Path(folder)
        home = Path(shutil.copytree(source, place / "embedded"))
        figures["one server, a folder"] = measured(home, place, 1, chosen)
        home = Path(shutil.copytree(source, place / "team"))
        with moved(home, chosen.postgres, chosen.cluster):
            figures["two servers, PostgreSQL and OpenSearch"] = measured(
                home, place, SERVERS, chosen
            )
    save("team", figures)
    print("\n".join(table(figures)))
    sys.exit(any(row["wrong"] for row in figures.values() if isinstance(row, dict)))


@contextmanager
def moved(home: Path, database: str, cluster: str) -> Iterator[None]:
    """The base on a database and in a cluster, for every process that is begun inside."""
    secure = "s" * cluster.startswith("https")
    hosts = ",".join(one.partition("://")[2] for one in cluster.split(","))
    index = f"opensearch+http{secure}://{hosts}/{BASE}"
    archive = home.with_suffix(".tar")
    finished(home, "backup", "export", str(archive))
    shutil.rmtree(home)
    os.environ["WELLREAD_CATALOGUE_URL"] = database
    finished(home, "backup", "import", str(archive), "--with-settings")
    os.environ["WELLREAD_INDEX_URL"] = index
    try:
        finished(home, "reindex")
        yield
    finally:
        with open_kb(home) as kb:
            place = ServiceAddress(url=index, base=kb.catalogue.reindexing.base_id())
        OpenSearchIndex.drop_others(place)
        del os.environ["WELLREAD_CATALOGUE_URL"], os.environ["WELLREAD_INDEX_URL"]


def measured(home: Path, place: Path, servers: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """What happened in so many minutes, and what ``verify`` says afterwards."""
    told, over = Asked(), threading.Event()
    with listening(home, servers) as addresses:
        work: list[Callable[[], None]] = [
            partial(ask, addresses[at % servers], told, over, at) for at in range(chosen.askers)
        ]
        work.append(partial(change, home, place / f"files-{home.name}", told, over))
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
        "done": dict(told.done),
        "wrong": told.wrong,
    }


def ask(url: str, told: Asked, over: threading.Event, seed: int) -> None:
    """Questions, one after the other."""
    chance = random.Random(seed)
    with httpx.Client(base_url=url, timeout=120) as client:
        while not over.is_set():
            question = chance.choice(QUESTIONS)
            body = {"question": question, "options": {"fresh": chance.random() < 0.5}}
            began = time.perf_counter()
            try:
                reply = client.post("/api/ask", json=body)
            except httpx.HTTPError as error:
                told.wrong.append(f"{question!r}: {error!r}")
                continue
            told.done[f"ask {reply.status_code}"] += 1
            if reply.status_code == httpx.codes.OK:
                told.took.append(1_000 * (time.perf_counter() - began))
            else:
                told.wrong.append(f"{question!r}: {reply.status_code} {reply.text[:300]}")


@contextmanager
def listening(home: Path, servers: int) -> Iterator[Sequence[str]]:
    """The addresses of so many servers over one base, while they run."""
    with ExitStack() as stack:
        addresses = []
        for _ in range(servers):
            server, address = begun(home)
            stack.callback(end, server)
            addresses.append(address)
        yield addresses


def finished(home: Path, *words: str) -> None:
    """A command that has to go well."""
    done = command(home, *words)
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-500:]}{done.stderr[-500:]}"


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [
        f"{figures['askers']} askers for {figures['minutes']:g} minutes, during ingest.",
        "",
        "| set-up | answers | a second | p50, ms | p95, ms | commands of ingest | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in figures.items():
        if isinstance(row, dict):
            commands = sum(n for kind, n in row["done"].items() if not kind.startswith("ask "))
            lines.append(
                f"| {name} | {row['answers']:,} | {row['answers a second']} | {row['p50 ms']:,} | "
                f"{row['p95 ms']:,} | {commands} | {len(row['wrong'])} |"
            )
    wrong = [one for row in figures.values() if isinstance(row, dict) for one in row["wrong"]]
    return [*lines, *wrong[:10]]


if __name__ == "__main__":
    main()
