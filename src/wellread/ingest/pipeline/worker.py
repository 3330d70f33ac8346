"""The parser process: reads requests from standard input and writes results to standard output.

Started by ``workers.py`` as ``python -m wellread.ingest.pipeline.worker MEMORY``. A message is one
line ``HEADER BYTES`` (two lengths), then a JSON header, then raw bytes (of a source that is not a
file). JSON and not pickle, so that a hostile file that takes over a parser cannot reach further.

Once the type of a source is known, the parser sends ``{"allowed": MiB}`` and waits for an empty
reply, which comes when that much memory is free; only then it loads the source. The memory that a
file may use depends on its type and size (a small one that needs gigabytes is an attack); parallel
parsers share one total (``docs/decisions/057-parsers-and-what-is-installed.md``).

A hostile file that takes over a parser finds no key in its environment and no network. On every
system the interpreter refuses sockets and name look-ups (an audit hook, which cannot be removed);
on Linux (x86-64, arm64) the kernel does too, also for native code and for programs that a parser
starts. On no system is it kept from reading the files that its user may read.
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
    """Read one message; None if the other side ended, even in the middle of a message."""
    lengths = stream.readline().split()
    if len(lengths) != 2:
        return None
    size, extra = int(lengths[0]), int(lengths[1])
    encoded, payload = stream.read(size), stream.read(extra)
    if len(encoded) != size or len(payload) != extra:
        return None
    return json.loads(encoded), payload


def main() -> None:
    """Answer requests until standard input ends."""
    limit = int(sys.argv[1])
    limit_memory(limit)
    close_network()
    # Output that a parser prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer

    def confine(loader: str, size: int) -> None:
        allowed = allowance(loader, size, limit)
        send(answers, {"allowed": allowed})
        if receive(requests) is None:
            sys.exit()
        limit_growth(allowed)

    while (message := receive(requests)) is not None:
        header, payload = message
        request = from_plain(ParseRequest, header)
        started = time.perf_counter()
        parsed = parse(request, payload if not request.path else None, confine if limit else None)
        limit_growth(0)
        seconds = round(time.perf_counter() - started, 4)
        send(answers, to_plain(replace(parsed, seconds=seconds, memory=_peak_memory())))


def limit_memory(mebibytes: int) -> None:
    """Limit the address space of this process, on Linux."""
    if sys.platform == "linux" and mebibytes:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE, mebibytes * MEBIBYTE))


def limit_growth(mebibytes: int) -> None:
    """Limit how much this process may grow from its current size (0: no limit), on Linux."""
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + mebibytes * MEBIBYTE
        allowed = mebibytes and (limit if hard == resource.RLIM_INFINITY else min(limit, hard))
        resource.setrlimit(resource.RLIMIT_AS, (allowed or hard, hard))


def _peak_memory() -> int:
    """Return the peak resident size in bytes (Linux's ``ru_maxrss`` includes the parent's) or 0."""
    status = Path("/proc/self/status")
    if status.exists():
        match = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        return int(match.group(1)) * 1024 if match else 0
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0


USUAL_MAX_MEMORY = 3072  # MiB, the default of sources.max_memory; more raises every allowance


def allowance(loader: str, size: int, limit: int) -> int:
    """Return the MiB that a file may use, at most ``limit``."""
    default = TEXT if loader == ENTRIES else UNKNOWN
    base, per_mebibyte = LOADERS[loader].memory if loader in LOADERS else default
    needed = base + per_mebibyte * size // MEBIBYTE
    return min(limit, needed * max(limit, USUAL_MAX_MEMORY) // USUAL_MAX_MEMORY)


class SharedMemory:
    """The memory that all running parsers use together."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reserved = 0

    def take(self, amount: int, limit: int) -> None:
        """Reserve ``amount``; first wait until it fits in ``limit`` or nothing is reserved."""
        with self._changed:
            self._changed.wait_for(lambda: not self._reserved or self._reserved + amount <= limit)
            self._reserved += amount

    def give_back(self, amount: int) -> None:
        """Release ``amount``."""
        with self._changed:
            self._reserved -= amount
            self._changed.notify_all()


PASSED_VARIABLES = frozenset(
    "PATH HOME LANG LANGUAGE TZ TMPDIR TEMP TMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH VIRTUAL_ENV "
    "PYTHONPATH PYTHONHOME PYTHONUTF8 PYTHONIOENCODING PYTHONHASHSEED PYTHONDONTWRITEBYTECODE "
    "PYTHONPYCACHEPREFIX PYTHONNOUSERSITE PYTHONSAFEPATH "
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE".split()
)
"""Environment variables passed to a parser, besides those that begin with ``LC_``."""


def parser_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that a parser needs to start and to read files."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in PASSED_VARIABLES or name.upper().startswith("LC_")
    }


REFUSED_EVENTS = frozenset(
    f"socket.{event}"
    for event in (
        "connect bind sendto sendmsg getaddrinfo gethostbyname gethostbyaddr getnameinfo".split()
    )
)

_UNIX, _AS_FOUND = 1, -1  # families of sockets, on every system


def close_network() -> bool:
    """Block the network for this process permanently; return whether the kernel blocks it too."""
    sys.addaudithook(_refuse)
    return sys.platform == "linux" and _install_filter()


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    # A pair of Unix sockets connects to nothing outside; event loops need one.
    new = event == "socket.__new__" and arguments[1] not in (_UNIX, _AS_FOUND)
    if new or event in REFUSED_EVENTS:
        raise PermissionError(errno.EACCES, "a parser has no network")


# seccomp(2): a filter that the kernel runs at every system call.
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _MACHINE_AT = 0, 4
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_OTHER_ABI = 0x40000000  # x32, whose system calls have other numbers
# The kernel's code of the machine; the numbers of socket, connect and io_uring_setup.
_MACHINES = {"x86_64": (0xC000003E, (41, 42, 425)), "aarch64": (0xC00000B7, (198, 203, 425))}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _install_filter() -> bool:
    """Install the filter; return whether the kernel accepted it (not in some containers)."""
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.byteorder != "little":
        return False
    program = _instructions(*machine)
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_program = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return False
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(filter_program), 0, 0) == 0)


def _instructions(machine: int, refused: tuple[int, ...]) -> bytes:
    """Return the filter program: each instruction is a code, two jumps and a value."""
    end = 4 + len(refused)  # index of the instruction that allows; the next one refuses
    lines = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_IF_EQUAL, 0, end + 1 - 2, machine),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, end + 1 - 4, 0, _OTHER_ABI),
        *((_IF_EQUAL, end + 1 - (5 + index), 0, number) for index, number in enumerate(refused)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERROR | errno.EACCES),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


if __name__ == "__main__":
    main()
