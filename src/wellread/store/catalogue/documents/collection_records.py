"""Stores collections' sources, settings and stamps, and reads their vocabulary and past questions.

The vocabulary - speakers, authors, kinds, taxonomy - fills forms and validates filters; questions
do not need it (``name_records.py``). Every transaction that changes documents or settings changes
the stamp of their collections (``touch``), so that a reader in any process that sees an unchanged
stamp can use its cached values.
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Generic
from urllib.parse import unquote_to_bytes
from uuid import uuid4

from sqlalchemy import Connection, bindparam, case, delete, func, insert, or_, select, text, update

from wellread.codec import from_plain
from wellread.identity import tagged_hash
from wellread.store.catalogue.documents.lookup import VALUES, put_properties
from wellread.store.catalogue.documents.name_records import (
    AUTHOR,
    FILE,
    LANGUAGE,
    SITE,
    SORT,
    SPEAKER,
    VALUE,
    cut_key,
    file_key,
    site_key,
)
from wellread.store.rights import READ, is_restricted
from wellread.store.schema.database import (
    CataloguePart,
    Database,
    T,
    chunks,
    insert_rows,
    rows_in,
    rows_to_values,
    without_index,
)
from wellread.store.schema.stored_values import REMOVED, KindCount, SourceRecord
from wellread.store.schema.tables import (
    answer_topics,
    api_keys,
    collections,
    document_names,
    documents,
    gaps,
    grants,
    job_items,
    jobs,
    past_questions,
    preferences,
    properties,
    sources,
)
from wellread.types import PastQuestion

# Distinct values by reading one index entry for each; DISTINCT would read every row.
_COLLECTIONS = text(
    "WITH RECURSIVE there(name) AS (SELECT min(collection) FROM documents UNION ALL SELECT"
    " (SELECT min(collection) FROM documents WHERE collection > there.name) FROM there"
    " WHERE there.name IS NOT NULL) SELECT name FROM there WHERE name IS NOT NULL"
)
# With restricting views, each step of that query would read whole collections that are unreadable.
_READABLE_COLLECTIONS = text(
    "SELECT name FROM readable WHERE EXISTS"
    " (SELECT 1 FROM documents WHERE documents.collection = readable.name)"
)

RECORDED = or_(documents.c.kind == "transcript", documents.c.media_url != "")


class CollectionCache(Generic[T]):
    """Caches a value derived from each collection until its stamp changes. Thread-safe."""

    def __init__(self, make: Callable[[Connection, str], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._cache: dict[str, tuple[str, T]] = {}

    def of(
        self, connection: Connection, stamps: Mapping[str, str], collections: Sequence[str]
    ) -> list[T]:
        """The values of the collections that have a stamp; of all when ``collections`` is empty."""
        values = []
        for name in dict.fromkeys(collections or sorted(stamps)):
            if name in stamps:
                entry = self._cache.get(name)
                if entry is None or entry[0] != stamps[name]:
                    entry = (stamps[name], self._make(connection, name))
                    with self._lock:
                        self._cache[name] = entry
                values.append(entry[1])
        return values


class Vocabularies(CataloguePart):
    """Caches the vocabulary of each collection. Thread-safe."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._cache = CollectionCache(load_words)

    def of(self, collections: Sequence[str] = ()) -> list[CollectionWords]:
        """The current vocabularies of the known collections; of all when none are given."""
        with self._database.read() as connection:
            return self._cache.of(connection, stamps_of(connection), collections)

    def stamps(self, collections: Sequence[str] = ()) -> dict[str, str]:
        """The stamps of the known collections (of all when none are given), by name."""
        with self._database.read() as connection:
            stamps = stamps_of(connection)
        names = dict.fromkeys(collections or sorted(stamps))
        return {name: stamps[name] for name in names if name in stamps}


def stamps_of(connection: Connection) -> dict[str, str]:
    """The stamp of each collection with documents; it changes with its documents or settings."""
    names = {_stamp_key(name): name for name in collection_names(connection)}
    stamps = dict.fromkeys(names.values(), "")
    rows = rows_in(connection, select(properties).where(properties.c.key.in_(VALUES)), names)
    return stamps | {names[key]: str(value) for key, value in rows}


def touch(connection: Connection, collections: Iterable[str]) -> None:
    """Change the stamp of these collections, in the transaction that changes the collections."""
    put_properties(connection, {_stamp_key(name): uuid4().hex for name in sorted(set(collections))})


