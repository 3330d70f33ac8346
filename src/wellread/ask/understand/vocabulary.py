"""The vocabulary of the material (names, people, kinds, taxonomy), and spelling correction.

Names are looked up by the question's own words (``store/catalogue/documents/name_records.py``), so
the cost does not depend on their number; kinds, types and dimensions are few and loaded in full.
Both are cached until the collections change. People write names from memory: without capitals,
hyphens and accents, by number ("newsletter 80") or by the proper name at the end of a title ("the
Kittiwake"). So an entity has several spellings, each with its own strictness of comparison.
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
    KeyTarget,
    slug_words,
    title_parts,
)
from wellread.text.english import EVERYDAY, STOP_WORDS
from wellread.text.languages import WORD, language_of, words_of
from wellread.text.parsed import index_text, parse, stem
from wellread.text.tokens import (
    ARTICLES,
    Token,
    bracketed_forms,
    is_acronym,
    key_of,
    key_of_words,
    plural,
    singular,
    tokens_of,
)
from wellread.types import KINDS, Filters, Kind
from wellread.values.answers import Question

MAX_TITLE_WORDS = 8  # of a title that a follow-up may refer to
MAX_NAME_WORDS = 12
MAX_CACHED_KEYS = 20_000  # per kind of name

V = TypeVar("V")
_Pairs = tuple[tuple[str, str], ...]


class KeyLookup(Protocol[V]):
    """A mapping that supports lookup by key but not iteration."""

    def get(self, key: str, default: V, /) -> V:
        """The value of ``key``, else ``default``."""
        ...

    def __contains__(self, key: object, /) -> bool: ...


class LookupCache(Generic[V]):
    """A thread-safe cache that looks keys up on first use."""

    def __init__(self, look: Callable[[Sequence[str]], Mapping[str, V]]) -> None:
        self._look = look
        self._known: dict[str, V | None] = {}

    def all_of(self, keys: Sequence[str]) -> dict[str, V]:
        """The values of ``keys``, looked up at once and cached, without keys that have none."""
        cached = self._known
        new = [key for key in dict.fromkeys(keys) if key not in cached]
        if new:
            if len(cached) > MAX_CACHED_KEYS:
                cached = self._known = {}
            values = self._look(new)
            cached.update((key, values.get(key)) for key in new)
        return {key: value for key in keys if (value := cached.get(key)) is not None}

    def get(self, key: str, default: V, /) -> V:
        """The value of ``key``, looked up on first use, else ``default``."""
        return self.all_of([key]).get(key, default)

    def __contains__(self, key: object, /) -> bool:
        return isinstance(key, str) and bool(self.all_of([key]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names that questions over some collections may use. Empty by default.

    Attributes:
        names: the entities by the key of a spelling (``tokens.key_of``).
        speakers, authors: the names in the documents by the key of a full name, or of a part
            that only one person has.
        kind_pairs: the pairs of kind and source type of the documents.
        taxonomy: the possible pairs of dimension and value by the key of a value.
        entity_types: the types in the graph; ``untyped``: some entities have no type.
        publishers: keys of site names ("herald" for www.herald.example).
        published_by: the ids of the documents published at a site, given its key.
        published: the first and the last day of publication; None when nothing is dated.
    """

    names: KeyLookup[tuple[NameForm, ...]] = field(default_factory=dict)
    collections: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    source_types: frozenset[str] = frozenset()
    kind_pairs: frozenset[tuple[Kind, str]] = frozenset()
    languages: frozenset[str] = frozenset()
    speakers: KeyLookup[tuple[str, ...]] = field(default_factory=dict)
    authors: KeyLookup[tuple[str, ...]] = field(default_factory=dict)
    taxonomy: KeyLookup[_Pairs] = field(default_factory=dict)
    dimensions: frozenset[str] = frozenset()
    entity_types: frozenset[str] = frozenset()
    untyped: bool = False
    publishers: Container[str] = frozenset()
    published_by: Callable[[str], tuple[str, ...]] = lambda _: ()
    published: tuple[date, date] | None = None

    def learn(self, text: str) -> None:
        """Look up all names that the words of ``text`` may form, in one query per table."""
        caches = [
            cache
            for cache in (self.names, self.speakers, self.authors, self.taxonomy, self.publishers)
            if isinstance(cache, LookupCache)
        ]
        if caches:
            tokens = parse(text).tokens
            plain = [token.plain for token in tokens]
            keys = [key_of_words(plain[start:end]) for start, end in word_runs(tokens)]
            for cache in caches:
                cache.all_of([*keys, *plain])


