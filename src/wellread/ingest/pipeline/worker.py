"""A parser process: reads requests on standard input, answers on standard output.

Started by ``workers.py`` as ``python -m wellread.ingest.pipeline.worker MEMORY``. A message is one
line ``HEADER BYTES`` (two lengths), then a JSON header, then raw bytes (of a source that is no
file). JSON and not pickle, so that a hostile file that takes over a parser cannot reach further.

Once the kind of a source is known, ``{"allowed": MiB}`` is sent, and an empty message comes back
when so much is free; only then is it loaded. How much a file may take goes by its kind and size:
a small one that asks for gigabytes is an attack, and many parsers at once share one sum
(``docs/decisions/057-parsers-and-what-is-installed.md`` has the measurements).

A hostile file that takes a parser over finds no key in its environment and no network. On every
system the interpreter refuses sockets and look-ups (an audit hook, which cannot be taken out
again); on Linux (x86-64, arm64) the kernel does, so that it holds for native code as well, and for
programs that a parser starts. Not kept from it anywhere: the files that its user may read.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import re
import struct
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from wellread.codec import from_plain, to_plain
from wellread.ingest.loaders.base import ENTRIES
from wellread.ingest.loaders.kind_table import LOADERS, TEXT, UNKNOWN
from wellread.ingest.pipeline.parse import ParseRequest, parse

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


USUAL_MOST = 3072  # MiB, the default of sources.max_memory; a larger one enlarges every allowance
_MEBIBYTE = 1 << 20


def allowance(loader: str, size: int, most: int) -> int:
    """MiB that a file may take."""
    ours = TEXT if loader == ENTRIES else UNKNOWN
    least, each = LOADERS[loader].memory if loader in LOADERS else ours
    wanted = least + each * size // _MEBIBYTE
    return min(most, wanted * max(most, USUAL_MOST) // USUAL_MOST)


class SharedMemory:
    """The memory that parsers hold at one time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = 0

    def take(self, amount: int, most: int) -> None:
        """Wait until ``amount`` more is not above ``most``, or nobody else holds anything."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._held + amount <= most)
            self._held += amount

    def give_back(self, amount: int) -> None:
        """Let others have it."""
        with self._changed:
            self._held -= amount
            self._changed.notify_all()


KEPT = frozenset(
    "PATH HOME LANG LANGUAGE TZ TMPDIR TEMP TMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH VIRTUAL_ENV "
    "PYTHONPATH PYTHONHOME PYTHONUTF8 PYTHONIOENCODING PYTHONHASHSEED PYTHONDONTWRITEBYTECODE "
    "PYTHONPYCACHEPREFIX PYTHONNOUSERSITE PYTHONSAFEPATH "
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE".split()
)
"""Variables that a parser gets, beside those that begin with ``LC_``; no others."""


def parser_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a parser needs to start and to read files."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in KEPT or name.upper().startswith("LC_")
    }


REFUSED = frozenset(
    f"socket.{event}"
    for event in (
        "connect bind sendto sendmsg getaddrinfo gethostbyname gethostbyaddr getnameinfo".split()
    )
)


_UNIX, _AS_FOUND = 1, -1  # families of sockets, on every system


def close_network() -> bool:
    """Refuse this process the network for good; whether the kernel refuses it too."""
    sys.addaudithook(_refuse)
    return sys.platform == "linux" and _filtered()


def _refuse(event: str, given: tuple[object, ...]) -> None:
    # A pair of Unix sockets leads nowhere; event loops are made with one.
    new = event == "socket.__new__" and given[1] not in (_UNIX, _AS_FOUND)
    if new or event in REFUSED:
        raise PermissionError(errno.EACCES, "a parser has no network")


# seccomp(2): a filter that the kernel runs at every system call.
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _MACHINE_AT = 0, 4
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_OTHER_ABI = 0x40000000  # x32, whose calls have numbers of their own
# The machine as the kernel names it; the numbers of socket, connect and io_uring_setup.
_MACHINES = {
    "x86_64": (0xC000003E, (41, 42, 425)),
    "aarch64": (0xC00000B7, (198, 203, 425)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _filtered() -> bool:
    """Whether the kernel took the filter: some containers and old kernels know none."""
    known = _MACHINES.get(platform.machine())
    if known is None or sys.byteorder != "little":
        return False
    program = _instructions(*known)
    buffer = ctypes.create_string_buffer(program, len(program))
    given = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return False
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(given), 0, 0) == 0)


def _instructions(machine: int, refused: tuple[int, ...]) -> bytes:
    """The filter: each instruction a code, two jumps and a value."""
    end = 4 + len(refused)  # where it allows; one further it refuses
    lines = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_IF_EQUAL, 0, end + 1 - 2, machine),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, end + 1 - 4, 0, _OTHER_ABI),
        *((_IF_EQUAL, end + 1 - (5 + at), 0, number) for at, number in enumerate(refused)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERROR | errno.EACCES),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def started_with() -> dict[str, str]:
    """The environment that a parser process is started with: one thread for each."""
    # The pool decides how much runs at a time.
    return {**parser_environment(os.environ), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


if __name__ == "__main__":
    main()
