"""Checks the integrity of the catalogue, and repairs it: counts, references, sources, mentions."""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Delete,
    Exists,
    Select,
    Table,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    tuple_,
    update,
)

from wellread.codec import marks_from_blob
from wellread.identity import version_of
from wellread.store.catalogue.documents.collection_records import origins, record_sources, touch_all
from wellread.store.catalogue.documents.lookup import passage_count
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.stored_values import SourceRecord, VersionKey
from wellread.store.schema.tables import (
    PIECE,
    documents,
    marks,
    mention_scans,
    mentions,
    metadata,
    passages,
    sources,
    story_items,
    texts,
    vector_debts,
)

DOCUMENTS_AT_ONCE = 50
READ = ("added", "updated", "unchanged")
MAX_UNREAD = 3  # files with pages without text that are named
READ_AGAIN = "read again"  # a digest that no content has, so that the source is read again


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """One document as stored; ``passages`` are rows in reading order, marks end at ``reach``.

    The version ``computed`` from text and marks is empty when they are ``broken``, for that reason.
    """

    document_id: str
    collection: str
    uri: str
    language: str
    version: str
    computed: str
    broken: str
    text: str
    reach: int
    passages: Sequence[Any]


class Integrity(CataloguePart):
    """Checks of the catalogue, and the repair for each."""

    # --- reading everything ---

    def row_counts(self) -> dict[str, int]:
        """The number of rows of each table, by name."""
        (counts,) = self._rows(_table_sizes())
        return dict(counts._mapping)

    def bodies(self) -> Iterator[StoredDocument]:
        """All documents as stored, ordered by id, loaded a few at a time."""
        after = ""
        in_order = select(documents).order_by(documents.c.id).limit(DOCUMENTS_AT_ONCE)
        while rows := self._rows(in_order.where(documents.c.id > after)):
            after = rows[-1].id
            ids = [row.id for row in rows]
            pieces = self._by_document(select(texts).order_by(texts.c.piece), ids)
            blobs = self._by_document(select(marks), ids)
            parts = self._by_document(select(passages).order_by(passages.c.ordinal), ids)
            yield from (_stored(row, pieces[row.id], blobs[row.id], parts[row.id]) for row in rows)

    def texts(self) -> Iterator[tuple[str, str]]:
        """The id and full text of every stored text, including texts without a document."""
        ordered = select(texts).order_by(texts.c.document_id, texts.c.piece)
        for document_id, pieces in groupby(self._stream(ordered), key=itemgetter(0)):
            yield document_id, "".join(piece.text for piece in pieces)

    def titles(self) -> Iterator[tuple[str, str]]:
        """The id, and the title with the summary, of every document."""
        facts = select(documents.c.id, documents.c.title, documents.c.summary)
        return ((row.id, f"{row.title}\n{row.summary}") for row in self._stream(facts))

    def cells(self) -> Iterator[tuple[str, str, Any]]:
        """Table, row and value of every cell that may contain words, except the texts."""
        for table in metadata.sorted_tables:
            if table is texts:
                continue
            keys = list(table.primary_key.columns)
            for row in self._stream(select(table)):
                name = "/".join(str(row._mapping[key.name]) for key in keys)
                for value in row:
                    if isinstance(value, str | bytes | list | dict):
                        yield table.name, name, value

    # --- the file ---

    def rebuild_indexes(self) -> None:
        """Rebuild the database indexes of all tables."""
        word = "REINDEX" if self._database.dialect == "sqlite" else "REINDEX TABLE"
        self._run(*(text(f'{word} "{table.name}"') for table in metadata.sorted_tables))

    def count_textless(self) -> int:
        """The number of documents whose text is missing."""
        has_text = exists().where(texts.c.document_id == documents.c.id, texts.c.piece == 0)
        return int(self._values(select(func.count()).select_from(documents).where(~has_text))[0])

    # --- references ---

    def broken_references(self) -> list[tuple[str, str]]:
        """Each column that refers to missing rows, with a description of the rows."""
        (counts,) = self._rows(_dangling_counts())
        return [
            (f"{column.table.name}.{column.name}", f"{rows} rows, to {parent.name}")
            for (column, parent, _), rows in zip(_references(), counts, strict=True)
            if rows
        ]

    def repair_references(self) -> None:
        """Clear references to missing rows; delete rows whose reference may not be empty."""
        self._run(
            *(
                update(column.table).where(stray).values({column.name: None})
                if column.nullable
                else delete(column.table).where(stray)
                for column, _, stray in _references()
            )
        )

    # --- sources ---

    def without_source(self) -> list[tuple[str, str]]:
        """The id and uri of each document whose source has no record."""
        rows = self._rows(select(documents.c.id, documents.c.uri).where(~_has_source()))
        return [(row.id, row.uri) for row in rows]

    def record_missing_sources(self) -> None:
        """Create the missing records of documents' sources; the next run reads those again."""
        pair = select(documents.c.collection, documents.c.source_uri.label("uri"))
        with self._database.write() as connection:
            missing = connection.execute(pair.where(~_has_source()).distinct()).all()
            bare = [SourceRecord(**row._mapping, status="updated") for row in missing]
            record_sources(connection, bare)

    def unread_pages(self, collections: Collection[str]) -> tuple[str, ...]:
        """The titles of some PDF files with pages that have no text, with the remark on them."""
        is_source = documents.c.collection == sources.c.collection
        statement = (
            select(documents.c.title, sources.c.reason)
            .join(sources, is_source & (documents.c.source_uri == sources.c.uri))
            .where(sources.c.loader.like("pdf/%"), sources.c.status.in_(READ))
            .where(sources.c.reason != "")
            .order_by(sources.c.uri)
            .limit(MAX_UNREAD)
        )
        if collections:
            statement = statement.where(sources.c.collection.in_(collections))
        return tuple(f"{row.title}: {row.reason}" for row in self._rows(statement))

    def emptied_sources(self) -> list[tuple[str, str]]:
        """The (collection, uri) pairs of sources that were read but have no documents.

        Feeds and lists of records are left out: they can be empty, and an entry belongs to the last
        of several feeds that contain it.
        """
        children = sources.alias()
        statement = select(sources.c.collection, sources.c.uri).where(
            sources.c.digest.not_in(("", READ_AGAIN)),
            sources.c.status.in_(READ),
            sources.c.loader.not_like("feed%"),
            sources.c.loader.not_like("records%"),
            ~exists().where(
                documents.c.collection == sources.c.collection,
                documents.c.source_uri == sources.c.uri,
            ),
            ~exists().where(
                children.c.collection == sources.c.collection,
                children.c.root == sources.c.uri,
                children.c.uri != sources.c.uri,
            ),
        )
        return [(row.collection, row.uri) for row in self._rows(statement)]

    def read_again(self, keys: Iterable[tuple[str, str]]) -> None:
        """Reset the content records of these sources, so that the next run reads them again."""
        blank = {"size": -1, "digest": READ_AGAIN, "etag": "", "last_modified": ""}
        source_key = tuple_(sources.c.collection, sources.c.uri)
        changes = (update(sources).where(source_key.in_(pairs)) for pairs in chunks(keys))
        self._run(*(change.values(**blank) for change in changes))

    def sources_of(self, document_ids: Iterable[str]) -> list[tuple[str, str]]:
        """The (collection, uri) pairs of the documents' sources, sorted."""
        with self._database.read() as connection:
            return sorted(origins(connection, document_ids))

    # --- counts, vectors, mentions, stories ---

    def miscounted(self) -> list[str]:
        """The ids of documents whose stored passage count is wrong."""
        return self._values(select(documents.c.id).where(documents.c.passages != passage_count()))

    def correct_counts(self) -> None:
        """Correct the stored passage counts of all documents."""
        with self._database.write() as connection:
            wrong = documents.c.passages != passage_count()
            connection.execute(update(documents).where(wrong).values(passages=passage_count()))
            touch_all(connection)

    def outdated_vector_debts(self) -> list[str]:
        """The ids of documents with pending vectors for a version that is not live."""
        return self._values(_outdated(vector_debts))

    def drop_vector_debts(self, document_ids: Iterable[str]) -> None:
        """Delete the pending vectors of these documents."""
        self._run(*(_delete(vector_debts, ids) for ids in chunks(document_ids)))

    def add_pending(self, keys: Iterable[VersionKey]) -> None:
        """Record that the passages of these live versions need vectors."""
        columns = ["document_id", "version", "passages"]
        pending = select(documents.c.id, documents.c.version, passage_count())
        for ids in chunks(document_id for document_id, _ in keys):
            rows = pending.where(documents.c.id.in_(ids))
            self._run(_delete(vector_debts, ids), insert(vector_debts).from_select(columns, rows))

    def pending_vectors(self) -> list[str]:
        """The ids of documents with pending vectors."""
        return self._values(select(vector_debts.c.document_id))

    def misplaced_mentions(self) -> list[str]:
        """The ids of documents with mentions outside their text, or in another version."""
        bad = (mentions.c.end > documents.c.characters) | (mentions.c.start >= mentions.c.end)
        return self._misplaced(mentions, bad, mention_scans)

    def drop_mentions(self, document_ids: Iterable[str]) -> None:
        """Delete the mentions in these documents; the next run scans them again."""
        tables = (mentions, mention_scans)
        self._run(*(_delete(table, ids) for ids in chunks(document_ids) for table in tables))

    def misplaced_items(self) -> list[str]:
        """The ids of documents with news items outside their text, or of another version."""
        return self._misplaced(story_items, story_items.c.end > documents.c.characters, story_items)

    def _misplaced(self, table: Table, bad: ColumnElement[bool], versioned: Table) -> list[str]:
        """The ids of documents with bad rows, or with rows of a version that is not live."""
        joined = table.join(documents, documents.c.id == table.c.document_id)
        ids = self._values(select(table.c.document_id).select_from(joined).where(bad))
        return sorted({*ids, *self._values(_outdated(versioned))})

    def _by_document(
        self, statement: Select[Any], ids: Sequence[str]
    ) -> defaultdict[str, list[Any]]:
        rows: defaultdict[str, list[Any]] = defaultdict(list)
        for row in self._rows(statement.where(statement.selected_columns["document_id"].in_(ids))):
            rows[row.document_id].append(row)
        return rows


