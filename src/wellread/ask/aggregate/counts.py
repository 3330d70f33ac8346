"""Exact counts and complete lists of documents, entities and field values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from wellread.ask.aggregate.read.holding import (
    Request,
    documents_about,
    places_naming,
    places_signed,
)
from wellread.ask.aggregate.read.query import CatalogueQuery, QueryError, Topic, What, said
from wellread.ask.aggregate.read.result import (
    DOCUMENTS,
    ENTITIES,
    NAMED,
    AggregateResult,
    Place,
    Row,
    Scope,
    amount,
    day,
    document_rows,
    entity_rows,
    there_are,
    value_rows,
)
from wellread.store.catalogue.documents.listings import FIELDS, Entry, Part

COVERED = "coverage of the catalogue"
COVERAGE_COLUMNS = ("Part", "Value", "Documents", "Share")
MOST_LISTED = 1_000  # documents; of more, the rows have numbers only
MOST_CELLS = 2_000  # of one pair of dimensions that are looked through for empty ones
UNDATED = "without a date"
DATES = ("year", "month")
OTHER_PARTS = (*DATES, *FIELDS, "entity_types")  # documents divide by these and the taxonomy
MOST_NAMED = 5  # empty cells in the sentence; the rows have all

Taxonomy = dict[tuple[str, str], list[str]]
Groups = Mapping[str, Sequence[str]]  # each value of a dimension to the documents that have it


def coverage(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The documents by collection, kind, year and taxonomy value; None without any."""
    if query.by:
        return _of_dimensions(scope, query.by)
    if query.about is None:
        return _overview(scope, "", "")
    held = documents_about(scope, query.about)
    if not held.counts:
        return None
    return _overview(scope.only(list(held.counts)), f" {query.about.said}", f": {held.method}")


def group_by(scope: Scope, by: str) -> dict[str, list[str]]:
    """Map each value of ``by`` to the documents of the scope that have it."""
    found: dict[str, list[str]] = {}
    if by in DATES:
        for entry in scope.entries():
            at = entry.published_at
            period = f"{at:%Y}" if at and by == "year" else f"{at:%Y-%m}" if at else UNDATED
            found.setdefault(period, []).append(entry.id)
    elif by in FIELDS:
        found = scope.kb.catalogue.counts.values(FIELDS[FIELDS.index(by)], scope.limits)
    elif by == "entity_types":
        nodes = scope.kb.catalogue.graph.entities(scope.collections) if scope.collections else []
        inside = {entry.id for entry in scope.entries()} if nodes else set()
        of_types: dict[str, dict[str, None]] = {}
        for node in nodes:
            if node.type and (ids := [known for known in node.documents if known in inside]):
                of_types.setdefault(node.type, {}).update(dict.fromkeys(ids))
        found = {name: list(ids) for name, ids in of_types.items()}
    else:
        found = dict(_of(_taxonomy(scope), by))
    return found


