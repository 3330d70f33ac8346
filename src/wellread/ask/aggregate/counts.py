"""Counts and lists documents, entities and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product

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
    document_rows,
    noun_for_type,
    there_are,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.store.catalogue.documents.listings import FIELDS
from wellread.text.parsed import parse
from wellread.text.tokens import key_of
from wellread.types import Filters

COUNT_STRATEGY = "counted in the catalogue"
GAP_STRATEGY = "looked through everything"
MAX_COUNT_ROWS = 20_000  # a longer count has no rows; a list has all
MIN_WORD_CHARS = 4  # shorter words of a topic are not searched for on their own
UNDATED = "without a date"
DATES = ("year", "month")
OTHER_PARTS = (*DATES, *FIELDS, "entity_types")  # documents divide by these and the taxonomy

Groups = Mapping[str, Sequence[str]]  # the documents by their value of a dimension


def group_by(scope: Scope, by: str) -> dict[str, list[str]]:
    """Return the documents of the scope by their value of ``by``."""
    groups: dict[str, list[str]] = {}
    if by in FIELDS:
        return scope.kb.catalogue.listings.values(FIELDS[FIELDS.index(by)], scope.limits)
    if by in DATES:
        date_format = "%Y" if by == "year" else "%Y-%m"
        for entry in scope.entries():
            published_at = entry.published_at
            period = published_at.strftime(date_format) if published_at else UNDATED
            groups.setdefault(period, []).append(entry.id)
    elif by == "entity_types" and (nodes := scope.entities()):
        scope_ids = {entry.id for entry in scope.entries()}
        for node in nodes:
            ids = groups.get(node.type, [])
            node_ids = [document_id for document_id in node.documents if document_id in scope_ids]
            new_ids = [document_id for document_id in node_ids if document_id not in ids]
            if node.type and (ids or new_ids):
                groups[node.type] = [*ids, *new_ids]
    elif by != "entity_types":
        groups = taxonomy_groups(scope).get(by, {})
    return groups


def taxonomy_groups(scope: Scope) -> dict[str, dict[str, list[str]]]:
    """Return the documents by dimension and value of the taxonomy."""
    dimensions: dict[str, dict[str, list[str]]] = {}
    for (name, value), ids in scope.kb.catalogue.listings.taxonomy(scope.limits).items():
        dimensions.setdefault(name, {})[value] = ids
    return dimensions


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


def kinds_text(kinds: Mapping[str, int]) -> str:
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
    whole = topic is None and not query.by and query.form == "count"
    if whole and (number := scope.kb.catalogue.listings.count(scope.limits)) > MAX_COUNT_ROWS:
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
        sentence = f"{total_text[:-1]}: {kinds_text(kinds)}."
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
            for name, groups in taxonomy_groups(scope).items()
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
            cells=(topic.quoted, f"without these limits, in {documents_text(len(ids))}"),
            document_ids=ids,
        )


def _rows_by_word(scope: Scope, topic: Topic, split_ids: tuple[str, ...]) -> list[Row]:
    """Return rows for documents with all words of the topic, but apart, and with single words."""
    rows: list[Row] = []
    for phrase in (name.phrase for name in topic.names):
        phrase_rows: list[Row] = []
        if split_ids:
            cells = (f"the words of “{phrase}”", f"apart, in {documents_text(len(split_ids))}")
            phrase_rows.append(Row(cells=cells, document_ids=split_ids))
        terms = [term for term in parse(phrase).terms if len(term) >= MIN_WORD_CHARS]
        for term in terms if len(terms) > 1 else ():
            if ids := tuple(documents_containing(scope, term).counts):
                cells = (term, f"on its own, in {documents_text(len(ids))}")
                phrase_rows.append(Row(cells=cells, document_ids=ids))
        # Of rows that begin alike, the first stays.
        rows += [*{row.cells[0].casefold(): row for row in reversed(phrase_rows)}.values()][::-1]
    return rows


def documents_text(number: int) -> str:
    """Return ``1 document``, ``2 documents`` or ``no document``."""
    return amount(number, "document", "documents") if number else "no document"
