"""Counts and lists documents, entities and values; tells how they divide and what is missing."""

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
    DOCUMENTS,
    ENTITIES,
    NAMED,
    AggregateResult,
    CatalogueQuery,
    Row,
    Scope,
    Topic,
    What,
    amount,
    day,
    document_rows,
    said,
    there_are,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.store.catalogue.documents.listings import FIELDS, Part
from wellread.text.parsed import parse
from wellread.text.tokens import key_of
from wellread.types import Filters

COVERED, STRATEGY = "coverage of the catalogue", "counted in the catalogue"
MOST_LISTED = 1_000  # documents; of more, the rows of an overview have numbers only
MOST_ROWS = 20_000  # of a count; a list has all
MOST_CELLS = 2_000  # of one pair of dimensions that are looked through for empty ones
MOST_NAMED = 5  # empty cells in the sentence; the rows have all
UNDATED = "without a date"
DATES = ("year", "month")
OTHER_PARTS = (*DATES, *FIELDS, "entity_types")  # documents divide by these and the taxonomy

Groups = Mapping[str, Sequence[str]]  # each value of a dimension to the documents that have it


def group_by(scope: Scope, by: str) -> dict[str, list[str]]:
    """Map each value of ``by`` to the documents of the scope that have it."""
    groups: dict[str, list[str]] = {}
    if by in FIELDS:
        return scope.kb.catalogue.counts.values(FIELDS[FIELDS.index(by)], scope.limits)
    if by in DATES:
        for entry in scope.entries():
            at = entry.published_at
            period = f"{at:%Y}" if at and by == "year" else f"{at:%Y-%m}" if at else UNDATED
            groups.setdefault(period, []).append(entry.id)
    elif by == "entity_types":
        inside = {entry.id for entry in scope.entries()}
        for node in scope.entities():
            ids = groups.get(node.type, [])
            new = [known for known in node.documents if known in inside and known not in ids]
            if node.type and (ids or new):
                groups[node.type] = [*ids, *new]
    else:
        groups = _by_dimension(scope).get(by, {})
    return groups


def _by_dimension(scope: Scope) -> dict[str, dict[str, list[str]]]:
    """Each dimension of the taxonomy to its values and their documents."""
    dimensions: dict[str, dict[str, list[str]]] = {}
    for (name, value), ids in scope.kb.catalogue.counts.taxonomy(scope.limits).items():
        dimensions.setdefault(name, {})[value] = ids
    return dimensions


def empty_cells(scope: Scope) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs of values from two dimensions that no document has, with the dimension names."""
    dimensions = _by_dimension(scope)
    empty: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for pair in combinations(sorted(dimensions), 2):
        cells = cross_tabulate(*(dimensions[name] for name in pair))
        if len(cells) <= MOST_CELLS:
            empty += [(pair, values) for values, ids in cells.items() if not ids]
    return empty


def cross_tabulate(rows: Groups, columns: Groups) -> dict[tuple[str, str], list[str]]:
    """Map each pair of ``rows`` and ``columns`` values to the documents that have both."""
    of_document: dict[str, list[str]] = {}
    for column, ids in columns.items():
        for known in ids:
            of_document.setdefault(known, []).append(column)
    cells: dict[tuple[str, str], list[str]] = {pair: [] for pair in product(rows, columns)}
    for row, ids in rows.items():
        for known in ids:
            for column in of_document.get(known, ()):
                cells[row, column].append(known)
    return cells


# --- coverage ---------------------------------------------------------------------------------


def coverage(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The documents by collection, kind, year and taxonomy value; None without any."""
    if len(query.by) == 1:
        return _of_dimension(scope, query.by[0])
    if query.by:
        return _of_pair(scope, query.by)
    if query.about is None:
        return _overview(scope, "", "")
    held = documents_about(scope, query.about)
    if not held.counts:
        return None
    return _overview(scope.only(list(held.counts)), f" {query.about.said}", f": {held.method}")


