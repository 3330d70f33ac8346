"""The entities of one collection in memory, found by whatever they are called, and their mentions.

A mention counts only when the scan that found it read the live version of its document; so spans
never point into a text that has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urljoin

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    true,
)

from wellread.store.catalogue.documents.lookup import (
    LIVE_MENTIONS,
    VALUES,
    facts,
    live_versions,
    whole_texts,
)
from wellread.store.schema.database import (
    CataloguePart,
    aside,
    chunks,
    made_of,
    reading,
    rows_in,
    writing,
)
from wellread.store.schema.stored_values import VersionKey
from wellread.store.schema.tables import documents, entities, mention_scans, mentions
from wellread.text.names import (
    address_key,
    address_keys,
    bracketed_forms,
    key_of,
    looks_like_address,
    loose_key,
)
from wellread.types import DocumentFacts, Span

Named = dict[str, dict[str, None]]  # key to the ids that it leads to, the better ones first


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityNode:
    """An entity as the graph knows it."""

    collection: str
    id: str
    type: str
    title: str
    aliases: tuple[str, ...]
    document_id: str
    documents: tuple[str, ...]
    url: str
    addresses: tuple[str, ...] = ()


def nodes_of(connection: Connection, collection: str, ids: Iterable[str]) -> list[EntityNode]:
    """The entities of the collection with these ids, by id; unknown ones are left out."""
    nodes: list[EntityNode] = []
    for some in chunks(dict.fromkeys(ids)):
        wanted = select(entities.c.document_id).where(entities.c.entity_id.in_(some))
        found = connection.execute(wanted).scalars().all()
        nodes += load_nodes(connection, collection, documents.c.id.in_(found)) if found else ()
    return sorted(nodes, key=lambda node: node.id)


def load_nodes(
    connection: Connection, collection: str, where: ColumnElement[bool] | None = None
) -> list[EntityNode]:
    """The entities of the collection, by id; of several documents with one id all names count."""
    inside = documents.c.collection if where is None else aside(documents.c.collection)
    statement = (
        select(
            *(entities.c[name] for name in ("entity_id", "entity_type", "aliases")),
            *(documents.c[name] for name in ("id", "title", "url", "uri")),
        )
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(inside == collection, true() if where is None else where)
        .order_by(entities.c.entity_id, documents.c.uri)
    )
    nodes: dict[str, EntityNode] = {}
    for known, sort, aliases, document_id, title, url, uri in connection.execute(statement):
        addresses = tuple(filter(None, (url, uri)))
        first = nodes.get(known)
        if first is None:
            nodes[known] = EntityNode(
                collection=collection,
                id=known,
                type=sort,
                title=title,
                aliases=tuple(aliases),
                document_id=document_id,
                documents=(document_id,),
                url=url or uri,
                addresses=addresses,
            )
        else:
            names = dict.fromkeys((*first.aliases, title, *aliases))
            names.pop(first.title, None)
            nodes[known] = replace(
                first,
                aliases=tuple(names),
                documents=(*first.documents, document_id),
                addresses=(*first.addresses, *addresses),
            )
    return list(nodes.values())


class Nodes:
    """The entities of a collection, found by id, title, alias and address."""

    def __init__(self, nodes: Iterable[EntityNode]) -> None:
        self.by_id = {node.id: node for node in nodes}

    def find(self, name: str) -> list[EntityNode]:
        """Who is called ``name``: ids before titles before aliases before addresses.

        Spellings that differ by a hyphen or a plural count when nothing else fits and they lead
        to one entity only.
        """
        found = dict.fromkeys([name] if name in self.by_id else [])
        found |= dict.fromkeys(self._by_name.get(key_of(name), ()))
        if looks_like_address(name):
            for key in (address_key(name), address_key(name.partition("#")[0])):
                found |= dict.fromkeys(self._by_address.get(key, ()))
        loose = loose_key(name)
        if not found and loose:
            others = self._by_loose_name.get(loose, {})
            found = others if len(others) == 1 else {}
        return [self.by_id[known] for known in found]

    def called(self, name: str) -> str:
        """The id of the entity that a relation to ``name`` means; empty when there is none."""
        if name in self.by_id:
            return name
        found = self.find(name)
        return found[0].id if found else ""

    def beside(self, address: str, base: str) -> str:
        """``called`` for an address that is relative to ``base``, a document's uri."""
        return self.called(urljoin(base, address)) if looks_like_address(address) else ""

    @cached_property
    def names(self) -> dict[str, str]:
        """Every id, title and alias as written, to the id."""
        return dict(reversed(list(self._spelled())))

    @cached_property
    def addresses(self) -> list[str]:
        """The keys of all addresses."""
        return list(self._by_address)

    @cached_property
    def _by_name(self) -> Named:
        index = _index((key_of(name), known) for name, known in self._spelled())
        index.pop("", None)
        return index

    @cached_property
    def _by_loose_name(self) -> Named:
        return _index((loose_key(name), known) for name, known in self._spelled())

    @cached_property
    def _by_address(self) -> Named:
        return _index(
            (key, node.id)
            for node in self.by_id.values()
            for address in node.addresses
            for key in address_keys(address)
        )

    def _spelled(self) -> Iterator[tuple[str, str]]:
        """Names with the id they lead to, the better ones first."""
        nodes = self.by_id.values()
        yield from ((node.id, node.id) for node in nodes)
        yield from ((node.title, node.id) for node in nodes)
        yield from ((alias, node.id) for node in nodes for alias in node.aliases)
        for node in nodes:
            for name in (node.title, *node.aliases):
                yield from ((form, node.id) for form in bracketed_forms(name))


