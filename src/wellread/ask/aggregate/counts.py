"""Counts and lists, exact and whole: documents here, other things by ``count_values.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wellread.ask.aggregate.count_values import (
    Result,
    count_entities,
    count_relation_types,
    count_relations,
    count_stories,
    count_values,
)
from wellread.ask.aggregate.queries.holding import Request, documents_about
from wellread.ask.aggregate.queries.nouns import What, said
from wellread.ask.aggregate.queries.query import CatalogueQuery, QueryError
from wellread.ask.aggregate.queries.result import (
    DOCUMENTS,
    NAMED,
    AggregateResult,
    Row,
    amount,
    document_rows,
    there_are,
)
from wellread.ask.aggregate.queries.scope import Scope
from wellread.store.catalogue.documents.aggregates import FIELDS, Entry

STRATEGY = "counted in the catalogue"
MOST_ROWS = 20_000  # of a count; a list has all
UNDATED = "without a date"


def counted(scope: Scope, query: CatalogueQuery) -> AggregateResult:
    """The exact count or the whole list."""
    count = Request(query=query, scope=scope)
    result = _COUNTERS[query.of.what](count)
    number = len(result.rows) if result.number is None else result.number
    noun = query.of
    return AggregateResult(
        strategy=STRATEGY,
        kind="list" if query.form == "list" else "count",
        sentence=result.sentence or there_are(number, noun.one, noun.many, count.conditions),
        number=number,
        columns=result.columns,
        rows=result.rows,
        method=f"{result.method}; in {scope.where}",
    )


def _count_documents(count: Request) -> Result:
    """Documents within the limits, about the topic, related as asked."""
    plain = count.query.about is None and count.query.related is None
    if plain and not count.query.by and count.query.form == "count":
        totals = count.scope.kb.catalogue.censuses.totals(count.scope.limits)
        if totals.documents > MOST_ROWS:
            return _very_many(count, totals.documents)
    entries, held = count.entries()
    if count.query.by:
        return _divided(count, entries)
    method = f"all {count.query.of.many} of the catalogue{count.after_noun}"
    if held:
        method += f": {held.method}"
    return Result(
        columns=NAMED if held else DOCUMENTS,
        rows=document_rows(entries, held.counts if held else None),
        method=method,
        sentence=_by_kind(count, _kinds(entries)),
    )


def _very_many(count: Request, number: int) -> Result:
    """So many that a row for each would help nobody: a row for each kind, source type and year."""
    censuses = count.scope.kb.catalogue.censuses
    sizes = censuses.sizes(("kind", "source_type", "year"), count.scope.limits)
    kinds: dict[str, int] = {}
    for (kind, _, _), size in sizes.items():
        kinds[kind] = kinds.get(kind, 0) + size
    return Result(
        columns=("Kind", "Source type", "Year", "Documents"),
        rows=tuple(
            Row(
                cells=(*key, f"{size:,}"),
                line=f"{', '.join(filter(None, key))}: {amount(size, 'document', 'documents')}",
            )
            for key, size in sizes.items()
        ),
        method=f"all {count.query.of.many} of the catalogue{count.suffix}; more than "
        f"{MOST_ROWS:,}, so the rows are groups (ask for a list to have each)",
        number=number,
        sentence=_by_kind(count, kinds),
    )


def _kinds(entries: Sequence[Entry]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        found[entry.kind] = found.get(entry.kind, 0) + 1
    return found


def _by_kind(count: Request, kinds: Mapping[str, int]) -> str:
    """The sentence for documents of several kinds, which says how many of each; else empty."""
    if len(kinds) < 2:
        return ""
    number = sum(kinds.values())
    whole = there_are(number, count.query.of.one, count.query.of.many, count.conditions)
    parts = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"{whole[:-1]}: {', '.join(f'{number:,} of the kind {kind}' for kind, number in parts)}."


def _divided(count: Request, entries: Sequence[Entry]) -> Result:
    """The count for each value of what it is divided by."""
    by = count.query.by[0]
    scope = count.scope.only([entry.id for entry in entries])
    groups: dict[str, list[str]] = {}
    if by in ("year", "month"):
        for entry in entries:
            period = UNDATED
            if entry.published_at:
                period = f"{entry.published_at:{'%Y' if by == 'year' else '%Y-%m'}}"
            groups.setdefault(period, []).append(entry.id)
    elif by in FIELDS:
        groups = scope.kb.catalogue.censuses.values(FIELDS[FIELDS.index(by)], scope.limits)
    else:
        taxonomy = scope.kb.catalogue.censuses.taxonomy(scope.limits)
        groups = {value: ids for (name, value), ids in taxonomy.items() if name == by}
    noun = count.query.of
    rows = tuple(
        Row(cells=(value, amount(len(ids), noun.one, noun.many)), document_ids=tuple(ids))
        for value, ids in groups.items()
    )
    sentence = there_are(len(entries), noun.one, noun.many, count.conditions)
    return Result(
        columns=(said(by).capitalize(), noun.many.capitalize()),
        rows=rows,
        method=f"all {noun.many} of the catalogue{count.suffix}, divided by {said(by)}",
        number=len(entries),
        sentence=f"{sentence[:-1]}; divided by {said(by)} they are in "
        f"{amount(len(rows), 'group', 'groups')}.",
    )


def _count_mentions(count: Request) -> Result:
    """Places that name the topic."""
    topic = count.query.about
    if topic is None:
        raise QueryError("about: mentions of what?")
    topic = replace(topic, naming=True)
    held = documents_about(count.scope, topic)
    entries = [entry for entry in count.scope.entries() if entry.id in held.counts]
    number = sum(held.counts.values())
    names = topic.quoted
    limits = "".join(f", {part}" for part in count.conditions[1:])
    often = amount(number, "time", "times")
    where = amount(len(entries), "document", "documents")
    return Result(
        columns=NAMED,
        rows=document_rows(entries, held.counts),
        method=f"places in {held.method}{limits}",
        number=number,
        sentence=f"{names} is mentioned {often} in {where}{limits}.",
    )


def _count_passages(count: Request) -> Result:
    """Indexed passages."""
    totals = count.scope.kb.catalogue.censuses.totals(count.scope.limits)
    entries = count.scope.entries()
    return Result(
        columns=DOCUMENTS,
        rows=document_rows(entries),
        method=f"passages of the {amount(len(entries), 'document', 'documents')}",
        number=totals.passages,
    )


_COUNTERS: Mapping[What, Callable[[Request], Result]] = {
    "documents": _count_documents,
    "entities": count_entities,
    "values": count_values,
    "author": count_values,
    "speaker": count_values,
    "language": count_values,
    "collection": count_values,
    "kind": count_values,
    "source_type": count_values,
    "entity_types": count_values,
    "dimensions": count_values,
    "stories": count_stories,
    "mentions": _count_mentions,
    "relations": count_relations,
    "relation_types": count_relation_types,
    "passages": _count_passages,
}
