"""Writing documents: one transaction flips whole sources from their old to their new content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    Connection,
    Table,
    bindparam,
    delete,
    insert,
    update,
)

from wellread.codec import marks_to_blob, to_plain
from wellread.errors import StoreError
from wellread.identity import document_id, facts_of, version_of
from wellread.store.catalogue.asking.answer_records import (
    cited_documents,
    forget_documents,
    stored_texts,
    titles_at_rest,
)
from wellread.store.catalogue.asking.redaction import RemovedWords
from wellread.store.catalogue.documents.collection_records import (
    documents_of_sources,
    record_sources,
    touch,
    touch_documents,
)
from wellread.store.catalogue.documents.index_debts import (
    VectorDebt,
    note_deletion,
    owe,
    plan_removals,
    settle,
)
from wellread.store.catalogue.documents.lookup import COPIED, live_hashes, passage_row
from wellread.store.catalogue.graph.mention_records import forget_described
from wellread.store.catalogue.stories.story_records import mark_dirty
from wellread.store.schema.catalogue_values import (
    DocumentChange,
    SourceChange,
    SourceRecord,
    VersionKey,
)
from wellread.store.schema.database import chunks
from wellread.store.schema.tables import (
    PIECE,
    documents,
    entities,
    marks,
    mention_scans,
    mentions,
    next_documents,
    next_passages,
    passages,
    past_questions,
    relations,
    texts,
)

Row = dict[str, Any]
CONTENT = (texts, marks, passages, entities, relations, past_questions)
FOUND = (mentions, mention_scans)  # in the text of one version


def commit_changes(connection: Connection, changes: Sequence[SourceChange]) -> None:
    """Flip whole sources to their new content.

    Documents that a source yielded before and no more are deleted. The write intents of the new
    versions are settled; replaced and deleted versions become pending removals; answers that rest
    on them become stale.
    """
    now = datetime.now(UTC)
    rows = {
        row["id"]: (row, new)
        for change in changes
        for new in change.documents
        for row in [_document_row(change.record, new, now)]
    }
    before = live_hashes(connection, rows)
    whole = [change for change in changes if not change.accumulates]
    gone = {key[0]: key[1] for key in _yielded_by(connection, whole) if key[0] not in rows}
    replaced = [
        (known, version)
        for known, (version, _) in before.items()
        if version != rows[known][0]["version"]
    ]
    changed = [
        known
        for known, hashes in before.items()
        if hashes != (rows[known][0]["version"], rows[known][0]["facts"])
    ]
    mark_dirty(connection, changed)
    touch(connection, (row["collection"] for row, _ in rows.values()))
    cited = cited_documents(connection, [known for known, _ in replaced])
    old = list(stored_texts(connection, cited))
    _clear(connection, list(before), CONTENT)
    _clear(connection, [known for known, _ in replaced], FOUND)
    _write(connection, rows, before)
    removed = RemovedWords(old, stored_texts(connection, cited))
    forget_documents(connection, [known for known, _ in replaced], removed)
    delete_documents(connection, gone)
    record_sources(connection, [change.record for change in changes])
    settle(connection, [(row["id"], row["version"]) for row, _ in rows.values()])
    plan_removals(connection, replaced)
    for ids in chunks(known for known, _ in replaced):
        _forget_staged(connection, ids)
    if before:
        note_deletion(connection)
    owe(
        connection,
        [
            VectorDebt(document_id=known, version=row["version"], passages=row["passages"])
            for known, (row, change) in rows.items()
            if change.owes_vectors
        ],
    )


def delete_documents(connection: Connection, versions: dict[str, str]) -> None:
    """Delete documents with all that hangs on them; plan the removal of their index rows."""
    if not versions:
        return
    cited = cited_documents(connection, versions)
    removed = RemovedWords(stored_texts(connection, cited))
    titles = titles_at_rest(connection, versions)
    forget_described(connection, versions)
    mark_dirty(connection, versions)
    touch_documents(connection, versions)
    for ids in chunks(versions):
        connection.execute(delete(documents).where(documents.c.id.in_(ids)))
        _forget_staged(connection, ids)
    plan_removals(connection, list(versions.items()))
    forget_documents(connection, titles, removed, gone=titles)
    note_deletion(connection)


def _forget_staged(connection: Connection, ids: Sequence[str]) -> None:
    """Take the words of documents out of what is staged for the next index.

    The rows stay, because they say what that index holds of these documents and has to drop.
    """
    which = next_documents.c.document_id.in_(ids)
    connection.execute(update(next_documents).where(which).values(version="", facts=""))
    parts = next_passages.c.document_id.in_(ids)
    connection.execute(update(next_passages).where(parts).values(context="", speakers=[]))


def _yielded_by(connection: Connection, changes: Sequence[SourceChange]) -> Iterator[VersionKey]:
    by_collection: dict[str, list[str]] = {}
    for change in changes:
        by_collection.setdefault(change.record.collection, []).append(change.record.uri)
    for collection, uris in by_collection.items():
        yield from documents_of_sources(connection, collection, uris).items()


def _document_row(record: SourceRecord, change: DocumentChange, now: datetime) -> Row:
    document = change.document
    known = document_id(document.collection, document.uri)
    version = (
        change.passages[0].version if change.passages else version_of(document.text, document.marks)
    )
    for passage in change.passages:
        if passage.document_id != known or passage.version != version:
            raise StoreError(
                f"passage {passage.id} is not of version {version} of {document.uri}",
                hint="cut the passages from the document that they are committed with",
            )
    return {
        "id": known,
        **{name: getattr(document, name) for name in COPIED},
        "taxonomy": {name: list(values) for name, values in document.taxonomy.items()},
        "version": version,
        "facts": facts_of(document),
        "characters": len(document.text),
        "passages": len(change.passages),
        "source_uri": record.uri,
        "added_at": now,
        "updated_at": now,
    }


def _clear(connection: Connection, ids: Sequence[str], tables: Iterable[Table]) -> None:
    keys = [{"known": known} for known in ids]
    if not keys:
        return
    for table in tables:
        connection.execute(delete(table).where(table.c.document_id == bindparam("known")), keys)


def _write(
    connection: Connection,
    rows: dict[str, tuple[Row, DocumentChange]],
    before: Collection[str],
) -> None:
    fresh = [row for known, (row, _) in rows.items() if known not in before]
    again = [
        {f"new_{name}": value for name, value in row.items() if name != "added_at"}
        for known, (row, _) in rows.items()
        if known in before
    ]
    _insert(connection, documents, fresh)
    if again:
        kept: dict[str, BindParameter[Any]] = {
            column.name: bindparam(f"new_{column.name}")
            for column in documents.c
            if column.name not in ("id", "added_at")
        }
        connection.execute(
            update(documents).where(documents.c.id == bindparam("new_id")).values(kept), again
        )
    for table, make in (
        (texts, _text_rows),
        (marks, _marks_rows),
        (passages, _passage_rows),
        (entities, _entity_rows),
        (relations, _relation_rows),
        (past_questions, _past_question_rows),
    ):
        _insert(
            connection,
            table,
            [
                {"document_id": known, **values}
                for known, (_, change) in rows.items()
                for values in make(change)
            ],
        )


def _insert(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _text_rows(change: DocumentChange) -> Iterator[Row]:
    text = change.document.text
    for piece, start in enumerate(range(0, max(len(text), 1), PIECE)):
        yield {"piece": piece, "text": text[start : start + PIECE]}


def _marks_rows(change: DocumentChange) -> Iterator[Row]:
    yield {"blob": marks_to_blob(change.document.marks)}


def _passage_rows(change: DocumentChange) -> Iterator[Row]:
    return (passage_row(passage, ordinal) for ordinal, passage in enumerate(change.passages))


def _entity_rows(change: DocumentChange) -> Iterator[Row]:
    if entity := change.document.entity:
        yield {
            "entity_id": entity.entity_id,
            "entity_type": entity.entity_type,
            "aliases": entity.aliases,
        }


def _relation_rows(change: DocumentChange) -> Iterator[Row]:
    if entity := change.document.entity:
        for ordinal, relation in enumerate(entity.relations):
            yield {
                "ordinal": ordinal,
                "source": entity.entity_id,
                "type": relation.type,
                "target": relation.target,
            }


def _past_question_rows(change: DocumentChange) -> Iterator[Row]:
    if past := change.document.past_question:
        yield {"question": past.question, "score": past.score, "body": to_plain(past)}
