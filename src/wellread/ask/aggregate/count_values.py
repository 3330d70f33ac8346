"""Counts the values that documents have: people, kinds, languages, taxonomy, stories."""

from __future__ import annotations

from wellread.ask.aggregate.count import Count, Result, entries_of, narrowed
from wellread.ask.aggregate.rows import day, value_rows
from wellread.ask.retrieve.retrieval import Row
from wellread.store.catalogue.stories.story_rows import Story


def count_values(count: Count) -> Result:
    """The values of a field, or of a dimension of the taxonomy, in the documents that are meant."""
    scope = narrowed(count)
    censuses = scope.kb.catalogue.censuses
    what = count.noun.what
    if what in ("author", "speaker", "language", "collection", "kind", "source_type"):
        values = censuses.values(what, scope.limits) if scope.collections else {}
        method = f"every {count.noun.one} that a document of the catalogue has"
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
        taxonomy = censuses.taxonomy(scope.limits)
        values = {value: ids for (name, value), ids in taxonomy.items() if name == count.noun.name}
        method = f"values of the dimension '{count.noun.name}'"
    limits = "".join(f", {part}" for part in count.conditions)
    return Result(
        columns=(count.noun.one.capitalize(), "Documents"),
        rows=value_rows(values),
        method=f"{method}{limits}",
    )


def count_stories(count: Count) -> Result:
    """Stories with an item in the documents that are meant, by their first date."""
    stories = count.scope.kb.catalogue.stories
    entries, _ = entries_of(count)
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
