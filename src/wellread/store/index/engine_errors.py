"""What the index's engine raises, in words that help: damage, or a disk that refuses.

The engine is written in Rust. On files with wrong bytes it may panic; that arrives in Python as an
exception of no importable class, sometimes beside ``Exception``. What it says of itself (places in
its sources, lengths of buffers) stays the cause of our error, for who asks for the traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from filelock import Timeout

from wellread.errors import DamageError, StoreError, is_panic

LOCK_SECONDS = 600.0
MENDS = "'wellread verify --repair' makes the index anew from the catalogue"
_REFUSALS = {
    errno.ENOSPC: ("no space left", "disk full", "storage full"),
    errno.EDQUOT: ("quota exceeded",),
    errno.EACCES: ("permission denied", "operation not permitted"),
    errno.EROFS: ("read-only file system",),
    errno.EMFILE: ("too many open files",),
}
_ENGINE = (RuntimeError, OSError, ValueError, LookupError, MemoryError, pa.ArrowException)


@contextmanager
def store_errors(action: str) -> Iterator[None]:
    """What LanceDB raises while it does ``action``, as StoreError."""
    try:
        yield
    except Timeout as error:
        raise StoreError(
            f"could not {action}: another process has been writing to it for "
            f"{LOCK_SECONDS:.0f} seconds",
            hint="wait for it to end, or stop it, and try again",
        ) from error
    except BaseException as error:
        if not isinstance(error, _ENGINE) and not is_panic(error):
            raise
        raise _told(action, error) from error


def _told(action: str, error: BaseException) -> StoreError:
    said = str(error).lower()
    for number, words in _REFUSALS.items():
        refused = isinstance(error, OSError) and error.errno == number
        if refused or any(word in said for word in words):
            return StoreError(
                f"could not {action}: {words[0]}", hint="check the disk's room and permissions"
            )
    return DamageError(f"could not {action}: its files are damaged or incomplete", hint=MENDS)
