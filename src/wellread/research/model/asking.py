"""One question to the language models of a home within a run: who is asked, noted, and paid for.

Every call of a model is a step of the run's journal, so that a run that was killed neither pays
for it twice nor goes on another way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from anyio import to_thread

from wellread.ask.write.drafting import plan
from wellread.calls import RESEARCH
from wellread.codec import from_plain, to_plain
from wellread.config import Role
from wellread.errors import BudgetError, ModelError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, Prompt, TextDelta, ToolCall
from wellread.models.recording import RecordedModel
from wellread.reports import StopReason
from wellread.research.model.context import RunContext

logger = logging.getLogger(__name__)

PromptFor = Callable[[bool], Prompt]
"""Makes the prompt for a model, given whether it takes tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of asking.

    Attributes:
        by: who replied; empty when nobody did.
        tools: whether the one who replied takes tools.
        reasons: why those before did not reply.
        stopped: the limit of the run that came in between.
        over_budget: whether a call was refused for want of budget.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    by: str = ""
    tools: bool = False
    usage: ModelUsage | None = None
    reasons: tuple[str, ...] = ()
    stopped: StopReason | None = None
    over_budget: bool = False

    @property
    def told(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Who:
    """Who is asked, one after the other, as the budget stood at first."""

    roles: tuple[Role, ...]
    reason: str
    cheaper: Role | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """One call of a model."""

    by: str
    usage: ModelUsage
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tools: bool = False
    failed: str = ""
    over_budget: bool = False
    refused_tools: bool = False


async def ask_in_turn(kb: KnowledgeBase, run: RunContext, key: str, prompt_for: PromptFor) -> Heard:
    """The reply of the first model that gives one: the model, a cheaper one, the fallback model.

    Args:
        key: names this question in the run's journal.

    Raises:
        SettingsError: a model's name or address cannot be used.
        StoreError: the catalogue cannot be read.
    """

    async def choose() -> Any:
        planned = await to_thread.run_sync(plan, kb)
        who = _Who(roles=planned.writers, reason=planned.reason, cheaper=planned.cheaper)
        return to_plain(who)

    who = from_plain(_Who, await run.once(f"{key}:who", choose))
    reasons = [who.reason] if who.reason else []
    if not (who.roles or who.reason):
        reasons = ["no language model is configured"]
    waiting = list(who.roles)
    over_budget = bool(who.reason) and not waiting
    tried = 0
    while waiting:
        if reason := run.stop():
            return Heard(reasons=tuple(reasons), stopped=reason, over_budget=over_budget)
        role = waiting.pop(0)
        tried += 1

        async def say(role: Role = role) -> Any:
            return to_plain(await _say(kb, role, prompt_for))

        said = from_plain(_Said, await run.once(f"{key}:{tried}", say))
        if not said.over_budget:
            run.spend(said.usage)
        if not said.failed:
            return Heard(
                text=said.text,
                calls=said.calls,
                by=said.by,
                tools=said.tools,
                usage=said.usage,
                reasons=tuple(reasons),
            )
        reasons.append(said.failed)
        over_budget = over_budget or said.over_budget
        if said.over_budget and role == "model" and who.cheaper:
            waiting.insert(0, who.cheaper)
        if said.refused_tools:
            waiting.insert(0, role)
    return Heard(reasons=tuple(reasons), over_budget=over_budget)


async def _say(kb: KnowledgeBase, role: Role, prompt_for: PromptFor) -> _Said:
    name = kb.models.names()[role]
    model: RecordedModel | None = None
    offered = False
    try:
        model = await to_thread.run_sync(kb.models.recorded, role, RESEARCH)
        if model is None:
            raise ModelError("there is no such model any more")
        name, offered = model.identity, model.takes_tools
        return await _whole(model, prompt_for(offered))
    except BudgetError as error:
        failed = f"{name} was not asked: {error.args[0]}"
        return _Said(by=name, usage=ModelUsage(model=name), failed=failed, over_budget=True)
    except ModelError as error:
        logger.warning("%s failed: %s", name, error)
        return _Said(
            by=name,
            usage=ModelUsage(model=name, cost=error.cost),
            failed=f"{name} failed: {error}",
            refused_tools=offered and model is not None and not model.takes_tools,
        )


async def _whole(model: RecordedModel, prompt: Prompt) -> _Said:
    text: list[str] = []
    calls: list[ToolCall] = []
    usage = ModelUsage(model=model.identity)
    async with aclosing(model.stream(prompt)) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextDelta):
                text.append(piece.text)
            elif isinstance(piece, ToolCall):
                calls.append(piece)
            else:
                usage = piece
    return _Said(
        by=model.identity,
        usage=usage,
        text="".join(text),
        calls=tuple(calls),
        tools=model.takes_tools,
    )
