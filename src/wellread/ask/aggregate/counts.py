"""Counts and lists documents, entities and values; shows their coverage and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product

from wellread.ask.aggregate.holding import (
    Request,
    documents_about,
    documents_containing,
    places_naming,
    places_signed,
)
from wellread.ask.aggregate.query import (
    COUNTED_COLUMNS,
    DOCUMENT_COLUMNS,
    ENTITY_COLUMNS,
    AggregateResult,
    CatalogueQuery,
    Row,
    Scope,
    Topic,
    What,
    amount,
    day,
    document_rows,
    noun_for_type,
    there_are,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.store.catalogue.documents.listings import FIELDS, Part
from wellread.text.parsed import parse
from wellread.text.tokens import key_of
from wellread.types import Filters

COVERAGE_STRATEGY, COUNT_STRATEGY = "coverage of the catalogue", "counted in the catalogue"
GAP_STRATEGY = "looked through everything"
MAX_LISTED_DOCUMENTS = 1_000  # beyond it, an overview counts documents but lists few of them
MAX_COUNT_ROWS = 20_000  # a longer count has no rows; a list has all
MAX_CELLS = 2_000  # pairs of dimensions with more are not searched for empty cells
MAX_NAMED_CELLS = 5  # empty cells in the sentence; the rows have all
MIN_WORD_CHARS = 4  # shorter words of a topic are not searched for on their own
UNDATED = "without a date"
DATES = ("year", "month")
OTHER_PARTS = (*DATES, *FIELDS, "entity_types")  # documents divide by these and the taxonomy

Groups = Mapping[str, Sequence[str]]  # the documents by their value of a dimension


def group_by(scope: Scope, by: str) -> dict[str, list[str]]:
    """Return the documents of the scope by their value of ``by``."""
    groups: dict[str, list[str]] = {}
    if by in FIELDS:
        return scope.kb.catalogue.counts.values(FIELDS[FIELDS.index(by)], scope.limits)
    if by in DATES:
        date_format = "%Y" if by == "year" else "%Y-%m"
        for entry in scope.entries():
            published_at = entry.published_at
            period = published_at.strftime(date_format) if published_at else UNDATED
            groups.setdefault(period, []).append(entry.id)
    elif by == "entity_types":
        scope_ids = {entry.id for entry in scope.entries()}
        for node in scope.entities():
            ids = groups.get(node.type, [])
            node_ids = [document_id for document_id in node.documents if document_id in scope_ids]
            new_ids = [document_id for document_id in node_ids if document_id not in ids]
            if node.type and (ids or new_ids):
                groups[node.type] = [*ids, *new_ids]
    else:
        groups = _taxonomy_groups(scope).get(by, {})
    return groups


def _taxonomy_groups(scope: Scope) -> dict[str, dict[str, list[str]]]:
    """Return the documents by dimension and value of the taxonomy."""
    dimensions: dict[str, dict[str, list[str]]] = {}
    for (name, value), ids in scope.kb.catalogue.counts.taxonomy(scope.limits).items():
        dimensions.setdefault(name, {})[value] = ids
    return dimensions


def empty_cells(scope: Scope) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return the pairs of taxonomy values that no document has, with their dimensions' names."""
    dimensions = _taxonomy_groups(scope)
    empty: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for pair in combinations(sorted(dimensions), 2):
        cells = cross_tabulate(*(dimensions[name] for name in pair))
        if len(cells) <= MAX_CELLS:
            empty += [(pair, values) for values, ids in cells.items() if not ids]
    return empty


def cross_tabulate(rows: Groups, columns: Groups) -> dict[tuple[str, str], list[str]]:
    """Return the documents that have both values, by each pair of ``rows`` and ``columns``."""
    columns_by_document: dict[str, list[str]] = {}
    for column, ids in columns.items():
        for document_id in ids:
            columns_by_document.setdefault(document_id, []).append(column)
    cells: dict[tuple[str, str], list[str]] = {pair: [] for pair in product(rows, columns)}
    for row, ids in rows.items():
        for document_id in ids:
            for column in columns_by_document.get(document_id, ()):
                cells[row, column].append(document_id)
    return cells


