"""The language models of one home: opened when first asked, recorded, within the budget.

The days and months of a budget are those of UTC. The catalogue is read each time, since other
processes spend of the same budget.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from anyio import to_thread

from wellread.config import BudgetSettings, GenerationSettings, Role
from wellread.errors import BudgetError, ModelError, StoreError
from wellread.models.base import LanguageModel, Piece, Prompt
from wellread.models.recording import RecordedModel, tariff_of
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.run_logs import Limit
from wellread.values.calls import ANSWER, Call

logger = logging.getLogger(__name__)

Period = Literal["day", "month"]
Level = Literal["normal", "low", "spent"]
HINT = "raise budget.daily or budget.monthly, or wait for the next day or month (UTC)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One of the budgets: US dollars for a day or a month, and what of it is spent.

    A call that runs counts with the most that it may cost.
    """

    period: Period
    since: datetime
    dollars: float
    spent: float

    @property
    def left(self) -> float:
        """US dollars; never less than 0."""
        return max(0.0, self.dollars - self.spent)

    @property
    def share(self) -> float:
        """What is left of it, 0-1."""
        return self.left / self.dollars if self.dollars else 0.0

    def __str__(self) -> str:
        return f"the budget of {dollars(self.dollars)} a {self.period}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How it stands with the budgets that there are.

    Attributes:
        level: ``low`` when less than the share of ``budget.cheaper_below`` is left of one of
            them, ``spent`` when nothing is.
    """

    budgets: tuple[Budget, ...] = ()
    level: Level = "normal"

    @property
    def tightest(self) -> Budget | None:
        """The one of which the least is left."""
        return min(self.budgets, key=lambda one: one.share, default=None)

    @property
    def told(self) -> str:
        """How it stands with that one, in words."""
        one = self.tightest
        if one is None:
            return ""
        return f"{dollars(one.left)} is left of {one}" if one.left > 0 else f"{one} is spent"


class BudgetLedger:
    """Writes calls down and keeps the budget. Safe to call from several threads.

    Attributes:
        failures: how many calls have failed, or were not made for want of budget, in this process.
    """

    def __init__(self, settings: BudgetSettings, catalogue: Callable[[], Catalogue]) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self.failures = 0

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self._settings.daily is not None or self._settings.monthly is not None

    def standing(self) -> Standing:
        """How it stands now. One cheap query for each budget, none where there is none."""
        budgets = tuple(
            Budget(
                period=period,
                since=since,
                dollars=limit,
                spent=self._catalogue().calls.spent(since),
            )
            for period, since, limit in self._periods()
        )
        least = min((one.share for one in budgets), default=1.0)
        level: Level = "normal"
        if any(one.left <= 0 for one in budgets):
            level = "spent"
        elif least < self._settings.cheaper_below:
            level = "low"
        return Standing(budgets=budgets, level=level)

    def short_of_money(self) -> str:
        """Why the money is for writing alone; empty while there is enough, or no budget."""
        standing = self.standing() if self.limited else Standing()
        return standing.told if standing.level != "normal" else ""

    def begin(self, expected: Callable[[], Call]) -> int | None:
        """Set aside what a call may cost; a number for ``end`` where there is a budget."""
        try:
            limits = [Limit(since=since, dollars=limit) for _, since, limit in self._periods()]
            if not limits:
                return None
            call = expected()
            made = self._catalogue().calls.reserve(call, limits)
            if isinstance(made, int):
                return made
            spent = self._catalogue().calls.spent(made.since)
        except StoreError as error:
            raise BudgetError(f"the budget cannot be looked up: {error}") from error
        self._failed()
        period: Period = next(name for name, since, _ in self._periods() if since == made.since)
        budget = Budget(period=period, since=made.since, dollars=made.dollars, spent=spent)
        raise BudgetError(refusal(budget, call.cost), hint=HINT)

    def end(self, ticket: int | None, call: Call) -> None:
        """Write down how a call has ended. A catalogue that refuses is told to the log only."""
        if call.error:
            self._failed()
        try:
            if ticket is None:
                self._catalogue().calls.record(call)
            else:
                self._catalogue().calls.settle(ticket, call)
        except StoreError as error:
            logger.warning("a call of %s could not be recorded: %s", call.provider, error)

    def record(self, call: Call) -> None:
        """``end`` for calls that need no leave: embedding."""
        self.end(None, call)

    def _failed(self) -> None:
        with self._lock:
            self.failures += 1

    def _periods(self) -> Sequence[tuple[Period, datetime, float]]:
        today = _today()
        periods: list[tuple[Period, datetime, float | None]] = [
            ("day", today, self._settings.daily),
            ("month", today.replace(day=1), self._settings.monthly),
        ]
        return [(name, since, limit) for name, since, limit in periods if limit is not None]


def _today() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def refusal(budget: Budget, cost: float) -> str:
    """Why a call that may cost so much is not made."""
    if budget.left <= 0:
        return f"{budget} is spent"
    return f"{dollars(budget.left)} is left of {budget}, and the call may cost {dollars(cost)}"


def dollars(amount: float) -> str:
    """``$1.00``; small amounts with as many digits as they need."""
    if amount and amount < 0.1:
        return f"${amount:.{4 if amount >= 0.001 else 6}f}"
    return f"${amount:,.2f}"


Opener = Callable[[str], LanguageModel | None]


class LanguageModels:
    """The models that the settings may name. Safe to call from several threads.

    Args:
        judge: the model that judges; empty: the one that wrote.
        opener: opens the model of that name.
        given: stand in for what the settings name.
    """

    def __init__(
        self,
        settings: GenerationSettings,
        ledger: BudgetLedger,
        opener: Opener,
        given: Mapping[Role, LanguageModel | None],
        judge: str = "",
    ) -> None:
        self._settings = settings
        self._named: dict[Role, str] = {**settings.by_role, "judge_model": judge.strip()}
        self._ledger = ledger
        self._opener = opener
        self._opened = {role: model for role, model in given.items() if model is not None}
        self._lock = threading.Lock()

    def names(self) -> dict[Role, str]:
        """The models that there are, as they are called; opens none.

        The name is that in the settings until the model is opened.
        """
        there = {
            role: opened.identity if (opened := self._opened.get(role)) else name
            for role, name in self._named.items()
        }
        return {role: name for role, name in there.items() if name}

    def recorded(self, role: Role, purpose: str = ANSWER) -> RecordedModel | None:
        """The model in that role, for calls of that purpose; None when there is none."""
        with self._lock:
            name = self.names().get(role)
            model = self._opened.get(role) or (self._opener(name) if name else None)
            if model is None:
                return None
            self._opened[role] = model
        return RecordedModel(
            model,
            self._ledger,
            purpose=purpose,
            max_tokens=self._settings.max_tokens,
            tariff=tariff_of(self._settings, role),
        )

    def within_budget(self, purpose: str) -> LanguageModel | None:
        """The model for calls of that purpose, or None; the cheap one while the budget is low.

        It is opened by its first call.
        """
        return _WithinBudget(self, self._ledger, purpose) if "model" in self.names() else None


class _WithinBudget:
    """Asks the model, or the cheap one where there is one and the budget is low."""

    def __init__(self, models: LanguageModels, ledger: BudgetLedger, purpose: str) -> None:
        self._models = models
        self._ledger = ledger
        self._purpose = purpose

    @property
    def identity(self) -> str:
        """That of the model; before it was opened, its name in the settings."""
        return self._models.names()["model"]

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """The reply of the one whose turn it is."""
        model = await to_thread.run_sync(self._chosen)
        async with aclosing(model.stream(prompt)) as pieces:
            async for piece in pieces:
                yield piece

    def _chosen(self) -> RecordedModel:
        low = self._ledger.limited and self._ledger.standing().level == "low"
        cheap = self._models.recorded("cheap_model", self._purpose) if low else None
        model = cheap or self._models.recorded("model", self._purpose)
        if model is None:
            raise ModelError("no language model is configured", hint="set generation.model")
        return model
