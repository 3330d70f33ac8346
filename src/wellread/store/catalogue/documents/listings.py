"""Lists and counts of what there is: documents, recordings, what somebody said, in pages or in all.

Which documents are on a list is decided by the same conditions as what is counted (``meeting``), so
that a list and a count never disagree. Nothing is ranked or cut. A document meets ``limits`` when
it meets all of them, each as ``Filters`` says; so two authors or two values of one dimension can be
asked for at once. Names of people are compared as the index does, without regard to case.
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
from wellread.store.schema.database import CataloguePart, aside, made_of, rows_in
from wellread.store.schema.tables import (
    documents,
    mentions,
    passages,
    texts,
)
from wellread.types import DocumentFacts, Filters, Kind, Passage

Order = Literal["newest", "oldest", "title", "added"]
ORDERS: tuple[Order, ...] = get_args(Order)
NOBODY = "[]"  # as a list of speakers is stored

_ORDERS: Mapping[Order, tuple[ColumnElement[Any], ...]] = {
    "newest": (documents.c.published_at.desc().nulls_last(), documents.c.title),
    "oldest": (documents.c.published_at.asc().nulls_last(), documents.c.title),
    "title": (func.lower(documents.c.title),),  # of ASCII, with both databases
    "added": (documents.c.added_at.desc(), documents.c.title),
}
_LISTED = lookup.FACTS.add_columns(
    documents.c.summary, documents.c.taxonomy, documents.c.passages, documents.c.added_at
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document on a list; ``passages``: how many it has."""

    facts: DocumentFacts
    summary: str
    taxonomy: Mapping[str, tuple[str, ...]]
    passages: int
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """CataloguePart of a list, and how many documents the whole of it has."""

    total: int
    documents: tuple[ListedDocument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePage:
    """CataloguePart of a list, and how many passages the whole of it has."""

    total: int
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled:
    """By what a document can be named."""

    id: str
    title: str
    uri: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePlace:
    """Where a passage stands in its document: number ``ordinal`` (from 0) of ``passages``."""

    id: str
    document_id: str
    ordinal: int
    passages: int


class Listings(CataloguePart):
    """Reads for lists and for finding one's place."""

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
        """The documents that meet the limits; those without a date come last."""
        with self._database.read() as connection:
            where = and_(meeting(connection, [limits]), _RECORDED if media else true())
            count = select(func.count()).select_from(documents).where(where)
            chosen = select(documents.c.id).where(where).order_by(*_ORDERS[order], documents.c.id)
            ids = list(connection.execute(chosen.limit(limit).offset(offset)).scalars())
            total = connection.execute(count).scalar_one()
            return DocumentPage(total=total, documents=tuple(_listed(connection, ids)))

    def listed(self, document_id: str) -> ListedDocument | None:
        """One document as lists show it, or None."""
        with self._database.read() as connection:
            return next(iter(_listed(connection, [document_id])), None)

    def titles(self, collections: Sequence[str], *, media: bool = False) -> list[Titled]:
        """By what every document (of ``media``: every recording) can be named, newest first."""
        columns = (documents.c.id, documents.c.title, documents.c.uri, documents.c.url)
        statement = select(*columns).order_by(*_ORDERS["newest"], documents.c.id)
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        if media:
            statement = statement.where(_RECORDED)
        return made_of(Titled, self._rows(statement))

    def dates(self, limits: Filters) -> list[datetime]:
        """The date of publication of each document that meets the limits and has one, ascending."""
        moment = documents.c.published_at
        with self._database.read() as connection:
            where = and_(meeting(connection, [limits]), moment.is_not(None))
            found = connection.execute(select(moment).where(where).order_by(moment)).scalars()
            return [when for when in found if when]

    def speakers_of(self, document_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Document id to who speaks in it, in order of appearance."""
        statement = (
            select(passages.c.document_id, passages.c.speakers)
            .where(passages.c.document_id.in_(VALUES), _SPOKEN)
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        found: dict[str, dict[str, None]] = {}
        for known, names in self._rows_in(statement, document_ids):
            found.setdefault(known, {}).update(dict.fromkeys(names))
        return {known: tuple(names) for known, names in found.items()}

    # --- passages ---

    def said(self, limits: Filters, limit: int, offset: int = 0) -> PassagePage:
        """Passages in which one of ``limits.speakers`` speaks; the newest documents first."""
        names = {name.casefold() for name in limits.speakers}
        columns = (passages.c.id, cast(passages.c.speakers, Text))
        with self._database.read() as connection:
            statement = (
                select(*columns)
                .join_from(passages, documents, documents.c.id == passages.c.document_id)
                .where(_SPOKEN, meeting(connection, [limits]))
                .order_by(*_ORDERS["newest"], documents.c.id, passages.c.ordinal)
            )
            found = [
                known
                for known, speakers in connection.execute(statement)
                if any(name.casefold() in names for name in json.loads(speakers))
            ]
            wanted = found[offset : offset + limit]
            whole = lookup.whole_passages(connection, wanted)
        return PassagePage(total=len(found), passages=tuple(whole[known] for known in wanted))

    def openings(self, document_ids: Iterable[str]) -> dict[str, Passage]:
        """Document id to its first passage; documents without any are left out."""
        statement = select(passages.c.id).where(
            passages.c.document_id.in_(VALUES), passages.c.ordinal == 0
        )
        with self._database.read() as connection:
            ids = [row.id for row in rows_in(connection, statement, document_ids)]
            whole = lookup.whole_passages(connection, ids)
        return {passage.document_id: passage for passage in whole.values()}

    def covering(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """The id of the passage at, else the first one behind, each (document id, character).

        It is empty where there is none.
        """
        columns = (passages.c.document_id, passages.c.end, passages.c.id)
        statement = (
            select(*columns)
            .where(passages.c.document_id.in_(VALUES))
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        ends: dict[str, list[int]] = {}
        ids: dict[str, list[str]] = {}
        for document, end, known in self._rows_in(statement, (document for document, _ in places)):
            ends.setdefault(document, []).append(end)
            ids.setdefault(document, []).append(known)
        found: list[str] = []
        for document, place in places:
            number = bisect_right(ends.get(document, ()), place)
            found.append(ids[document][number] if number < len(ids.get(document, ())) else "")
        return found

    def place(self, name: str, collections: Sequence[str] = ()) -> list[PassagePlace]:
        """Where the passages stand whose id is or begins with ``name``; at most two."""
        columns = (
            passages.c.id,
            passages.c.document_id,
            passages.c.ordinal,
            documents.c.passages,
        )
        statement = (
            select(*columns)
            .join_from(passages, documents, documents.c.id == passages.c.document_id)
            # Ids end in hex digits, so this is all that begins with it, by the primary key.
            .where(passages.c.id >= name, passages.c.id < f"{name}g")
            .order_by(passages.c.id)
            .limit(2)
        )
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        return made_of(PassagePlace, self._rows(statement))


_SPOKEN = cast(passages.c.speakers, Text) != NOBODY
_RECORDED = or_(documents.c.kind == "transcript", documents.c.media_url != "")


def _listed(connection: Connection, ids: Sequence[str]) -> Iterator[ListedDocument]:
    """The documents, in the order of their ids here; unknown ones are left out."""
    statement = _LISTED.where(documents.c.id.in_(VALUES))
    rows = {row.id: row for row in rows_in(connection, statement, ids)}
    for row in (rows[known] for known in ids if known in rows):
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
    """A document as a list shows it."""

    id: str
    collection: str
    kind: Kind
    title: str
    source_type: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How much there is, and from when; the dates are None when no document has one."""

    documents: int
    passages: int
    dated: int
    first: datetime | None
    last: datetime | None


class Censuses(CataloguePart):
    """Exhaustive queries."""

    def totals(self, limits: Limits = ()) -> Totals:
        """How many documents meet the limits, and from when they are."""
        when = documents.c.published_at
        counts: tuple[Any, ...] = (func.count(), func.sum(documents.c.passages), func.count(when))
        statement = select(*counts, func.min(when), func.max(when))
        with self._database.read() as connection:
            where = meeting(connection, limits)
            row = connection.execute(statement.where(where)).one()
        return Totals(
            documents=row[0], passages=int(row[1] or 0), dated=row[2], first=row[3], last=row[4]
        )

    def entries(self, limits: Limits = ()) -> list[Entry]:
        """The documents that meet the limits: by date, those without one last, then by title."""
        with self._database.read() as connection:
            where = meeting(connection, limits)
            rows = connection.execute(
                select(*_LISTED_VALUES).where(where).order_by(*_IN_ORDER)
            ).all()
        return made_of(Entry, rows)

    def some(self, limits: Limits, most: int) -> list[Entry]:
        """``entries``, but no more of them than so many, whichever."""
        with self._database.read() as connection:
            where = meeting(connection, limits)
            found = select(documents.c.id).where(where).limit(most).scalar_subquery()
            wanted = select(*_LISTED_VALUES).where(documents.c.id.in_(found)).order_by(*_IN_ORDER)
            return made_of(Entry, connection.execute(wanted).all())

    def dated(
        self, collections: Sequence[str], limits: Limits, most: int, *, last: bool = True
    ) -> list[Entry]:
        """Of those ``entries`` that have a date the last or the first ``most``, as they stand.

        Each collection is read from that end on, and no further than needed.
        """
        found: list[Entry] = []
        order = _LAST_FIRST if last else _IN_ORDER
        with self._database.read() as connection:
            where = meeting(connection, limits)
            for name in collections:
                dated = (documents.c.collection == name, documents.c.published_at.is_not(None))
                wanted = select(*_LISTED_VALUES).where(*dated, where).order_by(*order).limit(most)
                found += made_of(Entry, connection.execute(wanted).all())
        found.sort(key=lambda one: (one.published_at or _NEVER, one.title, one.id))
        return found[-most:] if last else found[:most]

    def published(self, collections: Sequence[str]) -> tuple[date, date] | None:
        """The first and the last day of publication; None when nothing is dated."""
        when = documents.c.published_at
        found: list[datetime] = []
        with self._database.read() as connection:
            for name in collections:
                dated = select(when).where(documents.c.collection == name, when.is_not(None))
                for order in (when.asc(), when.desc()):
                    found += connection.execute(dated.order_by(order).limit(1)).scalars()
        return (min(found).date(), max(found).date()) if found else None

    def values(self, field: Field, limits: Limits = ()) -> dict[str, list[str]]:
        """Each value of the field to the ids of its documents; documents without one are left out.

        Of names that differ by case only, the first spelling stands for all.
        """
        with self._database.read() as connection:
            where = meeting(connection, limits)
            rows = connection.execute(_having(connection, field).where(where).order_by(*_IN_ORDER))
            found: dict[str, dict[str, None]] = {}
            spelling: dict[str, str] = {}
            for value, known, *_ in rows:
                if value:
                    shown = spelling.setdefault(value.casefold(), value)
                    found.setdefault(shown, {})[known] = None
        return {value: list(found[value]) for value in sorted(found, key=str.casefold)}

    def sizes(self, by: Sequence[Part], limits: Limits = ()) -> dict[tuple[str, ...], int]:
        """Each combination of values to its number of documents; no value is an empty string.

        Far cheaper than ``values`` where there are very many documents.
        """
        columns = [_PARTS[name] for name in by]
        with self._database.read() as connection:
            statement = (
                select(*columns, func.count())
                .where(meeting(connection, limits))
                .group_by(*columns)
                .order_by(*columns)
            )
            return {
                tuple("" if value is None else str(value) for value in row[:-1]): row[-1]
                for row in connection.execute(statement)
            }

    def taxonomy_sizes(self, limits: Limits = ()) -> dict[tuple[str, str], int]:
        """Each (dimension, value) to its number of documents, sorted."""
        with self._database.read() as connection:
            key, value, statement = _taxonomy(connection, limits)
            count = func.count(documents.c.id.distinct())
            statement = statement.with_only_columns(key, value, count).group_by(key, value)
            found = connection.execute(statement.order_by(key, value))
            return {(row[0], row[1]): row[2] for row in found}

    def taxonomy(self, limits: Limits = ()) -> dict[tuple[str, str], list[str]]:
        """Each (dimension, value) to the ids of its documents, sorted."""
        with self._database.read() as connection:
            key, value, statement = _taxonomy(connection, limits)
            statement = statement.order_by(key, value, *_IN_ORDER)
            found: dict[tuple[str, str], dict[str, None]] = {}
            for name, word, known in connection.execute(statement):
                found.setdefault((name, word), {})[known] = None
        return {pair: list(known) for pair, known in found.items()}

    def mentioning(self, entity: EntityKey, limits: Limits = ()) -> dict[str, dict[str, int]]:
        """The ids of the documents that name the entity: under which names, and how often."""
        collection, known = entity
        named = (documents.c.collection == collection, mentions.c.entity_id == known)
        found: dict[str, dict[str, int]] = {}
        with self._database.read() as connection:
            statement = (
                select(documents.c.id, mentions.c.name, func.count())
                .select_from(LIVE_MENTIONS)
                .where(*named, meeting(connection, limits))
                .group_by(documents.c.id, mentions.c.name)
                .order_by(documents.c.id, mentions.c.name)
            )
            for known, name, count in connection.execute(statement):
                found.setdefault(known, {})[name] = count
        return found

    def named_in(self, collection: str, document_ids: Iterable[str]) -> dict[str, int]:
        """The ids of entities that the documents name, and in how many of them."""
        wanted = literal(list(document_ids), JSON())
        with self._database.read() as connection:
            inside = select(_each(connection, wanted).c.value)
            count = func.count(mentions.c.document_id.distinct())
            statement = (
                select(mentions.c.entity_id, count)
                .select_from(LIVE_MENTIONS)
                .where(aside(documents.c.collection) == collection, documents.c.id.in_(inside))
                .group_by(mentions.c.entity_id)
                .order_by(count.desc(), mentions.c.entity_id)
            )
            return {row[0]: row[1] for row in connection.execute(statement)}

    def texts(self, document_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(Document id, title and whole text) of each of the documents, streamed in batches."""
        statement = (
            select(documents.c.id, documents.c.title, texts.c.text)
            .join(texts, texts.c.document_id == documents.c.id)
            .where(documents.c.id.in_(VALUES))
            .order_by(documents.c.id, texts.c.piece)
        )
        with self._database.read() as connection:
            rows = rows_in(connection, statement, document_ids)
            for (known, title), pieces in groupby(rows, key=lambda row: (row[0], row[1])):
                yield known, f"{title}\n{''.join(row[2] for row in pieces)}"


def meeting(connection: Connection, limits: Limits) -> ColumnElement[bool]:
    """The condition on ``documents`` that all of the limits are met."""
    # Documents that are named are not looked for by anything else.
    by_id = any(one.document_ids for one in limits)
    return and_(true(), *(part for one in limits for part in _parts(connection, one, by_id=by_id)))


def _parts(connection: Connection, one: Filters, *, by_id: bool) -> Iterator[ColumnElement[bool]]:
    plain = {
        "collection": one.collections,
        "kind": one.kinds,
        "source_type": one.source_types,
        "language": one.languages,
    }
    columns = {name: aside(documents.c[name]) if by_id else documents.c[name] for name in plain}
    yield from (columns[name].in_(values) for name, values in plain.items() if values)
    if one.document_ids:
        wanted = _each(connection, literal(list(one.document_ids), JSON()))
        yield documents.c.id.in_(select(wanted.c.value))
    if one.published_from:
        yield documents.c.published_at >= one.published_from
    if one.published_to:
        yield documents.c.published_at <= one.published_to
    if one.authors:
        names = _spellings(connection, select(cast(documents.c.authors, Text)), one.authors)
        person = _each(connection, documents.c.authors)
        yield exists().select_from(person).where(person.c.value.in_(names)) if names else false()
    if one.speakers:
        names = _spellings(connection, select(cast(passages.c.speakers, Text)), one.speakers)
        person = _each(connection, passages.c.speakers)
        speaks = select(passages.c.document_id).select_from(passages.join(person, true()))
        yield documents.c.id.in_(speaks.where(person.c.value.in_(names))) if names else false()
    wanted_words: dict[str, list[str]] = {}
    for dimension, word in one.taxonomy:
        wanted_words.setdefault(dimension, []).append(word)
    for dimension, words in wanted_words.items():
        key, value = _taxonomy_tables(connection)
        found = exists().select_from(key.join(value, true()))
        yield found.where(key.c.key == dimension, value.c.value.in_(words))


def _having(connection: Connection, field: Field) -> Select[Any]:
    """Value, document id and what ``_IN_ORDER`` needs, a row for each value of each document."""
    rest = (documents.c.id, documents.c.published_at, documents.c.title)
    if field == "author":
        person = _each(connection, documents.c.authors)
        return select(person.c.value, *rest).select_from(documents.join(person, true()))
    if field == "speaker":
        person = _each(connection, passages.c.speakers)
        spoken = documents.join(passages, passages.c.document_id == documents.c.id)
        return select(person.c.value, *rest).select_from(spoken.join(person, true())).distinct()
    return select(documents.c[field], *rest)


def _each(connection: Connection, values: ColumnElement[Any]) -> TableValuedAlias:
    """A JSON list as a table with the column ``value``."""
    sqlite = connection.dialect.name == "sqlite"
    spread = func.json_each(values) if sqlite else func.json_array_elements_text(values)
    return spread.table_valued("value", joins_implicitly=True).alias()


def _taxonomy_tables(connection: Connection) -> tuple[TableValuedAlias, TableValuedAlias]:
    """The taxonomy of a document as tables: the dimensions (``key``), and the values of each."""
    dimension = func.json_each(documents.c.taxonomy).table_valued(
        "key", "value", joins_implicitly=True
    )
    lateral = dimension.alias()
    return lateral, _each(connection, lateral.c.value)


def _taxonomy(
    connection: Connection, limits: Limits
) -> tuple[ColumnElement[Any], ColumnElement[Any], Select[Any]]:
    """Dimension, value, and the rows of these with the id of each document that has them."""
    dimension, value = _taxonomy_tables(connection)
    columns = (dimension.c.key, value.c.value)
    spread = documents.join(dimension, true()).join(value, true())
    statement = select(*columns, documents.c.id).select_from(spread)
    return *columns, statement.where(meeting(connection, limits))


def _spellings(connection: Connection, statement: Select[Any], names: Sequence[str]) -> list[str]:
    """How the names are written in the catalogue; databases fold the case of ASCII only."""
    wanted = {name.casefold() for name in names}
    lists = connection.execute(statement.distinct()).scalars()
    held = {name for plain in lists for name in json.loads(plain)}
    return sorted(name for name in held if name.casefold() in wanted)
