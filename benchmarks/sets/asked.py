"""Questions with known answers: what ``extractive.py`` and its sets share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.homes import Write
from wellread.kb import KnowledgeBase
from wellread.types import Filters, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Where an answer stands.

    Attributes:
        document_id: the document that holds it.
        span: the answer itself in that document's stored text.
        within: the passage of the data set that it belongs to; citing inside it is right.
    """

    document_id: str
    span: Span
    within: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and what is known about its answer.

    Attributes:
        group: ``answerable``, ``off_topic``, ``near_miss`` or ``unanswerable``.
        kind: what the answering source is, for tables by kind; may be empty.
        gold: places that hold the answer; empty when the material does not answer.
        phrases: strings of which the answer should contain one; empty when only ``gold`` counts.
        filters: where it is asked.
    """

    id: str
    text: str
    group: str
    kind: str = ""
    gold: tuple[Gold, ...] = ()
    phrases: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)

    @property
    def answerable(self) -> bool:
        """Whether the material answers."""
        return self.group == "answerable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSet:
    """A base and the questions asked of it."""

    name: str
    about: str
    write: Write
    questions: Callable[[KnowledgeBase], Sequence[Asked]]


def whole(length: int) -> Span:
    """The span of a whole text."""
    return Span(start=0, end=length)


def missing_gold(name: str, missing: Sequence[str]) -> None:
    """Refuse to measure when gold answers are not in the stored text.

    Raises:
        SystemExit: some are missing; a figure would blame the answerer for the loader.
    """
    if missing:
        shown = "\n  ".join(missing[:10])
        raise SystemExit(
            f"{name}: {len(missing)} gold texts are not in the stored text:\n  {shown}"
        )


def wider(span: Span, slack: int, length: int) -> Span:
    """``span`` with ``slack`` characters more on both sides, inside a text of ``length``."""
    return Span(start=max(0, span.start - slack), end=min(length, span.end + slack))
