"""The scope and the result of an aggregate query, as data types with their wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import check_collections
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.listings import Entry
from wellread.types import Filters, Span
from wellread.values.question import Analysis

AggregateKind = Literal["count", "list", "text", "relation", "gap", "coverage", "trend"]
CATALOGUE_SURE = 0.95  # how sure a result is whose question leaves no doubt
DOCUMENTS = ("Title", "Date", "Kind")
NAMED = (*DOCUMENTS, "Named")
ENTITIES = ("Name", "Type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A part of one version of a document, of which a citation quotes the first sentence."""

    document_id: str
    version: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of an exhaustive result; ``document_ids`` are the documents that it rests on.

    Attributes:
        line: the row in words, where its cells do not say by themselves what they are.
        places: what to quote of its documents, where that is not how they begin.
        shown: whether what is quoted says it; else it is known from what stands beside the text.
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
        gap: what is missing, in a few words, where that is not the sentence.
        number: what was counted, for a counting question.
        columns: what the cells of each row are called.
        rows: all of them; of the kind "text", sentences that are read one after the other.
        absent: nothing of what was asked for is there, which is a gap of the material.
        method: how it was worked out, so that it can be checked ("entities of type 'workshop' in
            the collections news, commons, published from 2025-10-01").
        subjects: the entities from which the graph was walked, and the others on the way or at its
            end.
        certainty: how sure it is that this is what was asked for.
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
    certainty: float = CATALOGUE_SURE


def day(moment: datetime | None) -> str:
    """A date as rows show it; empty when there is none."""
    return f"{moment:%Y-%m-%d}" if moment else ""


def kind_of(entry: Entry) -> str:
    """The document's kind, with its source type when that adds information."""
    if entry.source_type and entry.source_type != entry.kind:
        return f"{entry.kind}, {entry.source_type}"
    return entry.kind


def document_rows(
    entries: Sequence[Entry],
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


def amount(number: int, one: str, many: str) -> str:
    """``1 paper``, ``2 papers``."""
    return f"{number:,} {one if number == 1 else many}"


def there_are(number: int, one: str, many: str, conditions: Sequence[str] = ()) -> str:
    """``There are 3 papers about “tides”, published from 2025-10-01.``"""
    verb = "is" if number == 1 else "are"
    how_many = amount(number, one, many) if number else f"no {many}"
    suffix = f" {', '.join(conditions)}" if conditions else ""
    return f"There {verb} {how_many}{suffix}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The documents that meet the limits of the user and of the question.

    Attributes:
        collections: those that are looked at, by name; never more than the asker may see.
        limits: what the catalogue is asked with; collections are among them.
        said: the limits in words, as they follow a noun ("published from 2025-10-01").
        limited: whether there is any limit beside the collections.
    """

    kb: KnowledgeBase
    collections: tuple[str, ...]
    limits: tuple[Filters, ...]
    said: tuple[str, ...]
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
        return replace(self, limits=(border,), said=(), limited=False)

    def entries(self) -> list[Entry]:
        """All documents in the scope, by date, then title."""
        return self.kb.catalogue.counts.entries(self.limits) if self.collections else []

    def first_entries(self, most: int) -> list[Entry]:
        """At most ``most`` documents of the scope."""
        return self.kb.catalogue.counts.sample(self.limits, most) if self.collections else []

    def entities(self) -> list[EntityNode]:
        """The entities of its collections, whatever its other limits."""
        return self.kb.catalogue.graph.entities(self.collections) if self.collections else []

    def dated(self, most: int, *, last: bool = True) -> list[Entry]:
        """The last (or first) dated documents of the scope, in date order."""
        censuses = self.kb.catalogue.counts
        return censuses.by_date(self.collections, self.limits, most, last=last)

    @property
    def suffix(self) -> str:
        """The limits in words, each after a comma."""
        return "".join(f", {part}" for part in self.said)

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
    # An empty value would not limit, so that no collection is the one without a name.
    border = Filters(collections=collections or ("",))
    plain = [replace(filters, collections=()) for filters in where]
    return Scope(
        kb=kb,
        collections=collections,
        limits=(border, *(filters for filters in plain if filters != Filters())),
        said=tuple(dict.fromkeys(part for filters in plain for part in in_words(filters))),
        limited=any(filters != Filters() for filters in plain),
    )


def limits_of(analysis: Analysis, without: Sequence[Span] = ()) -> tuple[Filters, ...]:
    """The user's filters and those read from the question, except the spans in ``without``."""
    return (
        analysis.filters,
        *(
            constraint.filters
            for constraint in analysis.constraints
            if not any(constraint.span.overlaps(span) for span in without)
        ),
    )


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
