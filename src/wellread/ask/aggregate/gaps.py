"""Answers whether material on a topic exists, what comes close, and which parts are missing."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz, process, utils

from wellread.ask.aggregate.counts import coverage, empty_cells
from wellread.ask.aggregate.read.holding import documents_about, documents_containing, places_naming
from wellread.ask.aggregate.read.query import CatalogueQuery, Noun, Topic
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
from wellread.store.catalogue.documents.listings import Entry
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
    """Answer an existence question: matching documents or the nearest alternatives."""
    return (
        _topic_existence(scope, query.about, query.of)
        if query.about
        else _existence_within_limits(scope)
    )


# --- is there anything -----------------------------------------------------------------------


def _existence_within_limits(scope: Scope) -> AggregateResult:
    """Answer an existence question that has limits but no topic."""
    entries = scope.entries()
    limits = ", ".join(scope.said)
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


def _topic_existence(scope: Scope, topic: Topic, noun: Noun) -> AggregateResult:
    matches = documents_about(scope, topic)
    counts = {**dict.fromkeys(_documents_by_people(scope, topic), 0), **matches.counts}
    entries = scope.only(sorted(counts)).entries()
    names = topic.quoted
    limits = "".join(f", {part}" for part in scope.said)
    method = f"{matches.method}, or that a person of this name wrote or speaks in; in {scope.where}"
    if entries:
        number = amount(len(entries), f"{noun.one} is", f"{noun.many} are")
        return AggregateResult(
            strategy=STRATEGY,
            kind="gap",
            sentence=f"Yes: {number} about {names}{limits}.",
            number=len(entries),
            columns=NAMED,
            rows=document_rows(
                entries, counts, places_naming(scope, topic, [one.id for one in entries])
            ),
            method=method,
        )
    near = _outside(scope, topic)
    near += [row for name in topic.names for row in _nearby(scope, name.phrase, matches.apart)]
    nearby_note = " What is near to it:" if near else " Nothing near to it was found either."
    return AggregateResult(
        strategy=STRATEGY,
        kind="gap",
        sentence=f"Not found: in {scope.where} no {noun.one} names {names}{limits}.{nearby_note}",
        number=0,
        absent=True,
        gap=f"nothing found about {names}{limits}",
        columns=("Near", "Why"),
        rows=tuple(near),
        method=f"{method}; near are names and words that look like it, and its words one by one",
    )


def _outside(scope: Scope, topic: Topic) -> list[Row]:
    """A row for documents on the topic outside the question's limits, in the same collections."""
    if not scope.limited:
        return []
    wide = scope.unlimited()
    matches = documents_about(wide, topic)
    if not matches.counts:
        return []
    where = f"beyond these limits, in {amount(len(matches.counts), 'document', 'documents')}"
    names = topic.quoted
    return [Row(cells=(names, where), document_ids=tuple(matches.counts))]


def _documents_by_people(scope: Scope, topic: Topic) -> list[str]:
    """Documents in which a person with the topic's name is an author or speaker."""
    vocabulary = vocabulary_of(scope.kb, scope.collections)
    document_ids: list[str] = []
    for name in topic.names:
        key = key_of(name.phrase)
        authors = _with_full_name(vocabulary.authors.get(key, ()), name.phrase)
        speakers = _with_full_name(vocabulary.speakers.get(key, ()), name.phrase)
        limits = [Filters(authors=authors)] if authors else []
        limits += [Filters(speakers=speakers)] if speakers else []
        document_ids += [entry.id for limit in limits for entry in scope.within(limit).entries()]
    return document_ids


def _with_full_name(people: Sequence[str], phrase: str) -> tuple[str, ...]:
    """The people whose full name equals ``phrase``, ignoring case."""
    return tuple(sorted(name for name in people if name.casefold() == phrase.casefold()))


# --- what is near ----------------------------------------------------------------------