def empty_cells(scope: Scope) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs of values from two dimensions that no document has, with the dimension names."""
    taxonomy = _taxonomy(scope)
    found = []
    for pair in combinations(sorted({name for name, _ in taxonomy}), 2):
        cells = cross_tabulate(*(_of(taxonomy, name) for name in pair))
        if len(cells) <= MOST_CELLS:
            found += [(pair, values) for values, ids in cells.items() if not ids]
    return found


def _taxonomy(scope: Scope) -> Taxonomy:
    return scope.kb.catalogue.counts.taxonomy(scope.limits)


def _of(taxonomy: Taxonomy, dimension: str) -> dict[str, list[str]]:
    return {value: ids for (name, value), ids in taxonomy.items() if name == dimension}


def cross_tabulate(rows: Groups, columns: Groups) -> dict[tuple[str, str], list[str]]:
    """Map each pair of ``rows`` and ``columns`` values to the documents that have both."""
    of_document: dict[str, list[str]] = {}
    for value, ids in columns.items():
        for known in ids:
            of_document.setdefault(known, []).append(value)
    cells: dict[tuple[str, str], list[str]] = {pair: [] for pair in product(rows, columns)}
    for row, ids in rows.items():
        for known in ids:
            for column in of_document.get(known, ()):
                cells[row, column].append(known)
    return cells


def _of_dimensions(scope: Scope, asked: Sequence[str]) -> AggregateResult:
    limits = "".join(f", {part}" for part in scope.said)
    groups = [group_by(scope, name) for name in asked]
    placed = {known for group in groups for ids in group.values() for known in ids}
    where = f"in {scope.where}{limits}"
    if len(asked) == 1:
        values = groups[0]
        return AggregateResult(
            strategy=COVERED,
            kind="coverage",
            sentence=(
                f"{amount(len(placed), 'document has', 'documents have')} a value of "
                f"“{asked[0]}”, {amount(len(values), 'value', 'values')} in all."
            ),
            number=len(values),
            columns=(said(asked[0]).capitalize(), "Documents", "Share"),
            rows=tuple(
                Row(
                    cells=(value, f"{len(ids):,}", _share(len(ids), len(placed))),
                    document_ids=tuple(ids),
                    line=_line(value, len(ids), len(placed)),
                )
                for value, ids in values.items()
            ),
            method=f"documents by their values of the dimension '{asked[0]}', {where}; a document "
            "with several values counts for each",
        )
    cells = cross_tabulate(groups[0], groups[1])
    empty = [" · ".join(values) for values, ids in cells.items() if not ids]
    filled = len(cells) - len(empty)
    missing = f"; empty are {_some(empty)}" if empty else ""
    return AggregateResult(
        strategy=COVERED,
        kind="coverage",
        sentence=(
            f"{filled} of {len(cells)} cells of {asked[0]} × {asked[1]} are covered "
            f"({_share(filled, len(cells))}){missing}."
        ),
        number=filled,
        columns=(said(asked[0]).capitalize(), said(asked[1]).capitalize(), "Documents"),
        rows=tuple(
            Row(
                cells=(*values, f"{len(ids):,}" if ids else "empty"),
                document_ids=tuple(ids),
                line=_line(" × ".join(values), len(ids)),
            )
            for values, ids in cells.items()
        ),
        method=f"documents that have both values, for every pair of values that the dimensions "
        f"'{asked[0]}' and '{asked[1]}' have, {where}",
    )


def _overview(scope: Scope, about: str, method: str) -> AggregateResult:
    totals = scope.kb.catalogue.counts.totals(scope.limits)
    parts = _parts(scope, with_documents=totals.documents <= MOST_LISTED)
    rows = tuple(
        Row(
            cells=(part, value, f"{size:,}", _share(size, totals.documents)),
            document_ids=ids,
            line=_line(f"{part} – {value}", size, totals.documents),
        )
        for part, values in parts.items()
        for value, (size, ids) in values.items()
    )
    kinds = sorted(parts["kind"].items(), key=lambda pair: (-pair[1][0], pair[0]))
    told = ", ".join(f"{size:,} of the kind {kind}" for kind, (size, _) in kinds)
    limits = "".join(f", {part}" for part in scope.said)
    dates = f", published from {day(totals.first)} to {day(totals.last)}" if totals.first else ""
    undated = totals.documents - totals.dated
    dates += f" ({undated:,} without a date)" if dates and undated else ""
    return AggregateResult(
        strategy=COVERED,
        kind="coverage",
        sentence=(
            f"There are {amount(totals.documents, 'document', 'documents')}{about}{limits} in "
            f"{scope.where}{f': {told}' if told else ''}{dates}."
        ),
        number=totals.documents,
        columns=COVERAGE_COLUMNS,
        rows=rows,
        method=(
            f"all documents{about}{method}, divided by collection, kind, source type, language, "
            "year, type of entity and each dimension of the taxonomy; the share is of all of them"
        ),
    )


Sizes = dict[str, tuple[int, tuple[str, ...]]]  # value to its number of documents, and their ids


def _parts(scope: Scope, *, with_documents: bool) -> dict[str, Sizes]:
    """The groups of each division, with document ids unless there are too many."""
    censuses = scope.kb.catalogue.counts
    found: dict[str, Sizes] = {}
    fields: tuple[Part, ...] = ("collection", "kind", "source_type", "language", "year")
    for field in fields:
        held = group_by(scope, field) if with_documents else {}
        found[field.replace("_", " ")] = {
            value or UNDATED: (size, tuple(held.get(value or UNDATED, ())))
            for (value,), size in censuses.sizes((field,), scope.limits).items()
            if value or field == "year"
        }
    of_types = group_by(scope, "entity_types")
    found["entity type"] = {name: (len(ids), tuple(ids)) for name, ids in of_types.items()}
    taxonomy = censuses.taxonomy(scope.limits) if with_documents else {}
    for (name, value), size in censuses.taxonomy_sizes(scope.limits).items():
        ids = tuple(taxonomy.get((name, value), ()))
        found.setdefault(name, {})[value] = (size, ids)
    return found


def _line(name: str, size: int, whole: int = 0) -> str:
    """``kind – article: 19 documents (38 %)``."""
    share = f" ({_share(size, whole)})" if whole else ""
    return f"{name}: {amount(size, 'document', 'documents') if size else 'no document'}{share}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}".replace("%", " %") if whole else ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The rows of a count; ``number`` is set when it differs from the number of rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    method: str
    number: int | None = None
    sentence: str = ""


def count_entities(count: Request) -> Result:
    """Entities of a type, or all, that meet the limits, topic and relations."""
    graph = count.scope.kb.catalogue.graph
    nodes = graph.entities(count.scope.collections) if count.scope.collections else []
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


def count_values(count: Request) -> Result:
    """The values of a field or taxonomy dimension in the matching documents."""
    scope, of = count.narrowed(), count.query.of
    if of.what == "dimensions":
        values: dict[str, list[str]] = {}
        for (name, _), ids in scope.kb.catalogue.counts.taxonomy(scope.limits).items():
            values.setdefault(name, []).extend(known for known in ids if known not in values[name])
        method = "dimensions of the taxonomy"
    elif of.what == "values":
        values = group_by(scope, of.names[0])
        method = f"values of the dimension '{of.names[0]}'"
    else:
        values = group_by(scope, of.what)
        types = of.what == "entity_types"
        method = f"every {of.one} that a document of the catalogue has"
        method = "types of the entities in the graph" if types else method
    return Result(
        columns=(count.query.of.one.capitalize(), "Documents"),
        rows=value_rows(values),
        method=f"{method}{count.suffix}",
    )


STRATEGY = "counted in the catalogue"
MOST_ROWS = 20_000  # of a count; a list has all


def count_result(scope: Scope, query: CatalogueQuery) -> AggregateResult:
    """The exact count or the complete list."""
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
    """Documents that meet the limits, topic and relations."""
    if count.query.about is None and not count.query.by and count.query.form == "count":
        totals = count.scope.kb.catalogue.counts.totals(count.scope.limits)
        if totals.documents > MOST_ROWS:
            return _very_many(count, totals.documents)
    entries, held = count.entries()
    if count.query.by:
        return _divided(count, entries)
    method = f"all {count.query.of.many} of the catalogue{count.after_noun}"
    rows = document_rows(entries)
    if held and count.query.about:
        method += f": {held.method}"
        rows = document_rows(entries, held.counts, _shown(count, count.query.about, entries))
    elif authors := [name for limit in count.query.where for name in limit.authors]:
        signed = places_signed(count.scope, authors, [entry.id for entry in entries])
        rows = document_rows(entries, places=signed)
    return Result(
        columns=NAMED if held else DOCUMENTS,
        rows=rows,
        method=method,
        sentence=_by_kind(count, _kinds(entries)),
    )


def _shown(count: Request, topic: Topic, entries: Sequence[Entry]) -> Mapping[str, Place]:
    return places_naming(count.scope, topic, [entry.id for entry in entries])


def _very_many(count: Request, number: int) -> Result:
    """Rows by kind, source type and year, for results too long to list by document."""
    censuses = count.scope.kb.catalogue.counts
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
    """A sentence with the count of each kind; empty unless there are several."""
    if len(kinds) < 2:
        return ""
    number = sum(kinds.values())
    whole = there_are(number, count.query.of.one, count.query.of.many, count.conditions)
    parts = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"{whole[:-1]}: {', '.join(f'{number:,} of the kind {kind}' for kind, number in parts)}."


def _divided(count: Request, entries: Sequence[Entry]) -> Result:
    """The count for each group."""
    by = count.query.by[0]
    groups = group_by(count.scope.only([entry.id for entry in entries]), by)
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
    """The passages that name the topic."""
    topic = count.query.about
    if topic is None:
        raise QueryError("about: mentions of what?")
    topic = replace(topic, naming=True)
    held = documents_about(count.scope, topic)
    entries = count.scope.only(sorted(held.counts)).entries()
    number = sum(held.counts.values())
    names = topic.quoted
    limits = "".join(f", {part}" for part in count.conditions[1:])
    often = amount(number, "time", "times")
    where = amount(len(entries), "document", "documents")
    return Result(
        columns=NAMED,
        rows=document_rows(entries, held.counts, _shown(count, topic, entries)),
        method=f"places in {held.method}{limits}",
        number=number,
        sentence=f"{names} is mentioned {often} in {where}{limits}.",
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
    "mentions": _count_mentions,
}
