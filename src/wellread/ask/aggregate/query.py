"""The types of a catalogue query: its nouns, topic and hops, its scope, and its result.

Questions are read into a query (``read_queries.py``), or a language model gives its fields; it is
executed by ``execute.py``. Every form of query gives the same type of result: a table with a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.relation_network import Direction
from wellread.text.english import CLAUSES
from wellread.text.tokens import plural, singular, tokens_of
from wellread.types import DocumentFacts, Filters, Kind, Span
from wellread.values.question import Analysis, Constraint

What = Literal[
    "documents",
    "entities",
    "values",
    "author",
    "speaker",
    "language",
    "collection",
    "kind",
    "source_type",
    "entity_types",
    "dimensions",
    "stories",
    "mentions",
]
MAX_NOUN_WORDS = 4

_KIND_NOUNS: dict[Kind, str] = {
    "article": "article, news article, news item, blog post, post, piece, report, column",
    "page": "page, web page",
    "paper": "paper, research paper, study, publication, preprint",
    "transcript": "transcript, recording, video, episode, podcast episode, meeting, talk, podcast, "
    "interview",
    "qa": "past question, past answer, stored question, question and answer",
}
_EVENT_NOUNS = frozenset({"meeting", "talk"})  # documents only if the base has recordings
_OTHER_NOUNS: dict[What, str] = {
    "documents": "document, source, item, file, record, source document, text",
    "entities": "entity, entry, node",
    "author": "author, writer",
    "speaker": "speaker",
    "language": "language",
    "collection": "collection",
    "kind": "kind of document, type of document, kind of source, kind of material, document kind",
    "source_type": "source type, type of source",
    "entity_types": "entity type, type of entity, kind of entity, type of entry, kind of entry",
    "dimensions": "dimension, taxonomy dimension",
    "stories": "story, news story",
    "mentions": "mention",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """Something that can be counted; ``names`` are entity types, or the dimension of values."""

    what: What
    one: str
    filters: Filters = field(default_factory=Filters)
    names: tuple[str, ...] = ()

    @property
    def many(self) -> str:
        """The noun in the plural."""
        for joint in (" or ", " of ", " and "):
            if joint in self.one:
                return joint.join(map(plural, self.one.split(joint)))
        return plural(self.one)


def noun_for_type(word: str) -> str:
    """The noun for a type of the catalogue: "public notice" for ``public_notice``."""
    plain = word.replace("_", " ").replace("-", " ")
    first, space, last = plain.rpartition(" ")
    return f"{first}{space}{singular(last) or last}"


def spelling(text: str) -> str:
    """The lookup key of a noun, equal for ``organizations`` and ``organisation``."""
    words = [token.plain for token in tokens_of(text)]
    return " ".join(singular(word) or word for word in words).replace("iz", "is")


def nouns(vocabulary: Vocabulary) -> dict[str, Noun]:
    """The nouns by lookup key (``spelling``); earlier sources take precedence."""
    by_spelling: dict[str, Noun] = {}

    def add_noun(words: Sequence[str], noun: Noun) -> None:
        for word in words:
            by_spelling.setdefault(spelling(word), noun)

    for kind, words in _KIND_NOUNS.items():
        name = words.partition(",")[0]
        add_noun([name], Noun(what="documents", one=name, filters=Filters(kinds=(kind,))))
    for source_type in sorted(vocabulary.source_types - {"text"}):
        name, filters = noun_for_type(source_type), Filters(source_types=(source_type,))
        add_noun([name, name.rpartition(" ")[2]], Noun(what="documents", one=name, filters=filters))
    for entity_type in sorted(vocabulary.entity_types):
        name = noun_for_type(entity_type)
        add_noun([name], Noun(what="entities", one=name, names=(entity_type,)))
    for dimension in sorted(vocabulary.dimensions):
        name = noun_for_type(dimension)
        add_noun([name], Noun(what="values", one=name, names=(dimension,)))
    # An entry is a document that is an entity, else any node of the graph, else any document.
    if "entity" in vocabulary.kinds:
        add_noun(["entry"], Noun(what="entities", one="entry", filters=Filters(kinds=("entity",))))
    elif not (vocabulary.entity_types or vocabulary.untyped):
        add_noun(["entry"], Noun(what="documents", one="entry"))
    for kind, words in _KIND_NOUNS.items():
        for name in words.split(", ")[1:]:
            if kind in vocabulary.kinds or name not in _EVENT_NOUNS:
                add_noun([name], Noun(what="documents", one=name, filters=Filters(kinds=(kind,))))
    for what, words in _OTHER_NOUNS.items():
        first, *others = words.split(", ")
        add_noun([first, *others], Noun(what=what, one=first))
    return by_spelling


Form = Literal["count", "list", "exists", "missing", "coverage", "trend", "walk", "path"]
Order = Literal["", "name", "most", "fewest", "newest", "oldest", "latest", "relevance"]
Period = Literal["month", "quarter", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)

MAX_TOPIC_WORDS = 6  # a longer phrase is a question of its own
_CLAUSE = re.compile(
    rf"\b(?:{'|'.join(CLAUSES)}|"
    r"(?:from|in|since|before|after|until|during)\s+(?:\w+\s+)?\d{4})\b",
    re.IGNORECASE,
)
OPPOSITE: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
EntityKey = tuple[str, str]  # collection and entity id


class QueryError(RequestError):
    """A field of a catalogue query is invalid; the message begins with the field's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name to look up: the entities called by it, or else its literal words."""

    phrase: str
    entities: tuple[EntityKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic that documents are required to be about.

    Attributes:
        every: whether a document has to name all of the names; else one is enough.
        naming: whether a document has to name the topic; else a link to it is enough.
    """

    names: tuple[Name, ...]
    every: bool = True
    naming: bool = False

    @property
    def clear(self) -> bool:
        """Whether the words are a topic and not an unparsed clause or limit."""
        return all(
            name.entities
            or (len(name.phrase.split()) <= MAX_TOPIC_WORDS and not _CLAUSE.search(name.phrase))
            for name in self.names
        )

    @property
    def quoted(self) -> str:
        """``“taproot” and “erlay”``."""
        return (" and " if self.every else " or ").join(f"“{name.phrase}”" for name in self.names)

    @property
    def condition(self) -> str:
        """The topic as it follows a noun: ``mentioning “taproot”``."""
        return f"{'mentioning' if self.naming else 'about'} {self.quoted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense:
    """A relation type and its direction; "out" reads from source to target."""

    type: str
    side: Direction = "out"

    def flipped(self) -> Sense:
        """The same sense, read in the opposite direction."""
        return Sense(type=self.type, side=OPPOSITE[self.side])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step through the graph.

    Attributes:
        senses: the relations to follow, as seen from the start of the hop; empty for any.
        types: the entity types allowed at its end; empty for any.
        words: the words of the question for it.
    """

    senses: tuple[Sense, ...] = ()
    types: frozenset[str] = frozenset()
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The start names of a graph traversal and the hops to follow."""

    starts: tuple[Name, ...]
    hops: tuple[Hop, ...] = ()
    all_of: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueQuery:
    """A query over the whole catalogue.

    Attributes:
        form: how many there are ("count"), which ("list"), whether there is any ("exists"), what
            is lacking ("missing"), the distribution ("coverage"), how often over time ("trend"),
            where relations lead ("walk"), how two things are connected ("path").
        related: the start and the hops of a walk or a path.
        soft: limits that are dropped if nothing meets them.
        relaxed: limits of the question that were dropped already.
        by: the field, "year", "month" or dimension by which the result is grouped.
        notes: how the question was understood, if that is not obvious.
    """

    form: Form
    of: Noun = field(default_factory=lambda: Noun(what="documents", one="document"))
    about: Topic | None = None
    related: Walk | None = None
    where: tuple[Filters, ...] = ()
    soft: tuple[Constraint, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    by: tuple[str, ...] = ()
    order: Order = ""
    limit: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the fields are consistent, so that the query can be executed."""
        what, is_list = self.of.what, self.form == "list"
        if self.form in ("walk", "path"):
            ends = len(self.related.starts) if self.related else 0
            hops = len(self.related.hops) if self.related else 0
            return not self.by and (bool(hops) if self.form == "walk" else ends > 1)
        newest = is_list and self.order == "newest" and what in ("documents", "stories")
        if (what == "stories" or self.order == "newest") and not newest:
            return False
        if self.order == "relevance" and not (is_list and what == "entities"):
            return False
        if self.form == "trend":
            return self.about is not None and not {*self.by} - {*PERIODS}
        if self.form in ("count", "list"):
            divided = len(self.by) == 1 and what == "documents"
            return (not self.by or divided) and (what != "mentions" or self.about is not None)
        return not self.by or self.form == "coverage"


AggregateKind = Literal["count", "list", "text", "relation", "gap", "coverage", "trend"]
DEFAULT_CERTAINTY = 0.95  # of a result, if its question is unambiguous
DOCUMENT_COLUMNS = ("Title", "Date", "Kind")
COUNTED_COLUMNS = (*DOCUMENT_COLUMNS, "Named")
ENTITY_COLUMNS = ("Name", "Type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A part of one version of a document; a citation quotes its first sentence."""

    document_id: str
    version: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of an exhaustive result; ``document_ids`` are the documents that support it.

    Attributes:
        line: the row in words, if its cells do not explain themselves.
        places: the parts of its documents to quote, if not their beginning.
        shown: whether the quotations state the row; else it comes from metadata.
    """

    cells: tuple[str, ...]
    document_ids: tuple[str, ...] = ()
    line: str = ""
    places: tuple[Place, ...] = ()
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateResult(Found):
    """A result computed over the whole catalogue, never from the top k hits.

    Attributes:
        sentence: the result in one sentence ("7 entities are of the type workshop.").
        gap: the missing material in a few words, if the sentence does not say it.
        rows: all rows; for the kind "text", sentences to be read one after the other.
        absent: whether nothing asked for exists, which is a gap in the material.
        method: how the result was computed, so that it can be checked ("entities of type 'workshop'
            in the collections news, commons, published from 2025-10-01").
        subjects: the entities from which the graph was walked.
        others: the entities on the way or at its end.
        certainty: how likely it is that the question was understood correctly.
    """

    kind: AggregateKind
    sentence: str
    number: int | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    absent: bool = False
    gap: str = ""
    method: str = ""
    subjects: tuple[EntityNode, ...] = ()
    others: tuple[EntityNode, ...] = ()
    certainty: float = DEFAULT_CERTAINTY


def day(moment: datetime | None) -> str:
    """A date as rows show it; empty for None."""
    return f"{moment:%Y-%m-%d}" if moment else ""


def kind_of(entry: DocumentFacts) -> str:
    """The document's kind, with its source type when that adds information."""
    if entry.source_type and entry.source_type != entry.kind:
        return f"{entry.kind}, {entry.source_type}"
    return entry.kind


def document_rows(
    entries: Sequence[DocumentFacts],
    counts: Mapping[str, int] | None = None,
    places: Mapping[str, Place] | None = None,
) -> tuple[Row, ...]:
    """A row for each document; ``counts`` adds how often it names the topic."""
    places_by_id = places or {}
    return tuple(
        Row(
            cells=(
                entry.title,
                day(entry.published_at),
                kind_of(entry),
                *([times(counts.get(entry.id, 0))] if counts is not None else []),
            ),
            document_ids=(entry.id,),
            places=(places_by_id[entry.id],) if entry.id in places_by_id else (),
        )
        for entry in entries
    )


def times(count: int) -> str:
    """``3 times``, or "linked" for a document that does not name the topic."""
    if count == 0:
        return "linked"
    return "once" if count == 1 else f"{count:,} times"


def amount(number: int, singular_noun: str, plural_noun: str) -> str:
    """``1 paper``, ``2 papers``."""
    return f"{number:,} {singular_noun if number == 1 else plural_noun}"


def there_are(
    number: int, singular_noun: str, plural_noun: str, conditions: Sequence[str] = ()
) -> str:
    """``There are 3 papers about “tides”, published from 2025-10-01.``"""
    verb = "is" if number == 1 else "are"
    how_many = amount(number, singular_noun, plural_noun) if number else f"no {plural_noun}"
    suffix = f" {', '.join(conditions)}" if conditions else ""
    return f"There {verb} {how_many}{suffix}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The documents that meet the limits of the user and of the question.

    Attributes:
        collections: the names of the collections; never more than the asker may see.
        descriptions: the limits as phrases that follow a noun ("published from 2025-10-01").
        limited: whether there is a limit besides the collections.
    """

    kb: KnowledgeBase
    collections: tuple[str, ...]
    limits: tuple[Filters, ...]
    descriptions: tuple[str, ...]
    limited: bool

    def within(self, filters: Filters) -> Scope:
        """The narrower scope that also meets ``filters``; its description stays the same."""
        return replace(self, limits=(*self.limits, filters), limited=True)

    def only(self, document_ids: Sequence[str]) -> Scope:
        """The scope restricted to these documents; empty when there are none."""
        return self.within(Filters(document_ids=tuple(document_ids) or ("",)))

    def unlimited(self) -> Scope:
        """The scope without limits other than its collections."""
        border = Filters(collections=self.collections or ("",))
        return replace(self, limits=(border,), descriptions=(), limited=False)

    def entries(self) -> list[DocumentFacts]:
        """All documents in the scope, by date, then title."""
        return self.kb.catalogue.listings.entries(self.limits) if self.collections else []

    def first_entries(self, limit: int) -> list[DocumentFacts]:
        """At most ``limit`` documents of the scope."""
        return self.kb.catalogue.listings.sample(self.limits, limit) if self.collections else []

    def entities(self) -> list[EntityNode]:
        """All entities of the collections; other limits do not apply."""
        return self.kb.catalogue.graph.entities(self.collections) if self.collections else []

    def dated(self, limit: int, *, last: bool = True) -> list[DocumentFacts]:
        """The last (or first) dated documents of the scope, in date order."""
        censuses = self.kb.catalogue.listings
        return censuses.by_date(self.collections, self.limits, limit, last=last)

    @property
    def suffix(self) -> str:
        """The limits in words, each after a comma."""
        return "".join(f", {part}" for part in self.descriptions)

    @property
    def where(self) -> str:
        """The names of the collections, as a phrase."""
        if not self.collections:
            return "no collection"
        names = ", ".join(self.collections)
        return f"the collection{'s' if len(self.collections) > 1 else ''} {names}"


def scope_of(kb: KnowledgeBase, where: Sequence[Filters]) -> Scope:
    """The scope of all documents that meet every filter of ``where``."""
    names = kb.catalogue.collection_names()
    for filters in where:
        check_collections(kb, filters)
        names = [name for name in names if not filters.collections or name in filters.collections]
    collections = tuple(names)
    # An empty tuple would not limit; "" is the name of no collection.
    border = Filters(collections=collections or ("",))
    plain = [replace(filters, collections=()) for filters in where]
    return Scope(
        kb=kb,
        collections=collections,
        limits=(border, *(filters for filters in plain if filters != Filters())),
        descriptions=tuple(dict.fromkeys(part for filters in plain for part in in_words(filters))),
        limited=any(filters != Filters() for filters in plain),
    )


def limits_of(analysis: Analysis) -> tuple[Filters, ...]:
    """The user's filters and those read from the question."""
    return (analysis.filters, *(constraint.filters for constraint in analysis.constraints))


def in_words(filters: Filters) -> list[str]:
    """Describe ``filters``, except collections, as phrases that follow a noun."""
    descriptions: list[str] = []
    for values, words in (
        (filters.kinds, "of the kind {}"),
        (filters.source_types, "of the source type {}"),
        (filters.languages, "in the language {}"),
        (filters.authors, "by {}"),
        (filters.speakers, "with {} speaking"),
    ):
        if values:
            descriptions.append(words.format(" or ".join(values)))
    dimensions: dict[str, list[str]] = {}
    for dimension, value in filters.taxonomy:
        dimensions.setdefault(dimension, []).append(value)
    descriptions += [f"with {name}: {' or '.join(values)}" for name, values in dimensions.items()]
    if filters.document_ids:
        descriptions.append(f"among {len(filters.document_ids)} given documents")
    since, until = filters.published_from, filters.published_to
    if since and until:
        descriptions.append(f"published from {since:%Y-%m-%d} to {until:%Y-%m-%d}")
    elif since:
        descriptions.append(f"published from {since:%Y-%m-%d}")
    elif until:
        descriptions.append(f"published until {until:%Y-%m-%d}")
    return descriptions
