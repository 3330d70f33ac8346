"""The language models of one home: opened when first asked, recorded, within the budget."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Literal

from anyio import to_thread

from wellread.ask_settings import GenerationSettings
from wellread.calls import ANSWER
from wellread.errors import ModelError
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
        self._lock = threading.Lock()

    def names(self) -> dict[Role, str]:
        """The models that there are, as they are called; opens none.

        The name is that in the settings until the model is opened.
        """
        settings = self._settings
        named: dict[Role, str] = {
            "model": settings.model,
            "fallback_model": settings.fallback_model,
            "cheap_model": settings.cheap_model,
        }
        there = {
            role: opened.identity if (opened := self._opened.get(role)) else name.strip()
            for role, name in named.items()
        }
        return {role: name for role, name in there.items() if name}

    def recorded(self, role: Role, purpose: str = ANSWER) -> RecordedModel | None:
        """The model in that role, for calls of that purpose; None when there is none.

        Raises:
            SettingsError, ModelError: it cannot be opened.
        """
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
            tariff=tariff_of(self._settings) if role == "model" else LISTED,
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

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The reply of the one whose turn it is.

        Raises:
            SettingsError: its name or its address cannot be used.
            BudgetError: the budget does not allow the call.
            ModelError: it cannot be opened, or it failed.
        """
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
