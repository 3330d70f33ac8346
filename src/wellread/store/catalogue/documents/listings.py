"""Lists and counts documents, recordings and spoken passages that match filters.

Lists and counts use the same ``filter_condition``, so they never disagree. Nothing is ranked or
truncated. A document matches ``limits`` when it matches every ``Filters`` in it; so two authors, or
two values of one dimension, can be required at once. Names of people are compared without regard
to case, as in the index.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Any, Literal, get_args

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Select,
    TableValuedAlias,
    Text,
    and_,
    cast,
    exists,
    extract,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from wellread.store.catalogue.documents import collection_records, lookup
from wellread.store.catalogue.documents.lookup import FACTS, LIVE_MENTIONS, VALUES
from wellread.store.catalogue.documents.name_records import AUTHOR, SPEAKER, of_people, of_values
from wellread.store.schema.database import CataloguePart, Database, reading, rows_in, without_index
from wellread.store.schema.stored_values import KindCount
from wellread.store.schema.tables import documents, entities, mentions, passages, stories, texts
from wellread.types import DocumentFacts, Filters, Passage

Order = Literal["newest", "oldest", "title", "added", "kind", "collection", "largest"]
Limits = Sequence[Filters]
Field = Literal["collection", "kind", "source_type", "language", "author", "speaker"]
FIELDS: tuple[Field, ...] = get_args(Field)
Part = Literal["collection", "kind", "source_type", "language", "year"]
EntityKey = tuple[str, str]  # (collection, entity id)

_ORDERS: Mapping[Order, tuple[ColumnElement[Any], ...]] = {
    "newest": (documents.c.published_at.desc().nulls_last(), documents.c.title),
    "oldest": (documents.c.published_at.asc().nulls_last(), documents.c.title),
    "title": (func.lower(documents.c.title),),  # both databases lower-case ASCII only
    "added": (documents.c.added_at.desc(), documents.c.title),
    "kind": (documents.c.kind, func.lower(documents.c.title)),
    "collection": (documents.c.collection, func.lower(documents.c.title)),
    "largest": (documents.c.characters.desc(), documents.c.title),
}
_BY_DATE = (*_ORDERS["oldest"], documents.c.id)
_NEWEST_FIRST = (documents.c.published_at.desc(), documents.c.title.desc(), documents.c.id.desc())
_UNDATED = datetime.min.replace(tzinfo=UTC)
_PART_COLUMNS: dict[Part, ColumnElement[Any]] = {
    "collection": documents.c.collection,
    "kind": documents.c.kind,
    "source_type": documents.c.source_type,
    "language": documents.c.language,
    "year": extract("year", documents.c.published_at),
}
_LISTED = FACTS.add_columns(
    documents.c.summary, documents.c.taxonomy, documents.c.passages, documents.c.added_at
)
_SPOKEN = cast(passages.c.speakers, Text) != "[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document on a list; ``passages`` is their number."""

    facts: DocumentFacts
    summary: str
    taxonomy: Mapping[str, tuple[str, ...]]
    passages: int
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """One page of a document list, with the total number of documents."""

    total: int
    documents: tuple[ListedDocument, ...]


