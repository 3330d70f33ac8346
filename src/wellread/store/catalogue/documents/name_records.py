"""What documents are called, looked up by key and never read as a whole.

A question brings the keys of its own words (``name_keys.py`` says what they are of), so what
it reads hangs on the question, and not on how much there is. Each list that could be long has an
end.
"""

# ruff: noqa: S608 - every word of this SQL is ours

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from sqlalchemy import (
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    union_all,
)
from sqlalchemy.sql.elements import TextClause

from wellread.store.schema.database import AT_ONCE, CataloguePart, chunks
from wellread.store.schema.tables import document_names, documents, entities, passages, relations
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
from wellread.types import Document, EntityFacts, Relation

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
    """All that ``document`` is found by, each once."""
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
    """The keys by which what a relation points to is found: names, addresses, relative ones."""
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


MOST_VALUES = 50  # that one key stands for
MOST_DOCUMENTS = 100  # that are looked at for one name
MOST_WORDED = 1_000  # of the documents with the rarest word of a name
MOST_SORTS = 500  # kinds, dimensions, types of relations

_NAMES = document_names.c


def _distinct(inside: str = "", named: str = "") -> TextClause:
    """The distinct keys, from one look into the index for each: DISTINCT reads every row."""
    least = f"SELECT min(key) FROM document_names WHERE sort = :sort{inside}"
    return text(
        f"WITH RECURSIVE there(key) AS ({least} UNION ALL"
        f" SELECT ({least} AND key > there.key) FROM there WHERE there.key IS NOT NULL)"
        " SELECT key FROM there WHERE EXISTS (SELECT 1 FROM document_names named WHERE"
        f" named.sort = :sort AND named.key = there.key{named}"
        " AND named.collection IN :collections) LIMIT :most"
    ).bindparams(bindparam("collections", expanding=True))


_SORTS = _distinct(named=" AND named.value = ''")
_FIRST = _distinct()
_BEGINNING = _distinct(inside=" AND key >= :start AND key < :end")


class Called(NamedTuple):
    """What a key stands for in one collection: a name as it is written, or the id of an entity."""

    collection: str
    value: str


