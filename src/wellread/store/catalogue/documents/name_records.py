"""An index of the names of documents, people, entities and taxonomy values, looked up by key.

A question looks up the keys of its own words only, so the rows it reads depend on the question and
not on the size of the library. Every list that could grow with the library has a limit.
"""

# ruff: noqa: S608 - this SQL contains no user input

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from sqlalchemy import Connection, Select, Text, bindparam, cast, exists, func, insert, select, text
from sqlalchemy.sql.elements import TextClause

from wellread.store.catalogue.documents.lookup import described_entities, document_of
from wellread.store.schema.database import AT_ONCE, CataloguePart, chunks, delete_rows, reading
from wellread.store.schema.tables import document_names, documents, passages
from wellread.text.english import STOP_WORDS
from wellread.text.parsed import stem
from wellread.text.tokens import (
    address_key,
    address_keys,
    bracketed_forms,
    key_of,
    looks_like_address,
    loose_key,
    normalise,
    singular,
    strict_key,
    tokens_of,
)
from wellread.types import Document

# The kinds of keys (column ``sort``). From a title: all of it, the part before its colon, its
# initials, and its words without stop words (a WORD's value: the number of such words in it).
TITLE, MAIN, INITIALS, WORD = "title", "main", "initials", "word"
FILE, SITE = "file", "site"
# From "Weekly Letter #80": the key "letter 80", and the key "letter" with the value "80".
NUMBERED, SERIES = "numbered", "series"
# From people: full names, and first or last names; the value is the name as written.
AUTHOR, AUTHOR_PART, SPEAKER, SPEAKER_PART = "author", "author part", "speaker", "speaker part"
# From the taxonomy; the value of a VALUE or a PHRASE key is dimension and value as JSON.
DIMENSION, VALUE, PHRASE = "dimension", "value", "phrase"
# From an entity; the value is its id. SPELLING: names as questions write them; LOOSE and ADDRESS:
# as relations write them; TARGET: what a relation of the entity points to.
ALIAS, ALIAS_WORD, SPELLING = "alias", "alias word", "spelling"
LOOSE, ADDRESS, TARGET = "loose", "address", "target"
# Kinds with few distinct keys.
SORT, LANGUAGE, ENTITY_TYPE, RELATION = "sort", "language", "entity type", "relation"

UNTYPED = "/"  # the key of entities without a type
# In characters; both columns are in the database index, so their length is limited.
MAX_KEY_CHARS, MAX_VALUE_CHARS = 200, 300
MIN_INITIALS = 3

_MAIN = re.compile(r"(?P<main>[^:–—,(]{2,60}?)\s*(?::\s|\s[-–—]\s|,\s|\s?\()")
_IN_TITLE = re.compile(
    r"\b(?P<noun>[^\W\d_]{3,})\s+(?:#|(?:no\.?|number)\s*)?(?P<number>\d{1,6})\b"
)
_JOINING = re.compile(r"[\s_-]+(?:and|or)[\s_-]+|\s*[&,;/+]\s*", re.IGNORECASE)
# Second-level domains below which sites register their own names ("herald.co.uk").
_SHARED_DOMAINS = frozenset("co com org net gov ac edu".split())


class NameKey(NamedTuple):
    """A key by which a document is found; the kinds of keys are described above."""

    sort: str
    key: str
    value: str = ""


def name_keys(document: Document, speakers: Iterable[str] = ()) -> list[NameKey]:
    """All keys by which ``document`` is found, without duplicates."""
    keys = chain(
        # The title of a past question is a question, not a name.
        _title_keys(document) if document.kind != "qa" else (),
        _people_keys(AUTHOR, AUTHOR_PART, document.authors),
        _people_keys(SPEAKER, SPEAKER_PART, speakers),
        _kind_keys(document),
        _entity_keys(document),
    )
    return [
        key
        for key in dict.fromkeys(keys)
        if 0 < len(key.key) <= MAX_KEY_CHARS and len(key.value) <= MAX_VALUE_CHARS
    ]


