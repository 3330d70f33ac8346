"""What closeness weighs: a word's rarity over the whole base or among the candidates; titles.

    python -m benchmarks.rarity --sets hotpot,scifact

Closeness (``models/open_reader.py``) weighs a question's words by how few of the 60
candidates hold them. Here the same candidates are put in order again with the rarity of the whole
base (passages that hold the word), with the mean of both, with every word worth the same, and, as
shipped but for that, with other weights of a title that holds the words.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.homes import filled
from benchmarks.record import save
from benchmarks.retrieval import SETS
from benchmarks.sets.judged import JudgedSet, Query, ranking
from wellread.ask.retrieve import search
from wellread.evaluation.scores import bootstrap, paired_difference
from wellread.kb import KnowledgeBase
from wellread.models import open_reader
from wellread.text.parsed import number_forms, stem
from wellread.types import Candidate, Filters, Passage

MOST = 300  # queries of a set, drawn by chance
KINDS = ("candidates", "base", "mean", "none")
TITLES = (0.0, 0.4, 0.7, 1.0)
Looked = Sequence[tuple[Candidate, float, Passage]]


def main() -> None:
    """Print a line for each way, write ``results/rarity.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="hotpot,scifact")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for name in options.sets.split(","):
        with filled(name, SETS[name].write) as kb:
            figures[name] = compared(kb, SETS[name])
        print(name, figures[name], flush=True)
    save("rarity", figures)


def compared(kb: KnowledgeBase, chosen: JudgedSet) -> dict[str, str]:
    """The first measure of the set by each kind of rarity, and what it is above the shipped one."""
    queries = list(chosen.queries(kb))
    if len(queries) > MOST:
        queries = random.Random(0).sample(queries, MOST)
    found = [(query, _looked(kb, query)) for query in queries]
    held, count = _held(kb)
    measure = next(iter(chosen.measures.values()))
    scores = {
        kind: [
            measure(ranking(query, _ordered(kb, query, looked)), query.grades)
            for query, looked in _with_rarity(found, _rarity(kind, held, count))
        ]
        for kind in KINDS
    }
    for weight in TITLES:
        with _title_weight(weight):
            scores[f"title {weight}"] = [
                measure(ranking(query, _ordered(kb, query, looked)), query.grades)
                for query, looked in found
            ]
    shipped = scores[KINDS[0]]
    return {
        kind: f"{bootstrap(values)} ({paired_difference(values, shipped)})"
        for kind, values in scores.items()
    }


def table(figures: dict[str, Any]) -> list[str]:
    """A row for each way, a column for each set."""
    sets = [name for name in SETS if name in figures]
    rows = [f"| weighed by | {' | '.join(sets)} |", "|---|" + "---|" * len(sets)]
    return rows + [
        f"| {kind} | {' | '.join(figures[name][kind] for name in sets)} |"
        for kind in figures[sets[0]]
    ]


@contextmanager
def _title_weight(weight: float) -> Iterator[None]:
    shipped, whole = open_reader.WEIGHT_TITLE, open_reader.TOTAL_WEIGHT
    open_reader.WEIGHT_TITLE, open_reader.TOTAL_WEIGHT = weight, whole - shipped + weight
    try:
        yield
    finally:
        open_reader.WEIGHT_TITLE, open_reader.TOTAL_WEIGHT = shipped, whole


def _looked(kb: KnowledgeBase, query: Query) -> Looked:
    """The candidates of a search before their words are looked at, with their scores."""
    settings, words = kb.settings.retrieval, number_forms(query.text)
    lists = search._candidates(
        kb.live(), query.text, words, Filters(), "hybrid", settings.candidates
    )
    fused = search._fuse(lists, settings, "hybrid")
    passages = kb.catalogue.live_passages([item.candidate.passage_id for item in fused])
    return [
        (item.candidate, item.score, passages[item.candidate.passage_id])
        for item in fused
        if item.candidate.passage_id in passages
    ]


def _held(kb: KnowledgeBase) -> tuple[Counter[str], int]:
    """How many passages of the base hold each stem, and how many passages there are."""
    held: Counter[str] = Counter()
    count = 0
    known = [item.id for item in kb.catalogue.listings.titles(())]
    for passage in kb.catalogue.passages_of(known):
        count += 1
        words = open_reader._WORD.findall(f"{passage.context} {passage.text}".lower())
        held.update({stem(word) for word in words})
    return held, count


def _rarity(kind: str, held: Counter[str], count: int) -> Callable[..., Any]:
    def worth(one: str, among: int, of: int) -> float:
        local = math.log(1 + (of - among + 0.5) / (among + 0.5))
        whole = math.log(1 + (count - held[one] + 0.5) / (held[one] + 0.5))
        whole *= math.log(1 + of) / math.log(1 + count)
        return {"candidates": local, "base": whole, "mean": (local + whole) / 2, "none": 1.0}[kind]

    def weighed(asked: Sequence[str], places: Sequence[Sequence[Any]]) -> Any:
        among = Counter(one for found in places for one in {place.stem for place in found})
        worths = {one: worth(one, among[one], len(places)) for one in dict.fromkeys(asked)}
        pairs = {
            (one, other): len(places) * (worths[one] + worths[other])
            for one, other in itertools.pairwise(asked)
            if one != other
        }
        return open_reader._Weights(
            worth=worths,
            total=sum(worths.values()) or 1.0,
            pairs=pairs,
            pairs_total=sum(pairs.values()) or 1.0,
        )

    return weighed


def _with_rarity(found: Sequence[tuple[Query, Looked]], weighed: Callable[..., Any]) -> Any:
    shipped = open_reader._weigh
    open_reader._weigh = weighed
    try:
        yield from found
    finally:
        open_reader._weigh = shipped


def _ordered(kb: KnowledgeBase, query: Query, looked: Looked) -> list[Candidate]:
    head, rest = looked[: search.CLOSENESS_DEPTH], looked[search.CLOSENESS_DEPTH :]
    texts = [passage.text for _, _, passage in head]
    share = kb.settings.retrieval.closeness * open_reader.closeness_weight(query.text, texts)
    close = open_reader.closeness(query.text, [(held.context, held.text) for _, _, held in head])
    scored = [
        ((1 - share) * score + share * near, candidate)
        for (candidate, score, _), near in zip(head, close, strict=True)
    ]
    scored.sort(key=lambda each: (-each[0], each[1].passage_id))
    return [*(candidate for _, candidate in scored), *(candidate for candidate, _, _ in rest)]


if __name__ == "__main__":
    main()
