"""Routes that return an entity (facts, relations, mentions) and that list entities."""

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
from wellread.serve.features.feature import FeatureRouter, Limit, Offset, Scope, refusals
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import FACES, Quoted, Shape
from wellread.store.catalogue.documents.entity_nodes import (
    EntityNode,
    MentioningDocument,
    MentionTotal,
)
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.text.tokens import strict_key
from wellread.types import Filters, Span
from wellread.values.locators import Marks

router = FeatureRouter("read")
CONTEXT_CHARS = 300  # characters read on both sides of a mention to find its sentence
TOPICS_HINT = "GET /api/topics lists the entities that are named most"
EntityOrder = Literal["mentions", "relations", "title"]

FACES.show_whole(MentionTotal)
FACES.show(Neighbour, "relation direction known name entity=node")


class MentionBody(
    Shape, line="*quoted mentions=named.mentions name=named.name name_span=named.first"
):
    """A document that mentions the entity, with the sentence of the first mention."""

    quoted: Quoted
    named: MentioningDocument


class EntityBody(
    Shape,
    line="""*node aliases=node.aliases url=node.url summary taxonomy relations mention_total
    mentions others""",
):
    """An entity with its facts, relations and mentions. ``others`` have the same name.

    ``relation`` is the type of the edge or, for an edge that points to the entity (``direction`` is
    ``in``), its inverse; ``entity`` is null while no document describes ``name``.
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
    """An entity in a list, with the numbers of its relations, documents and mentions."""

    node: EntityNode
    relations: int
    total: MentionTotal


class EntitiesBody(Shape):
    """A page of entities; ``types`` counts the whole list by type."""

    total: int
    offset: int
    types: dict[str, int]
    entities: tuple[EntityLine, ...]


# Names may contain slashes: addresses and some ids do.
@router.get("/api/entities/{name:path}", responses=refusals(s404="No such entity or collection"))
def entity(
    kb: Kb,
    name: str,
    collection: Annotated[list[str] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, le=200)] = 20,
) -> EntityBody:
    """Return the entity with this id, title, alias or address; ``limit`` is for ``mentions``."""
    scope = tuple(collection or ())
    check_collections(kb, Filters(collections=scope))
    body = entity_body(kb, scope, name, limit)
    if body is None:
        raise ProblemError(unknown_entity(kb, scope, name, fallback_hint=TOPICS_HINT))
    return body


@router.get("/api/entities")
def list_entities(
    kb: Kb,
    scope: Scope,
    query: Annotated[str, Query(max_length=500, description="a part of a name")] = "",
    type: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    order: EntityOrder = "mentions",
    limit: Limit = 50,
    offset: Offset = 0,
) -> EntitiesBody:
    """List entities, by default in the order of how many documents mention them."""
    check_collections(kb, Filters(collections=scope))
    types = [name for name in type if name.strip()] or None
    return entities_body(kb, scope, types, (limit, offset), name_part=query, order=order)


def entity_body(
    kb: KnowledgeBase, collections: Sequence[str], name: str, limit: int
) -> EntityBody | None:
    """Return the entity ``name`` with up to ``limit`` documents that mention it, or None."""
    graph = kb.catalogue.graph
    matches = graph.resolve(collections, name)
    document = kb.catalogue.document(matches[0].document_id) if matches else None
    if document is None:
        return None
    node, scope = matches[0], (matches[0].collection,)
    mentioning = graph.documents_mentioning(scope, node.id, limit)
    return EntityBody(
        node=node,
        summary=document.summary,
        taxonomy=document.taxonomy,
        relations=tuple(graph.neighbours(scope, node.id)),
        mention_total=graph.mention_total(scope, node.id),
        mentions=tuple(_mentions(kb, mentioning)),
        others=tuple(matches[1:]),
    )


def unknown_entity(
    kb: KnowledgeBase, collections: Sequence[str], name: str, *, fallback_hint: str
) -> Problem:
    """Return the 404 problem for ``name``, with similar names as its hint if there are any."""
    similar_nodes = kb.catalogue.graph.similar_to(collections, name)
    names = ", ".join(dict.fromkeys(node.title for node in similar_nodes))
    hint = f"similar names: {names}" if names else fallback_hint
    return problem_of_status(HTTPStatus.NOT_FOUND, f"no entity is called {name!r}", hint)


def _mentions(kb: KnowledgeBase, mentioning: Sequence[MentioningDocument]) -> list[MentionBody]:
    windows = [(mention.document.id, _context_window(mention)) for mention in mentioning]
    texts = kb.catalogue.texts(windows)
    marks = kb.catalogue.marks_over([(m.document.id, m.first) for m in mentioning])
    bodies = []
    for mention, (_, window), text, nearby in zip(mentioning, windows, texts, marks, strict=True):
        span = naming_sentence(text, window.start, mention.first)
        sentence = text[span.start - window.start : span.end - window.start]
        locator = Marks(nearby).locate(mention.first)
        quoted = Quoted(document=mention.document, span=span, text=sentence, locator=locator)
        bodies.append(MentionBody(quoted=quoted, named=mention))
    return bodies


def _context_window(mention: MentioningDocument) -> Span:
    start = max(0, mention.first.start - CONTEXT_CHARS)
    end = min(mention.document.characters, mention.first.end + CONTEXT_CHARS)
    return Span(start=start, end=end)


def entities_body(
    kb: KnowledgeBase,
    collections: Sequence[str],
    types: Sequence[str] | None,
    page: tuple[int, int],
    *,
    name_part: str = "",
    order: EntityOrder = "mentions",
) -> EntitiesBody:
    """Return a page (limit and offset) of the entities with ``name_part`` in a name or the id."""
    graph = kb.catalogue.graph
    existing = {node.type for node in graph.entities(collections)}
    for unknown in sorted(set(types or ()) - existing):
        names = ", ".join(sorted(filter(None, existing))) or "none"
        raise UnknownNameError(
            f"there is no entity of the type {unknown!r}", hint=f"known: {names}"
        )
    limit, offset = page
    key, no_mentions = strict_key(name_part), MentionTotal(documents=0, mentions=0)
    totals, degrees = graph.mention_totals(collections), graph.degrees(collections)
    lines = [
        EntityLine(
            node=node,
            relations=degrees.get((node.collection, node.id), 0),
            total=totals.get((node.collection, node.id), no_mentions),
        )
        for node in graph.entities(collections, types)
        if any(key in strict_key(name) for name in (node.title, node.id, *node.aliases))
    ]
    lines.sort(key=lambda line: (line.node.title.casefold(), line.node.collection, line.node.id))
    if order != "title":
        mentions = order == "mentions"
        lines.sort(key=lambda line: -(line.total.documents if mentions else line.relations))
    return EntitiesBody(
        total=len(lines),
        offset=offset,
        types=dict(sorted(Counter(line.node.type for line in lines).items())),
        entities=tuple(lines[offset : offset + limit]),
    )
