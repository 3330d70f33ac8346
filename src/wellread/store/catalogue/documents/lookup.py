"""Reads documents, passages, texts and marks by id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import BindParameter, Connection, and_, bindparam, func, select

from wellread.codec import from_plain, marks_from_blob, marks_over
from wellread.errors import StoreError
from wellread.store.schema.database import rows_in
from wellread.store.schema.tables import (
    PIECE,
    documents,
    entities,
    marks,
    mention_scans,
    mentions,
    passages,
    past_questions,
    properties,
    relations,
    texts,
)
from wellread.types import (
    Document,
    DocumentFacts,
    EntityFacts,
    Mark,
    Passage,
    PastQuestion,
    Relation,
    Span,
)

NO_LIMIT = 1_000_000_000  # rows
VALUES: BindParameter[Any] = bindparam("values", expanding=True)
# A mention counts only if it was found in the live version of its document.
LIVE_MENTIONS = mentions.join(documents, documents.c.id == mentions.c.document_id).join(
    mention_scans,
    and_(
        mention_scans.c.document_id == documents.c.id,
        mention_scans.c.version == documents.c.version,
    ),
)

# The fields of a document that have a column of the same name.
COPIED = tuple(item.name for item in fields(Document) if item.name in documents.c)
FACTS = select(*(documents.c[item.name] for item in fields(DocumentFacts)))
EVERY_DOCUMENT = select(documents.c.id)
EVERY_PASSAGE = select(passages.c.id, passages.c.document_id, passages.c.version)
_PASSAGE_COLUMNS = ("id", "document_id", "version", "start", "end", "context", "speakers")
_WHOLE_PASSAGE = (
    select(*(passages.c[name] for name in _PASSAGE_COLUMNS), texts.c.text)
    .outerjoin_from(
        passages,
        texts,
        (texts.c.document_id == passages.c.document_id)
        & texts.c.piece.between(passages.c.start // PIECE, (passages.c.end - 1) // PIECE),
    )
    .order_by(passages.c.document_id, passages.c.ordinal, texts.c.piece)
)
_TEXT_PIECES = (
    select(texts.c.text)
    .where(
        texts.c.document_id == bindparam("document"),
        texts.c.piece.between(bindparam("first"), bindparam("last")),
    )
    .order_by(texts.c.piece)
)


def live_versions(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """The live versions by document id; unknown documents are left out."""
    return {row.id: row.version for row in _columns(connection, ids, "version")}


def changed_at(connection: Connection, ids: Iterable[str]) -> dict[str, datetime]:
    """The times of writing of the live versions, by id; unknown documents are left out."""
    return {row.id: row.updated_at for row in _columns(connection, ids, "updated_at")}


def live_hashes(connection: Connection, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The live version and facts hash by document id; unknown documents are left out."""
    rows = _columns(connection, ids, "version", "facts")
    return {row.id: (row.version, row.facts) for row in rows}


def _columns(connection: Connection, ids: Iterable[str], *names: str) -> Iterator[Any]:
    columns = (documents.c[name] for name in ("id", *names))
    return rows_in(connection, select(*columns).where(documents.c.id.in_(VALUES)), ids)


def facts(connection: Connection, ids: Iterable[str]) -> dict[str, DocumentFacts]:
    """The facts of documents, by id; unknown documents are left out."""
    statement = FACTS.where(documents.c.id.in_(VALUES))
    return {row.id: facts_of(row) for row in rows_in(connection, statement, ids)}


def list_documents(
    connection: Connection, collection: str, limit: int = NO_LIMIT, offset: int = 0
) -> list[DocumentFacts]:
    """The facts of a collection's documents, ordered by uri."""
    statement = (
        FACTS.where(documents.c.collection == collection)
        .order_by(documents.c.uri)
        .limit(limit)
        .offset(offset)
    )
    return [facts_of(row) for row in connection.execute(statement)]


def document(connection: Connection, document_id: str) -> Document | None:
    """The document with text, marks, entity and past question; None when it is unknown."""
    statement = (
        select(documents, marks.c.blob)
        .join_from(documents, marks, marks.c.document_id == documents.c.id)
        .where(documents.c.id == document_id)
    )
    row = connection.execute(statement).first()
    if row is None:
        return None
    past = select(past_questions.c.body).where(past_questions.c.document_id == document_id)
    body = connection.execute(past).scalar()
    return document_of(
        row,
        text=whole_texts(connection, [document_id]).get(document_id, ""),
        marks=marks_from_blob(row.blob),
        entity=described_entities(connection, [document_id]).get(document_id),
        past_question=from_plain(PastQuestion, body) if body else None,
    )


def document_of(row: Any, **parts: Any) -> Document:
    """Build a document from its row, with ``parts`` from other tables."""
    lists = {"authors": tuple(row.authors), "taxonomy": taxonomy_of(row)}
    return Document(**{name: row._mapping[name] for name in COPIED} | lists | parts)


