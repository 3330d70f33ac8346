"""Gap finding: whether there is anything on a topic, and what is missing on it, exhaustively."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from wellread.ask.aggregate.countable_nouns import Noun, nouns, spelling
from wellread.ask.aggregate.nearby import nearby
from wellread.ask.aggregate.question_pieces import Item, items_of
from wellread.ask.aggregate.rows import DOCUMENTS, NAMED, amount, document_rows
from wellread.ask.aggregate.scope import Scope, scope_of
from wellread.ask.aggregate.strategies.coverage import empty_cells
from wellread.ask.aggregate.topic_terms import Topic, documents_about, nodes_of, read_topic
from wellread.ask.retrieve.retrieval import AggregateResult, Retrieval, Row
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Filters, Span

STRATEGY = "looked through everything"

_MISSING = re.compile(
    r"\b(?:(?:what|which)(?: (?:is|are|do|does|has|have)|['’]s)? (?:still |yet )?"
    r"(?:missing|lacking|gaps?)|gaps? (?:in|on|about)|"
    r"(?:what|which) .*\bnot (?:yet )?(?:covered|documented|there)|"
    r"what (?:do|does|don['’]t|doesn['’]t) (?:you|we|it|the \w+)(?: not)? "
    r"(?:know|have|cover|lack))\b",
    re.IGNORECASE,
)
_ANY = re.compile(r"\b(?:any|some|an?|no)\s+(?P<noun>\w+(?:\s+\w+)?)", re.IGNORECASE)
# Beside the topic: what everything can be called, and the words of the question itself.
_FILLERS = frozenset(
    """
    a all already also an and any anything archive are at base been by can catalogue collection
    contain contains content cover covered covers coverage data did do document documents does
    doesnt dont
    entries entry exist exists find found from gap gaps got had has have here hold i if in
    info information is it item items know knowledge known lack lacking library literature look
    material materials mentions missing more much not of on or our please present record records
    said sources something source still stuff that the there to us was we were what whether which
    written yet you your
    """.split()
)


def gaps(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """What there is on the topic of the question, or that there is nothing, and what is near.

    None when the question asks for more than whether something is there.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    whole = scope_of(kb, analysis)
    vocabulary = vocabulary_of(kb, whole.collections)
    noun, span = _noun(analysis.question, vocabulary)
    scope = scope_of(kb, analysis, without=[span] if span else ())
    if noun:
        scope = scope.within(noun.filters) if noun.filters != Filters() else scope
    topic, understood = _topic(analysis, span or Span(start=0, end=0))
    if not understood:
        return None
    missing = _MISSING.search(analysis.question) is not None
    if missing:
        tally = _missing_on(scope, topic) if topic else _missing_overall(scope)
    elif topic:
        tally = _there_is(scope, topic, vocabulary, noun or Noun(what="documents", one="document"))
    elif analysis.constraints and scope.limited:
        tally = _there_is_within(scope)
    else:
        return None
    return Retrieval(strategy=STRATEGY, tally=tally)


def _noun(question: str, vocabulary: Vocabulary) -> tuple[Noun | None, Span | None]:
    """Documents of which kind are asked for ("are there any papers on ..."), and where."""
    known = nouns(vocabulary)
    for match in _ANY.finditer(question):
        words = match["noun"].split()
        for size in range(len(words), 0, -1):
            said = " ".join(words[:size])
            noun = known.get(spelling(said))
            if noun and noun.what == "documents":
                start = match.start("noun")
                return noun, Span(start=start, end=start + len(said))
    return None, None


def _topic(analysis: Analysis, noun: Span) -> tuple[Topic | None, bool]:
    """What is looked for, and whether the question was understood as a whole."""
    items = items_of(analysis, noun)
    items = [item for item in items if not item.span.overlaps(noun)]
    left: list[Item] = items
    topic: Topic | None = None
    for strong in (True, False):
        if topic is None:
            topic, left = read_topic(analysis.question, items, strong=strong)
    if topic is None:
        for item in items:
            if item.entities and topic is None:  # "any Erlay documents", "what gaps has Erlay"
                topic, left = (
                    Topic.of(analysis.question, [item]),
                    [o for o in items if o is not item],
                )
    understood = all(item.plain in _FILLERS for item in left)
    understood = understood and (topic is None or topic.clear)
    return topic, understood


# --- is there anything -----------------------------------------------------------------------


def _there_is_within(scope: Scope) -> AggregateResult:
    """Whether any document meets the limits of the question, which has no other topic."""
    entries = scope.entries()
    limits = ", ".join(scope.said)
    number = amount(len(entries), "document", "documents")
    return AggregateResult(
        kind="gap",
        sentence=f"Yes: {number} {limits}." if entries else f"Not found: no document {limits}.",
        number=len(entries),
        absent=not entries,
        gap=f"no document {limits}",
        columns=DOCUMENTS,
        rows=document_rows(entries),
        method=f"all documents {limits}; in {scope.where}",
    )


