"""The ``claude`` command line as a language model.

It is run as ``claude -p PROMPT --output-format text``, by an argument vector and never by a shell.
The prompt holds text of strangers, so the program gets no tools and no servers that offer some, and
runs in an empty folder of its own: nothing in the evidence can make it read or change anything. Of
the environment it gets what a command line program needs, and what is its own.

A conversation (``Prompt.session``) is begun with ``--session-id`` and carried on with ``--resume``,
which is told only what is new. The command keeps conversations itself, so another process may have
begun one: what it says about an unknown or a taken id decides.

The program gets a process group of its own, which is killed as a whole when the reader leaves, the
task is cancelled or the time is up: one that ignores polite signals, or has started others, is gone
as well.
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
from wellread.models.server_calls import ThoughtFilter, secrets_in, without_keys

logger = logging.getLogger(__name__)

CLAUDE_CLI = "claude-cli"  # names it among the providers of models

T = TypeVar("T")
# Linux takes 128 KiB in one argument, Windows 32 KiB in all of them; more goes by standard input.
LONGEST_ARGUMENT = 24_000 if sys.platform == "win32" else 120_000
# Windows reads the arguments of these once more, in a way that no quoting survives.
BATCH_FILES = (".cmd", ".bat")
# The command has no limit of its own; no token of any language is longer on average.
CHARACTERS_PER_TOKEN = 10
LONGEST_REASON = 300
PIECE = 65_536
KEPT_COMPLAINT = 4_000  # bytes of what the program complains about, from the beginning
REAP_SECONDS = 5.0
RESUME = "--resume"
SESSIONS = uuid.UUID("6f0a1d52-6a0e-5f0b-9d5c-3a4f6f1b7c21")

NEEDED = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP TERM "
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS "
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE HOMEDRIVE HOMEPATH APPDATA "
    "LOCALAPPDATA PROGRAMDATA PROGRAMFILES".split()
)
OWN = ("ANTHROPIC_", "CLAUDE_", "LC_", "XDG_")
# Where it asks a cloud's models, that cloud's settings are its own too.
CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUDSDK_", "CLOUD_ML_", "VERTEX_", "GCLOUD_"),
}

CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
# An id that is new here may be known there, and the other way round.
OTHER_WAY = re.compile(
    r"session.{0,80}already in use|no (?:conversation|session) found", re.IGNORECASE | re.DOTALL
)
PASSING = re.compile(
    r"rate.?limit|overloaded|\b(?:429|500|502|503|504|529)\b|timed out|ECONN|ENOTFOUND|EAI_AGAIN",
    re.IGNORECASE,
)
LOCKED_OUT = re.compile(r"log ?in\b|api key|authenticat|credential|oauth", re.IGNORECASE)


class _ProgramError(Exception):
    """The program ended with ``status`` (negative: the signal); what it wrote to standard error."""

    def __init__(self, status: int, complaint: str) -> None:
        super().__init__(f"exit status {status}: {complaint}")
        self.status = status
        self.complaint = complaint


class ClaudeCommand:
    """Asks the command line program of ``generation.command``, once a call."""

    def __init__(
        self, settings: GenerationSettings, model: str, environ: Mapping[str, str]
    ) -> None:
        """Find the program."""
        self._settings = settings
        self._model = model
        self._environ = _needed(environ)
        self._program = _found(settings.command, environ)
        self._folder = _folder(environ)
        self._begun: set[str] = set()

    @property
    def identity(self) -> str:
        """``claude-cli``, or ``claude-cli:sonnet``."""
        return f"{CLAUDE_CLI}:{self._model}" if self._model else CLAUDE_CLI

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """The reply as the program writes it; token counts are unknown."""
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        ways = self._ways(prompt)
        for place, way in enumerate(ways):
            said = ""
            try:
                async with aclosing(self._text(prompt, way, deadline)) as pieces:
                    async for piece in pieces:
                        said = said or piece
                        yield TextDelta(text=piece)
            except _ProgramError as error:
                if said or place + 1 == len(ways) or not OTHER_WAY.search(error.complaint):
                    raise self._failed(error, said) from error
                logger.info("%s: %s did not do: %s", self.identity, way[0], error.complaint.strip())
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
        """The options that name the conversation, the likelier ones first."""
        if not prompt.session:
            return ((),)
        named = _uuid_of(prompt.session)
        new, known = ("--session-id", named), (RESUME, named)
        begun = prompt.history or prompt.session in self._begun
        return (known, new) if begun else (new, known)

    async def _text(
        self, prompt: Prompt, way: Sequence[str], deadline: float
    ) -> AsyncGenerator[str, None]:
        """The reply as text without control characters, at most as long as a reply may be."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        thoughts = ThoughtFilter()
        left = self._settings.max_tokens * CHARACTERS_PER_TOKEN
        wrote = False
        try:
            async with aclosing(self._output(prompt, way, deadline)) as pieces:
                async for piece in pieces:
                    text = thoughts.feed(CONTROL.sub("", decoder.decode(piece)))[:left]
                    left -= len(text)
                    wrote = wrote or bool(text.strip())
                    if text:
                        yield text
                    if not left:
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
            yield rest[:left]
        if not wrote:
            raise ModelError(
                f"{self.identity} gave an empty reply",
                hint="try again or use another model",
                retryable=True,
            )

    def _command(self, prompt: Prompt, way: Sequence[str]) -> tuple[list[str], bytes]:
        """The program with its arguments, never read by a shell, and its standard input."""
        text = prompt.history[-1].heard if RESUME in way and prompt.history else prompt.as_text
        given = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", errors="replace")
        batch = self._program.lower().endswith(BATCH_FILES)
        by_argument = len(given) <= LONGEST_ARGUMENT and not batch
        argument = given.decode()
        if argument.startswith("-"):
            argument = f"\n{argument}"  # never an option
        command = [self._program, "-p", *([argument] if by_argument else [])]
        command += ["--output-format", "text", *way]
        command += ["--model", self._model] if self._model else []
        return [*command, "--tools", "", "--strict-mcp-config"], b"" if by_argument else given

    async def _output(
        self, prompt: Prompt, way: Sequence[str], deadline: float
    ) -> AsyncGenerator[bytes, None]:
        """What the program writes to its standard output, as it comes.

        The deadline counts around each wait, so the reader's own work is never cancelled.
        """
        command, given = self._command(prompt, way)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._folder,
            env=self._environ,
            start_new_session=True,
        )
        written, complained = process.stdout, process.stderr
        if written is None or complained is None:
            raise OSError("the program has no standard output")
        feeding = asyncio.create_task(_feed(process.stdin, given))
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
                await _beginning(written)
                await asyncio.gather(process.wait(), listening, feeding, return_exceptions=True)
            if reaping.cancelled_caught:
                logger.warning("%s left its output open after it was killed", self._program)
        if status:
            raise _ProgramError(status, without_keys(complaint, secrets_in(self._environ)))

    def _failed(self, error: _ProgramError, said: str) -> ModelError:
        """The program's failure; some are told on its standard output only."""
        told = CONTROL.sub("", error.complaint).strip() or said
        said = " ".join(without_keys(told, secrets_in(self._environ)).split())
        said = said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 1] + "…"
        hint, command = "", self._settings.command
        if LOCKED_OUT.search(said):
            hint = f"run {command} once by hand and log in"
        elif "unknown option" in said:
            hint = f"{command} is too old; update it"
        return ModelError(
            f"{self.identity} ended with status {error.status}: {said or 'it gave no reason'}",
            hint=hint,
            retryable=bool(PASSING.search(said)),
        )