def _of_dimension(scope: Scope, name: str) -> AggregateResult:
    values = group_by(scope, name)
    whole = len({known for ids in values.values() for known in ids})
    return AggregateResult(
        strategy=COVERED,
        kind="coverage",
        sentence=f"{amount(whole, 'document has', 'documents have')} a value of "
        f"“{name}”, {amount(len(values), 'value', 'values')} in all.",
        number=len(values),
        columns=(said(name).capitalize(), "Documents", "Share"),
        rows=tuple(_part_row((value,), len(ids), ids, whole) for value, ids in values.items()),
        method=f"documents by their values of the dimension '{name}', in {scope.where}"
        f"{scope.suffix}; a document with several values counts for each",
    )


def _of_pair(scope: Scope, names: Sequence[str]) -> AggregateResult:
    cells = cross_tabulate(*(group_by(scope, name) for name in names))
    empty = [" · ".join(values) for values, ids in cells.items() if not ids]
    filled, (one, other) = len(cells) - len(empty), names
    more = f" and {len(empty) - MOST_NAMED:,} more" if len(empty) > MOST_NAMED else ""
    missing = f"; empty are {', '.join(empty[:MOST_NAMED])}{more}" if empty else ""
    return AggregateResult(
        strategy=COVERED,
        kind="coverage",
        sentence=f"{filled} of {len(cells)} cells of {one} × {other} are covered "
        f"({_share(filled, len(cells))}){missing}.",
        number=filled,
        columns=(said(one).capitalize(), said(other).capitalize(), "Documents"),
        rows=tuple(
            Row(
                cells=(*values, f"{len(ids):,}" if ids else "empty"),
                document_ids=tuple(ids),
                line=_line(" × ".join(values), len(ids)),
            )
            for values, ids in cells.items()
        ),
        method=f"documents that have both values, for every pair of values that the dimensions "
        f"'{one}' and '{other}' have, in {scope.where}{scope.suffix}",
    )


def _overview(scope: Scope, about: str, method: str) -> AggregateResult:
    totals = scope.kb.catalogue.counts.totals(scope.limits)
    parts = list(_parts(scope, with_documents=totals.documents <= MOST_LISTED))
    kinds = {value: size for part, value, size, _ in parts if part == "kind"}
    dates = f", published from {day(totals.first)} to {day(totals.last)}" if totals.first else ""
    undated = totals.documents - totals.dated
    dates += f" ({undated:,} without a date)" if dates and undated else ""
    return AggregateResult(
        strategy=COVERED,
        kind="coverage",
        sentence=f"There are {amount(totals.documents, 'document', 'documents')}{about}"
        f"{scope.suffix} in {scope.where}{': ' if kinds else ''}{_of_kinds(kinds)}{dates}.",
        number=totals.documents,
        columns=("Part", "Value", "Documents", "Share"),
        rows=tuple(
            _part_row((part, value), size, ids, totals.documents)
            for part, value, size, ids in parts
        ),
        method=f"all documents{about}{method}, divided by collection, kind, source type, language, "
        "year, type of entity and each dimension of the taxonomy; the share is of all of them",
    )


def _parts(scope: Scope, *, with_documents: bool) -> list[tuple[str, str, int, Sequence[str]]]:
    """Each part of the documents: by what, its value, its size and, of few, its documents."""
    counts = scope.kb.catalogue.counts
    parts: list[tuple[str, str, int, Sequence[str]]] = []
    fields: tuple[Part, ...] = ("collection", "kind", "source_type", "language", "year")
    for field in fields:
        held = group_by(scope, field) if with_documents else {}
        for (value,), size in counts.sizes((field,), scope.limits).items():
            if value or field == "year":
                named = value or UNDATED
                parts.append((field.replace("_", " "), named, size, held.get(named, ())))
    of_types = group_by(scope, "entity_types")
    parts += [("entity type", name, len(ids), ids) for name, ids in of_types.items()]
    taxonomy = counts.taxonomy(scope.limits) if with_documents else {}
    of_values = sorted(counts.taxonomy_sizes(scope.limits).items(), key=lambda pair: pair[0][0])
    parts += [(*pair, size, taxonomy.get(pair, ())) for pair, size in of_values]
    return parts


def _part_row(names: tuple[str, ...], size: int, ids: Sequence[str], whole: int) -> Row:
    return Row(
        cells=(*names, f"{size:,}", _share(size, whole)),
        document_ids=tuple(ids),
        line=_line(" – ".join(names), size, whole),
    )