def _there_is(scope: Scope, topic: Topic, vocabulary: Vocabulary, noun: Noun) -> AggregateResult:
    held = documents_about(scope, topic)
    counts = {**dict.fromkeys(_by_people(scope, topic, vocabulary), 0), **held.counts}
    entries = [entry for entry in scope.entries() if entry.id in counts]
    names = topic.said.partition(" ")[2]
    limits = "".join(f", {part}" for part in scope.said)
    method = f"{held.method}, or that a person of this name wrote or speaks in; in {scope.where}"
    if entries:
        number = amount(len(entries), f"{noun.one} is", f"{noun.many} are")
        return AggregateResult(
            kind="gap",
            sentence=f"Yes: {number} about {names}{limits}.",
            number=len(entries),
            columns=NAMED,
            rows=document_rows(entries, counts),
            method=method,
        )
    near = _outside(scope, topic)
    near += [row for term in topic.terms for row in nearby(scope, term.phrase, held.apart)]
    known = " What is near to it:" if near else " Nothing near to it was found either."
    return AggregateResult(
        kind="gap",
        sentence=f"Not found: in {scope.where} no {noun.one} names {names}{limits}.{known}",
        number=0,
        absent=True,
        gap=f"nothing found about {names}{limits}",
        columns=("Near", "Why"),
        rows=tuple(near),
        method=f"{method}; near are names and words that look like it, and its words one by one",
    )


def _outside(scope: Scope, topic: Topic) -> list[Row]:
    """What there is on the topic beyond the limits of the question; collections are kept to."""
    if not scope.limited:
        return []
    wide = scope.unlimited()
    held = documents_about(wide, topic)
    if not held.counts:
        return []
    where = f"beyond these limits, in {amount(len(held.counts), 'document', 'documents')}"
    names = topic.said.partition(" ")[2]
    return [Row(cells=(names, where), document_ids=tuple(held.counts))]


def _by_people(scope: Scope, topic: Topic, vocabulary: Vocabulary) -> list[str]:
    """The documents that somebody called like the topic wrote or speaks in."""
    found: list[str] = []
    for term in topic.terms:
        authors = _called(vocabulary.authors, term.phrase)
        speakers = _called(vocabulary.speakers, term.phrase)
        limits = [Filters(authors=authors)] if authors else []
        limits += [Filters(speakers=speakers)] if speakers else []
        found += [entry.id for limit in limits for entry in scope.within(limit).entries()]
    return found


def _called(people: Mapping[str, tuple[str, ...]], phrase: str) -> tuple[str, ...]:
    """Those of the people whose whole name this is."""
    wanted = phrase.casefold()
    every = {name for names in people.values() for name in names}
    return tuple(sorted(name for name in every if name.casefold() == wanted))


# --- what is missing -------------------------------------------------------------------------


def _missing_on(scope: Scope, topic: Topic) -> AggregateResult:
    """Kinds and years without the topic, relations to what has no entry, empty dimensions."""
    catalogue = scope.kb.catalogue
    held = documents_about(scope, topic)
    entries = scope.entries()
    about = [entry for entry in entries if entry.id in held.counts]
    names = topic.said.partition(" ")[2]
    rows = [
        Row(cells=(f"{kind} about {names}", "there is none"))
        for kind in _absent((entry.kind for entry in entries), (entry.kind for entry in about))
    ]
    years = [
        [f"{entry.published_at:%Y}" for entry in part if entry.published_at]
        for part in (entries, about)
    ]
    rows += [
        Row(cells=(f"{year}", f"no document of this year is about {names}"))
        for year in _absent(*years)
    ]
    dimensions = {name for name, _ in catalogue.censuses.taxonomy(scope.limits)}
    for node in (node for term in topic.terms for node in nodes_of(scope, term)):
        rows += [
            Row(
                cells=(one.name, f"named as “{one.relation}” by {node.title}, but has no entry"),
                document_ids=node.documents,
            )
            for one in catalogue.graph.neighbours([node.collection], node.id)
            if not one.known
        ]
        own = catalogue.censuses.taxonomy(scope.only(node.documents).limits)
        filled = {name for name, _ in own}
        rows += [
            Row(cells=(f"{name} of {node.title}", "no value"), document_ids=node.documents)
            for name in sorted(dimensions - filled)
            if filled
        ]
    there = amount(len(about), "document is", "documents are")
    return AggregateResult(
        kind="gap",
        sentence=f"{there} about {names}; {amount(len(rows), 'thing is', 'things are')} missing.",
        number=len(rows),
        columns=("Missing", "Why"),
        rows=tuple(rows),
        method=(
            f"{held.method}, compared with all documents in {scope.where}: kinds and years "
            "without one, relations to things without an entry, dimensions without a value"
        ),
    )


def _missing_overall(scope: Scope) -> AggregateResult:
    """Cells of the taxonomy without a document, and names in relations without an entry."""
    graph = scope.kb.catalogue.graph
    rows = [
        Row(cells=(" · ".join(values), f"no document has both ({' × '.join(names)})"))
        for names, values in empty_cells(scope)
    ]
    whole = bool(scope.collections) and not scope.limited
    nodes = {
        (node.collection, node.id): node
        for node in (graph.entities(scope.collections) if whole else ())
    }
    wanted: dict[str, list[str]] = {}
    for edge in graph.edges(scope.collections) if whole else ():
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


def _absent(all_of: Iterable[str], there: Sequence[str] | Iterable[str]) -> list[str]:
    return sorted(set(all_of) - set(there))