def _title_keys(document: Document) -> Iterator[NameKey]:
    full, main, words = title_keys(document.title)
    yield NameKey(TITLE, cut_key(full))
    yield NameKey(MAIN, main)
    yield NameKey(INITIALS, initials(document.title))
    yield from (NameKey(FILE, cut_key(file_key(link))) for link in (document.uri, document.url))
    yield from (NameKey(WORD, word, f"{len(words):03}") for word in sorted(words))
    for match in _IN_TITLE.finditer(document.title):
        noun = singular_form(normalise(match["noun"]))
        number = match["number"].lstrip("0")
        yield NameKey(NUMBERED, f"{noun} {number}")
        yield NameKey(SERIES, noun, number)


def _people_keys(full_kind: str, part_kind: str, names: Iterable[str]) -> Iterator[NameKey]:
    for name in names:
        yield NameKey(full_kind, key_of(name), name)
        words = name.split()
        if 2 <= len(words) <= 4 and words[0][:1].isupper() and words[-1][:1].isupper():
            yield from (NameKey(part_kind, key_of(word), name) for word in (words[0], words[-1]))


def _kind_keys(document: Document) -> Iterator[NameKey]:
    yield NameKey(SORT, f"{document.kind}/{document.source_type}")
    yield NameKey(LANGUAGE, document.language)
    yield NameKey(SITE, site_key(document.url))
    for dimension, values in document.taxonomy.items():
        yield NameKey(DIMENSION, dimension)
        for value in values:
            pair = _pair(dimension, value)
            # Its parts as well: "food" and "agriculture" of "food-and-agriculture".
            parts = _JOINING.split(value)
            yield from (NameKey(VALUE, key_of(form) or form, pair) for form in (value, *parts))
            yield NameKey(PHRASE, phrase_key(value), pair)


def _entity_keys(document: Document) -> Iterator[NameKey]:
    entity = document.entity
    if entity is None:
        return
    entity_id, names = entity.entity_id, (document.title, *entity.aliases)
    yield NameKey(ENTITY_TYPE, entity.entity_type or UNTYPED)
    for alias in entity.aliases:
        yield NameKey(ALIAS, key_of(alias))
        yield from (NameKey(ALIAS_WORD, singular_form(token.plain)) for token in tokens_of(alias))
    for written in entity_spellings(entity_id, names):
        yield NameKey(SPELLING, key_of(written), entity_id)
    bracketed = [form for name in names for form in bracketed_forms(name)]
    for name in (entity_id, *names, *bracketed):
        yield NameKey(LOOSE, relation_key(name), entity_id)
    for address in (document.url, document.uri):
        yield from (NameKey(ADDRESS, cut_key(key), entity_id) for key in address_keys(address))
    for relation in entity.relations:
        yield NameKey(RELATION, relation.type)
        for key in target_keys(relation.target, document.uri):
            yield NameKey(TARGET, key)


def cut_key(key: str) -> str:
    """``key`` cut to the stored length; callers compare full keys after the lookup."""
    return key[:MAX_KEY_CHARS]


def singular_form(word: str) -> str:
    """The singular of ``word``, or itself."""
    return singular(word) or word


@lru_cache(maxsize=2_000)
def title_keys(title: str) -> tuple[str, str, frozenset[str]]:
    """The key of a title, the key of its main part, and its words without stop words."""
    main = _MAIN.match(title)
    words = [token.plain for token in tokens_of(title)]
    content_words = frozenset(singular_form(word) for word in words if word not in STOP_WORDS)
    return key_of(title), key_of(main["main"]) if main else "", content_words


def initials(title: str) -> str:
    """The initials of a title of three or more capitalised words; empty for other titles."""
    words = [token.written for token in tokens_of(title) if token.plain not in STOP_WORDS]
    capitalised = len(words) >= MIN_INITIALS and all(word[:1].isupper() for word in words)
    return "".join(word[0].lower() for word in words) if capitalised else ""


def file_key(address: str) -> str:
    """The key of the file name in ``address``, without its extension."""
    last = unquote(_parts(address).path).rstrip("/").rpartition("/")[2]
    return key_of(last.rpartition(".")[0] or last)


