"""Loads entities, resolves their names, and stores and reads where documents mention them.

A mention counts only if it was found in the current version of its document, so its span never
points into changed text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import urljoin

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, exists, func, or_, select

from wellread.store.catalogue.documents.lookup import (
    LIVE_MENTIONS,
    VALUES,
    facts,
    live_versions,
    whole_texts,
)
from wellread.store.schema.database import (
    CataloguePart,
    chunks,
    insert_rows,
    reading,
    rows_in,
    rows_to_values,
    without_index,
    writing,
)
from wellread.store.schema.stored_values import VersionKey
from wellread.store.schema.tables import documents, entities, mention_scans, mentions
from wellread.text.tokens import (
    address_key,
    address_keys,
    bracketed_forms,
    looks_like_address,
    loose_key,
    strict_key,
)
from wellread.types import DocumentFacts, Span

NameIndex = dict[str, dict[str, None]]  # the matching entity ids by key, best first


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityNode:
    """An entity of the graph, merged from all documents that describe it."""

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
    """The entities of the collection with these ids, by id; unknown ids are left out."""
    nodes: list[EntityNode] = []
    for batch in chunks(dict.fromkeys(ids)):
        statement = select(entities.c.document_id).where(entities.c.entity_id.in_(batch))
        document_ids = connection.execute(statement).scalars().all()
        if document_ids:
            nodes += load_nodes(connection, collection, documents.c.id.in_(document_ids))
    return sorted(nodes, key=lambda node: node.id)


def load_nodes(
    connection: Connection, collection: str, *where: ColumnElement[bool]
) -> list[EntityNode]:
    """Load the entities of the collection, by id, merging the documents that share an id."""
    # With ``where``, the query planner must use its index: it matches fewer rows.
    name = without_index(documents.c.collection) if where else documents.c.collection
    statement = (
        select(
            *(entities.c[name] for name in ("entity_id", "entity_type", "aliases")),
            *(documents.c[name] for name in ("id", "title", "url", "uri")),
        )
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(name == collection, *where)
        .order_by(entities.c.entity_id, documents.c.uri)
    )
    nodes: list[EntityNode] = []
    for entity_id, rows in groupby(connection.execute(statement), key=itemgetter(0)):
        first, *others = rows
        aliases = dict.fromkeys(first.aliases)  # an ordered set
        for row in others:
            aliases |= dict.fromkeys((row.title, *row.aliases))
        if others:
            aliases.pop(first.title, None)
        nodes.append(
            EntityNode(
                collection=collection,
                id=entity_id,
                type=first.entity_type,
                title=first.title,
                aliases=tuple(aliases),
                document_id=first.id,
                documents=tuple(row.id for row in (first, *others)),
                url=first.url or first.uri,
                addresses=tuple(
                    address for row in (first, *others) for address in (row.url, row.uri) if address
                ),
            )
        )
    return nodes


class NodeFinder:
    """Finds the entities of a collection by id, title, alias and address."""

    def __init__(self, nodes: Iterable[EntityNode]) -> None:
        self.by_id = {node.id: node for node in nodes}

    def find(self, name: str) -> list[EntityNode]:
        """The entities called ``name``: ids before titles before aliases before addresses.

        Spellings that differ in a hyphen or a plural match when nothing else does and only one
        entity has such a name.
        """
        matches = dict.fromkeys([name] if name in self.by_id else [])
        matches |= dict.fromkeys(self._by_name.get(strict_key(name), ()))
        if looks_like_address(name):
            for key in (address_key(name), address_key(name.partition("#")[0])):
                matches |= dict.fromkeys(self._by_address.get(key, ()))
        loose = loose_key(name)
        if not matches and loose:
            loose_matches = self._by_loose_name.get(loose, {})
            matches = loose_matches if len(loose_matches) == 1 else {}
        return [self.by_id[entity_id] for entity_id in matches]

    def id_of(self, name: str) -> str:
        """The id of the entity that a relation's target ``name`` refers to, or an empty string."""
        if name in self.by_id:
            return name
        matches = self.find(name)
        return matches[0].id if matches else ""

    def id_of_relative_address(self, address: str, base: str) -> str:
        """The id of the entity at an address relative to ``base``, or an empty string."""
        return self.id_of(urljoin(base, address)) if looks_like_address(address) else ""

    @cached_property
    def names(self) -> dict[str, str]:
        """The entity id by every id, title and alias as written; the best name wins."""
        return dict(reversed(list(self._names_and_ids())))

    @cached_property
    def addresses(self) -> list[str]:
        """The keys of all addresses."""
        return list(self._by_address)

    @cached_property
    def _by_name(self) -> NameIndex:
        index = _index((strict_key(name), entity_id) for name, entity_id in self._names_and_ids())
        index.pop("", None)
        return index

    @cached_property
    def _by_loose_name(self) -> NameIndex:
        return _index((loose_key(name), entity_id) for name, entity_id in self._names_and_ids())

    @cached_property
    def _by_address(self) -> NameIndex:
        return _index(
            (key, node.id)
            for node in self.by_id.values()
            for address in node.addresses
            for key in address_keys(address)
        )

    def _names_and_ids(self) -> Iterator[tuple[str, str]]:
        """Pairs of a name and its entity id, best names first."""
        nodes = self.by_id.values()
        yield from ((node.id, node.id) for node in nodes)
        yield from ((node.title, node.id) for node in nodes)
        yield from ((alias, node.id) for node in nodes for alias in node.aliases)
        for node in nodes:
            for name in (node.title, *node.aliases):
                yield from ((form, node.id) for form in bracketed_forms(name))


