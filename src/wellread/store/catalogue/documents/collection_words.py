"""The words that describe the documents of a collection: what a form offers to limit by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Text, cast, func, select

from wellread.store.schema.tables import documents, entities, passages
from wellread.types import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionWords:
    """What the documents of one collection are described with.

    Attributes:
        stamp: another one means that the words may have changed.
        speakers, authors: name as written to how many passages or documents have it.
        taxonomy: dimension to its values, each with the number of its documents.
    """

    collection: str
    stamp: str
    kinds: Mapping[Kind, int]
    source_types: Mapping[str, int]
    languages: Mapping[str, int]
    authors: Mapping[str, int]
    speakers: Mapping[str, int]
    taxonomy: Mapping[str, Mapping[str, int]]
    entity_types: Mapping[str, int]


def words_of(connection: Connection, collection: str, stamp: str) -> CollectionWords:
    """The words of one collection, read as a whole."""
    inside = documents.c.collection == collection

    def counted(column: Any) -> dict[Any, int]:
        statement = select(column, func.count()).where(inside).group_by(column).order_by(column)
        return {value: count for value, count in connection.execute(statement) if value}

    # As text, because PostgreSQL cannot compare JSON.
    spoken = cast(passages.c.speakers, Text)
    speakers = connection.execute(
        select(spoken, func.count())
        .join_from(passages, documents, documents.c.id == passages.c.document_id)
        .where(inside)
        .group_by(spoken)
    )
    types = connection.execute(
        select(entities.c.entity_type, func.count())
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(inside)
        .group_by(entities.c.entity_type)
        .order_by(entities.c.entity_type)
    )
    return CollectionWords(
        collection=collection,
        stamp=stamp,
        kinds=counted(documents.c.kind),
        source_types=counted(documents.c.source_type),
        languages=counted(documents.c.language),
        authors=_unfolded(counted(cast(documents.c.authors, Text)).items()),
        speakers=_unfolded((names, count) for names, count in speakers),
        taxonomy=_taxonomy(counted(cast(documents.c.taxonomy, Text))),
        entity_types={name: count for name, count in types if name},
    )


def _unfolded(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts per list of names (as JSON) to counts per name, by name."""
    found: dict[str, int] = {}
    for names, count in rows:
        for name in json.loads(names) if names else ():
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))


def _taxonomy(rows: Mapping[str, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for assigned, count in rows.items():
        for dimension, values in json.loads(assigned).items():
            counts = found.setdefault(dimension, {})
            for value in values:
                counts[value] = counts.get(value, 0) + count
    return {name: dict(sorted(values.items())) for name, values in sorted(found.items())}
