"""Finds every document about a topic: entities through the graph, other words in the texts.

The search is exhaustive and unranked.

The index lists candidate documents to the end of its ranking, and their texts are checked. For
words so common that this list would be too long, the texts of all documents within the limits are
read instead. The result is exact either way; only the time differs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from wellread.ask.aggregate.read.query import CatalogueQuery, Name, Topic
from wellread.ask.aggregate.read.result import Place, Scope
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.listings import Entry
from wellread.text.english import STOP_WORDS
from wellread.text.names import singular
from wellread.text.sentences import is_sentence, sentence_spans
from wellread.text.tokens import key_of
from wellread.text.words import stem
from wellread.types import Filters, Span

Form = Callable[[str], str]

LONGEST_LIST = 20_000  # passages; beyond, reading texts is about as quick as unpacking the list
SHORTEST_START = 2
MOST_READ = 20_000  # documents of a scope whose texts are searched for a name that is known
LONGEST_WORD = 40  # the index leaves out longer ones
_WORD = r"[^\W_]+"
_GAP = r"(?:['’]s)?[\W_]+"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseMatches:
    """How often each document contains a phrase.

    Attributes:
        counts: document id to how often its title and text hold the phrase; never zero.
        apart: documents that hold all of its words, but not as a phrase.
        read: how many texts were read to find out.
    """

    phrase: str
    counts: dict[str, int]
    apart: tuple[str, ...]
    read: int
    literal: bool

    @property
    def forms(self) -> str:
        """Which forms of the words count."""
        return "in singular or plural" if self.literal else "in any form of its words"

    @property
    def method(self) -> str:
        """How the documents were found, for readers who check the result."""
        return (
            f"documents whose title or text holds “{self.phrase}” {self.forms} "
            f"(by words, not by meaning; {self.read:,} texts read)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDocuments:
    """The documents about a topic and how they were found.

    Attributes:
        counts: document id to how often it names the topic; zero where it only links to it.
        method: how they were found, for a reader.
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
        held = documents_containing(scope, name.phrase, literal=naming)
        return TopicDocuments(counts=held.counts, method=held.method, apart=held.apart)
    catalogue = scope.kb.catalogue
    names = " and ".join(dict.fromkeys(f"“{node.title}”" for node in nodes))
    method = f"documents that name the entity {names}, under any of its names"
    counts: dict[str, int] = {}
    wanted = tokens(name.phrase, literal=naming)
    if _worth_reading(scope, name, nodes):
        # The graph leaves out names that are ordinary words, and parts of names ("Kittiwake").
        held = documents_containing(scope, name.phrase, literal=naming)
        counts = dict(held.counts)
        method += f", or hold the words “{name.phrase}” {held.forms} ({held.read:,} texts read)"
    else:
        wanted = ()
    for node in nodes:
        key = (node.collection, node.id)
        for known, names_of in catalogue.counts.mentioning(key, scope.limits).items():
            # Names that hold the words were counted with them.
            more = sum(
                n
                for spelled, n in names_of.items()
                if not wanted or not _within(wanted, tokens(spelled, literal=naming))
            )
            if more:
                counts[known] = counts.get(known, 0) + more
    if not naming:
        aware = scope.kb.settings.features.graph_aware
        linked = {known for node in nodes for known in node.documents}
        linked |= {
            known
            for node in (nodes if aware else ())
            for near in catalogue.graph.neighbours([node.collection], node.id)
            if near.node
            for known in near.node.documents
        }
        if linked - counts.keys():
            counts |= {
                entry.id: 0
                for entry in scope.only(sorted(linked)).entries()
                if entry.id not in counts
            }
        method += ", have a relation to it, or describe it" if aware else ", or describe it"
    return TopicDocuments(counts=counts, method=method)


def _worth_reading(scope: Scope, name: Name, nodes: Sequence[EntityNode]) -> bool:
    """Whether to read texts too; skipped for full entity names in a very large scope."""
    totals = scope.kb.catalogue.counts.totals(scope.limits)
    known = {key_of(one) for node in nodes for one in (node.title, *node.aliases)}
    return totals.documents <= MOST_READ or key_of(name.phrase) not in known


def _within(wanted: Sequence[str], held: Sequence[str]) -> bool:
    return any(
        list(held[start : start + len(wanted)]) == list(wanted)
        for start in range(len(held) - len(wanted) + 1)
    )


