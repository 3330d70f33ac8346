"""How many nodes, shards and bytes a number of passages needs, and what that costs.

    python -m benchmarks.cluster_plan --passages 100000000

Arithmetic over a few measured figures, which stand below with where they come from; it is a plan,
not a measurement. Change a figure to see what rests on it.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

DIMENSIONS = 384
FLOAT = 4  # bytes
GRAPH_LINKS = 2 * 16 * 4  # bytes of a passage in the graph's lowest layer: 2 m neighbours
GB = 10**9


@dataclass(frozen=True)
class Assumptions:
    """What the plan rests on.

    Attributes:
        text_bytes: on disk of one copy of a passage, without its vector: text, words, fields.
            1,000,000 rows took 2,473 MB with vectors and graph, so 809 each; real texts vary.
        vector_source_bytes: of its vector in the stored source (2.19 keeps it, 3.x does not).
        resident: part of vectors and graph that has to be in memory for an even latency.
        shard_bytes, shard_rows: the most of one shard.
        write_rows: rows a second that one core takes, both copies and merging counted; half of
            what a shard of 1,000,000 rows gave (891 on two cores, the writer among them), as the
            graph of a large shard is made anew more often.
        search_cpu: seconds of processor time of both lists of one search in one full shard. It
            took 0.015 of 17,000 rows and 0.126 of 1,000,000, so with the square root of the
            rows; that of 10,000,000 is this law, **not measured**: measure it on one node with
            one such shard before anything is ordered.
        load: part of the processors that searches may take in the long run.
        node: memory in GB, cores, disk in GB, US dollars a month (a round price of 2025 for a
            machine of that size on demand, disk included; a managed service asks up to twice).
    """

    text_bytes: float = 1_100
    vector_source_bytes: float = 0
    resident: float = 1.0
    shard_bytes: float = 30 * GB
    shard_rows: float = 10_000_000
    write_rows: float = 220
    search_cpu: float = 0.400
    load: float = 0.5
    node: tuple[float, int, float, float] = (128, 16, 2_000, 900)


@dataclass(frozen=True)
class Plan:
    """What is needed."""

    shards: int
    nodes: int
    disk: float
    memory: float
    fill_hours: float
    searches: float
    dollars: float


def plan(passages: int, copies: int, given: Assumptions) -> Plan:
    """The cluster for so many passages, each in ``copies`` copies."""
    memory, cores, disk, dollars = given.node
    vector = DIMENSIONS * FLOAT
    row = given.text_bytes + vector + GRAPH_LINKS + given.vector_source_bytes
    shards = max(
        math.ceil(passages * row / given.shard_bytes), math.ceil(passages / given.shard_rows)
    )
    on_disk = passages * row * copies
    resident = passages * (vector + GRAPH_LINKS) * copies * given.resident
    # Heap is half of the memory up to 31 GB; the rest is the disk's cache.
    cache = (memory - min(memory / 2, 31)) * GB
    nodes = max(
        copies + 1,
        math.ceil(resident / cache),
        math.ceil(on_disk * 1.6 / (disk * GB)),  # room for merges and for a copy being made
    )
    return Plan(
        shards=shards,
        nodes=nodes,
        disk=on_disk / GB,
        memory=resident / GB,
        fill_hours=passages / (given.write_rows * cores * nodes) / 3_600,
        searches=nodes * cores * given.load / (given.search_cpu * shards),
        dollars=nodes * dollars,
    )


def main() -> None:
    """Print the plan for several ways of keeping vectors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passages", type=int, default=100_000_000)
    parser.add_argument("--copies", type=int, default=2)
    asked = parser.parse_args()
    ways = {
        "3.x, all vectors in memory": Assumptions(),
        "3.x, a quarter in memory": Assumptions(resident=0.25),
        "2.19, all vectors in memory": Assumptions(vector_source_bytes=9_100, write_rows=75),
    }
    print(f"{asked.passages:,} passages in {asked.copies} copies\n")
    print("| way | shards | nodes | disk | in memory | filled in | searches/s | US$ a month |")
    print("|---|---|---|---|---|---|---|---|")
    for name, given in ways.items():
        made = plan(asked.passages, asked.copies, given)
        print(
            f"| {name} | {made.shards} | {made.nodes} | {made.disk:,.0f} GB | {made.memory:,.0f} GB"
            f" | {made.fill_hours:.0f} h | {made.searches:.0f} | {made.dollars:,.0f} |"
        )


if __name__ == "__main__":
    main()
