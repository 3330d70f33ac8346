"""A process that adds a folder in many small windows, for test_kill.py; it kills itself at it.

It waits for a line ``home folder point times`` (JSON): a point of ``fault_points`` and how often it
is passed before the blow.
"""

import json
import sys
from pathlib import Path

import pytest
from tests.ingest.fault_points import ADDING, strike

from wellread.ingest import run
from wellread.ingest.pipeline import commit
from wellread.ingest.pipeline.parse import Parsed, ParseRequest, parse
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder


def parsed(self: WorkerPool, request: ParseRequest, data: bytes | None) -> Parsed:
    """What a parser process would say."""
    return parse(request, data)


def parse_alone() -> None:
    """Parse in this process: parsers of its own would only have to be started."""
    pytest.MonkeyPatch().setattr(WorkerPool, "_parse", parsed)


def main() -> None:
    run.WINDOW_PASSAGES = commit.BATCH_PASSAGES = 4
    parse_alone()
    home, folder, point, times = json.loads(sys.stdin.readline())
    strike(ADDING, point, times)
    with open_kb(Path(home), embedder=ReadableEmbedder()) as kb:
        run.add(kb, [folder])


if __name__ == "__main__":
    main()
