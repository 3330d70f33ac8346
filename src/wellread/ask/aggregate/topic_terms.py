"""What counted documents have to be about: entities by the graph, other words by the texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.ask.aggregate.question_pieces import Item
from wellread.ask.aggregate.scope import Scope
from wellread.ask.aggregate.word_holders import holding, tokens
from wellread.questions import NamedEntity
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.text.tokens import key_of

MOST_READ = 20_000  # documents of a scope whose texts are searched for a name that is known

LONGEST = 6  # words of a topic; what is longer is a question of its own
_CLAUSE = re.compile(
    r"\b(?:that|which|who|how|why|when|where|what|if|whether|this|it|"
    r"(?:from|in|since|before|after|until|during)\s+(?:\w+\s+)?\d{4})\b",
    re.IGNORECASE,
)

_ABOUT = (
    ("talk", "about"),
    ("talks", "about"),
    ("talking", "about"),
    ("speak", "about"),
    ("deal", "with"),
    ("deals", "with"),
    ("dealing", "with"),
    ("about",),
    ("regarding",),
    ("concerning",),
    ("discuss",),
    ("discusses",),
    ("discussing",),
    ("cover",),
    ("covers",),
    ("covering",),
)
_NAMING = (
    ("contain", "the", "word"),
    ("contain", "the", "words"),
    ("contain", "the", "phrase"),
    ("use", "the", "word"),
    ("mention",),
    ("mentions",),
    ("mentioning",),
    ("mentioned",),
    ("name",),
    ("names",),
    ("naming",),
)
_WEAK = (("on",),)
_PASSIVE = frozenset(("mentioned", "discussed", "covered", "named", "described"))
_BEING = frozenset(("is", "are", "was", "were", "been", "does", "do", "did", "has", "have"))
_EDGES = frozenset(
    """
    a an the is are was were there do does did we you have has in of at all any both to it
    collection archive library knowledge base catalogue our your this these
    """.split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One thing that is looked for: an entity, or words as the question has them."""

    phrase: str
    entities: tuple[NamedEntity, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What documents have to be about.

    Attributes:
        every: whether all terms have to be there, else one is enough.
        naming: whether they have to name it; else a link to it will do, too.
    """

    terms: tuple[Term, ...]
    every: bool = True
    naming: bool = False

    @classmethod
    def of(cls, question: str, items: Sequence[Item]) -> Topic:
        """The topic that consists of these pieces of the question."""
        return Topic(terms=(_term(question, items),))

    @property
    def clear(self) -> bool:
        """Whether its words are a topic, and not a clause or a limit that was not understood."""
        return all(
            term.entities
            or (len(term.phrase.split()) <= LONGEST and not _CLAUSE.search(term.phrase))
            for term in self.terms
        )

    @property
    def said(self) -> str:
        """As it follows a noun: ``mentioning “taproot”``."""
        names = (" and " if self.every else " or ").join(f"“{term.phrase}”" for term in self.terms)
        return f"{'mentioning' if self.naming else 'about'} {names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """The documents that are about a topic.

    Attributes:
        counts: document id to how often it names the topic; zero where it only links to it.
        method: how they were found, for a reader.
        apart: those that hold the words of a phrase, but not as one.
    """

    counts: dict[str, int]
    method: str
    apart: tuple[str, ...] = ()


def read_topic(
    question: str, items: Sequence[Item], *, strong: bool
) -> tuple[Topic | None, list[Item]]:
    """The topic that the words name, and the words that are left.

    Args:
        strong: look for words that can only introduce a topic; else for ``on``, which can be
            a part of many things.
    """
    if strong:
        found = _passive(question, items)
        if found:
            return found
    for markers, naming in ((_NAMING, True), (_ABOUT, False)) if strong else ((_WEAK, False),):
        for marker in markers:
            place = _place(items, marker)
            if place is None:
                continue
            tail = _trimmed(items[place + len(marker) :])
            if tail:
                topic = _topic(question, tail, naming=naming)
                return topic, [item for item in items[:place] if item not in tail]
    return None, list(items)


def documents_about(scope: Scope, topic: Topic) -> Holding:
    """The documents of the scope that are about the topic, all of them."""
    found = [_of_term(scope, term, naming=topic.naming) for term in topic.terms]
    sets = [set(one.counts) for one in found]
    kept = set.intersection(*sets) if topic.every else set.union(*sets)
    counts = {
        known: sum(one.counts.get(known, 0) for one in found)
        for known in dict.fromkeys(known for one in found for known in one.counts)
        if known in kept
    }
    method = ("; and " if topic.every else "; or ").join(one.method for one in found)
    return Holding(counts=counts, method=method, apart=found[0].apart if len(found) == 1 else ())


def nodes_of(scope: Scope, term: Term) -> list[EntityNode]:
    """The entities of the scope that the term is a name of."""
    if not scope.collections:
        return []
    graph = scope.kb.catalogue.graph
    if term.entities:
        found = [graph.entity(one.collection, one.entity_id) for one in term.entities]
        return [node for node in found if node and node.collection in scope.collections]
    return graph.resolve(scope.collections, term.phrase)


def _of_term(scope: Scope, term: Term, *, naming: bool) -> Holding:
    nodes = nodes_of(scope, term)
    if not nodes:
        held = holding(scope, term.phrase, literal=naming)
        return Holding(counts=held.counts, method=held.method, apart=held.apart)
    catalogue = scope.kb.catalogue
    names = " and ".join(dict.fromkeys(f"“{node.title}”" for node in nodes))
    method = f"documents that name the entity {names}, under any of its names"
    counts: dict[str, int] = {}
    wanted = tokens(term.phrase, literal=naming)
    if _worth_reading(scope, term, nodes):
        # The graph leaves out names that are ordinary words, and parts of names ("Kittiwake").
        held = holding(scope, term.phrase, literal=naming)
        counts = dict(held.counts)
        method += f", or hold the words “{term.phrase}” {held.forms} ({held.read:,} texts read)"
    else:
        wanted = ()
    for node in nodes:
        key = (node.collection, node.id)
        for known, names_of in catalogue.censuses.mentioning(key, scope.limits).items():
            # Names that hold the words were counted with them.
            more = sum(
                n
                for name, n in names_of.items()
                if not wanted or not _within(wanted, tokens(name, literal=naming))
            )
            if more:
                counts[known] = counts.get(known, 0) + more
    if not naming:
        linked = {
            known
            for node in nodes
            for near in catalogue.graph.neighbours([node.collection], node.id)
            if near.node
            for known in near.node.documents
        } | {known for node in nodes for known in node.documents}
        if linked - counts.keys():
            counts |= {
                entry.id: 0
                for entry in scope.only(sorted(linked)).entries()
                if entry.id not in counts
            }
        method += ", have a relation to it, or describe it"
    return Holding(counts=counts, method=method)


def _worth_reading(scope: Scope, term: Term, nodes: Sequence[EntityNode]) -> bool:
    """Whether texts are read, too: in a very large scope not for what is a whole name."""
    totals = scope.kb.catalogue.censuses.totals(scope.limits)
    spelled = {key_of(name) for node in nodes for name in (node.title, *node.aliases)}
    return totals.documents <= MOST_READ or key_of(term.phrase) not in spelled


def _within(wanted: Sequence[str], held: Sequence[str]) -> bool:
    return any(
        list(held[start : start + len(wanted)]) == list(wanted)
        for start in range(len(held) - len(wanted) + 1)
    )


def _passive(question: str, items: Sequence[Item]) -> tuple[Topic, list[Item]] | None:
    """The topic of "is X mentioned", "does X come up": X stands before the verb."""
    verb = next((place for place, item in enumerate(items) if item.plain in _PASSIVE), None)
    if verb is None:
        return None
    being = [place for place in range(verb) if items[place].plain in _BEING]
    if not being:
        return None
    inside = _trimmed(items[being[0] + 1 : verb])
    if not inside:
        return None
    naming = items[verb].plain in ("mentioned", "named")
    left = [*items[: being[0]], *items[verb + 1 :]]
    return _topic(question, inside, naming=naming), left


def _topic(question: str, items: Sequence[Item], *, naming: bool) -> Topic:
    """The topic of some pieces; "and" and "or" divide it where names of entities stand."""
    parts: list[list[Item]] = [[]]
    every = not any(item.plain == "or" for item in items)
    divides = ("or",) if not any(item.entities for item in items) else ("and", "or")
    for item in items:
        if item.plain in divides:
            parts.append([])
        else:
            parts[-1].append(item)
    terms = [_term(question, part) for part in map(_trimmed, parts) if part]
    return Topic(terms=tuple(terms), every=every, naming=naming)


def _term(question: str, items: Sequence[Item]) -> Term:
    phrase = question[items[0].span.start : items[-1].span.end]
    phrase = re.sub(r"^[\s\"'“‘«]+|[\s\"'”’»]+$", "", phrase)
    return Term(phrase=phrase, entities=items[0].entities if len(items) == 1 else ())


def _trimmed(items: Sequence[Item]) -> list[Item]:
    """The pieces without words at either end that name nothing."""
    kept = list(items)
    while kept and kept[-1].plain in _EDGES:
        kept.pop()
    while kept and kept[0].plain in _EDGES:
        kept.pop(0)
    return kept


def _place(items: Sequence[Item], words: Sequence[str]) -> int | None:
    plain = [item.plain for item in items]
    for start in range(len(plain) - len(words) + 1):
        if plain[start : start + len(words)] == list(words):
            return start
    return None
