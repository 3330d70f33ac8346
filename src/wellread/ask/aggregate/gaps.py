"""Tells whether there is material on a topic, what comes close, and which parts are missing."""

from __future__ import annotations

from collections.abc import Iterator

from rapidfuzz import fuzz, process, utils

from wellread.ask.aggregate.counts import coverage, empty_cells
from wellread.ask.aggregate.read.holding import documents_about, documents_containing, places_naming
from wellread.ask.aggregate.read.query import CatalogueQuery, Topic
from wellread.ask.aggregate.read.result import (
    DOCUMENTS,
    NAMED,
    AggregateResult,
    Row,
    Scope,
    amount,
    document_rows,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.store.catalogue.documents.name_records import ALIAS_WORD, WORD
from wellread.text.parsed import parse
from wellread.text.tokens import key_of
from wellread.types import Filters

STRATEGY = "looked through everything"
MOST_ALIKE = 5
LEAST_ALIKE_NAME = 65.0
SHORTEST_WORD = 4
SAME_START = 2  # letters that a misspelt word begins with all the same


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
            strategy=STRATEGY,
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
        strategy=STRATEGY,
        kind="gap",
        sentence=f"Not found: in {scope.where} no {noun.one} {missing_words}. {beside}",
        number=0,
        absent=True,
        gap=f"nothing found about {topic.quoted}{scope.suffix}",
        columns=("Near", "Why"),
        rows=tuple(near),
        method=f"{method}; near are names and words that look like it, and its words one by one",
    )


def _within_limits(scope: Scope) -> AggregateResult:
    """Whether there is any document within limits that come without a topic."""
    entries, limits = scope.entries(), ", ".join(scope.said)
    number = amount(len(entries), "document", "documents")
    return AggregateResult(
        strategy=STRATEGY,
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
    """Rows for names like those of the topic, and for its words one by one."""
    rows: list[Row] = []
    for phrase in (name.phrase for name in topic.names):
        near = _similar_names(scope, phrase)
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


def _similar_names(scope: Scope, phrase: str) -> list[Row]:
    """Rows for entities within the limits whose name resembles ``phrase``."""
    names, sorts = scope.kb.catalogue.names, (WORD, ALIAS_WORD)
    keys = [
        key
        for sort in sorts
        for term in parse(phrase).terms
        for key, _, _ in process.extract(
            term,
            names.with_prefix(scope.collections, sort, term[:SAME_START]),
            scorer=fuzz.ratio,
            limit=MOST_ALIKE,
            score_cutoff=LEAST_ALIKE_NAME,
        )
    ]
    entries = scope.only(names.documents(scope.collections, sorts, keys) if keys else []).entries()
    likeness = {
        node: max(
            fuzz.token_sort_ratio(phrase, name, processor=utils.default_process)
            for name in (node.title, *node.aliases)
        )
        for node in scope.kb.catalogue.graph.described_by([entry.id for entry in entries])
    }
    alike = [node for node, score in likeness.items() if score >= LEAST_ALIKE_NAME]
    return [
        Row(
            cells=(node.title, f"{node.type or 'entity'} with a similar name"),
            document_ids=node.documents,
        )
        for node in sorted(alike, key=lambda node: (-likeness[node], node.title))[:MOST_ALIKE]
    ]


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
        strategy=STRATEGY,
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
