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
from wellread.text.english import STOP_WORDS
from wellread.text.parsed import stem
from wellread.text.sentences import is_sentence, sentence_spans
from wellread.text.tokens import key_of, singular
from wellread.types import DocumentFacts, Filters, Span

MAX_LISTED_PASSAGES = 20_000  # reading all texts is about as quick as unpacking a longer list
MIN_START_CHARS = 2  # of a word, by which a text is scanned for it
MAX_TEXTS_READ = 20_000  # in a larger scope, a known name is only looked up in the graph
MAX_WORD_CHARS = 40  # the index leaves out longer ones
_GAP = r"(?:['’]s)?[\W_]+"
MAX_QUOTED_DOCUMENTS = 40  # whose texts are read again for a sentence to quote
FRONT_CHARS = 8_000  # the start of a document, where its authors are named
MAX_MATCHES_PER_NAME = 12  # places of one name looked at in one document


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDocuments:
    """The documents about a topic and how they were found.

    Attributes:
        counts: the number of mentions by document id; zero where a document only links to it.
        apart: the documents that contain all words of a phrase, but not next to each other.
    """

    counts: dict[str, int]
    method: str
    apart: tuple[str, ...] = ()


def documents_about(scope: Scope, topic: Topic) -> TopicDocuments:
    """Find all documents of the scope that are about the topic."""
    per_name = [_documents_about_name(scope, name, naming=topic.naming) for name in topic.names]
    sets = [set(documents.counts) for documents in per_name]
    matching = set.intersection(*sets) if topic.every else set.union(*sets)
    counts = {
        key: sum(documents.counts.get(key, 0) for documents in per_name)
        for key in dict.fromkeys(key for documents in per_name for key in documents.counts)
        if key in matching
    }
    method = ("; and " if topic.every else "; or ").join(documents.method for documents in per_name)
    return TopicDocuments(
        counts=counts, method=method, apart=per_name[0].apart if len(per_name) == 1 else ()
    )


def nodes_of(scope: Scope, name: Name) -> list[EntityNode]:
    """The entities of the scope that have this name."""
    if not scope.collections:
        return []
    graph = scope.kb.catalogue.graph
    if name.entities:
        nodes = [graph.entity(*key) for key in name.entities]
        return [node for node in nodes if node and node.collection in scope.collections]
    return graph.resolve(scope.collections, name.phrase)


def _documents_about_name(scope: Scope, name: Name, *, naming: bool) -> TopicDocuments:
    nodes = nodes_of(scope, name)
    if not nodes:
        return documents_containing(scope, name.phrase, literal=naming)
    catalogue = scope.kb.catalogue
    titles = " and ".join(dict.fromkeys(f"“{node.title}”" for node in nodes))
    method = f"documents that name the entity {titles}, under any of its names"
    counts: dict[str, int] = {}
    phrase: tuple[str, ...] = ()
    full_names = {key_of(title) for node in nodes for title in (node.title, *node.aliases)}
    reads_texts = catalogue.listings.count(scope.limits) <= MAX_TEXTS_READ
    if reads_texts or key_of(name.phrase) not in full_names:
        # The graph leaves out names that are ordinary words, and parts of names ("Kittiwake").
        text_matches = documents_containing(scope, name.phrase, literal=naming)
        counts, phrase = dict(text_matches.counts), tokens(name.phrase, literal=naming)
        method += f", or {text_matches.method.partition('title or text ')[2]}"
    for node in nodes:
        key = (node.collection, node.id)
        for document_id, names_of in catalogue.listings.mentioning(key, scope.limits).items():
            # Mentions by a name that contains the phrase were counted with the phrase.
            uncounted = sum(
                count
                for form, count in names_of.items()
                if not (phrase and _contains_phrase(phrase, tokens(form, literal=naming)))
            )
            if uncounted:
                counts[document_id] = counts.get(document_id, 0) + uncounted
    if not naming:
        with_relations = scope.kb.settings.features.graph_aware
        neighbours = [
            step.node
            for node in (nodes if with_relations else ())
            for step in catalogue.graph.neighbours([node.collection], node.id)
            if step.node
        ]
        linked = {key for node in (*nodes, *neighbours) for key in node.documents} - counts.keys()
        counts |= dict.fromkeys((entry.id for entry in scope.only(sorted(linked)).entries()), 0)
        method += f"{', have a relation to it' if with_relations else ''}, or describe it"
    return TopicDocuments(counts=counts, method=method)


