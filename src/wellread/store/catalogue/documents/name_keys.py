"""The keys under which a document is found when a question names it, or something of it.

Ingest writes them into an indexed table (``name_records.py``), and a
question looks its own words up there: so it costs the same however many documents there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from wellread.text.english import STOP_WORDS
from wellread.text.names import (
    address_key,
    address_keys,
    bracketed_forms,
    looks_like_address,
    loose_key,
    singular,
)
from wellread.text.names import key_of as strict_key
from wellread.text.tokens import key_of, plain, tokens_of
from wellread.text.words import stem
from wellread.types import Document

# What a key is of. Of a title: the whole of it, the part before its colon, its initials, its words
# that say something (the value: how many there are).
TITLE, MAIN, INITIALS, WORD = "title", "main", "initials", "word"
FILE, SITE = "file", "site"
# "Weekly Letter #80": "letter 80", and of "letter" that there is a number 80.
NUMBERED, SERIES = "numbered", "series"
# Of people: whole names and first or last ones; the value: the name as it is written.
AUTHOR, AUTHOR_PART, SPEAKER, SPEAKER_PART = "author", "author part", "speaker", "speaker part"
# Of the taxonomy; the value of a VALUE or a PHRASE: dimension and value as JSON.
DIMENSION, VALUE, PHRASE = "dimension", "value", "phrase"
# Of an entity; the value: its id. SPELLING as questions write it, LOOSE and ADDRESS as relations
# do; TARGET: what a relation points to.
ALIAS, ALIAS_WORD, SPELLING = "alias", "alias word", "spelling"
LOOSE, ADDRESS, TARGET = "loose", "address", "target"
# What there are only few of.
SORT, LANGUAGE, ENTITY_TYPE, RELATION = "sort", "language", "entity type", "relation"

# Characters: nobody names a thing by more, and the index holds both.
UNTYPED = "/"  # of an entity without a type
LONGEST_KEY, LONGEST_VALUE = 200, 300
LEAST_INITIALS = 3

_MAIN = re.compile(r"(?P<main>[^:–—,(]{2,60}?)\s*(?::\s|\s[-–—]\s|,\s|\s?\()")
_IN_TITLE = re.compile(
    r"\b(?P<noun>[^\W\d_]{3,})\s+(?:#|(?:no\.?|number)\s*)?(?P<number>\d{1,6})\b"
)
_JOINING = re.compile(r"[\s_-]+(?:and|or)[\s_-]+|\s*[&,;/+]\s*", re.IGNORECASE)
# Second-level domains under which others have names of their own ("herald.co.uk").
_SHARED_DOMAINS = frozenset("co com org net gov ac edu".split())


class NameKey(NamedTuple):
    """Something that a document is found by; see the sorts above."""

    sort: str
    key: str
    value: str = ""


def name_keys(document: Document, speakers: Iterable[str] = ()) -> list[NameKey]:
    """All that ``document`` is found by, each once.

    Args:
        speakers: who speaks in its passages.
    """
    found = chain(
        # A past question is a question, and nothing that is called by its title.
        _of_title(document) if document.kind != "qa" else (),
        _of_people(AUTHOR, AUTHOR_PART, document.authors),
        _of_people(SPEAKER, SPEAKER_PART, speakers),
        _of_kind(document),
        _of_entity(document),
    )
    return [
        one
        for one in dict.fromkeys(found)
        if 0 < len(one.key) <= LONGEST_KEY and len(one.value) <= LONGEST_VALUE
    ]


def _of_title(document: Document) -> Iterator[NameKey]:
    whole, main, words = title_keys(document.title)
    yield NameKey(TITLE, cut(whole))
    yield NameKey(MAIN, main)
    yield NameKey(INITIALS, initials(document.title))
    yield from (NameKey(FILE, cut(file_key(one))) for one in (document.uri, document.url))
    yield from (NameKey(WORD, word, f"{len(words):03}") for word in sorted(words))
    for match in _IN_TITLE.finditer(document.title):
        noun = one_of(plain(match["noun"]))
        number = match["number"].lstrip("0")
        yield NameKey(NUMBERED, f"{noun} {number}")
        yield NameKey(SERIES, noun, number)


def _of_people(whole: str, part: str, names: Iterable[str]) -> Iterator[NameKey]:
    for name in names:
        yield NameKey(whole, key_of(name), name)
        words = name.split()
        if 2 <= len(words) <= 4 and words[0][:1].isupper() and words[-1][:1].isupper():
            yield from (NameKey(part, key_of(one), name) for one in (words[0], words[-1]))


def _of_kind(document: Document) -> Iterator[NameKey]:
    yield NameKey(SORT, f"{document.kind}/{document.source_type}")
    yield NameKey(LANGUAGE, document.language)
    yield NameKey(SITE, site_key(document.url))
    for dimension, values in document.taxonomy.items():
        yield NameKey(DIMENSION, dimension)
        for value in values:
            pair = json.dumps([dimension, value], ensure_ascii=False)
            yield from (NameKey(VALUE, key_of(one), pair) for one in (value, *value_parts(value)))
            yield NameKey(PHRASE, phrase_key(value), pair)


def _of_entity(document: Document) -> Iterator[NameKey]:
    entity = document.entity
    if entity is None:
        return
    known, names = entity.entity_id, (document.title, *entity.aliases)
    yield NameKey(ENTITY_TYPE, entity.entity_type or UNTYPED)
    for alias in entity.aliases:
        yield NameKey(ALIAS, key_of(alias))
        yield from (NameKey(ALIAS_WORD, one_of(token.plain)) for token in tokens_of(alias))
    for written in entity_spellings(known, names):
        yield NameKey(SPELLING, key_of(written), known)
    bracketed = [form for name in names for form in bracketed_forms(name)]
    yield from (NameKey(LOOSE, relation_key(name), known) for name in (known, *names, *bracketed))
    for address in (document.url, document.uri):
        yield from (NameKey(ADDRESS, cut(key), known) for key in address_keys(address))
    for relation in entity.relations:
        yield NameKey(RELATION, relation.type)
        for key in target_keys(relation.target, document.uri):
            yield NameKey(TARGET, key)


def cut(key: str) -> str:
    """As much of a long key as is kept; who finds something by it compares the whole."""
    return key[:LONGEST_KEY]


def one_of(word: str) -> str:
    """The singular of ``word``, or itself."""
    return singular(word) or word


@lru_cache(maxsize=2_000)
def title_keys(title: str) -> tuple[str, str, frozenset[str]]:
    """The keys of a title and of its main part, and its words that say something."""
    main = _MAIN.match(title)
    words = [token.plain for token in tokens_of(title)]
    telling = frozenset(one_of(word) for word in words if word not in STOP_WORDS)
    return key_of(title), key_of(main["main"]) if main else "", telling


def initials(title: str) -> str:
    """The first letters of a title of three capitalised words or more; empty for another."""
    words = [token.written for token in tokens_of(title) if token.plain not in STOP_WORDS]
    named = len(words) >= LEAST_INITIALS and all(word[:1].isupper() for word in words)
    return "".join(word[0].lower() for word in words) if named else ""


def file_key(address: str) -> str:
    """The key of a file's name, without what stands behind its dot."""
    last = unquote(_parts(address).path).rstrip("/").rpartition("/")[2]
    return key_of(last.rpartition(".")[0] or last)


