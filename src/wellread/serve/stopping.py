"""Handles Ctrl-C while a command is still loading: prints one line and exits with status 130.

A library that is interrupted during its import may raise any other error or print it. No work has
begun by then, so the process simply exits. Importing this module installs the handler.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn

INTERRUPTED = 130  # exit status: 128 + SIGINT, as in shells


def install_handler() -> None:
    """Make SIGINT end the process at once, unless it is ignored or has another handler."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_at_once)


def restore_handler() -> None:
    """Restore the default handler, which raises ``KeyboardInterrupt`` in a running command."""
    if signal.getsignal(signal.SIGINT) is _exit_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether ``error`` was caused by a ``KeyboardInterrupt``."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def exit_now() -> NoReturn:
    """Exit without waiting for loading threads, whose traceback a second Ctrl-C would print."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def _exit_at_once(*_: object) -> None:
    with suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), b"Interrupted.\n")  # print() is not reentrant
    os._exit(INTERRUPTED)


install_handler()