def _contains_phrase(phrase: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(phrase)] == phrase for at in range(len(words)))


def documents_containing(scope: Scope, phrase: str, *, literal: bool = False) -> TopicDocuments:
    """Find the documents of the scope that contain ``phrase``.

    Args:
        literal: match singular and plural, but no other forms ("facilitator", "facilitate").
    """
    phrase_tokens = tokens(phrase, literal=literal)
    entries = scope.first_entries(2) if phrase_tokens else []
    if len(entries) > 1:
        candidates = _candidates(scope, phrase)
        narrowed = scope if candidates is None else scope.only(sorted(candidates))
        entries = narrowed.entries()
    counts = {entry.id: 0 for entry in entries}
    words_apart: list[str] = []
    content_words = set(phrase_tokens) - STOP_WORDS if len(phrase_tokens) > 1 else ()
    for document_id, full_text in scope.kb.catalogue.listings.texts(list(counts)):
        text = _without_accents(full_text)
        counts[document_id] = sum(1 for _ in matches(text, phrase_tokens, literal=literal))
        if content_words and not counts[document_id]:
            firsts = (next(matches(text, (w,), literal=literal), -1) for w in content_words)
            if all(position >= 0 for position in firsts):
                words_apart.append(document_id)
    forms = "in singular or plural" if literal else "in any form of its words"
    return TopicDocuments(
        counts={key: count for key, count in counts.items() if count},
        apart=tuple(words_apart),
        method=f"documents whose title or text holds “{phrase}” {forms} "
        f"(by words, not by meaning; {len(counts):,} texts read)",
    )


def document_naming_most(scope: Scope, phrase: str) -> list[DocumentFacts]:
    """Return the document that has ``phrase`` at least twice as often as any other, if any."""
    counts = documents_containing(scope, phrase, literal=True).counts
    first, second, *_ = *sorted(counts, key=lambda key: -counts[key]), "", ""
    if counts.get(first, 0) < 2 * max(1, counts.get(second, 0)):
        return []
    return scope.only([first]).entries()


def tokens(phrase: str, *, literal: bool = False) -> tuple[str, ...]:
    """The words of ``phrase`` in comparable form: stems, or singulars with ``literal``."""
    return tuple(_comparable_form(word, literal=literal) for word in _plain_words(phrase))


def _comparable_form(word: str, *, literal: bool) -> str:
    return (singular(word.lower()) or word.lower()) if literal else stem(word)