def _index(pairs: Iterable[tuple[str, str]]) -> NameIndex:
    index: NameIndex = {}
    for key, entity_id in pairs:
        index.setdefault(key, {})[entity_id] = None
    return index


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """A span of a text that names an entity; ``name`` is the entity's name that matched."""

    entity_id: str
    span: Span
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MentioningDocument:
    """A document that mentions an entity, with the count and the first mention."""

    document: DocumentFacts
    mentions: int
    first: Span
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionTotal:
    """How many documents mention an entity, and how often."""

    documents: int
    mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnscannedDocument:
    """A document still to be scanned for the names of entities."""

    document_id: str
    version: str
    characters: int


_COUNTS: tuple[Any, ...] = (
    func.count(mentions.c.document_id.distinct()).label("documents"),
    func.count().label("mentions"),
)


def mentions_in(connection: Connection, document_id: str) -> list[FoundName]:
    """The mentions of entities in the live version of the document, in reading order."""
    statement = _live(select(*mentions.c), ()).where(mentions.c.document_id == document_id)
    return [
        FoundName(entity_id=row.entity_id, span=Span(start=row.start, end=row.end), name=row.name)
        for row in connection.execute(statement.order_by(mentions.c.ordinal))
    ]


def mention_totals(
    connection: Connection, collections: Sequence[str]
) -> dict[tuple[str, str], MentionTotal]:
    """The mention counts of all mentioned entities by (collection, entity id)."""
    key = (documents.c.collection, mentions.c.entity_id)
    statement = _live(select(*key, *_COUNTS), collections).group_by(*key)
    return {
        (collection, entity_id): MentionTotal(documents=document_count, mentions=count)
        for collection, entity_id, document_count, count in connection.execute(statement)
    }


def total_of(connection: Connection, collections: Sequence[str], entity_id: str) -> MentionTotal:
    """The mention counts of one entity."""
    statement = _live(select(*_COUNTS), collections).where(mentions.c.entity_id == entity_id)
    return rows_to_values(MentionTotal, connection.execute(statement))[0]


def documents_mentioning(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int = 20
) -> list[MentioningDocument]:
    """The documents that mention the entity most often; with equal counts, newer first."""
    count = func.count()
    statement = (
        _live(select(documents.c.id, count), collections)
        .where(mentions.c.entity_id == entity_id)
        .group_by(documents.c.id, documents.c.published_at)
        .order_by(count.desc(), documents.c.published_at.desc().nulls_last(), documents.c.id)
        .limit(limit)
    )
    counts = {row[0]: row[1] for row in connection.execute(statement)}
    last_first = (
        select(mentions)
        .where(mentions.c.entity_id == entity_id, mentions.c.document_id.in_(VALUES))
        .order_by(mentions.c.document_id, mentions.c.ordinal.desc())
    )
    # The first mention of a document comes last and so stays in the dict.
    first = {row.document_id: row for row in rows_in(connection, last_first, counts)}
    facts_by_id = facts(connection, counts)
    return [
        MentioningDocument(
            document=facts_by_id[document_id],
            mentions=mention_count,
            first=Span(start=first[document_id].start, end=first[document_id].end),
            name=first[document_id].name,
        )
        for document_id, mention_count in counts.items()
    ]


