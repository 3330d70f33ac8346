"""What the catalogue can say about itself: counts, broken references, what does not agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    and_,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    tuple_,
    update,
)

from wellread.store.catalogue.documents.collection_records import origins, record_sources, touch_all
from wellread.store.catalogue.documents.lookup import Body, bodies
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.stored_values import SourceRecord, VersionKey
from wellread.store.schema.tables import (
    documents,
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
READ_AGAIN = "read again"  # in place of a digest: no content has it


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenReference:
    """Rows of a table that point to nothing."""

    table: str
    column: str
    parent: str
    rows: int


class Integrity(CataloguePart):
    """Checks and their remedies."""

    # --- reading everything ---

    def row_counts(self) -> dict[str, int]:
        """How many rows each table has."""
        (counts,) = self._rows(_sizes())
        return dict(counts._mapping)

    def bodies(self) -> Iterator[Body]:
        """Every document as it is stored, in the order of ids, a few in memory at a time."""
        after = ""
        while True:
            with self._database.read() as connection:
                found = bodies(connection, after, DOCUMENTS_AT_ONCE)
            if not found:
                return
            yield from found
            after = found[-1].document_id

    def texts(self) -> Iterator[tuple[str, str]]:
        """Document id and whole text of everything that has a text, a document or not."""
        ordered = select(texts).order_by(texts.c.document_id, texts.c.piece)
        for known, pieces in groupby(self._stream(ordered), key=itemgetter(0)):
            yield known, "".join(piece.text for piece in pieces)

    def titles(self) -> Iterator[tuple[str, str]]:
        """Document id and title with summary of every document."""
        facts = select(documents.c.id, documents.c.title, documents.c.summary)
        return ((row.id, f"{row.title}\n{row.summary}") for row in self._stream(facts))

    def cells(self) -> Iterator[tuple[str, str, Any]]:
        """Table, row and value of every cell that may hold words, but for the texts'."""
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
        """Make the tables' search trees anew from their rows."""
        word = "REINDEX" if self._database.dialect == "sqlite" else "REINDEX TABLE"
        self._run(*(text(f'{word} "{table.name}"') for table in metadata.sorted_tables))

    def textless(self) -> int:
        """How many documents have no text any more."""
        there = exists().where(texts.c.document_id == documents.c.id, texts.c.piece == 0)
        return self._count(select(func.count()).select_from(documents).where(~there))

    # --- references ---

    def broken_references(self) -> list[BrokenReference]:
        """Rows that point to a row that is not there."""
        (counts,) = self._rows(_strays())
        return [
            BrokenReference(
                table=column.table.name, column=column.name, parent=parent.name, rows=rows
            )
            for (column, parent, _), rows in zip(_references(), counts, strict=True)
            if rows
        ]

    def mend_references(self) -> None:
        """Drop rows that point to nothing, or let go of what they point to where they may."""
        self._run(
            *(
                update(column.table).where(stray).values({column.name: None})
                if column.nullable
                else delete(column.table).where(stray)
                for column, _, stray in _references()
            )
        )

    # --- sources ---

    def unsourced(self) -> list[tuple[str, str]]:
        """Id and address of documents whose source is not recorded."""
        rows = self._rows(select(documents.c.id, documents.c.uri).where(~_sourced()))
        return [(row.id, row.uri) for row in rows]

    def record_missing_sources(self) -> None:
        """Record the sources of documents; they are read again by the next run."""
        pair = (documents.c.collection, documents.c.source_uri)
        with self._database.write() as connection:
            missing = connection.execute(select(*pair).where(~_sourced()).distinct())
            bare = [
                SourceRecord(collection=collection, uri=uri, status="updated")
                for collection, uri in missing
            ]
            record_sources(connection, bare)

    def emptied(self) -> list[tuple[str, str]]:
        """Collection and address of sources that were read, and of which nothing is there.

        Feeds and lists of records may be so: they can be empty, and an entry belongs to the last
        of several feeds that carry it.
        """
        children = sources.alias()
        statement = select(sources.c.collection, sources.c.uri).where(
            sources.c.digest.not_in(("", READ_AGAIN)),
            sources.c.reason == "",
            sources.c.status.in_(READ),
            sources.c.poll_after.is_(None),
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
        """Forget what is known of these sources' content, so that the next run reads them."""
        blank = {
            "size": -1,
            "digest": READ_AGAIN,
            "etag": "",
            "last_modified": "",
            "poll_after": None,
        }
        known = tuple_(sources.c.collection, sources.c.uri)
        changes = (update(sources).where(known.in_(pairs)) for pairs in chunks(keys))
        self._run(*(change.values(**blank) for change in changes))

    def sources_of(self, document_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Collection and address of the sources that these documents are from."""
        with self._database.read() as connection:
            return sorted(origins(connection, document_ids))

    # --- counts, vectors, what joins documents ---

    def miscounted(self) -> list[str]:
        """Documents whose noted number of passages is not the number of their passages."""
        return self._values(select(documents.c.id).where(documents.c.passages != _passages()))

    def count_again(self) -> None:
        """Note the number of passages of every document anew."""
        with self._database.write() as connection:
            wrong = documents.c.passages != _passages()
            connection.execute(update(documents).where(wrong).values(passages=_passages()))
            touch_all(connection)

    def void_debts(self) -> list[str]:
        """Documents whose noted debt of vectors is not of their live version."""
        return self._values(_outdated(vector_debts))

    def drop_debts(self, document_ids: Iterable[str]) -> None:
        """Nobody owes these documents vectors."""
        self._run(*(_gone(vector_debts, ids) for ids in chunks(document_ids)))

    def owe(self, keys: Iterable[VersionKey]) -> None:
        """The passages of these live versions need vectors."""
        columns = ["document_id", "version", "passages"]
        owed = select(documents.c.id, documents.c.version, _passages())
        for ids in chunks(known for known, _ in keys):
            some = owed.where(documents.c.id.in_(ids))
            self._run(_gone(vector_debts, ids), insert(vector_debts).from_select(columns, some))

    def owed(self) -> list[str]:
        """The documents that are owed vectors."""
        return self._values(select(vector_debts.c.document_id))

    def misplaced_mentions(self) -> list[str]:
        """Documents with mentions outside their text, or found in another version of it."""
        bad = or_(mentions.c.end > documents.c.characters, mentions.c.start >= mentions.c.end)
        return self._misplaced(mentions, bad, mention_scans)

    def drop_mentions(self, document_ids: Iterable[str]) -> None:
        """Forget these documents' mentions; the next run looks for them again."""
        tables = (mentions, mention_scans)
        self._run(*(_gone(one, ids) for ids in chunks(document_ids) for one in tables))

    def misplaced_items(self) -> list[str]:
        """Documents with items of stories outside their text, or of another version of it."""
        bad = story_items.c.end > documents.c.characters
        return self._misplaced(story_items, bad, story_items)

    def _misplaced(self, table: Table, bad: ColumnElement[bool], versioned: Table) -> list[str]:
        """Documents of bad rows, and of rows of another version than the live one."""
        beside = table.join(documents, documents.c.id == table.c.document_id)
        found = self._values(select(table.c.document_id).select_from(beside).where(bad))
        return sorted({*found, *self._values(_outdated(versioned))})

    def _count(self, statement: Select[Any]) -> int:
        return int(self._values(statement)[0] or 0)


def _gone(table: Table, ids: Sequence[str]) -> Delete:
    """Takes the rows of these documents out of ``table``."""
    return delete(table).where(table.c.document_id.in_(ids))


def _sourced() -> Exists:
    return exists().where(
        sources.c.collection == documents.c.collection, sources.c.uri == documents.c.source_uri
    )


def _passages() -> Any:
    return (
        select(func.count())
        .where(passages.c.document_id == documents.c.id)
        .correlate(documents)
        .scalar_subquery()
    )


def _outdated(table: Table) -> Select[Any]:
    """The documents of rows in ``table`` that are of another version than the live one."""
    return (
        select(table.c.document_id)
        .join(documents, documents.c.id == table.c.document_id)
        .where(table.c.version != documents.c.version)
        .distinct()
    )


# One statement for all tables, built once: on small homes most of a check went into so many.


@cache
def _sizes() -> Select[Any]:
    """One row: how many rows each table has, by its name."""
    counted = (
        (table.name, select(func.count()).select_from(table)) for table in metadata.sorted_tables
    )
    return select(*(count.scalar_subquery().label(name) for name, count in counted))


@cache
def _strays() -> Select[Any]:
    """One row: for each of ``_references``, how many rows point to nothing."""
    return select(
        *(
            select(func.count())
            .select_from(column.table)
            .where(stray)
            .scalar_subquery()
            .label(f"stray_{place}")
            for place, (column, _, stray) in enumerate(_references())
        )
    )


@cache
def _references() -> tuple[tuple[Column[Any], Table, Any], ...]:
    """Every column that points to another table's rows, and when it points to nothing."""
    return tuple(_each_reference())


def _each_reference() -> Iterator[tuple[Column[Any], Table, Any]]:
    for table in metadata.sorted_tables:
        for constraint in table.foreign_keys:
            parent = constraint.column.table.alias()
            there = exists(
                select(literal(1)).where(parent.c[constraint.column.name] == constraint.parent)
            )
            stray = and_(constraint.parent.is_not(None), ~there)
            yield constraint.parent, constraint.column.table, stray
