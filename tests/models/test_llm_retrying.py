from __future__ import annotations

import asyncio
import math

import pytest

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, ModelUsage, Prompt, TextDelta
from wellread.models.server_calls import RetryingModel
from wellread.testing.llm import Broken, LanguageModelContract, ScriptedModel, collect

PROMPT = Prompt(system="s", user="u")


def busy(retry_after: float | None = None) -> ModelError:
    error = ModelError("busy", retryable=True)
    error.retry_after = retry_after
    return error


class Clock:
    """Time that passes only in ``sleep``."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


def retrying(
    model: LanguageModel, retries: int, clock: Clock, patience: float = math.inf
) -> RetryingModel:
    return RetryingModel(model, retries, patience=patience, sleep=clock.sleep, clock=clock)


class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self) -> LanguageModel:
        return RetryingModel(ScriptedModel(["Blue sky."] * 2), 1)

    @pytest.fixture
    def failing_model(self) -> LanguageModel:
        return RetryingModel(ScriptedModel([ModelError("no")]), 1)


class TestScriptedModelContract(LanguageModelContract):
    @pytest.fixture
    def model(self) -> LanguageModel:
        return ScriptedModel(["Blue sky."] * 2)

    @pytest.fixture
    def failing_model(self) -> LanguageModel:
        return ScriptedModel([ModelError("no")])


def test_waits_grow_between_tries() -> None:
    clock = Clock()
    inner = ScriptedModel([busy(), busy(), busy(), "Blue."])
    text, pieces = asyncio.run(collect(retrying(inner, 3, clock), PROMPT))
    assert text == "Blue."
    assert isinstance(pieces[-1], ModelUsage)
    assert inner.prompts == [PROMPT] * 4
    for wait, full in zip(clock.waits, (0.5, 1.0, 2.0), strict=True):
        assert full / 2 <= wait <= full


def test_the_last_failure_goes_up() -> None:
    clock = Clock()
    inner = ScriptedModel([busy(), busy(), ModelTimeoutError("slow")])
    with pytest.raises(ModelTimeoutError):
        asyncio.run(collect(retrying(inner, 2, clock), PROMPT))
    assert len(inner.prompts) == 3


def test_what_will_not_pass_is_not_tried_again() -> None:
    inner = ScriptedModel([ModelError("wrong key"), "Blue."])
    with pytest.raises(ModelError, match="wrong key"):
        asyncio.run(collect(retrying(inner, 2, Clock()), PROMPT))
    assert len(inner.prompts) == 1


def test_no_retry_once_the_reader_has_seen_text() -> None:
    inner = ScriptedModel([Broken(text="The sky", error=busy()), "Blue."], chunk=3)
    seen: list[str] = []

    async def read() -> None:
        async for piece in retrying(inner, 2, Clock()).stream(PROMPT):
            assert isinstance(piece, TextDelta)
            seen.append(piece.text)

    with pytest.raises(ModelError, match="busy"):
        asyncio.run(read())
    assert "".join(seen) == "The sky"
    assert len(inner.prompts) == 1


def test_the_server_says_how_long_to_wait() -> None:
    clock = Clock()
    asyncio.run(collect(retrying(ScriptedModel([busy(7.0), "Blue."]), 1, clock), PROMPT))
    assert clock.waits == [7.0]


def test_no_try_begins_after_the_patience_is_used_up() -> None:
    clock = Clock()
    inner = ScriptedModel([busy(3.0), busy(3.0), "Blue."])
    with pytest.raises(ModelError, match="busy"):
        asyncio.run(collect(retrying(inner, 5, clock, patience=5.0), PROMPT))
    assert clock.waits == [3.0]