def site_key(url: str) -> str:
    """The key of the site's name in ``url``: "herald" for www.herald.example."""
    host = _parts(url).hostname if "://" in url else None
    labels = (host or "").removeprefix("www.").split(".")[:-1]
    while len(labels) > 1 and labels[-1] in _SHARED_DOMAINS:
        labels.pop()
    return key_of(labels[-1]) if labels and not labels[-1].isdigit() else ""


def phrase_key(text: str) -> str:
    """The word stems of ``text``, by which a taxonomy value is found inside a question."""
    return " ".join(stem(token.plain) for token in tokens_of(text.replace("-", " ")))


def relation_key(name: str) -> str:
    """The key shared by all spellings of a name with which a relation may refer to an entity."""
    return cut_key(loose_key(name) or strict_key(name))


def target_keys(target: str, base: str) -> Iterator[str]:
    """The keys of a relation's target as a name, an address, and an address relative to base."""
    yield relation_key(target)
    if looks_like_address(target):
        for address in (target, resolve_address(base, target)):
            yield relation_key(address)
            yield from (cut_key(address_key(form)) for form in (address, address.partition("#")[0]))


def resolve_address(base: str, address: str) -> str:
    """``address`` resolved against ``base``; unchanged when ``base`` cannot be parsed."""
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


def entity_spellings(entity_id: str, names: Sequence[str]) -> Iterator[str]:
    """All spellings by which a question may name an entity; a superset of ``forms_of``."""
    yield from names
    yield slug_words(entity_id)
    yield from (form for name in names for form in bracketed_forms(name))
    yield from (part for name in names for part in title_parts(name))
    yield from (" ".join(words[-2:]) for name in names if len(words := name.split()) > 2)


def slug_words(entity_id: str) -> str:
    """The words of an entity id that is a slug; empty for other ids."""
    slug = _SLUG.fullmatch(entity_id)
    return slug["words"].replace("-", " ").replace("_", " ") if slug else ""


def title_parts(title: str) -> Iterator[str]:
    """ "newsletter 80" in "Weekly Newsletter #80", "Kittiwake" in "Electric ferry Kittiwake"."""
    numbered, apposed = _NUMBERED.fullmatch(title), _APPOSED.fullmatch(title)
    if numbered:
        yield f"{numbered['noun']} {numbered['number']}"
    if apposed:
        last = apposed["before"].split()[-1]
        if last.islower() and last not in LINKING:
            yield apposed["name"]


MAX_VALUES = 50  # values of one key
MAX_DOCUMENTS = 100  # documents of one name
MAX_WORD_MATCHES = 1_000  # documents with the rarest word of a name that are checked
MAX_KEYS = 500  # distinct keys of one kind

_NAMES = document_names.c


def _distinct_sql(row_condition: str = "") -> TextClause:
    """SQL for distinct keys that reads one index entry for each; DISTINCT would read every row."""
    least = "SELECT min(key) FROM document_names WHERE sort = :sort"
    return text(
        f"WITH RECURSIVE there(key) AS ({least} UNION ALL"
        f" SELECT ({least} AND key > there.key) FROM there WHERE there.key IS NOT NULL)"
        " SELECT key FROM there WHERE EXISTS (SELECT 1 FROM document_names named WHERE"
        f" named.sort = :sort AND named.key = there.key{row_condition}"
        " AND named.collection IN :collections) LIMIT :limit"
    ).bindparams(bindparam("collections", expanding=True))


_DISTINCT_KEYS = _distinct_sql(row_condition=" AND named.value = ''")
_FIRST_KEYS = _distinct_sql()


class KeyTarget(NamedTuple):
    """The value of a key in one collection: a name as written, or the id of an entity."""

    collection: str
    value: str