def _needed(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of the environment that the program may see."""
    own = [*OWN]
    for switch, prefixes in CLOUDS.items():
        if environ.get(switch):
            own += prefixes
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in NEEDED or name.upper().startswith(tuple(own))
    }


def _found(command: str, environ: Mapping[str, str]) -> str:
    """The absolute path of the program: it runs in another folder than ours."""
    path = shutil.which(command, path=environ.get("PATH"))
    if path is None:
        raise ModelError(
            f"the program {command!r} is not there, or cannot be run",
            hint="install the claude command line, or set generation.command to its path",
        )
    return str(Path(path).absolute())


def _folder(environ: Mapping[str, str]) -> Path:
    """An empty folder of the user, always the same: conversations are kept by folder."""
    cache = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA")
    base = Path(cache) if cache else Path(environ.get("HOME") or Path.home()) / ".cache"
    folder = base / "wellread" / CLAUDE_CLI
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"the folder for {CLAUDE_CLI} cannot be made: {error}",
            hint="set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return folder


def _uuid_of(session: str) -> str:
    try:
        return str(uuid.UUID(session))
    except ValueError:
        return str(uuid.uuid5(SESSIONS, session))


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


def _kill(process: asyncio.subprocess.Process) -> None:
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        logger.debug("process %d has ended by itself", process.pid)
