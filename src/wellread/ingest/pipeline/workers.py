"""Runs parser processes with time and memory limits, so that a hostile file cannot do harm.

Each worker is a new process, not a fork or part of a standard library pool: it can be killed at
once when it takes too long, it works the same on every system, and it never imports the caller's
main module. Idle processes are kept for the next run of the same program.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Self

from wellread.codec import from_plain, to_plain
from wellread.ingest.pipeline.parse import Parsed, ParseRequest
from wellread.ingest.pipeline.worker import SharedMemory, parser_environment, receive, send

MAX_WORKERS = 4
# A worker that grew beyond this is replaced: some parsers never free memory, and the memory of
# idle workers does not count towards the shared limit.
LARGE_BYTES = 384 << 20
END_SECONDS = 5.0
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # for each parser

_shared = SharedMemory()
_idle: list[_Worker] = []
_idle_lock = threading.Lock()


class WorkerPool:
    """Parses sources in other processes, several at a time.

    Args:
        memory: MiB that all workers together may use (Linux).
        workers: number of processes; 0 means one per core, at most ``MAX_WORKERS``.
    """

    def __init__(self, *, seconds: float, memory: int, workers: int = 0) -> None:
        self._seconds = seconds
        self._memory = memory
        self.size = workers or max(1, min(MAX_WORKERS, os.cpu_count() or 1))
        self._threads = ThreadPoolExecutor(self.size, thread_name_prefix="parse")

    def submit(self, request: ParseRequest, data: bytes | None = None) -> Future[Parsed]:
        """Parse one source; a bad source yields a ``failed`` result, never an exception."""
        return self._threads.submit(self._parse, request, data)

    def close(self) -> None:
        """Wait for running parses, and keep the processes for the next run."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _parse(self, request: ParseRequest, data: bytes | None) -> Parsed:
        worker = _get_worker(self._memory)
        parsed = worker.parse(request, data, self._seconds)
        if worker.alive and parsed.memory < LARGE_BYTES:
            _give_back(worker)
        else:
            worker.end()
        return parsed


class _Worker:
    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._allowed = memory
        self._overdue = False
        self._process = subprocess.Popen(  # noqa: S603 our own module, no shell
            [sys.executable, "-m", "wellread.ingest.pipeline.worker", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=parser_environment(os.environ) | ONE_THREAD,
        )

    @property
    def alive(self) -> bool:
        """Whether the process can take another source."""
        return self._process.poll() is None and not self._overdue

    def parse(self, request: ParseRequest, data: bytes | None, seconds: float) -> Parsed:
        """Return the worker's result, or a ``failed`` one with the reason."""
        self._allowed, reserved = self.memory, 0
        begun = time.monotonic()
        try:
            message = self._exchange(to_plain(request), data or b"", seconds)
            if message and "allowed" in message:
                seconds_left = seconds - (time.monotonic() - begun)
                self._allowed = int(message["allowed"])
                _shared.take(self._allowed, self.memory)
                reserved = self._allowed
                message = self._exchange({}, b"", max(seconds_left, 0.0))
        finally:
            _shared.give_back(reserved)
        if message is not None and not self._overdue:
            return from_plain(Parsed, message)
        return Parsed(status="failed", reason=self._cause(seconds), seconds=seconds * self._overdue)

    def _exchange(self, header: Any, payload: bytes, seconds: float) -> Any:
        """Send a message and return the reply; None if the process died or took too long."""
        timer = threading.Timer(seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            stdin, stdout = self._process.stdin, self._process.stdout
            if stdin is None or stdout is None:
                raise OSError("the pipes to the parser are closed")
            send(stdin, header, payload)
            message = receive(stdout)
        except OSError:  # the process died before it had read the request
            return None
        finally:
            timer.cancel()
        return message and message[0]

    def end(self) -> None:
        """End the process and close the pipes."""
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            with suppress(OSError):  # unsent data for a dead process
                pipe.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _stop(self) -> None:
        self._overdue = True
        self._process.kill()

    def _cause(self, seconds: float) -> str:
        if self._overdue:
            return f"took longer than {seconds:g} seconds to parse (sources.max_seconds)"
        status = self._process.wait()
        return (
            "the parser crashed on this file"
            f" ({f'signal {-status}' if status < 0 else f'exit status {status}'};"
            f" a file of this type and size may use {self._allowed:,} MiB: sources.max_memory)"
        )


def _get_worker(memory: int) -> _Worker:
    with _idle_lock:
        for index, worker in enumerate(_idle):
            if worker.memory == memory and worker.alive:
                return _idle.pop(index)
    return _Worker(memory)


def _give_back(worker: _Worker) -> None:
    with _idle_lock:
        if len(_idle) < MAX_WORKERS:
            _idle.append(worker)
            return
    worker.end()


@atexit.register
def end_idle() -> None:
    """End all idle processes. Runs when the program ends."""
    with _idle_lock:
        workers, _idle[:] = list(_idle), []
    for worker in workers:
        worker.end()