def look_up(
    connection: Connection, collections: Sequence[str], kinds: Sequence[str], keys: Iterable[str]
) -> dict[tuple[str, str], list[KeyTarget]]:
    """The values of each key by (kind, key), in order; unknown keys are left out."""
    columns = (_NAMES.sort, _NAMES.key, _NAMES.collection)
    scope = (_NAMES.sort.in_(kinds), _NAMES.collection.in_(collections))
    targets: defaultdict[tuple[str, str], list[KeyTarget]] = defaultdict(list)
    for batch in chunks(dict.fromkeys(keys)) if collections else ():
        ends = (func.min(_NAMES.value), func.max(_NAMES.value))
        statement = select(*columns, *ends).where(_NAMES.key.in_(batch), *scope).group_by(*columns)
        for kind, key, collection, first, last in connection.execute(statement.order_by(*columns)):
            same = zip(columns, (kind, key, collection), strict=True)
            stored = select(_NAMES.value).distinct().where(*(left == right for left, right in same))
            first_values = stored.order_by(_NAMES.value).limit(MAX_VALUES)
            values = [first] if first == last else connection.execute(first_values).scalars()
            targets[kind, key] += [KeyTarget(collection, value) for value in values]
    return dict(targets)


def distinct_keys(connection: Connection, collections: Sequence[str], kind: str) -> list[str]:
    """The distinct keys of a kind, in order, at most ``MAX_KEYS``."""
    if not collections:
        return []
    parameters = {"sort": kind, "collections": list(collections), "limit": MAX_KEYS}
    return list(connection.execute(_DISTINCT_KEYS, parameters).scalars())


def of_people(connection: Connection, sort: str, people: Sequence[str]) -> Select[Any]:
    """The ids of the documents of people, in any case; databases fold ASCII letters only."""
    folded_names = {name.casefold() for name in people}
    has_key = (_NAMES.sort == sort, _NAMES.key.in_(set(map(key_of, people))))
    stored = connection.execute(select(_NAMES.value).distinct().where(*has_key)).scalars()
    names = [name for name in stored if name.casefold() in folded_names]
    return select(_NAMES.document_id).where(*has_key, _NAMES.value.in_(names))


def of_values(dimension: str, values: Sequence[str]) -> Select[Any]:
    """The ids of the documents with one of the values of a dimension."""
    keys = {key_of(value) or value for value in values}
    is_value = _NAMES.value.in_([_pair(dimension, value) for value in values])
    return select(_NAMES.document_id).where(_NAMES.sort == VALUE, _NAMES.key.in_(keys), is_value)


def _pair(dimension: str, value: str) -> str:
    return json.dumps([dimension, value], ensure_ascii=False)


