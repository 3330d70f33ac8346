"""The words that a question is understood by: names, people, kinds and taxonomy of the material.

Made from the catalogue once and held for as long as the collections do not change. People write
names in questions as they remember them: without capitals, hyphens and accents, by number
("newsletter 80") or by the proper name at the end of a title ("the Kittiwake"); so an entity is
known under several spellings, each with how strictly it is compared.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from weakref import WeakKeyDictionary

from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.collection_words import CollectionWords
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.text.english import STOP_WORDS
from wellread.text.english_questions import EVERYDAY
from wellread.text.names import bracketed_forms, is_acronym, plural, singular
from wellread.text.tokens import ARTICLES, key_of, key_of_words, plain, tokens_of
from wellread.types import Kind

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
        sorts: pairs of a kind and a source type that a document has.
        taxonomy: key of a value to the pairs of dimension and value that it may mean.
        dimensions: as the documents have them.
        relations: words with which relations are asked for, lower case, the longest first.
        entity_types: as the graph has them.
        dated: key of a title or alias to the date of its document.
        numbered: (noun, number) of a title ("Weekly Letter #80: Tides") to the documents that
            have it, each with its title.
        publishers: key of what a site is called ("herald" for www.herald.example) to the documents
            that were published there.
        published: the first and the last day of publication; None when nothing is dated.
    """

    names: Mapping[str, tuple[Named, ...]] = field(default_factory=dict)
    longest: int = 0
    collections: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    source_types: frozenset[str] = frozenset()
    sorts: frozenset[tuple[Kind, str]] = frozenset()
    languages: frozenset[str] = frozenset()
    speakers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    authors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    taxonomy: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    dimensions: frozenset[str] = frozenset()
    relations: tuple[str, ...] = ()
    entity_types: frozenset[str] = frozenset()
    dated: Mapping[str, date] = field(default_factory=dict)
    numbered: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    publishers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: tuple[date, date] | None = None


_Stamps = tuple[str, ...]
_held: WeakKeyDictionary[object, dict[_Stamps, Vocabulary]] = WeakKeyDictionary()
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
        held = _held.setdefault(kb.common, {})
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
    published = [one.published for one in words if one.published]
    return Vocabulary(
        names=names,
        longest=max((form.words for forms in names.values() for form in forms), default=0),
        collections=tuple(scope),
        kinds=frozenset(kind for one in words for kind in one.kinds),
        source_types=frozenset(name for one in words for name in one.source_types),
        sorts=frozenset(pair for one in words for pair in one.sorts),
        languages=frozenset(name for one in words for name in one.languages),
        speakers=people(name for one in words for name in one.speakers),
        authors=people(name for one in words for name in one.authors),
        taxonomy={key: tuple(pairs) for key, pairs in taxonomy.items() if key},
        dimensions=frozenset(name for one in words for name in one.taxonomy),
        relations=_relations(graph, scope),
        entity_types=frozenset(name for one in words for name in one.entity_types),
        dated=_dated(words),
        numbered=_numbered(words),
        publishers=_publishers(words),
        published=(min(one[0] for one in published), max(one[1] for one in published))
        if published
        else None,
    )


