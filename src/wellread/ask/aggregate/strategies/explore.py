"""Exploratory questions: the entities that a question is about, in groups, each in one line.

Four things speak for an entity: that the question names one of its taxonomy values, that its own
text is found for the question, that the passages found for the question name it, and that its
type is asked for. Where the question holds nothing but a type or a value, every entity that has
it is listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wellread.ask.aggregate.graph.chunks import noun_of
from wellread.ask.aggregate.graph.entity_lists import (
    Candidate,
    Key,
    Pair,
    Wanted,
    grouped_by,
    key_of_node,
    tally_of,
)
from wellread.ask.retrieve.relax import Within, search_within
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.retrieve.search import check_collections
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.text.english import STOP_WORDS
from wellread.text.stems import stem
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Hit

STRATEGY = "entities by group"
DEEP = 40  # passages looked at, of entities and of everything
MOST_LISTED = 25  # when they are ranked; those with a type or value that is asked for are all
LEAST_FOUND = 0.5  # of the best score of an entity, for one that is only found by search
LEAST_NAMED = 0.5  # of what being named says for the one most named, for one that is only named
NAMED_WEIGHT = 0.5  # of being named by passages for the question, beside being found
# Words of exploratory questions that say nothing about what is looked for.
_FRAMING = frozenset(
    map(
        stem,
        "kind kinds sort sorts type types example examples explore show find entity entities entry "
        "entries list overview relevant interesting different various work working exist "
        "available scale level sector field area topic topics project projects thing things "
        "collection know look involved concerned deal around".split(),
    )
)


def explore(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """The entities that the question is about; None where there are none.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    check_collections(kb, analysis.filters)
    nodes = _allowed(kb, analysis)
    if not nodes:
        return None
    wanted = _wanted(kb, analysis, nodes)
    nodes = [node for node in nodes if not wanted.types or node.type in wanted.types]
    assigned = _assigned(kb, nodes)
    if wanted.values:
        nodes = [node for node in nodes if _has_one_of_each(assigned, node, wanted.values)]
    if not nodes:
        return None
    text = analysis.subject or analysis.question
    if wanted.telling and not wanted.values:
        text = " ".join(wanted.telling)
    ranked, within, others = _ranked(kb, analysis, nodes, text)
    if wanted.exhaustive:
        known = {key_of_node(one.node) for one in ranked}
        unranked = [node for node in nodes if key_of_node(node) not in known]
        listed = ranked + [Candidate(node=node, score=0.0, hit=None) for node in unranked]
    else:
        listed = [one for one in ranked if one.strong][:MOST_LISTED]
    if not listed:
        return None
    most = kb.settings.retrieval.top_k
    hits = [one.hit for one in listed if one.hit is not None]
    return Retrieval(
        strategy=STRATEGY,
        hits=(*hits, *others[: most // 3])[:most],
        tally=tally_of(kb, grouped_by(listed, assigned, wanted), wanted),
        relaxed=within[-1].relaxed,
        failures=within[-1].failures,
        traces=tuple(made for one in within for made in one.traces),
    )


# --- what is asked for ---


def _allowed(kb: KnowledgeBase, analysis: Analysis) -> list[EntityNode]:
    """The entities within the asker's filters and the question's limits.

    Limits that leave no entity are left out here; the search for passages tells about them.
    """
    nodes = kb.catalogue.graph.entities(analysis.filters.collections)
    # A node may be a newsletter or a recording; to explore is to look for things with an entry.
    limits = [analysis.filters]
    for constraint in analysis.constraints:
        if constraint.kind not in ("kind", "source_type"):
            limits.append(constraint.filters)
    for used in (limits, limits[:1]):
        wanted = [*used, Filters(kinds=("entity",))]
        known = {entry.id for entry in kb.catalogue.censuses.entries(wanted)}
        found = [node for node in nodes if known & set(node.documents)]
        if found:
            return found
    return []


def _wanted(kb: KnowledgeBase, analysis: Analysis, nodes: Sequence[EntityNode]) -> Wanted:
    """Entity types and taxonomy values in the question's words; longer values before shorter."""
    tokens = [noun_of(token.plain) for token in tokens_of(analysis.question)]
    left = [True] * len(tokens)
    scope = list(dict.fromkeys(node.collection for node in nodes))
    types = {node.type for node in nodes if node.type}
    pairs = {
        (dimension, value)
        for one in kb.catalogue.vocabulary.of(scope)
        for dimension, values in one.taxonomy.items()
        for value in values
        if value not in types
    }
    values: dict[Pair, None] = {}
    for pair in sorted(pairs, key=lambda pair: (-len(pair[1]), pair)):
        phrase = [noun_of(token.plain) for token in tokens_of(pair[1].replace("-", " "))]
        for place in _places(tokens, phrase):
            span = range(place, place + len(phrase))
            if all(left[at] for at in span) or values:
                values[pair] = None
                for at in span:
                    left[at] = False
    asked = set()
    for name in sorted(types):
        for place in _places(tokens, [noun_of(token.plain) for token in tokens_of(name)]):
            asked.add(name)
            left[place] = False
    rest = [
        token.plain
        for token, free in zip(tokens_of(analysis.question), left, strict=True)
        if free and token.plain not in STOP_WORDS
    ]
    dimensions = {noun_of(pair[0]) for pair in pairs}
    telling = [
        word for word in rest if stem(word) not in _FRAMING and noun_of(word) not in dimensions
    ]
    return Wanted(
        types=frozenset(asked),
        values=tuple(values),
        telling=tuple(telling),
    )


def _places(tokens: Sequence[str], phrase: Sequence[str]) -> list[int]:
    """Where the phrase begins."""
    size = len(phrase)
    return [
        at
        for at in range(len(tokens) - size + 1)
        if phrase and list(tokens[at : at + size]) == list(phrase)
    ]


# --- which entities ---


def _assigned(kb: KnowledgeBase, nodes: Sequence[EntityNode]) -> Mapping[Key, list[Pair]]:
    """(Collection, entity id) to its taxonomy values."""
    scope = tuple(dict.fromkeys(node.collection for node in nodes))
    of_document: dict[str, list[Pair]] = {}
    if scope:
        for pair, held in kb.catalogue.censuses.taxonomy([Filters(collections=scope)]).items():
            for known in held:
                of_document.setdefault(known, []).append(pair)
    return {
        (node.collection, node.id): [
            pair for known in node.documents for pair in of_document.get(known, ())
        ]
        for node in nodes
    }


def _has_one_of_each(
    assigned: Mapping[Key, list[Pair]], node: EntityNode, values: Sequence[Pair]
) -> bool:
    mine = set(assigned.get((node.collection, node.id), ()))
    dimensions = {dimension for dimension, _ in values}
    return all(
        any(pair in mine for pair in values if pair[0] == dimension) for dimension in dimensions
    )


def _ranked(
    kb: KnowledgeBase, analysis: Analysis, nodes: Sequence[EntityNode], text: str
) -> tuple[list[Candidate], tuple[Within, ...], list[Hit]]:
    """The entities that search finds, best first; the searches; and passages that name them."""
    by_document = {known: node for node in nodes for known in node.documents}
    within = replace(
        analysis,
        constraints=(),
        filters=replace(analysis.filters, kinds=("entity",), document_ids=tuple(by_document)),
    )
    own = search_within(kb, within, text, DEEP, purpose="entities")
    everywhere = search_within(kb, analysis, text, DEEP, purpose="passages that name entities")
    best: dict[Key, Hit] = {}
    for hit in own.hits:
        node = by_document.get(hit.document.id)
        if node is not None:
            best.setdefault((node.collection, node.id), hit)
    named = _named(kb, everywhere.hits)
    most_found = max((hit.score for hit in best.values()), default=0.0) or 1.0
    most_named = max(named.values(), default=0.0) or 1.0
    found = []
    for node in nodes:
        key = (node.collection, node.id)
        own_hit = best.get(key)
        shares = (
            own_hit.score / most_found if own_hit else 0.0,
            named.get(key, 0.0) / most_named,
        )
        if any(shares):
            strong = shares[0] >= LEAST_FOUND or shares[1] >= LEAST_NAMED
            score = shares[0] + NAMED_WEIGHT * shares[1]
            found.append(Candidate(node=node, score=score, hit=own_hit, strong=strong))
    found.sort(key=lambda one: (-one.score, one.node.title.casefold()))
    naming = [hit for hit in everywhere.hits if hit.document.kind != "entity"]
    return found, (own, everywhere), naming


def _named(kb: KnowledgeBase, hits: Iterable[Hit]) -> dict[Key, float]:
    """How much the documents of the hits speak for each entity that they name.

    That is how many of them name it, times the share that they are of all documents that do: what
    is named everywhere says little.
    """
    documents: dict[str, dict[str, None]] = {}
    for hit in hits:
        if hit.document.kind != "entity":
            documents.setdefault(hit.document.collection, {})[hit.document.id] = None
    if not documents:
        return {}
    totals = kb.catalogue.graph.mention_totals(tuple(documents))
    return {
        (collection, known): count * count / totals[collection, known].documents
        for collection, ids in documents.items()
        for known, count in kb.catalogue.censuses.named_in(collection, ids).items()
        if (collection, known) in totals
    }