def documents_containing(scope: Scope, phrase: str, *, literal: bool = False) -> PhraseMatches:
    """The documents of the scope that contain ``phrase``.

    Args:
        literal: singular and plural are the same, other forms ("facilitator", "facilitate") not.
    """
    form = _FORMS[literal]
    wanted = tokens(phrase, literal=literal)
    entries = scope.first_entries(2) if wanted else []
    if len(entries) > 1:
        found = _candidates(scope, phrase)
        entries = scope.entries() if found is None else scope.only(sorted(found)).entries()
    ids = [entry.id for entry in entries]
    counts: dict[str, int] = {}
    apart: list[str] = []
    start = _starts(wanted)
    for known, whole in scope.kb.catalogue.counts.texts(ids):
        text = _plain(whole)
        count = _count(start, wanted, text, form)
        if count:
            counts[known] = count
        elif len(wanted) > 1 and _all_there(wanted, text, form):
            apart.append(known)
    kept = {known: counts[known] for known in ids if known in counts}
    return PhraseMatches(
        phrase=phrase, counts=kept, apart=tuple(apart), read=len(ids), literal=literal
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
    return tuple(map(_FORMS[literal], _plain_words(phrase)))


def _singular(word: str) -> str:
    plain = word.lower()
    return singular(plain) or plain


def _plain_words(phrase: str) -> list[str]:
    return re.findall(_WORD, re.sub(r"['’]s\b", "", _plain(phrase)))


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


def _starts(wanted: Sequence[str]) -> re.Pattern[str]:
    """Where the phrase may stand: by the first letters of each word, which is quick.

    A stem is not always how its words begin (city, cities: citi), so its last letter is left out.
    """
    starts = [re.escape(stem[: max(SHORTEST_START, len(stem) - 1)]) for stem in wanted]
    return re.compile(_GAP.join(rf"({start}[^\W_]*)" for start in starts), re.IGNORECASE)


def matches(text: str, wanted: Sequence[str], *, literal: bool) -> Iterator[int]:
    """The spans of ``text`` that contain the phrase made of ``tokens``."""
    return _matches(_starts(wanted), wanted, text, _FORMS[literal])


def _matches(start: re.Pattern[str], wanted: Sequence[str], text: str, form: Form) -> Iterator[int]:
    place = 0
    while found := start.search(text, place):
        begins = found.start() == 0 or not text[found.start() - 1].isalnum()
        right = begins and all(
            form(token) == one for token, one in zip(found.groups(), wanted, strict=True)
        )
        if right:
            yield found.start()
        place = found.end() if right else found.start() + 1


def _count(start: re.Pattern[str], wanted: Sequence[str], text: str, form: Form) -> int:
    return sum(1 for _ in _matches(start, wanted, text, form))


def _all_there(wanted: Iterable[str], text: str, form: Form) -> bool:
    return all(_count(_starts([one]), [one], text, form) for one in set(wanted) - STOP_WORDS)


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


_FORMS: dict[bool, Form] = {False: stem, True: _singular}


# --- the sentence that shows that a document names a topic ---------------------------------------

MOST_SHOWN = 40  # documents of a result whose texts are looked through again
FRONT = 8_000  # characters of a document in which its authors are named
MOST_LOOKED_AT = 12  # places of one name in one document


def places_naming(scope: Scope, topic: Topic, document_ids: Sequence[str]) -> Mapping[str, Place]:
    """The first whole sentence of each document that names the topic."""
    catalogue = scope.kb.catalogue
    wanted = [
        list(
            dict.fromkeys(
                tokens(said, literal=topic.naming)
                for node in (None, *nodes_of(scope, name))
                for said in ((node.title, *node.aliases) if node else (name.phrase,))
            )
        )
        for name in topic.names
    ]
    ids = list(document_ids)[:MOST_SHOWN]
    facts = catalogue.facts(set(ids))
    whole = [(known, Span(start=0, end=facts[known].characters)) for known in ids if known in facts]
    found: dict[str, Place] = {}
    for (known, _), text in zip(whole, catalogue.texts(whole), strict=True):
        span = _best(text, wanted, literal=topic.naming)
        if span is not None:
            found[known] = Place(document_id=known, version=facts[known].version, span=span)
    return found


def places_signed(
    scope: Scope, authors: Sequence[str], document_ids: Sequence[str]
) -> Mapping[str, Place]:
    """The place in each document's front matter that names one of the authors."""
    catalogue = scope.kb.catalogue
    facts = catalogue.facts(set(document_ids[:MOST_SHOWN]))
    fronts = [
        (known, Span(start=0, end=min(FRONT, facts[known].characters)))
        for known in document_ids[:MOST_SHOWN]
        if known in facts
    ]
    spellings = [tokens(author, literal=True) for author in authors]
    found: dict[str, Place] = {}
    for (known, _), text in zip(fronts, catalogue.texts(fronts), strict=True):
        place = min(_places(_in_place(text), spellings, literal=True), default=-1)
        if place >= 0:
            span = _sentence_at(text, place)
            found[known] = Place(document_id=known, version=facts[known].version, span=span)
    return found


def _best(text: str, wanted: Sequence[Sequence[tuple[str, ...]]], *, literal: bool) -> Span | None:
    """The sentence that contains most of the names; whole sentences before headings."""
    plain = _in_place(text)
    held: dict[Span, set[int]] = {}
    for place, spellings in enumerate(wanted):
        for at in _places(plain, spellings, literal=literal):
            held.setdefault(_sentence_at(text, at), set()).add(place)
    ranked = sorted(
        held, key=lambda span: (-len(held[span]), not is_sentence(span.of(text)), span.start)
    )
    return ranked[0] if ranked else None


def _places(plain: str, spellings: Sequence[tuple[str, ...]], *, literal: bool) -> Iterator[int]:
    for spelling in filter(None, spellings):
        yield from islice(matches(plain, spelling, literal=literal), MOST_LOOKED_AT)


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
