"""Rows of exhaustive results, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from wellread.ask.retrieve.retrieval import Row
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.store.catalogue.graph.entity_nodes import EntityNode

DOCUMENTS = ("Title", "Date", "Kind")
NAMED = (*DOCUMENTS, "Named")
ENTITIES = ("Name", "Type")


def day(moment: datetime | None) -> str:
    """A date as rows show it; empty when there is none."""
    return f"{moment:%Y-%m-%d}" if moment else ""


def kind_of(entry: Entry) -> str:
    """The kind, with the source type where that says more."""
    if entry.source_type and entry.source_type != entry.kind:
        return f"{entry.kind}, {entry.source_type}"
    return entry.kind


def document_rows(
    entries: Sequence[Entry], counts: Mapping[str, int] | None = None
) -> tuple[Row, ...]:
    """A row for each document; with ``counts`` also how often it names what was asked for."""
    return tuple(
        Row(
            cells=(
                entry.title,
                day(entry.published_at),
                kind_of(entry),
                *([times(counts.get(entry.id, 0))] if counts is not None else []),
            ),
            document_ids=(entry.id,),
        )
        for entry in entries
    )


def entity_rows(nodes: Sequence[EntityNode]) -> tuple[Row, ...]:
    """A row for each entity, in their order."""
    return tuple(Row(cells=(node.title, node.type), document_ids=node.documents) for node in nodes)


def value_rows(values: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    """A row for each value with its number of documents, in their order."""
    return tuple(
        Row(cells=(value, amount(len(ids), "document", "documents")), document_ids=tuple(ids))
        for value, ids in values.items()
    )


def times(count: int) -> str:
    """``3 times``; what is not named is linked."""
    if count == 0:
        return "linked"
    return "once" if count == 1 else f"{count:,} times"


def amount(number: int, one: str, many: str) -> str:
    """``1 paper``, ``2 papers``."""
    return f"{number:,} {one if number == 1 else many}"


def there_are(number: int, one: str, many: str, conditions: Sequence[str] = ()) -> str:
    """``There are 3 papers about “tides”, published from 2025-10-01.``"""
    verb = "is" if number == 1 else "are"
    how_many = amount(number, one, many) if number else f"no {many}"
    said = f" {', '.join(conditions)}" if conditions else ""
    return f"There {verb} {how_many}{said}."
