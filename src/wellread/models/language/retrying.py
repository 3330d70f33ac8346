"""A language model that tries again."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing

from wellread.errors import ModelError
from wellread.models.base import LanguageModel, ModelUsage, Prompt, TextDelta

logger = logging.getLogger(__name__)

FIRST_WAIT = 0.5
LONGEST_WAIT = 20.0


class RetryingModel:
    """Repeats a call that failed in a way that may pass, as long as no text was passed on yet.

    The first wait is half a second and each further one twice as long, up to half less by chance,
    and never less than the server asked for. A server that asks for more than ``LONGEST_WAIT`` is
    not waited for: its error goes up, so that another answerer can take over at once.
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

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The reply of the first try that does not fail before its first piece."""
        begun = self._clock()
        for tried in range(self._retries + 1):
            passed_on = False
            try:
                async with AsyncExitStack() as stack:
                    pieces: AsyncIterator[TextDelta | ModelUsage] = self._model.stream(prompt)
                    if isinstance(pieces, AsyncGenerator):
                        await stack.enter_async_context(aclosing(pieces))
                    async for piece in pieces:
                        passed_on = True
                        yield piece
                return
            except ModelError as error:
                if passed_on or not error.retryable or tried == self._retries:
                    raise
                wait = _wait(tried, error.retry_after)
                if wait > LONGEST_WAIT or self._clock() - begun + wait >= self._patience:
                    raise
                logger.warning(
                    "%s failed (%s); try %d of %d follows in %.1f s",
                    self.identity,
                    error,
                    tried + 2,
                    self._retries + 1,
                    wait,
                )
            await self._sleep(wait)


def _wait(tried: int, asked: float | None) -> float:
    """Seconds to wait after ``tried + 1`` failed tries."""
    # Chance keeps many clients that failed together from coming back together.
    spread = random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it
    own = min(FIRST_WAIT * 2.0**tried, LONGEST_WAIT) * spread
    return max(own, asked or 0.0)