def _stored(row: Any, pieces: list[Any], blobs: list[Any], parts: list[Any]) -> StoredDocument:
    text = "".join(piece.text for piece in pieces)
    computed, reach, broken = "", 0, ""
    if [piece.piece for piece in pieces] != list(range(max(1, math.ceil(row.characters / PIECE)))):
        broken = "a piece of its text is missing"
    elif len(text) != row.characters:
        broken = f"its text has {len(text):,} characters instead of {row.characters:,}"
    elif not blobs:
        broken = "its marks are missing"
    try:
        stored_marks = marks_from_blob(blobs[0].blob) if blobs else ()
        reach = max((mark.end for mark in stored_marks), default=0)
        computed = version_of(text, stored_marks)
    except (zlib.error, ValueError, TypeError, LookupError):
        broken = broken or "its marks cannot be read"
    return StoredDocument(
        document_id=row.id,
        collection=row.collection,
        uri=row.uri,
        language=row.language,
        version=row.version,
        computed="" if broken else computed,
        broken=broken,
        text=text,
        reach=reach,
        passages=parts,
    )


def _delete(table: Table, ids: Sequence[str]) -> Delete:
    """The statement that deletes the rows of these documents from ``table``."""
    return delete(table).where(table.c.document_id.in_(ids))


def _has_source() -> Exists:
    return exists().where(
        sources.c.collection == documents.c.collection, sources.c.uri == documents.c.source_uri
    )


