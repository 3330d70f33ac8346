"""Contract tests for language models, and a scripted language model for tests."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import pytest

from wellread.errors import ModelError
from wellread.models.base import (
    Exchange,
    LanguageModel,
    ModelUsage,
    Piece,
    Prompt,
    TextDelta,
    Tool,
    ToolCall,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A reply that fails with ``error`` after ``text``."""

    text: str
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """A reply that calls tools after ``text``; each call is a name and its arguments as JSON."""

    calls: tuple[tuple[str, str], ...]
    text: str = ""


Judge = Callable[[Prompt], str | Exception]
Planner = Judge
_SENTENCE = re.compile(r"^(\d+)\. \[(\w+)\]", re.MULTILINE)


def judging(
    *entries: Mapping[str, object], conflicts: Sequence[Mapping[str, object]] = ()
) -> Judge:
    """A judge that always replies with these verdicts (objects as in ``judge.SCHEMA``)."""
    reply = json.dumps({"sentences": entries, "conflicts": conflicts})
    return lambda _: reply


def agreeing(prompt: Prompt) -> str:
    """A judge's reply that every cited sentence is supported by its first citation."""
    entries = []
    for number, key in _SENTENCE.findall(prompt.user[prompt.shared :]):
        passage = prompt.user.partition(f'key="{key}"')[2].partition("text:\n")[2]
        quote = passage.partition("\n")[0]
        entries.append({"number": int(number), "verdict": "supported", "key": key, "quote": quote})
    return json.dumps({"sentences": entries, "conflicts": []})


def planning(*questions: Mapping[str, object]) -> Planner:
    """A planner that always replies with these objects (``planning_call.PlannedQuestion``)."""
    reply = json.dumps({"questions": questions})
    return lambda _: reply


