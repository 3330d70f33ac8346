"""The words that a question is understood by: names, people, kinds and taxonomy of the material.

Names are looked up by the question's own words (``store/catalogue/documents/name_records.py``), so
that it costs the same however many there are; of what there are few (kinds, types, dimensions) all
are known. Both are held for as long as the collections do not change. People write names in
questions as they remember them: without capitals, hyphens and accents, by number ("newsletter 80")
or by the proper name at the end of a title ("the Kittiwake"); so an entity is known under several
spellings, each with how strictly it is compared.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from rapidfuzz.distance import OSA

from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.base import Index
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.name_records import (
    AUTHOR,
    AUTHOR_PART,
    DIMENSION,
    ENTITY_TYPE,
    LANGUAGE,
    LINKING,
    SITE,
    SORT,
    SPEAKER,
    SPEAKER_PART,
    SPELLING,
    UNTYPED,
    VALUE,
    Called,
    slug_words,
    title_parts,
)
from wellread.text.english import STOP_WORDS
from wellread.text.english_questions import EVERYDAY
from wellread.text.names import bracketed_forms, is_acronym, plural, singular
from wellread.text.parsed import parse
from wellread.text.tokens import ARTICLES, Token, key_of, key_of_words, tokens_of
from wellread.text.words import stem
from wellread.types import KINDS, Filters, Kind
from wellread.values.answers import Question

MOST_TITLE_WORDS = 8  # of a document that a question may refer to
MOST_WORDS = 12  # of a name
MOST_LEARNED = 20_000  # keys that are held

V = TypeVar("V")
_Pairs = tuple[tuple[str, str], ...]


class ByKey(Protocol[V]):
    """What a mapping needs to be for a question: looked up, and never gone through."""

    def get(self, key: str, default: V, /) -> V:
        """What the key stands for."""
        ...

    def __contains__(self, key: object, /) -> bool: ...


class Looked(Generic[V]):
    """What keys stand for, looked up as they are asked for and held. From any thread."""

    def __init__(self, look: Callable[[Sequence[str]], Mapping[str, V]]) -> None:
        self._look = look
        self._known: dict[str, V | None] = {}

    def learn(self, keys: Iterable[str]) -> None:
        """Look all of the keys up at once."""
        self.all_of(list(keys))

    def all_of(self, keys: Sequence[str]) -> dict[str, V]:
        """What these keys stand for; those that stand for nothing are left out."""
        known = self._known
        new = [key for key in dict.fromkeys(keys) if key not in known]
        if new:
            if len(known) > MOST_LEARNED:
                known = self._known = {}
            found = self._look(new)
            known.update((key, found.get(key)) for key in new)
        return {key: value for key in keys if (value := known.get(key)) is not None}

    def get(self, key: str, default: V, /) -> V:
        """What the key stands for."""
        return self.all_of([key]).get(key, default)

    def __contains__(self, key: object, /) -> bool:
        return isinstance(key, str) and bool(self.all_of([key]))


def _nobody(_: str) -> tuple[str, ...]:
    return ()


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
        entity_types: as the graph has them; ``untyped``: there are entities without one.
        publishers: keys of what sites are called ("herald" for www.herald.example).
        published_by: the documents that were published at such a site.
        published: the first and the last day of publication; None when nothing is dated.
    """

    names: ByKey[tuple[Named, ...]] = field(default_factory=dict)
    longest: int = 0
    collections: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    source_types: frozenset[str] = frozenset()
    sorts: frozenset[tuple[Kind, str]] = frozenset()
    languages: frozenset[str] = frozenset()
    speakers: ByKey[tuple[str, ...]] = field(default_factory=dict)
    authors: ByKey[tuple[str, ...]] = field(default_factory=dict)
    taxonomy: ByKey[_Pairs] = field(default_factory=dict)
    dimensions: frozenset[str] = frozenset()
    entity_types: frozenset[str] = frozenset()
    untyped: bool = False
    publishers: Container[str] = frozenset()
    published_by: Callable[[str], tuple[str, ...]] = _nobody
    published: tuple[date, date] | None = None

    def learn(self, text: str) -> None:
        """Look up at once what the words of ``text`` may name."""
        looked = [
            one
            for one in (self.names, self.speakers, self.authors, self.taxonomy, self.publishers)
            if isinstance(one, Looked)
        ]
        if looked:
            tokens = parse(text).tokens
            plain = [token.plain for token in tokens]
            keys = [key_of_words(plain[start:end]) for start, end in runs_in(tokens)]
            for one in looked:
                one.learn([*keys, *plain])


def runs_in(tokens: Sequence[Token], longest: int = MOST_WORDS) -> Iterator[tuple[int, int]]:
    """Where a name of at most so many words may begin and end: it goes over no comma."""
    for start in range(len(tokens)):
        for end in range(start + 1, min(len(tokens), start + longest) + 1):
            if end - start > 1 and not tokens[end - 1].joined:
                break
            yield start, end


