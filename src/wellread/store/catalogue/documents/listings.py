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
from datetime import UTC, date, datetime
from itertools import groupby
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
    false,
    func,
    literal,
    or_,
    select,
    true,
)

from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.documents.lookup import LIVE_MENTIONS, VALUES
from wellread.store.schema.database import CataloguePart, rows_in, rows_to_values, without_index
from wellread.store.schema.tables import documents, mentions, passages, texts
from wellread.types import DocumentFacts, Filters, Kind, Passage

Order = Literal["newest", "oldest", "title", "added"]
ORDERS: tuple[Order, ...] = get_args(Order)
NOBODY = "[]"  # an empty list of speakers as stored

_ORDERS: Mapping[Order, tuple[ColumnElement[Any], ...]] = {
    "newest": (documents.c.published_at.desc().nulls_last(), documents.c.title),
    "oldest": (documents.c.published_at.asc().nulls_last(), documents.c.title),
    "title": (func.lower(documents.c.title),),  # both databases lower-case ASCII only
    "added": (documents.c.added_at.desc(), documents.c.title),
}
_LISTED = lookup.FACTS.add_columns(
    documents.c.summary, documents.c.taxonomy, documents.c.passages, documents.c.added_at
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePage:
    """One page of a passage list, with the total number of passages."""

    total: int
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentNames:
    """The names by which a document can be referred to."""

    id: str
    title: str
    uri: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePlace:
    """The position of a passage in its document: number ``ordinal`` (from 0) of ``passages``."""

    id: str
    document_id: str
    ordinal: int
    passages: int


class Listings(CataloguePart):
    """Lists of documents and passages, and positions of passages."""

    # --- documents ---

    def documents(
        self,
        limits: Filters,
        limit: int,
        offset: int = 0,
        order: Order = "newest",
        *,
        media: bool = False,
    ) -> DocumentPage:
        """The documents that match ``limits``; documents without a date come last."""
        with self._database.read() as connection:
            where = and_(filter_condition(connection, [limits]), _RECORDED if media else true())
            count = select(func.count()).select_from(documents).where(where)
            chosen = select(documents.c.id).where(where).order_by(*_ORDERS[order], documents.c.id)
            ids = list(connection.execute(chosen.limit(limit).offset(offset)).scalars())
            total = connection.execute(count).scalar_one()
            return DocumentPage(total=total, documents=tuple(_list_entries(connection, ids)))

    def listed(self, document_id: str) -> ListedDocument | None:
        """One document as a list entry; None when the id is unknown."""
        with self._database.read() as connection:
            return next(iter(_list_entries(connection, [document_id])), None)

    def titles(self, collections: Sequence[str], *, media: bool = False) -> list[DocumentNames]:
        """The names of all documents, or of all recordings with ``media``, newest first."""
        columns = (documents.c.id, documents.c.title, documents.c.uri, documents.c.url)
        statement = select(*columns).order_by(*_ORDERS["newest"], documents.c.id)
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        if media:
            statement = statement.where(_RECORDED)
        return rows_to_values(DocumentNames, self._rows(statement))

    def dates(self, limits: Filters) -> list[datetime]:
        """The publication dates of the documents that match ``limits``, ascending."""
        moment = documents.c.published_at
        with self._database.read() as connection:
            where = and_(filter_condition(connection, [limits]), moment.is_not(None))
            moments = connection.execute(select(moment).where(where).order_by(moment)).scalars()
            return [when for when in moments if when]

    def speakers_of(self, document_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Document id to its speakers, in order of appearance."""
        statement = (
            select(passages.c.document_id, passages.c.speakers)
            .where(passages.c.document_id.in_(VALUES), _SPOKEN)
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        speakers: dict[str, dict[str, None]] = {}
        for document_id, names in self._rows_in(statement, document_ids):
            speakers.setdefault(document_id, {}).update(dict.fromkeys(names))
        return {document_id: tuple(names) for document_id, names in speakers.items()}

    # --- passages ---

    def spoken_passages(self, limits: Filters, limit: int, offset: int = 0) -> PassagePage:
        """Passages in which one of ``limits.speakers`` speaks, newest documents first."""
        names = {name.casefold() for name in limits.speakers}
        columns = (passages.c.id, cast(passages.c.speakers, Text))
        with self._database.read() as connection:
            statement = (
                select(*columns)
                .join_from(passages, documents, documents.c.id == passages.c.document_id)
                .where(_SPOKEN, filter_condition(connection, [limits]))
                .order_by(*_ORDERS["newest"], documents.c.id, passages.c.ordinal)
            )
            matches = [
                key
                for key, speakers in connection.execute(statement)
                if any(name.casefold() in names for name in json.loads(speakers))
            ]
            page = matches[offset : offset + limit]
            by_id = lookup.whole_passages(connection, page)
        return PassagePage(total=len(matches), passages=tuple(by_id[key] for key in page))

    def openings(self, document_ids: Iterable[str]) -> dict[str, Passage]:
        """Document id to its first passage; documents without passages are left out."""
        statement = select(passages.c.id).where(
            passages.c.document_id.in_(VALUES), passages.c.ordinal == 0
        )
        with self._database.read() as connection:
            ids = [row.id for row in rows_in(connection, statement, document_ids)]
            by_id = lookup.whole_passages(connection, ids)
        return {passage.document_id: passage for passage in by_id.values()}

    def covering(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """The id of the passage at or after each place (document id, character).

        The id is empty when no passage follows.
        """
        columns = (passages.c.document_id, passages.c.end, passages.c.id)
        statement = (
            select(*columns)
            .where(passages.c.document_id.in_(VALUES))
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        ends: dict[str, list[int]] = {}
        ids: dict[str, list[str]] = {}
        for document, end, hit in self._rows_in(statement, (document for document, _ in places)):
            ends.setdefault(document, []).append(end)
            ids.setdefault(document, []).append(hit)
        covering: list[str] = []
        for document, place in places:
            number = bisect_right(ends.get(document, ()), place)
            covering.append(ids[document][number] if number < len(ids.get(document, ())) else "")
        return covering

    def place(self, name: str, collections: Sequence[str] = ()) -> list[PassagePlace]:
        """The places of at most two passages whose id starts with ``name``."""
        columns = (
            passages.c.id,
            passages.c.document_id,
            passages.c.ordinal,
            documents.c.passages,
        )
        statement = (
            select(*columns)
            .join_from(passages, documents, documents.c.id == passages.c.document_id)
            # Ids end in hex digits, so this range is the prefix, found by the primary key.
            .where(passages.c.id >= name, passages.c.id < f"{name}g")
            .order_by(passages.c.id)
            .limit(2)
        )
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        return rows_to_values(PassagePlace, self._rows(statement))


_SPOKEN = cast(passages.c.speakers, Text) != NOBODY
_RECORDED = or_(documents.c.kind == "transcript", documents.c.media_url != "")


def _list_entries(connection: Connection, ids: Sequence[str]) -> Iterator[ListedDocument]:
    """The documents in the order of ``ids``; unknown ids are left out."""
    statement = _LISTED.where(documents.c.id.in_(VALUES))
    rows = {row.id: row for row in rows_in(connection, statement, ids)}
    for row in (rows[document_id] for document_id in ids if document_id in rows):
        yield ListedDocument(
            facts=lookup.facts_of(row),
            summary=row.summary,
            taxonomy={name: tuple(values) for name, values in row.taxonomy.items()},
            passages=row.passages,
            added_at=row.added_at,
        )


Limits = Sequence[Filters]
Field = Literal["collection", "kind", "source_type", "language", "author", "speaker"]
FIELDS: tuple[Field, ...] = get_args(Field)
Part = Literal["collection", "kind", "source_type", "language", "year"]
EntityKey = tuple[str, str]  # (collection, entity id)

_LISTED_VALUES = (
    documents.c.id,
    documents.c.collection,
    documents.c.kind,
    documents.c.title,
    documents.c.source_type,
    documents.c.published_at,
)
_PARTS: dict[Part, ColumnElement[Any]] = {
    "collection": documents.c.collection,
    "kind": documents.c.kind,
    "source_type": documents.c.source_type,
    "language": documents.c.language,
    "year": extract("year", documents.c.published_at),
}
_IN_ORDER = (documents.c.published_at.asc().nulls_last(), documents.c.title, documents.c.id)
_LAST_FIRST = (documents.c.published_at.desc(), documents.c.title.desc(), documents.c.id.desc())
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document that matches a query, with the columns that answers use."""

    id: str
    collection: str
    kind: Kind
    title: str
    source_type: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Numbers of documents and passages, and the range of dates (None when none is dated)."""

    documents: int
    passages: int
    dated: int
    first: datetime | None
    last: datetime | None


class DocumentCounts(CataloguePart):
    """Counts and groupings over all documents that match some limits."""

    def totals(self, limits: Limits = ()) -> Totals:
        """The numbers and the date range of the documents that match ``limits``."""
        when = documents.c.published_at
        counts: tuple[Any, ...] = (func.count(), func.sum(documents.c.passages), func.count(when))
        statement = select(*counts, func.min(when), func.max(when))
        with self._database.read() as connection:
            where = filter_condition(connection, limits)
            row = connection.execute(statement.where(where)).one()
        return Totals(
            documents=row[0], passages=int(row[1] or 0), dated=row[2], first=row[3], last=row[4]
        )

    def entries(self, limits: Limits = ()) -> list[Entry]:
        """The documents that match ``limits``, by date (undated ones last) and title."""
        with self._database.read() as connection:
            where = filter_condition(connection, limits)
            rows = connection.execute(
                select(*_LISTED_VALUES).where(where).order_by(*_IN_ORDER)
            ).all()
        return rows_to_values(Entry, rows)

    def sample(self, limits: Limits, most: int) -> list[Entry]:
        """An arbitrary sample of at most ``most`` of the ``entries``."""
        with self._database.read() as connection:
            where = filter_condition(connection, limits)
            sample = select(documents.c.id).where(where).limit(most).scalar_subquery()
            query = select(*_LISTED_VALUES).where(documents.c.id.in_(sample)).order_by(*_IN_ORDER)
            return rows_to_values(Entry, connection.execute(query).all())

    def by_date(
        self, collections: Sequence[str], limits: Limits, most: int, *, last: bool = True
    ) -> list[Entry]:
        """The newest (or oldest) ``most`` dated entries, in date order.

        Each collection is read from that end, no further than needed.
        """
        entries: list[Entry] = []
        order = _LAST_FIRST if last else _IN_ORDER
        with self._database.read() as connection:
            where = filter_condition(connection, limits)
            for name in collections:
                dated = (documents.c.collection == name, documents.c.published_at.is_not(None))
                query = select(*_LISTED_VALUES).where(*dated, where).order_by(*order).limit(most)
                entries += rows_to_values(Entry, connection.execute(query).all())
        entries.sort(key=lambda entry: (entry.published_at or _NEVER, entry.title, entry.id))
        return entries[-most:] if last else entries[:most]

    def published(self, collections: Sequence[str]) -> tuple[date, date] | None:
        """The first and the last publication date; None when no document has a date."""
        when = documents.c.published_at
        moments: list[datetime] = []
        with self._database.read() as connection:
            for name in collections:
                dated = select(when).where(documents.c.collection == name, when.is_not(None))
                for order in (when.asc(), when.desc()):
                    moments += connection.execute(dated.order_by(order).limit(1)).scalars()
        return (min(moments).date(), max(moments).date()) if moments else None

    def values(self, field: Field, limits: Limits = ()) -> dict[str, list[str]]:
        """Each value of the field to the ids of its documents.

        Names that differ only in case are merged under the first spelling.
        """
        with self._database.read() as connection:
            where = filter_condition(connection, limits)
            rows = connection.execute(_valued(connection, field).where(where).order_by(*_IN_ORDER))
            ids: dict[str, dict[str, None]] = {}
            spelling: dict[str, str] = {}
            for value, document_id, *_ in rows:
                if value:
                    label = spelling.setdefault(value.casefold(), value)
                    ids.setdefault(label, {})[document_id] = None
        return {value: list(ids[value]) for value in sorted(ids, key=str.casefold)}

    def sizes(self, by: Sequence[Part], limits: Limits = ()) -> dict[tuple[str, ...], int]:
        """Each combination of values to its number of documents; a missing value is "".

        Far cheaper than ``values`` for very many documents.
        """
        columns = [_PARTS[name] for name in by]
        with self._database.read() as connection:
            statement = (
                select(*columns, func.count())
                .where(filter_condition(connection, limits))
                .group_by(*columns)
                .order_by(*columns)
            )
            return {
                tuple("" if value is None else str(value) for value in row[:-1]): row[-1]
                for row in connection.execute(statement)
            }

    def taxonomy_sizes(self, limits: Limits = ()) -> dict[tuple[str, str], int]:
        """Each taxonomy pair (dimension, value) to its number of documents, sorted."""
        with self._database.read() as connection:
            key, value, statement = _taxonomy_query(connection, limits)
            count = func.count(documents.c.id.distinct())
            statement = statement.with_only_columns(key, value, count).group_by(key, value)
            rows = connection.execute(statement.order_by(key, value))
            return {(row[0], row[1]): row[2] for row in rows}

    def taxonomy(self, limits: Limits = ()) -> dict[tuple[str, str], list[str]]:
        """Each taxonomy pair (dimension, value) to the ids of its documents, sorted."""
        with self._database.read() as connection:
            key, value, statement = _taxonomy_query(connection, limits)
            statement = statement.order_by(key, value, *_IN_ORDER)
            documents_by_pair: dict[tuple[str, str], dict[str, None]] = {}
            for name, word, document_id in connection.execute(statement):
                documents_by_pair.setdefault((name, word), {})[document_id] = None
        return {pair: list(document_id) for pair, document_id in documents_by_pair.items()}

    def mentioning(self, entity: EntityKey, limits: Limits = ()) -> dict[str, dict[str, int]]:
        """Document id to the names that it uses for the entity, each with its count."""
        collection, document_id = entity
        is_entity = (documents.c.collection == collection, mentions.c.entity_id == document_id)
        names: dict[str, dict[str, int]] = {}
        with self._database.read() as connection:
            statement = (
                select(documents.c.id, mentions.c.name, func.count())
                .select_from(LIVE_MENTIONS)
                .where(*is_entity, filter_condition(connection, limits))
                .group_by(documents.c.id, mentions.c.name)
                .order_by(documents.c.id, mentions.c.name)
            )
            for document_id, name, count in connection.execute(statement):
                names.setdefault(document_id, {})[name] = count
        return names

    def named_in(self, collection: str, document_ids: Iterable[str]) -> dict[str, int]:
        """Entity id to the number of these documents that mention the entity."""
        ids = literal(list(document_ids), JSON())
        with self._database.read() as connection:
            is_wanted = select(_json_table(connection, ids).c.value)
            count = func.count(mentions.c.document_id.distinct())
            statement = (
                select(mentions.c.entity_id, count)
                .select_from(LIVE_MENTIONS)
                .where(
                    without_index(documents.c.collection) == collection,
                    documents.c.id.in_(is_wanted),
                )
                .group_by(mentions.c.entity_id)
                .order_by(count.desc(), mentions.c.entity_id)
            )
            return {row[0]: row[1] for row in connection.execute(statement)}

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


def filter_condition(connection: Connection, limits: Limits) -> ColumnElement[bool]:
    """The condition on ``documents`` that a document matches all ``limits``."""
    # With document ids given, no index on another column should be used.
    by_id = any(item.document_ids for item in limits)
    return and_(true(), *(sql for item in limits for sql in _parts(connection, item, by_id=by_id)))


def _parts(connection: Connection, limit: Filters, *, by_id: bool) -> Iterator[ColumnElement[bool]]:
    allowed = {
        "collection": limit.collections,
        "kind": limit.kinds,
        "source_type": limit.source_types,
        "language": limit.languages,
    }
    columns = {
        name: without_index(documents.c[name]) if by_id else documents.c[name] for name in allowed
    }
    yield from (columns[name].in_(values) for name, values in allowed.items() if values)
    if limit.document_ids:
        wanted = _json_table(connection, literal(list(limit.document_ids), JSON()))
        yield documents.c.id.in_(select(wanted.c.value))
    if limit.published_from:
        yield documents.c.published_at >= limit.published_from
    if limit.published_to:
        yield documents.c.published_at <= limit.published_to
    if limit.authors:
        names = _spellings(connection, select(cast(documents.c.authors, Text)), limit.authors)
        person = _json_table(connection, documents.c.authors)
        yield exists().select_from(person).where(person.c.value.in_(names)) if names else false()
    if limit.speakers:
        names = _spellings(connection, select(cast(passages.c.speakers, Text)), limit.speakers)
        person = _json_table(connection, passages.c.speakers)
        speaks = select(passages.c.document_id).select_from(passages.join(person, true()))
        yield documents.c.id.in_(speaks.where(person.c.value.in_(names))) if names else false()
    wanted_words: dict[str, list[str]] = {}
    for dimension, word in limit.taxonomy:
        wanted_words.setdefault(dimension, []).append(word)
    for dimension, words in wanted_words.items():
        key, value = _taxonomy_tables(connection)
        has_value = exists().select_from(key.join(value, true()))
        yield has_value.where(key.c.key == dimension, value.c.value.in_(words))


def _valued(connection: Connection, field: Field) -> Select[Any]:
    """A query with a row per document and value: value, document id, columns of ``_IN_ORDER``."""
    rest = (documents.c.id, documents.c.published_at, documents.c.title)
    if field == "author":
        person = _json_table(connection, documents.c.authors)
        return select(person.c.value, *rest).select_from(documents.join(person, true()))
    if field == "speaker":
        person = _json_table(connection, passages.c.speakers)
        spoken = documents.join(passages, passages.c.document_id == documents.c.id)
        return select(person.c.value, *rest).select_from(spoken.join(person, true())).distinct()
    return select(documents.c[field], *rest)


def _json_table(connection: Connection, values: ColumnElement[Any]) -> TableValuedAlias:
    """A JSON list expanded to a table with the column ``value``."""
    sqlite = connection.dialect.name == "sqlite"
    spread = func.json_each(values) if sqlite else func.json_array_elements_text(values)
    return spread.table_valued("value", joins_implicitly=True).alias()


def _taxonomy_tables(connection: Connection) -> tuple[TableValuedAlias, TableValuedAlias]:
    """A document's taxonomy expanded to two tables: dimensions (``key``), and their values."""
    dimension = func.json_each(documents.c.taxonomy).table_valued(
        "key", "value", joins_implicitly=True
    )
    lateral = dimension.alias()
    return lateral, _json_table(connection, lateral.c.value)


def _taxonomy_query(
    connection: Connection, limits: Limits
) -> tuple[ColumnElement[Any], ColumnElement[Any], Select[Any]]:
    """The columns dimension and value, and the query for them with each document's id."""
    dimension, value = _taxonomy_tables(connection)
    columns = (dimension.c.key, value.c.value)
    spread = documents.join(dimension, true()).join(value, true())
    statement = select(*columns, documents.c.id).select_from(spread)
    return *columns, statement.where(filter_condition(connection, limits))


def _spellings(connection: Connection, statement: Select[Any], names: Sequence[str]) -> list[str]:
    """The stored spellings of the names, case-folded here since databases fold ASCII only."""
    wanted = {name.casefold() for name in names}
    lists = connection.execute(statement.distinct()).scalars()
    stored = {name for names_json in lists for name in json.loads(names_json)}
    return sorted(name for name in stored if name.casefold() in wanted)
