"""Entities: one with its facts, relations and mentions, and lists of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Query

from wellread.ask.retrieve.search import check_collections
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.timelines import naming_sentence
from wellread.serve.error_shapes import Problem, ProblemError, problem_of_status
from wellread.serve.features.feature import FeatureRouter, Many, Offset, Scope, refusals
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import FACES, Quoted, Shape
from wellread.store.catalogue.documents.entity_nodes import (
    EntityNode,
    MentioningDocument,
    MentionTotal,
)
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.text.names import key_of
from wellread.types import Filters, Span
from wellread.values.locators import Marks

router = FeatureRouter()
AROUND = 300  # characters looked at on both sides of a mention for its sentence
TOPICS = "GET /api/topics lists what is named most"
EntityOrder = Literal["mentions", "relations", "title"]

FACES.show_whole(MentionTotal)
FACES.show(Neighbour, "relation direction known name entity=node")


class MentionBody(
    Shape, line="*quoted mentions=named.mentions name=named.name name_span=named.first"
):
    """A document that names the entity; its first mention, at ``nameSpan``, in its sentence."""

    quoted: Quoted
    named: MentioningDocument


class EntityBody(
    Shape,
    line="""*node aliases=node.aliases url=node.url summary taxonomy relations mention_total
    mentions others""",
):
    """An entity with its facts, relations and mentions. ``others`` are called the same.

    ``relation`` of a relation is its type or, for an edge that points to the entity (``direction``
    is ``in``), its inverse; ``entity`` is null when ``name`` is not there yet.
    """

    node: EntityNode
    summary: str
    taxonomy: Mapping[str, tuple[str, ...]]
    relations: tuple[Neighbour, ...]
    mention_total: MentionTotal
    mentions: tuple[MentionBody, ...]
    others: tuple[EntityNode, ...]


class EntityLine(
    Shape, line="*node relations mentioned_in=total.documents mentions=total.mentions"
):
    """An entity in a list: how many relations it has, how many documents name it, how often."""

    node: EntityNode
    relations: int
    total: MentionTotal


class EntitiesBody(Shape):
    """A part of the list of entities; ``types``: how many of each type the whole list has."""

    total: int
    offset: int
    types: dict[str, int]
    entities: tuple[EntityLine, ...]


# A name may be an address or an id with slashes.
@router.get("/api/entities/{name:path}", responses=refusals(s404="No such entity or collection"))
def entity(
    kb: Kb,
    name: str,
    collection: Annotated[list[str] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, le=200)] = 20,
) -> EntityBody:
    """The entity with this id, title, alias or address; ``limit`` is of ``mentions``."""
    scope = tuple(collection or ())
    check_collections(kb, Filters(collections=scope))
    body = entity_body(kb, scope, name, limit)
    if body is None:
        raise ProblemError(unknown_entity(kb, scope, name, lists=TOPICS))
    return body


@router.get("/api/entities")
def list_entities(
    kb: Kb,
    scope: Scope,
    query: Annotated[str, Query(max_length=500, description="a part of a name")] = "",
    type: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    order: EntityOrder = "mentions",
    limit: Many = 50,
    offset: Offset = 0,
) -> EntitiesBody:
    """Entities, those that most documents name first, a page of them."""
    check_collections(kb, Filters(collections=scope))
    types = [one for one in type if one.strip()] or None
    return entities_body(kb, scope, types, (limit, offset), part=query, order=order)


def entity_body(
    kb: KnowledgeBase, collections: Sequence[str], name: str, limit: int
) -> EntityBody | None:
    """The entity called ``name`` with at most ``limit`` documents that name it; None: nobody is."""
    graph = kb.catalogue.graph
    found = graph.resolve(collections, name)
    document = kb.catalogue.document(found[0].document_id) if found else None
    if document is None:
        return None
    node, scope = found[0], (found[0].collection,)
    mentioning = graph.documents_mentioning(scope, node.id, limit)
    return EntityBody(
        node=node,
        summary=document.summary,
        taxonomy=document.taxonomy,
        relations=tuple(graph.neighbours(scope, node.id)),
        mention_total=graph.mention_total(scope, node.id),
        mentions=tuple(_mentions(kb, mentioning)),
        others=tuple(found[1:]),
    )


def unknown_entity(
    kb: KnowledgeBase, collections: Sequence[str], name: str, *, lists: str
) -> Problem:
    """That nothing is called ``name``, with names that look like it, else what ``lists`` them."""
    near = kb.catalogue.graph.near(collections, name)
    names = ", ".join(dict.fromkeys(node.title for node in near))
    hint = f"similar names: {names}" if names else lists
    return problem_of_status(HTTPStatus.NOT_FOUND, f"no entity is called {name!r}", hint)


def _mentions(kb: KnowledgeBase, found: Sequence[MentioningDocument]) -> list[MentionBody]:
    windows = [(one.document.id, _window(one)) for one in found]
    texts = kb.catalogue.texts(windows)
    marks = kb.catalogue.marks_over([(one.document.id, one.first) for one in found])
    bodies = []
    for one, (_, window), text, over in zip(found, windows, texts, marks, strict=True):
        span = naming_sentence(text, window.start, one.first)
        said = text[span.start - window.start : span.end - window.start]
        locator = Marks(over).locate(one.first)
        quoted = Quoted(document=one.document, span=span, text=said, locator=locator)
        bodies.append(MentionBody(quoted=quoted, named=one))
    return bodies


def _window(one: MentioningDocument) -> Span:
    start = max(0, one.first.start - AROUND)
    return Span(start=start, end=min(one.document.characters, one.first.end + AROUND))


def entities_body(
    kb: KnowledgeBase,
    collections: Sequence[str],
    types: Sequence[str] | None,
    page: tuple[int, int],
    *,
    part: str = "",
    order: EntityOrder = "mentions",
) -> EntitiesBody:
    """A part of the list of entities; ``page``: limit and offset; ``part``: of a name or the id."""
    graph = kb.catalogue.graph
    there = {node.type for node in graph.entities(collections)}
    for unknown in sorted(set(types or ()) - there):
        known = ", ".join(sorted(filter(None, there))) or "none"
        raise UnknownNameError(
            f"there is no entity of the type {unknown!r}", hint=f"known: {known}"
        )
    limit, offset = page
    wanted, none = key_of(part), MentionTotal(documents=0, mentions=0)
    totals, degrees = graph.mention_totals(collections), graph.degrees(collections)
    found = [
        EntityLine(
            node=node,
            relations=degrees.get((node.collection, node.id), 0),
            total=totals.get((node.collection, node.id), none),
        )
        for node in graph.entities(collections, types)
        if _has(node, wanted)
    ]
    found.sort(key=lambda line: (line.node.title.casefold(), line.node.collection, line.node.id))
    if order != "title":
        mentions = order == "mentions"
        found.sort(key=lambda line: -(line.total.documents if mentions else line.relations))
    return EntitiesBody(
        total=len(found),
        offset=offset,
        types=dict(sorted(Counter(line.node.type for line in found).items())),
        entities=tuple(found[offset : offset + limit]),
    )


def _has(node: EntityNode, key: str) -> bool:
    return not key or any(key in key_of(name) for name in (node.title, node.id, *node.aliases))
