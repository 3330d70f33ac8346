"""A parser process: reads requests on standard input, answers on standard output.

Started by ``workers.py`` as ``python -m wellread.ingest.parsing.worker MEMORY``. A message is one
line ``HEADER BYTES`` (two lengths), then a JSON header, then raw bytes (of a source that is no
file). JSON and not pickle, so that a hostile file that takes over a parser cannot reach further.

Once the kind of a source is known, ``{"allowed": MiB}`` is sent, and an empty message comes back
when so much is free; only then is it loaded.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from wellread.codec import from_plain, to_plain
from wellread.ingest.parsing.allowances import allowance
from wellread.ingest.parsing.confinement import close_network
from wellread.ingest.parsing.parse import ParseRequest, parse

if sys.platform != "win32":  # Windows has no such limits; time and size are limited there as well
    import resource

MEBIBYTE = 1 << 20


def send(stream: IO[bytes], header: Any, payload: bytes = b"") -> None:
    """Write one message."""
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    stream.write(b"%d %d\n" % (len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, bytes] | None:
    """Read one message; None when the other side has ended, also in the middle of one."""
    lengths = stream.readline().split()
    if len(lengths) != 2:
        return None
    size, extra = int(lengths[0]), int(lengths[1])
    encoded, payload = stream.read(size), stream.read(extra)
    if len(encoded) != size or len(payload) != extra:
        return None
    return json.loads(encoded), payload


def main() -> None:
    """Answer until standard input ends."""
    most = int(sys.argv[1])
    limit_memory(most)
    close_network()
    # What a parser prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer

    def confine(loader: str, size: int) -> None:
        allowed = allowance(loader, size, most)
        send(answers, {"allowed": allowed})
        if receive(requests) is None:
            sys.exit()
        limit_growth(allowed)

    while (message := receive(requests)) is not None:
        header, payload = message
        request = from_plain(ParseRequest, header)
        started = time.perf_counter()
        parsed = parse(request, payload if not request.path else None, confine if most else None)
        limit_growth(0)
        seconds = round(time.perf_counter() - started, 4)
        send(answers, to_plain(replace(parsed, seconds=seconds, memory=_memory())))


def limit_memory(mebibytes: int) -> None:
    """Refuse this process more address space than that, where the system can."""
    if sys.platform == "linux" and mebibytes:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE, mebibytes * MEBIBYTE))


def limit_growth(mebibytes: int) -> None:
    """Refuse this process more than that beside what it has (0: no such limit), on Linux."""
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + mebibytes * MEBIBYTE
        allowed = mebibytes and (most if hard == resource.RLIM_INFINITY else min(most, hard))
        resource.setrlimit(resource.RLIMIT_AS, (allowed or hard, hard))


def _memory() -> int:
    """The largest resident size so far, in bytes; 0 where the system does not tell.

    Linux keeps ``ru_maxrss`` over ``exec``, so that it would be the starting process's size.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        return int(found.group(1)) * 1024 if found else 0
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0


if __name__ == "__main__":
    main()