def _index(pairs: Iterable[tuple[str, str]]) -> Named:
    index: Named = {}
    for key, known in pairs:
        index.setdefault(key, {})[known] = None
    return index


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """A place of a text that names an entity; ``name`` is what the entity calls itself there."""

    entity_id: str
    span: Span
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention(FoundName):
    """A place of a document's live version that names an entity of its collection."""

    document_id: str
    version: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentioningDocument:
    """A document that names an entity: how often, and where first."""

    document: DocumentFacts
    mentions: int
    first: Span
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionTotal:
    """How many documents name an entity, and how often altogether."""

    documents: int
    mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscanned:
    """A document that is to be searched for names."""

    document_id: str
    version: str
    characters: int


_COUNTS: tuple[Any, ...] = (
    func.count(mentions.c.document_id.distinct()).label("documents"),
    func.count().label("mentions"),
)


def mentions_of(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int = 100
) -> list[Mention]:
    """Places that name the entity: the newest documents first, each in reading order."""
    newest = (documents.c.published_at.desc().nulls_last(), documents.c.id, mentions.c.ordinal)
    statement = _places(collections).where(mentions.c.entity_id == entity_id)
    return _mentions(connection, statement.order_by(*newest).limit(limit))


def mentions_in(connection: Connection, document_id: str) -> list[Mention]:
    """Every place of the document that names an entity, in reading order."""
    statement = _places(()).where(mentions.c.document_id == document_id)
    return _mentions(connection, statement.order_by(mentions.c.ordinal))


def totals(
    connection: Connection, collections: Sequence[str]
) -> dict[tuple[str, str], MentionTotal]:
    """(Collection, entity id) to how often it is named, for all that are."""
    key = (documents.c.collection, mentions.c.entity_id)
    statement = _live(select(*key, *_COUNTS), collections).group_by(*key)
    return {
        (collection, known): MentionTotal(documents=inside, mentions=count)
        for collection, known, inside, count in connection.execute(statement)
    }


def total_of(connection: Connection, collections: Sequence[str], entity_id: str) -> MentionTotal:
    """How many documents name the entity, and how often altogether."""
    statement = _live(select(*_COUNTS), collections).where(mentions.c.entity_id == entity_id)
    return made_of(MentionTotal, connection.execute(statement))[0]


def documents_mentioning(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int = 20
) -> list[MentioningDocument]:
    """Documents that name the entity most often, newer ones first among equals."""
    count = func.count()
    statement = (
        _live(select(documents.c.id, count), collections)
        .where(mentions.c.entity_id == entity_id)
        .group_by(documents.c.id, documents.c.published_at)
        .order_by(count.desc(), documents.c.published_at.desc().nulls_last(), documents.c.id)
        .limit(limit)
    )
    counts = {row[0]: row[1] for row in connection.execute(statement)}
    backwards = (
        select(mentions)
        .where(mentions.c.entity_id == entity_id, mentions.c.document_id.in_(VALUES))
        .order_by(mentions.c.document_id, mentions.c.ordinal.desc())
    )
    first = {row.document_id: row for row in rows_in(connection, backwards, counts)}
    held = facts(connection, counts)
    return [
        MentioningDocument(
            document=held[known],
            mentions=many,
            first=Span(start=first[known].start, end=first[known].end),
            name=first[known].name,
        )
        for known, many in counts.items()
    ]


