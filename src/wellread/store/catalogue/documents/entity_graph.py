"""The entity graph: resolves names, and reads neighbours, paths and mentions of entities.

Relations are stored as sources state them; their targets are resolved when they are read
(``relation_network.py``), so no row is rewritten when an entity arrives, is renamed or is removed.

No edge crosses collections. ``collections`` are names; an empty list means all.

One entity and its neighbours are looked up by the keys of their names (``name_records.py``). Paths
over several hops, and complete lists, would cost a query per step; for these the network of a
collection is loaded completely, and again when the stamp of the collection changes. A stored column
of resolved targets would load faster when a process starts, but be wrong between the arrival of an
entity and the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz import fuzz, process, utils
from sqlalchemy import ColumnElement, Connection, select

from wellread.store.catalogue.documents import entity_nodes
from wellread.store.catalogue.documents.collection_records import CollectionCache, stamps_of
from wellread.store.catalogue.documents.entity_nodes import (
    EntityNode,
    FoundName,
    MentionScans,
    NodeFinder,
    load_nodes,
    nodes_of,
)
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.name_records import (
    ADDRESS,
    LOOSE,
    RELATION,
    TARGET,
    cut_key,
    distinct_keys,
    look_up,
    relation_key,
    resolve_address,
    target_keys,
)
from wellread.store.catalogue.documents.relation_network import (
    Direction,
    Edge,
    Neighbour,
    Network,
    Path,
    RelationKind,
    RelationNames,
    RelationRow,
)
from wellread.store.schema.database import CataloguePart, Database, chunks, reading, rows_in
from wellread.store.schema.tables import collections as collection_settings
from wellread.store.schema.tables import document_names, documents, entities, relations


def load_network(connection: Connection, collection: str) -> Network:
    """Load the entities and relations of the collection as this transaction sees them."""
    edges = (
        select(relations.c.source, relations.c.type, relations.c.target, documents.c.uri)
        .join_from(relations, documents, documents.c.id == relations.c.document_id)
        .where(documents.c.collection == collection)
        .order_by(documents.c.uri, relations.c.ordinal)
    )
    return Network(
        collection,
        NodeFinder(load_nodes(connection, collection)),
        (RelationRow(*row) for row in connection.execute(edges)),
        _relation_names(connection, collection),
    )


def _relation_names(connection: Connection, collection: str) -> RelationNames:
    query = select(collection_settings.c.settings).where(collection_settings.c.name == collection)
    return RelationNames(connection.execute(query).scalar())


def _network_around(connection: Connection, collection: str, entity_id: str) -> Network | None:
    """The part of the network with all edges of one entity; None when there is no such entity."""
    nodes = nodes_of(connection, collection, [entity_id])
    if not nodes:
        return None
    finder = NodeFinder(nodes)
    pointing = document_names.c.document_id.label("origin")
    keys = [*map(relation_key, finder.names), *map(cut_key, finder.addresses)]
    rows = _edges(connection, relations.c.source, [entity_id])
    by_key = (document_names.c.sort == TARGET, document_names.c.collection == collection)
    for batch in chunks(dict.fromkeys(keys)):
        statement = select(pointing).where(*by_key, document_names.c.key.in_(batch)).distinct()
        ids = connection.execute(statement).scalars().all()
        rows |= _edges(connection, relations.c.document_id, ids)
    edges = [
        RelationRow(row.source, row.type, row.target, row.uri)
        for row in sorted(rows.values(), key=lambda row: (row.uri, row.ordinal))
        if row.collection == collection
    ]
    targets = [
        address
        for edge in edges
        for address in (edge.target, resolve_address(edge.base, edge.target))
    ]
    sources = [entity_id, *(edge.source for edge in edges)]
    neighbours = _nodes(connection, collection, targets, sources)
    return Network(collection, neighbours, edges, _relation_names(connection, collection))


def _edges(
    connection: Connection, column: ColumnElement[Any], values: Sequence[str]
) -> dict[tuple[str, int], Any]:
    """The relations whose ``column`` has one of the values, by the document that states them."""
    statement = (
        select(
            relations.c.document_id.label("origin"),
            *(relations.c[name] for name in ("ordinal", "source", "type", "target")),
            documents.c.uri,
            documents.c.collection,
        )
        .join_from(relations, documents, documents.c.id == relations.c.document_id)
        .where(column.in_(VALUES))
    )
    return {(row.origin, row.ordinal): row for row in rows_in(connection, statement, values)}


def _nodes(
    connection: Connection, collection: str, names: Iterable[str], sources: Sequence[str]
) -> NodeFinder:
    """The entities that one of ``names`` may refer to, and those with the ids ``sources``."""
    keys = [key for name in dict.fromkeys(names) for key in target_keys(name, "")]
    targets = look_up(connection, [collection], (LOOSE, ADDRESS), keys)
    ids = [target.value for key_targets in targets.values() for target in key_targets]
    return NodeFinder(nodes_of(connection, collection, [*sources, *ids]))


MAX_HOPS = 4
MIN_LIKENESS = 70.0  # 0-100; from here on a similar name is suggested for an unknown one


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMentions:
    """An entity that a document mentions, with its mentions in reading order."""

    node: EntityNode
    places: tuple[FoundName, ...]


class Graph(CataloguePart):
    """Entities, relations and mentions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._cache = CollectionCache(lambda connection, name: load_network(connection, name))
        self.scans = MentionScans(database)

    # --- entities ---

    def resolve(self, collections: Sequence[str], name: str) -> list[EntityNode]:
        """The entities with this id, title, alias or address, in that order.

        Case, Unicode forms, white space and a leading article are ignored. Hyphens and plurals are
        ignored when nothing matches exactly and only one entity matches without them.
        """
        with self._database.read() as connection:
            scope = collections or sorted(stamps_of(connection))
            return [
                node
                for collection in scope
                for node in _nodes(connection, collection, [name], sources=[name]).find(name)
            ]

    def similar_to(self, collections: Sequence[str], name: str, limit: int = 5) -> list[EntityNode]:
        """Entities with a name similar to ``name``, most similar first."""
        matches: dict[tuple[str, str], tuple[float, EntityNode]] = {}
        for network in self._networks(collections):
            for other, likeness, _ in process.extract(
                name,
                network.nodes.names.keys(),
                scorer=fuzz.WRatio,
                processor=utils.default_process,
                limit=4 * limit,
                score_cutoff=MIN_LIKENESS,
            ):
                node = network.nodes.by_id[network.nodes.names[other]]
                matches.setdefault((network.collection, node.id), (likeness, node))
        best = sorted(matches.values(), key=lambda match: (-match[0], match[1].title))
        return [node for _, node in best[:limit]]

    def entity(self, collection: str, entity_id: str) -> EntityNode | None:
        """The entity with exactly this id, or None."""
        return next(iter(self.nodes([(collection, entity_id)])), None)

    def nodes(self, keys: Sequence[tuple[str, str]]) -> list[EntityNode]:
        """The entities with these collections and ids, by collection and id."""
        by_collection: dict[str, list[str]] = {}
        for collection, entity_id in keys:
            by_collection.setdefault(collection, []).append(entity_id)
        with self._database.read() as connection:
            return [
                node
                for name, ids in sorted(by_collection.items())
                for node in nodes_of(connection, name, ids)
            ]

    def described_by(self, document_ids: Iterable[str]) -> list[EntityNode]:
        """The entities that these documents describe."""
        columns = (documents.c.collection, entities.c.entity_id)
        statement = (
            select(*columns)
            .join_from(entities, documents, documents.c.id == entities.c.document_id)
            .where(entities.c.document_id.in_(VALUES))
        )
        return self.nodes([(row[0], row[1]) for row in self._rows_in(statement, document_ids)])

    def entities(
        self, collections: Sequence[str], types: Sequence[str] | None = None
    ) -> list[EntityNode]:
        """The entities of the collections, optionally of some types, by type and title."""
        networks = self._networks(collections)
        nodes = [node for network in networks for node in network.nodes.by_id.values()]
        return sorted(
            (node for node in nodes if types is None or node.type in types),
            key=lambda node: (node.type, node.title.casefold(), node.collection, node.id),
        )

    # --- edges ---

    def neighbours(
        self,
        collections: Sequence[str],
        entity_id: str,
        types: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[Neighbour]:
        """The neighbours of the entity, unresolved names included; outgoing edges first.

        ``direction`` is that of the relation as named in ``types`` (a type or its inverse; None:
        all): ``used_by`` outwards is ``uses`` inwards. Symmetric relations have none.
        """
        with self._database.read() as connection:
            scope = collections or sorted(stamps_of(connection))
            networks = [_network_around(connection, item, entity_id) for item in scope]
        return [
            item
            for network in networks
            if network and entity_id in network.nodes.by_id
            for item in network.neighbours(entity_id, types, direction)
        ]

    def edges(self, collections: Sequence[str]) -> list[Edge]:
        """All edges.

        Equivalent relations (``a uses b`` and ``b used_by a``) are one edge.
        """
        return [edge for network in self._networks(collections) for edge in network.edges()]

    def degrees(self, collections: Sequence[str]) -> dict[tuple[str, str], int]:
        """The number of edges of each entity, in and out, by (collection, entity id)."""
        return {
            (network.collection, entity_id): network.degree(entity_id)
            for network in self._networks(collections)
            for entity_id in network.nodes.by_id
        }

    def relation_types(self, collections: Sequence[str]) -> list[RelationKind]:
        """The declared and the used relation types with their inverses, by name."""
        kinds: dict[tuple[str, str], RelationKind] = {}
        with self._database.read() as connection:
            for name in collections:
                names = _relation_names(connection, name)
                used = distinct_keys(connection, [name], RELATION)
                for primary in (*names.words, *(names.primary(used_type)[0] for used_type in used)):
                    kind = names.kind(primary)
                    earlier = kinds.get((kind.type, kind.inverse))
                    words = dict.fromkeys([*(earlier.words if earlier else ()), *kind.words])
                    kinds[kind.type, kind.inverse] = replace(kind, words=tuple(words))
        return sorted(kinds.values(), key=lambda kind: (kind.type, kind.inverse))

    def paths(
        self,
        collections: Sequence[str],
        start: str,
        end: str,
        hops: int = MAX_HOPS,
        limit: int = 10,
    ) -> list[Path]:
        """Paths of at most ``hops`` (up to four) edges between two entities, shortest first.

        Edges are followed in both directions; each step has the name for its direction.
        """
        hops = min(hops, MAX_HOPS)
        networks = self._networks(collections)
        paths = [path for network in networks for path in network.paths(start, end, hops, limit)]
        return sorted(paths, key=lambda path: len(path.steps))[:limit]

    # --- mentions ---

    documents_mentioning = reading(entity_nodes.documents_mentioning)
    mention_total = reading(entity_nodes.total_of)
    mention_totals = reading(entity_nodes.mention_totals)

    def entities_in(self, document_id: str) -> list[EntityMentions]:
        """The entities that the document mentions, most often mentioned first."""
        with self._database.read() as connection:
            places: dict[str, list[FoundName]] = {}
            for mention in entity_nodes.mentions_in(connection, document_id):
                places.setdefault(mention.entity_id, []).append(mention)
            named = documents.c.id == document_id
            collection = connection.execute(select(documents.c.collection).where(named)).scalar()
        networks = self._networks([collection]) if collection and places else []
        entities = [
            EntityMentions(node=network.nodes.by_id[entity_id], places=tuple(spots))
            for network in networks
            for entity_id, spots in places.items()
            if entity_id in network.nodes.by_id
        ]
        return sorted(entities, key=lambda item: (-len(item.places), item.places[0].span.start))

    def _networks(self, collections: Sequence[str]) -> list[Network]:
        """The current networks of the collections, all from one snapshot."""
        with self._database.read() as connection:
            return self._cache.of(connection, stamps_of(connection), collections)
