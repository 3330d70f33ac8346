"""Collections: their sources, their counts and settings, and the words that describe them.

The words - speakers, authors, kinds, taxonomy - are what a form offers and a filter is checked by.
Each collection's are read as a whole, once, and again only when its documents change; a question
never needs them (``name_records.py``). Every transaction that changes documents or settings gives
their collections another stamp (``touch``); a reader of any process that finds the stamp it knows
need not look at a document.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Generic
from urllib.parse import unquote_to_bytes
from uuid import uuid4

from sqlalchemy import (
    Connection,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from wellread.codec import from_plain
from wellread.identity import tagged_hash
from wellread.store.catalogue.documents.lookup import VALUES, put_properties
from wellread.store.catalogue.documents.name_records import FILE, SITE, cut, file_key, site_key
from wellread.store.rights import is_restricted
from wellread.store.schema.database import (
    CataloguePart,
    Database,
    T,
    aside,
    chunks,
    made_of,
    rows_in,
)
from wellread.store.schema.stored_values import REMOVED, KindCount, SourceRecord
from wellread.store.schema.tables import (
    collections,
    document_names,
    documents,
    entities,
    job_items,
    jobs,
    passages,
    past_questions,
    properties,
    sources,
)
from wellread.types import Kind, PastQuestion

# The distinct values, from one look into the index for each: DISTINCT reads every row.
_COLLECTIONS = text(
    "WITH RECURSIVE there(name) AS (SELECT min(collection) FROM documents UNION ALL SELECT"
    " (SELECT min(collection) FROM documents WHERE collection > there.name) FROM there"
    " WHERE there.name IS NOT NULL) SELECT name FROM there WHERE name IS NOT NULL"
)
# Where views are read, each look would read a whole collection that is not readable.
_READABLE_COLLECTIONS = text(
    "SELECT name FROM readable WHERE EXISTS"
    " (SELECT 1 FROM documents WHERE documents.collection = readable.name)"
)


class HeldByCollection(Generic[T]):
    """What was made of each collection that was asked for. May be called from any thread."""

    def __init__(self, make: Callable[[Connection, str, str], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._held: dict[str, tuple[str, T]] = {}

    def of(
        self, connection: Connection, stamps: Mapping[str, str], collections: Sequence[str]
    ) -> list[T]:
        """What is made of the collections (none: of all) that have a stamp.

        The same object comes back as long as the stamp stays.
        """
        found = []
        for name in dict.fromkeys(collections or sorted(stamps)):
            if name in stamps:
                held = self._held.get(name)
                if held is None or held[0] != stamps[name]:
                    held = (stamps[name], self._make(connection, name, stamps[name]))
                    with self._lock:
                        self._held[name] = held
                found.append(held[1])
        return found


class Vocabularies(CataloguePart):
    """The words of each collection that was asked for. May be called from any thread."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held = HeldByCollection(words_of)

    def of(self, collections: Sequence[str] = ()) -> list[CollectionWords]:
        """The words of the collections (none: of all) as they are now; unknown ones are left out.

        The same object comes back as long as nothing has changed.
        """
        with self._database.read() as connection:
            return self._held.of(connection, stamps_of(connection), collections)

    def stamps(self, collections: Sequence[str] = ()) -> dict[str, str]:
        """The stamp of each of the collections (none: of all); unknown ones are left out."""
        with self._database.read() as connection:
            stamps = stamps_of(connection)
        wanted = dict.fromkeys(collections or sorted(stamps))
        return {name: stamps[name] for name in wanted if name in stamps}


def stamps_of(connection: Connection) -> dict[str, str]:
    """Collection with documents to its stamp: another one whenever they or its settings change."""
    names = {_key(name): name for name in collection_names(connection)}
    stamps = dict.fromkeys(names.values(), "")
    for keys in chunks(names):
        rows = connection.execute(select(properties).where(properties.c.key.in_(keys)))
        stamps |= {names[key]: str(value) for key, value in rows}
    return stamps


def touch(connection: Connection, collections: Iterable[str]) -> None:
    """Give these collections another stamp; part of the transaction that changes them."""
    put_properties(connection, {_key(name): uuid4().hex for name in sorted(set(collections))})


def touch_documents(connection: Connection, document_ids: Iterable[str]) -> None:
    """``touch`` for the collections of these documents, as long as they are there."""
    touch(
        connection,
        (
            name
            for ids in chunks(document_ids)
            for name in connection.execute(
                select(documents.c.collection).where(documents.c.id.in_(ids)).distinct()
            ).scalars()
        ),
    )