_Stamps = tuple[str, ...]
_held: WeakKeyDictionary[object, dict[_Stamps, Vocabulary]] = WeakKeyDictionary()
_lock = threading.Lock()
MOST_HELD = 16  # scopes of one knowledge base


def vocabulary_of(kb: KnowledgeBase, collections: Sequence[str] = ()) -> Vocabulary:
    """The words of the collections (none: of all); the same object until something changes."""
    stamped = kb.catalogue.vocabulary.stamps(collections)
    stamps = tuple(f"{name} {stamp}" for name, stamp in stamped.items())
    with _lock:
        held = _held.setdefault(kb.common, {})
        known = held.get(stamps)
    if known is None:
        known = make_vocabulary(kb.catalogue, list(stamped))
        with _lock:
            while len(held) >= MOST_HELD:
                held.pop(next(iter(held)))
            held[stamps] = known
    return known


def make_vocabulary(catalogue: Catalogue, scope: Sequence[str]) -> Vocabulary:
    """The words of some collections and of their entities."""
    words = _Words(catalogue, scope)
    sorts = [one.partition("/") for one in catalogue.names.sorts(scope, SORT)]
    pairs = {(kind, name) for known, _, name in sorts for kind in KINDS if kind == known}
    types = frozenset(catalogue.names.sorts(scope, ENTITY_TYPE))
    return Vocabulary(
        names=Looked(words.forms),
        longest=MOST_WORDS,
        collections=tuple(scope),
        kinds=frozenset(kind for kind, _ in pairs),
        source_types=frozenset(name for _, name in pairs if name),
        sorts=frozenset(pairs),
        languages=frozenset(catalogue.names.sorts(scope, LANGUAGE)),
        speakers=Looked(words.speakers),
        authors=Looked(words.authors),
        taxonomy=Looked(words.taxonomy),
        dimensions=frozenset(catalogue.names.sorts(scope, DIMENSION)),
        entity_types=types - {UNTYPED},
        untyped=UNTYPED in types,
        publishers=Looked(words.publishers),
        published_by=words.published_by,
        published=catalogue.censuses.published(scope),
    )


