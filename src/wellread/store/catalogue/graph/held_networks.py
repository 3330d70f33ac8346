"""Holds the networks of collections in memory and makes those anew that have changed.

Names need folding and loose matching, which no index of the database gives, and a walk over
several hops would cost a query per step; so a network is read as a whole, once. What has changed
is told by the hashes of the entities' facts (``identity.facts_of``), which are looked at again
only when some collection has another stamp (``vocabulary``). A column with resolved targets would
be quicker to read when a process starts, and wrong between the arrival of an entity and the end
of the run.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from wellread.identity import tagged_hash
from wellread.store.catalogue.documents.vocabularies import stamps_of
from wellread.store.catalogue.graph.entity_nodes import EntityNode, Nodes
from wellread.store.catalogue.graph.relation_network import Network, RelationNames, RelationRow
from wellread.store.schema.activity_tables import collections as collection_settings
from wellread.store.schema.document_tables import documents, entities, relations

SEEN = "wellread.networks"  # under which a pooled connection keeps what it saw last

Stamps = dict[str, str]


class HeldNetworks:
    """The network of each collection that was asked for. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[str, Network]] = {}

    def of(self, connection: Connection, collections: Sequence[str]) -> list[Network]:
        """The networks of the collections (none: of all) as this transaction sees them."""
        stamps = _stamps(connection)
        found = []
        for name in dict.fromkeys(collections or sorted(stamps)):
            if name not in stamps:
                continue
            held = self._held.get(name)
            if held is None or held[0] != stamps[name]:
                held = (stamps[name], load_network(connection, name))
                with self._lock:
                    self._held[name] = held
            found.append(held[1])
        return found


def load_network(connection: Connection, collection: str) -> Network:
    """The entities and relations of the collection as this transaction sees them."""
    inside = documents.c.collection == collection
    statement = (
        select(
            entities.c.entity_id,
            entities.c.entity_type,
            entities.c.aliases,
            documents.c.id,
            documents.c.title,
            documents.c.url,
            documents.c.uri,
        )
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(inside)
        .order_by(entities.c.entity_id, documents.c.uri)
    )
    nodes: dict[str, EntityNode] = {}
    addresses: dict[str, list[str]] = {}
    for known, sort, aliases, document_id, title, url, uri in connection.execute(statement):
        addresses.setdefault(known, []).extend(filter(None, (url, uri)))
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
            )
        else:  # described by several documents: all their names count
            names = dict.fromkeys((*first.aliases, title, *aliases))
            names.pop(first.title, None)
            nodes[known] = replace(
                first, aliases=tuple(names), documents=(*first.documents, document_id)
            )
    edges = (
        select(relations.c.source, relations.c.type, relations.c.target, documents.c.uri)
        .join_from(relations, documents, documents.c.id == relations.c.document_id)
        .where(inside)
        .order_by(documents.c.uri, relations.c.ordinal)
    )
    said = select(collection_settings.c.settings).where(collection_settings.c.name == collection)
    return Network(
        collection,
        Nodes(nodes.values(), addresses),
        (RelationRow(*row) for row in connection.execute(edges)),
        RelationNames(connection.execute(said).scalar()),
    )


def _stamps(connection: Connection) -> Stamps:
    """Collection with entities to a hash of all that its network is made of.

    The hashes are read again only when a collection has changed since this connection looked.
    """
    now = stamps_of(connection)
    seen: tuple[Stamps, Stamps] | None = connection.info.get(SEEN)
    if seen and now == seen[0]:
        return seen[1]
    facts: dict[str, list[str]] = {}
    statement = select(documents.c.collection, documents.c.id, documents.c.facts).join_from(
        entities, documents, documents.c.id == entities.c.document_id
    )
    for collection, known, hashed in connection.execute(statement):
        facts.setdefault(collection, []).append(f"{known} {hashed}")
    columns = (collection_settings.c.name, collection_settings.c.updated_at)
    settled = {name: at.isoformat() for name, at in connection.execute(select(*columns))}
    stamps = {
        name: tagged_hash("net", settled.get(name, ""), "\n".join(sorted(found)))
        for name, found in facts.items()
    }
    connection.info[SEEN] = (now, stamps)
    return stamps
