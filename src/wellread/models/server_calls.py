"""Shared by model calls: retries, and removal of secrets and reasoning blocks from replies.

Logs, answers and the catalogue only get text from which the keys have been removed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import random
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import Literal
from urllib.parse import quote

from wellread.errors import ModelError
from wellread.models.base import LanguageModel, Piece, Prompt, streaming, takes_tools

logger = logging.getLogger(__name__)

FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 20.0


def pause_after(
    error: ModelError, attempt: int, max_wait: float = MAX_WAIT_SECONDS
) -> float | None:
    """Return the seconds to wait after attempt ``attempt`` (from 0) failed; None to give up.

    The wait starts at half a second and doubles, minus up to half of it at random, and is never
    shorter than the server asked for. A server that asks for more than ``max_wait`` is given up.
    """
    # Jitter keeps many clients that failed together from retrying together.
    spread = random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it
    pause = max(min(FIRST_WAIT_SECONDS * 2.0**attempt, max_wait) * spread, error.retry_after or 0.0)
    return pause if error.retryable and pause <= max_wait else None


class RetryingModel:
    """Repeats a call after a temporary failure, as long as no text was passed on yet.

    When a server asks for a very long wait, its error is raised at once, so that another model
    can take over.
    """

    def __init__(
        self,
        model: LanguageModel,
        retries: int,
        *,
        patience: float = math.inf,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._retries = retries
        self._patience = patience
        self._sleep = sleep
        self._clock = clock

    @property
    def identity(self) -> str:
        """The identity of the wrapped model."""
        return self._model.identity

    @property
    def takes_tools(self) -> bool:
        """Whether the wrapped model calls tools."""
        return takes_tools(self._model)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Yield the reply of the first attempt that does not fail before its first piece."""
        start = self._clock()
        for attempt in range(self._retries + 1):
            passed_on = False
            try:
                async with streaming(self._model, prompt) as pieces:
                    async for piece in pieces:
                        passed_on = True
                        yield piece
                return
            except ModelError as error:
                pause = pause_after(error, attempt)
                if passed_on or attempt == self._retries or pause is None:
                    raise
                if self._clock() - start + pause >= self._patience:
                    raise
                message = "%s failed (%s); attempt %d of %d follows in %.1f s"
                tries = (attempt + 2, self._retries + 1)
                logger.warning(message, self.identity, error, *tries, pause)
            await self._sleep(pause)


HIDDEN = "***"
MIN_SECRET_CHARS = 4  # characters; anything shorter is not a secret, and would match in every word
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE)S?(?:_|$)", re.IGNORECASE
)


def remove_keys(text: str, keys: Iterable[str]) -> str:
    """Return ``text`` with ``keys`` hidden, even when encoded for a URL, JSON or base64.

    Call it on the complete text: a key that was cut in two is not found.
    """
    forms = {form for key in keys for form in _forms(key)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def secrets_in(environ: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose names contain key, token, secret or password."""
    return [value for name, value in environ.items() if _SECRET_NAME.search(name)]


def _forms(key: str) -> Iterable[str]:
    key = key.strip()
    if len(key) < MIN_SECRET_CHARS:
        return
    yield key
    yield quote(key, safe="")
    yield json.dumps(key)[1:-1]
    data = key.encode("utf-8", "surrogateescape")
    yield base64.b64encode(data).decode().rstrip("=")
    yield base64.urlsafe_b64encode(data).decode().rstrip("=")


OPENING = "<think>"
CLOSING = "</think>"


class ThoughtFilter:
    """Removes a ``<think>…</think>`` block at the very beginning of a streamed reply.

    Some servers send reasoning in a separate field; others leave the tags in the text, where the
    stream may split them anywhere. Tags further on are ordinary text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["start", "thinking", "after", "open"] = "start"

    def feed(self, piece: str) -> str:
        """Add a ``piece`` of the reply, and return the text that can be passed on."""
        self._held += piece
        if self._state == "start":
            start = self._held.lstrip()
            if start.startswith(OPENING):
                self._state = "thinking"
                self._held = start[len(OPENING) :]
            elif not OPENING.startswith(start):
                self._state = "open"
        if self._state == "thinking":
            _, closing, rest = self._held.partition(CLOSING)
            if closing:
                self._state = "after"
                self._held = rest
            else:
                # Keep only what may be the beginning of the closing tag.
                self._held = self._held[-len(CLOSING) + 1 :]
        if self._state == "after":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "open"
        return self._release() if self._state == "open" else ""

    def finish(self) -> str:
        """Return the remaining text at the reply's end; an unclosed block is dropped."""
        return "" if self._state == "thinking" else self._release()

    def _release(self) -> str:
        released, self._held = self._held, ""
        return released