def touch_documents(connection: Connection, document_ids: Iterable[str]) -> None:
    """Change the stamps of these documents' collections; call it before they are deleted."""
    statement = select(documents.c.collection).where(documents.c.id.in_(VALUES)).distinct()
    touch(connection, [row.collection for row in rows_in(connection, statement, document_ids)])


def touch_all(connection: Connection) -> None:
    """Change the stamp of every collection that has documents."""
    touch(connection, collection_names(connection))


def _stamp_key(collection: str) -> str:
    """A hashed property key, so that a removed collection's name does not remain in it."""
    return tagged_hash("words", collection)


class Collections(CataloguePart):
    """Settings of collections by name, and the change of a collection's name."""

    def names(self) -> list[str]:
        """The names of all collections that have settings, also of empty ones."""
        return self._values(select(collections.c.name).order_by(collections.c.name))

    def share_rights(self, old: str, new: str) -> None:
        """Grant on the collection ``new`` what is granted on ``old``, and copy its settings."""
        columns = [grants.c[name] for name in ("role", "user_id", "group_id")]
        with self._database.write() as connection:
            granted = connection.execute(select(*columns).where(grants.c.collection == old)).all()
            connection.execute(delete(grants).where(grants.c.collection == new))
            rows = ({"collection": new, **row._mapping} for row in granted)
            insert_rows(connection, grants, rows)
            settings = select(collections.c.settings).where(collections.c.name == old)
            for value in connection.execute(settings).scalars().all():
                connection.execute(delete(collections).where(collections.c.name == new))
                row = {"name": new, "settings": value, "updated_at": datetime.now(UTC)}
                connection.execute(insert(collections), row)

    def renamed(self, old: str, new: str, *, keys_follow: bool) -> None:
        """Write the new name of a collection, which is empty now, wherever its name is kept.

        Its grants end. An answer that could use it needs the right to read ``new`` from now on.
        API keys limited to it may read ``new`` if ``keys_follow``, otherwise nothing in its place.
        """
        with self._database.write() as connection:
            connection.execute(delete(grants).where(grants.c.collection == old))
            connection.execute(update(jobs).where(jobs.c.collection == old).values(collection=new))
            topics = answer_topics.c
            has_new = select(topics.answer_id).where(topics.kind == READ, topics.topic == new)
            is_old = (topics.kind == READ, topics.topic == old)
            connection.execute(
                delete(answer_topics).where(
                    *is_old, topics.answer_id.in_(has_new.scalar_subquery())
                )
            )
            connection.execute(update(answer_topics).where(*is_old).values(topic=new))
            in_place = {gaps: [new], api_keys: [new] if keys_follow else []}
            for names in (gaps.c.scope, api_keys.c.collections):
                key = names.table.c.id
                for row in connection.execute(select(key, names).where(names.is_not(None))).all():
                    if old in (row[1] or ()):
                        rest = [name for name in row[1] if name not in (old, new)]
                        values = {names.name: sorted({*rest, *in_place[names.table]})}
                        connection.execute(update(names.table).where(key == row[0]).values(values))
            for row in connection.execute(select(preferences.c.owner, preferences.c.body)).all():
                if row.body.get("collection") == old:
                    is_row = preferences.c.owner == row.owner
                    body = {**row.body, "collection": new}
                    connection.execute(update(preferences).where(is_row).values(body=body))

    def settings(self, name: str) -> dict[str, Any] | None:
        """The settings of the collection; None when it has none."""
        rows = self._values(select(collections.c.settings).where(collections.c.name == name))
        return rows[0] if rows else None

    def set_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """Replace the settings of the collection."""
        row = {"name": name, "settings": dict(settings), "updated_at": datetime.now(UTC)}
        with self._database.write() as connection:
            connection.execute(delete(collections).where(collections.c.name == name))
            connection.execute(insert(collections), row)
            touch(connection, [name])


def source_records(connection: Connection, collection: str) -> dict[str, SourceRecord]:
    """The records of the collection's sources, by uri."""
    statement = select(sources).where(sources.c.collection == collection)
    records = rows_to_values(SourceRecord, connection.execute(statement))
    return {record.uri: record for record in records}


def source_record(connection: Connection, collection: str, uri: str) -> SourceRecord | None:
    """The record of one source; None when it was never read."""
    is_source = (sources.c.collection == collection, sources.c.uri == uri)
    records = rows_to_values(SourceRecord, connection.execute(select(sources).where(*is_source)))
    return records[0] if records else None


