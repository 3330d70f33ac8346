"""Mentions: which newsletters name which topics, against what their editors linked.

    python -m benchmarks.mentions

Two golds, both at the level of documents: the list of newsletters under each topic
(``derived/mentions.jsonl``), and the links from newsletters to topics (``[text][topic name]``).
A name that is not linked is no error of ours: editors do not link every one, and had no topics to
link to in the first years. So precision against the links is a floor, counted for the years in
which they were the custom; the examples printed tell how far below the truth it is.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.optech import lines, read
from benchmarks.paths import eval_data
from benchmarks.record import save
from wellread.identity import document_id
from wellread.ingest.joining.mention_linking import forms_of, link_mentions
from wellread.store.catalogue import Catalogue
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Document, EntityFacts

COLLECTION = "c"
LINKS_SINCE = "2021"  # from then on newsletters link topics as a rule
SEED = 11
LISTED = 20
AROUND = 60  # characters shown on both sides of a mention

Pair = tuple[str, str]  # topic, path of a newsletter


def main() -> None:
    """Measure, print, write ``results/mentions.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--list", type=int, default=LISTED, help="examples printed of each kind")
    options = parser.parse_args()
    archive = read(eval_data("bitcoin_optech"), "optech.yaml")
    found = {
        path: one
        for path, documents in archive.documents.items()
        for one in documents
        if path.startswith(("_topics/en/", "_posts/en/newsletters/"))
    }
    with tempfile.TemporaryDirectory() as folder:
        catalogue = Catalogue.open(Path(folder) / "catalogue.db")
        try:
            figures = measure(catalogue, found, options.list)
        finally:
            catalogue.close()
    shown = figures.pop("examples")
    save("mentions", figures)
    print("\n".join(shown))
    print(json.dumps(figures, indent=1, ensure_ascii=False))


def measure(catalogue: Catalogue, found: dict[str, Document], listed: int) -> dict[str, Any]:
    """Link the archive's newsletters to its topics, and count."""
    keep(catalogue, found.values())
    paths = {document_id(COLLECTION, one.uri): path for path, one in found.items()}
    letters = {path: one for path, one in found.items() if path.startswith("_posts")}
    topics = {one.id for one in catalogue.graph.entities([COLLECTION], ["topic"])}
    first = time.perf_counter()
    link_mentions(catalogue, COLLECTION)
    first = time.perf_counter() - first
    again = time.perf_counter()
    link_mentions(catalogue, COLLECTION)
    again = time.perf_counter() - again
    named = mentioned(catalogue, topics, paths, letters)
    listing = {(one["topic"], one["doc"]) for one in lines(gold_file())}
    linked = links(catalogue, topics, letters)
    late = {path for path in letters if path.rpartition("/")[2] >= LINKS_SINCE}
    extra = sorted(pair for pair in named if pair[1] in late and pair not in linked | listing)
    missing = sorted(linked - set(named))
    random.Random(SEED).shuffle(extra)
    random.Random(SEED).shuffle(missing)
    return {
        "newsletters": len(letters),
        "topics": len(topics),
        "characters": sum(len(one.text) for one in letters.values()),
        "seconds": round(first, 2),
        "milliseconds when nothing changed": round(1000 * again, 1),
        "mentions": sum(named.values()),
        "pairs of topic and newsletter": len(named),
        "listed under the topic": recall(listing, named),
        "linked": recall(linked, named),
        "precision against links and list, since 2021": share(
            len([pair for pair in named if pair[1] in late and pair in linked | listing]),
            len([pair for pair in named if pair[1] in late]),
        ),
        "names that several entities claim": [
            folded
            for folded, those in forms_of(catalogue.graph.scans.named_entities(COLLECTION)).items()
            if len({form.entity_id for form in those if form.rank == those[0].rank}) > 1
        ],
        "named without a link, most often": dict(Counter(one for one, _ in extra).most_common(12)),
        "linked without the name, most often": dict(
            Counter(one for one, _ in missing).most_common(12)
        ),
        "examples": [
            *examples(catalogue, extra[:listed], paths, found),
            *(f"linked, not named: {topic} in {path[-25:]}" for topic, path in missing[:listed]),
        ],
    }


def keep(catalogue: Catalogue, documents: Iterable[Document]) -> None:
    """Put the documents into the catalogue, without passages."""
    changes = [
        SourceChange(
            record=SourceRecord(collection=COLLECTION, uri=one.uri),
            documents=[DocumentChange(document=one, passages=())],
        )
        for one in documents
    ]
    catalogue.commit(changes)


def gold_file() -> Path:
    """Newsletters by topic, as the archive's editors list them."""
    return eval_data("bitcoin_optech", "derived", "mentions.jsonl")


def mentioned(
    catalogue: Catalogue, topics: Iterable[str], paths: dict[str, str], letters: Iterable[str]
) -> Counter[Pair]:
    """Topic and newsletter to how often the newsletter names it."""
    wanted, found = set(letters), Counter[Pair]()
    for topic in topics:
        for one in catalogue.graph.documents_mentioning([COLLECTION], topic, limit=len(paths)):
            if paths[one.document.id] in wanted:
                found[topic, paths[one.document.id]] = one.mentions
    return found


def links(catalogue: Catalogue, topics: set[str], letters: dict[str, Document]) -> set[Pair]:
    """Topic and newsletter for each link from the one to the other."""
    homes = {facts_of(one).entity_id: path for path, one in letters.items()}
    return {
        (edge.target, homes[edge.source])
        for edge in catalogue.graph.edges([COLLECTION])
        if edge.type == "links_to" and edge.target in topics and edge.source in homes
    }


def facts_of(document: Document) -> EntityFacts:
    assert document.entity is not None
    return document.entity


def recall(gold: set[Pair], named: Counter[Pair]) -> dict[str, Any]:
    return share(len([pair for pair in gold if pair in named]), len(gold))


def share(right: int, n: int) -> dict[str, Any]:
    return {"right": right, "n": n, "share": round(right / n, 3) if n else None}


def examples(
    catalogue: Catalogue, pairs: Sequence[Pair], paths: dict[str, str], found: dict[str, Document]
) -> list[str]:
    """The first mention of each pair with the words around it."""
    ids = {path: known for known, path in paths.items()}
    shown = []
    for topic, path in pairs:
        text = found[path].text
        named = catalogue.graph.entities_in(ids[path])
        place = next(one.places[0] for one in named if one.node.id == topic)
        before = text[max(0, place.span.start - AROUND) : place.span.start]
        after = text[place.span.end : place.span.end + AROUND]
        around = f"{before}⟦{place.span.of(text)}⟧{after}".replace("\n", " ")
        shown.append(f"named, not linked: {topic} in {path[-25:]}: {around}")
    return shown


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = ["| measure | right | of | share |", "|---|---|---|---|"]
    for name in (
        "linked",
        "listed under the topic",
        "precision against links and list, since 2021",
    ):
        row = figures[name]
        lines.append(f"| {name} | {row['right']:,} | {row['n']:,} | {row['share']:.3f} |")
    lines += [
        "",
        f"{figures['mentions']:,} mentions in {figures['seconds']} s; "
        f"{figures['milliseconds when nothing changed']} ms when nothing changed.",
    ]
    return lines


if __name__ == "__main__":
    main()
