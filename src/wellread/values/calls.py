"""The record of a model call, without any text of questions or sources and without keys."""

from __future__ import annotations

from dataclasses import dataclass

# Purposes of calls, as shown in reports.
ANSWER = "answer"
PLAN = "plan"
JUDGE = "judge"
RESEARCH = "research"
EMBED_QUERY = "embed query"
EMBED_PASSAGE = "embed passage"

# Error of a call that is still running; it stays if the process dies.
RUNNING = "did not end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One model call, including retries.

    Attributes:
        purpose: ``answer``, ``embed query``, ...
        model: the provider's name of the model.
        cost: US dollars; 0 if the price is unknown.
        error: why it failed, as one of a few fixed texts; empty if it succeeded.
    """

    purpose: str
    provider: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    error: str = ""
