"""A language model as a reader: it grades passages from 0 to 10.

One call for some forty passages instead of one for each: the model sees them side by side, and the
question's price and time stay those of one call. Grades, not an order, are asked for, so that
several calls can be joined and ties keep the search's order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
import numpy as np

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, Prompt, replied
from wellread.models.json_http import sendable, text_batches
from wellread.models.prompts import fence_of, fenced, template
from wellread.models.reader import Excerpt, Scores
from wellread.threads.cancellation import wait_for

BATCH_TEXTS = 40
BATCH_CHARACTERS = 60_000
MAX_CHARACTERS = 4_000
"""More of one text, or of the question, is cut off."""
BEST_GRADE = 10
GRADE = "raise reader.timeout, lower reader.depth, or use a faster model"


class LlmReader:
    """Reads by a language model. Safe to call from several threads, not from an event loop.

    Called from a worker thread of anyio (``to_thread.run_sync``) it uses the loop that waits
    there, so that a cancelled question cancels the model's work; elsewhere a loop of its own.
    """

    def __init__(self, model: LanguageModel, *, timeout: float = 20.0) -> None:
        """Prepare; nothing is asked yet.

        Args:
            model: the model that reads.
            timeout: seconds that grading may take.
        """
        self._model = model
        self._timeout = timeout

    @property
    def identity(self) -> str:
        """That of the model."""
        return f"model:{self._model.identity}"

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The model's grades of ``texts``, 0 to 10, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: the model failed, or did not grade each text.
        """
        cut = [sendable(each.shown, MAX_CHARACTERS) for each in texts]
        batches = list(text_batches(cut, most_texts=BATCH_TEXTS, most_characters=BATCH_CHARACTERS))
        if not batches:
            return np.empty(0, dtype=np.float64)
        asked = sendable(question, MAX_CHARACTERS)

        async def graded() -> list[float]:
            with self._in_time(f"reranking with {self._model.identity} did not finish", GRADE):
                return [grade for batch in batches for grade in await self._grade(asked, batch)]

        return np.asarray(wait_for(graded), dtype=np.float64)

    async def _grade(self, question: str, texts: Sequence[str]) -> list[float]:
        keyed = {f"p{number}": text for number, text in enumerate(texts, 1)}
        reply, _ = await replied(self._model, grading_prompt(question, keyed))
        try:
            return read_grades(reply, list(keyed))
        except ValueError as error:
            raise self._unusable(error) from error

    @contextmanager
    def _in_time(self, late: str, hint: str) -> Iterator[None]:
        try:
            with anyio.fail_after(self._timeout):
                yield
        except TimeoutError as error:
            raise ModelTimeoutError(f"{late} within {self._timeout:g} s", hint=hint) from error

    def _unusable(self, reason: ValueError) -> ModelError:
        return ModelError(
            f"reranking with {self._model.identity}: the reply cannot be used: {reason}",
            hint="try again, use another model, or set reader.relevance to lexical",
            retryable=True,
        )


def grading_prompt(question: str, keyed: Mapping[str, str]) -> Prompt:
    """What the model is asked. ``keyed`` are the passages under their keys.

    The same input gives the same prompt.
    """
    fence = fence_of(question, *keyed.values())
    return Prompt(
        system=template("rerank_system.md").render(fence=fence),
        user=template("rerank_user.md").render(
            fence=fence,
            passages=[(key, fenced(text, fence)) for key, text in keyed.items()],
            question=" ".join(fenced(question, fence).split()),
        ),
    )


def read_grades(reply: str, keys: Sequence[str]) -> list[float]:
    """The grades of ``keys`` in a model's reply; text around the object is passed over.

    Raises:
        ValueError: it holds no JSON object, or the object does not grade exactly ``keys``.
    """
    start = reply.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    try:
        grades, _ = json.JSONDecoder().raw_decode(reply, start)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
    wrong = sorted(set(keys) ^ set(grades))
    if wrong:
        raise ValueError(
            f"{len(grades)} grades for {len(keys)} passages; {wrong[0]!r} does not fit"
        )
    return [_grade(key, grades[key]) for key in keys]


def _grade(key: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and 0 <= value <= BEST_GRADE):
        raise ValueError(f"the grade of {key} is {value!r}, expected 0 to {BEST_GRADE}")
    return float(value)
