"""Lists of what there is, a page at a time: documents, recordings, what somebody said.

Which documents are on a list is decided by the same conditions as what is counted
(``censuses.meeting``), so that a list and a count never disagree.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, Text, and_, cast, func, or_, select, true

from wellread.codec import from_plain
from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.documents.aggregates import meeting
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.name_keys import FILE, SITE, cut, file_key, site_key
from wellread.store.schema.database import CataloguePart, aside, made_of, rows_in
from wellread.store.schema.tables import document_names, documents, passages, past_questions
from wellread.types import DocumentFacts, Filters, Passage, PastQuestion

Order = Literal["newest", "oldest", "title", "added"]
ORDERS: tuple[Order, ...] = get_args(Order)
NOBODY = "[]"  # as a list of speakers is stored

_ORDERS: Mapping[Order, tuple[ColumnElement[Any], ...]] = {
    "newest": (documents.c.published_at.desc().nulls_last(), documents.c.title),
    "oldest": (documents.c.published_at.asc().nulls_last(), documents.c.title),
    "title": (func.lower(documents.c.title),),  # of ASCII, with both databases
    "added": (documents.c.added_at.desc(), documents.c.title),
}
_LISTED = lookup.FACTS.add_columns(
    documents.c.summary, documents.c.taxonomy, documents.c.passages, documents.c.added_at
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document on a list; ``passages``: how many it has."""

    facts: DocumentFacts
    summary: str
    taxonomy: Mapping[str, tuple[str, ...]]
    passages: int
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """CataloguePart of a list, and how many documents the whole of it has."""

    total: int
    documents: tuple[ListedDocument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePage:
    """CataloguePart of a list, and how many passages the whole of it has."""

    total: int
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled:
    """By what a document can be named."""

    id: str
    title: str
    uri: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePlace:
    """Where a passage stands in its document: number ``ordinal`` (from 0) of ``passages``."""

    id: str
    document_id: str
    ordinal: int
    passages: int


class Listings(CataloguePart):
    """Reads for lists and for finding one's place."""

    # --- documents ---

    def documents(
        self,
        limits: Filters,
        limit: int,
        offset: int = 0,
        order: Order = "newest",
        *,
        media: bool = False,
    ) -> DocumentPage:
        """The documents that meet the limits; those without a date come last.

        Args:
            media: only transcripts, and what else has a recording.
        """
        with self._database.read() as connection:
            where = and_(meeting(connection, [limits]), _RECORDED if media else true())
            count = select(func.count()).select_from(documents).where(where)
            chosen = select(documents.c.id).where(where).order_by(*_ORDERS[order], documents.c.id)
            ids = list(connection.execute(chosen.limit(limit).offset(offset)).scalars())
            total = connection.execute(count).scalar_one()
            return DocumentPage(total=total, documents=tuple(_listed(connection, ids)))

    def listed(self, document_id: str) -> ListedDocument | None:
        """One document as lists show it, or None."""
        with self._database.read() as connection:
            return next(iter(_listed(connection, [document_id])), None)

    def titles(self, collections: Sequence[str], *, media: bool = False) -> list[Titled]:
        """By what every document (of ``media``: every recording) can be named, newest first."""
        columns = (documents.c.id, documents.c.title, documents.c.uri, documents.c.url)
        statement = select(*columns).order_by(*_ORDERS["newest"], documents.c.id)
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        if media:
            statement = statement.where(_RECORDED)
        return made_of(Titled, self._rows(statement))

    def dates(self, limits: Filters) -> list[datetime]:
        """The date of publication of each document that meets the limits and has one, ascending."""
        moment = documents.c.published_at
        with self._database.read() as connection:
            where = and_(meeting(connection, [limits]), moment.is_not(None))
            found = connection.execute(select(moment).where(where).order_by(moment)).scalars()
            return [when for when in found if when]

    def speakers_of(self, document_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Document id to who speaks in it, in order of appearance."""
        statement = (
            select(passages.c.document_id, passages.c.speakers)
            .where(passages.c.document_id.in_(VALUES), _SPOKEN)
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        found: dict[str, dict[str, None]] = {}
        for known, names in self._rows_in(statement, document_ids):
            found.setdefault(known, {}).update(dict.fromkeys(names))
        return {known: tuple(names) for known, names in found.items()}

    # --- passages ---

    def said(self, limits: Filters, limit: int, offset: int = 0) -> PassagePage:
        """Passages in which one of ``limits.speakers`` speaks; the newest documents first."""
        names = {name.casefold() for name in limits.speakers}
        columns = (passages.c.id, cast(passages.c.speakers, Text))
        with self._database.read() as connection:
            statement = (
                select(*columns)
                .join_from(passages, documents, documents.c.id == passages.c.document_id)
                .where(_SPOKEN, meeting(connection, [limits]))
                .order_by(*_ORDERS["newest"], documents.c.id, passages.c.ordinal)
            )
            found = [
                known
                for known, speakers in connection.execute(statement)
                if any(name.casefold() in names for name in json.loads(speakers))
            ]
            wanted = found[offset : offset + limit]
            whole = lookup.whole_passages(connection, wanted)
        return PassagePage(total=len(found), passages=tuple(whole[known] for known in wanted))

    def openings(self, document_ids: Iterable[str]) -> dict[str, Passage]:
        """Document id to its first passage; documents without any are left out."""
        statement = select(passages.c.id).where(
            passages.c.document_id.in_(VALUES), passages.c.ordinal == 0
        )
        with self._database.read() as connection:
            ids = [row.id for row in rows_in(connection, statement, document_ids)]
            whole = lookup.whole_passages(connection, ids)
        return {passage.document_id: passage for passage in whole.values()}

    def covering(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """The id of the passage at, else the first one behind, each (document id, character).

        It is empty where there is none.
        """
        columns = (passages.c.document_id, passages.c.end, passages.c.id)
        statement = (
            select(*columns)
            .where(passages.c.document_id.in_(VALUES))
            .order_by(passages.c.document_id, passages.c.ordinal)
        )
        ends: dict[str, list[int]] = {}
        ids: dict[str, list[str]] = {}
        for document, end, known in self._rows_in(statement, (document for document, _ in places)):
            ends.setdefault(document, []).append(end)
            ids.setdefault(document, []).append(known)
        found: list[str] = []
        for document, place in places:
            number = bisect_right(ends.get(document, ()), place)
            found.append(ids[document][number] if number < len(ids.get(document, ())) else "")
        return found

    def place(self, name: str, collections: Sequence[str] = ()) -> list[PassagePlace]:
        """Where the passages stand whose id is or begins with ``name``; at most two."""
        columns = (
            passages.c.id,
            passages.c.document_id,
            passages.c.ordinal,
            documents.c.passages,
        )
        statement = (
            select(*columns)
            .join_from(passages, documents, documents.c.id == passages.c.document_id)
            # Ids end in hex digits, so this is all that begins with it, by the primary key.
            .where(passages.c.id >= name, passages.c.id < f"{name}g")
            .order_by(passages.c.id)
            .limit(2)
        )
        if collections:
            statement = statement.where(documents.c.collection.in_(collections))
        return made_of(PassagePlace, self._rows(statement))


_SPOKEN = cast(passages.c.speakers, Text) != NOBODY
_RECORDED = or_(documents.c.kind == "transcript", documents.c.media_url != "")


def _listed(connection: Connection, ids: Sequence[str]) -> Iterator[ListedDocument]:
    """The documents, in the order of their ids here; unknown ones are left out."""
    statement = _LISTED.where(documents.c.id.in_(VALUES))
    rows = {row.id: row for row in rows_in(connection, statement, ids)}
    for row in (rows[known] for known in ids if known in rows):
        yield ListedDocument(
            facts=lookup.facts_of(row),
            summary=row.summary,
            taxonomy={name: tuple(values) for name, values in row.taxonomy.items()},
            passages=row.passages,
            added_at=row.added_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPastQuestion:
    """A past question, and when it was last written (its feedback with it)."""

    past: PastQuestion
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A document that an address names, when it came and when it was last changed."""

    id: str
    title: str
    added_at: datetime
    updated_at: datetime


class PastQuestions(CataloguePart):
    """Reads of past questions."""

    def of(self, document_ids: Iterable[str]) -> dict[str, StoredPastQuestion]:
        """Document id to the past question it holds; other documents are left out."""
        statement = (
            select(past_questions.c.document_id, past_questions.c.body, documents.c.updated_at)
            .join_from(past_questions, documents, documents.c.id == past_questions.c.document_id)
            .where(past_questions.c.document_id.in_(VALUES))
        )
        return {
            row.document_id: StoredPastQuestion(
                past=from_plain(PastQuestion, row.body), updated_at=row.updated_at
            )
            for row in self._rows_in(statement, document_ids)
        }

    def cited(self, collection: str, address: str) -> list[CitedSource]:
        """The documents of the collection that ``address`` names: a url, a uri, or its end.

        A relative address ("papers/seagrass.pdf") names what ends in it.
        """
        named = [documents.c.url == address, documents.c.uri == address]
        if ":" not in address:
            tail = "/" + address.removeprefix("./").lstrip("/")
            folded = "".join(one.lower() if one.isascii() else one for one in tail)
            named.append(func.lower(documents.c.uri).endswith(folded, autoescape=True))
        columns, names = documents.c, document_names.c
        statement = select(columns.id, columns.title, columns.added_at, columns.updated_at).where(
            aside(columns.collection) == collection, columns.kind != "qa", or_(*named)
        )
        # Of an address whose last part is no word, the documents of the site are looked through.
        sort, key = (FILE, file_key(address)) if file_key(address) else (SITE, site_key(address))
        called = (names.sort == sort, names.key == cut(key), names.collection == collection)
        there = select(names.document_id).where(*called)
        return made_of(CitedSource, self._rows(statement.where(columns.id.in_(there))))
