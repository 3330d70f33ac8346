"""Fast vectors first: how soon many small files can be asked, and how well until vectors follow.

    python -m benchmarks.fast_first --files 10000 --sets covid,hotpot

Three ways of one ``add``, each into a home of its own: as shipped (words at once, full vectors
behind them on a second thread), words alone (vectors that cost nothing), static vectors in place of
full ones. Told are the seconds until a sentence of a written file is found by ``search``, until the
last file is found by words, and until the last vector is there. As shipped is stopped ``--seconds``
after the last file is found; the rest is then reckoned from the rate of its vectors so far.

Quality is that of ``search`` by the first five (recall): words alone, static vectors, and full
vectors of a share of the documents, drawn by chance, the others having none yet.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.beside_others import NoVectors
from benchmarks.homes import default_embedder, documents, filled, ingest, refresh
from benchmarks.made_files import Sentences
from benchmarks.paths import CACHE
from benchmarks.record import save
from benchmarks.retrieval import SETS, candidates_of
from benchmarks.sets.judged import JudgedSet, Query, at, ranking
from wellread.ask.retrieve.search import SearchMode, search
from wellread.evaluation.scores import bootstrap
from wellread.ingest.pipeline.job_log import Progress
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder
from wellread.models.embedders.static_embedder import StaticEmbedder
from wellread.types import Candidate, Filters

SEED = 102
SENTENCES = 10  # of a file
TOP, LISTED = 5, 20
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
(RECALL,) = at(TOP, "recall").values()


class EnoughError(Exception):
    """The run has told what it can within its time."""


class Clock:
    """Notes when the first file is found, the last is written, and how many vectors are there."""

    def __init__(self, kb: KnowledgeBase, sentence: str, seconds: float) -> None:
        self._kb, self._sentence, self._seconds = kb, sentence, seconds
        self._started = time.perf_counter()
        self.first = self.last_written = 0.0
        self.written = self.vectors = 0
        self.now = 0.0

    def __call__(self, progress: Progress) -> None:
        self.now = time.perf_counter() - self._started
        if progress.passages_written > self.written:
            self.written, self.last_written = progress.passages_written, self.now
        self.vectors = progress.passages_done
        if self.written and not self.first:
            found = search(self._kb, self._sentence, Filters(), limit=1)
            if not found or self._sentence not in found[0].passage.text:
                raise SystemExit(f"{self._sentence!r} is written and not found")
            self.first = time.perf_counter() - self._started
        complete = progress.sources_total == progress.sources_done > 0
        if complete and self.vectors and self.now - self.last_written > self._seconds:
            raise EnoughError


def main() -> None:
    """Print both tables and write ``results/fast_first.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument(
        "--seconds", type=float, default=120, help="for vectors after the last file"
    )
    parser.add_argument("--sets", default="covid,hotpot", help=f"of {','.join(SETS)}")
    options = parser.parse_args()
    static = StaticEmbedder(CACHE / "model")
    ways: dict[str, Embedder] = {
        "as shipped": default_embedder(),
        "words alone": NoVectors(),
        "static vectors": static,
    }
    files = CACHE / "sources" / f"fast-first-{options.files}"
    sentence = write_files(files, options.files)
    few = CACHE / "sources" / "fast-first-1"
    timed(few, write_files(few, 1), static, 0)  # the first run imports, which is nobody's figure
    figures: dict[str, Any] = {"files": options.files, "seconds": options.seconds}
    figures["ways"] = {
        name: timed(files, sentence, embedder, options.seconds) for name, embedder in ways.items()
    }
    figures["quality"] = {
        name: quality(SETS[name], static) for name in options.sets.split(",") if name
    }
    save("fast_first", figures)
    print("\n".join(table(figures)))


def write_files(folder: Path, count: int) -> str:
    """Write small files; a sentence of the first one."""
    sentences = Sentences(SEED)
    texts = [" ".join(sentences.one() for _ in range(SENTENCES)) for _ in range(count)]

    def write(fresh: Path) -> None:
        for number, text in enumerate(texts):
            (fresh / f"{number:06}.txt").write_text(text, encoding="utf-8")

    refresh(folder, write)
    return texts[0].partition(". ")[0]