class Listings(CataloguePart):
    """Lists, counts and groupings of documents and passages, limited by filters."""

    openings = reading(lookup.openings_of)

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._kinds = collection_records.CollectionCache(collection_records.kind_counts)

    def _within(self, limits: Limits, statement: Select[Any]) -> Sequence[Any]:
        """The rows of the documents that match ``limits``."""
        with self._database.read() as connection:
            return connection.execute(statement.where(filter_condition(connection, limits))).all()

    def documents(
        self,
        limits: Filters,
        limit: int,
        offset: int = 0,
        order: Order = "newest",
        *,
        media: bool = False,
        words: str = "",
    ) -> DocumentPage:
        """The documents that match ``limits``; documents without a date come last.

        Args:
            words: words that the title or the authors must all contain, whatever their case.
        """
        like = "contains" if self._database.dialect == "sqlite" else "icontains"  # ignores case
        named = documents.c.title + " " + cast(documents.c.authors, Text)
        has_words = [getattr(named, like)(word, autoescape=True) for word in words.split()]
        kept = None if has_words else self.count([limits], media=media)
        with self._database.read() as connection:
            kind = collection_records.RECORDED if media else true()
            where = and_(filter_condition(connection, [limits]), kind, *has_words)
            count = select(func.count()).select_from(documents).where(where)
            chosen = select(documents.c.id).where(where).order_by(*_ORDERS[order], documents.c.id)
            ids = list(connection.execute(chosen.limit(limit).offset(offset)).scalars())
            total = connection.execute(count).scalar_one() if kept is None else kept
            return DocumentPage(total=total, documents=tuple(_list_entries(connection, ids)))

    def listed(self, document_id: str) -> ListedDocument | None:
        """One document as a list entry; None when the id is unknown."""
        with self._database.read() as connection:
            return next(_list_entries(connection, [document_id]), None)

    def holds(self) -> frozenset[str]:
        """Which of stories, entities, recordings and dated documents there are any of."""
        conditions = {
            "stories": exists().where(stories.c.title != ""),
            "entities": exists().select_from(entities),
            "recordings": exists().where(collection_records.RECORDED),
            "dates": exists().where(documents.c.published_at.is_not(None)),
        }
        (found,) = self._rows(select(*(there.label(name) for name, there in conditions.items())))
        return frozenset(name for name, there in found._mapping.items() if there)

    def titles(self, collections: Sequence[str], *, media: bool = False) -> list[DocumentFacts]:
        """The facts of all documents, or of all recordings with ``media``, newest first."""
        statement = FACTS.order_by(*_ORDERS["newest"], documents.c.id)
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        rows = self._rows(statement.where(collection_records.RECORDED) if media else statement)
        return [lookup.facts_of(row) for row in rows]

    def dates(self, limits: Filters) -> list[datetime]:
        """The publication dates of the documents that match ``limits``, ascending."""
        moment = documents.c.published_at
        statement = select(moment).where(moment.is_not(None)).order_by(moment)
        return [row[0] for row in self._within([limits], statement)]

    def speakers_of(self, document_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The speakers of each document in order of appearance, by document id."""
        statement = (
            select(passages.c.document_id, passages.c.speakers)
            .where(passages.c.document_id.in_(VALUES), _SPOKEN)
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        speakers: dict[str, dict[str, None]] = {}
        for document_id, names in self._rows_in(statement, document_ids):
            speakers.setdefault(document_id, {}).update(dict.fromkeys(names))
        return {document_id: tuple(names) for document_id, names in speakers.items()}

    def spoken_passages(
        self, limits: Filters, limit: int, offset: int = 0
    ) -> tuple[int, list[Passage]]:
        """The number of passages in which one of ``limits.speakers`` speaks, and a page of them.

        Newest documents come first.
        """
        names = {name.casefold() for name in limits.speakers}
        statement = (
            select(passages.c.id, cast(passages.c.speakers, Text))
            .join_from(passages, documents, documents.c.id == passages.c.document_id)
            .where(_SPOKEN)
            .order_by(*_ORDERS["newest"], documents.c.id, passages.c.ordinal)
        )
        matches = [
            key
            for key, speakers in self._within([limits], statement)
            if any(name.casefold() in names for name in json.loads(speakers))
        ]
        page = matches[offset : offset + limit]
        with self._database.read() as connection:
            by_id = lookup.whole_passages(connection, page)
        return len(matches), [by_id[key] for key in page if key in by_id]

    def covering(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """The id of the passage at or after each place (document id, character).

        The id is empty when no passage follows.
        """
        columns = (passages.c.document_id, passages.c.end, passages.c.id)
        statement = select(*columns).where(passages.c.document_id.in_(VALUES))
        ordered = statement.order_by(passages.c.document_id, passages.c.ordinal)
        by_document: dict[str, list[tuple[int, str]]] = {}
        for document, end, passage_id in self._rows_in(ordered, (name for name, _ in places)):
            by_document.setdefault(document, []).append((end, passage_id))
        covering: list[str] = []
        for document, position in places:
            ends = by_document.get(document, [])
            number = bisect_right(ends, position, key=lambda passage: passage[0])
            covering.append(ends[number][1] if number < len(ends) else "")
        return covering

    def starting(self, prefix: str, collections: Sequence[str] = ()) -> list[tuple[str, int, int]]:
        """At most two passages whose id starts with ``prefix``.

        For each its id, its number (from 0), and the number of passages of its document.
        """
        statement = (
            select(passages.c.id, passages.c.ordinal, documents.c.passages)
            .join_from(passages, documents, documents.c.id == passages.c.document_id)
            # Ids end in hex digits, so this range is the prefix, found by the primary key.
            .where(passages.c.id >= prefix, passages.c.id < f"{prefix}g")
            .order_by(passages.c.id)
            .limit(2)
        )
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        return [(row[0], row[1], row[2]) for row in self._rows(statement)]

    # --- counts and groupings ---

    def kinds(self, collections: Sequence[str] = ()) -> list[KindCount]:
        """The counts of each kind of document, by collection; kept until a collection changes."""
        with self._database.read() as connection:
            stamps = collection_records.stamps_of(connection)
            return [*chain.from_iterable(self._kinds.of(connection, stamps, collections))]

    def count(self, limits: Limits = (), *, media: bool = False) -> int:
        """The number of documents (``media``: recordings); from ``kinds`` where that suffices."""
        if any(one != Filters(collections=one.collections, kinds=one.kinds) for one in limits):
            recorded = collection_records.RECORDED if media else true()
            matching = select(func.count()).select_from(documents).where(recorded)
            return int(self._within(limits, matching)[0][0])
        within = next((one.collections for one in limits if one.collections), ())
        return sum(
            each.recordings if media else each.documents
            for each in self.kinds(within)
            if all(each.collection in (one.collections or [each.collection]) for one in limits)
            and all(each.kind in (one.kinds or [each.kind]) for one in limits)
        )

    def entries(self, limits: Limits = ()) -> list[DocumentFacts]:
        """The documents that match ``limits``, by date (undated ones last) and title."""
        return [lookup.facts_of(row) for row in self._within(limits, FACTS.order_by(*_BY_DATE))]

    def sample(self, limits: Limits, limit: int) -> list[DocumentFacts]:
        """An arbitrary sample of at most ``limit`` of the ``entries``."""
        with self._database.read() as connection:
            where = filter_condition(connection, limits)
            sample = select(documents.c.id).where(where).limit(limit).scalar_subquery()
            query = FACTS.where(documents.c.id.in_(sample)).order_by(*_BY_DATE)
            return [lookup.facts_of(row) for row in connection.execute(query)]

    def by_date(
        self, collections: Sequence[str], limits: Limits, limit: int, *, last: bool = True
    ) -> list[DocumentFacts]:
        """The newest (or oldest) ``limit`` dated entries, in date order.

        Each collection is read from that end, no further than needed.
        """
        dated = FACTS.where(documents.c.published_at.is_not(None)).limit(limit)
        query = dated.order_by(*(_NEWEST_FIRST if last else _BY_DATE))
        entries = [
            lookup.facts_of(row)
            for name in collections
            for row in self._within(limits, query.where(documents.c.collection == name))
        ]
        entries.sort(key=lambda entry: (entry.published_at or _UNDATED, entry.title, entry.id))
        return entries[-limit:] if last else entries[:limit]

    def dated(self, limits: Limits) -> tuple[int, datetime | None, datetime | None]:
        """The number of documents with a date of publication; the first date, and the last."""
        when = documents.c.published_at
        numbers: tuple[Any, ...] = (func.count(when), func.min(when), func.max(when))
        (row,) = self._within(limits, select(*numbers))
        return row[0], row[1], row[2]

    def published(self, collections: Sequence[str]) -> tuple[datetime, datetime] | None:
        """The moments of the first and the last publication; None when no document has a date."""
        when = documents.c.published_at
        dated = select(when).where(when.is_not(None)).limit(1)
        moments = [
            moment
            for name in collections
            for order in (when.asc(), when.desc())
            for moment in self._values(dated.where(documents.c.collection == name).order_by(order))
        ]
        return (min(moments), max(moments)) if moments else None

    def values(self, field: Field, limits: Limits = ()) -> dict[str, list[str]]:
        """The ids of the documents with each value of the field, by value.

        Names that differ only in case are merged under the first spelling.
        """
        ids: dict[str, dict[str, None]] = {}
        spelling: dict[str, str] = {}
        for value, document_id, *_ in self._within(limits, _value_rows(field).order_by(*_BY_DATE)):
            if value:
                label = spelling.setdefault(value.casefold(), value)
                ids.setdefault(label, {})[document_id] = None
        return {value: list(ids[value]) for value in sorted(ids, key=str.casefold)}

    def sizes(self, by: Sequence[Part], limits: Limits = ()) -> dict[tuple[str, ...], int]:
        """The number of documents with each combination of values; a missing value is "".

        Far cheaper than ``values`` for very many documents.
        """
        columns = [_PART_COLUMNS[name] for name in by]
        statement = select(*columns, func.count()).group_by(*columns).order_by(*columns)
        return {
            tuple("" if value is None else str(value) for value in row[:-1]): row[-1]
            for row in self._within(limits, statement)
        }

    def taxonomy_sizes(self, limits: Limits = ()) -> dict[tuple[str, str], int]:
        """The number of documents by taxonomy pair (dimension, value), sorted."""
        key, value, statement = _taxonomy_query()
        count = func.count(documents.c.id.distinct())
        statement = statement.with_only_columns(key, value, count).group_by(key, value)
        rows = self._within(limits, statement.order_by(key, value))
        return {(row[0], row[1]): row[2] for row in rows}

    def taxonomy(self, limits: Limits = ()) -> dict[tuple[str, str], list[str]]:
        """The ids of documents by taxonomy pair (dimension, value), sorted."""
        key, value, statement = _taxonomy_query()
        ids: dict[tuple[str, str], dict[str, None]] = {}
        for name, word, document_id in self._within(
            limits, statement.order_by(key, value, *_BY_DATE)
        ):
            ids.setdefault((name, word), {})[document_id] = None
        return {pair: list(documents_of_pair) for pair, documents_of_pair in ids.items()}

    def mentioning(self, entity: EntityKey, limits: Limits = ()) -> dict[str, dict[str, int]]:
        """The names that each document uses for the entity, with their counts, by document id."""
        collection, entity_id = entity
        columns = (documents.c.id, mentions.c.name)
        statement = (
            select(*columns, func.count())
            .select_from(LIVE_MENTIONS)
            .where(documents.c.collection == collection, mentions.c.entity_id == entity_id)
            .group_by(*columns)
            .order_by(*columns)
        )
        names: dict[str, dict[str, int]] = {}
        for document_id, name, count in self._within(limits, statement):
            names.setdefault(document_id, {})[name] = count
        return names

    def named_in(self, collection: str, document_ids: Iterable[str]) -> dict[str, int]:
        """The number of these documents that mention each entity, by entity id."""
        count = func.count(mentions.c.document_id.distinct())
        statement = (
            select(mentions.c.entity_id, count)
            .select_from(LIVE_MENTIONS)
            .where(without_index(documents.c.collection) == collection, _is_any_of(document_ids))
            .group_by(mentions.c.entity_id)
            .order_by(count.desc(), mentions.c.entity_id)
        )
        return {row[0]: row[1] for row in self._rows(statement)}

    def texts(self, document_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The id, and the title with the full text, of each document, streamed in batches."""
        statement = (
            select(documents.c.id, documents.c.title, texts.c.text)
            .join(texts, texts.c.document_id == documents.c.id)
            .where(documents.c.id.in_(VALUES))
            .order_by(documents.c.id, texts.c.piece)
        )
        with self._database.read() as connection:
            rows = rows_in(connection, statement, document_ids)
            for (document_id, title), pieces in groupby(rows, key=lambda row: (row[0], row[1])):
                yield document_id, f"{title}\n{''.join(row[2] for row in pieces)}"


def _list_entries(connection: Connection, ids: Sequence[str]) -> Iterator[ListedDocument]:
    """The documents in the order of ``ids``; unknown ids are left out."""
    statement = _LISTED.where(documents.c.id.in_(VALUES))
    rows = {row.id: row for row in rows_in(connection, statement, ids)}
    for row in (rows[document_id] for document_id in ids if document_id in rows):
        yield ListedDocument(
            facts=lookup.facts_of(row),
            summary=row.summary,
            taxonomy=lookup.taxonomy_of(row),
            passages=row.passages,
            added_at=row.added_at,
        )


def filter_condition(connection: Connection, limits: Limits) -> ColumnElement[bool]:
    """The condition on ``documents`` that a document matches all ``limits``."""
    # With document ids given or found by name, no index on another column should be used.
    by_id = any((*one.document_ids, *one.authors, *one.speakers, *one.taxonomy) for one in limits)
    return and_(true(), *(sql for item in limits for sql in _terms(connection, item, by_id=by_id)))


def _terms(connection: Connection, limit: Filters, *, by_id: bool) -> Iterator[ColumnElement[bool]]:
    allowed = {
        "collection": limit.collections,
        "kind": limit.kinds,
        "source_type": limit.source_types,
        "language": limit.languages,
    }
    for name, values in allowed.items():
        if values:
            column = documents.c[name]
            yield (without_index(column) if by_id else column).in_(values)
    if limit.document_ids:
        yield _is_any_of(limit.document_ids)
    if limit.published_from:
        yield documents.c.published_at >= limit.published_from
    if limit.published_to:
        yield documents.c.published_at <= limit.published_to
    for sort, people in ((AUTHOR, limit.authors), (SPEAKER, limit.speakers)):
        if people:
            yield documents.c.id.in_(of_people(connection, sort, people))
    values_by_dimension: dict[str, list[str]] = {}
    for dimension, value_name in limit.taxonomy:
        values_by_dimension.setdefault(dimension, []).append(value_name)
    for dimension, accepted in values_by_dimension.items():
        yield documents.c.id.in_(of_values(dimension, accepted))


def _value_rows(field: Field) -> Select[Any]:
    """A query with a row per document and value: value, document id, columns of ``_BY_DATE``."""
    columns = (documents.c.id, documents.c.published_at, documents.c.title)
    if field == "author":
        person = _items(documents.c.authors)
        return select(person.c.value, *columns).select_from(documents.join(person, true()))
    if field == "speaker":
        person = _items(passages.c.speakers)
        spoken = documents.join(passages, passages.c.document_id == documents.c.id)
        return select(person.c.value, *columns).select_from(spoken.join(person, true())).distinct()
    return select(documents.c[field], *columns)


def _is_any_of(document_ids: Iterable[str]) -> ColumnElement[bool]:
    return documents.c.id.in_(select(_items(literal(list(document_ids), JSON())).c.value))


def _taxonomy_query() -> tuple[ColumnElement[Any], ColumnElement[Any], Select[Any]]:
    """The columns dimension and value, and the query for them with each document's id."""
    spread = func.json_each(documents.c.taxonomy)
    dimension = spread.table_valued("key", "value", joins_implicitly=True).alias()
    value = _items(dimension.c.value)
    columns = (dimension.c.key, value.c.value)
    tables = documents.join(dimension, true()).join(value, true())
    return *columns, select(*columns, documents.c.id).select_from(tables)


def _items(values: ColumnElement[Any]) -> TableValuedAlias:
    """A JSON list expanded to a table with the column ``value``."""
    return _JsonItems(values).table_valued("value", joins_implicitly=True).alias()


class _JsonItems(FunctionElement[str]):
    inherit_cache = True


@compiles(_JsonItems, "sqlite")
def _in_sqlite(element: _JsonItems, compiler: Any, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_JsonItems, "postgresql")
def _in_postgresql(element: _JsonItems, compiler: Any, **options: Any) -> str:
    return f"json_array_elements_text({compiler.process(element.clauses, **options)})"