def _live(statement: Select[Any], collections: Sequence[str]) -> Select[Any]:
    """``statement`` over mentions in live versions, of some collections or of all."""
    joined = statement.select_from(LIVE_MENTIONS)
    return joined.where(documents.c.collection.in_(collections)) if collections else joined


def _places(collections: Sequence[str]) -> Select[Any]:
    columns = (*mentions.c, mention_scans.c.version, documents.c.published_at)
    return _live(select(*columns), collections)


def _mentions(connection: Connection, statement: Select[Any]) -> list[Mention]:
    return [
        Mention(
            document_id=row.document_id,
            version=row.version,
            entity_id=row.entity_id,
            span=Span(start=row.start, end=row.end),
            name=row.name,
            published_at=row.published_at,
        )
        for row in connection.execute(statement)
    ]


def unscanned(
    connection: Connection, collection: str, names: str, after: str, limit: int
) -> list[Unscanned]:
    """Documents whose live version was not searched with ``names``, by id, beyond ``after``."""
    searched = and_(
        mention_scans.c.document_id == documents.c.id,
        mention_scans.c.version == documents.c.version,
        mention_scans.c.names == names,
    )
    columns = (documents.c.id.label("document_id"), documents.c.version, documents.c.characters)
    statement = (
        select(*columns)
        .outerjoin_from(documents, mention_scans, searched)
        .where(
            documents.c.collection == collection,
            documents.c.id > after,
            mention_scans.c.document_id.is_(None),
        )
        .order_by(documents.c.id)
        .limit(limit)
    )
    return made_of(Unscanned, connection.execute(statement))


def keep(
    connection: Connection, names: str, found: Mapping[VersionKey, Sequence[FoundName]]
) -> int:
    """Put what was found in place of what was known of these documents; how many mentions.

    A document whose version is not live any more is left for the next pass.
    """
    live = live_versions(connection, [known for known, _ in found])
    kept = {key: places for key, places in found.items() if live.get(key[0]) == key[1]}
    for ids in chunks(known for known, _ in kept):
        for table in (mentions, mention_scans):
            connection.execute(delete(table).where(table.c.document_id.in_(ids)))
    rows = [
        {
            "document_id": known,
            "ordinal": ordinal,
            "entity_id": place.entity_id,
            "start": place.span.start,
            "end": place.span.end,
            "name": place.name,
        }
        for (known, _), places in kept.items()
        for ordinal, place in enumerate(places)
    ]
    if rows:
        connection.execute(insert(mentions), rows)
    scans = [{"document_id": known, "version": version, "names": names} for known, version in kept]
    if scans:
        connection.execute(insert(mention_scans), scans)
    return len(rows)


def forget_entities(connection: Connection, collection: str, entity_ids: Iterable[str]) -> None:
    """Drop the mentions of these entities in the collection's documents."""
    inside = mentions.c.document_id.in_(_inside(collection))
    for ids in chunks(dict.fromkeys(entity_ids)):
        connection.execute(delete(mentions).where(mentions.c.entity_id.in_(ids), inside))


def forget_described(connection: Connection, document_ids: Iterable[str]) -> None:
    """Drop the mentions of entities that only these documents describe; call it before they go."""
    ids = set(document_ids)
    leaving: dict[str, dict[str, None]] = {}
    described = select(documents.c.collection, entities.c.entity_id, documents.c.id).join_from(
        entities, documents, documents.c.id == entities.c.document_id
    )
    for row in rows_in(connection, described.where(documents.c.id.in_(VALUES)), ids):
        leaving.setdefault(row.collection, {})[row.entity_id] = None
    by_name = described.where(entities.c.entity_id.in_(VALUES))
    for collection, known in leaving.items():
        here = by_name.where(documents.c.collection == collection)
        stays = {row.entity_id for row in rows_in(connection, here, known) if row.id not in ids}
        forget_entities(connection, collection, [one for one in known if one not in stays])


def _inside(collection: str) -> Select[Any]:
    return select(documents.c.id).where(documents.c.collection == collection)


class MentionScans(CataloguePart):
    """The stored side of the link pass."""

    named_entities = reading(load_nodes)
    unscanned = reading(unscanned)
    texts = reading(whole_texts)
    keep = writing(keep)

    def forget(self, collection: str) -> bool:
        """Drop all mentions and scans of the collection; whether there were any."""
        tables = (mention_scans, mentions)
        left = (exists().where(table.c.document_id == documents.c.id) for table in tables)
        there = bool(self._rows(_inside(collection).where(or_(*left)).limit(1)))
        if there:
            inside = _inside(collection)
            self._run(*(delete(one).where(one.c.document_id.in_(inside)) for one in tables))
        return there
