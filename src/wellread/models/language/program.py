"""Runs a program and hands on what it writes, within a time limit and without a shell.

The program gets a process group of its own, which is killed as a whole when the reader leaves, the
task is cancelled or the time is up: a program that ignores polite signals, or has started others,
is gone as well.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio

logger = logging.getLogger(__name__)

PIECE = 65_536
# How much of what a program complains about is kept, from its beginning.
KEPT_COMPLAINT = 4_000
REAP_SECONDS = 5.0

T = TypeVar("T")


class ProgramError(Exception):
    """A program ended with a status other than 0.

    Attributes:
        status: its exit status; negative: the signal that ended it.
        complaint: what it wrote to its standard error.
    """

    def __init__(self, status: int, complaint: str) -> None:
        super().__init__(f"exit status {status}: {complaint}")
        self.status = status
        self.complaint = complaint


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is run.

    Attributes:
        arguments: the program and its arguments, never read by a shell.
        given: what it reads from its standard input.
        folder: where it runs.
        environ: its whole environment.
    """

    arguments: Sequence[str]
    given: bytes
    folder: Path
    environ: Mapping[str, str]


async def output(program: Program, deadline: float) -> AsyncGenerator[bytes, None]:
    """What the program writes to its standard output, as it comes.

    Args:
        program: what is run.
        deadline: when the time is up, on the event loop's clock; counts around each wait, so the
            reader's own work is never cancelled.

    Raises:
        OSError: it could not be started.
        ProgramError: it failed; raised after all of its output.
        TimeoutError: it was still running at the deadline.
    """
    process = await asyncio.create_subprocess_exec(
        *program.arguments,
        stdin=asyncio.subprocess.PIPE if program.given else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=program.folder,
        env=dict(program.environ),
        start_new_session=True,
    )
    written, complained = process.stdout, process.stderr
    if written is None or complained is None:
        raise OSError("the program has no standard output")
    feeding = asyncio.create_task(_feed(process.stdin, program.given))
    listening = asyncio.create_task(_beginning(complained))
    try:
        while piece := await _before(deadline, written.read(PIECE)):
            yield piece
        complaint = await _before(deadline, asyncio.shield(listening))
        status = await _before(deadline, process.wait())
    finally:
        if process.returncode is None or not written.at_eof():
            _kill(process)
        feeding.cancel()
        # Shielded, so that a cancelled task leaves neither a zombie nor an open pipe behind.
        with anyio.move_on_after(REAP_SECONDS, shield=True) as reaping:
            await _drain(written)
            await asyncio.gather(process.wait(), listening, feeding, return_exceptions=True)
        if reaping.cancelled_caught:
            logger.warning("%s left its output open after it was killed", program.arguments[0])
    if status:
        raise ProgramError(status, complaint)


async def _before(deadline: float, waited: Awaitable[T]) -> T:
    async with asyncio.timeout_at(deadline):
        return await waited


async def _feed(standard_input: asyncio.StreamWriter | None, given: bytes) -> None:
    if standard_input is None:
        return
    try:
        standard_input.write(given)
        await standard_input.drain()
    except (BrokenPipeError, ConnectionResetError):
        logger.debug("the program did not read all that it was given")
    finally:
        standard_input.close()


async def _beginning(stream: asyncio.StreamReader) -> str:
    """The first ``KEPT_COMPLAINT`` bytes; the rest is read too, so that the writer never waits."""
    kept = b""
    while piece := await stream.read(PIECE):
        kept = (kept + piece)[:KEPT_COMPLAINT]
    return kept.decode("utf-8", errors="replace")


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(PIECE):
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        logger.debug("process %d has ended by itself", process.pid)
