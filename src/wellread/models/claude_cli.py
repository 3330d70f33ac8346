"""Uses the ``claude`` command-line program as a language model.

It runs as ``claude -p PROMPT --output-format text``, with an argument vector and never by a shell.
The prompt contains untrusted text, so the program gets no tools and no MCP servers, and runs in its
own empty folder: nothing in the evidence can make it read or change anything. It gets only the
environment variables that a command-line program needs, and its own.

A conversation (``Prompt.session``) starts with ``--session-id`` and continues with ``--resume``,
which gets only the newest message. The program stores conversations itself, so another process may
have started one: its error about an unknown or used id decides.

The program has its own process group, which is killed when the consumer leaves, the task is
cancelled or the time is up. That also ends child processes and programs that ignore signals.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import re
import shutil
import signal
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import anyio

from wellread.config import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import ModelUsage, Piece, Prompt, TextDelta
from wellread.models.server_calls import ThoughtFilter, remove_keys, secrets_in

logger = logging.getLogger(__name__)

CLAUDE_CLI = "claude-cli"  # its name as a provider of models

T = TypeVar("T")
# Linux allows 128 KiB in one argument, Windows 32 KiB in all; longer text goes by standard input.
MAX_ARGUMENT_BYTES = 24_000 if sys.platform == "win32" else 120_000
# Windows parses the arguments of these a second time, and no quoting survives that.
BATCH_FILES = (".cmd", ".bat")
# The program has no output limit; no language has longer tokens on average.
CHARACTERS_PER_TOKEN = 10
MAX_REASON_CHARS = 300
READ_BYTES = 65_536  # read from the program at once
MAX_COMPLAINT_BYTES = 4_000  # bytes kept from the beginning of standard error
REAP_SECONDS = 5.0
RESUME = "--resume"
SESSIONS = uuid.UUID("6f0a1d52-6a0e-5f0b-9d5c-3a4f6f1b7c21")

VARIABLES = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP TERM "
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS "
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE HOMEDRIVE HOMEPATH APPDATA "
    "LOCALAPPDATA PROGRAMDATA PROGRAMFILES".split()
)
OWN_PREFIXES = ("ANTHROPIC_", "CLAUDE_", "LC_", "XDG_")
# When it uses a cloud's models, it also gets the variables of that cloud.
CLOUD_PREFIXES = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUDSDK_", "CLOUD_ML_", "VERTEX_", "GCLOUD_"),
}

CONTROL_CHARACTERS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
# An id that is new to this process may be known to the program, or unknown after a restart.
WRONG_SESSION = re.compile(
    r"session.{0,80}already in use|no (?:conversation|session) found", re.IGNORECASE | re.DOTALL
)
TEMPORARY = re.compile(
    r"rate.?limit|overloaded|\b(?:429|500|502|503|504|529)\b|timed out|ECONN|ENOTFOUND|EAI_AGAIN",
    re.IGNORECASE,
)
LOCKED_OUT = re.compile(r"log ?in\b|api key|authenticat|credential|oauth", re.IGNORECASE)


class _ProgramError(Exception):
    """The program's exit ``status`` (negative for a signal) and its standard error."""

    def __init__(self, status: int, complaint: str) -> None:
        super().__init__(f"exit status {status}: {complaint}")
        self.status = status
        self.complaint = complaint