def _live(statement: Select[Any], collections: Sequence[str]) -> Select[Any]:
    """``statement`` over the mentions in live versions, of some collections or of all."""
    joined = statement.select_from(LIVE_MENTIONS)
    return joined.where(documents.c.collection.in_(collections)) if collections else joined


def unscanned(
    connection: Connection, collection: str, names: str, after: str, limit: int
) -> list[UnscannedDocument]:
    """Documents after id ``after`` whose live version was not scanned with ``names``, by id."""
    is_scanned = and_(
        mention_scans.c.document_id == documents.c.id,
        mention_scans.c.version == documents.c.version,
        mention_scans.c.names == names,
    )
    columns = (documents.c.id.label("document_id"), documents.c.version, documents.c.characters)
    statement = (
        select(*columns)
        .outerjoin_from(documents, mention_scans, is_scanned)
        .where(
            documents.c.collection == collection,
            documents.c.id > after,
            mention_scans.c.document_id.is_(None),
        )
        .order_by(documents.c.id)
        .limit(limit)
    )
    return rows_to_values(UnscannedDocument, connection.execute(statement))


def keep(
    connection: Connection, names: str, names_by_version: Mapping[VersionKey, Sequence[FoundName]]
) -> int:
    """Replace the mentions in these documents; return the number of mentions stored.

    A document whose version is no longer live is left for the next scan.
    """
    live = live_versions(connection, [document_id for document_id, _ in names_by_version])
    current = {
        (document_id, version): found_names
        for (document_id, version), found_names in names_by_version.items()
        if live.get(document_id) == version
    }
    for ids in chunks(document_id for document_id, _ in current):
        for table in (mentions, mention_scans):
            connection.execute(delete(table).where(table.c.document_id.in_(ids)))
    rows = [
        {
            "document_id": document_id,
            "ordinal": ordinal,
            "entity_id": mention.entity_id,
            "start": mention.span.start,
            "end": mention.span.end,
            "name": mention.name,
        }
        for (document_id, _), found_names in current.items()
        for ordinal, mention in enumerate(found_names)
    ]
    insert_rows(connection, mentions, rows)
    scans = (
        {"document_id": document_id, "version": version, "names": names}
        for document_id, version in current
    )
    insert_rows(connection, mention_scans, scans)
    return len(rows)


def forget_described(connection: Connection, document_ids: Iterable[str]) -> None:
    """Before these documents are removed, delete the mentions of entities only they describe."""
    ids = set(document_ids)
    entity_ids: dict[str, dict[str, None]] = {}
    described = select(documents.c.collection, entities.c.entity_id, documents.c.id).join_from(
        entities, documents, documents.c.id == entities.c.document_id
    )
    for row in rows_in(connection, described.where(documents.c.id.in_(VALUES)), ids):
        entity_ids.setdefault(row.collection, {})[row.entity_id] = None
    by_name = described.where(entities.c.entity_id.in_(VALUES))
    for collection, keys in entity_ids.items():
        query = by_name.where(documents.c.collection == collection)
        remaining = {row.entity_id for row in rows_in(connection, query, keys) if row.id not in ids}
        in_scope = mentions.c.document_id.in_(_documents_of(collection))
        for batch in chunks(name for name in keys if name not in remaining):
            connection.execute(delete(mentions).where(mentions.c.entity_id.in_(batch), in_scope))


def _documents_of(collection: str) -> Select[Any]:
    return select(documents.c.id).where(documents.c.collection == collection)


class MentionScans(CataloguePart):
    """Storage for scans of documents for the names of entities."""

    named_entities = reading(load_nodes)
    unscanned = reading(unscanned)
    texts = reading(whole_texts)
    keep = writing(keep)

    def forget(self, collection: str) -> bool:
        """Delete all mentions and scans of the collection; return whether there were any."""
        tables = (mention_scans, mentions)
        has_rows = (exists().where(table.c.document_id == documents.c.id) for table in tables)
        any_rows = bool(self._rows(_documents_of(collection).where(or_(*has_rows)).limit(1)))
        if any_rows:
            ids = _documents_of(collection)
            self._run(*(delete(table).where(table.c.document_id.in_(ids)) for table in tables))
        return any_rows
