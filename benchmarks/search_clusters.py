"""The index on OpenSearch beside the embedded one: same answers, latency, a node that is killed.

    python -m benchmarks.search_clusters http://127.0.0.1:9200 same --sets covid,qmsum
    python -m benchmarks.search_clusters http://127.0.0.1:9200 speed --passages 10000 --shards 1
    python -m benchmarks.search_clusters URL,URL,URL bulk --passages 10000 --rounds 3
    python -m benchmarks.search_clusters URL,URL,URL kill --kill 'cluster stop 2 --kill' \\
        --start 'cluster start'

"same" writes the rows and vectors of a set's home into the cluster and searches both as a question
is searched. "speed" fills both with generated passages. "bulk" writes passages with their vectors
beside the bare client: the same documents, mapping and settings, in turn. "kill" asks and writes
while a shell command ends a node. What is made in the cluster is dropped at the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import lancedb
import numpy as np
from opensearchpy import OpenSearch
from opensearchpy.helpers import bulk as helped_bulk
from opensearchpy.helpers import parallel_bulk

from benchmarks.homes import filled
from benchmarks.material import Floats, Pattern, noisy, vary
from benchmarks.record import save
from benchmarks.retrieval import DEPTH, SETS, candidates_of
from benchmarks.sets.items import COVID
from benchmarks.sets.judged import PLACE, place_right, ranking
from wellread.ask.retrieve.search import search
from wellread.errors import StoreError
from wellread.evaluation.scores import bootstrap, paired_difference
from wellread.ingest.pipeline.commit import index_rows
from wellread.kb import KnowledgeBase
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.base import Fingerprint, IndexRow, KeptIndex, ServiceAddress
from wellread.store.index.lance import LanceIndex
from wellread.store.index.lance_tables import table_name
from wellread.store.index.opensearch.cluster import cluster_of, read_address
from wellread.store.index.opensearch.passage_index import OpenSearchIndex
from wellread.store.index.opensearch.passage_queries import mapping, settings, to_document
from wellread.store.row_values import unit
from wellread.types import Candidate, Filters, Span

ANYWHERE = Filters()
NARROW = Filters(collections=("c3",))
COLLECTIONS = 20
AT_ONCE = 1_000  # rows of a write
SEED = 7
ASKERS = 3
OVERLAP = 10
WARM_UP = 10
BARE_AT_ONCE = 4  # threads of the bare client, as many as the index has
WELLREAD, BARE = "Wellread's index", "bare client, bulk"
BARE_THREADS = f"bare client, parallel_bulk of {BARE_AT_ONCE}"


def main() -> None:
    """Measure what is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nodes", help="URLs of a cluster, with commas between them")
    parser.add_argument("what", choices=("same", "speed", "bulk", "kill"))
    parser.add_argument("--sets", default="covid", help=f"of {','.join(SETS)}")
    parser.add_argument("--limit", type=int, default=0, help="first queries of each set; 0: all")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--shards", type=int, default=1, help="of an index that is made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kill", default="", help="command that ends a node")
    parser.add_argument("--start", default="", help="command that brings it back")
    asked = parser.parse_args()
    say("load", f"{os.getloadavg()[0]:.1f}")
    if asked.what == "same":
        for name in asked.sets.split(","):
            with place_of(asked.nodes) as place:  # each alone: others would be found too
                same(place, name, asked.limit)
    elif asked.what == "bulk":
        bulk(asked.nodes, asked.shards, asked.passages, asked.rounds)
    else:
        with place_of(asked.nodes, asked.shards) as place:
            if asked.what == "speed":
                speed(place, asked.passages, asked.questions)
            else:
                kill(place, asked.passages, asked.questions, asked.kill, asked.start)
    say("load", f"{os.getloadavg()[0]:.1f}")


@contextmanager
def place_of(nodes: str, shards: int = 1) -> Iterator[ServiceAddress]:
    """A name of its own in the cluster, of which nothing is left."""
    secure = nodes.startswith("https")
    hosts = ",".join(one.partition("://")[2] for one in nodes.split(","))
    url = f"opensearch+http{'s' * secure}://{hosts}/bench-{uuid4().hex[:8]}?shards={shards}"
    place = ServiceAddress(url=url, base="b1", password=os.environ.get("OPENSEARCH_PASSWORD", ""))
    try:
        yield place
    finally:
        OpenSearchIndex.drop_others(place)