class NameRecords(CataloguePart):
    """Look-ups by key, within the collections that are named."""

    look_up = reading(look_up)
    distinct_keys = reading(distinct_keys)

    def documents(
        self, collections: Sequence[str], kinds: Sequence[str], keys: Iterable[str]
    ) -> list[str]:
        """The ids of documents that have one of the keys, at most ``MAX_DOCUMENTS``."""
        conditions = (_NAMES.sort.in_(kinds), _NAMES.collection.in_(collections))
        with self._database.read() as connection:
            return [
                document_id
                for batch in chunks(dict.fromkeys(keys))
                for document_id in connection.execute(
                    select(_NAMES.document_id)
                    .distinct()
                    .where(_NAMES.key.in_(batch), *conditions)
                    .order_by(_NAMES.document_id)
                    .limit(MAX_DOCUMENTS)
                ).scalars()
            ][:MAX_DOCUMENTS]

    def documents_with(self, collections: Sequence[str], kind: str, key: str) -> tuple[str, ...]:
        """The ids of all documents that have the key, for a filter by document ids."""
        has_key = (_NAMES.sort == kind, _NAMES.key == key, _NAMES.collection.in_(collections))
        statement = select(_NAMES.document_id).distinct().where(*has_key)
        return tuple(self._values(statement.order_by(_NAMES.document_id)))

    def with_words(
        self, collections: Sequence[str], words: Iterable[str], kinds: Sequence[str] = (WORD,)
    ) -> list[str]:
        """The ids of documents whose titles contain all of the words, shortest titles first.

        At most ``MAX_WORD_MATCHES`` documents with the rarest of the words are checked.
        """
        required = list(dict.fromkeys(words))
        if not (required and collections):
            return []
        scope = (_NAMES.sort.in_(kinds), _NAMES.collection.in_(collections))
        with self._database.read() as connection:
            totals: dict[str, int] = {}
            for word in required:
                matches = select(_NAMES.key).where(_NAMES.key == word, *scope)
                count = select(func.count()).select_from(matches.limit(MAX_WORD_MATCHES).subquery())
                totals[word] = connection.execute(count).scalar_one()
            rarest = min(required, key=totals.__getitem__)
            first = (
                select(_NAMES.document_id, _NAMES.value)
                .where(_NAMES.key == rarest, *scope)
                .order_by(_NAMES.value)
                .limit(MAX_WORD_MATCHES)
                .subquery()
            )
            other = document_names.alias()
            others = (
                exists().where(
                    other.c.document_id == first.c.document_id,
                    other.c.sort.in_(kinds),
                    other.c.key == word,
                )
                for word in required
                if word != rarest
            )
            statement = (
                select(first.c.document_id)
                .where(*others)
                .order_by(first.c.value, first.c.document_id)
                .limit(MAX_DOCUMENTS)
            )
            return list(dict.fromkeys(connection.execute(statement).scalars()))

    def first_keys(self, collections: Sequence[str], kind: str, limit: int) -> list[str]:
        """The first ``limit`` distinct keys of a kind, in order."""
        values = {"sort": kind, "collections": list(collections), "limit": limit}
        keys = self._rows(_FIRST_KEYS.bindparams(**values)) if collections else ()
        return [key for (key,) in keys]

    # --- maintenance ---

    def with_wrong_keys(self) -> list[str]:
        """The ids of documents whose stored keys differ from those of their current facts."""
        columns = (_NAMES.document_id, _NAMES.sort, _NAMES.key, _NAMES.value, _NAMES.collection)
        wrong: list[str] = []
        with self._database.read() as connection:
            for batch in _document_batches(connection):
                ids = [document_id for document_id, _, _ in batch]
                stored = _group_rows(connection, select(*columns), _NAMES.document_id.in_(ids))
                wrong += [
                    document_id
                    for document_id, document, speakers in batch
                    if {(*key, document.collection) for key in name_keys(document, speakers)}
                    != set(stored[document_id])
                ]
        return wrong

    def rewrite_keys(self, document_ids: Iterable[str]) -> None:
        """Rewrite the keys of these documents."""
        ids = set(document_ids)
        with self._database.write() as connection:
            delete_rows(connection, _NAMES.document_id, sorted(ids))
            write_names(connection, ids)


def name_rows(names: Iterable[NameKey], collection: str) -> Iterator[dict[str, Any]]:
    """The rows of one document's keys, without its id."""
    for ordinal, key in enumerate(names):
        yield {"ordinal": ordinal, "collection": collection, **key._asdict()}


def write_names(connection: Connection, document_ids: Container[str] | None = None) -> None:
    """Insert the keys of these documents (None: of all), which must have none yet."""
    for batch in _document_batches(connection):
        rows = [
            {"document_id": document_id, **row}
            for document_id, document, speakers in batch
            if document_ids is None or document_id in document_ids
            for row in name_rows(name_keys(document, speakers), document.collection)
        ]
        if rows:
            connection.execute(insert(document_names), rows)


def _document_batches(connection: Connection) -> Iterator[list[tuple[str, Document, list[str]]]]:
    """All documents with their ids and speakers but without texts, in batches."""
    statement = select(documents).order_by(documents.c.id).limit(AT_ONCE)
    has_speakers = cast(passages.c.speakers, Text) != "[]"
    spoken_names = select(passages.c.document_id, passages.c.speakers).where(has_speakers)
    after = ""
    while batch := connection.execute(statement.where(documents.c.id > after)).all():
        after = batch[-1].id
        ids = [row.id for row in batch]
        speakers = _group_rows(connection, spoken_names, passages.c.document_id.in_(ids))
        entity = described_entities(connection, ids)
        yield [
            (
                row.id,
                document_of(row, text="", entity=entity.get(row.id)),
                list(dict.fromkeys(name for (names,) in speakers[row.id] for name in names)),
            )
            for row in batch
        ]


def _group_rows(
    connection: Connection, statement: Select[Any], condition: Any
) -> defaultdict[str, list[tuple[Any, ...]]]:
    """The rows of ``statement`` grouped by their first column, without that column."""
    groups: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for group, *columns in connection.execute(statement.where(condition)):
        groups[group].append(tuple(columns))
    return groups