class ScriptedModel:
    """Returns the replies of a script, one per call, in pieces of ``chunk`` characters.

    Calls with a schema do not use the script: ``judge`` answers calls for verdicts (by default
    without any verdict), ``planner`` answers calls that analyse a question (by default with no
    plan, so that patterns are used). Token counts are numbers of words.

    Attributes:
        prompts: the prompts received, in order; ``judged`` and ``planned`` have those of the
            judge and of the planner.
        takes_tools: whether the model declares support for tools.
    """

    def __init__(
        self,
        replies: Sequence[str | Exception | Broken | Calling],
        *,
        chunk: int = 8,
        identity: str = "scripted:model",
        takes_tools: bool = False,
        judge: Judge | None = None,
        planner: Planner | None = None,
    ) -> None:
        if chunk < 1:
            raise ValueError(f"chunk is {chunk}, expected 1 or more")
        self.prompts: list[Prompt] = []
        self.judged: list[Prompt] = []
        self.planned: list[Prompt] = []
        self._judge = judge or judging()
        self._planner = planner or planning()
        self.takes_tools = takes_tools
        self._replies = list(replies)
        self._chunk = chunk
        self._identity = identity

    @property
    def identity(self) -> str:
        """The identity passed to the constructor."""
        return self._identity

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Stream the next reply of the script.

        Raises:
            LookupError: the script has no reply left. It is not a ``ModelError``, so that
                fallbacks in the tested code do not hide it.
        """
        call_index = len(self.prompts)
        reply: str | Exception | Broken | Calling
        if prompt.schema is not None and "questions" in prompt.schema["properties"]:
            self.planned.append(prompt)
            reply = self._planner(prompt)
        elif prompt.schema is not None:
            self.judged.append(prompt)
            reply = self._judge(prompt)
        else:
            self.prompts.append(prompt)
            if call_index >= len(self._replies):
                message = f"call {call_index + 1}, but the script has {len(self._replies)} replies"
                raise LookupError(message)
            reply = self._replies[call_index]
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else reply.text
        for start in range(0, len(text), self._chunk):
            # Yields control like a real model, so that code which expects all at once fails.
            await asyncio.sleep(0)
            yield TextDelta(text=text[start : start + self._chunk])
        if isinstance(reply, Broken):
            raise reply.error
        if isinstance(reply, Calling):
            for number, (name, arguments) in enumerate(reply.calls, 1):
                yield ToolCall(id=f"call_{call_index + 1}_{number}", name=name, arguments=arguments)
        yield ModelUsage(
            model=self._identity,
            input_tokens=len(f"{prompt.system} {prompt.user}".split()),
            output_tokens=len(text.split()),
        )


async def collect(model: LanguageModel, prompt: Prompt) -> tuple[str, list[Piece]]:
    """The complete text of one reply, and its pieces."""
    pieces: list[Piece] = []
    stream = model.stream(prompt)
    if isinstance(stream, AsyncGenerator):
        async with aclosing(stream):
            pieces = [piece async for piece in stream]
    else:
        pieces = [piece async for piece in stream]
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), pieces


class LanguageModelContract:
    """Tests that every language model must pass. Inherit the class and define both fixtures.

    ``model`` answers any prompt with text, at least twice; ``failing_model`` fails.
    """

    PROMPT = Prompt(system="Answer in one word.", user="Which colour has the sky?")

    @pytest.fixture
    def model(self) -> LanguageModel:
        """A model that answers."""
        raise LookupError("override the fixture 'model'")

    @pytest.fixture
    def failing_model(self) -> LanguageModel:
        """A model that returns errors or cannot be reached."""
        raise LookupError("override the fixture 'failing_model'")

    def test_text_comes_first_then_one_usage(self, model: LanguageModel) -> None:
        """A reply is any number of text pieces and then one usage; unknown counts are 0."""
        text, pieces = asyncio.run(collect(model, self.PROMPT))
        usage = pieces[-1]
        assert text.strip()
        assert isinstance(usage, ModelUsage)
        assert usage.model
        assert min(usage.input_tokens, usage.output_tokens, usage.cost) >= 0
        assert model.identity.strip() == model.identity != ""
        assert all(isinstance(piece, TextDelta) and piece.text for piece in pieces[:-1])

    def test_it_can_be_asked_again_in_another_event_loop(self, model: LanguageModel) -> None:
        """Connections are not tied to the event loop of the first call."""
        first, _ = asyncio.run(collect(model, self.PROMPT))
        second, _ = asyncio.run(collect(model, self.PROMPT))
        assert first.strip()
        assert second.strip()

    def test_a_reader_may_stop_early(self, model: LanguageModel) -> None:
        """Stopping after the first piece neither hangs nor raises."""

        async def first_piece() -> Piece | None:
            stream = model.stream(self.PROMPT)
            piece = await anext(aiter(stream), None)
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
            return piece

        assert isinstance(asyncio.run(first_piece()), TextDelta)

    def test_a_conversation_goes_on(self, model: LanguageModel) -> None:
        """A prompt with tools and their results is answered, with or without tool support."""
        call = ToolCall(id="call_1", name="look", arguments='{"at": "the sky"}')
        looked = Exchange(text="I look.", calls=(call,), results=("It is blue.",), told="And now?")
        opinion = Exchange(text="Blue, I think.", told="Are you sure?")
        at = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
        look = Tool(name="look", description="Looks.", parameters=at)
        prompt = replace(self.PROMPT, tools=(look,), history=(looked, opinion))
        text, pieces = asyncio.run(collect(model, prompt))
        assert text.strip() or any(isinstance(piece, ToolCall) for piece in pieces)
        assert isinstance(pieces[-1], ModelUsage)
        assert not any(isinstance(piece, ModelUsage) for piece in pieces[:-1])

    def test_failures_are_model_errors(self, failing_model: LanguageModel) -> None:
        """Errors of the underlying library are converted to ``ModelError``."""
        with pytest.raises(ModelError):
            asyncio.run(collect(failing_model, self.PROMPT))
