"""The words that a question is understood by: names, people, kinds and taxonomy of the material.

Made from the catalogue once and held for as long as the collections do not change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from weakref import WeakKeyDictionary

from wellread.ask.understand.entity_forms import Named, forms_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.vocabularies import CollectionWords
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.text.tokens import key_of

MOST_TITLE_WORDS = 8  # of a document whose date a question may refer to


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What the questions of some collections can name. An empty one knows no name.

    Attributes:
        names: key of a spelling (``forms.key_of``) to the entities that are called so.
        longest: of all spellings, the most words.
        speakers, authors: key of a full name, or of a part that only one person has, to names as
            the documents have them.
        source_types: as the documents have them.
        taxonomy: key of a value to the pairs of dimension and value that it may mean.
        dimensions: as the documents have them.
        relations: words with which relations are asked for, lower case, the longest first.
        entity_types: as the graph has them.
        dated: key of a title or alias to the date of its document.
        published: the first and the last day of publication; None when nothing is dated.
    """

    names: Mapping[str, tuple[Named, ...]] = field(default_factory=dict)
    longest: int = 0
    collections: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    source_types: frozenset[str] = frozenset()
    languages: frozenset[str] = frozenset()
    speakers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    authors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    taxonomy: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    dimensions: frozenset[str] = frozenset()
    relations: tuple[str, ...] = ()
    entity_types: frozenset[str] = frozenset()
    dated: Mapping[str, date] = field(default_factory=dict)
    published: tuple[date, date] | None = None


_Stamps = tuple[str, ...]
_held: WeakKeyDictionary[KnowledgeBase, dict[_Stamps, Vocabulary]] = WeakKeyDictionary()
_lock = threading.Lock()
MOST_HELD = 16  # scopes of one knowledge base


def vocabulary_of(kb: KnowledgeBase, collections: Sequence[str] = ()) -> Vocabulary:
    """The words of the collections (none: of all); the same object until something changes.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    words = kb.catalogue.vocabulary.of(collections)
    stamps = tuple(f"{one.collection} {one.stamp}" for one in words)
    with _lock:
        held = _held.setdefault(kb, {})
        known = held.get(stamps)
    if known is None:
        known = make_vocabulary(kb.catalogue.graph, words)
        with _lock:
            while len(held) >= MOST_HELD:
                held.pop(next(iter(held)))
            held[stamps] = known
    return known


def make_vocabulary(graph: Graph, words: Sequence[CollectionWords]) -> Vocabulary:
    """The words of some collections and of their entities."""
    scope = [one.collection for one in words]
    nodes = graph.entities(scope) if scope else []
    names = forms_of(nodes)
    taxonomy: dict[str, dict[tuple[str, str], None]] = {}
    for one in words:
        for dimension, values in one.taxonomy.items():
            for value in values:
                taxonomy.setdefault(key_of(value), {})[dimension, value] = None
    return Vocabulary(
        names=names,
        longest=max((form.words for forms in names.values() for form in forms), default=0),
        collections=tuple(scope),
        kinds=frozenset(kind for one in words for kind in one.kinds),
        source_types=frozenset(name for one in words for name in one.source_types),
        languages=frozenset(name for one in words for name in one.languages),
        speakers=people(name for one in words for name in one.speakers),
        authors=people(name for one in words for name in one.authors),
        taxonomy={key: tuple(pairs) for key, pairs in taxonomy.items() if key},
        dimensions=frozenset(name for one in words for name in one.taxonomy),
        relations=_relations(graph, scope),
        entity_types=frozenset(name for one in words for name in one.entity_types),
        dated=_dated(words),
        published=_published(words),
    )


def people(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Key of each full name, and of first and last names that are one person's, to the names."""
    whole: dict[str, dict[str, None]] = {}
    parts: dict[str, dict[str, None]] = {}
    for name in names:
        whole.setdefault(key_of(name), {})[name] = None
        for part in _parts(name):
            parts.setdefault(key_of(part), {})[key_of(name)] = None
    found = {key: tuple(those) for key, those in whole.items() if key}
    for part, those in parts.items():
        if len(those) == 1 and part not in found:
            found[part] = found[next(iter(those))]
    return found


def _parts(name: str) -> Iterator[str]:
    """First and last name of what looks like a person's name."""
    words = name.split()
    if 2 <= len(words) <= 4 and all(word[:1].isupper() for word in (words[0], words[-1])):
        yield words[0]
        yield words[-1]


def _relations(graph: Graph, scope: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for kind in graph.relation_kinds(scope) if scope else ():
        for name in (kind.type, kind.inverse, *kind.words):
            plain = " ".join(name.replace("_", " ").lower().split())
            if plain and "←" not in plain:
                found[plain] = None
    return tuple(sorted(found, key=lambda name: (-len(name), name)))


def _published(words: Sequence[CollectionWords]) -> tuple[date, date] | None:
    known = [one.published for one in words if one.published]
    return (min(one[0] for one in known), max(one[1] for one in known)) if known else None


def _dated(words: Sequence[CollectionWords]) -> dict[str, date]:
    found: dict[str, date] = {}
    disputed = set()
    for title, day in ((title, day) for one in words for title, day in one.dated.items()):
        key = key_of(title)
        if len(title.split()) <= MOST_TITLE_WORDS and found.setdefault(key, day) != day:
            disputed.add(key)
    return {key: day for key, day in found.items() if key and key not in disputed}
