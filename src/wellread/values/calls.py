"""A call of a model as it is recorded: no words of questions, sources or keys are in it."""

from __future__ import annotations

from dataclasses import dataclass

# What calls are for. The words are those that a report shows.
ANSWER = "answer"
PLAN = "plan"
JUDGE = "judge"
RESEARCH = "research"
EMBED_QUERY = "embed query"
EMBED_PASSAGE = "embed passage"

# Why a call failed, as long as it runs; for good when its process dies.
RUNNING = "did not end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a model, its further tries included.

    Attributes:
        purpose: what it was for (``answer``, ``embed query``, ...).
        model: the name that the provider knows it by.
        cost: US dollars; 0 when the price is unknown.
        error: why it failed, in a few fixed words; empty when it did not.
    """

    purpose: str
    provider: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    error: str = ""
