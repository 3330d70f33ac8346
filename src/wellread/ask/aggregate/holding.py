"""Finds every document about a topic: entities through the graph, other words in the texts.

The search is exhaustive and unranked. The index lists candidate documents to the end of its
ranking, and their texts are checked. For words so common that this list would be too long, the
texts of all documents within the limits are read instead. The result is exact either way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from wellread.ask.aggregate.query import CatalogueQuery, Name, Place, Scope, Topic
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.listings import Entry
from wellread.text.english import STOP_WORDS
from wellread.text.parsed import stem
from wellread.text.sentences import is_sentence, sentence_spans
from wellread.text.tokens import key_of, singular
from wellread.types import Filters, Span

LONGEST_LIST = 20_000  # passages; beyond, reading texts is about as quick as unpacking the list
SHORTEST_START = 2
MOST_READ = 20_000  # documents of a scope whose texts are searched for a name that is known
LONGEST_WORD = 40  # the index leaves out longer ones
_GAP = r"(?:['’]s)?[\W_]+"


MOST_SHOWN = 40  # documents of a result whose texts are looked through again
FRONT = 8_000  # characters of a document in which its authors are named
MOST_LOOKED_AT = 12  # places of one name in one document


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDocuments:
    """The documents about a topic and how they were found.

    Attributes:
        counts: document id to how often it names the topic; zero where it only links to it.
        apart: those that hold the words of a phrase, but not as one.
    """

    counts: dict[str, int]
    method: str
    apart: tuple[str, ...] = ()


def documents_about(scope: Scope, topic: Topic) -> TopicDocuments:
    """All documents of the scope that are about the topic."""
    found = [_of_name(scope, name, naming=topic.naming) for name in topic.names]
    sets = [set(one.counts) for one in found]
    kept = set.intersection(*sets) if topic.every else set.union(*sets)
    counts = {
        known: sum(one.counts.get(known, 0) for one in found)
        for known in dict.fromkeys(known for one in found for known in one.counts)
        if known in kept
    }
    method = ("; and " if topic.every else "; or ").join(one.method for one in found)
    return TopicDocuments(
        counts=counts, method=method, apart=found[0].apart if len(found) == 1 else ()
    )


def nodes_of(scope: Scope, name: Name) -> list[EntityNode]:
    """The entities of the scope that have this name."""
    if not scope.collections:
        return []
    graph = scope.kb.catalogue.graph
    if name.entities:
        found = [graph.entity(*key) for key in name.entities]
        return [node for node in found if node and node.collection in scope.collections]
    return graph.resolve(scope.collections, name.phrase)


def _of_name(scope: Scope, name: Name, *, naming: bool) -> TopicDocuments:
    nodes = nodes_of(scope, name)
    if not nodes:
        return documents_containing(scope, name.phrase, literal=naming)
    catalogue = scope.kb.catalogue
    titles = " and ".join(dict.fromkeys(f"“{node.title}”" for node in nodes))
    method = f"documents that name the entity {titles}, under any of its names"
    counts: dict[str, int] = {}
    wanted: tuple[str, ...] = ()
    full_names = {key_of(one) for node in nodes for one in (node.title, *node.aliases)}
    few = catalogue.counts.totals(scope.limits).documents <= MOST_READ
    if few or key_of(name.phrase) not in full_names:
        # The graph leaves out names that are ordinary words, and parts of names ("Kittiwake").
        held = documents_containing(scope, name.phrase, literal=naming)
        counts, wanted = dict(held.counts), tokens(name.phrase, literal=naming)
        method += f", or {held.method.partition('title or text ')[2]}"
    for node in nodes:
        key = (node.collection, node.id)
        for known, names_of in catalogue.counts.mentioning(key, scope.limits).items():
            # Names that hold the words were counted with them.
            more = sum(
                often
                for spelled, often in names_of.items()
                if not (wanted and _within(wanted, tokens(spelled, literal=naming)))
            )
            if more:
                counts[known] = counts.get(known, 0) + more
    if not naming:
        aware = scope.kb.settings.features.graph_aware
        near = [
            step.node
            for node in (nodes if aware else ())
            for step in catalogue.graph.neighbours([node.collection], node.id)
            if step.node
        ]
        linked = {known for node in (*nodes, *near) for known in node.documents} - counts.keys()
        counts |= dict.fromkeys((one.id for one in scope.only(sorted(linked)).entries()), 0)
        method += ", have a relation to it, or describe it" if aware else ", or describe it"
    return TopicDocuments(counts=counts, method=method)


def _within(wanted: Sequence[str], held: Sequence[str]) -> bool:
    return any(
        list(held[start : start + len(wanted)]) == list(wanted)
        for start in range(len(held) - len(wanted) + 1)
    )


def documents_containing(scope: Scope, phrase: str, *, literal: bool = False) -> TopicDocuments:
    """The documents of the scope that contain ``phrase``.

    Args:
        literal: singular and plural are the same, other forms ("facilitator", "facilitate") not.
    """
    wanted = tokens(phrase, literal=literal)
    entries = scope.first_entries(2) if wanted else []
    if len(entries) > 1:
        candidates = _candidates(scope, phrase)
        narrow = scope if candidates is None else scope.only(sorted(candidates))
        entries = narrow.entries()
    counts = {entry.id: 0 for entry in entries}
    apart: list[str] = []
    telling = set(wanted) - STOP_WORDS if len(wanted) > 1 else ()
    for known, whole in scope.kb.catalogue.counts.texts(list(counts)):
        text = _plain(whole)
        counts[known] = sum(1 for _ in matches(text, wanted, literal=literal))
        if (
            telling
            and not counts[known]
            and all(next(matches(text, (word,), literal=literal), -1) >= 0 for word in telling)
        ):
            apart.append(known)
    forms = "in singular or plural" if literal else "in any form of its words"
    return TopicDocuments(
        counts={known: count for known, count in counts.items() if count},
        apart=tuple(apart),
        method=f"documents whose title or text holds “{phrase}” {forms} "
        f"(by words, not by meaning; {len(counts):,} texts read)",
    )


def naming_most(scope: Scope, phrase: str) -> list[Entry]:
    """The document with ``phrase`` at least twice as often as any other, if there is one."""
    counts = documents_containing(scope, phrase, literal=True).counts
    first, second, *_ = *sorted(counts, key=lambda known: -counts[known]), "", ""
    if counts.get(first, 0) < 2 * max(1, counts.get(second, 0)):
        return []
    return scope.only([first]).entries()


def tokens(phrase: str, *, literal: bool = False) -> tuple[str, ...]:
    """The words of ``phrase`` in comparable form: stems, or singulars with ``literal``."""
    return tuple(_form(word, literal=literal) for word in _plain_words(phrase))


def _form(word: str, *, literal: bool) -> str:
    return (singular(word.lower()) or word.lower()) if literal else stem(word)


def _plain_words(phrase: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", _plain(phrase)))


def _plain(text: str) -> str:
    """``text`` without accents, because the index does not distinguish café from cafe."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _candidates(scope: Scope, phrase: str) -> set[str] | None:
    """Documents that may contain all of the words; None when the index cannot tell."""
    index = scope.kb.index
    filters = Filters(collections=scope.collections)
    found: set[str] | None = None
    for token in dict.fromkeys(word.lower() for word in _plain_words(phrase)):
        if token in STOP_WORDS or len(token) > LONGEST_WORD:
            continue  # words that the index may not have
        rows = index.search_text(token, filters, LONGEST_LIST)
        if len(rows) < LONGEST_LIST:
            held = {row.document_id for row in rows}
            found = held if found is None else found & held
    return found


