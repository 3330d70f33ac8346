"""The trained reader as a reranker of a search's best hits: does what it says of them help?

    python -m benchmarks.reranking --sets scifact,hotpot,mtrag,qmsum,xquad,clapnq

The first hits of a search as shipped are read as with ``reader.relevance: trained`` and put in
order again by ``(1 - share) * score + share * probability``, both stretched to 0 - 1 over the hits
that are read. Share and depth are chosen on one half of the queries of all sets together; the other
half says what they are worth. The home of a set has to be there already (``benchmarks.retrieval``
and ``benchmarks.extractive`` make them).
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.homes import open_home
from benchmarks.record import save
from benchmarks.retrieval import SETS, candidates_of
from benchmarks.sets.asked import Asked, AskedSet
from benchmarks.sets.judged import JudgedSet, Query, at, ranking
from benchmarks.sets.reading import CLAPNQ, XQUAD
from wellread.ask.retrieve.search import search
from wellread.evaluation.scores import Measure, bootstrap, paired_difference
from wellread.kb import KnowledgeBase
from wellread.models.base import Excerpt, Scores
from wellread.models.trained_reader import TrainedModel, TrainedReader
from wellread.types import Candidate, Filters

SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
DEPTHS = (5, 10)
DEEPEST = 10
LISTED = 100
SEED = 11
READ: dict[str, AskedSet] = {each.name: each for each in (XQUAD, CLAPNQ)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One query, what was found for it, and what the reader said of the first hits.

    Attributes:
        read: the probability that each of the first hits answers.
        measure: what an order of the hits is worth.
    """

    found: Sequence[Candidate]
    read: Scores
    seconds: float
    measure: Callable[[Sequence[Candidate]], float]


def main() -> None:
    """Print a table, write ``results/reranking.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="scifact,hotpot,mtrag,xquad,clapnq")
    parser.add_argument("--limit", type=int, default=120, help="queries of each set, by chance")
    parser.add_argument("--threads", type=int, default=0, help="of the network; 0: all cores")
    options = parser.parse_args()
    model = TrainedModel(threads=options.threads)
    looked: dict[str, list[Looked]] = {}
    for name in options.sets.split(","):
        with open_home(name) as kb:
            queries = _drawn(_queries(kb, name), options.limit)
            looked[name] = [_look(kb, model, one) for one in queries]
        figures = summary(looked)
        save("reranking", figures)
        print("\n".join(table(figures)), flush=True)


Measured = tuple[Query, Callable[[Sequence[Candidate]], float]]


def _queries(kb: KnowledgeBase, name: str) -> list[Measured]:
    if name in READ:
        asked = [one for one in READ[name].questions(kb) if one.answerable]
        return [(query, _worth(query, at(3, "recall")["recall@3"])) for query in map(_query, asked)]
    chosen: JudgedSet = SETS[name]
    measure = next(iter(chosen.measures.values()))
    return [(query, _worth(query, measure)) for query in chosen.queries(kb)]


def _query(one: Asked) -> Query:
    spans = {f"gold {at}": (gold.document_id, gold.span) for at, gold in enumerate(one.gold)}
    return Query(id=one.id, text=one.text, grades=dict.fromkeys(spans, 1.0), spans=spans)


def _worth(query: Query, measure: Measure) -> Callable[[Sequence[Candidate]], float]:
    return lambda found: float(measure(ranking(query, found), query.grades))


def _drawn(queries: Sequence[Measured], limit: int) -> list[Measured]:
    return random.Random(SEED).sample(queries, min(limit, len(queries)))


def _look(kb: KnowledgeBase, model: TrainedModel, one: Measured) -> Looked:
    query, measure = one
    found = search(kb, query.text, Filters(), limit=LISTED)
    asked = query.text.partition("\n")[0]  # of a conversation, its newest turn
    texts = [Excerpt(text=hit.passage.text, title=hit.passage.context) for hit in found[:DEEPEST]]
    started = time.perf_counter()
    read = TrainedReader(model).relevance(asked, texts)
    seconds = time.perf_counter() - started
    return Looked(found=candidates_of(found), read=read, seconds=seconds, measure=measure)


# --- orders ----------------------------------------------------------------------------------


def reordered(one: Looked, depth: int, share: float) -> list[Candidate]:
    """The hits with the first ``depth`` put in order by search and reader."""
    first = list(one.found[:depth])
    own = _stretched(np.array([each.score for each in first]))
    read = _stretched(one.read[: len(first)])
    mixed = (1 - share) * own + share * read
    order = sorted(range(len(first)), key=lambda place: (-mixed[place], place))
    return [*(first[place] for place in order), *one.found[depth:]]


def _stretched(scores: Scores) -> Scores:
    if not len(scores) or scores.max() == scores.min():
        return np.zeros(len(scores))
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


def summary(looked: Mapping[str, Sequence[Looked]]) -> dict[str, Any]:
    """The way that is best on one half of all sets together, and each set's other half by it."""
    ways = [(depth, share) for depth in DEPTHS for share in SHARES]
    scores = {
        (name, way): [one.measure(reordered(one, *way)) for one in cases]
        for name, cases in looked.items()
        for way in ways
    }
    chosen = max(ways, key=lambda way: np.mean([np.mean(scores[n, way][::2]) for n in looked]))
    own = (DEPTHS[0], 0.0)
    seconds = sorted(one.seconds for cases in looked.values() for one in cases)
    return {
        "queries": {name: len(cases) for name, cases in looked.items()},
        "chosen": {"depth": chosen[0], "share": chosen[1]},
        "median milliseconds": round(1000 * seconds[len(seconds) // 2]),
        "all queries": {
            name: {f"{d} {s}": round(float(np.mean(scores[name, (d, s)])), 3) for d, s in ways}
            for name in looked
        },
        "other half": {
            name: {
                "as shipped": str(bootstrap(scores[name, own][1::2])),
                "read": str(bootstrap(scores[name, chosen][1::2])),
                "more": str(paired_difference(scores[name, chosen][1::2], scores[name, own][1::2])),
            }
            for name in looked
        },
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """Both parts as Markdown tables."""
    chosen = figures["chosen"]
    lines = [
        f"Chosen: the best {chosen['depth']}, share of the reader {chosen['share']}; "
        f"{figures['median milliseconds']} ms a query in the median.",
        "",
        "| other half | queries | as shipped | read again | more |",
        "|---|---|---|---|---|",
    ]
    for name, row in figures["other half"].items():
        cells = " | ".join(str(row[key]) for key in ("as shipped", "read", "more"))
        lines.append(f"| {name} | {figures['queries'][name] // 2} | {cells} |")
    ways = list(next(iter(figures["all queries"].values())))
    lines += ["", f"| depth, share | {' | '.join(ways)} |", f"|---|{'---|' * len(ways)}"]
    for name, row in figures["all queries"].items():
        lines.append(f"| {name} | {' | '.join(f'{row[way]:.3f}' for way in ways)} |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
