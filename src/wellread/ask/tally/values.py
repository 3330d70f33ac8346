"""Counts the values that documents have: people, kinds, languages, taxonomy, stories."""

from __future__ import annotations

from wellread.ask.found import TallyRow
from wellread.ask.tally.count import Count, Result, entries_of, narrowed
from wellread.ask.tally.rows import value_rows


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
        TallyRow(
            cells=(
                story.title,
                f"{story.first_at:%Y-%m-%d}" if story.first_at else "",
                f"{story.last_at:%Y-%m-%d}" if story.last_at else "",
            ),
            document_ids=tuple(dict.fromkeys(inside[story.id])),
        )
        for story in told
    )
    return Result(
        columns=("Story", "First", "Last"),
        rows=rows,
        method="stories with an item in the documents that are meant",
    )