# --- the same answers ---


def same(place: ServiceAddress, name: str, limit: int) -> None:
    """How far both agree on one set."""
    chosen = SETS[name]
    with filled(chosen.name, chosen.write) as kb:
        live = kb.catalogue.reindexing.live()
        assert live is not None
        queries = list(chosen.queries(kb))[: limit or None]
        embedded: KeptIndex = kb.index
        other = OpenSearchIndex.open(place, live.fingerprint)
        begun = time.perf_counter()
        rows = copy_rows(kb, live.fingerprint, other)
        say(f"{name}, written", f"{rows} rows, {rows / (time.perf_counter() - begun):.0f} a second")
        overlaps: dict[str, list[float]] = {"whole": [], "words": [], "vectors": []}
        measured = next(iter(chosen.measures))
        scores: dict[str, list[float]] = {"embedded": [], "cluster": []}
        for query in queries:
            vector = kb.embedder.embed([query.text], "query")[0]
            found: dict[str, list[list[Candidate]]] = {key: [] for key in overlaps}
            for which, index in (("embedded", embedded), ("cluster", other)):
                put(kb, index)
                whole = candidates_of(search(kb, query.text, ANYWHERE, limit=DEPTH))
                found["whole"].append(whole)
                found["words"].append(index.search_text(query.text, ANYWHERE, DEPTH))
                found["vectors"].append(index.search_vector(vector, ANYWHERE, DEPTH))
                score = chosen.measures[measured]
                scores[which].append(
                    place_right(query, whole)
                    if measured == PLACE
                    else score(ranking(query, whole), query.grades)
                )
            for key, (one, two) in found.items():
                overlaps[key].append(overlap(one, two))
        for key, shares in overlaps.items():
            say(f"{name}, top {OVERLAP} shared, {key}", interval(bootstrap(shares)))
        for which, values in scores.items():
            say(f"{name}, {measured}, {which}", interval(bootstrap(values)))
        difference = paired_difference(scores["cluster"], scores["embedded"])
        say(f"{name}, cluster less embedded", interval(difference))


def copy_rows(kb: KnowledgeBase, fingerprint: Fingerprint, other: KeptIndex) -> int:
    """Write the rows of a home, with the vectors that its own index has; how many."""
    table = lancedb.connect(kb.home / INDEX_FOLDER).open_table(table_name(fingerprint))
    held = table.search().select(["passage_id", "vector"]).limit(table.count_rows()).to_arrow()
    numbers = held.column("vector").combine_chunks().flatten().to_numpy()
    vectors = dict(
        zip(
            held.column("passage_id").to_pylist(),
            numbers.reshape(-1, fingerprint.dimensions),
            strict=True,
        )
    )
    rows: list[IndexRow] = []
    for known in kb.catalogue.document_ids():
        document = kb.catalogue.document(known)
        assert document is not None
        rows += index_rows(document, kb.catalogue.passages_of([known]))
    for first in range(0, len(rows), AT_ONCE):
        piece = rows[first : first + AT_ONCE]
        other.write(piece, np.stack([vectors[row.passage_id] for row in piece]))
    other.optimize()
    return len(rows)


def put(kb: KnowledgeBase, index: KeptIndex) -> None:
    """Let ``kb`` search in ``index``."""
    parts = replace(kb.live(), index=index)
    live = kb.catalogue.reindexing.live()
    assert live is not None
    vars(kb).update(_index=(live, index), _parts=(live, parts))


def overlap(one: Sequence[Candidate], two: Sequence[Candidate]) -> float:
    """Which part of the first ten passages they share; 1 where there is none."""
    first, second = ({hit.passage_id for hit in hits[:OVERLAP]} for hits in (one, two))
    most = max(len(first), len(second))
    return len(first & second) / most if most else 1.0


# --- speed ---


Way = Callable[[KeptIndex, int], list[Candidate]]