@lru_cache(maxsize=64)
def _starts(wanted: tuple[str, ...]) -> re.Pattern[str]:
    """Where the phrase may stand: by the first letters of each word, which is quick.

    A stem is not always how its words begin (city, cities: citi), so its last letter is left out.
    """
    starts = [re.escape(stem[: max(SHORTEST_START, len(stem) - 1)]) for stem in wanted]
    return re.compile(_GAP.join(rf"({start}[^\W_]*)" for start in starts), re.IGNORECASE)


def matches(text: str, wanted: tuple[str, ...], *, literal: bool) -> Iterator[int]:
    """Where the phrase made of ``tokens`` stands in ``text``."""
    pattern, place = _starts(wanted), 0
    while match := pattern.search(text, place):
        begins = match.start() == 0 or not text[match.start() - 1].isalnum()
        pairs = zip(match.groups(), wanted, strict=True)
        right = begins and all(_form(word, literal=literal) == one for word, one in pairs)
        if right:
            yield match.start()
        place = match.end() if right else match.start() + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A query with the scope that its limits leave."""

    query: CatalogueQuery
    scope: Scope

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of the query in words, as they follow the noun."""
        query = self.query
        topic = (query.about.said,) if query.about else ()
        return (*topic, *self.scope.said)

    @property
    def suffix(self) -> str:
        """The conditions after a comma."""
        return "".join(f", {part}" for part in self.conditions)

    @property
    def after_noun(self) -> str:
        """The conditions right after a noun."""
        limits = ", ".join(self.conditions)
        return f" {limits}" if limits else ""

    def entries(self) -> tuple[list[Entry], TopicDocuments | None]:
        """The documents that match the query, and their topic matches."""
        scope, held = self.scope, None
        if self.query.about:
            held = documents_about(self.scope, self.query.about)
            scope = scope.only(sorted(held.counts))
        return scope.entries(), held

    def narrowed(self) -> Scope:
        """The scope, without the documents that are not about the topic."""
        if self.query.about is None:
            return self.scope
        return self.scope.only([entry.id for entry in self.entries()[0]])


