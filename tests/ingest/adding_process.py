"""A process that adds a folder in many small windows and is killed by test_kill.py while at it.

It loads everything first and waits for a line ``home folder`` (JSON), so that the time until it is
killed is spent in the home and not in imports. It says ``begun`` when the first source is read and
``done`` when the home is closed.
"""

import json
import sys
from pathlib import Path

from wellread.ingest import run
from wellread.ingest.pipeline.run_report import Progress
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder


class Begun:
    """Says so once."""

    def __init__(self) -> None:
        self.said = False

    def __call__(self, progress: Progress) -> None:
        if not self.said:
            self.said = True
            print("begun", flush=True)


def main() -> None:
    run.WINDOW_PASSAGES = 4
    print("ready", flush=True)
    home, folder = json.loads(sys.stdin.readline())
    with open_kb(Path(home), embedder=ReadableEmbedder()) as kb:
        report = run.add(kb, [folder], on_progress=Begun())
    assert report.counts()["failed"] == 0
    print("done", flush=True)


if __name__ == "__main__":
    main()
