"""Where a source that has changed since it was cited says it now, if it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.answers import Citation
from wellread.text.parsed import parse
from wellread.types import Document, Passage, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidNow:
    """A cited place in the version that is there now.

    Attributes:
        changed_at: when this version was read.
        span: the place; None where nothing shares a word with the quotation.
        still: the quotation stands there word for word; otherwise the span is the nearest passage.
    """

    changed_at: datetime
    span: Span | None
    still: bool


def said_now(
    citation: Citation, document: Document, passages: Sequence[Passage], changed_at: datetime
) -> SaidNow:
    """Look for what was cited in ``document``, the version that is there now."""
    span = quoted_at(citation.quote, document.text, citation.source_span.start)
    if span is not None:
        return SaidNow(changed_at=changed_at, span=span, still=True)
    said = set(parse(citation.quote).stems)
    nearest = (
        one.span
        for one in nearest_by_words(citation.quote, passages, 1)
        if said.intersection(parse(one.text).stems)
    )
    return SaidNow(changed_at=changed_at, span=next(nearest, None), still=False)


def quoted_at(quote: str, text: str, near: int) -> Span | None:
    """Where ``text`` has the quotation, but for white space and case; the place nearest to before.

    None when it is empty or stands nowhere.
    """
    parts = [re.escape(part) for part in quote.split()]
    if not parts:
        return None
    places = re.finditer(r"\s+".join(parts), text, re.IGNORECASE)
    spans = [Span(start=place.start(), end=place.end()) for place in places]
    return min(spans, key=lambda span: abs(span.start - near), default=None)


def nearest_by_words(text: str, passages: Sequence[Passage], most: int) -> list[Passage]:
    """The ``most`` passages that share most words with ``text``."""
    said = set(parse(text).stems)
    shared = {one.id: len(said.intersection(parse(one.text).stems)) for one in passages}
    return sorted(passages, key=lambda one: -shared[one.id])[:most]