def touch_all(connection: Connection) -> None:
    """``touch`` for every collection that has documents."""
    touch(connection, collection_names(connection))


def _key(collection: str) -> str:
    """Says nothing of the collection, so that nothing of it is left when it is removed."""
    return tagged_hash("words", collection)


class Collections(CataloguePart):
    """Settings of collections by name."""

    def settings(self, name: str) -> dict[str, Any] | None:
        """The settings of the collection, or None when it has none."""
        found = self._values(select(collections.c.settings).where(collections.c.name == name))
        return found[0] if found else None

    def set_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """Keep these settings; they take the place of earlier ones."""
        row = {"name": name, "settings": dict(settings), "updated_at": datetime.now(UTC)}
        with self._database.write() as connection:
            connection.execute(delete(collections).where(collections.c.name == name))
            connection.execute(insert(collections), row)
            touch(connection, [name])


def source_records(connection: Connection, collection: str) -> dict[str, SourceRecord]:
    """Uri to what is known of each source of the collection."""
    statement = select(sources).where(sources.c.collection == collection)
    return {record.uri: record for record in made_of(SourceRecord, connection.execute(statement))}


def source_record(connection: Connection, collection: str, uri: str) -> SourceRecord | None:
    """What is known of one source; None when it was never read."""
    mine = (sources.c.collection == collection, sources.c.uri == uri)
    found = made_of(SourceRecord, connection.execute(select(sources).where(*mine)))
    return found[0] if found else None


def known_sources(connection: Connection, uris: Iterable[str]) -> set[tuple[str, str]]:
    """Pairs of collection and uri that are sources themselves, of the addresses given."""
    statement = select(sources.c.collection, sources.c.uri).where(sources.c.uri.in_(VALUES))
    return {(row.collection, row.uri) for row in rows_in(connection, statement, uris)}


def troubled_sources(
    connection: Connection, names: Sequence[str], limit: int
) -> list[SourceRecord]:
    """Sources that could not be read, the last seen first; of the collections, or of all."""
    troubled = select(sources).where(sources.c.status == "failed")
    if names:
        troubled = troubled.where(sources.c.collection.in_(names))
    order = (sources.c.seen_at.desc(), sources.c.uri)
    return made_of(SourceRecord, connection.execute(troubled.order_by(*order).limit(limit)))


def collection_names(connection: Connection) -> list[str]:
    """The name of every collection, sorted; far cheaper than with its counts."""
    names = _READABLE_COLLECTIONS if is_restricted(connection) else _COLLECTIONS
    return sorted(connection.execute(names).scalars())


def kind_counts(connection: Connection) -> list[KindCount]:
    """Counts of every kind in every collection, by name."""
    group = (documents.c.collection, documents.c.kind)
    sums = (func.sum(documents.c[name]).label(name) for name in ("passages", "characters"))
    statement = select(*group, func.count().label("documents"), *sums).group_by(*group)
    return made_of(KindCount, connection.execute(statement.order_by(*group)))


def documents_of_sources(
    connection: Connection, collection: str, uris: Iterable[str]
) -> dict[str, str]:
    """Document id to version of everything that the sources yielded."""
    statement = select(documents.c.id, documents.c.version).where(
        documents.c.collection == collection,
        documents.c.source_uri.in_(VALUES),
    )
    return {row.id: row.version for row in rows_in(connection, statement, uris)}


