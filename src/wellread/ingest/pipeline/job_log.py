"""Logs a running job in the catalogue: its progress, and a line per source.

A run returns the same values: its progress and, at the end, the result of every source.
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
from wellread.identity import random_id
from wellread.ingest.sources.addresses import is_web, without_credentials
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobAction, JobItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run.

    Attributes:
        passages_written: number of passages that full-text search finds.
        passages_done: number of passages that vector search finds as well.
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
        cancelled: the run was cancelled; sources that are not in ``rows`` were not read.
        notes: remarks on settings files in folders.
    """

    rows: tuple[JobItem, ...]
    passages: int
    seconds: float
    job_id: str = ""
    cancelled: bool = False
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the number of sources in each status."""
        zeros: dict[str, int] = dict.fromkeys(get_args(ItemStatus), 0)
        return zeros | Counter(row.status for row in self.rows)


OnProgress = Callable[[Progress], None]


@contextmanager
def shown_progress(on_progress: OnProgress | None) -> Iterator[OnProgress | None]:
    """Yield ``on_progress``; without it, a bar on a terminal and in a notebook."""
    # Rich takes a tenth of a second to load, which questions need not wait for.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    console = Console(stderr=True)
    if on_progress or not (console.is_terminal or console.is_jupyter):
        yield on_progress
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("Reading", total=None)

        def update(progress: Progress) -> None:
            files, passages = progress.sources_total, progress.passages_done
            bar.update(
                task,
                total=files or None,
                completed=progress.sources_done,
                description=f"Reading {files:,} files: {passages:,} passages embedded",
            )

        yield update


JOBS_FOLDER = "jobs"
SECONDS_BETWEEN = 0.5  # seconds between two updates of the catalogue


class JobLog:
    """One running job. Lines wait until the next update of the catalogue."""

    def __init__(self, kb: KnowledgeBase, job: Job) -> None:
        self._kb = kb
        self.job = job
        self._waiting: list[JobItem] = []
        self._written = 0
        self._last_update = 0.0
        self.cancelled = False

    def note(self, result: JobItem) -> None:
        """Add the result of a source."""
        self._waiting.append(result)

    def record_if_due(self, progress: Progress) -> bool:
        """Record the progress if an update is due; return whether the job was cancelled."""
        if time.monotonic() - self._last_update >= SECONDS_BETWEEN:
            self.write(progress)
        return self.cancelled

    def write(self, progress: Progress) -> None:
        """Record the progress and the waiting lines in the catalogue."""
        jobs = self._kb.catalogue.jobs
        waiting, self._waiting = self._waiting, []
        jobs.note(self.job.id, self._written, waiting)
        self._written += len(waiting)
        self.cancelled |= jobs.progress(
            self.job.id,
            total=progress.sources_total,
            done=progress.sources_done,
            passages=progress.passages_written,
            vectors=progress.passages_done,
        )
        self._last_update = time.monotonic()


@contextmanager
def job_log(
    kb: KnowledgeBase, action: JobAction, collection: str, inputs: Sequence[str], job_id: str = ""
) -> Iterator[JobLog]:
    """Open a job for the run inside the context and record how it ends, also by an exception."""
    end_dead_jobs(kb)
    shown_inputs = [without_credentials(entry) if is_web(entry) else entry for entry in inputs]
    process = platform.node(), os.getpid()
    job_id = job_id or random_id("job")
    # The lock is held while the process lives: others detect by it that it was killed, from the
    # moment at which the job is recorded.
    with kb.locks.hold(_lock_name(job_id)):
        job = kb.catalogue.jobs.start(action, collection, shown_inputs, process, job_id)
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
            kb.locks.forget(_lock_name(job.id))


def end_dead_jobs(kb: KnowledgeBase) -> list[Job]:
    """Mark jobs whose process is gone as interrupted, and return them."""
    dead = dead_jobs(kb)
    for job in dead:
        kb.catalogue.jobs.finish(job.id, "interrupted", "its process ended before it was done")
        kb.locks.forget(_lock_name(job.id))
    return dead


def dead_jobs(kb: KnowledgeBase) -> list[Job]:
    """Return the jobs that are marked as running but whose process is gone."""
    return [job for job in kb.catalogue.jobs.newest(1_000, "running") if not _is_alive(kb, job)]


def _is_alive(kb: KnowledgeBase, job: Job) -> bool:
    if job.host != platform.node() and not kb.locks.everywhere:
        return True  # another machine's lock cannot be checked here
    return kb.locks.taken(_lock_name(job.id))


def _lock_name(job_id: str) -> str:
    return f"{JOBS_FOLDER}/{job_id}.lock"
