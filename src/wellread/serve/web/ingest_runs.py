"""Runs that pages ask for, of ingest and of open questions: one by one, in a server's thread.

What runs is a job in the catalogue like every other; here is only what waits, and what failed
before it became one.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Literal, cast

from fastapi import Depends, Request

from wellread.errors import WellreadError
from wellread.identity import EVERYTHING, Everything
from wellread.ingest.pipeline.commit import bring_in_step
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.learning import asking_again
from wellread.learning.asking_again import after_ingest
from wellread.serve.error_shapes import INTERNAL, Problem, problem_of

logger = logging.getLogger(__name__)

MOST_KEPT = 50
Action = Literal["add", "sync", "re-ask"]


@dataclass(slots=True, kw_only=True)
class Asked:
    """Something that was asked for.

    Attributes:
        state: ``done`` says that it became a job, whose own state tells how it went.
    """

    action: Action
    collection: str
    inputs: tuple[str, ...]
    at: datetime
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    problem: Problem | None = None


class IngestRuns:
    """The queue of one server. Parsing is done in worker processes, as with every run."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ingest")
        self._asked: deque[Asked] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()

    def start(self, action: Action, inputs: Sequence[str], collection: str) -> Asked:
        """Put a run at the end of the queue."""
        asked = Asked(
            action=action, collection=collection, inputs=tuple(inputs), at=datetime.now(UTC)
        )
        with self._lock:
            self._asked.appendleft(asked)
        self._thread.submit(self._run, asked)
        return asked

    def take_up(self) -> None:
        """Ask the open questions again that an earlier process left, when the index is in step."""
        self._thread.submit(bring_in_step, self._kb)
        self._thread.submit(after_ingest, self._kb)

    def ask_again(self, work: Callable[[], object]) -> Asked:
        """Put a run that asks open questions again at the end of the queue."""
        asked = Asked(action="re-ask", collection="", inputs=(), at=datetime.now(UTC))
        with self._lock:
            self._asked.appendleft(asked)
        self._thread.submit(self._carry_out, asked, work)
        return asked

    def open_ones(self, kb: KnowledgeBase | None = None) -> list[Asked]:
        """What waits or runs, and what failed without becoming a job; newest first.

        Args:
            kb: as the asker has it who is told; None: all of it.
        """
        reads = EVERYTHING if kb is None else kb.asker.reads
        with self._lock:
            waiting = [one for one in self._asked if one.state != "done"]
        if isinstance(reads, Everything):
            return waiting
        return [one for one in waiting if one.collection in reads]

    def busy(self, kb: KnowledgeBase | None = None) -> bool:
        """Whether anything waits or runs; ``kb`` as for ``open_ones``."""
        return any(one.state in ("waiting", "running") for one in self.open_ones(kb))

    def close(self) -> None:
        """Ask the running job to stop, drop what waits, and wait for it."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self.busy():
            mine = (job for job in self._kb.catalogue.jobs.newest(MOST_KEPT, "running"))
            for job in mine:
                if (job.host, job.pid) == (platform.node(), os.getpid()):
                    self._kb.catalogue.jobs.cancel(job.id)
        self._thread.shutdown(wait=True)

    def _run(self, asked: Asked) -> None:
        given: list[Input] = list(asked.inputs)
        work: Callable[..., object] = (
            asking_again.sync if asked.action == "sync" else asking_again.add
        )
        self._carry_out(asked, partial(work, self._kb, given, collection=asked.collection))

    def _carry_out(self, asked: Asked, work: Callable[[], object]) -> None:
        asked.state = "running"
        try:
            work()
            asked.state = "done"
        except WellreadError as error:
            asked.problem, asked.state = problem_of(error), "failed"
        except Exception:
            logger.exception("adding failed")
            asked.problem, asked.state = INTERNAL, "failed"


def _ingest(request: Request) -> IngestRuns:
    return cast(IngestRuns, request.app.state.ingest)


Ingest = Annotated[IngestRuns, Depends(_ingest)]
