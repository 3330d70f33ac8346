"""What is told of work while it is done: calls of models, and the steps of an answer.

No words of questions, sources or keys are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

# What calls are for. The words are those that a report shows.
ANSWER = "answer"
PLAN = "plan"
JUDGE = "judge"
RESEARCH = "research"
EMBED_QUERY = "embed query"
EMBED_PASSAGE = "embed passage"

MODEL_CALL = "call of a model"  # as work

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A piece of work that has just ended.

    Attributes:
        name: ``retrieval``, ``call of a model`` and so on; one of a few.
        facts: counts, times and names of models.
    """

    name: str
    seconds: float
    facts: Mapping[str, str | int | float] = field(default_factory=dict)


Watch = Callable[[Work], None]
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """``watch`` is told of work that ends inside, also in tasks and threads begun there."""
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


def ended(work: Work) -> None:
    """Tell whoever watches, if anybody does."""
    watch = _watch.get()
    if watch is not None:
        watch(work)