def people(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Key of each full name, and of first and last names that are one person's, to the names."""
    whole: dict[str, dict[str, None]] = {}
    parts: dict[str, set[str]] = {}
    for name in names:
        whole.setdefault(key_of(name), {})[name] = None
        words = name.split()
        if 2 <= len(words) <= 4 and words[0][:1].isupper() and words[-1][:1].isupper():
            for part in (words[0], words[-1]):
                parts.setdefault(key_of(part), set()).add(key_of(name))
    found = {key: tuple(those) for key, those in whole.items() if key}
    return found | {
        part: found[next(iter(those))]
        for part, those in parts.items()
        if len(those) == 1 and part not in found
    }


def _relations(graph: Graph, scope: Sequence[str]) -> tuple[str, ...]:
    found = {
        " ".join(name.replace("_", " ").lower().split())
        for kind in (graph.relation_kinds(scope) if scope else ())
        for name in (kind.type, kind.inverse, *kind.words)
    }
    named = (name for name in found if name and "←" not in name)
    return tuple(sorted(named, key=lambda name: (-len(name), name)))


def _dated(words: Sequence[CollectionWords]) -> dict[str, date]:
    found: dict[str, date] = {}
    disputed = set()
    for title, day in chain.from_iterable(one.dated.items() for one in words):
        key = key_of(title)
        if len(title.split()) <= MOST_TITLE_WORDS and found.setdefault(key, day) != day:
            disputed.add(key)
    return {key: day for key, day in found.items() if key and key not in disputed}


_IN_TITLE = re.compile(
    r"\b(?P<noun>[^\W\d_]{3,})\s+(?:#|(?:no\.?|number)\s*)?(?P<number>\d{1,6})\b"
)


def _numbered(
    words: Sequence[CollectionWords],
) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for title, known in chain.from_iterable(one.numbered.items() for one in words):
        for match in _IN_TITLE.finditer(title):
            noun = plain(match["noun"])
            key = singular(noun) or noun, match["number"].lstrip("0")
            found.setdefault(key, []).extend((one, title) for one in known)
    return {key: tuple(those) for key, those in found.items()}


# Second-level domains under which others have names of their own ("herald.co.uk").
_SHARED_DOMAINS = frozenset("co com org net gov ac edu".split())


def _publishers(words: Sequence[CollectionWords]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for host, known in chain.from_iterable(one.sites.items() for one in words):
        labels = host.removeprefix("www.").split(".")[:-1]
        while len(labels) > 1 and labels[-1] in _SHARED_DOMAINS:
            labels.pop()
        if labels and not labels[-1].isdigit():
            found.setdefault(key_of(labels[-1]), []).extend(known)
    return {key: tuple(ids) for key, ids in found.items() if key}


MOST_WORDS = 12
SHORT = 3  # letters up to which a single word has to be written as the entity writes it
TITLE, ALIAS, IDENTITY, PART = range(4)  # the better claims to a spelling come first

_SLUG = re.compile(r"(?:[a-z]+/)?(?P<words>[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)")
_NUMBERED = re.compile(r"(?:.*\s)?(?P<noun>[^\W\d_]{3,})\s+(?:#|no\.?\s*)?(?P<number>\d+)")
_APPOSED = re.compile(r"(?P<before>.*[a-z])\s(?P<name>[A-Z][\w’'-]{3,}(?:\s[A-Z][\w’'-]+)*)")
_LINKING = STOP_WORDS | {"in", "of", "at", "on", "to", "for", "near"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One spelling of one entity's name.

    Attributes:
        written: the spelling.
        exact: it counts only as it is written, capitals included.
        strict: it counts in this number only ("the turbines" are not a turbine).
        everyday: it counts only where it stands as a name.
        rank: how good the entity's claim to it is; smaller is better.
        words: how many it has.
    """

    node: EntityNode
    written: str
    exact: bool
    strict: bool
    everyday: bool
    rank: int
    words: int


def forms_of(nodes: Iterable[EntityNode]) -> dict[str, tuple[Named, ...]]:
    """Key of each spelling to those who are called so, the better claims first.

    A part of a name belongs to nobody when two entities have it.
    """
    found: dict[str, dict[tuple[str, str], Named]] = {}
    for node in nodes:
        entity = node.collection, node.id
        for written, rank in _spellings(node):
            named = _named(node, written, rank)
            those = found.setdefault(key_of(written), {})
            if named is not None and (entity not in those or rank < those[entity].rank):
                those[entity] = named
    return {
        key: tuple(sorted(those.values(), key=lambda one: (one.rank, one.node.id)))
        for key, those in found.items()
        if len(those) == 1 or any(one.rank < PART for one in those.values())
    }


def _spellings(node: EntityNode) -> Iterator[tuple[str, int]]:
    yield node.title, TITLE
    for alias in node.aliases:
        yield alias, ALIAS
    slug = _SLUG.fullmatch(node.id)
    if slug:
        yield slug["words"].replace("-", " ").replace("_", " "), IDENTITY
    for name in (node.title, *node.aliases):
        for form in bracketed_forms(name):
            yield form, PART if len(form) < len(name) / 3 and not is_acronym(form) else IDENTITY
    yield from ((part, PART) for part in _title_parts(node.title))
    yield from ((ending, PART) for ending in _shared_endings((node.title, *node.aliases)))


def _title_parts(title: str) -> Iterator[str]:
    """ "newsletter 80" of "Weekly Newsletter #80", "Kittiwake" of "Electric ferry Kittiwake"."""
    numbered, apposed = _NUMBERED.fullmatch(title), _APPOSED.fullmatch(title)
    if numbered:
        yield f"{numbered['noun']} {numbered['number']}"
    if apposed:
        last = apposed["before"].split()[-1]
        if last.islower() and last not in _LINKING:
            yield apposed["name"]


def _shared_endings(names: Sequence[str]) -> Iterator[str]:
    """ "tool library" of "Netloft Tool Library" that is also "the Merrow tool library"."""
    first: dict[str, str] = {}
    seen: set[str] = set()
    for name in names:
        words = name.split()
        ending = " ".join(words[-2:])
        key = key_of(ending)
        if len(words) < 3 or words[-2].lower() in _LINKING or key_of(name) in seen:
            continue
        seen.add(key_of(name))
        if key in first:
            yield first[key]
        first.setdefault(key, ending)


def _named(node: EntityNode, written: str, rank: int) -> Named | None:
    words = [token.plain for token in tokens_of(written)]
    article = len(words) > 1 and words[0] in ARTICLES
    words = words[1:] if article else words
    key = key_of_words(words)
    letters = sum(char.isalpha() for char in key)
    if not key or len(words) > MOST_WORDS or len(key) < 2 or letters < 2:
        return None
    single = len(words) == 1
    if single and key in STOP_WORDS:
        return None
    return Named(
        node=node,
        written=written,
        exact=single and not written.islower() and (is_acronym(written) or len(written) <= SHORT),
        strict=single and article,
        everyday=single and is_everyday(words[0]),
        rank=rank,
        words=len(words),
    )


def is_everyday(word: str) -> bool:
    """Whether ``word`` (plain) is one that questions are made of, in either number."""
    return word in EVERYDAY or singular(word) in EVERYDAY or plural(word) in EVERYDAY
