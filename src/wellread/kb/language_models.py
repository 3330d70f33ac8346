"""Opens the configured language models, records their calls and keeps them within the budget.

Budget days and months are in UTC. Spending is read from the catalogue each time, because other
processes share the same budget.
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
    """A budget in US dollars for a day or a month, with the amount spent.

    A running call counts at its maximum cost.
    """

    period: Period
    since: datetime
    dollars: float
    spent: float

    @property
    def left(self) -> float:
        """The remaining US dollars, never negative."""
        return max(0.0, self.dollars - self.spent)

    @property
    def share(self) -> float:
        """The remaining fraction of the budget, 0-1."""
        return self.left / self.dollars if self.dollars else 0.0

    def __str__(self) -> str:
        return f"the budget of {dollars(self.dollars)} a {self.period}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStatus:
    """The current state of the configured budgets; ``low``: below ``budget.cheaper_below``."""

    budgets: tuple[Budget, ...] = ()
    level: Level = "normal"

    @property
    def summary(self) -> str:
        """The budget with the smallest remaining fraction in words; empty without a budget."""
        budget = min(self.budgets, key=lambda budget: budget.share, default=None)
        if budget is None:
            return ""
        left = dollars(budget.left)
        return f"{left} is left of {budget}" if budget.left > 0 else f"{budget} is spent"


class BudgetLedger:
    """Records model calls and enforces the budget; ``failures`` counts failed and refused calls."""

    def __init__(self, settings: BudgetSettings, catalogue: Callable[[], Catalogue]) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self.failures = 0

    @property
    def limited(self) -> bool:
        """Whether a budget is configured."""
        return self._settings.daily is not None or self._settings.monthly is not None

    def standing(self) -> BudgetStatus:
        """Return the state of the budgets; costs one cheap query for each."""
        budgets = tuple(self._budget(*period) for period in self._periods())
        smallest_share = min((budget.share for budget in budgets), default=1.0)
        level: Level = "normal"
        if any(budget.left <= 0 for budget in budgets):
            level = "spent"
        elif smallest_share < self._settings.cheaper_below:
            level = "low"
        return BudgetStatus(budgets=budgets, level=level)

    def short_of_money(self) -> str:
        """The reason to skip optional model calls (budget low or spent); empty otherwise."""
        status = self.standing()
        return status.summary if status.level != "normal" else ""

    def begin(self, expected: Callable[[], Call]) -> int | None:
        """Reserve the maximum cost of a call; return a ticket for ``end`` if a budget applies."""
        try:
            limits = [Limit(since=since, dollars=amount) for _, since, amount in self._periods()]
            if not limits:
                return None
            call = expected()
            limit = self._catalogue().calls.reserve(call, limits)
            if isinstance(limit, int):
                return limit
            budget = next(
                self._budget(name, since, amount)
                for name, since, amount in self._periods()
                if since == limit.since
            )
        except StoreError as error:
            raise BudgetError(f"the budget cannot be read: {error}") from error
        self._failed()
        raise BudgetError(refusal(budget, call.cost), hint=HINT)

    def end(self, ticket: int | None, call: Call) -> None:
        """Record the outcome of a call; when the catalogue refuses, only log a warning."""
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
        """Record a call that needs no reservation, such as embedding."""
        self.end(None, call)

    def _budget(self, period: Period, since: datetime, limit: float) -> Budget:
        spent = self._catalogue().calls.spent(since)
        return Budget(period=period, since=since, dollars=limit, spent=spent)

    def _failed(self) -> None:
        with self._lock:
            self.failures += 1

    def _periods(self) -> Sequence[tuple[Period, datetime, float]]:
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        periods: list[tuple[Period, datetime, float | None]] = [
            ("day", today, self._settings.daily),
            ("month", today.replace(day=1), self._settings.monthly),
        ]
        return [(name, since, limit) for name, since, limit in periods if limit is not None]


def refusal(budget: Budget, cost: float) -> str:
    """Return the reason why a call of up to ``cost`` US dollars is refused."""
    if budget.left <= 0:
        return f"{budget} is spent"
    return f"{dollars(budget.left)} is left of {budget}, and the call may cost {dollars(cost)}"


def dollars(amount: float) -> str:
    """Format US dollars as ``$1.00``; amounts under ten cents get more digits."""
    if amount and amount < 0.1:
        return f"${amount:.{4 if amount >= 0.001 else 6}f}"
    return f"${amount:,.2f}"


Opener = Callable[[str], LanguageModel | None]


class LanguageModels:
    """The language models of the settings (or ``replacements``), by role. Thread-safe."""

    def __init__(
        self,
        settings: GenerationSettings,
        ledger: BudgetLedger,
        opener: Opener,
        replacements: Mapping[Role, LanguageModel | None],
        judge: str = "",
    ) -> None:
        self._settings = settings
        self._named: dict[Role, str] = {**settings.by_role, "judge_model": judge.strip()}
        self._ledger = ledger
        self._opener = opener
        self._opened = {role: model for role, model in replacements.items() if model is not None}
        self._lock = threading.Lock()

    def names(self) -> dict[Role, str]:
        """The names of the configured models by role; opens none of them.

        Until a model is opened, its name is the one in the settings.
        """
        names = {
            role: opened.identity if (opened := self._opened.get(role)) else name
            for role, name in self._named.items()
        }
        return {role: name for role, name in names.items() if name}

    def recorded(self, role: Role, purpose: str = ANSWER) -> RecordedModel | None:
        """Return the model of ``role`` with its calls recorded, or None when none is set."""
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
        """Return the main model, or the cheap one while the budget is low; None without a model.

        The first call opens it.
        """
        return _WithinBudget(self, self._ledger, purpose) if "model" in self.names() else None


class _WithinBudget:
    """Calls the main model, or the cheap one while the budget is low."""

    def __init__(self, models: LanguageModels, ledger: BudgetLedger, purpose: str) -> None:
        self._models = models
        self._ledger = ledger
        self._purpose = purpose

    @property
    def identity(self) -> str:
        """The identity of the main model; until that is opened, its name in the settings."""
        return self._models.names()["model"]

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Stream the reply of the model that the budget allows."""
        model = await to_thread.run_sync(self._choose_model)
        async with aclosing(model.stream(prompt)) as pieces:
            async for piece in pieces:
                yield piece

    def _choose_model(self) -> RecordedModel:
        low = self._ledger.standing().level == "low"
        cheap = self._models.recorded("cheap_model", self._purpose) if low else None
        model = cheap or self._models.recorded("model", self._purpose)
        if model is None:
            raise ModelError("no language model is configured", hint="set generation.model")
        return model