def _nearby(scope: Scope, phrase: str, apart: tuple[str, ...] = ()) -> list[Row]:
    """Rows for names and single words similar to ``phrase``."""
    rows = _similar_names(scope, phrase)
    if apart:
        rows.append(
            Row(
                cells=(f"the words of “{phrase}”", f"apart, in {_documents(len(apart))}"),
                document_ids=apart,
            )
        )
    terms = [term for term in parse(phrase).terms if len(term) >= SHORTEST_WORD]
    counts_by_term = (
        {term: documents_containing(scope, term).counts for term in terms} if len(terms) > 1 else {}
    )
    rows += [
        Row(
            cells=(term, f"a word of it, in {_documents(len(counts))}"),
            document_ids=tuple(counts),
        )
        for term, counts in counts_by_term.items()
        if counts
    ]
    return list({row.cells[0].casefold(): row for row in reversed(rows)}.values())[::-1]


def _similar_names(scope: Scope, phrase: str) -> list[Row]:
    """Rows for entities within the limits whose name resembles ``phrase``."""
    entries = _documents_named_like(scope, (WORD, ALIAS_WORD), parse(phrase).terms)
    nodes = scope.kb.catalogue.graph.described_by([entry.id for entry in entries])
    likeness = [
        max(
            fuzz.token_sort_ratio(phrase, name, processor=utils.default_process)
            for name in (node.title, *node.aliases)
        )
        for node in nodes
    ]
    alike = [pair for pair in zip(likeness, nodes, strict=True) if pair[0] >= LEAST_ALIKE_NAME]
    alike.sort(key=lambda pair: (-pair[0], pair[1].title))
    return [
        Row(
            cells=(node.title, f"{node.type or 'entity'} with a similar name"),
            document_ids=node.documents,
        )
        for _, node in alike[:MOST_ALIKE]
    ]


def _documents_named_like(scope: Scope, sorts: Sequence[str], terms: Sequence[str]) -> list[Entry]:
    """Documents with a key of these types that resembles one of ``terms``."""
    names = scope.kb.catalogue.names
    keys = [
        key
        for sort in sorts
        for term in terms
        for key, _, _ in process.extract(
            term,
            names.with_prefix(scope.collections, sort, term[:SAME_START]),
            scorer=fuzz.ratio,
            limit=MOST_ALIKE,
            score_cutoff=LEAST_ALIKE_NAME,
        )
    ]
    ids = names.documents(scope.collections, sorts, keys) if keys else []
    return scope.only(ids).entries()


def _documents(number: int) -> str:
    return amount(number, "document", "documents")


# --- what is missing -------------------------------------------------------------------------


def missing(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """List empty taxonomy cells and relation targets that have no entry.

    With a topic, return its coverage instead.
    """
    if query.about:
        return coverage(scope, query)
    graph = scope.kb.catalogue.graph
    rows = [
        Row(cells=(" · ".join(values), f"no document has both ({' × '.join(names)})"))
        for names, values in empty_cells(scope)
    ]
    unrestricted = bool(scope.collections) and not scope.limited
    nodes = {
        (node.collection, node.id): node
        for node in (graph.entities(scope.collections) if unrestricted else ())
    }
    wanted: dict[str, list[str]] = {}
    for edge in graph.edges(scope.collections) if unrestricted else ():
        for mine, other in ((edge.source, edge.target), (edge.target, edge.source)):
            node = nodes.get((edge.collection, mine))
            if not edge.known and node:
                wanted.setdefault(other, []).extend(node.documents)
    rows += [
        Row(
            cells=(
                name,
                f"named in relations of {amount(len(set(ids)), 'entry', 'entries')}, has none",
            ),
            document_ids=tuple(dict.fromkeys(ids)),
        )
        for name, ids in sorted(wanted.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    ]
    return AggregateResult(
        strategy=STRATEGY,
        kind="gap",
        sentence=(
            f"{amount(len(rows), 'gap was', 'gaps were')} found: "
            f"{len(rows) - len(wanted):,} empty cells of the taxonomy, and "
            f"{amount(len(wanted), 'name', 'names')} in relations without an entry."
        ),
        number=len(rows),
        columns=("Missing", "Why"),
        rows=tuple(rows),
        method=f"pairs of taxonomy values that no document has, and targets of relations without "
        f"an entry; in {scope.where}",
    )
