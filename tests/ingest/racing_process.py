"""A process that adds a source when it is told to, for test_on_postgresql.py."""

import sys
from pathlib import Path

from tests.ingest.adding_process import parse_alone

from wellread.ingest import run
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder


def main() -> None:
    run.WINDOW_PASSAGES = 4
    parse_alone()
    with open_kb(Path(sys.argv[1]), embedder=ReadableEmbedder()) as kb:
        kb.catalogue.listings.kinds()
        print("ready", flush=True)
        sys.stdin.readline()
        run.add(kb, [sys.argv[2]])


if __name__ == "__main__":
    main()
