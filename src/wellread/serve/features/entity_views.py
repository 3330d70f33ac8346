"""What is shown of entities: one with all that is known of it, or lists by type."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal

from rich.console import Console
from rich.text import Text

from wellread.kb import KnowledgeBase
from wellread.library.timelines import naming_sentence
from wellread.serve.error_shapes import Problem, problem_of_status
from wellread.serve.features.bodies import Body, SourceBody, SpanBody, document_view
from wellread.serve.terminal import fold, table, whole
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.mention_records import MentioningDocument
from wellread.store.catalogue.graph.relation_network import Neighbour
from wellread.text.words import harmless
from wellread.types import Span
from wellread.values.locators import Marks

AROUND = 300  # characters looked at on both sides of a mention for its sentence
NO_TYPE = "(no type)"


class EntityRefBody(Body):
    """An entity in a line. ``viewUrl`` opens the document that describes it."""

    collection: str
    id: str
    type: str
    title: str
    document_id: str
    view_url: str


class RelationBody(Body):
    """What the entity is related to, read from the entity.

    ``relation`` is the type or, for an edge that points to the entity (``direction`` is ``in``),
    its inverse. ``entity`` is null when ``name`` is not there yet.
    """

    relation: str
    direction: Literal["out", "in"]
    known: bool
    name: str
    entity: EntityRefBody | None


class MentionBody(SourceBody):
    """A document that names the entity; its first mention, at ``nameSpan``, in its sentence."""

    mentions: int
    name: str
    name_span: SpanBody


class MentionTotalBody(Body):
    """How many documents name the entity, and how often altogether."""

    documents: int
    mentions: int


class EntityBody(EntityRefBody):
    """An entity with its facts, relations and mentions. ``others`` are called the same."""

    aliases: tuple[str, ...]
    url: str
    summary: str
    taxonomy: dict[str, tuple[str, ...]]
    relations: tuple[RelationBody, ...]
    mention_total: MentionTotalBody
    mentions: tuple[MentionBody, ...]
    others: tuple[EntityRefBody, ...]


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
    return EntityBody.of(
        node,
        view_url=document_view(node.document_id),
        summary=document.summary,
        taxonomy=dict(document.taxonomy),
        relations=[_relation(one) for one in neighbours],
        mention_total=total,
        mentions=_mentions(kb, mentioning),
        others=[_ref(other) for other in found[1:]],
    )


def unknown_entity(
    kb: KnowledgeBase, collections: Sequence[str], name: str, *, lists: str
) -> Problem:
    """That nothing is called ``name``, with names that look like it, else what ``lists`` them."""
    near = kb.catalogue.graph.near(collections, name)
    names = ", ".join(dict.fromkeys(node.title for node in near))
    hint = f"similar names: {names}" if names else lists
    return problem_of_status(HTTPStatus.NOT_FOUND, f"no entity is called {name!r}", hint)


def _ref(node: EntityNode) -> EntityRefBody:
    return EntityRefBody.of(node, view_url=document_view(node.document_id))


def _relation(neighbour: Neighbour) -> RelationBody:
    node = neighbour.node
    return RelationBody.of(neighbour, entity=_ref(node) if node else None)


def _mentions(kb: KnowledgeBase, found: Sequence[MentioningDocument]) -> list[MentionBody]:
    windows = [(one.document.id, _window(one)) for one in found]
    texts = kb.catalogue.texts(windows)
    marks = kb.catalogue.marks_over([(one.document.id, one.first) for one in found])
    bodies = []
    for one, (_, window), text, over in zip(found, windows, texts, marks, strict=True):
        span = naming_sentence(text, window.start, one.first)
        said = text[span.start - window.start : span.end - window.start]
        locator = Marks(over).locate(one.first)
        bodies.append(MentionBody.at(one.document, span, said, locator, one, name_span=one.first))
    return bodies


def _window(one: MentioningDocument) -> Span:
    start = max(0, one.first.start - AROUND)
    return Span(start=start, end=min(one.document.characters, one.first.end + AROUND))


def print_entity(console: Console, body: EntityBody) -> None:
    """Facts, relations and mentions of one entity."""
    _line(console, (body.title, "bold"), (f"  {body.type or NO_TYPE}", "cyan"))
    _line(console, (f"{body.id} in “{body.collection}”", "dim"))
    if body.aliases:
        _line(console, (f"also called {', '.join(body.aliases)}", ""))
    for dimension, values in body.taxonomy.items():
        if values != (body.type,):
            _line(console, (f"{dimension}: {', '.join(values)}", ""))
    if body.summary:
        _line(console, (body.summary, ""))
    _line(console, (body.url, "dim"))
    _print_relations(console, body)
    _print_mentions(console, body)
    if body.others:
        others = ", ".join(f"{one.title} ({one.id} in “{one.collection}”)" for one in body.others)
        _line(console, (f"\nAlso called so: {others}", "yellow"))


def _print_relations(console: Console, body: EntityBody) -> None:
    if not body.relations:
        return
    _line(console, ("\nRelations", "bold"))
    rows = []
    for one in body.relations:
        name = Text(harmless(one.name))
        if one.entity:
            name.append(harmless(f"  {one.entity.id}"), style="dim")
        else:
            name.append("  not there yet", style="yellow")
        rows.append((one.relation, name))
    columns = (whole("", "cyan"), fold(""))
    console.print(table(columns, rows, show_header=False, padding=(0, 2, 0, 0)))


def _print_mentions(console: Console, body: EntityBody) -> None:
    total = body.mention_total
    if not total.documents:
        _line(console, ("\nNo other document names it.", "dim"))
        return
    documents = "1 document" if total.documents == 1 else f"{total.documents:,} documents"
    times = "once" if total.mentions == 1 else f"{total.mentions:,} times"
    _line(console, (f"\nNamed in {documents}, {times}", "bold"))
    for one in body.mentions:
        day = f"  {one.published_at.date().isoformat()}" if one.published_at else ""
        _line(
            console,
            (f"{one.mentions:>4}× ", "cyan"),
            (one.title, ""),
            (f"{day}{'  ' if one.locator else ''}{one.locator}", "dim"),
        )
        console.print(_quote(one), soft_wrap=True)
    if total.documents > len(body.mentions):
        console.print(Text(f"… and {total.documents - len(body.mentions):,} more", style="dim"))


def _quote(body: MentionBody) -> Text:
    """The sentence with the name in it set off."""
    start = body.name_span.start - body.source_span.start
    end = body.name_span.end - body.source_span.start
    parts = (body.quote[:start], body.quote[start:end], body.quote[end:])
    before, name, after = (harmless(part.replace("\n", " ")) for part in parts)
    return Text.assemble("      ", (before, "dim"), (name, "bold"), (after, "dim"))


def _line(console: Console, *parts: tuple[str, str]) -> None:
    shown = [(harmless(words), style) for words, style in parts]
    console.print(Text.assemble(*shown), soft_wrap=True)
