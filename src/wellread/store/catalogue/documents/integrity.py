"""What the catalogue can say about itself: counts, broken references, what does not agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
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

from wellread.store.catalogue.documents.collection_records import origins, touch_all
from wellread.store.catalogue.documents.raw_reads import Body, bodies
from wellread.store.schema.catalogue_values import VersionKey
from wellread.store.schema.database import CataloguePart, chunks
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
STREAM_ROWS = 2_000
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
        with self._database.read() as connection:
            return {
                table.name: _count(connection, select(func.count()).select_from(table))
                for table in metadata.sorted_tables
            }

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
        with self._database.read() as connection:
            streamed = connection.execution_options(yield_per=STREAM_ROWS).execute(ordered)
            for known, pieces in groupby(streamed, key=itemgetter(0)):
                yield known, "".join(piece.text for piece in pieces)

    def titles(self) -> Iterator[tuple[str, str]]:
        """Document id and title with summary of every document."""
        facts = select(documents.c.id, documents.c.title, documents.c.summary)
        with self._database.read() as connection:
            for row in connection.execution_options(yield_per=STREAM_ROWS).execute(facts):
                yield row.id, f"{row.title}\n{row.summary}"

    def cells(self) -> Iterator[tuple[str, str, Any]]:
        """Table, row and value of every cell that may hold words, but for the texts'."""
        for table in metadata.sorted_tables:
            if table is texts:
                continue
            keys = list(table.primary_key.columns)
            with self._database.read() as connection:
                streamed = connection.execution_options(yield_per=STREAM_ROWS)
                for row in streamed.execute(select(table)):
                    name = "/".join(str(row._mapping[key.name]) for key in keys)
                    for value in row:
                        if isinstance(value, str | bytes | list | dict):
                            yield table.name, name, value

    # --- the file ---

    def damage(self) -> list[str]:
        """What the database says is wrong with its file; nothing where it does not tell."""
        if self._database.engine.dialect.name != "sqlite":
            return []
        with self._database.read() as connection:
            said = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        return [] if said == ["ok"] else [str(line) for line in said]

    def rebuild_indexes(self) -> None:
        """Make the tables' search trees anew from their rows."""
        with self._database.write() as connection:
            connection.execute(text("REINDEX"))

    # --- references ---

    def broken_references(self) -> list[BrokenReference]:
        """Rows that point to a row that is not there."""
        found = []
        with self._database.read() as connection:
            for column, parent, stray in _references():
                statement = select(func.count()).select_from(column.table).where(stray)
                if rows := _count(connection, statement):
                    found.append(
                        BrokenReference(
                            table=column.table.name,
                            column=column.name,
                            parent=parent.name,
                            rows=rows,
                        )
                    )
        return found

    def mend_references(self) -> None:
        """Drop rows that point to nothing, or let go of what they point to where they may."""
        with self._database.write() as connection:
            for column, _, stray in _references():
                table: Any = column.table
                if column.nullable:
                    connection.execute(update(table).where(stray).values({column.name: None}))
                else:
                    connection.execute(delete(table).where(stray))

    # --- sources ---

    def unsourced(self) -> list[tuple[str, str]]:
        """Id and address of documents whose source is not recorded."""
        known = exists().where(
            sources.c.collection == documents.c.collection,
            sources.c.uri == documents.c.source_uri,
        )
        with self._database.read() as connection:
            statement = select(documents.c.id, documents.c.uri).where(~known)
            return [(row.id, row.uri) for row in connection.execute(statement)]

    def record_missing_sources(self) -> None:
        """Record the sources of documents; they are read again by the next run."""
        pair = (documents.c.collection, documents.c.source_uri)
        known = exists().where(sources.c.collection == pair[0], sources.c.uri == pair[1])
        with self._database.write() as connection:
            missing = connection.execute(select(*pair).where(~known).distinct()).all()
            if missing:
                connection.execute(insert(sources), [_bare_source(*key) for key in missing])

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
        with self._database.read() as connection:
            return [(row.collection, row.uri) for row in connection.execute(statement)]

    def read_again(self, keys: Iterable[tuple[str, str]]) -> None:
        """Forget what is known of these sources' content, so that the next run reads them."""
        blank = {
            "size": -1,
            "digest": READ_AGAIN,
            "etag": "",
            "last_modified": "",
            "poll_after": None,
        }
        with self._database.write() as connection:
            for pairs in chunks(keys):
                which = tuple_(sources.c.collection, sources.c.uri).in_(pairs)
                connection.execute(update(sources).where(which).values(**blank))

    def sources_of(self, document_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Collection and address of the sources that these documents are from."""
        with self._database.read() as connection:
            return sorted(origins(connection, document_ids))

    # --- counts, vectors, what joins documents ---

    def miscounted(self) -> list[str]:
        """Documents whose noted number of passages is not the number of their passages."""
        with self._database.read() as connection:
            statement = select(documents.c.id).where(documents.c.passages != _passages())
            return list(connection.execute(statement).scalars())

    def count_again(self) -> None:
        """Note the number of passages of every document anew."""
        with self._database.write() as connection:
            wrong = documents.c.passages != _passages()
            connection.execute(update(documents).where(wrong).values(passages=_passages()))
            touch_all(connection)

    def void_debts(self) -> list[str]:
        """Documents whose noted debt of vectors is not of their live version."""
        with self._database.read() as connection:
            return list(connection.execute(_outdated(vector_debts)).scalars())

    def drop_debts(self, document_ids: Iterable[str]) -> None:
        """Nobody owes these documents vectors."""
        with self._database.write() as connection:
            for ids in chunks(document_ids):
                connection.execute(delete(vector_debts).where(vector_debts.c.document_id.in_(ids)))

    def owe(self, keys: Iterable[VersionKey]) -> None:
        """The passages of these live versions need vectors."""
        with self._database.write() as connection:
            for pairs in chunks(keys):
                ids = [known for known, _ in pairs]
                connection.execute(delete(vector_debts).where(vector_debts.c.document_id.in_(ids)))
                owed = select(documents.c.id, documents.c.version, _passages()).where(
                    documents.c.id.in_(ids)
                )
                columns = ["document_id", "version", "passages"]
                connection.execute(insert(vector_debts).from_select(columns, owed))

    def owed(self) -> Iterator[str]:
        """The documents that are owed vectors."""
        with self._database.read() as connection:
            yield from connection.execute(select(vector_debts.c.document_id)).scalars()

    def misplaced_mentions(self) -> list[str]:
        """Documents with mentions outside their text, or found in another version of it."""
        outside = select(mentions.c.document_id).join(
            documents, documents.c.id == mentions.c.document_id
        )
        bad = or_(mentions.c.end > documents.c.characters, mentions.c.start >= mentions.c.end)
        with self._database.read() as connection:
            found = set(connection.execute(outside.where(bad)).scalars())
            found.update(connection.execute(_outdated(mention_scans)).scalars())
        return sorted(found)

    def drop_mentions(self, document_ids: Iterable[str]) -> None:
        """Forget these documents' mentions; the next run looks for them again."""
        with self._database.write() as connection:
            for ids in chunks(document_ids):
                for table in (mentions, mention_scans):
                    connection.execute(delete(table).where(table.c.document_id.in_(ids)))

    def misplaced_items(self) -> list[str]:
        """Documents with items of stories outside their text, or of another version of it."""
        outside = select(story_items.c.document_id).join(
            documents, documents.c.id == story_items.c.document_id
        )
        with self._database.read() as connection:
            bad = story_items.c.end > documents.c.characters
            found = set(connection.execute(outside.where(bad)).scalars())
            found.update(connection.execute(_outdated(story_items)).scalars())
        return sorted(found)


def _count(connection: Connection, statement: Select[Any]) -> int:
    return int(connection.execute(statement).scalar() or 0)


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


def _references() -> Iterator[tuple[Column[Any], Table, Any]]:
    """Every column that points to another table's rows, and when it points to nothing."""
    for table in metadata.sorted_tables:
        for constraint in table.foreign_keys:
            parent = constraint.column.table.alias()
            there = exists(
                select(literal(1)).where(parent.c[constraint.column.name] == constraint.parent)
            )
            stray = and_(constraint.parent.is_not(None), ~there)
            yield constraint.parent, constraint.column.table, stray


def _bare_source(collection: str, uri: str) -> dict[str, Any]:
    return {
        "collection": collection,
        "uri": uri,
        "size": 0,
        "mtime_ns": 0,
        "digest": "",
        "loader": "",
        "status": "updated",
        "reason": "",
        "seen_at": datetime.now(UTC),
    }
