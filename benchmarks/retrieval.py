"""Retrieval quality on public sets: plain BM25, each list alone, fused, and as shipped.

    python -m benchmarks.retrieval --sets hotpot,covid
    python -m benchmarks.retrieval --sets all

"as shipped" is ``search`` with the default settings; "led on" adds what its best passages lead to,
as it is done for questions. Every query is also searched in each list to
a depth of 100; all fusions are made from the same two lists. "plain BM25" is the floor: the same
passages without titles and headings. Sources go through ``ingest.run.add``, each set into a home
of its own that is kept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.homes import filled
from benchmarks.plain_bm25 import PlainBM25
from benchmarks.record import save
from benchmarks.sets.intents import BANKING
from benchmarks.sets.items import COVID, HOTPOT, MTRAG, SCIFACT
from benchmarks.sets.judged import PLACE, JudgedSet, Query, place_right, ranking
from benchmarks.sets.meetings import ITEMS, MENTIONS, QMSUM
from wellread.ask.retrieve.direct import expand_by_references
from wellread.ask.retrieve.ranking import reciprocal_rank, weighted
from wellread.ask.retrieve.search import search
from wellread.evaluation.scores import bootstrap, paired_difference
from wellread.kb import KnowledgeBase
from wellread.types import Candidate, Filters, Hit

SETS: dict[str, JudgedSet] = {
    each.name: each for each in (SCIFACT, COVID, QMSUM, MENTIONS, ITEMS, MTRAG, HOTPOT, BANKING)
}
DEPTH = 100
TEXT, VECTOR = "text", "vector"
DEFAULT_RUN = "as shipped"
LED_ON = "led on"
PLAIN = "plain BM25"

Lists = Mapping[str, Sequence[Candidate]]
Fuse = Callable[[Lists], Sequence[Candidate]]


def _weighted(share: float, lists: Lists) -> Sequence[Candidate]:
    fused = weighted(lists, {VECTOR: share, TEXT: 1 - share})
    return [item.candidate for item in fused]


def _reciprocal(lists: Lists) -> Sequence[Candidate]:
    return [item.candidate for item in reciprocal_rank(lists)]


def _shipped(kb: KnowledgeBase, text: str) -> list[Candidate]:
    return candidates_of(search(kb, text, Filters(), limit=DEPTH))


def _led_on(kb: KnowledgeBase, text: str) -> list[Candidate]:
    """With what the best passages lead on to, as a question is answered from."""
    found = search(kb, text, Filters(), limit=DEPTH)
    return candidates_of(expand_by_references(kb, text, Filters(), found))


def candidates_of(hits: Sequence[Hit]) -> list[Candidate]:
    """The hits as an index gives them."""
    return [
        Candidate(
            passage_id=hit.passage.id,
            document_id=hit.document.id,
            version=hit.document.version,
            span=hit.passage.span,
            score=hit.score,
        )
        for hit in hits
    ]


RUNS: dict[str, Fuse] = {
    "BM25": lambda lists: lists[TEXT],
    "vectors": lambda lists: lists[VECTOR],
    "RRF k=60": _reciprocal,
    "weighted 0.1": partial(_weighted, 0.1),
    "weighted 0.2": partial(_weighted, 0.2),
    "weighted 0.3": partial(_weighted, 0.3),
    "weighted 0.5": partial(_weighted, 0.5),
    "weighted 0.7": partial(_weighted, 0.7),
}


def main() -> None:
    """Measure the named sets, print a table and write a result file for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="hotpot", help=f"of {','.join(SETS)}, or all")
    parser.add_argument("--limit", type=int, default=0, help="first queries of each set; 0: all")
    options = parser.parse_args()
    names = list(SETS) if options.sets == "all" else options.sets.split(",")
    for name in names:
        if name not in SETS:
            parser.error(f"no set {name!r}; there are {', '.join(SETS)}")
    for name in names:
        figures = measure(SETS[name], options.limit)
        save(f"retrieval-{name}", figures)
        print("\n".join(table(figures)))


def measure(chosen: JudgedSet, limit: int) -> dict[str, Any]:
    """All runs over one set."""
    started = time.perf_counter()
    with filled(chosen.name, chosen.write) as kb:
        ready = time.perf_counter()
        queries = list(chosen.queries(kb))[: limit or None]
        scores = _score(kb, chosen, queries)
        passages = sum(row.passages for row in kb.catalogue.listings.kinds())
    return {
        "set": chosen.name,
        "about": chosen.about,
        "queries": len(queries),
        "passages": passages,
        "without place": sum(query.place is None for query in queries)
        if PLACE in chosen.measures
        else 0,
        "ingest seconds": round(ready - started, 1),
        "runs": {
            run: {measure: asdict(bootstrap(values)) for measure, values in by_measure.items()}
            for run, by_measure in scores.items()
        },
        "default less": _differences(scores),
    }


def _score(
    kb: KnowledgeBase, chosen: JudgedSet, queries: Sequence[Query]
) -> dict[str, dict[str, list[float]]]:
    """Run and measure to one score per query, in order."""
    scores: dict[str, dict[str, list[float]]] = {
        run: {measure: [] for measure in chosen.measures}
        for run in (DEFAULT_RUN, LED_ON, PLAIN, *RUNS)
    }
    everywhere = Filters()
    plain = PlainBM25(kb)
    for query in queries:
        vector = kb.embedder.embed([query.text], "query")[0]
        lists = {
            TEXT: kb.index.search_text(query.text, everywhere, DEPTH),
            VECTOR: kb.index.search_vector(vector, everywhere, DEPTH),
        }
        made = {run: fuse(lists) for run, fuse in RUNS.items()} | {
            DEFAULT_RUN: _shipped(kb, query.text),
            LED_ON: _led_on(kb, query.text),
            PLAIN: plain.search(query.text, DEPTH),
        }
        for run, found in made.items():
            ranked = ranking(query, found)
            for name, function in chosen.measures.items():
                value = (
                    place_right(query, found) if name == PLACE else function(ranked, query.grades)
                )
                scores[run][name].append(value)
    return scores


def _differences(scores: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any]:
    """The default run less each other run by the first measure, case by case."""
    main_measure = next(iter(scores[DEFAULT_RUN]))
    default = scores[DEFAULT_RUN][main_measure]
    return {
        run: asdict(paired_difference(default, by_measure[main_measure]))
        for run, by_measure in scores.items()
        if run != DEFAULT_RUN
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The runs of one set as a Markdown table."""
    names = list(next(iter(figures["runs"].values())))
    lines = [
        f"**{figures['about']}** (n = {figures['queries']:,}, {figures['passages']:,} passages)",
        "",
        f"| run | {' | '.join(names)} | {DEFAULT_RUN} is better by ({names[0]}) |",
        f"|---|{'---|' * (len(names) + 1)}",
    ]
    for run, found in figures["runs"].items():
        cells = [
            f"{found[name]['mean']:.3f} [{found[name]['low']:.3f}, {found[name]['high']:.3f}]"
            for name in names
        ]
        less = figures["default less"].get(run)
        cells.append(
            f"{less['mean']:+.3f} [{less['low']:+.3f}, {less['high']:+.3f}]" if less else "–"
        )
        lines.append(f"| {run} | {' | '.join(cells)} |")
    if figures["without place"]:
        lines += ["", f"{figures['without place']} queries have no findable place and score zero."]
    return [*lines, ""]


if __name__ == "__main__":
    main()
