"""What is shown of entities: one with all that is known of it, or lists by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from itertools import groupby
from urllib.parse import quote

from wellread.kb import KnowledgeBase
from wellread.locators import Marks, link_to
from wellread.serve.api.entity_schemas import (
    EntityBody,
    EntityLineBody,
    EntityListBody,
    EntityRefBody,
    EntityTypeBody,
    MentionBody,
    MentionTotalBody,
    RelationBody,
)
from wellread.serve.api.schemas import PlaceBody, SpanBody
from wellread.serve.present import view_url
from wellread.serve.problems import Problem, problem_of_status
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.mention_reads import MentioningDocument, MentionTotal
from wellread.store.catalogue.graph.relation_network import Neighbour
from wellread.text.sentences import sentence_spans
from wellread.types import Span

AROUND = 300  # characters looked at on both sides of a mention for its sentence


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
    total = graph.mention_total(scope, node.id)
    mentioning = graph.documents_mentioning(scope, node.id, limit)
    neighbours = graph.neighbours(scope, node.id)
    return EntityBody(
        **_ref(node).model_dump(by_alias=False),
        aliases=node.aliases,
        url=node.url,
        summary=document.summary,
        taxonomy=dict(document.taxonomy),
        relations=tuple(_relation(one) for one in neighbours),
        mention_total=MentionTotalBody(documents=total.documents, mentions=total.mentions),
        mentions=tuple(_mentions(kb, mentioning)),
        others=tuple(_ref(other) for other in found[1:]),
    )


def entity_list_body(
    kb: KnowledgeBase, collections: Sequence[str], types: Sequence[str] | None, limit: int
) -> EntityListBody:
    """Types with their counts, and at most ``limit`` entities of each."""
    graph = kb.catalogue.graph
    nodes = graph.entities(collections, types)
    totals, degrees = graph.mention_totals(collections), graph.degrees(collections)
    none = MentionTotal(documents=0, mentions=0)
    grouped: list[EntityTypeBody] = []
    for sort, group in groupby(nodes, key=lambda node: node.type):
        members = list(group)
        members.sort(key=lambda node: -totals.get((node.collection, node.id), none).documents)
        lines = []
        for node in members[:limit]:
            key = (node.collection, node.id)
            total = totals.get(key, none)
            line = EntityLineBody(
                **_ref(node).model_dump(by_alias=False),
                relations=degrees.get(key, 0),
                mentioned_in=total.documents,
                mentions=total.mentions,
            )
            lines.append(line)
        grouped.append(EntityTypeBody(type=sort, count=len(members), entities=tuple(lines)))
    return EntityListBody(count=len(nodes), types=tuple(grouped))


def unknown_entity(kb: KnowledgeBase, collections: Sequence[str], name: str) -> Problem:
    """That nothing is called ``name``, with names that look like it."""
    near = kb.catalogue.graph.near(collections, name)
    names = ", ".join(dict.fromkeys(node.title for node in near))
    hint = f"similar names: {names}" if names else "`wellread entities` lists what is there"
    return problem_of_status(HTTPStatus.NOT_FOUND, f"no entity is called {name!r}", hint)


def _ref(node: EntityNode) -> EntityRefBody:
    return EntityRefBody(
        collection=node.collection,
        id=node.id,
        type=node.type,
        title=node.title,
        document_id=node.document_id,
        view_url=f"/view/{quote(node.document_id, safe='')}",
    )


def _relation(neighbour: Neighbour) -> RelationBody:
    return RelationBody(
        relation=neighbour.relation,
        direction=neighbour.direction,
        known=neighbour.known,
        name=neighbour.name,
        entity=_ref(neighbour.node) if neighbour.node else None,
    )


def _mentions(kb: KnowledgeBase, found: Sequence[MentioningDocument]) -> list[MentionBody]:
    windows = [(one.document.id, _window(one)) for one in found]
    texts = kb.catalogue.texts(windows)
    marks = kb.catalogue.marks_over([(one.document.id, one.first) for one in found])
    bodies = []
    for one, (_, window), text, over in zip(found, windows, texts, marks, strict=True):
        span = _sentence(text, one.first, window.start)
        said = text[span.start - window.start : span.end - window.start]
        locator = Marks(over).locate(one.first)
        document = one.document
        url = document.url or document.uri
        body = MentionBody(
            document_id=document.id,
            title=document.title,
            url=url,
            link=link_to(url, locator, said, media_url=document.media_url),
            view_url=view_url(document.id, document.version, span),
            kind=document.kind,
            source_type=document.source_type,
            published_at=document.published_at,
            locator=locator.label,
            place=PlaceBody.model_validate(asdict(locator)),
            quote=said,
            source_span=SpanBody(start=span.start, end=span.end),
            mentions=one.mentions,
            name=one.name,
            name_span=SpanBody(start=one.first.start, end=one.first.end),
        )
        bodies.append(body)
    return bodies


def _window(one: MentioningDocument) -> Span:
    start = max(0, one.first.start - AROUND)
    return Span(start=start, end=min(one.document.characters, one.first.end + AROUND))


def _sentence(text: str, name: Span, offset: int) -> Span:
    """The sentence that the name stands in, as far as the window ``text`` shows it."""
    inside = Span(start=name.start - offset, end=name.end - offset)
    over = [span for span in sentence_spans(text) if span.overlaps(inside)] or [inside]
    start = min(over[0].start, inside.start)
    return Span(start=offset + start, end=offset + max(over[-1].end, inside.end))