def _plain_words(phrase: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", _without_accents(phrase)))


def _without_accents(text: str) -> str:
    """``text`` without accents, because the index treats café as cafe."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _candidates(scope: Scope, phrase: str) -> set[str] | None:
    """The ids of the documents that may contain all words; None if the index cannot say."""
    index = scope.kb.index
    filters = Filters(collections=scope.collections)
    candidates: set[str] | None = None
    for token in dict.fromkeys(word.lower() for word in _plain_words(phrase)):
        if token in STOP_WORDS or len(token) > MAX_WORD_CHARS:
            continue  # words that the index may not have
        rows = index.search_text(token, filters, MAX_LISTED_PASSAGES)
        if len(rows) < MAX_LISTED_PASSAGES:
            document_ids = {row.document_id for row in rows}
            candidates = document_ids if candidates is None else candidates & document_ids
    return candidates


@lru_cache(maxsize=64)
def _start_pattern(stems: tuple[str, ...]) -> re.Pattern[str]:
    """A quick pattern for places that may be the phrase: the first letters of each word.

    The last letter of a stem is left out, because words can differ from it there (city: citi).
    """
    starts = [re.escape(stem[: max(MIN_START_CHARS, len(stem) - 1)]) for stem in stems]
    return re.compile(_GAP.join(rf"({start}[^\W_]*)" for start in starts), re.IGNORECASE)


def matches(text: str, phrase_tokens: tuple[str, ...], *, literal: bool) -> Iterator[int]:
    """Yield the positions in ``text`` at which the phrase with these tokens begins."""
    pattern, position = _start_pattern(phrase_tokens), 0
    while match := pattern.search(text, position):
        begins = match.start() == 0 or not text[match.start() - 1].isalnum()
        pairs = zip(match.groups(), phrase_tokens, strict=True)
        is_match = begins and all(_comparable_form(w, literal=literal) == f for w, f in pairs)
        if is_match:
            yield match.start()
        position = match.end() if is_match else match.start() + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A query with the scope that its limits leave."""

    query: CatalogueQuery
    scope: Scope

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of the query, as phrases that follow the noun."""
        query = self.query
        topic = (query.about.condition,) if query.about else ()
        return (*topic, *self.scope.descriptions)

    @property
    def suffix(self) -> str:
        """The conditions after a comma."""
        return "".join(f", {part}" for part in self.conditions)

    @property
    def after_noun(self) -> str:
        """The conditions right after a noun."""
        limits = ", ".join(self.conditions)
        return f" {limits}" if limits else ""

    def entries(self) -> tuple[list[DocumentFacts], TopicDocuments | None]:
        """The documents that match the query, and their topic matches."""
        scope, matched = self.scope, None
        if self.query.about:
            matched = documents_about(self.scope, self.query.about)
            scope = scope.only(sorted(matched.counts))
        return scope.entries(), matched

    def narrowed(self) -> Scope:
        """The scope, restricted to the documents about the topic."""
        if self.query.about is None:
            return self.scope
        return self.scope.only([entry.id for entry in self.entries()[0]])


# --- the sentence that shows that a document names a topic ---------------------------------------


def places_naming(scope: Scope, topic: Topic, document_ids: Sequence[str]) -> Mapping[str, Place]:
    """The sentence of each document that best names the topic, by document id."""
    spellings = [
        [
            name.phrase,
            *(title for node in nodes_of(scope, name) for title in (node.title, *node.aliases)),
        ]
        for name in topic.names
    ]
    return _places(scope, document_ids, spellings, literal=topic.naming)


def places_signed(
    scope: Scope, authors: Sequence[str], document_ids: Sequence[str]
) -> Mapping[str, Place]:
    """The place near the start of each document that names one of the authors, by its id."""
    return _places(scope, document_ids, [list(authors)], literal=True, front=FRONT_CHARS)


def _places(
    scope: Scope,
    document_ids: Sequence[str],
    spellings: Sequence[Sequence[str]],
    *,
    literal: bool,
    front: int = 0,
) -> Mapping[str, Place]:
    """The sentence of each document, or of its first ``front`` characters, with most names."""
    catalogue, ids = scope.kb.catalogue, list(document_ids)[:MAX_QUOTED_DOCUMENTS]
    token_sets = [{tokens(name, literal=literal): None for name in names} for names in spellings]
    facts = catalogue.facts(set(ids))
    parts = [
        (key, Span(start=0, end=min(front or fact.characters, fact.characters)))
        for key in ids
        if (fact := facts.get(key))
    ]
    places: dict[str, Place] = {}
    for (key, _), text in zip(parts, catalogue.texts(parts), strict=True):
        span = _best_sentence(text, token_sets, literal=literal, sentences=not front)
        if span is not None:
            places[key] = Place(document_id=key, version=facts[key].version, span=span)
    return places


def _best_sentence(
    text: str, names: Sequence[Iterable[tuple[str, ...]]], *, literal: bool, sentences: bool
) -> Span | None:
    """Return the sentence that contains most of the names; a heading only if no sentence does."""
    plain = _same_length_without_accents(text)
    names_in: dict[Span, set[int]] = {}
    for number, spellings in enumerate(names):
        for spelling in filter(None, spellings):
            for position in islice(matches(plain, spelling, literal=literal), MAX_MATCHES_PER_NAME):
                names_in.setdefault(_sentence_at(text, position), set()).add(number)

    def rank(span: Span) -> tuple[int, bool, int]:
        return -len(names_in[span]), sentences and not is_sentence(span.of(text)), span.start

    return min(names_in, key=rank, default=None)


def _sentence_at(text: str, position: int) -> Span:
    """The sentence of ``text`` around ``position``."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    offset = position - start
    containing = (span for span in sentence_spans(line) if span.start <= offset < span.end)
    span = next(containing, Span(start=0, end=len(line)))
    return Span(start=start + span.start, end=start + span.end)


def _same_length_without_accents(text: str) -> str:
    """``text`` without accents and of the same length, so that positions stay valid."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFKD", letter)[0] for letter in text)
