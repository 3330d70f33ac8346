"""What a parser process is kept from: the keys of its parent's environment, and the network.

A hostile file that takes a parser over finds no key to send and nothing to send it by. This needs
no privileges. On every system the interpreter refuses sockets and look-ups (an audit hook, which
cannot be taken out again). On Linux (x86-64, arm64) the kernel does, so that it holds for native
code as well, and for programs that a parser starts. Elsewhere native code could still open a
socket. Not kept from it anywhere: the files that its user may read.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Mapping

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


def started_with(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that a parser process is started with: one thread for each."""
    kept = parser_environment(os.environ if environ is None else environ)
    # The pool decides how much runs at a time.
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