def known_sources(connection: Connection, uris: Iterable[str]) -> set[tuple[str, str]]:
    """The (collection, uri) pairs of sources whose own address is one of ``uris``."""
    statement = select(sources.c.collection, sources.c.uri).where(sources.c.uri.in_(VALUES))
    return {(row.collection, row.uri) for row in rows_in(connection, statement, uris)}


def failed_sources(connection: Connection, names: Sequence[str], limit: int) -> list[SourceRecord]:
    """Sources without documents, last seen first; of these collections, or of all."""
    failed = select(sources).where(sources.c.status.in_(("failed", "skipped")))
    if names:
        failed = failed.where(sources.c.collection.in_(names))
    order = (sources.c.seen_at.desc(), sources.c.uri)
    return rows_to_values(SourceRecord, connection.execute(failed.order_by(*order).limit(limit)))


def collection_names(connection: Connection) -> list[str]:
    """The names of all collections, sorted; without reading all documents."""
    names = _READABLE_COLLECTIONS if is_restricted(connection) else _COLLECTIONS
    return sorted(connection.execute(names).scalars())


def kind_counts(connection: Connection, collection: str) -> list[KindCount]:
    """The counts of each kind of document in one collection, by name."""
    group = (documents.c.collection, documents.c.kind)
    sums = [func.sum(documents.c[name]).label(name) for name in ("passages", "characters")]
    sums += [func.count().label("documents"), func.count(case((RECORDED, 1))).label("recordings")]
    of_collection = select(*group, *sums).where(documents.c.collection == collection)
    rows = connection.execute(of_collection.group_by(*group).order_by(*group))
    return rows_to_values(KindCount, rows)


def documents_of_sources(
    connection: Connection, collection: str, uris: Iterable[str]
) -> dict[str, str]:
    """The versions of all documents that come from the sources, by id."""
    statement = select(documents.c.id, documents.c.version).where(
        documents.c.collection == collection, documents.c.source_uri.in_(VALUES)
    )
    return {row.id: row.version for row in rows_in(connection, statement, uris)}


def origins(connection: Connection, document_ids: Iterable[str]) -> set[tuple[str, str]]:
    """The (collection, uri) pairs of the sources that the documents come from."""
    query = select(documents.c.collection, documents.c.source_uri).where(documents.c.id.in_(VALUES))
    return {(row[0], row[1]) for row in rows_in(connection, query, document_ids)}


def mark_emptied_skipped(connection: Connection, keys: Iterable[tuple[str, str]]) -> None:
    """Mark the sources that have no documents left as skipped."""
    for collection, uri in sorted(keys):
        if not documents_of_sources(connection, collection, [uri]):
            is_source = (sources.c.collection == collection, sources.c.uri == uri)
            connection.execute(update(sources).where(*is_source).values(status="skipped"))


def delete_sources(connection: Connection, collection: str, uris: Iterable[str]) -> None:
    """Delete the records of the sources, and their names in job logs.

    The lines that a running job has yet to write are kept: they report what it removed.
    """
    addresses = list(uris)
    logs = select(jobs.c.id).where(jobs.c.collection == collection)
    for names in chunks(addresses):
        connection.execute(
            delete(sources).where(sources.c.collection == collection, sources.c.uri.in_(names))
        )
        connection.execute(
            update(job_items)
            .where(job_items.c.uri.in_(names), job_items.c.job_id.in_(logs))
            .values(uri=REMOVED, reason="")
        )
    _forget_inputs(connection, collection, addresses)
    _forget_folders(connection, collection)


def _forget_folders(connection: Connection, collection: str) -> None:
    """Delete the settings of folders that have no sources left."""
    named = collections.c.name == collection
    settings = connection.execute(select(collections.c.settings).where(named)).scalar() or {}
    folders = settings.get("folders", {})
    roots = select(sources.c.root).where(sources.c.collection == collection).distinct()
    used_roots = set(connection.execute(roots).scalars()) if folders else set()
    kept_folders = {root: folder for root, folder in folders.items() if root in used_roots}
    if kept_folders != folders:
        other_settings = {name: value for name, value in settings.items() if name != "folders"}
        new = {**other_settings, **({"folders": kept_folders} if kept_folders else {})}
        values = {"settings": new, "updated_at": datetime.now(UTC)}
        connection.execute(update(collections).where(named).values(**values))
        touch(connection, [collection])