def word_runs(tokens: Sequence[Token], limit: int = MAX_NAME_WORDS) -> Iterator[tuple[int, int]]:
    """Start and end of each run of up to ``limit`` words without a comma inside."""
    for start in range(len(tokens)):
        for end in range(start + 1, min(len(tokens), start + limit) + 1):
            if end - start > 1 and not tokens[end - 1].joined:
                break
            yield start, end


_Stamps = tuple[str, ...]
_vocabularies: WeakKeyDictionary[object, dict[_Stamps, Vocabulary]] = WeakKeyDictionary()
_lock = threading.Lock()
MAX_SCOPES = 16  # cached per knowledge base


def vocabulary_of(kb: KnowledgeBase, collections: Sequence[str] = ()) -> Vocabulary:
    """The vocabulary of ``collections`` (empty: all), cached until one of them changes."""
    stamped = kb.catalogue.vocabulary.stamps(collections)
    stamps = tuple(f"{name} {stamp}" for name, stamp in stamped.items())
    with _lock:
        by_stamps = _vocabularies.setdefault(kb.cache_key, {})
        vocabulary = by_stamps.get(stamps)
    if vocabulary is None:
        vocabulary = build_vocabulary(kb.catalogue, list(stamped))
        with _lock:
            while len(by_stamps) >= MAX_SCOPES:
                by_stamps.pop(next(iter(by_stamps)))
            by_stamps[stamps] = vocabulary
    return vocabulary


def build_vocabulary(catalogue: Catalogue, scope: Sequence[str]) -> Vocabulary:
    """The vocabulary of the collections ``scope``, read from the catalogue."""
    lookup = _NameLookup(catalogue, scope)
    kind_keys = [sort.partition("/") for sort in catalogue.names.distinct_keys(scope, SORT)]
    pairs = {(kind, name) for stored, _, name in kind_keys for kind in KINDS if kind == stored}
    types = frozenset(catalogue.names.distinct_keys(scope, ENTITY_TYPE))
    return Vocabulary(
        names=LookupCache(lookup.forms),
        collections=tuple(scope),
        kinds=frozenset(kind for kind, _ in pairs),
        source_types=frozenset(name for _, name in pairs if name),
        kind_pairs=frozenset(pairs),
        languages=frozenset(catalogue.names.distinct_keys(scope, LANGUAGE)),
        speakers=LookupCache(lookup.speakers),
        authors=LookupCache(lookup.authors),
        taxonomy=LookupCache(lookup.taxonomy),
        dimensions=frozenset(catalogue.names.distinct_keys(scope, DIMENSION)),
        entity_types=types - {UNTYPED},
        untyped=UNTYPED in types,
        publishers=LookupCache(lookup.publishers),
        published_by=lookup.published_by,
        published=(at := catalogue.listings.published(scope)) and (at[0].date(), at[1].date()),
    )


