"""Within which part of the material something is counted, and that part in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.retrieve.search import check_collections
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.types import Filters, Span

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The limits of the asker and of the question's words; a document has to meet all of them.

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
        """The part of it that also meets ``filters``, without words for them."""
        return replace(self, limits=(*self.limits, filters), limited=True)

    def only(self, document_ids: Sequence[str]) -> Scope:
        """The part of it that these documents are; of none when there are none."""
        return self.within(Filters(document_ids=tuple(document_ids) or ("",)))

    def unlimited(self) -> Scope:
        """All of its collections."""
        border = Filters(collections=self.collections or ("",))
        return replace(self, limits=(border,), said=(), limited=False)

    def entries(self) -> list[Entry]:
        """All documents of it, by date, then title."""
        return self.kb.catalogue.censuses.entries(self.limits) if self.collections else []

    @property
    def where(self) -> str:
        """The collections in words."""
        if not self.collections:
            return "no collection"
        names = ", ".join(self.collections)
        return f"the collection{'s' if len(self.collections) > 1 else ''} {names}"


def scope_of(kb: KnowledgeBase, where: Sequence[Filters]) -> Scope:
    """What meets all of ``where``.

    Raises:
        UnknownCollectionError: one of them names a collection that does not exist.
    """
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
    """The limits of the asker and of the question's words.

    Args:
        without: places of the question whose constraints are not meant as limits.
    """
    return (
        analysis.filters,
        *(
            constraint.filters
            for constraint in analysis.constraints
            if not any(constraint.span.overlaps(span) for span in without)
        ),
    )


def in_words(filters: Filters) -> list[str]:
    """The limits of ``filters`` beside collections, as they follow a noun."""
    said: list[str] = []
    for values, words in (
        (filters.kinds, "of the kind {}"),
        (filters.source_types, "of the source type {}"),
        (filters.languages, "in the language {}"),
        (filters.authors, "by {}"),
        (filters.speakers, "with {} speaking"),
    ):
        if values:
            said.append(words.format(" or ".join(values)))
    dimensions: dict[str, list[str]] = {}
    for dimension, value in filters.taxonomy:
        dimensions.setdefault(dimension, []).append(value)
    said += [f"with {name}: {' or '.join(values)}" for name, values in dimensions.items()]
    if filters.document_ids:
        said.append(f"among {len(filters.document_ids)} given documents")
    since, until = filters.published_from, filters.published_to
    if since and until:
        said.append(f"published from {since:%Y-%m-%d} to {until:%Y-%m-%d}")
    elif since:
        said.append(f"published from {since:%Y-%m-%d}")
    elif until:
        said.append(f"published until {until:%Y-%m-%d}")
    return said