class _Words:
    """What is called by keys in some collections of a catalogue."""

    _SORTS = (SPELLING, SPEAKER, SPEAKER_PART, AUTHOR, AUTHOR_PART, VALUE, SITE)

    def __init__(self, catalogue: Catalogue, scope: Sequence[str]) -> None:
        self._names, self._graph, self._scope = catalogue.names, catalogue.graph, list(scope)
        self._rows: Looked[dict[str, list[Called]]] = Looked(self._called)

    def _called(self, keys: Sequence[str]) -> dict[str, dict[str, list[Called]]]:
        found: dict[str, dict[str, list[Called]]] = {}
        for (sort, key), those in self._names.called(self._scope, self._SORTS, keys).items():
            found.setdefault(key, {})[sort] = those
        return found

    def _of(self, sorts: Sequence[str], keys: Sequence[str]) -> dict[str, list[Called]]:
        """Key to what it stands for as one of the sorts."""
        return {
            key: those
            for key, by_sort in self._rows.all_of(keys).items()
            if (those := [one for sort in sorts for one in by_sort.get(sort, ())])
        }

    def forms(self, keys: Sequence[str]) -> dict[str, tuple[Named, ...]]:
        """The entities that are called so."""
        found = self._of((SPELLING,), keys)
        wanted = dict.fromkeys(
            (one.collection, one.value) for those in found.values() for one in those
        )
        forms = forms_of(self._graph.nodes(list(wanted)))
        return {key: forms[key] for key in found if key in forms}

    def speakers(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The people who speak that are called so."""
        return self._people((SPEAKER, SPEAKER_PART), keys)

    def authors(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The people who write that are called so."""
        return self._people((AUTHOR, AUTHOR_PART), keys)

    def _people(self, sorts: Sequence[str], keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        found = {
            key: people(dict.fromkeys(one.value for one in those)).get(key, ())
            for key, those in self._of(sorts, keys).items()
        }
        return {key: names for key, names in found.items() if names}

    def taxonomy(self, keys: Sequence[str]) -> dict[str, _Pairs]:
        """The values of the taxonomy that are called so."""
        return {
            key: pairs_of(one.value for one in those)
            for key, those in self._of((VALUE,), keys).items()
        }

    def publishers(self, keys: Sequence[str]) -> dict[str, bool]:
        """Which keys sites are called by."""
        return dict.fromkeys(self._of((SITE,), keys), True)

    def published_by(self, site: str) -> tuple[str, ...]:
        """The ids of the documents of a site."""
        return self._names.every(self._scope, SITE, site)


def pairs_of(kept: Iterable[str]) -> _Pairs:
    """Dimensions and values, each once, as they are kept."""
    return tuple((dimension, value) for dimension, value in map(json.loads, dict.fromkeys(kept)))


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


SHORT = 3  # letters up to which a single word has to be written as the entity writes it
TITLED, ALIASED, IDENTITY, PART = range(4)  # the better claims to a spelling come first


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
    yield node.title, TITLED
    for alias in node.aliases:
        yield alias, ALIASED
    if words := slug_words(node.id):
        yield words, IDENTITY
    for name in (node.title, *node.aliases):
        for form in bracketed_forms(name):
            yield form, PART if len(form) < len(name) / 3 and not is_acronym(form) else IDENTITY
    yield from ((part, PART) for part in title_parts(node.title))
    yield from ((ending, PART) for ending in _shared_endings((node.title, *node.aliases)))


def _shared_endings(names: Sequence[str]) -> Iterator[str]:
    """ "tool library" of "Netloft Tool Library" that is also "the Merrow tool library"."""
    first: dict[str, str] = {}
    seen: set[str] = set()
    for name in names:
        words = name.split()
        ending = " ".join(words[-2:])
        key = key_of(ending)
        if len(words) < 3 or words[-2].lower() in LINKING or key_of(name) in seen:
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


# --- misspelt words put right --------------------------------------------------------------------
# Only a word without a single passage is taken for misspelt, and only a word that the material has
# takes its place, where one letter in five differs at most (two that changed places count as one).
# Where most words of a question stand nowhere, it is in another language: nothing is misspelt.

SHORTEST, LONGEST = 5, 40  # letters of a word that can be told misspelt
LETTERS = 5  # of which one may differ; two differences are the most
MOST_RESPELT = 12  # of a question, that are looked up
LOOKED_AT = 20  # passages in which the nearest word is looked for
MOST_KNOWN = 20_000  # words of a knowledge base that are remembered as being there

_LETTERS = re.compile(r"[^\W\d_]+")
_known: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
_known_lock = threading.Lock()


def respelt(
    kb: KnowledgeBase, question: Question, vocabulary: Vocabulary
) -> tuple[Question, tuple[str, ...]]:
    """``question`` with its misspelt words put right, and what was changed, in words."""
    index = kb.live().index
    within = Filters(collections=question.filters.collections)
    text = question.text
    changed: dict[str, str] = {}
    missing: set[str] = set()
    for word in _doubtful(question.text, vocabulary):
        if _is_known(kb, index, word, within):
            continue
        missing.add(word.lower())
        near = _nearest(kb, index, word, within)
        if near:
            changed[word] = near
    if not changed:
        return question, ()
    # Where more than half of the words stand in no passage, the question is in another language.
    words = list(dict.fromkeys(word.lower() for word in _LETTERS.findall(text)))[:MOST_RESPELT]
    others = (word for word in words if word not in missing | STOP_WORDS)
    missing |= {word for word in others if not _is_known(kb, index, word, within)}
    if len(words) > 1 and 2 * len(missing.intersection(words)) > len(words):
        return question, ()
    for word, near in changed.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", near, text)
    notes = (f"“{one}” stands nowhere; “{near}” was searched for" for one, near in changed.items())
    return replace(question, text=text), tuple(notes)


def _doubtful(text: str, vocabulary: Vocabulary) -> list[str]:
    """The words of ``text`` that may be misspelt: long enough, plain, and no name."""
    names = (vocabulary.names, vocabulary.speakers, vocabulary.authors)
    found = dict.fromkeys(
        word
        for word in _LETTERS.findall(text)
        if SHORTEST <= len(word) <= LONGEST
        and word.lower() not in STOP_WORDS
        and count_tokens(word.lower()) > 1  # a piece of its own is a common word, rightly spelt
        and not any(word.casefold() in known for known in names)
    )
    return list(found)[:MOST_RESPELT]


def _is_known(kb: KnowledgeBase, index: Index, word: str, within: Filters) -> bool:
    """Whether a passage holds the word, in any of its forms."""
    key = f"{'|'.join(within.collections)}:{stem(word)}"
    with _known_lock:
        known = _known.setdefault(kb.common, set())
        if len(known) > MOST_KNOWN:
            known.clear()
        if key in known:
            return True
    if not index.search_text(word, within, 1):
        return False
    known.add(key)  # it may be forgotten again at once, by a thread that makes room
    return True


def _nearest(kb: KnowledgeBase, index: Index, word: str, within: Filters) -> str:
    """The word of the material that differs least, the most frequent of several; or none."""
    allowed = min(2, len(word) // LETTERS)
    # Letters that changed places are two differences to the index, and one below.
    found = index.search_text(stem(word), within, LOOKED_AT, differences=2)
    passages = kb.catalogue.live_passages([candidate.passage_id for candidate in found])
    held = Counter(
        match.lower()
        for passage in passages.values()
        for match in _LETTERS.findall(f"{passage.context} {passage.text}")
    )
    return _best(word.lower(), held, allowed)


def _best(word: str, held: Counter[str], allowed: int) -> str:
    near = [
        (distance, -times, other)
        for other, times in held.items()
        if other[0] == word[0]
        and abs(len(other) - len(word)) <= allowed
        and 0 < (distance := OSA.distance(word, other, score_cutoff=allowed)) <= allowed
    ]
    return min(near)[2] if near else ""