class _NameLookup:
    """Cached name look-ups within some collections of a catalogue."""

    _SORTS = (SPELLING, SPEAKER, SPEAKER_PART, AUTHOR, AUTHOR_PART, VALUE, SITE)

    def __init__(self, catalogue: Catalogue, scope: Sequence[str]) -> None:
        self._names, self._graph, self._scope = catalogue.names, catalogue.graph, list(scope)
        self._rows: LookupCache[dict[str, list[KeyTarget]]] = LookupCache(self._look_up)

    def _look_up(self, keys: Sequence[str]) -> dict[str, dict[str, list[KeyTarget]]]:
        by_key: dict[str, dict[str, list[KeyTarget]]] = {}
        for (kind, key), records in self._names.look_up(self._scope, self._SORTS, keys).items():
            by_key.setdefault(key, {})[kind] = records
        return by_key

    def _records(self, kinds: Sequence[str], keys: Sequence[str]) -> dict[str, list[KeyTarget]]:
        """The name records of the given kinds by key."""
        return {
            key: records
            for key, by_kind in self._rows.all_of(keys).items()
            if (records := [record for kind in kinds for record in by_kind.get(kind, ())])
        }

    def forms(self, keys: Sequence[str]) -> dict[str, tuple[NameForm, ...]]:
        records_by_key = self._records((SPELLING,), keys)
        node_ids = dict.fromkeys(
            (record.collection, record.value)
            for records in records_by_key.values()
            for record in records
        )
        forms = forms_of(self._graph.nodes(list(node_ids)))
        return {key: forms[key] for key in records_by_key if key in forms}

    def speakers(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._people((SPEAKER, SPEAKER_PART), keys)

    def authors(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._people((AUTHOR, AUTHOR_PART), keys)

    def _people(self, kinds: Sequence[str], keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        names_by_key = {
            key: people_by_key(dict.fromkeys(record.value for record in records)).get(key, ())
            for key, records in self._records(kinds, keys).items()
        }
        return {key: names for key, names in names_by_key.items() if names}

    def taxonomy(self, keys: Sequence[str]) -> dict[str, _Pairs]:
        return {
            key: decode_pairs(record.value for record in records)
            for key, records in self._records((VALUE,), keys).items()
        }

    def publishers(self, keys: Sequence[str]) -> dict[str, bool]:
        return dict.fromkeys(self._records((SITE,), keys), True)

    def published_by(self, site: str) -> tuple[str, ...]:
        """The ids of the documents published at ``site``."""
        return self._names.documents_with(self._scope, SITE, site)


def decode_pairs(encoded: Iterable[str]) -> _Pairs:
    """Decode stored pairs of dimension and value, without repeats."""
    return tuple((dimension, value) for dimension, value in map(json.loads, dict.fromkeys(encoded)))


def people_by_key(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names by the key of a full name, or of an unambiguous first or last name."""
    full_names: dict[str, dict[str, None]] = {}
    parts: dict[str, set[str]] = {}
    for name in names:
        full_names.setdefault(key_of(name), {})[name] = None
        words = name.split()
        if 2 <= len(words) <= 4 and words[0][:1].isupper() and words[-1][:1].isupper():
            for part in (words[0], words[-1]):
                parts.setdefault(key_of(part), set()).add(key_of(name))
    names_by_key = {key: tuple(owners) for key, owners in full_names.items() if key}
    return names_by_key | {
        part: names_by_key[next(iter(owners))]
        for part, owners in parts.items()
        if len(owners) == 1 and part not in names_by_key
    }


MAX_EXACT = 3  # letters up to which a one-word name must match the entity's spelling exactly
TITLED, ALIASED, IDENTITY, PART = range(4)  # ranks of a spelling's source, most reliable first


@dataclass(frozen=True, slots=True, kw_only=True)
class NameForm:
    """A spelling of an entity's name.

    Attributes:
        exact: capitals must match.
        strict: singular or plural must match ("the turbines" are not a turbine).
        everyday: an everyday word, which must be used as a name.
        rank: the source of the spelling; smaller is more reliable.
    """

    node: EntityNode
    written: str
    exact: bool
    strict: bool
    everyday: bool
    rank: int
    words: int


def forms_of(nodes: Iterable[EntityNode]) -> dict[str, tuple[NameForm, ...]]:
    """The entities by the key of each spelling, most reliable first.

    A part of a name that two entities share is dropped.
    """
    forms_by_key: dict[str, dict[tuple[str, str], NameForm]] = {}
    for node in nodes:
        entity = node.collection, node.id
        for written, rank in _spellings(node):
            form = _name_form(node, written, rank)
            forms = forms_by_key.setdefault(key_of(written), {})
            if form is not None and (entity not in forms or rank < forms[entity].rank):
                forms[entity] = form
    return {
        key: tuple(sorted(forms.values(), key=lambda record: (record.rank, record.node.id)))
        for key, forms in forms_by_key.items()
        if len(forms) == 1 or any(record.rank < PART for record in forms.values())
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
    """Two-word endings that several names share ("tool library")."""
    first_spellings: dict[str, str] = {}
    seen_names: set[str] = set()
    for name in names:
        words = name.split()
        ending = " ".join(words[-2:])
        key = key_of(ending)
        if len(words) < 3 or words[-2].lower() in LINKING or key_of(name) in seen_names:
            continue
        seen_names.add(key_of(name))
        if key in first_spellings:
            yield first_spellings[key]
        first_spellings.setdefault(key, ending)


def _name_form(node: EntityNode, written: str, rank: int) -> NameForm | None:
    words = [token.plain for token in tokens_of(written)]
    article = len(words) > 1 and words[0] in ARTICLES
    words = words[1:] if article else words
    key = key_of_words(words)
    letters = sum(char.isalpha() for char in key)
    if not key or len(words) > MAX_NAME_WORDS or len(key) < 2 or letters < 2:
        return None
    single = len(words) == 1
    if single and key in STOP_WORDS:
        return None
    return NameForm(
        node=node,
        written=written,
        exact=single
        and not written.islower()
        and (is_acronym(written) or len(written) <= MAX_EXACT),
        strict=single and article,
        everyday=single and is_everyday(words[0]),
        rank=rank,
        words=len(words),
    )


def is_everyday(word: str) -> bool:
    """Whether ``word`` (plain) is an everyday word of questions, in singular or plural."""
    return word in EVERYDAY or singular(word) in EVERYDAY or plural(word) in EVERYDAY


# --- spelling correction -------------------------------------------------------------------------
# Only a word that occurs in no passage counts as misspelt, and only a word of the material replaces
# it, if at most one letter in five differs (two swapped letters count as one difference). If most
# words of a question occur nowhere, it is in another language and nothing is corrected.

MIN_LETTERS, MAX_LETTERS = 5, 40  # words of this length may be corrected
LETTERS_PER_DIFFERENCE = 5  # letters per allowed difference; at most two differences
MAX_CHECKED = 12  # per question
MAX_PASSAGES_READ = 20  # searched for the nearest word
MAX_KNOWN_WORDS = 20_000  # cached as present, per knowledge base

_known_words: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
_known_lock = threading.Lock()


def correct_spelling(
    kb: KnowledgeBase, question: Question, vocabulary: Vocabulary
) -> tuple[Question, tuple[str, ...]]:
    """Correct misspelt words in ``question``; also return notes on the changes."""
    index = kb.live().index
    language = language_of(question.text, vocabulary.languages)
    within = Filters(collections=question.filters.collections)
    text = question.text
    corrections: dict[str, str] = {}
    missing: set[str] = set()
    for word in _possibly_misspelt(question.text, vocabulary, language):
        if _is_known(kb, index, index_text(word, [language]), within):
            continue
        missing.add(word.lower())
        respelt = _nearest_word(kb, index, word, within)
        if respelt:
            corrections[word] = respelt
    if not corrections:
        return question, ()
    # If more than half of the words occur in no passage, the question is in another language.
    words = list(dict.fromkeys(word.lower() for word in WORD.findall(text)))[:MAX_CHECKED]
    others = (word for word in words if word not in missing | words_of(language).stop_words)
    missing |= {word for word in others if not _is_known(kb, index, word, within)}
    if len(words) > 1 and 2 * len(missing.intersection(words)) > len(words):
        return question, ()
    for word, respelt in corrections.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", respelt, text)
    note = "“{}” was not found; searched for “{}”"
    return replace(question, text=text), tuple(note.format(*pair) for pair in corrections.items())


def _possibly_misspelt(text: str, vocabulary: Vocabulary, language: str) -> list[str]:
    """The words of ``text`` that may be misspelt: long enough, letters only, and not a name."""
    names = (vocabulary.names, vocabulary.speakers, vocabulary.authors)
    candidates = dict.fromkeys(
        word
        for word in WORD.findall(text)
        if MIN_LETTERS <= len(word) <= MAX_LETTERS
        and word.lower() not in words_of(language).stop_words
        and count_tokens(word.lower()) > 1  # a single token is a common word, spelt correctly
        and not any(word.casefold() in name_keys for name_keys in names)
    )
    return list(candidates)[:MAX_CHECKED]


def _is_known(kb: KnowledgeBase, index: Index, word: str, within: Filters) -> bool:
    """Whether a passage contains the word in any of its forms."""
    key = f"{'|'.join(within.collections)}:{stem(word)}"
    with _known_lock:
        words_present = _known_words.setdefault(kb.cache_key, set())
        if len(words_present) > MAX_KNOWN_WORDS:
            words_present.clear()
        if key in words_present:
            return True
    if not index.search_text(word, within, 1):
        return False
    words_present.add(key)  # another thread may clear it: that costs only a repeated search
    return True


def _nearest_word(kb: KnowledgeBase, index: Index, word: str, within: Filters) -> str:
    """The word of the material that differs least, the most frequent of several; else empty."""
    allowed = min(2, len(word) // LETTERS_PER_DIFFERENCE)
    # Swapped letters are two differences for the index, but one for ``_closest_word``.
    candidates = index.search_text(stem(word), within, MAX_PASSAGES_READ, differences=2)
    passages = kb.catalogue.live_passages([candidate.passage_id for candidate in candidates])
    word_counts = Counter(
        match.lower()
        for passage in passages.values()
        for match in WORD.findall(f"{passage.context} {passage.text}")
    )
    return _closest_word(word.lower(), word_counts, allowed)


def _closest_word(word: str, word_counts: Counter[str], allowed: int) -> str:
    matches = [
        (distance, -times, other)
        for other, times in word_counts.items()
        if other[0] == word[0]
        and abs(len(other) - len(word)) <= allowed
        and 0 < (distance := OSA.distance(word, other, score_cutoff=allowed)) <= allowed
    ]
    return min(matches)[2] if matches else ""
