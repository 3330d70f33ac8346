"""Counts entities, relations, stories, and the values that documents have."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.ask.aggregate.queries.holding import Request, nodes_of
from wellread.ask.aggregate.queries.result import ENTITIES, Row, day, entity_rows, value_rows
from wellread.store.catalogue.stories.story_rows import Story


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The rows of a count. ``number`` is set when it is not that of the rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    method: str
    number: int | None = None
    sentence: str = ""


def count_entities(count: Request) -> Result:
    """Entities of a type or of all, within the limits, about the topic, related as asked."""
    graph = count.scope.kb.catalogue.graph
    nodes = graph.entities(count.scope.collections) if count.scope.collections else []
    if count.query.related:
        near = {(node.collection, node.id) for node in count.related()}
        nodes = [node for node in nodes if (node.collection, node.id) in near]
    names = count.query.of.names
    if names:
        nodes = [node for node in nodes if node.type in names]
    held = None
    if count.scope.limited or count.query.about:
        entries, held = count.entries()
        inside = {entry.id for entry in entries}
        nodes = [node for node in nodes if inside.intersection(node.documents)]
    types = " or ".join(f"'{name}'" for name in names)
    kind = f"entities of the type {types}" if names else "all entities"
    return Result(
        columns=ENTITIES,
        rows=entity_rows(nodes),
        method=kind + count.after_noun + (f": {held.method}" if held else ""),
    )


def count_relations(count: Request) -> Result:
    """Relations of all entities by type, or those of one entity."""
    graph, query = count.scope.kb.catalogue.graph, count.query
    if query.about is None:
        edges: dict[str, int] = {}
        for edge in graph.edges(count.scope.collections or ("",)):
            edges[edge.type] = edges.get(edge.type, 0) + 1
        rows = tuple(Row(cells=(kind, f"{number:,}")) for kind, number in sorted(edges.items()))
        return Result(
            columns=("Relation", "Number"),
            rows=rows,
            method="typed relations between entities, each counted once",
            number=sum(edges.values()),
        )
    near = [
        one
        for name in query.about.names
        for node in nodes_of(count.scope, name)
        for one in graph.neighbours([node.collection], node.id)
    ]
    return Result(
        columns=("Name", "Relation"),
        rows=tuple(
            Row(cells=(one.name, one.relation), document_ids=one.node.documents if one.node else ())
            for one in near
        ),
        method="relations of the entity in either direction, also to what has no entry yet",
    )


def count_relation_types(count: Request) -> Result:
    """The types of relations."""
    kinds = count.scope.kb.catalogue.graph.relation_kinds(count.scope.collections or ("",))
    return Result(
        columns=("Relation", "Inverse", "Number"),
        rows=tuple(Row(cells=(one.type, one.inverse, f"{one.edges:,}")) for one in kinds),
        method="relation types that are declared or in use",
    )


def count_values(count: Request) -> Result:
    """The values of a field, or of a dimension of the taxonomy, in the documents that are meant."""
    scope = count.narrowed()
    censuses = scope.kb.catalogue.censuses
    what = count.query.of.what
    if what in ("author", "speaker", "language", "collection", "kind", "source_type"):
        values = censuses.values(what, scope.limits) if scope.collections else {}
        method = f"every {count.query.of.one} that a document of the catalogue has"
    elif what == "dimensions":
        values = {}
        for (name, _), ids in censuses.taxonomy(scope.limits).items():
            values.setdefault(name, []).extend(known for known in ids if known not in values[name])
        method = "dimensions of the taxonomy"
    elif what == "entity_types":
        nodes = scope.kb.catalogue.graph.entities(scope.collections) if scope.collections else []
        inside = {entry.id for entry in scope.entries()}
        values = {}
        for node in nodes:
            ids = [known for known in node.documents if known in inside]
            if node.type and ids:
                values.setdefault(node.type, []).extend(ids)
        method = "types of the entities in the graph"
    else:
        wanted = count.query.of.names
        taxonomy = censuses.taxonomy(scope.limits)
        values = {value: ids for (name, value), ids in taxonomy.items() if name in wanted}
        method = f"values of the dimension '{wanted[0]}'"
    return Result(
        columns=(count.query.of.one.capitalize(), "Documents"),
        rows=value_rows(values),
        method=f"{method}{count.suffix}",
    )


def count_stories(count: Request) -> Result:
    """Stories with an item in the documents that are meant, by their first date."""
    stories = count.scope.kb.catalogue.stories
    entries, _ = count.entries()
    inside: dict[str, list[str]] = {}
    for known, places in stories.places([entry.id for entry in entries]).items():
        for place in places:
            inside.setdefault(place.story_id, []).append(known)
    told = [one for one in stories.told(list(inside)) if one.collection in count.scope.collections]
    told.sort(key=lambda story: (story.first_at is None, story.first_at, story.title))
    rows = tuple(
        Row(
            cells=(
                story.title,
                day(story.first_at),
                day(story.last_at),
            ),
            document_ids=tuple(dict.fromkeys(inside[story.id])),
            line=_told(story),
        )
        for story in told
    )
    return Result(
        columns=("Story", "First", "Last"),
        rows=rows,
        method="stories with an item in the documents that are meant",
    )


def _told(story: Story) -> str:
    """``Oldwick in the dark (2025-10-15 to 2025-10-24)``."""
    dates = dict.fromkeys(day(at) for at in (story.first_at, story.last_at) if at)
    return f"{story.title} ({' to '.join(dates)})" if dates else story.title
