"""Lists of entities: by type for the eye, and a page at a time for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal

from rich.console import Console
from rich.text import Text

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body, document_view
from wellread.serve.features.entity_views import NO_TYPE, EntityRefBody
from wellread.serve.terminal import fold, right, table
from wellread.store.catalogue.documents.entity_nodes import EntityNode, MentionTotal
from wellread.text.names import key_of
from wellread.text.words import harmless


class EntityLineBody(EntityRefBody):
    """An entity in a list: how many relations it has, how many documents name it, how often."""

    relations: int
    mentioned_in: int
    mentions: int


class EntityTypeBody(Body):
    """Entities of one type, the most often named first; ``count`` is of all of them."""

    type: str
    count: int
    entities: tuple[EntityLineBody, ...]


class EntityListBody(Body):
    """Every type of entity with its count."""

    count: int
    types: tuple[EntityTypeBody, ...]


EntityOrder = Literal["mentions", "relations", "title"]


class EntitiesBody(Body):
    """A part of the list of entities; ``types``: how many of each type the whole list has."""

    total: int
    offset: int
    types: dict[str, int]
    entities: tuple[EntityLineBody, ...]


def entity_list_body(
    kb: KnowledgeBase,
    collections: Sequence[str],
    types: Sequence[str] | None,
    limit: int,
    *,
    part: str = "",
) -> EntityListBody:
    """Types with their counts, and at most ``limit`` entities of each.

    Args:
        part: only those of which a name or the id has this in it.
    """
    nodes, lines = _lines(kb, collections, types, part)
    grouped: list[EntityTypeBody] = []
    for sort, group in groupby(nodes, key=lambda node: node.type):
        members = [lines(node) for node in group]
        members.sort(key=lambda line: -line.mentioned_in)
        grouped.append(
            EntityTypeBody(type=sort, count=len(members), entities=tuple(members[:limit]))
        )
    return EntityListBody(count=len(nodes), types=tuple(grouped))


def entities_body(
    kb: KnowledgeBase,
    collections: Sequence[str],
    types: Sequence[str] | None,
    page: tuple[int, int],
    *,
    part: str = "",
    order: EntityOrder = "mentions",
) -> EntitiesBody:
    """A part of the list of entities; ``page``: limit and offset. The other arguments as above.

    Raises:
        UnknownNameError: there is no entity of one of the types.
    """
    nodes, lines = _lines(kb, collections, types, part)
    there = {node.type for node in kb.catalogue.graph.entities(collections)}
    for unknown in sorted(set(types or ()) - there):
        known = ", ".join(sorted(filter(None, there))) or "none"
        raise UnknownNameError(
            f"there is no entity of the type {unknown!r}", hint=f"known: {known}"
        )
    limit, offset = page
    found = [lines(node) for node in nodes]
    found.sort(key=lambda line: (line.title.casefold(), line.collection, line.id))
    if order != "title":
        mentions = order == "mentions"
        found.sort(key=lambda line: -(line.mentioned_in if mentions else line.relations))
    return EntitiesBody(
        total=len(found),
        offset=offset,
        types=dict(sorted(Counter(node.type for node in nodes).items())),
        entities=tuple(found[offset : offset + limit]),
    )


def _lines(
    kb: KnowledgeBase, collections: Sequence[str], types: Sequence[str] | None, part: str
) -> tuple[list[EntityNode], Callable[[EntityNode], EntityLineBody]]:
    """The entities that are listed, by type and title, and what makes a line of one."""
    graph = kb.catalogue.graph
    wanted = key_of(part)
    nodes = [one for one in graph.entities(collections, types) if _has(one, wanted)]
    totals, degrees = graph.mention_totals(collections), graph.degrees(collections)
    none = MentionTotal(documents=0, mentions=0)

    def line(node: EntityNode) -> EntityLineBody:
        key = (node.collection, node.id)
        total = totals.get(key, none)
        return EntityLineBody.of(
            node,
            view_url=document_view(node.document_id),
            relations=degrees.get(key, 0),
            mentioned_in=total.documents,
            mentions=total.mentions,
        )

    return nodes, line


def _has(node: EntityNode, key: str) -> bool:
    return not key or any(key in key_of(name) for name in (node.title, node.id, *node.aliases))


def print_entities(console: Console, body: EntityListBody) -> None:
    """Every type with its count and entities."""
    if not body.types:
        console.print("There are no entities here.")
        return
    for group in body.types:
        head = Text(harmless(group.type or NO_TYPE), style="bold")
        head.append(f"  {group.count:,}", style="cyan")
        console.print(head, soft_wrap=True)
        columns = (fold("entity"), fold("id"), *map(right, ("relations", "documents", "mentions")))
        rows: list[tuple[str | Text, ...]] = []
        for one in group.entities:
            counts = (f"{count:,}" for count in (one.relations, one.mentioned_in, one.mentions))
            rows.append((one.title, Text(harmless(one.id), style="dim"), *counts))
        console.print(table(columns, rows, padding=(0, 2, 0, 0)))
        if group.count > len(group.entities):
            console.print(Text(f"… and {group.count - len(group.entities):,} more", style="dim"))
        console.print()
