"""Worker threads and event loops: ending work that nobody waits for, waiting for what is async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
from anyio import from_thread

T = TypeVar("T")


def stop_if_cancelled() -> None:
    """End the work of this thread when whoever began it has given up; called between two steps.

    Does nothing outside of a worker thread.
    """
    try:
        from_thread.check_cancelled()
    except RuntimeError:  # a thread of a program that has no event loop
        return


def wait_for(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of ``work``; in the event loop that waits for this thread, or in one of its own:
    of this thread, where none runs in it.

    In the waiting loop, a cancelled question cancels the work too.
    """
    try:
        from_thread.check_cancelled()
    except RuntimeError:  # no loop waits for this thread
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return anyio.run(work)
        with from_thread.start_blocking_portal() as portal:
            done: T = portal.call(work)
        return done
    return from_thread.run(work)
