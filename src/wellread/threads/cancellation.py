"""Stopping work in a thread whose result nobody waits for any more."""

from __future__ import annotations

from anyio import from_thread


def stop_if_cancelled() -> None:
    """End the work of this thread when whoever began it has given up; called between two steps.

    Does nothing outside of a worker thread.

    Raises:
        asyncio.CancelledError: it was given up.
    """
    try:
        from_thread.check_cancelled()
    except RuntimeError:  # a thread of a program that has no event loop
        return
