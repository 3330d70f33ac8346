"""What calls of models share: when a failed one is tried again, and what is left out of what comes
back: keys (into logs, answers and the catalogue goes only what remains) and thoughts.
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

FIRST_WAIT = 0.5
LONGEST_WAIT = 20.0


def pause_after(error: ModelError, tried: int, longest: float = LONGEST_WAIT) -> float | None:
    """Seconds to wait after the try number ``tried`` (from 0) failed; None: try no more.

    The first wait is half a second and each further one twice as long, up to half less by chance,
    and never less than the server asked for. One that asks for more than ``longest`` is not waited
    for.
    """
    # Chance keeps many clients that failed together from coming back together.
    spread = random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it
    pause = max(min(FIRST_WAIT * 2.0**tried, longest) * spread, error.retry_after or 0.0)
    return pause if error.retryable and pause <= longest else None


class RetryingModel:
    """Repeats a call that failed in a way that may pass, as long as no text was passed on yet.

    A server that asks for a very long wait is not waited for: its error goes up, so that another
    answerer can take over at once.
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
        """Wrap ``model``."""
        self._model = model
        self._retries = retries
        self._patience = patience
        self._sleep = sleep
        self._clock = clock

    @property
    def identity(self) -> str:
        """That of the model inside."""
        return self._model.identity

    @property
    def takes_tools(self) -> bool:
        """Whether the model inside does."""
        return takes_tools(self._model)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """The reply of the first try that does not fail before its first piece."""
        begun = self._clock()
        for tried in range(self._retries + 1):
            passed_on = False
            try:
                async with streaming(self._model, prompt) as pieces:
                    async for piece in pieces:
                        passed_on = True
                        yield piece
                return
            except ModelError as error:
                pause = pause_after(error, tried)
                if passed_on or tried == self._retries or pause is None:
                    raise
                if self._clock() - begun + pause >= self._patience:
                    raise
                message = "%s failed (%s); try %d of %d follows in %.1f s"
                tries = (tried + 2, self._retries + 1)
                logger.warning(message, self.identity, error, *tries, pause)
            await self._sleep(pause)


HIDDEN = "***"
SHORTEST = 4  # characters; less is no secret, and would be found in every word
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE)S?(?:_|$)", re.IGNORECASE
)


def without_keys(text: str, keys: Iterable[str]) -> str:
    """``text`` with each of ``keys`` hidden, also as a URL, JSON or base64 writes it.

    To be called on the whole text: a key that was cut in two is not found.
    """
    forms = {form for key in keys for form in _forms(key)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def secrets_in(environ: Mapping[str, str]) -> list[str]:
    """The values of variables that are called a key, a token or the like."""
    return [value for name, value in environ.items() if _SECRET_NAME.search(name)]


def _forms(key: str) -> Iterable[str]:
    key = key.strip()
    if len(key) < SHORTEST:
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
    """Passes a reply on without a ``<think>…</think>`` block at its very beginning.

    Servers that know their model send thoughts in a field of their own; others leave the tags in
    the text, cut into pieces anywhere. Tags further on are text like any other.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["start", "thinking", "after", "open"] = "start"

    def feed(self, piece: str) -> str:
        """What of the reply may be passed on, now that ``piece`` has arrived."""
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
                # Only as much as may be the beginning of the closing tag.
                self._held = self._held[-len(CLOSING) + 1 :]
        if self._state == "after":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "open"
        return self._release() if self._state == "open" else ""

    def finish(self) -> str:
        """The rest, at the reply's end; thoughts that never ended are not passed on."""
        return "" if self._state == "thinking" else self._release()

    def _release(self) -> str:
        released, self._held = self._held, ""
        return released
