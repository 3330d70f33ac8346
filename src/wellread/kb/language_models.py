"""The language models of one home: opened when first asked, recorded, within the budget."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Literal

from anyio import to_thread

from wellread.ask_settings import GenerationSettings
from wellread.calls import ANSWER
from wellread.kb.ledger import BudgetLedger
from wellread.models.base import LanguageModel, ModelUsage, Prompt, TextDelta
from wellread.models.prices import LISTED, tariff_of
from wellread.models.recording import RecordedModel

Role = Literal["model", "fallback_model", "cheap_model"]  # the names of the settings
Opener = Callable[[str], LanguageModel | None]


class LanguageModels:
    """The three models that the settings may name. Safe to call from several threads.

    Args:
        opener: opens the model of that name.
        given: stand in for what the settings name.
    """

    def __init__(
        self,
        settings: GenerationSettings,
        ledger: BudgetLedger,
        opener: Opener,
        given: Mapping[Role, LanguageModel | None],
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._opener = opener
        self._opened = {role: model for role, model in given.items() if model is not None}
        self._given = {role: model.identity for role, model in self._opened.items()}
        self._lock = threading.Lock()

    def names(self) -> dict[Role, str]:
        """The models that there are, as they are called; opens none."""
        settings = self._settings
        named: dict[Role, str] = {
            "model": settings.model,
            "fallback_model": settings.fallback_model,
            "cheap_model": settings.cheap_model,
        }
        there = {role: self._given.get(role, name.strip()) for role, name in named.items()}
        return {role: name for role, name in there.items() if name}

    def recorded(self, role: Role, purpose: str = ANSWER) -> RecordedModel | None:
        """The model in that role, for calls of that purpose; None when there is none.

        Raises:
            SettingsError, ModelError: it cannot be opened.
        """
        name = self.names().get(role)
        if name is None:
            return None
        with self._lock:
            model = self._opened.get(role) or self._opener(name)
            if model is None:
                return None
            self._opened[role] = model
        return RecordedModel(
            model,
            self._ledger,
            purpose=purpose,
            max_tokens=self._settings.max_tokens,
            tariff=tariff_of(self._settings) if role == "model" else LISTED,
        )

    def within_budget(self, purpose: str) -> LanguageModel | None:
        """The model for calls of that purpose; the cheap one as long as the budget is low.

        Raises:
            SettingsError, ModelError: it cannot be opened.
        """
        model = self.recorded("model", purpose)
        if model is None or not self._ledger.limited or "cheap_model" not in self.names():
            return model
        return _WithinBudget(model, lambda: self.recorded("cheap_model", purpose), self._ledger)


class _WithinBudget:
    """Asks one model, or a cheaper one as long as the budget is low."""

    def __init__(
        self,
        model: RecordedModel,
        cheap: Callable[[], RecordedModel | None],
        ledger: BudgetLedger,
    ) -> None:
        self._model = model
        self._cheap = cheap
        self._ledger = ledger

    @property
    def identity(self) -> str:
        """That of the model that is asked as long as the budget is not low."""
        return self._model.identity

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The reply of the one whose turn it is.

        Raises:
            BudgetError: the budget does not allow the call.
            ModelError: it failed.
        """
        model = await to_thread.run_sync(self._chosen)
        async with aclosing(model.stream(prompt)) as pieces:
            async for piece in pieces:
                yield piece

    def _chosen(self) -> RecordedModel:
        low = self._ledger.standing().level == "low"
        return (self._cheap() if low else None) or self._model
