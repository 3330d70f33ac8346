"""What documents are called, looked up by key and never read as a whole.

A question brings the keys of its own words (``name_keys.py`` says what they are of), so what
it reads hangs on the question, and not on how much there is. Each list that could be long has an
end.
"""

# ruff: noqa: S608 - every word of this SQL is ours

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    union_all,
)
from sqlalchemy.sql.elements import TextClause

from wellread.store.catalogue.documents.name_keys import ALIAS, TITLE, WORD, NameKey, name_keys
from wellread.store.schema.database import AT_ONCE, CataloguePart, chunks
from wellread.store.schema.tables import document_names, documents, entities, passages, relations
from wellread.types import Document, EntityFacts, Relation

MOST_VALUES = 50  # that one key stands for
MOST_DOCUMENTS = 100  # that are looked at for one name
MOST_WORDED = 1_000  # of the documents with the rarest word of a name
MOST_SORTS = 500  # kinds, dimensions, types of relations

_NAMES = document_names.c


def _distinct(inside: str = "", named: str = "") -> TextClause:
    """The distinct keys, from one look into the index for each: DISTINCT reads every row.

    Args:
        inside: what the keys have to meet; ``named``: what the rows of the collections have to.
    """
    least = f"SELECT min(key) FROM document_names WHERE sort = :sort{inside}"
    return text(
        f"WITH RECURSIVE there(key) AS ({least} UNION ALL"
        f" SELECT ({least} AND key > there.key) FROM there WHERE there.key IS NOT NULL)"
        " SELECT key FROM there WHERE EXISTS (SELECT 1 FROM document_names named WHERE"
        f" named.sort = :sort AND named.key = there.key{named}"
        " AND named.collection IN :collections) LIMIT :most"
    ).bindparams(bindparam("collections", expanding=True))


_SORTS = _distinct(named=" AND named.value = ''")
_FIRST = _distinct()
_BEGINNING = _distinct(inside=" AND key >= :start AND key < :end")


class Called(NamedTuple):
    """What a key stands for in one collection: a name as it is written, or the id of an entity."""

    collection: str
    value: str