class ClaudeCommand:
    """Runs the program of ``generation.command`` once per call."""

    def __init__(
        self, model: str, settings: GenerationSettings, environ: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._model = model
        self._environ = _program_environment(environ)
        self._program = _find_program(settings.command, environ)
        self._folder = _working_folder(environ)
        self._begun: set[str] = set()

    @property
    def identity(self) -> str:
        """``claude-cli``, or ``claude-cli:sonnet``."""
        return f"{CLAUDE_CLI}:{self._model}" if self._model else CLAUDE_CLI

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Yield the reply as the program writes it; token counts are unknown."""
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        attempts = self._ways(prompt)
        for attempt, options in enumerate(attempts):
            first_text = ""
            try:
                async with aclosing(self._text(prompt, options, deadline)) as pieces:
                    async for piece in pieces:
                        first_text = first_text or piece
                        yield TextDelta(text=piece)
            except _ProgramError as error:
                if (
                    first_text
                    or attempt + 1 == len(attempts)
                    or not WRONG_SESSION.search(error.complaint)
                ):
                    raise self._failed(error, first_text) from error
                logger.info("%s: %s failed: %s", self.identity, options[0], error.complaint.strip())
                continue
            except TimeoutError as error:
                raise ModelTimeoutError(
                    f"{self.identity} did not finish within {self._settings.timeout:g} s",
                    hint="raise generation.timeout, or use a faster model",
                ) from error
            if prompt.session:
                self._begun.add(prompt.session)
            break
        yield ModelUsage(model=self.identity)

    def _ways(self, prompt: Prompt) -> tuple[tuple[str, ...], ...]:
        """Return the command-line options to try for the conversation, the likelier first."""
        if not prompt.session:
            return ((),)
        session_id = _uuid_of(prompt.session)
        new, resumed = ("--session-id", session_id), (RESUME, session_id)
        begun = prompt.history or prompt.session in self._begun
        return (resumed, new) if begun else (new, resumed)

    async def _text(
        self, prompt: Prompt, options: Sequence[str], deadline: float
    ) -> AsyncGenerator[str, None]:
        """Yield the reply as text without control characters, up to the longest allowed."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        thoughts = ThoughtFilter()
        budget = self._settings.max_tokens * CHARACTERS_PER_TOKEN
        wrote = False
        try:
            async with aclosing(self._output(prompt, options, deadline)) as pieces:
                async for piece in pieces:
                    text = thoughts.feed(CONTROL_CHARACTERS.sub("", decoder.decode(piece)))[:budget]
                    budget -= len(text)
                    wrote = wrote or bool(text.strip())
                    if text:
                        yield text
                    if not budget:
                        logger.warning("%s was stopped: its reply is too long", self.identity)
                        return
        except TimeoutError:
            raise
        except OSError as error:
            raise ModelError(
                f"{self._program} could not be run: {error}", hint="check generation.command"
            ) from error
        if rest := thoughts.feed(decoder.decode(b"", final=True)) + thoughts.finish():
            wrote = wrote or bool(rest.strip())
            yield rest[:budget]
        if not wrote:
            raise ModelError(
                f"{self.identity} gave an empty reply",
                hint="try again or use another model",
                retryable=True,
            )

    def _command(self, prompt: Prompt, options: Sequence[str]) -> tuple[list[str], bytes]:
        text = prompt.history[-1].heard if RESUME in options and prompt.history else prompt.as_text
        data = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", errors="replace")
        batch = self._program.lower().endswith(BATCH_FILES)
        by_argument = len(data) <= MAX_ARGUMENT_BYTES and not batch
        argument = data.decode()
        if argument.startswith("-"):
            argument = f"\n{argument}"  # so that it is not taken for an option
        command = [self._program, "-p", *([argument] if by_argument else [])]
        command += ["--output-format", "text", *options]
        command += ["--model", self._model] if self._model else []
        return [*command, "--tools", "", "--strict-mcp-config"], b"" if by_argument else data

    async def _output(
        self, prompt: Prompt, options: Sequence[str], deadline: float
    ) -> AsyncGenerator[bytes, None]:
        """Yield the program's standard output as it comes.

        The deadline applies to each wait, so the consumer's own work is never cancelled.
        """
        command, data = self._command(prompt, options)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if data else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._folder,
            env=self._environ,
            start_new_session=True,
        )
        output, errors = process.stdout, process.stderr
        if output is None or errors is None:
            raise OSError("the program has no standard output")
        feeding = asyncio.create_task(_feed(process.stdin, data))
        listening = asyncio.create_task(_read_beginning(errors))
        try:
            while piece := await _wait_until(deadline, output.read(READ_BYTES)):
                yield piece
            complaint = await _wait_until(deadline, asyncio.shield(listening))
            status = await _wait_until(deadline, process.wait())
        finally:
            if process.returncode is None or not output.at_eof():
                _kill(process)
            feeding.cancel()
            # Shielded, so that a cancelled task leaves neither a zombie nor an open pipe behind.
            with anyio.move_on_after(REAP_SECONDS, shield=True) as reaping:
                await _read_beginning(output)
                await asyncio.gather(process.wait(), listening, feeding, return_exceptions=True)
            if reaping.cancelled_caught:
                logger.warning("%s left its output open after it was killed", self._program)
        if status:
            raise _ProgramError(status, remove_keys(complaint, secrets_in(self._environ)))

    def _failed(self, error: _ProgramError, reason: str) -> ModelError:
        """Return the error of a failed run; some programs report it on standard output only."""
        message = CONTROL_CHARACTERS.sub("", error.complaint).strip() or reason
        reason = " ".join(remove_keys(message, secrets_in(self._environ)).split())
        reason = reason if len(reason) <= MAX_REASON_CHARS else reason[: MAX_REASON_CHARS - 1] + "…"
        hint, command = "", self._settings.command
        if LOCKED_OUT.search(reason):
            hint = f"run {command} once by hand and log in"
        elif "unknown option" in reason:
            hint = f"{command} is too old; update it"
        return ModelError(
            f"{self.identity} exited with status {error.status}: {reason or 'it gave no reason'}",
            hint=hint,
            retryable=bool(TEMPORARY.search(reason)),
        )