def origins(connection: Connection, document_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Collection and address of the sources that the documents are from."""
    statement = select(documents.c.collection, documents.c.source_uri).where(
        documents.c.id.in_(VALUES)
    )
    return {(row[0], row[1]) for row in rows_in(connection, statement, document_ids)}


def leave_out_emptied(connection: Connection, keys: Iterable[tuple[str, str]]) -> None:
    """Mark those of the sources as skipped of which no document is left."""
    for collection, uri in sorted(keys):
        if not documents_of_sources(connection, collection, [uri]):
            named = (sources.c.collection == collection, sources.c.uri == uri)
            connection.execute(update(sources).where(*named).values(status="skipped"))


def delete_sources(connection: Connection, collection: str, uris: Iterable[str]) -> None:
    """Delete the records of the sources themselves, and what job logs say of them.

    A run that is going on keeps the lines that it has yet to write: what it removed, it tells.
    """
    gone = list(uris)
    logs = select(jobs.c.id).where(jobs.c.collection == collection)
    for names in chunks(gone):
        connection.execute(
            delete(sources).where(sources.c.collection == collection, sources.c.uri.in_(names))
        )
        connection.execute(
            update(job_items)
            .where(job_items.c.uri.in_(names), job_items.c.job_id.in_(logs))
            .values(uri=REMOVED, reason="")
        )
    _forget_inputs(connection, collection, gone)
    _forget_folders(connection, collection)


def _forget_folders(connection: Connection, collection: str) -> None:
    """Drop the settings of folders of which no source is left."""
    mine = collections.c.name == collection
    said = connection.execute(select(collections.c.settings).where(mine)).scalar() or {}
    folders = said.get("folders", {})
    roots = select(sources.c.root).where(sources.c.collection == collection).distinct()
    there = set(connection.execute(roots).scalars()) if folders else set()
    left = {root: one for root, one in folders.items() if root in there}
    if left != folders:
        own = {name: value for name, value in said.items() if name != "folders"}
        new = {**own, **({"folders": left} if left else {})}
        values = {"settings": new, "updated_at": datetime.now(UTC)}
        connection.execute(update(collections).where(mine).values(**values))
        touch(connection, [collection])


def _forget_inputs(connection: Connection, collection: str, uris: Collection[str]) -> None:
    """Take the names of these sources out of what runs that have ended were given."""
    names = {form for uri in uris for form in (uri, _path_of(uri))}
    ended = (jobs.c.collection == collection, jobs.c.state != "running")
    for row in connection.execute(select(jobs.c.id, jobs.c.inputs).where(*ended)).all():
        left = [REMOVED if given in names else given for given in row.inputs]
        if left != row.inputs:
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(inputs=left))


def _path_of(uri: str) -> str:
    """The path of a file's address as a run is given it."""
    return os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))


def record_sources(connection: Connection, records: Sequence[SourceRecord]) -> None:
    """Keep what was seen of each source, in place of what was known of it."""
    latest = {(record.collection, record.uri): record for record in records}
    if not latest:
        return
    named = (sources.c.collection == bindparam("c"), sources.c.uri == bindparam("u"))
    keys = [{"c": collection, "u": uri} for collection, uri in latest]
    connection.execute(delete(sources).where(*named), keys)
    now = datetime.now(UTC)
    rows = [asdict(record) | {"seen_at": record.seen_at or now} for record in latest.values()]
    connection.execute(insert(sources), rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionWords:
    """What the documents of one collection are described with."""

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


# --- past questions ---


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPastQuestion:
    """A past question, and when it was last written (its feedback with it)."""

    past: PastQuestion
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A document that an address names, when it came and when it was last changed."""

    id: str
    title: str
    added_at: datetime
    updated_at: datetime


class PastQuestions(CataloguePart):
    """Reads of past questions."""

    def of(self, document_ids: Iterable[str]) -> dict[str, StoredPastQuestion]:
        """Document id to the past question it holds; other documents are left out."""
        statement = (
            select(past_questions.c.document_id, past_questions.c.body, documents.c.updated_at)
            .join_from(past_questions, documents, documents.c.id == past_questions.c.document_id)
            .where(past_questions.c.document_id.in_(VALUES))
        )
        return {
            row.document_id: StoredPastQuestion(
                past=from_plain(PastQuestion, row.body), updated_at=row.updated_at
            )
            for row in self._rows_in(statement, document_ids)
        }

    def cited(self, collection: str, address: str) -> list[CitedSource]:
        """The documents of the collection that ``address`` names: a url, a uri, or its end.

        A relative address ("papers/seagrass.pdf") names what ends in it.
        """
        named = [documents.c.url == address, documents.c.uri == address]
        if ":" not in address:
            tail = "/" + address.removeprefix("./").lstrip("/")
            folded = "".join(one.lower() if one.isascii() else one for one in tail)
            named.append(func.lower(documents.c.uri).endswith(folded, autoescape=True))
        columns, names = documents.c, document_names.c
        statement = select(columns.id, columns.title, columns.added_at, columns.updated_at).where(
            aside(columns.collection) == collection, columns.kind != "qa", or_(*named)
        )
        # Of an address whose last part is no word, the documents of the site are looked through.
        sort, key = (FILE, file_key(address)) if file_key(address) else (SITE, site_key(address))
        called = (names.sort == sort, names.key == cut(key), names.collection == collection)
        there = select(names.document_id).where(*called)
        return made_of(CitedSource, self._rows(statement.where(columns.id.in_(there))))
