"""The entities of one collection in memory, found by whatever they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urljoin

from sqlalchemy import ColumnElement, Connection, select, true

from wellread.store.schema.database import aside, chunks
from wellread.store.schema.tables import documents, entities
from wellread.text.names import (
    address_key,
    address_keys,
    bracketed_forms,
    key_of,
    looks_like_address,
    loose_key,
)

Named = dict[str, dict[str, None]]  # key to the ids that it leads to, the better ones first


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityNode:
    """An entity as the graph knows it.

    Attributes:
        document_id: the document that describes it; ``documents`` are all that do.
        addresses: the urls and uris of those.
    """

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
    """The entities of the collection, by id; of several documents with one id all names count.

    Args:
        where: which documents count.
    """
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