def _line(name: str, size: int, whole: int = 0) -> str:
    """``kind – article: 19 documents (38 %)``."""
    share = f" ({_share(size, whole)})" if whole else ""
    return f"{name}: {amount(size, 'document', 'documents') if size else 'no document'}{share}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}".replace("%", " %") if whole else ""


def _of_kinds(kinds: Mapping[str, int]) -> str:
    """``19 of the kind article, 3 of the kind paper``."""
    ordered = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{size:,} of the kind {kind}" for kind, size in ordered)


# --- counts and lists -------------------------------------------------------------------------


def count_result(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The exact count or the complete list; None for mentions of nothing."""
    count = _COUNTERS.get(query.of.what, _count_values)
    return count(Request(query=query, scope=scope))


def _counted(
    count: Request,
    columns: tuple[str, ...],
    rows: tuple[Row, ...],
    method: str,
    *,
    number: int | None = None,
    sentence: str = "",
) -> AggregateResult:
    """The result with these rows; ``number`` where it is not how many rows there are."""
    noun, many = count.query.of, len(rows) if number is None else number
    return AggregateResult(
        strategy=STRATEGY,
        kind="list" if count.query.form == "list" else "count",
        sentence=sentence or there_are(many, noun.one, noun.many, count.conditions),
        number=many,
        columns=columns,
        rows=rows,
        method=f"{method}; in {count.scope.where}",
    )


def _count_documents(count: Request) -> AggregateResult:
    """Documents that meet the limits, topic and relations."""
    query, scope = count.query, count.scope
    noun, topic = query.of, query.about
    method = f"all {noun.many} of the catalogue{count.after_noun}"
    if topic is None and not query.by and query.form == "count":
        number = scope.kb.catalogue.counts.totals(scope.limits).documents
        if number > MOST_ROWS:
            method += f"; more than {MOST_ROWS:,}, so there are no rows (ask for a list)"
            return _counted(count, DOCUMENTS, (), method, number=number)
    entries, held = count.entries()
    if query.by:
        return _divided(count, [entry.id for entry in entries])
    ids = [entry.id for entry in entries]
    rows = document_rows(entries)
    if held and topic:
        method += f": {held.method}"
        rows = document_rows(entries, held.counts, places_naming(scope, topic, ids))
    elif authors := [name for limit in query.where for name in limit.authors]:
        rows = document_rows(entries, places=places_signed(scope, authors, ids))
    kinds, sentence = Counter[str](entry.kind for entry in entries), ""
    if len(kinds) > 1:
        whole = there_are(len(entries), noun.one, noun.many, count.conditions)
        sentence = f"{whole[:-1]}: {_of_kinds(kinds)}."
    return _counted(count, NAMED if held else DOCUMENTS, rows, method, sentence=sentence)


def _divided(count: Request, ids: Sequence[str]) -> AggregateResult:
    """The count for each group."""
    noun, by = count.query.of, said(count.query.by[0])
    groups = group_by(count.scope.only(ids), count.query.by[0])
    sentence = there_are(len(ids), noun.one, noun.many, count.conditions)
    return _counted(
        count,
        (by.capitalize(), noun.many.capitalize()),
        _value_rows(groups, noun.one, noun.many),
        f"all {noun.many} of the catalogue{count.suffix}, divided by {by}",
        number=len(ids),
        sentence=f"{sentence[:-1]}; divided by {by} they are in "
        f"{amount(len(groups), 'group', 'groups')}.",
    )


def _count_entities(count: Request) -> AggregateResult:
    """Entities of a type, or all, that meet the limits, topic and relations."""
    names, nodes, method = count.query.of.names, count.scope.entities(), "all entities"
    if names:
        nodes = [node for node in nodes if node.type in names]
        types = " or ".join(f"'{name}'" for name in names)
        method = f"entities of the type {types}"
    method += count.after_noun
    if count.scope.limited or count.query.about:
        entries, held = count.entries()
        inside = {entry.id for entry in entries}
        nodes = [node for node in nodes if inside.intersection(node.documents)]
        method += f": {held.method}" if held else ""
    rows = (Row(cells=(node.title, node.type), document_ids=node.documents) for node in nodes)
    return _counted(count, ENTITIES, tuple(rows), method)


def _count_values(count: Request) -> AggregateResult:
    """The values of a field or taxonomy dimension in the matching documents."""
    scope, of = count.narrowed(), count.query.of
    method = f"every {of.one} that a document of the catalogue has"
    if of.what == "dimensions":
        values = {
            name: list(dict.fromkeys(chain(*groups.values())))
            for name, groups in _by_dimension(scope).items()
        }
        method = "dimensions of the taxonomy"
    elif of.what == "values":
        values = group_by(scope, of.names[0])
        method = f"values of the dimension '{of.names[0]}'"
    else:
        values = group_by(scope, of.what)
        method = "types of the entities in the graph" if of.what == "entity_types" else method
    rows = _value_rows(values, "document", "documents")
    return _counted(count, (of.one.capitalize(), "Documents"), rows, f"{method}{count.suffix}")


def _value_rows(values: Groups, one: str, many: str) -> tuple[Row, ...]:
    """A row for each value with its number of documents, in their order."""
    return tuple(
        Row(cells=(value, amount(len(ids), one, many)), document_ids=tuple(ids))
        for value, ids in values.items()
    )


def _count_mentions(count: Request) -> AggregateResult | None:
    """The passages that name the topic."""
    if count.query.about is None:
        return None
    topic = replace(count.query.about, naming=True)
    held = documents_about(count.scope, topic)
    entries = count.scope.only(sorted(held.counts)).entries()
    places = places_naming(count.scope, topic, [entry.id for entry in entries])
    number = sum(held.counts.values())
    limits = "".join(f", {part}" for part in count.conditions[1:])
    where = amount(len(entries), "document", "documents")
    return _counted(
        count,
        NAMED,
        document_rows(entries, held.counts, places),
        f"places in {held.method}{limits}",
        number=number,
        sentence=f"{topic.quoted} is mentioned {amount(number, 'time', 'times')} in "
        f"{where}{limits}.",
    )


_COUNTERS: Mapping[What, Callable[[Request], AggregateResult | None]] = {
    "documents": _count_documents,
    "entities": _count_entities,
    "mentions": _count_mentions,
}


LOOKED_THROUGH = "looked through everything"
SHORTEST_WORD = 4


def existence_result(scope: Scope, query: CatalogueQuery) -> AggregateResult:
    """Whether there is anything on the topic or within the limits; if not, what is near."""
    topic, noun = query.about, query.of
    if topic is None:
        return _within_limits(scope)
    matches = documents_about(scope, topic)
    counts = {**dict.fromkeys(_documents_by_people(scope, topic), 0), **matches.counts}
    entries = scope.only(sorted(counts)).entries()
    method = f"{matches.method}, or that a person of this name wrote or speaks in; in {scope.where}"
    if entries:
        number = amount(len(entries), f"{noun.one} is", f"{noun.many} are")
        places = places_naming(scope, topic, [entry.id for entry in entries])
        return AggregateResult(
            strategy=LOOKED_THROUGH,
            kind="gap",
            sentence=f"Yes: {number} about {topic.quoted}{scope.suffix}.",
            number=len(entries),
            columns=NAMED,
            rows=document_rows(entries, counts, places),
            method=method,
        )
    near = [*_outside(scope, topic), *_nearby(scope, topic, matches.apart)]
    beside = "What is near to it:" if near else "Nothing near to it was found either."
    missing_words = f"names {topic.quoted}{scope.suffix}"
    return AggregateResult(
        strategy=LOOKED_THROUGH,
        kind="gap",
        sentence=f"Not found: in {scope.where} no {noun.one} {missing_words}. {beside}",
        number=0,
        absent=True,
        gap=f"nothing found about {topic.quoted}{scope.suffix}",
        columns=("Near", "Why"),
        rows=tuple(near),
        method=f"{method}; near are its words one by one",
    )


def _within_limits(scope: Scope) -> AggregateResult:
    """Whether there is any document within limits that come without a topic."""
    entries, limits = scope.entries(), ", ".join(scope.said)
    number = amount(len(entries), "document", "documents")
    return AggregateResult(
        strategy=LOOKED_THROUGH,
        kind="gap",
        sentence=f"Yes: {number} {limits}." if entries else f"Not found: no document {limits}.",
        number=len(entries),
        absent=not entries,
        gap=f"no document {limits}",
        columns=DOCUMENTS,
        rows=document_rows(entries),
        method=f"all documents {limits}; in {scope.where}",
    )


def _documents_by_people(scope: Scope, topic: Topic) -> list[str]:
    """Documents in which a person with the topic's full name is an author or speaker."""
    vocabulary = vocabulary_of(scope.kb, scope.collections)
    limits: list[Filters] = []
    for phrase in (name.phrase for name in topic.names):
        authors, speakers = (
            tuple(name for name in known if name.casefold() == phrase.casefold())
            for known in (
                vocabulary.authors.get(key_of(phrase), ()),
                vocabulary.speakers.get(key_of(phrase), ()),
            )
        )
        limits += [Filters(authors=authors), Filters(speakers=speakers)]
    kept = [limit for limit in limits if limit != Filters()]
    return [entry.id for limit in kept for entry in scope.within(limit).entries()]


# --- what is near -----------------------------------------------------------------------------


def _outside(scope: Scope, topic: Topic) -> Iterator[Row]:
    """A row for documents on the topic outside the question's limits, in the same collections."""
    ids = tuple(documents_about(scope.unlimited(), topic).counts) if scope.limited else ()
    if ids:
        yield Row(
            cells=(topic.quoted, f"beyond these limits, in {_documents(len(ids))}"),
            document_ids=ids,
        )


def _nearby(scope: Scope, topic: Topic, apart: tuple[str, ...]) -> list[Row]:
    """Rows for the words of the topic apart, and one by one."""
    rows: list[Row] = []
    for phrase in (name.phrase for name in topic.names):
        near: list[Row] = []
        if apart:
            cells = (f"the words of “{phrase}”", f"apart, in {_documents(len(apart))}")
            near.append(Row(cells=cells, document_ids=apart))
        terms = [term for term in parse(phrase).terms if len(term) >= SHORTEST_WORD]
        for term in terms if len(terms) > 1 else ():
            if ids := tuple(documents_containing(scope, term).counts):
                cells = (term, f"a word of it, in {_documents(len(ids))}")
                near.append(Row(cells=cells, document_ids=ids))
        rows += [*{row.cells[0].casefold(): row for row in reversed(near)}.values()][::-1]
    return rows


def _documents(number: int) -> str:
    return amount(number, "document", "documents")


# --- what is missing --------------------------------------------------------------------------


def missing(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Empty cells of the taxonomy, and names in relations without an entry.

    Of a topic, how it is covered instead.
    """
    if query.about:
        return coverage(scope, query)
    wanted = {} if scope.limited else _without_entry(scope)
    rows = [
        Row(cells=(" · ".join(values), f"no document has both ({' × '.join(names)})"))
        for names, values in empty_cells(scope)
    ]
    empty = len(rows)
    for name, ids in sorted(wanted.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        entries = amount(len(set(ids)), "entry", "entries")
        cells = (name, f"named in relations of {entries}, has none")
        rows.append(Row(cells=cells, document_ids=tuple(dict.fromkeys(ids))))
    return AggregateResult(
        strategy=LOOKED_THROUGH,
        kind="gap",
        sentence=f"{amount(len(rows), 'gap was', 'gaps were')} found: "
        f"{empty:,} empty cells of the taxonomy, and "
        f"{amount(len(wanted), 'name', 'names')} in relations without an entry.",
        number=len(rows),
        columns=("Missing", "Why"),
        rows=tuple(rows),
        method=f"pairs of taxonomy values that no document has, and targets of relations without "
        f"an entry; in {scope.where}",
    )


def _without_entry(scope: Scope) -> dict[str, list[str]]:
    """Each name that relations lead to without an entry, to the documents of those that do."""
    nodes = {(node.collection, node.id): node for node in scope.entities()}
    wanted: dict[str, list[str]] = {}
    for edge in scope.kb.catalogue.graph.edges(scope.collections) if scope.collections else ():
        for mine, other in ((edge.source, edge.target), (edge.target, edge.source)):
            node = nodes.get((edge.collection, mine))
            if not edge.known and node:
                wanted.setdefault(other, []).extend(node.documents)
    return wanted
