"""Embedders side by side: the default and three bigger ones that a setting turns on.

    python -m benchmarks.encoders bge-small-en-v1.5.onnx e5-small-v2.onnx gte-small.onnx

Of each set some passages are drawn: all that answer the drawn queries, and others by chance. Each
embedder, one after the other in this process, embeds them as ingest does; the lists are then the
nearest vectors alone, and these joined with BM25 by the default weights.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.homes import filled
from benchmarks.paths import CACHE
from benchmarks.record import save
from benchmarks.retrieval import SETS, TEXT, VECTOR
from benchmarks.sets.judged import JudgedSet, Query, ranking
from wellread.ask.retrieve.ranking import weighted
from wellread.config import EmbeddingSettings
from wellread.evaluation.scores import Measure, bootstrap
from wellread.ingest.pipeline.commit import embedded_text
from wellread.kb import KnowledgeBase
from wellread.models.base import Embedder
from wellread.models.embedders.open_embedder import open_embedder
from wellread.types import Candidate, Filters, Passage

SEED = 5
LISTED = 100
DEEP = 1_000  # of the base's own list by words, of which the drawn passages are kept
DEFAULT = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Part of a set: queries with their list by words, and passages."""

    measure: Measure
    queries: Sequence[Query]
    texts: Sequence[Sequence[Candidate]]
    passages: Sequence[Passage]


def main() -> None:
    """Print a table, write ``results/encoders.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("models", nargs="+", help="files of docs/models.md")
    parser.add_argument("--sets", default="hotpot,scifact")
    parser.add_argument("--queries", type=int, default=80)
    parser.add_argument("--passages", type=int, default=500)
    parser.add_argument("--threads", type=int, default=0, help="of each model; 0: all cores")
    options = parser.parse_args()
    drawn = {}
    for name in options.sets.split(","):
        with filled(name, SETS[name].write) as kb:
            drawn[name] = draw(kb, SETS[name], options.queries, options.passages)
    figures: dict[str, Any] = {"sets": {name: _sizes(part) for name, part in drawn.items()}}
    figures["embedders"] = {}
    for path in ["", *options.models]:
        opening = time.perf_counter()
        settings = EmbeddingSettings(model_path=path, threads=options.threads)
        embedder = open_embedder(settings, CACHE / "model")
        found = measured(embedder, drawn)
        found["opened after"] = round(time.perf_counter() - opening - found["seconds"], 2)
        found["megabytes"] = round(Path(path).stat().st_size / 1e6, 1) if path else 23.5
        figures["embedders"][Path(path).stem or DEFAULT] = found
        print(path, found, flush=True)
        save("encoders", figures)
    print("\n".join(table(figures)))


def _sizes(part: Drawn) -> dict[str, int]:
    return {"queries": len(part.queries), "passages": len(part.passages)}


def draw(kb: KnowledgeBase, chosen: JudgedSet, queries: int, passages: int) -> Drawn:
    """Some queries, the passages of the documents that answer them, and others."""
    by_chance = random.Random(SEED)
    asked = list(chosen.queries(kb))
    asked = by_chance.sample(asked, min(queries, len(asked)))
    keys = kb.index.keys()
    held = list(kb.catalogue.live_passages([key.passage_id for key in keys]).values())
    held.sort(key=lambda one: one.id)
    wanted = {document for query in asked for document in query.grades}
    kept = [one for one in held if one.document_id in wanted]
    others = [one for one in held if one.document_id not in wanted]
    kept += by_chance.sample(others, max(0, min(passages - len(kept), len(others))))
    ids = {one.id for one in kept}
    texts = [
        [one for one in kb.index.search_text(query.text, Filters(), DEEP) if one.passage_id in ids]
        for query in asked
    ]
    measure = next(iter(chosen.measures.values()))
    return Drawn(measure=measure, queries=asked, texts=texts, passages=kept)


def measured(embedder: Embedder, drawn: Mapping[str, Drawn]) -> dict[str, Any]:
    """Quality on each set, passages a second, milliseconds a query."""
    embedder.embed(["The first run allocates memory."], "passage")
    quality = {}
    passages = spent = 0.0
    waits: list[float] = []
    usual: list[float] = []
    for name, part in drawn.items():
        started = time.perf_counter()
        vectors = embedder.embed([embedded_text(one) for one in part.passages], "passage")
        spent += time.perf_counter() - started
        passages += len(part.passages)
        alone, joined = [], []
        for query, texts in zip(part.queries, part.texts, strict=True):
            started = time.perf_counter()
            asked = embedder.embed([query.text], "query")[0]
            waits.append(time.perf_counter() - started)
            cosines = vectors @ asked
            usual.append(float(np.median(cosines)))
            near = _nearest(part.passages, cosines)
            lists = {TEXT: list(texts[:LISTED]), VECTOR: near}
            both = [one.candidate for one in weighted(lists, {TEXT: 0.5, VECTOR: 0.5}, {TEXT: 0.0})]
            alone.append(part.measure(ranking(query, near), query.grades))
            joined.append(part.measure(ranking(query, both), query.grades))
        quality[name] = {
            "vectors": asdict(bootstrap(alone)),
            "joined": asdict(bootstrap(joined)),
        }
    return {
        "identity": embedder.identity,
        "quality": quality,
        "passages a second": round(passages / spent, 1),
        "query milliseconds": round(1000 * sorted(waits)[len(waits) // 2], 1),
        "median cosine": round(float(np.median(usual)), 2),
        "seconds": round(spent + sum(waits), 1),
    }


def _nearest(passages: Sequence[Passage], cosines: Any) -> list[Candidate]:
    best = np.argsort(-cosines, kind="stable")[:LISTED]
    return [
        Candidate(
            passage_id=passages[place].id,
            document_id=passages[place].document_id,
            version=passages[place].version,
            span=passages[place].span,
            score=float(cosines[place]),
        )
        for place in best.tolist()
    ]


def table(figures: Mapping[str, Any]) -> list[str]:
    """A row for each embedder."""
    sets = figures["sets"]
    heads = [f"{name}: {kind}" for name in sets for kind in ("vectors", "joined")]
    tail = ["passages/s", "query ms", "usual cosine", "file MB"]
    lines = [
        "; ".join(
            f"{name}: {each['queries']} queries, {each['passages']} passages"
            for name, each in sets.items()
        ),
        "",
        f"| embedder | {' | '.join([*heads, *tail])} |",
        f"|---|{'---|' * (len(heads) + len(tail))}",
    ]
    for name, found in figures["embedders"].items():
        cells = [
            f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
            for each in sets
            for row in (found["quality"][each][kind] for kind in ("vectors", "joined"))
        ]
        keys = ("passages a second", "query milliseconds", "median cosine", "megabytes")
        lines.append(f"| {name} | {' | '.join([*cells, *(str(found[key]) for key in keys)])} |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