class NameRecords(CataloguePart):
    """Look-ups by key. Every method takes the collections that are looked at, all by name."""

    def called(
        self, collections: Sequence[str], sorts: Sequence[str], keys: Iterable[str]
    ) -> dict[tuple[str, str], list[Called]]:
        """(Sort, key) to what it stands for, in order; keys that are no name are left out."""
        with self._database.read() as connection:
            return called(connection, collections, sorts, keys)

    def documents(
        self, collections: Sequence[str], sorts: Sequence[str], keys: Iterable[str]
    ) -> list[str]:
        """The ids of ``MOST_DOCUMENTS`` documents that are called by one of the keys."""
        inside = (_NAMES.sort.in_(sorts), _NAMES.collection.in_(collections))
        with self._database.read() as connection:
            return [
                known
                for some in chunks(dict.fromkeys(keys))
                for known in connection.execute(
                    select(_NAMES.document_id)
                    .distinct()
                    .where(_NAMES.key.in_(some), *inside)
                    .order_by(_NAMES.document_id)
                    .limit(MOST_DOCUMENTS)
                ).scalars()
            ][:MOST_DOCUMENTS]

    def titled(self, collections: Sequence[str], sort: str, key: str) -> list[tuple[str, str]]:
        """The ids and titles of ``MOST_DOCUMENTS`` documents that are called so."""
        named = (_NAMES.sort == sort, _NAMES.key == key, _NAMES.collection.in_(collections))
        statement = (
            select(documents.c.id, documents.c.title)
            .join_from(document_names, documents, documents.c.id == _NAMES.document_id)
            .where(*named)
            .distinct()
            .order_by(documents.c.id)
            .limit(MOST_DOCUMENTS)
        )
        return [(known, title) for known, title in self._rows(statement)]

    def every(self, collections: Sequence[str], sort: str, key: str) -> tuple[str, ...]:
        """The ids of all documents that are called so: what a limit to these needs."""
        named = (_NAMES.sort == sort, _NAMES.key == key, _NAMES.collection.in_(collections))
        statement = select(_NAMES.document_id).distinct().where(*named)
        return tuple(self._values(statement.order_by(_NAMES.document_id)))

    def worded(
        self, collections: Sequence[str], words: Iterable[str], sorts: Sequence[str] = (WORD,)
    ) -> list[str]:
        """The ids of documents whose titles hold all of the words, those with the shortest first.

        Of the rarest word at most ``MOST_WORDED`` documents are looked at.
        """
        wanted = list(dict.fromkeys(words))
        if not (wanted and collections):
            return []
        inside = (_NAMES.sort.in_(sorts), _NAMES.collection.in_(collections))
        with self._database.read() as connection:
            held = dict.fromkeys(wanted, 0)
            for some in chunks(wanted):
                each = (
                    select(_NAMES.key).where(_NAMES.key == word, *inside).limit(MOST_WORDED)
                    for word in some
                )
                counted = union_all(*(select(one.subquery().c.key) for one in each)).subquery()
                counts = select(counted.c.key, func.count()).group_by(counted.c.key)
                held |= {row[0]: row[1] for row in connection.execute(counts)}
            rarest = min(wanted, key=held.__getitem__)
            if not held[rarest]:
                return []
            first = (
                select(_NAMES.document_id, _NAMES.value)
                .where(_NAMES.key == rarest, *inside)
                .order_by(_NAMES.value)
                .limit(MOST_WORDED)
                .subquery()
            )
            other = document_names.alias()
            beside = (
                exists().where(
                    other.c.document_id == first.c.document_id,
                    other.c.sort.in_(sorts),
                    other.c.key == word,
                )
                for word in wanted
                if word != rarest
            )
            statement = (
                select(first.c.document_id)
                .where(*beside)
                .order_by(first.c.value, first.c.document_id)
                .limit(MOST_DOCUMENTS)
            )
            return list(dict.fromkeys(connection.execute(statement).scalars()))

    def sorts(self, collections: Sequence[str], sort: str) -> list[str]:
        """The keys of a sort of which there are few, in order."""
        with self._database.read() as connection:
            return sorts(connection, collections, sort)

    def first(self, collections: Sequence[str], sort: str, most: int) -> list[str]:
        """The first keys of a sort of which there may be many, in order."""
        wanted = {"sort": sort, "collections": list(collections), "most": most}
        return [key for (key,) in self._rows(_FIRST.bindparams(**wanted))] if collections else []

    def beginning(self, collections: Sequence[str], sort: str, start: str) -> list[str]:
        """Keys of the sort that begin so, ``MOST_SORTS`` at most."""
        if not (collections and start):
            return []
        ends = {"start": start, "end": f"{start[:-1]}{chr(ord(start[-1]) + 1)}"}
        wanted = {"sort": sort, "collections": list(collections), "most": MOST_SORTS, **ends}
        return [key for (key,) in self._rows(_BEGINNING.bindparams(**wanted))]

    def dates(self, collections: Sequence[str], key: str) -> list[date]:
        """The dates of the documents that bear the key as their title or alias."""
        moment = documents.c.published_at
        named = (_NAMES.sort.in_((TITLE, ALIAS)), _NAMES.key == key)
        statement = (
            select(moment)
            .join_from(document_names, documents, documents.c.id == _NAMES.document_id)
            .where(*named, _NAMES.collection.in_(collections), moment.is_not(None))
            .distinct()
            .limit(MOST_VALUES)
        )
        return sorted({when.date() for when in self._values(statement)})

    # --- care ---

    def wrong(self) -> list[str]:
        """The ids of documents that are looked up by other names than their own."""
        columns = (_NAMES.document_id, _NAMES.sort, _NAMES.key, _NAMES.value, _NAMES.collection)
        found: list[str] = []
        with self._database.read() as connection:
            for batch in _described(connection):
                ids = [known for known, _, _ in batch]
                held = _lists(connection, select(*columns), _NAMES.document_id.in_(ids))
                found += [
                    known
                    for known, document, speakers in batch
                    if {(*one, document.collection) for one in name_keys(document, speakers)}
                    != set(held[known])
                ]
        return found

    def write_again(self, document_ids: Iterable[str]) -> None:
        """Write the names of these documents anew."""
        wanted = set(document_ids)
        with self._database.write() as connection:
            for some in chunks(sorted(wanted)):
                connection.execute(delete(document_names).where(_NAMES.document_id.in_(some)))
            fill(connection, wanted)


