"""Running async work from a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
from anyio import from_thread

T = TypeVar("T")


def wait_for(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of ``work``; in the event loop that waits for this thread, or in one of its own.

    In the waiting loop, a cancelled question cancels the work too.
    """
    try:
        from_thread.check_cancelled()
    except RuntimeError:  # no loop waits for this thread
        return anyio.run(work)
    return from_thread.run(work)