def _outdated(table: Table) -> Select[Any]:
    """The query for documents with rows in ``table`` of a version that is not live."""
    return (
        select(table.c.document_id)
        .join(documents, documents.c.id == table.c.document_id)
        .where(table.c.version != documents.c.version)
        .distinct()
    )


# One cached statement counts all tables: one per table took most of the time for a small home.


@cache
def _table_sizes() -> Select[Any]:
    """A query with one row: the number of rows of each table, under the table's name."""
    counts = (
        (table.name, select(func.count()).select_from(table)) for table in metadata.sorted_tables
    )
    return select(*(count.scalar_subquery().label(name) for name, count in counts))


@cache
def _dangling_counts() -> Select[Any]:
    """A query with one row: for each of ``_references``, the number of dangling rows."""
    return select(
        *(
            select(func.count())
            .select_from(column.table)
            .where(stray)
            .scalar_subquery()
            .label(f"stray_{number}")
            for number, (column, _, stray) in enumerate(_references())
        )
    )


@cache
def _references() -> tuple[tuple[Column[Any], Table, Any], ...]:
    """Every foreign key column, its parent table, and the condition that it is dangling."""
    references = []
    for table in metadata.sorted_tables:
        for constraint in table.foreign_keys:
            parent = constraint.column.table.alias()
            has_parent = exists().where(parent.c[constraint.column.name] == constraint.parent)
            stray = constraint.parent.is_not(None) & ~has_parent
            references.append((constraint.parent, constraint.column.table, stray))
    return tuple(references)
