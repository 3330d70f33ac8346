"""The limits that an answer was looked for within: the asker's and those in the question."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from wellread.questions import Analysis, Constraint
from wellread.types import AppliedLimit, Filters


def limits_of(analysis: Analysis, relaxed: Collection[Constraint]) -> tuple[AppliedLimit, ...]:
    """Every limit in words; one that matched nothing and was left out is marked so."""
    read = (
        AppliedLimit(kind=one.kind, value=one.value, origin="question", relaxed=one in relaxed)
        for one in analysis.constraints
    )
    return (*_given(analysis.filters), *read)


def _given(filters: Filters) -> Iterator[AppliedLimit]:
    """What the asker set beside the question."""
    named = {
        "collection": filters.collections,
        "kind": filters.kinds,
        "source_type": filters.source_types,
        "language": filters.languages,
        "author": filters.authors,
        "speaker": filters.speakers,
        "taxonomy": tuple(f"{name}: {value}" for name, value in filters.taxonomy),
    }
    for kind, values in named.items():
        for value in values:
            yield AppliedLimit(kind=kind, value=value, origin="asker")
    if filters.published_from or filters.published_to:
        window = f"{_day(filters.published_from)} to {_day(filters.published_to)}"
        yield AppliedLimit(kind="time", value=window.strip(), origin="asker")


def _day(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else "…"