class NameRecords(CataloguePart):
    """Look-ups by key. Every method takes the collections that are looked at, all by name."""

    def called(
        self, collections: Sequence[str], sorts: Sequence[str], keys: Iterable[str]
    ) -> dict[tuple[str, str], list[Called]]:
        """(Sort, key) to what it stands for, in order; keys that are no name are left out."""
        with self._database.read() as connection:
            return called(connection, collections, sorts, keys)

    def documents(
        self, collections: Sequence[str], sorts: Sequence[str], keys: Iterable[str]
    ) -> list[str]:
        """The ids of ``MOST_DOCUMENTS`` documents that are called by one of the keys."""
        inside = (_NAMES.sort.in_(sorts), _NAMES.collection.in_(collections))
        with self._database.read() as connection:
            return [
                known
                for some in chunks(dict.fromkeys(keys))
                for known in connection.execute(
                    select(_NAMES.document_id)
                    .distinct()
                    .where(_NAMES.key.in_(some), *inside)
                    .order_by(_NAMES.document_id)
                    .limit(MOST_DOCUMENTS)
                ).scalars()
            ][:MOST_DOCUMENTS]

    def every(self, collections: Sequence[str], sort: str, key: str) -> tuple[str, ...]:
        """The ids of all documents that are called so: what a limit to these needs."""
        named = (_NAMES.sort == sort, _NAMES.key == key, _NAMES.collection.in_(collections))
        statement = select(_NAMES.document_id).distinct().where(*named)
        return tuple(self._values(statement.order_by(_NAMES.document_id)))

    def worded(
        self, collections: Sequence[str], words: Iterable[str], sorts: Sequence[str] = (WORD,)
    ) -> list[str]:
        """The ids of documents whose titles hold all of the words, those with the shortest first.

        Of the rarest word at most ``MOST_WORDED`` documents are looked at.
        """
        wanted = list(dict.fromkeys(words))
        if not (wanted and collections):
            return []
        inside = (_NAMES.sort.in_(sorts), _NAMES.collection.in_(collections))
        with self._database.read() as connection:
            held = dict.fromkeys(wanted, 0)
            for some in chunks(wanted):
                each = (
                    select(_NAMES.key).where(_NAMES.key == word, *inside).limit(MOST_WORDED)
                    for word in some
                )
                counted = union_all(*(select(one.subquery().c.key) for one in each)).subquery()
                counts = select(counted.c.key, func.count()).group_by(counted.c.key)
                held |= {row[0]: row[1] for row in connection.execute(counts)}
            rarest = min(wanted, key=held.__getitem__)
            if not held[rarest]:
                return []
            first = (
                select(_NAMES.document_id, _NAMES.value)
                .where(_NAMES.key == rarest, *inside)
                .order_by(_NAMES.value)
                .limit(MOST_WORDED)
                .subquery()
            )
            other = document_names.alias()
            beside = (
                exists().where(
                    other.c.document_id == first.c.document_id,
                    other.c.sort.in_(sorts),
                    other.c.key == word,
                )
                for word in wanted
                if word != rarest
            )
            statement = (
                select(first.c.document_id)
                .where(*beside)
                .order_by(first.c.value, first.c.document_id)
                .limit(MOST_DOCUMENTS)
            )
            return list(dict.fromkeys(connection.execute(statement).scalars()))

    def sorts(self, collections: Sequence[str], sort: str) -> list[str]:
        """The keys of a sort of which there are few, in order."""
        with self._database.read() as connection:
            return sorts(connection, collections, sort)

    def first(self, collections: Sequence[str], sort: str, most: int) -> list[str]:
        """The first keys of a sort of which there may be many, in order."""
        wanted = {"sort": sort, "collections": list(collections), "most": most}
        return [key for (key,) in self._rows(_FIRST.bindparams(**wanted))] if collections else []

    def beginning(self, collections: Sequence[str], sort: str, start: str) -> list[str]:
        """Keys of the sort that begin so, ``MOST_SORTS`` at most."""
        if not (collections and start):
            return []
        ends = {"start": start, "end": f"{start[:-1]}{chr(ord(start[-1]) + 1)}"}
        wanted = {"sort": sort, "collections": list(collections), "most": MOST_SORTS, **ends}
        return [key for (key,) in self._rows(_BEGINNING.bindparams(**wanted))]

    # --- care ---

    def wrong(self) -> list[str]:
        """The ids of documents that are looked up by other names than their own."""
        columns = (_NAMES.document_id, _NAMES.sort, _NAMES.key, _NAMES.value, _NAMES.collection)
        found: list[str] = []
        with self._database.read() as connection:
            for batch in _described(connection):
                ids = [known for known, _, _ in batch]
                held = _lists(connection, select(*columns), _NAMES.document_id.in_(ids))
                found += [
                    known
                    for known, document, speakers in batch
                    if {(*one, document.collection) for one in name_keys(document, speakers)}
                    != set(held[known])
                ]
        return found

    def write_again(self, document_ids: Iterable[str]) -> None:
        """Write the names of these documents anew."""
        wanted = set(document_ids)
        with self._database.write() as connection:
            for some in chunks(sorted(wanted)):
                connection.execute(delete(document_names).where(_NAMES.document_id.in_(some)))
            fill(connection, wanted)