def timed(files: Path, sentence: str, embedder: Embedder, seconds: float) -> dict[str, Any]:
    """Seconds of one ``add`` of the folder until each thing is there."""
    embedder.embed(["The first call is slower."], "passage")
    with (
        TemporaryDirectory(dir=CACHE) as home,
        open_kb(Path(home), embedder=embedder) as kb,
    ):
        clock = Clock(kb, sentence, seconds)
        processor = time.process_time()
        try:
            add(kb, [str(files)], on_progress=clock)
        except EnoughError:
            cut_short = True
        else:
            cut_short = False
        processor = time.process_time() - processor
    rate = clock.vectors / clock.now
    return {
        "passages": clock.written,
        "first found": round(clock.first, 1),
        "last found by words": round(clock.last_written, 1),
        "vectors": clock.vectors,
        "vectors/s": round(rate, 1),
        "last vector": round(clock.written / rate if cut_short else clock.now, 1),
        "reckoned": cut_short,
        "processor seconds": round(processor, 1),
    }


# --- quality -----------------------------------------------------------------------------------


def quality(chosen: JudgedSet, static: Embedder) -> dict[str, Any]:
    """Recall of each state of a set."""
    states: dict[str, list[float]] = {}
    with filled(chosen.name, chosen.write) as kb:
        queries = list(chosen.queries(kb))
        states["words alone"] = scores(kb, queries, "text")
        for share in SHARES:
            with_part_of_vectors(kb, share)
            states[f"{share:.0%} of the vectors"] = scores(kb, queries, "hybrid")
    with open_kb(CACHE / "homes" / f"{chosen.name}-static", embedder=static) as kb:
        ingest(kb, CACHE / "sources" / chosen.name)
        states["static vectors"] = scores(kb, list(chosen.queries(kb)), "hybrid")
    return {
        "about": chosen.about,
        "states": {name: asdict(bootstrap(values)) for name, values in states.items()},
    }


def scores(kb: KnowledgeBase, queries: Sequence[Query], mode: SearchMode) -> list[float]:
    """Recall by question."""
    found = (search(kb, each.text, Filters(), mode=mode, limit=LISTED) for each in queries)
    return [
        RECALL(ranking(query, candidates_of(hits)), query.grades)
        for query, hits in zip(queries, found, strict=True)
    ]


def with_part_of_vectors(kb: KnowledgeBase, share: float) -> None:
    """Make the index answer as if only ``share`` of the documents had vectors."""
    index = kb.live().index
    held = sorted({row.id for row in documents(kb)})
    having = set(random.Random(SEED).sample(held, round(share * len(held))))
    rows = index.rows()

    def part(vector: Any, filters: Filters, limit: int) -> list[Candidate]:
        listed = type(index).search_vector(index, vector, filters, rows)
        return [one for one in listed if one.document_id in having][:limit]

    setattr(index, "search_vector", part)  # noqa: B010 - mypy refuses the plain assignment


def table(figures: Mapping[str, Any]) -> list[str]:
    """Times, then quality."""
    heads = ("first found", "last found by words", "vectors/s", "last vector", "processor seconds")
    lines = [
        f"{figures['files']:,} files; seconds.",
        "",
        f"| way | passages | {' | '.join(heads)} |",
        f"|---|---|{'---|' * len(heads)}",
    ]
    for name, row in figures["ways"].items():
        mark = " (reckoned)" if row["reckoned"] else ""
        cells = [f"{row[head]:,}{mark if head == 'last vector' else ''}" for head in heads]
        lines.append(f"| {name} | {row['passages']:,} | {' | '.join(cells)} |")
    found = figures["quality"]
    if not found:
        return lines
    lines += ["", f"| recall@{TOP} | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for state in next(iter(found.values()))["states"]:
        row = [each["states"][state] for each in found.values()]
        cells = [f"{one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" for one in row]
        lines.append(f"| {state} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
