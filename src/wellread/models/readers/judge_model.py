"""A language model as a judge: yes, partial or no for one claim and its passages, with a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import anyio

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, Prompt, TextDelta
from wellread.models.from_threads import wait_for
from wellread.models.json_http import sendable
from wellread.models.judge import Case, Ruling, RulingName
from wellread.models.prompts import fence_of, fenced, template

MAX_PASSAGES, MAX_CLAIM = 20_000, 2_000  # characters; more is cut off
MAX_REASON = 300
VERDICTS: dict[str, RulingName] = {
    "yes": "supported",
    "supported": "supported",
    "true": "supported",
    "partial": "partial",
    "partially": "partial",
    "partly": "partial",
    "partially supported": "partial",
    "no": "unsupported",
    "unsupported": "unsupported",
    "not supported": "unsupported",
    "false": "unsupported",
}

_WORD = re.compile(r"[\W_]*(yes|partial(?:ly)?|partly|no)\b[\W_]*(.*)", re.IGNORECASE | re.DOTALL)


class ModelJudge:
    """Rules by a language model, all cases at the same time, each with a time limit.

    Safe to call from several threads, not from an event loop. Called from a worker thread of anyio
    (``to_thread.run_sync``) it uses the loop that waits there.
    """

    def __init__(self, model: LanguageModel, *, timeout: float = 20.0) -> None:
        """Prepare; nothing is asked yet.

        Args:
            model: the model that rules.
            timeout: seconds that one ruling may take.
        """
        self._model = model
        self._timeout = timeout

    @property
    def identity(self) -> str:
        """That of the model."""
        return f"model:{self._model.identity}"

    def __call__(self, cases: Sequence[Case]) -> list[Ruling]:
        """A ruling for each of ``cases``, in order; one that fails alone is undecided.

        Raises:
            ModelTimeoutError: no ruling within the time limit, for any of them.
            ModelError: the model failed, or its reply cannot be read, for each of them.
        """
        if not cases:
            return []
        found: list[Ruling | ModelError] = [ModelError("not asked")] * len(cases)

        async def rule(place: int) -> None:
            try:
                found[place] = await self._rule(cases[place])
            except ModelError as error:
                found[place] = error

        async def rule_all() -> None:
            async with anyio.create_task_group() as group:
                for place in range(len(cases)):
                    group.start_soon(rule, place)

        wait_for(rule_all)
        failures = [each for each in found if isinstance(each, ModelError)]
        if len(failures) == len(cases):
            raise failures[0]
        return [
            Ruling(name="undecided", reason=str(each)) if isinstance(each, ModelError) else each
            for each in found
        ]

    async def _rule(self, case: Case) -> Ruling:
        prompt = build_prompt(case)
        try:
            with anyio.fail_after(self._timeout):
                pieces = [
                    piece.text
                    async for piece in self._model.stream(prompt)
                    if isinstance(piece, TextDelta)
                ]
        except TimeoutError as error:
            raise ModelTimeoutError(
                f"{self._model.identity} did not rule on a claim within {self._timeout:g} s",
                hint="raise verification.timeout, or use a faster model",
            ) from error
        try:
            return read_ruling("".join(pieces))
        except ValueError as error:
            raise ModelError(
                f"ruling with {self._model.identity}: the reply cannot be used: {error}",
                hint="try again, use another model, or set verification.judge to none",
                retryable=True,
            ) from error


def build_prompt(case: Case) -> Prompt:
    """What the model is asked. The same case gives the same prompt."""
    claim = sendable(case.claim, MAX_CLAIM)
    passages = _within(case.passages, MAX_PASSAGES)
    fence = fence_of(claim, *passages)
    return Prompt(
        system=template("judge_system.md").render(fence=fence),
        user=template("judge_user.md").render(
            fence=fence,
            passages=[fenced(text, fence) for text in passages],
            claim=" ".join(fenced(claim, fence).split()),
        ),
        temperature=0.0,
    )


def read_ruling(reply: str) -> Ruling:
    """The ruling in a model's reply: its first JSON object with a verdict, or a first word.

    Raises:
        ValueError: there is no verdict in it.
    """
    decoder = json.JSONDecoder()
    for found in re.finditer(r"\{", reply):
        try:
            value, _ = decoder.raw_decode(reply, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "verdict" in value:
            return _ruling(str(value["verdict"]), str(value.get("reason") or ""))
    word = _WORD.match(reply)
    if word is None:
        raise ValueError("it holds no verdict")
    return _ruling(word.group(1), word.group(2))


def _ruling(verdict: str, reason: str) -> Ruling:
    name = VERDICTS.get(" ".join(verdict.lower().strip(" .!").split()))
    if name is None:
        raise ValueError(f"its verdict is {verdict[:40]!r}, expected yes, partial or no")
    return Ruling(name=name, reason=" ".join(reason.split())[:MAX_REASON])


def _within(passages: Sequence[str], most: int) -> list[str]:
    """``passages``, together cut to ``most`` characters."""
    found: list[str] = []
    for text in passages:
        if most <= 0:
            break
        found.append(sendable(text, most))
        most -= len(found[-1])
    return found