def called(
    connection: Connection, collections: Sequence[str], sorts: Sequence[str], keys: Iterable[str]
) -> dict[tuple[str, str], list[Called]]:
    """See ``NameRecords.called``."""
    where = (_NAMES.sort, _NAMES.key, _NAMES.collection)
    inside = (_NAMES.sort.in_(sorts), _NAMES.collection.in_(collections))
    found: defaultdict[tuple[str, str], list[Called]] = defaultdict(list)
    for some in chunks(dict.fromkeys(keys)) if collections else ():
        ends = (func.min(_NAMES.value), func.max(_NAMES.value))
        statement = select(*where, *ends).where(_NAMES.key.in_(some), *inside).group_by(*where)
        for sort, key, collection, first, last in connection.execute(statement.order_by(*where)):
            same = zip(where, (sort, key, collection), strict=True)
            those = select(_NAMES.value).distinct().where(*(one == it for one, it in same))
            several = those.order_by(_NAMES.value).limit(MOST_VALUES)
            values = [first] if first == last else connection.execute(several).scalars()
            found[sort, key] += [Called(collection, value) for value in values]
    return dict(found)


def sorts(connection: Connection, collections: Sequence[str], sort: str) -> list[str]:
    """See ``NameRecords.sorts``."""
    if not collections:
        return []
    wanted = {"sort": sort, "collections": list(collections), "most": MOST_SORTS}
    return list(connection.execute(_SORTS, wanted).scalars())


def rows_of(names: Iterable[NameKey], collection: str) -> Iterator[dict[str, Any]]:
    """The rows of one document, but for its id."""
    for ordinal, one in enumerate(names):
        yield {"ordinal": ordinal, "collection": collection, **one._asdict()}


def fill(connection: Connection, wanted: Container[str] | None = None) -> None:
    """Write the names of documents, of which none are there yet; of all, where none are given."""
    for batch in _described(connection):
        rows = [
            {"document_id": known, **row}
            for known, document, speakers in batch
            if wanted is None or known in wanted
            for row in rows_of(name_keys(document, speakers), document.collection)
        ]
        if rows:
            connection.execute(insert(document_names), rows)


_OF_DOCUMENTS = ("collection", "uri", "kind", "title", "url", "source_type", "language")


def _described(connection: Connection) -> Iterator[list[tuple[str, Document, list[str]]]]:
    """Every document without its text, and who speaks in it, some at a time."""
    columns = (documents.c[name] for name in ("id", *_OF_DOCUMENTS, "authors", "taxonomy"))
    whole = select(*columns).order_by(documents.c.id).limit(AT_ONCE)
    after = ""
    while batch := connection.execute(whole.where(documents.c.id > after)).all():
        after = batch[-1].id
        inside = [row.id for row in batch]
        spoken = cast(passages.c.speakers, Text)
        heard = select(passages.c.document_id, passages.c.speakers).where(spoken != "[]")
        speakers = _lists(connection, heard, passages.c.document_id.in_(inside))
        edges = select(relations.c.document_id, relations.c.type, relations.c.target)
        related = _lists(connection, edges, relations.c.document_id.in_(inside))
        entity = select(entities).where(entities.c.document_id.in_(inside))
        facts = {
            row.document_id: EntityFacts(
                entity_id=row.entity_id,
                entity_type=row.entity_type,
                aliases=tuple(row.aliases),
                relations=tuple(Relation(type=a, target=b) for a, b in related[row.document_id]),
            )
            for row in connection.execute(entity)
        }
        yield [
            (
                row.id,
                Document(
                    **{name: row._mapping[name] for name in _OF_DOCUMENTS},
                    text="",
                    authors=tuple(row.authors),
                    taxonomy={name: tuple(those) for name, those in dict(row.taxonomy).items()},
                    entity=facts.get(row.id),
                ),
                list(dict.fromkeys(name for (names,) in speakers[row.id] for name in names)),
            )
            for row in batch
        ]


def _lists(
    connection: Connection, statement: Select[Any], where: Any
) -> defaultdict[str, list[tuple[Any, ...]]]:
    """The rows of a statement, without their first column, by it."""
    found: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for known, *rest in connection.execute(statement.where(where)):
        found[known].append(tuple(rest))
    return found
