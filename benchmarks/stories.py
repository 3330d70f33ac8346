"""Do the news items of one topic gather in its stories?

    python -m benchmarks.stories            the figures, into results/stories.json
    python -m benchmarks.stories --failures 20   also pairs of one topic in two stories

Optech's newsletters go through the loader and ``ingest.stories.story_refresh``; the topic index
that its editors keep is the gold standard (``story_gold.py``). Settings were chosen on half of the
topics; the other half is the report. A topic there is often wider than a story (all of taproot's
five years), so that recall is bounded by design.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import record
from benchmarks.clusters import judge
from benchmarks.homes import default_embedder, open_home
from benchmarks.paths import CACHE
from benchmarks.story_gold import COLLECTION, Gold, gold, newsletters
from wellread.ask.retrieve.direct import find_stories
from wellread.identity import document_id, tagged_hash
from wellread.ingest.joining.story_clusters import Clusters
from wellread.ingest.joining.story_refresh import refresh_stories
from wellread.ingest.pipeline.commit import index_rows
from wellread.ingest.pipeline.parse import split
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Filters, Span

DEV, TEST = 0, 1
THRESHOLDS = (0.08, 0.10, 0.12, 0.14, 0.17, 0.20)
WINDOWS = (30, 90, 180, 365, 730, 0)
VECTOR_THRESHOLDS = (0.50, 0.55, 0.60, 0.65)
VECTOR_CHARACTERS = 1_000
DEPTHS = (1, 5)
EMBED_SLICE = 256
ANY_TIME = datetime(2009, 1, 3, tzinfo=UTC)
SEED = 5

Floats = NDArray[np.float32]
Labels = Sequence[Hashable]


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", type=int, default=0, help="pairs to print")
    wanted = parser.parse_args()
    found = gold()
    vectors = _vectors(found)
    with _home() as kb:
        kb.catalogue.stories.begin(COLLECTION, "made anew")
        moments = [time.perf_counter()]
        report = refresh_stories(kb, COLLECTION)
        moments.append(time.perf_counter())
        refresh_stories(kb, COLLECTION)
        moments.append(time.perf_counter())
        labels = _labels(kb, found)
        asked = _asked(kb, found, labels, vectors)
    figures = {
        "newsletters": len(newsletters()),
        "items": len(found.items),
        "judged items": len(found.topics),
        "topics": len({name for names in found.topics.values() for name in names}),
        "mapped": found.mapped,
        "stories": len(set(labels)),
        "repeats": report.repeats,
        "refresh seconds": round(moments[1] - moments[0], 1),
        "refresh seconds without news": round(moments[2] - moments[1], 4),
        "runs": _runs(found, labels, vectors),
        "thresholds": {
            f"{value:.2f}": _judged(found, _grouped(found, value, 730), DEV) for value in THRESHOLDS
        },
        "windows": {
            str(days or "never"): _judged(found, _grouped(found, 0.12, days), DEV)
            for days in WINDOWS
        },
        "asked": asked,
    }
    print(record.save("stories", figures))
    print("\n".join(table(figures)))
    _print_failures(found, labels, wanted.failures)


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown."""
    mapped = figures["mapped"]
    total = sum(mapped.values())
    lines = [
        f"**Optech: {figures['items']:,} news items of {figures['newsletters']} newsletters, "
        f"{figures['judged items']:,} of them in {figures['topics']} topics** "
        f"({total - mapped.get('not found', 0):,} of {total:,} mentions found: "
        f"{mapped['anchor']:,} by anchor, {mapped['words']:,} by words)",
        "",
        "| report half of the topics | purity | inverse purity | pairs: precision | recall | F1 "
        "| B-cubed F1 | groups |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, halves in figures["runs"].items():
        lines.append(f"| {name} | {_cells(halves['test'])} |")
    for name, halves in list(figures["runs"].items())[:2]:
        lines.append(f"| development half: {name} | {_cells(halves['dev'])} |")
    lines += ["", "| development half: threshold | " + _SHORT, "|---|---|---|---|---|---|"]
    lines += [f"| {name} | {_short(run)} |" for name, run in figures["thresholds"].items()]
    lines += ["", "| development half: days until a story is over | " + _SHORT]
    lines += ["|---|---|---|---|---|---|"]
    lines += [f"| {name} | {_short(run)} |" for name, run in figures["windows"].items()]
    asked = figures["asked"]
    lines += [
        "",
        f"Asked with the editor's line about an item (n = {asked['queries']:,} of all topics), "
        f"`find_stories` without a time window has the item's story first in "
        f"{asked['hit@1']:.3f} of the cases and among the first five in {asked['hit@5']:.3f}; the "
        f"item itself is among the three that it gives of it in {asked['item given']:.3f}. By the "
        f"mean vector of each story's items it would be {asked['centroid hit@1']:.3f} and "
        f"{asked['centroid hit@5']:.3f}. {figures['repeats']} items are near-duplicates. Building "
        f"took {figures['refresh seconds']:.1f} s, a refresh without news "
        f"{1000 * figures['refresh seconds without news']:.0f} ms.",
    ]
    return lines


_SHORT = "purity | precision | recall | F1 | B-cubed F1 |"


def _cells(run: Mapping[str, float]) -> str:
    names = ("purity", "inverse_purity", "precision", "recall", "f1", "bcubed_f1")
    return " | ".join([*(f"{run[name]:.3f}" for name in names), f"{run['groups']:,}"])


def _short(run: Mapping[str, float]) -> str:
    return " | ".join(
        f"{run[name]:.3f}" for name in ("purity", "precision", "recall", "f1", "bcubed_f1")
    )


def _home() -> KnowledgeBase:
    """The home of the newsletters as articles, with their index; kept between runs."""
    kb = open_home("stories")
    if len(kb.catalogue.documents(COLLECTION)) == len(newsletters()):
        return kb
    changes, rows = [], []
    for _, document in newsletters():
        passages = split(document, kb.live().tokens, count_tokens)
        rows += index_rows(document, passages)
        changes.append(
            SourceChange(
                record=SourceRecord(collection=COLLECTION, uri=document.uri, digest="-"),
                documents=(DocumentChange(document=document, passages=passages),),
            )
        )
    kb.index.write(rows, _embedded([f"{row.context}\n{row.text}" for row in rows]))
    kb.catalogue.commit(changes)
    kb.index.optimize()
    return kb


def _labels(kb: KnowledgeBase, found: Gold) -> list[str]:
    """The story of each item."""
    stories = {item.key: item.story_id for item in kb.catalogue.stories.placed(COLLECTION)}
    return [
        stories[document_id(COLLECTION, item.document.uri), item.span.start] for item in found.items
    ]


def _grouped(found: Gold, threshold: float, days: int) -> list[str]:
    """The stories that other settings would make."""
    clusters = Clusters(threshold, timedelta(days=days) if days else None)
    return [
        clusters.place(
            (item.newsletter, item.span.start),
            item.title,
            item.text,
            item.document.published_at,
            str(place),
        ).story
        for place, item in enumerate(found.items)
    ]


def _runs(found: Gold, labels: Labels, vectors: Floats) -> dict[str, Any]:
    by_vectors = {value: _by_vectors(vectors, value) for value in VECTOR_THRESHOLDS}
    best = max(by_vectors, key=lambda value: _judged(found, by_vectors[value], DEV)["f1"])
    runs: dict[str, Labels] = {
        "stories": labels,
        f"same, by embeddings of the items (least cosine {best:.2f})": by_vectors[best],
        "one story per newsletter": [item.newsletter for item in found.items],
        "every item alone": range(len(found.items)),
        "all in one": [0] * len(found.items),
    }
    return {
        name: {"dev": _judged(found, run, DEV), "test": _judged(found, run, TEST)}
        for name, run in runs.items()
    }


def _judged(found: Gold, labels: Labels, half: int) -> dict[str, float]:
    return asdict(judge(labels, found.half(half)))


def _vectors(found: Gold) -> Floats:
    """Vectors of the items' beginnings, kept in the cache."""
    texts = [f"{item.title}\n{item.text[:VECTOR_CHARACTERS]}" for item in found.items]
    kept = CACHE / f"{tagged_hash('stv', default_embedder().identity, *texts)}.npy"
    if kept.exists():
        return np.asarray(np.load(kept), dtype=np.float32)
    vectors = _embedded(texts)
    np.save(kept, vectors)
    return vectors


def _embedded(texts: Sequence[str]) -> Floats:
    embedder = default_embedder()
    starts = range(0, len(texts), EMBED_SLICE)
    return np.concatenate(
        [embedder.embed(texts[start : start + EMBED_SLICE], "passage") for start in starts]
    )


def _by_vectors(vectors: Floats, threshold: float) -> list[int]:
    """Each item joins the group with the nearest mean, or founds one: as stories do, by meaning."""
    totals = np.zeros_like(vectors)
    means = np.zeros_like(vectors)
    labels: list[int] = []
    groups = 0
    for vector in vectors:
        near = means[:groups] @ vector
        best = int(near.argmax()) if groups else 0
        if not groups or near[best] < threshold:
            best, groups = groups, groups + 1
        totals[best] += vector
        means[best] = totals[best] / np.linalg.norm(totals[best])
        labels.append(best)
    return labels


def _asked(
    kb: KnowledgeBase, found: Gold, labels: Sequence[str], vectors: Floats
) -> dict[str, float]:
    """Whether an editor's line about an item finds its story, and the item in it."""
    names = sorted(set(labels))
    numbers = {name: place for place, name in enumerate(names)}
    means = np.zeros((len(names), vectors.shape[1]), dtype=np.float32)
    for label, vector in zip(labels, vectors, strict=True):
        means[numbers[label]] += vector
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    places: list[int] = []
    given: list[bool] = []
    by_mean: list[int] = []
    for line, item in found.mentions:
        limits = Filters(collections=(COLLECTION,), published_from=ANY_TIME)
        stories = find_stories(kb, line, limits, top_k=DEPTHS[-1])
        ids = [one.story.id for one in stories]
        place = ids.index(labels[item]) if labels[item] in ids else DEPTHS[-1]
        places.append(place)
        wanted = (document_id(COLLECTION, found.items[item].document.uri), found.items[item].span)
        items = stories[place].items if place < len(stories) else ()
        given.append(
            wanted[0] in [document.id for document, span in items if _same(span, wanted[1])]
        )
        similar = means @ kb.live().embedder.embed([line], "query")[0]
        by_mean.append(int((similar > similar[numbers[labels[item]]]).sum()))
    return {
        "queries": len(places),
        "item given": float(np.mean(given)),
        **{f"hit@{depth}": float(np.mean(np.array(places) < depth)) for depth in DEPTHS},
        **{f"centroid hit@{depth}": float(np.mean(np.array(by_mean) < depth)) for depth in DEPTHS},
    }


def _same(one: Span, other: Span) -> bool:
    return one.start == other.start


def _print_failures(found: Gold, labels: Labels, count: int) -> None:
    """Pairs of items of one development topic that are in two stories."""
    draw = random.Random(SEED)
    half = found.half(DEV)
    pairs = [
        (name, one, other)
        for one, names in half.items()
        for other, others in half.items()
        if one < other and labels[one] != labels[other]
        for name in sorted(names & others)[:1]
    ]
    for name, one, other in draw.sample(pairs, min(count, len(pairs))):
        print(f"\n{name}")
        for place in (one, other):
            print(f"  {found.items[place].newsletter[:10]}  {found.items[place].title}")


if __name__ == "__main__":
    main()
