"""A process that adds a folder in many small windows and is killed by test_kill.py while at it."""

import sys
from pathlib import Path

from wellread.ingest import run
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder


def main() -> None:
    home, folder = Path(sys.argv[1]), sys.argv[2]
    run.WINDOW_PASSAGES = 6
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        kb.catalogue.sources("default")
        print("ready", flush=True)
        sys.stdin.readline()
        report = run.add(kb, [folder])
    print(report.counts(), flush=True)


if __name__ == "__main__":
    main()
