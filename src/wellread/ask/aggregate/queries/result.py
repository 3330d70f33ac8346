"""The result of a catalogue query: its rows, and how rows and sentences are worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from wellread.ask.retrieve.retrieval import Found
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.types import Span

AggregateKind = Literal["count", "list", "relation", "gap", "coverage", "trend"]
DOCUMENTS = ("Title", "Date", "Kind")
NAMED = (*DOCUMENTS, "Named")
ENTITIES = ("Name", "Type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A part of one version of a document, of which a citation quotes the first sentence."""

    document_id: str
    version: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of an exhaustive result; ``document_ids`` are the documents that it rests on.

    Attributes:
        line: the row in words, where its cells do not say by themselves what they are.
        places: what to quote of its documents, where that is not how they begin.
    """

    cells: tuple[str, ...]
    document_ids: tuple[str, ...] = ()
    line: str = ""
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateResult(Found):
    """A result worked out from the catalogue as a whole, never from the top k.

    Attributes:
        sentence: the result in one sentence ("7 entities are of the type workshop.").
        gap: what is missing, in a few words, where that is not the sentence.
        number: what was counted, for a counting question.
        columns: what the cells of each row are called.
        rows: all of them.
        absent: nothing of what was asked for is there, which is a gap of the material.
        method: how it was worked out, so that it can be checked ("entities of type 'workshop' in
            the collections news, commons, published from 2025-10-01").
        subjects: the entities from which the graph was walked, and the others on the way or at its
            end.
    """

    kind: AggregateKind
    sentence: str
    number: int | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    absent: bool = False
    gap: str = ""
    method: str = ""
    subjects: tuple[EntityNode, ...] = ()
    others: tuple[EntityNode, ...] = ()


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
