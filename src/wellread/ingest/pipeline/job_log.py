"""Keeps the record of one run while it goes on: its job, and a line per source.

The same values are what a run reports: its progress and, at the end, how every source fared.
"""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import get_args

from wellread.errors import WellreadError
from wellread.ingest.sources.addresses import is_web, shown
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import refuse_writing
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobAction, JobItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        passages_written: are found by their words.
        passages_done: are found by their meaning as well.
    """

    sources_total: int
    sources_done: int
    passages_done: int
    passages_written: int = 0
    current: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every source of a run with its result; ``passages`` were embedded in ``seconds``.

    Attributes:
        cancelled: it was asked to stop, and what is not in ``rows`` was not looked at.
        notes: what else is to be known, of settings that lie in folders.
    """

    rows: tuple[JobItem, ...]
    passages: int
    seconds: float
    job_id: str = ""
    cancelled: bool = False
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many sources ended in each status."""
        none: dict[str, int] = dict.fromkeys(get_args(ItemStatus), 0)
        return none | Counter(row.status for row in self.rows)


OnProgress = Callable[[Progress], None]


JOBS_FOLDER = "jobs"
SECONDS_BETWEEN = 0.5  # between two looks into the catalogue


class JobLog:
    """One running job. Lines are kept back until the next look into the catalogue."""

    def __init__(self, kb: KnowledgeBase, job: Job) -> None:
        self._kb = kb
        self.job = job
        self._waiting: list[JobItem] = []
        self._noted = 0
        self._looked = 0.0
        self.cancelled = False

    def note(self, result: JobItem) -> None:
        """A source is done."""
        self._waiting.append(result)

    def look(self, progress: Progress) -> bool:
        """Write down how far it is, now and then; whether the job is to stop."""
        if time.monotonic() - self._looked >= SECONDS_BETWEEN:
            self.write(progress)
        return self.cancelled

    def write(self, progress: Progress) -> None:
        """Write down how far it is."""
        jobs = self._kb.catalogue.jobs
        waiting, self._waiting = self._waiting, []
        jobs.note(self.job.id, self._noted, waiting)
        self._noted += len(waiting)
        self.cancelled |= jobs.progress(
            self.job.id,
            total=progress.sources_total,
            done=progress.sources_done,
            passages=progress.passages_written,
            vectors=progress.passages_done,
        )
        self._looked = time.monotonic()


@contextmanager
def job_log(
    kb: KnowledgeBase, action: JobAction, collection: str, inputs: Sequence[str]
) -> Iterator[JobLog]:
    """A job for the run inside; how it ended is written down, an exception included."""
    refuse_writing(kb.home, read_only=kb.read_only)
    end_dead_jobs(kb)
    named = [shown(given) if is_web(given) else given for given in inputs]  # without passwords
    job = kb.catalogue.jobs.start(action, collection, named, platform.node(), os.getpid())
    # Held while the process lives: this is how others see that it was killed.
    with kb.locks.hold(_lock(job)):
        log = JobLog(kb, job)
        try:
            yield log
            kb.catalogue.jobs.finish(job.id, "cancelled" if log.cancelled else "done")
        except KeyboardInterrupt:
            kb.catalogue.jobs.finish(job.id, "cancelled", "stopped from the keyboard")
            raise
        except WellreadError as error:
            kb.catalogue.jobs.finish(job.id, "failed", str(error))
            raise
        finally:
            kb.locks.forget(_lock(job))


def end_dead_jobs(kb: KnowledgeBase) -> list[Job]:
    """Mark jobs as interrupted whose process is gone; which they were."""
    dead = dead_jobs(kb)
    for job in dead:
        kb.catalogue.jobs.finish(job.id, "interrupted", "its process ended before it was done")
        kb.locks.forget(_lock(job))
    return dead


def dead_jobs(kb: KnowledgeBase) -> list[Job]:
    """The jobs that are noted as running and whose process is gone."""
    return [job for job in kb.catalogue.jobs.newest(1_000, "running") if not _lives(kb, job)]


def _lives(kb: KnowledgeBase, job: Job) -> bool:
    if job.host != platform.node() and not kb.locks.everywhere:
        return True  # another machine's; its lock says nothing here
    return kb.locks.taken(_lock(job))


def _lock(job: Job) -> str:
    return f"{JOBS_FOLDER}/{job.id}.lock"
