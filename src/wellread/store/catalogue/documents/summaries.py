"""Reading what spans documents: names of entities, sources, counts."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, select

from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.catalogue_values import CollectionFacts, KindCount, SourceRecord
from wellread.store.schema.chunked import rows_in
from wellread.store.schema.document_tables import documents, entities, sources


def entity_names(connection: Connection, collections: Iterable[str]) -> dict[str, str]:
    """Case-folded id, title or alias of each entity to its id.

    Where two entities share a name, an id goes before a title and a title before an alias, and
    the smaller id goes first.
    """
    statement = (
        select(entities.c.entity_id, entities.c.aliases, documents.c.title)
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(documents.c.collection.in_(VALUES))
    )
    rows = sorted(rows_in(connection, statement, collections), key=lambda row: row.entity_id)
    names: dict[str, str] = {}
    for row in rows:
        names.setdefault(row.entity_id.casefold(), row.entity_id)
    for row in rows:
        names.setdefault(row.title.casefold(), row.entity_id)
    for row in rows:
        for alias in row.aliases:
            names.setdefault(alias.casefold(), row.entity_id)
    names.pop("", None)
    return names


def source_records(connection: Connection, collection: str) -> dict[str, SourceRecord]:
    """Uri to what is known of the source."""
    statement = select(sources).where(sources.c.collection == collection)
    return {row.uri: SourceRecord(**row._mapping) for row in connection.execute(statement)}


def collection_names(connection: Connection) -> list[str]:
    """Every collection by name; one step along an index for each, however many documents."""
    names: list[str] = []
    known = documents.c.collection
    while True:
        later = (known > names[-1],) if names else ()
        name = connection.execute(select(func.min(known)).where(*later)).scalar()
        if name is None:
            return names
        names.append(name)


def collection_facts(connection: Connection) -> list[CollectionFacts]:
    """Every collection with its counts, by name."""
    statement = (
        select(documents.c.collection, func.count(), func.sum(documents.c.passages))
        .group_by(documents.c.collection)
        .order_by(documents.c.collection)
    )
    return [
        CollectionFacts(name=name, documents=count, passages=int(total))
        for name, count, total in connection.execute(statement)
    ]


def kind_counts(connection: Connection) -> list[KindCount]:
    """Counts of every kind in every collection, by name."""
    group = (documents.c.collection, documents.c.kind)
    sums = (func.sum(documents.c.passages), func.sum(documents.c.characters))
    statement = select(*group, func.count(), *sums).group_by(*group).order_by(*group)
    return [
        KindCount(
            collection=collection,
            kind=kind,
            documents=count,
            passages=int(parts),
            characters=int(characters),
        )
        for collection, kind, count, parts, characters in connection.execute(statement)
    ]
