"""When a failed call of a model is tried again, and a language model that does so."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

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
        """Wrap ``model``.

        Args:
            model: the model that is asked.
            retries: further tries after the first.
            patience: seconds after the start of the first try in which a further one may begin.
            sleep: waits that many seconds.
            clock: seconds from any fixed point.
        """
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
