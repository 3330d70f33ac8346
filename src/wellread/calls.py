"""The value of a call of a model: what it was for, what it took, what it cost.

No words of questions, sources or keys are in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

# What calls are for. The words are those that a report shows.
ANSWER = "answer"
RERANK = "rerank"
REWRITE = "rewrite"
JUDGE = "judge"
RESEARCH = "research"
EMBED_QUERY = "embed query"
EMBED_PASSAGE = "embed passage"

FACT_CHECKER = "fact-checking model"  # of a server that names none

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
        owner: the id of the user for whom it was made; empty for whoever sits at the machine.
    """

    purpose: str
    provider: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    error: str = ""
    owner: str = ""


_payer: ContextVar[str] = ContextVar("payer", default="")


@contextmanager
def paid_by(owner: str) -> Iterator[None]:
    """Calls that are made inside, also by tasks and threads begun there, are for this user."""
    before = _payer.set(owner)
    try:
        yield
    finally:
        _payer.reset(before)


def payer() -> str:
    """The id of the user for whom calls are made here; empty for whoever sits at the machine."""
    return _payer.get()