# --- the sentence that shows that a document names a topic ---------------------------------------


def places_naming(scope: Scope, topic: Topic, document_ids: Sequence[str]) -> Mapping[str, Place]:
    """The first whole sentence of each document that names the topic."""
    spelled = [
        [
            name.phrase,
            *(one for node in nodes_of(scope, name) for one in (node.title, *node.aliases)),
        ]
        for name in topic.names
    ]
    return _places(scope, document_ids, spelled, literal=topic.naming)


def places_signed(
    scope: Scope, authors: Sequence[str], document_ids: Sequence[str]
) -> Mapping[str, Place]:
    """The place in each document's front matter that names one of the authors."""
    return _places(scope, document_ids, [list(authors)], literal=True, front=FRONT)


def _places(
    scope: Scope,
    document_ids: Sequence[str],
    spelled: Sequence[Sequence[str]],
    *,
    literal: bool,
    front: int = 0,
) -> Mapping[str, Place]:
    """The sentence of each document, or of its front, that holds most of the names."""
    catalogue, ids = scope.kb.catalogue, list(document_ids)[:MOST_SHOWN]
    wanted = [{tokens(one, literal=literal): None for one in names} for names in spelled]
    facts = catalogue.facts(set(ids))
    parts = [
        (known, Span(start=0, end=min(front or fact.characters, fact.characters)))
        for known in ids
        if (fact := facts.get(known))
    ]
    places: dict[str, Place] = {}
    for (known, _), text in zip(parts, catalogue.texts(parts), strict=True):
        span = _best(text, wanted, literal=literal, sentences=not front)
        if span is not None:
            places[known] = Place(document_id=known, version=facts[known].version, span=span)
    return places


def _best(
    text: str, wanted: Sequence[Iterable[tuple[str, ...]]], *, literal: bool, sentences: bool
) -> Span | None:
    """The sentence that contains most of the names; whole sentences before headings."""
    plain = _in_place(text)
    held: dict[Span, set[int]] = {}
    for number, spellings in enumerate(wanted):
        for spelling in filter(None, spellings):
            for at in islice(matches(plain, spelling, literal=literal), MOST_LOOKED_AT):
                held.setdefault(_sentence_at(text, at), set()).add(number)

    def rank(span: Span) -> tuple[int, bool, int]:
        return -len(held[span]), sentences and not is_sentence(span.of(text)), span.start

    return min(held, key=rank, default=None)


def _sentence_at(text: str, place: int) -> Span:
    """The sentence of ``text`` around ``place``."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : end if end >= 0 else len(text)]
    inside = (span for span in sentence_spans(line) if span.start <= place - start < span.end)
    span = next(inside, Span(start=0, end=len(line)))
    return Span(start=start + span.start, end=start + span.end)


def _in_place(text: str) -> str:
    """``text`` without accents and of the same length, so that positions stay valid."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFKD", letter)[0] for letter in text)