def _program_environment(environ: Mapping[str, str]) -> dict[str, str]:
    prefixes_of_ours = [*OWN_PREFIXES]
    for switch, prefixes in CLOUD_PREFIXES.items():
        if environ.get(switch):
            prefixes_of_ours += prefixes
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in VARIABLES or name.upper().startswith(tuple(prefixes_of_ours))
    }


def _find_program(command: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of the program, which runs in a folder other than ours."""
    path = shutil.which(command, path=environ.get("PATH"))
    if path is None:
        raise ModelError(
            f"the program {command!r} does not exist or cannot be run",
            hint="install the claude command-line program, or set generation.command to its path",
        )
    return str(Path(path).absolute())


def _working_folder(environ: Mapping[str, str]) -> Path:
    """Return the user's empty working folder, always the same: the program's sessions need it."""
    cache = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA")
    base = Path(cache) if cache else Path(environ.get("HOME") or Path.home()) / ".cache"
    folder = base / "wellread" / CLAUDE_CLI
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"the folder for {CLAUDE_CLI} cannot be created: {error}",
            hint="set XDG_CACHE_HOME to a writable folder",
        ) from error
    return folder


def _uuid_of(session: str) -> str:
    try:
        return str(uuid.UUID(session))
    except ValueError:
        return str(uuid.uuid5(SESSIONS, session))


async def _wait_until(deadline: float, waited: Awaitable[T]) -> T:
    async with asyncio.timeout_at(deadline):
        return await waited


async def _feed(standard_input: asyncio.StreamWriter | None, data: bytes) -> None:
    if standard_input is None:
        return
    try:
        standard_input.write(data)
        await standard_input.drain()
    except (BrokenPipeError, ConnectionResetError):
        logger.debug("the program did not read all of its input")
    finally:
        standard_input.close()


async def _read_beginning(stream: asyncio.StreamReader) -> str:
    """Return the first bytes; read the rest too, so that the writer never blocks."""
    beginning = b""
    while piece := await stream.read(READ_BYTES):
        beginning = (beginning + piece)[:MAX_COMPLAINT_BYTES]
    return beginning.decode("utf-8", errors="replace")


def _kill(process: asyncio.subprocess.Process) -> None:
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        logger.debug("process %d has ended by itself", process.pid)