def speed(place: ServiceAddress, passages: int, questions: int) -> None:
    """Latency of both, question by question in turn, and how fast they are filled."""
    shape = pattern()
    print_ = Fingerprint(embedder="made", dimensions=shape.vectors.shape[1], chunking="made")
    figures: dict[str, Any] = {
        "passages": passages,
        "questions": questions,
        "shards": read_address(place).shards,
    }
    with tempfile.TemporaryDirectory() as folder:
        indexes: dict[str, KeptIndex] = {
            "embedded": LanceIndex.open(Path(folder), print_),
            "cluster": OpenSearchIndex.open(place, print_),
        }
        for name, index in indexes.items():
            begun = time.perf_counter()
            for rows, vectors in made_rows(shape, passages):
                index.write(rows, vectors)
            seconds = time.perf_counter() - begun
            say(f"{name}, written", f"{passages} rows, {passages / seconds:.0f} a second")
            begun = time.perf_counter()
            index.optimize()
            folded = time.perf_counter() - begun
            say(f"{name}, folded", f"{folded:.1f} s")
            figures[f"{name}, written"] = [round(passages / seconds), round(folded, 1)]
        asked = asked_of(shape, questions)
        ways: dict[str, Way] = {
            "words": lambda index, at: index.search_text(asked[at][0], ANYWHERE, DEPTH),
            "words, filtered": lambda index, at: index.search_text(asked[at][0], NARROW, DEPTH),
            "vectors": lambda index, at: index.search_vector(asked[at][1], ANYWHERE, DEPTH),
            "vectors, filtered": lambda index, at: index.search_vector(asked[at][1], NARROW, DEPTH),
        }
        figures["searches"] = {}
        for way, run in ways.items():
            before = busy(place)
            figures["searches"][way] = in_turn(indexes, run, questions)
            spent = round((busy(place) - before) / questions, 1)
            figures["searches"][way]["nodes"] = spent
    figures["disk, MB"] = on_disk(place)
    save("search_clusters-speed", figures)
    print("\n".join(speed_table(figures)))


def in_turn(indexes: Mapping[str, KeptIndex], run: Way, questions: int) -> dict[str, Any]:
    """p50 and p95 of each in milliseconds, in turn, ten warm up; which part of the best is same."""
    taken: dict[str, list[float]] = {name: [] for name in indexes}
    shared = []
    for at in range(questions):
        found = []
        for name, index in indexes.items():
            begun = time.perf_counter()
            found.append(run(index, at))
            taken[name].append(1_000 * (time.perf_counter() - begun))
        shared.append(overlap(*found))
    cuts: dict[str, Any] = {
        name: [round(float(cut), 1) for cut in np.percentile(times[WARM_UP:], [50, 95])]
        for name, times in taken.items()
    }
    return cuts | {"shared": round(float(np.mean(shared)), 3)}


def busy(place: ServiceAddress) -> int:
    """Milliseconds of processor time that all nodes have taken."""
    nodes = cluster_of(read_address(place)).ask("measure", "nodes.stats", metric="process")
    return sum(node["process"]["cpu"]["total_in_millis"] for node in nodes["nodes"].values())