def site_key(url: str) -> str:
    """The key of what the site of ``url`` is called: "herald" for www.herald.example."""
    host = _parts(url).hostname if "://" in url else None
    labels = (host or "").removeprefix("www.").split(".")[:-1]
    while len(labels) > 1 and labels[-1] in _SHARED_DOMAINS:
        labels.pop()
    return key_of(labels[-1]) if labels and not labels[-1].isdigit() else ""


def value_parts(value: str) -> list[str]:
    """What a value of the taxonomy joins: "food" and "agriculture" of "food-and-agriculture"."""
    parts = _JOINING.split(value)
    return parts if len(parts) > 1 else []


def phrase_key(text: str) -> str:
    """The stems of the words, as a value of the taxonomy is found inside a question."""
    return " ".join(stem(token.plain) for token in tokens_of(text.replace("-", " ")))


def relation_key(name: str) -> str:
    """What all names have in common that a relation may call one entity by."""
    return cut(loose_key(name) or strict_key(name))


def target_keys(target: str, base: str) -> Iterator[str]:
    """The keys by which what a relation points to is found: names, addresses, relative ones.

    Args:
        base: the address of the document that says it.
    """
    yield relation_key(target)
    if looks_like_address(target):
        for address in (target, joined(base, target)):
            yield relation_key(address)
            yield from (cut(address_key(one)) for one in (address, address.partition("#")[0]))


def joined(base: str, address: str) -> str:
    """``address`` as it is meant in the document at ``base``; itself where that is no address."""
    try:
        return urljoin(base, address)
    except ValueError:  # "http://[notes"
        return address


def _parts(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", address, "", "")


# --- the spellings of an entity ---

_SLUG = re.compile(r"(?:[a-z]+/)?(?P<words>[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)")
_NUMBERED = re.compile(r"(?:.*\s)?(?P<noun>[^\W\d_]{3,})\s+(?:#|no\.?\s*)?(?P<number>\d+)")
_APPOSED = re.compile(r"(?P<before>.*[a-z])\s(?P<name>[A-Z][\w’'-]{3,}(?:\s[A-Z][\w’'-]+)*)")
LINKING = STOP_WORDS | {"in", "of", "at", "on", "to", "for", "near"}


def entity_spellings(known: str, names: Sequence[str]) -> Iterator[str]:
    """All that an entity may be called in a question, more than ``forms_of`` lets count."""
    yield from names
    yield slug_words(known)
    yield from (form for name in names for form in bracketed_forms(name))
    yield from (part for name in names for part in title_parts(name))
    yield from (" ".join(words[-2:]) for name in names if len(words := name.split()) > 2)


def slug_words(known: str) -> str:
    """The words of an id that is a slug; empty for another."""
    slug = _SLUG.fullmatch(known)
    return slug["words"].replace("-", " ").replace("_", " ") if slug else ""


def title_parts(title: str) -> Iterator[str]:
    """ "newsletter 80" of "Weekly Newsletter #80", "Kittiwake" of "Electric ferry Kittiwake"."""
    numbered, apposed = _NUMBERED.fullmatch(title), _APPOSED.fullmatch(title)
    if numbered:
        yield f"{numbered['noun']} {numbered['number']}"
    if apposed:
        last = apposed["before"].split()[-1]
        if last.islower() and last not in LINKING:
            yield apposed["name"]
