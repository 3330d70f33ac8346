"""The graph of entities: names resolved, edges in both directions, ways between, mentions.

Relations are stored as sources say them; what they point to is resolved when they are read
(``relation_network.py``), so nothing has to be rewritten when one arrives, is renamed or goes.

A graph ends at the border of its collection. ``collections`` are names; none means all.

One entity, and what it is related to, is looked up by the keys of names (``name_records.py``). Ways
over several hops, and lists of all, would cost a query per step; for these the network of a
collection is read as a whole, once, and again when the collection has another stamp. A column with
resolved targets would be quicker to read when a process starts, and wrong between the arrival of an
entity and the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz import fuzz, process, utils
from sqlalchemy import ColumnElement, Connection, select

from wellread.store.catalogue.documents import entity_nodes
from wellread.store.catalogue.documents.collection_records import HeldByCollection, stamps_of
from wellread.store.catalogue.documents.entity_nodes import (
    EntityNode,
    Mention,
    MentionScans,
    Nodes,
    load_nodes,
    nodes_of,
)
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.name_records import (
    ADDRESS,
    LOOSE,
    RELATION,
    TARGET,
    called,
    cut,
    joined,
    relation_key,
    sorts,
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
    """The entities and relations of the collection as this transaction sees them."""
    edges = (
        select(relations.c.source, relations.c.type, relations.c.target, documents.c.uri)
        .join_from(relations, documents, documents.c.id == relations.c.document_id)
        .where(documents.c.collection == collection)
        .order_by(documents.c.uri, relations.c.ordinal)
    )
    return Network(
        collection,
        Nodes(load_nodes(connection, collection)),
        (RelationRow(*row) for row in connection.execute(edges)),
        _relation_names(connection, collection),
    )


def _relation_names(connection: Connection, collection: str) -> RelationNames:
    said = select(collection_settings.c.settings).where(collection_settings.c.name == collection)
    return RelationNames(connection.execute(said).scalar())


def _network_around(connection: Connection, collection: str, entity_id: str) -> Network | None:
    """The part of the network with all edges of one entity; None where it is not there."""
    nodes = nodes_of(connection, collection, [entity_id])
    if not nodes:
        return None
    mine = Nodes(nodes)
    pointing = document_names.c.document_id.label("known")
    keys = [*map(relation_key, mine.names), *map(cut, mine.addresses)]
    rows = {
        (row.known, row.ordinal): row for row in _edges(connection, relations.c.source, [entity_id])
    }
    by_key = (document_names.c.sort == TARGET, document_names.c.collection == collection)
    for some in chunks(dict.fromkeys(keys)):
        found = select(pointing).where(*by_key, document_names.c.key.in_(some)).distinct()
        ids = connection.execute(found).scalars().all()
        rows |= {
            (row.known, row.ordinal): row
            for row in _edges(connection, relations.c.document_id, ids)
        }
    edges = [
        RelationRow(row.source, row.type, row.target, row.uri)
        for row in sorted(rows.values(), key=lambda row: (row.uri, row.ordinal))
        if row.collection == collection
    ]
    targets = [address for one in edges for address in (one.target, joined(one.base, one.target))]
    sources = [entity_id, *(one.source for one in edges)]
    known = _called(connection, collection, targets, sources)
    return Network(collection, known, edges, _relation_names(connection, collection))


def _edges(connection: Connection, column: ColumnElement[Any], values: Sequence[str]) -> list[Any]:
    """Relations with where they are said, of those whose column has one of the values."""
    statement = (
        select(
            relations.c.document_id.label("known"),
            *(relations.c[name] for name in ("ordinal", "source", "type", "target")),
            documents.c.uri,
            documents.c.collection,
        )
        .join_from(relations, documents, documents.c.id == relations.c.document_id)
        .where(column.in_(VALUES))
    )
    return list(rows_in(connection, statement, values))


def _called(
    connection: Connection, collection: str, names: Iterable[str], sources: Sequence[str]
) -> Nodes:
    """The entities that one of ``names`` may be called by, and those with the ids ``sources``."""
    keys = [key for name in dict.fromkeys(names) for key in target_keys(name, "")]
    found = called(connection, [collection], (LOOSE, ADDRESS), keys)
    ids = [one.value for those in found.values() for one in those]
    return Nodes(nodes_of(connection, collection, [*sources, *ids]))


MOST_HOPS = 4
LEAST_LIKENESS = 70.0  # of 100, for a name to be offered in place of one that is not there


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMentions:
    """An entity that a document names, with the places in reading order."""

    node: EntityNode
    places: tuple[Mention, ...]


class Graph(CataloguePart):
    """Entities, relations and mentions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held = HeldByCollection(lambda connection, name, _: load_network(connection, name))
        self.scans = MentionScans(database)

    # --- entities ---

    def resolve(self, collections: Sequence[str], name: str) -> list[EntityNode]:
        """Who is called ``name``: by id, title, alias or address, in that order.

        Case, Unicode forms, white space and a leading article do not count. Hyphens and plurals
        do not when nothing fits better and they lead to one entity only.
        """
        with self._database.read() as connection:
            scope = collections or sorted(stamps_of(connection))
            return [
                node
                for one in scope
                for node in _called(connection, one, [name], sources=[name]).find(name)
            ]

    def near(self, collections: Sequence[str], name: str, limit: int = 5) -> list[EntityNode]:
        """Entities with a name that looks like ``name``, the most alike first."""
        found: dict[tuple[str, str], tuple[float, EntityNode]] = {}
        for network in self._networks(collections):
            for other, likeness, _ in process.extract(
                name,
                network.nodes.names.keys(),
                scorer=fuzz.WRatio,
                processor=utils.default_process,
                limit=4 * limit,
                score_cutoff=LEAST_LIKENESS,
            ):
                node = network.nodes.by_id[network.nodes.names[other]]
                found.setdefault((network.collection, node.id), (likeness, node))
        best = sorted(found.values(), key=lambda one: (-one[0], one[1].title))
        return [node for _, node in best[:limit]]

    def entity(self, collection: str, entity_id: str) -> EntityNode | None:
        """The entity with exactly this id, or None."""
        return next(iter(self.nodes([(collection, entity_id)])), None)

    def nodes(self, wanted: Sequence[tuple[str, str]]) -> list[EntityNode]:
        """The entities with these collections and ids, by collection and id."""
        by_collection: dict[str, list[str]] = {}
        for collection, known in wanted:
            by_collection.setdefault(collection, []).append(known)
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
        """The entities of the collections, or those of some types, by type and title."""
        networks = self._networks(collections)
        found = [node for network in networks for node in network.nodes.by_id.values()]
        return sorted(
            (node for node in found if types is None or node.type in types),
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
        """What the entity is related to, also what is not there yet; outgoing edges first.

        Args:
            types: relation types or their inverses; None takes all.
            direction: of the relation as it is named in ``types``: ``used_by`` outwards is
                ``uses`` inwards. Relations that read the same from both sides have no direction.
        """
        with self._database.read() as connection:
            scope = collections or sorted(stamps_of(connection))
            networks = [_network_around(connection, one, entity_id) for one in scope]
        return [
            one
            for network in networks
            if network and entity_id in network.nodes.by_id
            for one in network.neighbours(entity_id, types, direction)
        ]

    def edges(self, collections: Sequence[str], types: Sequence[str] | None = None) -> list[Edge]:
        """Every edge, or those of some types; the name of an inverse does as well.

        Two that say the same (``a uses b`` and ``b used_by a``) are one edge.
        """
        return [edge for one in self._networks(collections) for edge in one.edges(types)]

    def degrees(self, collections: Sequence[str]) -> dict[tuple[str, str], int]:
        """(Collection, entity id) to how many edges it has, in and out."""
        return {
            (network.collection, known): network.degree(known)
            for network in self._networks(collections)
            for known in network.nodes.by_id
        }

    def relation_kinds(self, collections: Sequence[str]) -> list[RelationKind]:
        """The relation types that are declared or in use, with their inverses, by name."""
        found: dict[tuple[str, str], RelationKind] = {}
        for kind in (kind for one in self._networks(collections) for kind in one.kinds()):
            before = found.get((kind.type, kind.inverse))
            words = dict.fromkeys([*(before.words if before else ()), *kind.words])
            edges = kind.edges + (before.edges if before else 0)
            found[kind.type, kind.inverse] = replace(kind, words=tuple(words), edges=edges)
        return sorted(found.values(), key=lambda kind: (kind.type, kind.inverse))

    def relation_types(self, collections: Sequence[str]) -> list[RelationKind]:
        """``relation_kinds`` without counting edges."""
        found: dict[tuple[str, str], RelationKind] = {}
        with self._database.read() as connection:
            for name in collections:
                names = _relation_names(connection, name)
                used = sorts(connection, [name], RELATION)
                for sort in (*names.words, *(names.primary(one)[0] for one in used)):
                    kind = names.kind(sort)
                    before = found.get((kind.type, kind.inverse))
                    words = dict.fromkeys([*(before.words if before else ()), *kind.words])
                    found[kind.type, kind.inverse] = replace(kind, words=tuple(words))
        return sorted(found.values(), key=lambda kind: (kind.type, kind.inverse))

    def paths(
        self,
        collections: Sequence[str],
        start: str,
        end: str,
        hops: int = MOST_HOPS,
        limit: int = 10,
    ) -> list[Path]:
        """Ways of at most ``hops`` (four) edges between two entities, shortest first.

        Edges are walked in both directions; every step says how it reads.
        """
        hops = min(hops, MOST_HOPS)
        networks = self._networks(collections)
        found = [path for one in networks for path in one.paths(start, end, hops, limit)]
        return sorted(found, key=lambda path: len(path.steps))[:limit]

    # --- mentions ---

    mentions_of = reading(entity_nodes.mentions_of)
    documents_mentioning = reading(entity_nodes.documents_mentioning)
    mention_total = reading(entity_nodes.total_of)
    mention_totals = reading(entity_nodes.totals)

    def entities_in(self, document_id: str) -> list[EntityMentions]:
        """The entities that the document names, most often named first."""
        with self._database.read() as connection:
            places: dict[str, list[Mention]] = {}
            for place in entity_nodes.mentions_in(connection, document_id):
                places.setdefault(place.entity_id, []).append(place)
            inside = documents.c.id == document_id
            collection = connection.execute(select(documents.c.collection).where(inside)).scalar()
        networks = self._networks([collection]) if collection and places else []
        found = [
            EntityMentions(node=network.nodes.by_id[known], places=tuple(spots))
            for network in networks
            for known, spots in places.items()
            if known in network.nodes.by_id
        ]
        return sorted(found, key=lambda one: (-len(one.places), one.places[0].span.start))

    def _networks(self, collections: Sequence[str]) -> list[Network]:
        """The networks of the collections as they are now, all from one snapshot."""
        with self._database.read() as connection:
            return self._held.of(connection, stamps_of(connection), collections)
