"""Who may write within the budget, and what calls of models will cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.kb import KnowledgeBase
from wellread.kb.language_models import Role
from wellread.kb.ledger import Standing, dollars, refusal
from wellread.models.base import Prompt
from wellread.models.prices import prompt_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who is asked to write, one after the other; when all fail, sentences are extracted.

    Attributes:
        reason: why the configured model is not the first of them; empty when it is.
        cheaper: who is asked when the budget does not allow the configured model's call.
    """

    writers: tuple[Role, ...] = ()
    reason: str = ""
    cheaper: Role | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What some calls take at most.

    Attributes:
        model: the model that they go to; empty when there is none.
        output_tokens: as many as the model may write.
        cost: US dollars; 0 when the price is not ``known``.
        refused: why the budget does not allow them; empty when it does.
    """

    model: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    known: bool = True
    refused: str = ""


def plan(kb: KnowledgeBase) -> Plan:
    """Who writes the next answer. Asks the catalogue only where there is a budget.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    names = kb.models.names()
    if "model" not in names:
        return Plan()
    usual: tuple[Role, ...] = ("model", "fallback_model")
    if not kb.ledger.limited:
        return Plan(writers=_there(usual, names))
    standing = kb.ledger.standing()
    if standing.level == "spent":
        return Plan(reason=_told(standing))
    if standing.level == "low" and "cheap_model" in names:
        return Plan(
            writers=_there(("cheap_model", "fallback_model"), names), reason=_told(standing)
        )
    cheaper: Role | None = "cheap_model" if "cheap_model" in names else None
    return Plan(writers=_there(usual, names), cheaper=cheaper)


def estimate(
    kb: KnowledgeBase, prompts: Sequence[Prompt], *, max_tokens: int | None = None
) -> Estimate:
    """What asking the model all of these prompts costs at most, before it is asked.

    The tokens of prompts are counted by word pieces, which models agree with within a tenth or two
    for English.

    Args:
        max_tokens: the most that the model may write to each; None takes ``generation.max_tokens``.

    Raises:
        SettingsError, ModelError: the model cannot be opened.
        StoreError: there is a budget, and the catalogue cannot be read.
    """
    standing = kb.ledger.standing()
    cheap = kb.models.recorded("cheap_model") if standing.level == "low" else None
    model = cheap or kb.models.recorded("model")
    if model is None:
        return Estimate()
    most = kb.settings.generation.max_tokens if max_tokens is None else max_tokens
    read = sum(prompt_tokens(prompt) for prompt in prompts)
    cost = model.cost(read, len(prompts) * most)
    return Estimate(
        model=model.identity,
        calls=len(prompts),
        input_tokens=read,
        output_tokens=len(prompts) * most,
        cost=cost.dollars,
        known=cost.known,
        refused=_refused(standing, cost.dollars),
    )


def _there(roles: Sequence[Role], names: dict[Role, str]) -> tuple[Role, ...]:
    return tuple(role for role in roles if role in names)


def _told(standing: Standing) -> str:
    """How it stands with the budget of which the least is left."""
    tightest = standing.tightest
    if tightest is None:
        return ""
    if tightest.left <= 0:
        return f"{tightest} is spent"
    return f"{dollars(tightest.left)} is left of {tightest}"


def _refused(standing: Standing, cost: float) -> str:
    for budget in standing.budgets:
        if budget.left <= 0 or cost > budget.left:
            return refusal(budget, cost)
    return ""