def called(
    connection: Connection, collections: Sequence[str], sorts: Sequence[str], keys: Iterable[str]
) -> dict[tuple[str, str], list[Called]]:
    """See ``NameRecords.called``."""
    where = (_NAMES.sort, _NAMES.key, _NAMES.collection)
    inside = (_NAMES.sort.in_(sorts), _NAMES.collection.in_(collections))
    found: defaultdict[tuple[str, str], list[Called]] = defaultdict(list)
    for some in chunks(dict.fromkeys(keys)) if collections else ():
        ends = (func.min(_NAMES.value), func.max(_NAMES.value))
        statement = select(*where, *ends).where(_NAMES.key.in_(some), *inside).group_by(*where)
        for sort, key, collection, first, last in connection.execute(statement.order_by(*where)):
            same = zip(where, (sort, key, collection), strict=True)
            those = select(_NAMES.value).distinct().where(*(one == it for one, it in same))
            several = those.order_by(_NAMES.value).limit(MOST_VALUES)
            values = [first] if first == last else connection.execute(several).scalars()
            found[sort, key] += [Called(collection, value) for value in values]
    return dict(found)


def sorts(connection: Connection, collections: Sequence[str], sort: str) -> list[str]:
    """See ``NameRecords.sorts``."""
    if not collections:
        return []
    wanted = {"sort": sort, "collections": list(collections), "most": MOST_SORTS}
    return list(connection.execute(_SORTS, wanted).scalars())


def rows_of(names: Iterable[NameKey], collection: str) -> Iterator[dict[str, Any]]:
    """The rows of one document, but for its id."""
    for ordinal, one in enumerate(names):
        yield {"ordinal": ordinal, "collection": collection, **one._asdict()}


def fill(connection: Connection, wanted: Container[str] | None = None) -> None:
    """Write the names of documents, of which none are there yet; of all, where none are given."""
    for batch in _described(connection):
        rows = [
            {"document_id": known, **row}
            for known, document, speakers in batch
            if wanted is None or known in wanted
            for row in rows_of(name_keys(document, speakers), document.collection)
        ]
        if rows:
            connection.execute(insert(document_names), rows)


_OF_DOCUMENTS = ("collection", "uri", "kind", "title", "url", "source_type", "language")


def _described(connection: Connection) -> Iterator[list[tuple[str, Document, list[str]]]]:
    """Every document without its text, and who speaks in it, some at a time."""
    columns = (documents.c[name] for name in ("id", *_OF_DOCUMENTS, "authors", "taxonomy"))
    whole = select(*columns).order_by(documents.c.id).limit(AT_ONCE)
    after = ""
    while batch := connection.execute(whole.where(documents.c.id > after)).all():
        after = batch[-1].id
        inside = [row.id for row in batch]
        spoken = cast(passages.c.speakers, Text)
        heard = select(passages.c.document_id, passages.c.speakers).where(spoken != "[]")
        speakers = _lists(connection, heard, passages.c.document_id.in_(inside))
        edges = select(relations.c.document_id, relations.c.type, relations.c.target)
        related = _lists(connection, edges, relations.c.document_id.in_(inside))
        entity = select(entities).where(entities.c.document_id.in_(inside))
        facts = {
            row.document_id: EntityFacts(
                entity_id=row.entity_id,
                entity_type=row.entity_type,
                aliases=tuple(row.aliases),
                relations=tuple(Relation(type=a, target=b) for a, b in related[row.document_id]),
            )
            for row in connection.execute(entity)
        }
        yield [
            (
                row.id,
                Document(
                    **{name: row._mapping[name] for name in _OF_DOCUMENTS},
                    text="",
                    authors=tuple(row.authors),
                    taxonomy={name: tuple(those) for name, those in dict(row.taxonomy).items()},
                    entity=facts.get(row.id),
                ),
                list(dict.fromkeys(name for (names,) in speakers[row.id] for name in names)),
            )
            for row in batch
        ]


def _lists(
    connection: Connection, statement: Select[Any], where: Any
) -> defaultdict[str, list[tuple[Any, ...]]]:
    """The rows of a statement, without their first column, by it."""
    found: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for known, *rest in connection.execute(statement.where(where)):
        found[known].append(tuple(rest))
    return found
