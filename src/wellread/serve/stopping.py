"""Ctrl-C while a command starts: one line and exit status 130, whatever is just being loaded.

A library that is interrupted while it loads may make any other error of it, or print it. Until a
command begins nothing is half done, so the process simply ends. Importing this module begins it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def begin() -> None:
    """From here on an interruption ends the process at once; one that is ignored stays so."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _at_once)


def end() -> None:
    """From here on it is raised as ``KeyboardInterrupt``, as a command that works wants it."""
    if signal.getsignal(signal.SIGINT) is _at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_behind(error: BaseException | None) -> bool:
    """Whether ``error`` is what a library made of an interruption."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def leave() -> NoReturn:
    """End without waiting for threads that load something, which a second Ctrl-C would show."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def _at_once(*_: object) -> None:
    with suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), b"Interrupted.\n")  # print() may be at work already
    os._exit(INTERRUPTED)


begin()