def coverage(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Count the documents by the dimensions asked for, or all; None if none is on the topic."""
    if len(query.by) == 1:
        return _dimension_coverage(scope, query.by[0])
    if query.by:
        return _pair_coverage(scope, query.by)
    if query.about is None:
        return _overall_coverage(scope, "", "")
    matches = documents_about(scope, query.about)
    if not matches.counts:
        return None
    narrowed = scope.only(list(matches.counts))
    return _overall_coverage(narrowed, f" {query.about.condition}", f": {matches.method}")


def _dimension_coverage(scope: Scope, name: str) -> AggregateResult:
    values = group_by(scope, name)
    total = len({document_id for ids in values.values() for document_id in ids})
    return AggregateResult(
        strategy=COVERAGE_STRATEGY,
        kind="coverage",
        sentence=f"{amount(total, 'document has', 'documents have')} a value of "
        f"“{name}”, {amount(len(values), 'value', 'values')} in all.",
        number=len(values),
        columns=(noun_for_type(name).capitalize(), "Documents", "Share"),
        rows=tuple(_part_row((value,), len(ids), ids, total) for value, ids in values.items()),
        method=f"documents by their values of the dimension '{name}', in {scope.where}"
        f"{scope.suffix}; a document with several values counts for each",
    )


def _pair_coverage(scope: Scope, names: Sequence[str]) -> AggregateResult:
    cells = cross_tabulate(*(group_by(scope, name) for name in names))
    empty = [" · ".join(values) for values, ids in cells.items() if not ids]
    filled, (row_name, column_name) = len(cells) - len(empty), names
    more = f" and {len(empty) - MAX_NAMED_CELLS:,} more" if len(empty) > MAX_NAMED_CELLS else ""
    missing = f"; empty are {', '.join(empty[:MAX_NAMED_CELLS])}{more}" if empty else ""
    return AggregateResult(
        strategy=COVERAGE_STRATEGY,
        kind="coverage",
        sentence=f"{filled} of {len(cells)} cells of {row_name} × {column_name} are covered "
        f"({_share(filled, len(cells))}){missing}.",
        number=filled,
        columns=(
            noun_for_type(row_name).capitalize(),
            noun_for_type(column_name).capitalize(),
            "Documents",
        ),
        rows=tuple(
            Row(
                cells=(*values, f"{len(ids):,}" if ids else "empty"),
                document_ids=tuple(ids),
                line=_count_line(" × ".join(values), len(ids)),
            )
            for values, ids in cells.items()
        ),
        method=f"documents that have both values, for every pair of values that the dimensions "
        f"'{row_name}' and '{column_name}' have, in {scope.where}{scope.suffix}",
    )


def _overall_coverage(scope: Scope, about: str, method: str) -> AggregateResult:
    totals = scope.kb.catalogue.counts.totals(scope.limits)
    parts = list(_coverage_parts(scope, with_ids=totals.documents <= MAX_LISTED_DOCUMENTS))
    kinds = {value: size for part, value, size, _ in parts if part == "kind"}
    dates = f", published from {day(totals.first)} to {day(totals.last)}" if totals.first else ""
    undated = totals.documents - totals.dated
    dates += f" ({undated:,} without a date)" if dates and undated else ""
    return AggregateResult(
        strategy=COVERAGE_STRATEGY,
        kind="coverage",
        sentence=f"There are {amount(totals.documents, 'document', 'documents')}{about}"
        f"{scope.suffix} in {scope.where}{': ' if kinds else ''}{_kinds_text(kinds)}{dates}.",
        number=totals.documents,
        columns=("Part", "Value", "Documents", "Share"),
        rows=tuple(
            _part_row((part, value), size, ids, totals.documents)
            for part, value, size, ids in parts
        ),
        method=f"all documents{about}{method}, counted by collection, kind, source type, language, "
        "year, type of entity and each dimension of the taxonomy; the share is of all of them",
    )


def _coverage_parts(scope: Scope, *, with_ids: bool) -> list[tuple[str, str, int, Sequence[str]]]:
    """Return (dimension, value, size, ids) of each part; entity types have ids in any case."""
    counts = scope.kb.catalogue.counts
    parts: list[tuple[str, str, int, Sequence[str]]] = []
    fields: tuple[Part, ...] = ("collection", "kind", "source_type", "language", "year")
    for field in fields:
        ids_by_value = group_by(scope, field) if with_ids else {}
        for (value,), size in counts.sizes((field,), scope.limits).items():
            if value or field == "year":
                label = value or UNDATED
                parts.append((field.replace("_", " "), label, size, ids_by_value.get(label, ())))
    ids_by_type = group_by(scope, "entity_types")
    parts += [("entity type", name, len(ids), ids) for name, ids in ids_by_type.items()]
    taxonomy = counts.taxonomy(scope.limits) if with_ids else {}
    value_sizes = sorted(counts.taxonomy_sizes(scope.limits).items(), key=lambda pair: pair[0][0])
    parts += [(*pair, size, taxonomy.get(pair, ())) for pair, size in value_sizes]
    return parts


def _part_row(names: tuple[str, ...], size: int, ids: Sequence[str], total: int) -> Row:
    return Row(
        cells=(*names, f"{size:,}", _share(size, total)),
        document_ids=tuple(ids),
        line=_count_line(" – ".join(names), size, total),
    )


def _count_line(name: str, size: int, total: int = 0) -> str:
    """Return a line such as ``kind – article: 19 documents (38 %)``."""
    share = f" ({_share(size, total)})" if total else ""
    return f"{name}: {amount(size, 'document', 'documents') if size else 'no document'}{share}"


def _share(part: int, total: int) -> str:
    return f"{part / total:.0%}".replace("%", " %") if total else ""


def _kinds_text(kinds: Mapping[str, int]) -> str:
    """Return a text such as ``19 of the kind article, 3 of the kind paper``."""
    ordered = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{size:,} of the kind {kind}" for kind, size in ordered)


def count_result(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Return the exact count or the complete list; None for mentions without a topic."""
    count = _COUNTERS.get(query.of.what, _count_values)
    return count(Request(query=query, scope=scope))


def _rows_result(
    request: Request,
    columns: tuple[str, ...],
    rows: tuple[Row, ...],
    method: str,
    *,
    number: int | None = None,
    sentence: str = "",
) -> AggregateResult:
    """Return a result with these rows; ``number`` is by default the number of rows."""
    noun, total = request.query.of, len(rows) if number is None else number
    return AggregateResult(
        strategy=COUNT_STRATEGY,
        kind="list" if request.query.form == "list" else "count",
        sentence=sentence or there_are(total, noun.one, noun.many, request.conditions),
        number=total,
        columns=columns,
        rows=rows,
        method=f"{method}; in {request.scope.where}",
    )


def _count_documents(request: Request) -> AggregateResult:
    query, scope = request.query, request.scope
    noun, topic = query.of, query.about
    method = f"all {noun.many} of the catalogue{request.after_noun}"
    if topic is None and not query.by and query.form == "count":
        number = scope.kb.catalogue.counts.totals(scope.limits).documents
        if number > MAX_COUNT_ROWS:
            method += f"; more than {MAX_COUNT_ROWS:,}, so there are no rows (ask for a list)"
            return _rows_result(request, DOCUMENT_COLUMNS, (), method, number=number)
    entries, matches = request.entries()
    if query.by:
        return _count_by_group(request, [entry.id for entry in entries])
    ids = [entry.id for entry in entries]
    rows = document_rows(entries)
    if matches and topic:
        method += f": {matches.method}"
        rows = document_rows(entries, matches.counts, places_naming(scope, topic, ids))
    elif authors := [name for limit in query.where for name in limit.authors]:
        rows = document_rows(entries, places=places_signed(scope, authors, ids))
    kinds, sentence = Counter[str](entry.kind for entry in entries), ""
    if len(kinds) > 1:
        total_text = there_are(len(entries), noun.one, noun.many, request.conditions)
        sentence = f"{total_text[:-1]}: {_kinds_text(kinds)}."
    return _rows_result(
        request, COUNTED_COLUMNS if matches else DOCUMENT_COLUMNS, rows, method, sentence=sentence
    )


def _count_by_group(request: Request, ids: Sequence[str]) -> AggregateResult:
    """Count the documents of each group that the query divides them into."""
    noun, division = request.query.of, noun_for_type(request.query.by[0])
    groups = group_by(request.scope.only(ids), request.query.by[0])
    sentence = there_are(len(ids), noun.one, noun.many, request.conditions)
    return _rows_result(
        request,
        (division.capitalize(), noun.many.capitalize()),
        _value_rows(groups, noun.one, noun.many),
        f"all {noun.many} of the catalogue{request.suffix}, grouped by {division}",
        number=len(ids),
        sentence=f"{sentence[:-1]}; grouped by {division}, they form "
        f"{amount(len(groups), 'group', 'groups')}.",
    )


def _count_entities(request: Request) -> AggregateResult:
    names, nodes, method = request.query.of.names, request.scope.entities(), "all entities"
    if names:
        nodes = [node for node in nodes if node.type in names]
        types = " or ".join(f"'{name}'" for name in names)
        method = f"entities of the type {types}"
    method += request.after_noun
    if request.scope.limited or request.query.about:
        entries, matches = request.entries()
        matching_ids = {entry.id for entry in entries}
        nodes = [node for node in nodes if matching_ids.intersection(node.documents)]
        method += f": {matches.method}" if matches else ""
    rows = (Row(cells=(node.title, node.type), document_ids=node.documents) for node in nodes)
    return _rows_result(request, ENTITY_COLUMNS, tuple(rows), method)


def _count_values(request: Request) -> AggregateResult:
    scope, noun = request.narrowed(), request.query.of
    method = f"every {noun.one} that a document of the catalogue has"
    if noun.what == "dimensions":
        values = {
            name: list(dict.fromkeys(chain(*groups.values())))
            for name, groups in _taxonomy_groups(scope).items()
        }
        method = "dimensions of the taxonomy"
    elif noun.what == "values":
        values = group_by(scope, noun.names[0])
        method = f"values of the dimension '{noun.names[0]}'"
    else:
        values = group_by(scope, noun.what)
        method = "types of the entities in the graph" if noun.what == "entity_types" else method
    rows = _value_rows(values, "document", "documents")
    columns = (noun.one.capitalize(), "Documents")
    return _rows_result(request, columns, rows, f"{method}{request.suffix}")


def _value_rows(values: Groups, singular: str, plural: str) -> tuple[Row, ...]:
    return tuple(
        Row(cells=(value, amount(len(ids), singular, plural)), document_ids=tuple(ids))
        for value, ids in values.items()
    )


def _count_mentions(request: Request) -> AggregateResult | None:
    """Count the mentions of the topic; None without a topic."""
    if request.query.about is None:
        return None
    topic = replace(request.query.about, naming=True)  # a relation to the topic is no mention
    matches = documents_about(request.scope, topic)
    entries = request.scope.only(sorted(matches.counts)).entries()
    places = places_naming(request.scope, topic, [entry.id for entry in entries])
    number = sum(matches.counts.values())
    limits = "".join(f", {limit}" for limit in request.conditions[1:])
    where = amount(len(entries), "document", "documents")
    return _rows_result(
        request,
        COUNTED_COLUMNS,
        document_rows(entries, matches.counts, places),
        f"places in {matches.method}{limits}",
        number=number,
        sentence=f"{topic.quoted} is mentioned {amount(number, 'time', 'times')} in "
        f"{where}{limits}.",
    )


_COUNTERS: Mapping[What, Callable[[Request], AggregateResult | None]] = {
    "documents": _count_documents,
    "entities": _count_entities,
    "mentions": _count_mentions,
}


def existence_result(scope: Scope, query: CatalogueQuery) -> AggregateResult:
    """Return whether anything is on the topic or within the limits; if not, what is related."""
    topic, noun = query.about, query.of
    if topic is None:
        return _existence_within_limits(scope)
    matches = documents_about(scope, topic)
    counts = {**dict.fromkeys(_documents_by_people(scope, topic), 0), **matches.counts}
    entries = scope.only(sorted(counts)).entries()
    method = f"{matches.method}, or that a person of this name wrote or speaks in; in {scope.where}"
    if entries:
        number = amount(len(entries), f"{noun.one} is", f"{noun.many} are")
        places = places_naming(scope, topic, [entry.id for entry in entries])
        return AggregateResult(
            strategy=GAP_STRATEGY,
            kind="gap",
            sentence=f"Yes: {number} about {topic.quoted}{scope.suffix}.",
            number=len(entries),
            columns=COUNTED_COLUMNS,
            rows=document_rows(entries, counts, places),
            method=method,
        )
    related = [*_rows_beyond_limits(scope, topic), *_rows_by_word(scope, topic, matches.apart)]
    related_text = "The closest matches are:" if related else "There is no close match either."
    condition = f"names {topic.quoted}{scope.suffix}"
    return AggregateResult(
        strategy=GAP_STRATEGY,
        kind="gap",
        sentence=f"Not found: in {scope.where} no {noun.one} {condition}. {related_text}",
        number=0,
        absent=True,
        gap=f"nothing found about {topic.quoted}{scope.suffix}",
        columns=("Closest match", "Found"),
        rows=tuple(related),
        method=f"{method}; the closest matches are searches for its single words",
    )


def _existence_within_limits(scope: Scope) -> AggregateResult:
    """Return whether any document is within the limits of a question without a topic."""
    entries, limits = scope.entries(), ", ".join(scope.descriptions)
    number = amount(len(entries), "document", "documents")
    return AggregateResult(
        strategy=GAP_STRATEGY,
        kind="gap",
        sentence=f"Yes: {number} {limits}." if entries else f"Not found: no document {limits}.",
        number=len(entries),
        absent=not entries,
        gap=f"no document {limits}",
        columns=DOCUMENT_COLUMNS,
        rows=document_rows(entries),
        method=f"all documents {limits}; in {scope.where}",
    )


def _documents_by_people(scope: Scope, topic: Topic) -> list[str]:
    """The documents in which a person with the topic's full name is an author or speaker."""
    vocabulary = vocabulary_of(scope.kb, scope.collections)
    limits: list[Filters] = []
    for phrase in (name.phrase for name in topic.names):
        authors, speakers = (
            tuple(name for name in spellings if name.casefold() == phrase.casefold())
            for spellings in (
                vocabulary.authors.get(key_of(phrase), ()),
                vocabulary.speakers.get(key_of(phrase), ()),
            )
        )
        limits += [Filters(authors=authors), Filters(speakers=speakers)]
    name_limits = [limit for limit in limits if limit != Filters()]
    return [entry.id for limit in name_limits for entry in scope.within(limit).entries()]


def _rows_beyond_limits(scope: Scope, topic: Topic) -> Iterator[Row]:
    """Yield a row for documents on the topic beyond the limits, in the same collections."""
    ids = tuple(documents_about(scope.unlimited(), topic).counts) if scope.limited else ()
    if ids:
        yield Row(
            cells=(topic.quoted, f"without these limits, in {_documents_text(len(ids))}"),
            document_ids=ids,
        )


def _rows_by_word(scope: Scope, topic: Topic, split_ids: tuple[str, ...]) -> list[Row]:
    """Return rows for documents with all words of the topic, but apart, and with single words."""
    rows: list[Row] = []
    for phrase in (name.phrase for name in topic.names):
        phrase_rows: list[Row] = []
        if split_ids:
            cells = (f"the words of “{phrase}”", f"apart, in {_documents_text(len(split_ids))}")
            phrase_rows.append(Row(cells=cells, document_ids=split_ids))
        terms = [term for term in parse(phrase).terms if len(term) >= MIN_WORD_CHARS]
        for term in terms if len(terms) > 1 else ():
            if ids := tuple(documents_containing(scope, term).counts):
                cells = (term, f"on its own, in {_documents_text(len(ids))}")
                phrase_rows.append(Row(cells=cells, document_ids=ids))
        # Of rows that begin alike, the first stays.
        rows += [*{row.cells[0].casefold(): row for row in reversed(phrase_rows)}.values()][::-1]
    return rows


def _documents_text(number: int) -> str:
    return amount(number, "document", "documents")


def missing(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Return empty taxonomy cells and related names without an entry; of a topic, its coverage."""
    if query.about:
        return coverage(scope, query)
    ids_by_missing_name = {} if scope.limited else _names_without_entry(scope)
    rows = [
        Row(cells=(" · ".join(values), f"no document has both ({' × '.join(names)})"))
        for names, values in empty_cells(scope)
    ]
    empty_count = len(rows)
    for name, ids in sorted(ids_by_missing_name.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        entries = amount(len(set(ids)), "entry", "entries")
        cells = (name, f"named in relations of {entries}, has no entry itself")
        rows.append(Row(cells=cells, document_ids=tuple(dict.fromkeys(ids))))
    return AggregateResult(
        strategy=GAP_STRATEGY,
        kind="gap",
        sentence=f"{amount(len(rows), 'gap was', 'gaps were')} found: "
        f"{amount(empty_count, 'pair', 'pairs')} of taxonomy values without a document, and "
        f"{amount(len(ids_by_missing_name), 'related name', 'related names')} without an entry.",
        number=len(rows),
        columns=("Missing", "Why"),
        rows=tuple(rows),
        method=f"pairs of taxonomy values that no document has, and targets of relations without "
        f"an entry; in {scope.where}",
    )


def _names_without_entry(scope: Scope) -> dict[str, list[str]]:
    """Return the documents that relate to a name without an entry, by that name."""
    nodes = {(node.collection, node.id): node for node in scope.entities()}
    ids_by_name: dict[str, list[str]] = {}
    for edge in scope.kb.catalogue.graph.edges(scope.collections) if scope.collections else ():
        for node_id, other_name in ((edge.source, edge.target), (edge.target, edge.source)):
            node = nodes.get((edge.collection, node_id))
            if not edge.known and node:
                ids_by_name.setdefault(other_name, []).extend(node.documents)
    return ids_by_name
