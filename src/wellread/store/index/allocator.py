"""Keeps the C library from holding a heap for each of LanceDB's many threads.

glibc gives every thread that allocates an arena of its own, up to eight a core, and an arena does
not give back what lies below its newest block. Adding 40 MB of files then peaks at 1,045-1,136
MiB; with two arenas at 823 MiB, in the same time (2 vCPU, ``benchmarks.large``).
"""

from __future__ import annotations

import ctypes
import os
import platform

M_ARENA_MAX = -8  # of <malloc.h>
ARENAS = 2


def bound_arenas() -> bool:
    """Bound the arenas of this process, unless ``MALLOC_ARENA_MAX`` says how many; whether done.

    It has to be called before the threads start. Other C libraries are left as they are.
    """
    if "MALLOC_ARENA_MAX" in os.environ or platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