def _forget_inputs(connection: Connection, collection: str, uris: Collection[str]) -> None:
    """Remove the names of these sources from the inputs of finished jobs."""
    paths = (os.fsdecode(unquote_to_bytes(uri.removeprefix("file://"))) for uri in uris)
    names = {*uris, *paths}
    ended = (jobs.c.collection == collection, jobs.c.state != "running")
    for row in connection.execute(select(jobs.c.id, jobs.c.inputs).where(*ended)).all():
        inputs = [REMOVED if name in names else name for name in row.inputs]
        if inputs != row.inputs:
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(inputs=inputs))


def record_sources(connection: Connection, records: Sequence[SourceRecord]) -> None:
    """Replace the records of these sources."""
    latest = {(record.collection, record.uri): record for record in records}
    if not latest:
        return
    is_source = (sources.c.collection == bindparam("c"), sources.c.uri == bindparam("u"))
    keys = [{"c": collection, "u": uri} for collection, uri in latest]
    connection.execute(delete(sources).where(*is_source), keys)
    now = datetime.now(UTC)
    rows = [asdict(record) | {"seen_at": record.seen_at or now} for record in latest.values()]
    connection.execute(insert(sources), rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionWords:
    """The values that describe one collection's documents; ``taxonomy``: values by dimension."""

    collection: str
    documents: int
    kinds: frozenset[str]
    source_types: frozenset[str]
    languages: frozenset[str]
    authors: frozenset[str]
    speakers: frozenset[str]
    taxonomy: Mapping[str, tuple[str, ...]]


def load_words(connection: Connection, collection: str) -> CollectionWords:
    """Load the vocabulary of one collection from the index of names."""
    names = document_names.c
    conditions = (names.collection == collection, names.sort.in_((SORT, LANGUAGE, AUTHOR, SPEAKER)))
    values_by_kind: defaultdict[str, set[str]] = defaultdict(set)
    for kind_of_key, key, value in connection.execute(
        select(names.sort, names.key, names.value).distinct().where(*conditions)
    ):
        values_by_kind[kind_of_key].add(value or key)
    pairs = select(names.value).distinct().where(conditions[0], names.sort == VALUE)
    taxonomy: dict[str, list[str]] = {}
    for dimension, value in sorted(map(json.loads, connection.execute(pairs).scalars())):
        taxonomy.setdefault(dimension, []).append(value)
    kinds = [name.partition("/") for name in values_by_kind[SORT]]
    of_collection = select(func.count()).where(documents.c.collection == collection)
    return CollectionWords(
        collection=collection,
        documents=connection.execute(of_collection).scalar_one(),
        kinds=frozenset(kind for kind, _, _ in kinds),
        source_types=frozenset(name for _, _, name in kinds if name),
        languages=frozenset(values_by_kind[LANGUAGE]),
        authors=frozenset(values_by_kind[AUTHOR]),
        speakers=frozenset(values_by_kind[SPEAKER]),
        taxonomy={name: tuple(values) for name, values in taxonomy.items()},
    )


# --- past questions ---


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPastQuestion:
    """A past question, and the time when it was last written with its feedback."""

    past: PastQuestion
    updated_at: datetime


class PastQuestions(CataloguePart):
    """Reads past questions, and the documents that they cite."""

    def of(self, document_ids: Iterable[str]) -> dict[str, StoredPastQuestion]:
        """The past questions by document id; other documents are left out."""
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

    def cited(self, collection: str, address: str) -> Sequence[Any]:
        """Id, title and times of the documents of the collection whose url or uri is ``address``.

        A relative address ("papers/seagrass.pdf") matches uris that end in it.
        """
        matches = [documents.c.url == address, documents.c.uri == address]
        if ":" not in address:
            tail = "/" + address.removeprefix("./").lstrip("/")
            folded = "".join(letter.lower() if letter.isascii() else letter for letter in tail)
            matches.append(func.lower(documents.c.uri).endswith(folded, autoescape=True))
        columns, names = documents.c, document_names.c
        statement = select(columns.id, columns.title, columns.added_at, columns.updated_at).where(
            without_index(columns.collection) == collection, columns.kind != "qa", or_(*matches)
        )
        # When the last part of the address has no words, all documents of its site are compared.
        kind, key = (FILE, file_key(address)) if file_key(address) else (SITE, site_key(address))
        has_key = (names.sort == kind, names.key == cut_key(key), names.collection == collection)
        candidates = select(names.document_id).where(*has_key)
        return self._rows(statement.where(columns.id.in_(candidates)))