def on_disk(place: ServiceAddress) -> list[int]:
    """MB of one copy of the rows, and of all copies."""
    address = read_address(place)
    sizes = cluster_of(address).ask("measure", "indices.stats", index=f"{address.base}-*")["_all"]
    return [sizes[part]["store"]["size_in_bytes"] // 10**6 for part in ("primaries", "total")]


def speed_table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the latencies."""
    one, both = figures["disk, MB"]
    lines = [
        f"On the cluster {one:,} MB, {both:,} with further copies.",
        "",
        f"| {figures['passages']:,} passages, {figures['questions']} questions "
        "| embedded, p50 ms | p95 | cluster, p50 ms | p95 | p50 to p50 | nodes, ms of processor "
        f"| first {OVERLAP} shared |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way, times in figures["searches"].items():
        (half, most), (other, others) = times["embedded"], times["cluster"]
        last = f"{other / half:.2f} | {times['nodes']} | {times['shared']}"
        lines.append(f"| {way} | {half} | {most} | {other} | {others} | {last} |")
    (rate, fold), (other, _) = figures["embedded, written"], figures["cluster, written"]
    last = f"| written | {rate:,} rows a second, then {fold:.0f} s to fold | "
    return [*lines, f"{last}| {other:,} rows a second | | {other / rate:.2f} | | |"]


# --- writing beside the bare client ---


def bulk(nodes: str, shards: int, passages: int, rounds: int) -> None:
    """Rows a second of the index and of the bare client, in turn; each into an index of its own."""
    shape = pattern()
    pieces = list(made_rows(shape, passages))
    made = Fingerprint(embedder="made", dimensions=shape.vectors.shape[1], chunking="made")
    ways: dict[str, Callable[[ServiceAddress, Fingerprint, Pieces], tuple[float, float]]] = {
        WELLREAD: written_by_index,
        BARE: written_by_client,
        BARE_THREADS: partial(written_by_client, at_once=BARE_AT_ONCE),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for at in range(rounds):
        for name, write in list(ways.items())[:: -1 if at % 2 else 1]:
            with place_of(nodes, shards) as place:
                seconds, busy = write(place, made, pieces)
            rates[name].append(passages / seconds)
            spent[name].append(1_000 * busy / passages)
            say(f"round {at + 1}, {name}", f"{passages / seconds:.0f} rows a second")
    middle = {name: float(np.median(values)) for name, values in rates.items()}
    figures = {"passages": passages, "shards": shards, "rounds": rounds}
    save("search_clusters-bulk", figures | {"rows a second": rates, "client ms a row": spent})
    print("| writer | rows a second, median | least to most | client, ms a row | to the first |")
    print("|---|---|---|---|---|")
    for name, values in rates.items():
        print(
            f"| {name} | {middle[name]:.0f} | {min(values):.0f} to {max(values):.0f} "
            f"| {np.median(spent[name]):.2f} | {middle[WELLREAD] / middle[name]:.2f} |"
        )


Pieces = Sequence[tuple[list[IndexRow], Floats]]


def written_by_index(
    place: ServiceAddress, made: Fingerprint, pieces: Pieces
) -> tuple[float, float]:
    """Seconds, and those of this process's processor, until both searches find all rows."""
    index = OpenSearchIndex.open(place, made)
    begun, busy = time.perf_counter(), time.process_time()
    for rows, vectors in pieces:
        index.write(rows, vectors)
    return time.perf_counter() - begun, time.process_time() - busy


def written_by_client(
    place: ServiceAddress, made: Fingerprint, pieces: Pieces, at_once: int = 1
) -> tuple[float, float]:
    """The same by the client's own helper, with one refresh at the end and no check of any kind."""
    address = read_address(place)
    name = f"{address.base}-bare"
    login = (address.user, address.password) if address.user else None
    client = OpenSearch(hosts=list(address.hosts), http_auth=login, timeout=60)
    client.indices.create(
        index=name, body={"settings": settings(address), "mappings": mapping(made)}
    )
    documents = [
        {"_index": name, "_id": row.passage_id, "_source": to_document(row, vector)}
        for rows, vectors in pieces
        for row, vector in zip(rows, unit(vectors), strict=True)
    ]
    begun, busy = time.perf_counter(), time.process_time()
    if at_once > 1:
        for went_well, _ in parallel_bulk(client, documents, thread_count=at_once):
            assert went_well
    else:
        helped_bulk(client, documents)
    client.indices.refresh(index=name)
    taken = time.perf_counter() - begun, time.process_time() - busy
    client.indices.delete(index=name)
    return taken


def pattern() -> Pattern:
    """Real passages with their vectors: those of COVID-QA."""
    with filled(COVID.name, COVID.write) as kb:
        live = kb.catalogue.reindexing.live()
        assert live is not None
        table = lancedb.connect(kb.home / INDEX_FOLDER).open_table(table_name(live.fingerprint))
        held = table.search().select(["search_text", "vector"]).limit(table.count_rows())
        found = held.to_arrow()
    numbers = found.column("vector").combine_chunks().flatten().to_numpy()
    texts = tuple(found.column("search_text").to_pylist())
    words, counts = np.unique(" ".join(texts).split(), return_counts=True)
    return Pattern(
        texts=texts,
        vectors=numbers.reshape(len(texts), -1),
        words=words,
        shares=counts / counts.sum(),
    )


def made_rows(shape: Pattern, passages: int) -> Iterator[tuple[list[IndexRow], Floats]]:
    """So many passages, the same ones every time, in pieces."""
    generator = np.random.default_rng(SEED)
    for first in range(0, passages, AT_ONCE):
        chosen = generator.integers(0, len(shape.texts), min(AT_ONCE, passages - first))
        texts = vary([shape.texts[at] for at in chosen], shape, generator)
        rows = [made_row(first + at, text) for at, text in enumerate(texts)]
        yield rows, noisy(shape.vectors[chosen], generator)


def made_row(number: int, text: str) -> IndexRow:
    return IndexRow(
        passage_id=f"p{number:08}",
        document_id=f"d{number // 8:07}",
        version="v1",
        span=Span(start=0, end=len(text)),
        collection=f"c{number % COLLECTIONS}",
        kind="page",
        text=text,
    )


def asked_of(shape: Pattern, questions: int) -> list[tuple[str, Floats]]:
    """Eight words of a passage in a row, and a vector near to its own."""
    generator = np.random.default_rng(SEED + 1)
    chosen = generator.integers(0, len(shape.texts), questions)
    near = noisy(shape.vectors[chosen], generator)
    texts = [" ".join(shape.texts[at].split()[10:18]) for at in chosen]
    return list(zip(texts, near, strict=True))


# --- a node that is killed ---


def kill(place: ServiceAddress, passages: int, questions: int, ends: str, starts: str) -> None:
    """Ask and write while a node is ended: what fails, what is lost, when all is well again."""
    shape = pattern()
    made = Fingerprint(embedder="made", dimensions=shape.vectors.shape[1], chunking="made")
    index = OpenSearchIndex.open(place, made)
    kept = 0
    for rows, vectors in made_rows(shape, passages):
        index.write(rows, vectors)
        kept += len(rows)
    cluster = cluster_of(read_address(place))
    asked = asked_of(shape, questions)
    failed: list[str] = []
    done, lost_node, late = threading.Event(), threading.Event(), [0]

    def ask(at: int) -> float:
        begun = time.perf_counter()
        text, vector = asked[at]
        try:
            index.search_text(text, ANYWHERE, DEPTH)
            index.search_vector(vector, ANYWHERE, DEPTH)
        except StoreError as error:
            failed.append(f"search: {error}")
        if at == len(asked) // 4:
            lost_node.set()
        return time.perf_counter() - begun

    def write() -> None:
        while not done.is_set():
            number = passages + late[0]
            rows = [made_row(number + at, shape.texts[at]) for at in range(20)]
            try:
                index.write(rows, shape.vectors[:20])
                late[0] += len(rows)
            except StoreError as error:
                failed.append(f"write: {error}")

    writer = threading.Thread(target=write)
    writer.start()
    with ThreadPoolExecutor(ASKERS) as askers:
        taken = askers.map(ask, range(len(asked)))
        lost_node.wait()
        subprocess.run(ends, shell=True, check=True)
        times = list(taken)
    done.set()
    writer.join()
    say("questions, each two searches", f"{len(times)}, {spread(times)}")
    say("longest", f"{max(times):.1f} s")
    say("failed after retries", f"{len(failed)} {failed[:3]}")
    begun = time.perf_counter()
    subprocess.run(starts, shell=True, check=True)
    cluster.run(
        "wait",
        lambda client: client.cluster.health(
            wait_for_status="green", timeout="9m", request_timeout=600
        ),
    )
    say("node back and the cluster green", f"{time.perf_counter() - begun:.0f} s")
    there = {key.passage_id for key in list(index.keys())}
    wanted = {f"p{number:08}" for number in range(kept + late[0])}
    say("rows written meanwhile; lost", f"{late[0]}; {len(wanted - there)}")


def interval(found: Any) -> str:
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def spread(seconds: Sequence[float]) -> str:
    half, most = np.percentile(np.array(seconds) * 1000, [50, 95])
    return f"p50 {half:.1f} ms, p95 {most:.1f} ms of {len(seconds)}"


def say(name: str, value: str) -> None:
    print(f"{name}: {value}", flush=True)


if __name__ == "__main__":
    main()