def whole_texts(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """The full texts of live versions, by document id; unknown ids are left out."""
    statement = (
        select(texts.c.document_id, texts.c.text)
        .where(texts.c.document_id.in_(VALUES))
        .order_by(texts.c.document_id, texts.c.piece)
    )
    pieces: dict[str, list[str]] = {}
    for document_id, text in rows_in(connection, statement, ids):
        pieces.setdefault(document_id, []).append(text)
    return {document_id: "".join(parts) for document_id, parts in pieces.items()}


def span_texts(connection: Connection, spans: Sequence[tuple[str, Span]]) -> list[str]:
    """The text of each span, from the live version of its document."""
    span_texts: list[str] = []
    for document_id, span in spans:
        first = span.start // PIECE
        last = max(first, (span.end - 1) // PIECE)
        values = {"document": document_id, "first": first, "last": last}
        pieces = connection.execute(_TEXT_PIECES, values).scalars().all()
        if not pieces:
            raise StoreError(
                f"document {document_id} has no text at character {span.start} in the catalogue",
                hint="the document was changed or removed in the meantime; ask again",
            )
        span_texts.append("".join(pieces)[span.start - first * PIECE : span.end - first * PIECE])
    return span_texts


def whole_passages(connection: Connection, ids: Iterable[str]) -> dict[str, Passage]:
    """The passages with their texts, by id; passages that are not live are left out."""
    statement = _WHOLE_PASSAGE.where(passages.c.id.in_(VALUES))
    return {passage.id: passage for passage in _passages(rows_in(connection, statement, ids))}


def passages_of(connection: Connection, ids: Iterable[str]) -> list[Passage]:
    """All passages of the documents with their texts, in reading order by document."""
    statement = _WHOLE_PASSAGE.where(passages.c.document_id.in_(VALUES))
    return list(_passages(rows_in(connection, statement, ids)))


def openings_of(connection: Connection, ids: Iterable[str]) -> dict[str, Passage]:
    """The first passages by document id; documents without passages are left out."""
    openings = _WHOLE_PASSAGE.where(passages.c.document_id.in_(VALUES), passages.c.ordinal == 0)
    rows = rows_in(connection, openings, ids)
    return {passage.document_id: passage for passage in _passages(rows)}


def neighbours(connection: Connection, passage_id: str, before: int, after: int) -> list[Passage]:
    """The passage and its neighbours in reading order; empty when the passage is not live."""
    middle = connection.execute(
        select(passages.c.document_id, passages.c.ordinal).where(passages.c.id == passage_id)
    ).first()
    if middle is None:
        return []
    around = passages.c.ordinal.between(middle.ordinal - before, middle.ordinal + after)
    statement = _WHOLE_PASSAGE.where(passages.c.document_id == middle.document_id, around)
    return list(_passages(connection.execute(statement)))


def passage_row(passage: Passage, ordinal: int) -> dict[str, Any]:
    """The row of a live passage, or of a passage staged for the next index."""
    copied = ("id", "document_id", "version", "context", "speakers")
    span = {"ordinal": ordinal, "start": passage.span.start, "end": passage.span.end}
    return {name: getattr(passage, name) for name in copied} | span


def passage_count() -> Any:
    """The number of passages of a document, inside a statement on the documents."""
    of_document = select(func.count()).where(passages.c.document_id == documents.c.id)
    return of_document.correlate(documents).scalar_subquery()


def property_of(connection: Connection, key: str) -> Any:
    """The catalogue property ``key``; None when it is not set."""
    return connection.execute(select(properties.c.value).where(properties.c.key == key)).scalar()


def put_properties(connection: Connection, values: Mapping[str, Any]) -> None:
    """Set catalogue properties, replacing earlier values."""
    if values:
        rows = [{"key": key, "value": value} for key, value in values.items()]
        dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
        statement = dialect.insert(properties)
        new = {"value": statement.excluded.value}
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=new), rows)


def all_marks(connection: Connection, ids: Iterable[str]) -> dict[str, tuple[Mark, ...]]:
    """The marks of documents, by id."""
    rows = rows_in(connection, select(marks).where(marks.c.document_id.in_(VALUES)), ids)
    return {row.document_id: marks_from_blob(row.blob) for row in rows}


def span_marks(connection: Connection, spans: Sequence[tuple[str, Span]]) -> list[tuple[Mark, ...]]:
    """The marks that overlap each span; empty for an unknown document."""
    statement = select(marks).where(marks.c.document_id.in_(VALUES))
    rows = rows_in(connection, statement, (document_id for document_id, _ in spans))
    blobs = {row.document_id: row.blob for row in rows}
    return [marks_over(blobs[name], span) if name in blobs else () for name, span in spans]


def taxonomy_of(row: Any) -> dict[str, tuple[str, ...]]:
    """The taxonomy in a row with that column."""
    return {name: tuple(values) for name, values in row.taxonomy.items()}


def facts_of(row: Any) -> DocumentFacts:
    """The document facts in a row that has at least the columns of ``FACTS``."""
    columns = row._mapping
    plain = {field.name: columns[field.name] for field in fields(DocumentFacts)}
    return DocumentFacts(**plain | {"authors": tuple(row.authors)})


def _passages(rows: Iterable[Any]) -> Iterator[Passage]:
    """Build passages from ordered rows, one row per piece of text."""
    for _, group in groupby(rows, key=itemgetter(0)):
        pieces = list(group)
        passage_id, document_id, version, start, end, context, speakers, _ = pieces[0]
        text = "".join(row[-1] or "" for row in pieces)
        offset = start % PIECE
        yield Passage(
            id=passage_id,
            document_id=document_id,
            version=version,
            span=Span(start=start, end=end),
            text=text[offset : offset + end - start],
            context=context,
            speakers=tuple(speakers),
        )


def described_entities(connection: Connection, ids: Iterable[str]) -> dict[str, EntityFacts]:
    """The entity that each document describes, with its relations, by document id."""
    names = list(ids)
    edges = select(relations).where(relations.c.document_id.in_(VALUES))
    by_document: defaultdict[str, list[Relation]] = defaultdict(list)
    for row in rows_in(connection, edges.order_by(relations.c.ordinal), names):
        by_document[row.document_id].append(Relation(type=row.type, target=row.target))
    described = select(entities).where(entities.c.document_id.in_(VALUES))
    return {
        row.document_id: EntityFacts(
            entity_id=row.entity_id,
            entity_type=row.entity_type,
            aliases=tuple(row.aliases),
            relations=tuple(by_document[row.document_id]),
        )
        for row in rows_in(connection, described, names)
    }
