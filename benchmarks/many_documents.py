"""Pages of a hundred times the documents, without the hours that a million passages take.

    python -m benchmarks.many_documents

The base of 10,000 passages that ``benchmarks.scale`` takes in, and a copy of it in which the rows
of documents, their names and their mentions stand a hundred times, under other ids. The copy has no
texts or index of the added documents: only pages that read neither are measured.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks import scale
from benchmarks.paths import CACHE
from benchmarks.record import save
from wellread.kb.home_catalogue import CATALOGUE_FILE

TIMES = 100
TABLES = {"documents": "id", "document_names": "document_id", "mentions": "document_id"}
TABLES |= {"mention_scans": "document_id"}
READ = (
    *("library", "library, last page", "library, one collection", "library, by words"),
    *("recordings", "timelines", "entities", "coverage", "health", "stories"),
)


def main() -> None:
    """Measure both bases, print the table, write ``results/many_documents.json``."""
    small = CACHE / "scale-10000"
    if not (small / "home" / CATALOGUE_FILE).exists():
        scale.taken_in(small, 10_000)
    scale.PAGES = {name: scale.PAGES[name] for name in READ}
    with tempfile.TemporaryDirectory(prefix="many-") as folder:
        large = Path(folder)
        shutil.copytree(small / "home", large / "home")
        documents = multiply(large / "home" / CATALOGUE_FILE)
        found = {place: scale.pages(place, 100)["pages"] for place in (small, large)}
    print(f"| page | small | {documents:,} documents | ratio |")
    for name in READ:
        less, more = (found[place][name]["p50"] for place in (small, large))
        print(f"| {name} | {less} ms | {more} ms | {more / less:.2f} |")
    pages = {"small": found[small], "large": found[large]}
    save("many_documents", {"documents": documents} | pages)


def multiply(file: Path) -> int:
    """Write the rows of every document again under other ids; return the number of documents."""
    with closing(sqlite3.connect(file)) as catalogue, catalogue:
        catalogue.execute("PRAGMA foreign_keys = OFF")
        catalogue.execute("CREATE TEMP TABLE base AS SELECT id FROM documents")
        for turn in range(1, TIMES):
            for table, key in TABLES.items():
                names = [row[1] for row in catalogue.execute(f"PRAGMA table_info({table})")]
                new = {name: f'"{name}"' for name in names}
                new[key] = f"substr({key}, 1, length({key}) - 3) || '{turn:03x}'"
                if table == "documents":
                    new["uri"] = f"uri || '#{turn}'"
                columns = ", ".join(f'"{name}"' for name in names)
                catalogue.execute(
                    f"INSERT OR IGNORE INTO {table} ({columns}) SELECT {', '.join(new.values())}"
                    f" FROM {table} WHERE {key} IN (SELECT id FROM base)"
                )
        (count,) = catalogue.execute("SELECT count(*) FROM documents").fetchone()
    return int(count)


if __name__ == "__main__":
    main()
