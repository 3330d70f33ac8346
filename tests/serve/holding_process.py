"""A process that has a home open until it is ended, for test_kept_log.py: ``how home folder``.

``serve`` and ``watch`` do as the commands do; ``python`` does what it reads: ``add`` or ``remove``,
and a name.
"""

import sys
import threading
from pathlib import Path

from tests.ingest.adding_process import parse_alone

from wellread.facade import Wellread
from wellread.ingest.watch import watch
from wellread.serve.http.app import serve
from wellread.testing.embedding import ReadableEmbedder


def told(what: object) -> None:
    print(what, flush=True)


def main() -> None:
    parse_alone()
    how, home, folder = sys.argv[1:]
    with Wellread(Path(home), embedder=ReadableEmbedder()) as held:
        if how == "serve":
            serve(held.kb, "127.0.0.1", 0, on_ready=told)
        elif how == "watch":
            stop = threading.Event()
            watch(held.kb, [folder], collection="default", on_report=told, stop=stop)
        told("ready")
        for line in sys.stdin:
            command, name = line.split()
            getattr(held, command)(name)
            told("done")


if __name__ == "__main__":
    main()
