"""Writes and deletes documents; one transaction replaces the whole content of each source."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, Connection, Table, bindparam, delete, select, update

from wellread.codec import marks_to_blob, to_plain
from wellread.errors import StoreError
from wellread.identity import document_id, facts_of, version_of
from wellread.store.catalogue.asking import answer_records, answer_removal
from wellread.store.catalogue.asking.research_records import delete_runs_reading
from wellread.store.catalogue.documents import collection_records, reindexing
from wellread.store.catalogue.documents.collection_records import documents_of_sources
from wellread.store.catalogue.documents.entity_nodes import forget_described
from wellread.store.catalogue.documents.lookup import (
    COPIED,
    VALUES,
    live_hashes,
    live_versions,
    passage_row,
)
from wellread.store.catalogue.documents.name_records import name_keys, name_rows
from wellread.store.catalogue.documents.story_records import mark_dirty
from wellread.store.catalogue.feedback_records import note_change
from wellread.store.catalogue.forgetting import redact_everywhere
from wellread.store.schema import tables
from wellread.store.schema.database import delete_rows, insert_rows, rows_in
from wellread.store.schema.stored_values import (
    DocumentChange,
    SourceChange,
    SourceRecord,
    VersionKey,
)

Row = dict[str, Any]
CONTENT = (
    *(tables.texts, tables.marks, tables.passages, tables.entities),
    *(tables.relations, tables.past_questions, tables.document_names),
)
MENTIONS = (tables.mentions, tables.mention_scans)  # valid for one version of a text


def commit_changes(
    connection: Connection, changes: Sequence[SourceChange], planned: Collection[VersionKey] = ()
) -> None:
    """Replace the content of whole sources.

    Documents that a source no longer yields are deleted. The planned index writes of the new
    versions are settled; replaced and deleted versions are planned for removal; answers that cite
    them become stale. The writes of ``planned`` versions must still be recorded: a process that
    takes over the writers' lock settles them, and drops the rows.
    """
    reindexing.check_planned(connection, planned)
    now = datetime.now(UTC)
    rows = {
        row["id"]: (row, new)
        for change in changes
        for new in change.documents
        for row in [_document_row(change.record, new, now)]
    }
    before = live_hashes(connection, rows)
    removed_versions = _no_longer_yielded(connection, changes)
    now_live = {key: (row["version"], row["facts"]) for key, (row, _) in rows.items()}
    replaced = [(key, old[0]) for key, old in before.items() if old[0] != now_live[key][0]]
    outdated = [key for key, _ in replaced]
    collection_records.touch(connection, (row["collection"] for row, _ in rows.values()))
    changed = [changed_id for changed_id, old in before.items() if old != now_live[changed_id]]
    mark_dirty(connection, changed)
    _clear(connection, before, CONTENT)
    _clear(connection, outdated, MENTIONS)
    _write_rows(connection, rows, before)
    answer_records.mark_stale(connection, outdated)
    answer_records.refresh_figures(connection, changed)
    delete_documents(connection, removed_versions)
    collection_records.record_sources(connection, [change.record for change in changes])
    reindexing.settle(connection, [(key, new[0]) for key, new in now_live.items()])
    reindexing.plan_writes(connection, replaced, action="remove")
    reindexing.forget_staged(connection, outdated)
    if before:
        reindexing.note_deletion(connection)
    pending = [
        reindexing.PendingVectors(document_id=key, version=row["version"], passages=row["passages"])
        for key, (row, change) in rows.items()
        if change.owes_vectors
    ]
    reindexing.add_pending_vectors(connection, pending)


def _no_longer_yielded(connection: Connection, changes: Sequence[SourceChange]) -> dict[str, str]:
    """The versions of documents that the changed sources no longer yield, by document id."""
    new_ids = {
        document_id(new.document.collection, new.document.uri)
        for change in changes
        for new in change.documents
    }
    uris_by_collection: defaultdict[str, list[str]] = defaultdict(list)
    for record in (change.record for change in changes if not change.accumulates):
        uris_by_collection[record.collection].append(record.uri)
    return {
        old_id: version
        for name, uris in uris_by_collection.items()
        for old_id, version in documents_of_sources(connection, name, uris).items()
        if old_id not in new_ids
    }


def delete_documents(connection: Connection, versions: dict[str, str]) -> None:
    """Delete documents with their dependent rows, and redact them everywhere else.

    The removal of their index rows is planned.
    """
    if not versions:
        return
    removed = answer_removal.RemovedWords(answer_removal.stored_texts(connection, versions))
    titles = answer_removal.titles_of(connection, versions)
    _delete_rows(connection, versions)
    redact_everywhere(connection, removed, titles)
    delete_runs_reading(connection, versions)


def _delete_rows(connection: Connection, versions: dict[str, str]) -> None:
    """Delete documents with their dependent rows; plan the removal of their index rows."""
    forget_described(connection, versions)
    mark_dirty(connection, versions)
    collection_records.touch_documents(connection, versions)
    delete_rows(connection, tables.documents.c.id, versions)
    reindexing.forget_staged(connection, versions)
    reindexing.plan_writes(connection, list(versions.items()), action="remove")
    reindexing.note_deletion(connection)


def move_sources(
    connection: Connection,
    old: Sequence[SourceRecord],
    changes: Sequence[SourceChange],
    planned: Collection[VersionKey],
    moved: Mapping[str, str],
) -> None:
    """Replace the ``old`` sources of one collection and their documents by those of ``changes``.

    ``moved`` maps the old ids of the documents to the new ones. Texts and spans stay the same, so
    what cites the old ids (answers, feedback, research, preferences) now cites the new ones.
    """
    document = tables.documents.c
    times = select(document.id, document.added_at).where(document.id.in_(VALUES))
    added = {row.id: row.added_at for row in rows_in(connection, times, moved)}
    commit_changes(connection, changes, planned)
    for old_id, moment in added.items():
        is_new = document.id == moved[old_id]
        connection.execute(update(tables.documents).where(is_new).values(added_at=moment))
    _cite_moved(connection, moved)
    _delete_rows(connection, live_versions(connection, moved))
    collection_records.delete_sources(connection, old[0].collection, [one.uri for one in old])
    answer_records.refresh_figures(connection, moved.values())


_DOCUMENT_ID = re.compile(r"doc_[0-9a-f]{24}")


def _cite_moved(connection: Connection, moved: Mapping[str, str]) -> None:
    """Replace ids of documents wherever something outside of them refers to them."""
    cited, read = tables.answer_citations.c, tables.research_reads.c
    answer_ids = select(cited.answer_id).where(cited.document_id.in_(VALUES)).distinct()
    answers = [row.answer_id for row in rows_in(connection, answer_ids, moved)]
    run_ids = select(read.run_id).where(read.document_id.in_(VALUES)).distinct()
    runs = [row.run_id for row in rows_in(connection, run_ids, moved)]
    keys = [{"old": old, "new": new} for old, new in moved.items()]
    for pair in keys:  # a run that has read both notes the new one only once
        both = select(read.run_id).where(read.document_id == pair["old"]).scalar_subquery()
        is_new = (read.document_id == pair["new"], read.run_id.in_(both))
        connection.execute(delete(tables.research_reads).where(*is_new))
    for table in (tables.answer_citations, tables.research_reads) if keys else ():
        is_old = table.c.document_id == bindparam("old")
        connection.execute(update(table).where(is_old).values(document_id=bindparam("new")), keys)
    owners = connection.execute(select(tables.preferences.c.owner)).scalars().all()
    bodies: tuple[tuple[Column[Any], Column[Any], Iterable[str]], ...] = (
        (tables.answers.c.body, tables.answers.c.id, answers),
        (tables.feedback.c.body, tables.feedback.c.answer_id, answers),
        (tables.research_runs.c.report, tables.research_runs.c.id, runs),
        (tables.preferences.c.body, tables.preferences.c.owner, owners),
        (tables.preferences.c.learned, tables.preferences.c.owner, owners),
    )
    for body, found_by, names in bodies:
        (key,) = body.table.primary_key.columns
        statement = select(key, body).where(found_by.in_(VALUES))
        for name, value in [tuple(row) for row in rows_in(connection, statement, names)]:
            before = json.dumps(value)
            after = _DOCUMENT_ID.sub(lambda match: moved.get(match[0], match[0]), before)
            if after != before:
                values = {body.name: json.loads(after)}
                connection.execute(update(body.table).where(key == name).values(**values))
    note_change(connection)


def _document_row(record: SourceRecord, change: DocumentChange, now: datetime) -> Row:
    document = change.document
    row_id = document_id(document.collection, document.uri)
    version = (
        change.passages[0].version if change.passages else version_of(document.text, document.marks)
    )
    for passage in change.passages:
        if passage.document_id != row_id or passage.version != version:
            raise StoreError(
                f"passage {passage.id} does not belong to version {version} of {document.uri}",
                hint="pass the passages that were cut from this very document",
            )
    return {
        "id": row_id,
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


def _clear(connection: Connection, ids: Collection[str], cleared: Iterable[Table]) -> None:
    keys = [{"document": row_id} for row_id in ids]
    for table in cleared if keys else ():
        connection.execute(delete(table).where(table.c.document_id == bindparam("document")), keys)


def _write_rows(
    connection: Connection, rows: dict[str, tuple[Row, DocumentChange]], before: Collection[str]
) -> None:
    table = tables.documents
    inserted = [row for row_id, (row, _) in rows.items() if row_id not in before]
    updated = [
        {f"new_{name}": value for name, value in row.items() if name != "added_at"}
        for row_id, (row, _) in rows.items()
        if row_id in before
    ]
    insert_rows(connection, table, inserted)
    if updated:
        names = {column.name for column in table.c} - {"id", "added_at"}
        new_values: Row = {name: bindparam(f"new_{name}") for name in names}
        statement = update(table).where(table.c.id == bindparam("new_id")).values(new_values)
        connection.execute(statement, updated)
    parts: defaultdict[Table, list[Row]] = defaultdict(list)
    for row_id, (_, change) in rows.items():
        for content, content_rows in _content_rows(change):
            parts[content] += ({"document_id": row_id, **values} for values in content_rows)
    for content, all_rows in parts.items():
        insert_rows(connection, content, all_rows)


def _content_rows(change: DocumentChange) -> Iterator[tuple[Table, Iterable[Row]]]:
    """The rows of one document in each dependent table, without the document's id."""
    document, size = change.document, tables.PIECE
    starts = range(0, max(len(document.text), 1), size)
    pieces = (document.text[start : start + size] for start in starts)
    yield tables.texts, ({"piece": n, "text": piece} for n, piece in enumerate(pieces))
    yield tables.marks, [{"blob": marks_to_blob(document.marks)}]
    yield tables.passages, (passage_row(item, n) for n, item in enumerate(change.passages))
    if entity := document.entity:
        names = ("entity_id", "entity_type", "aliases")
        yield tables.entities, [{name: getattr(entity, name) for name in names}]
        yield (
            tables.relations,
            (
                {"ordinal": n, "source": entity.entity_id, "type": item.type, "target": item.target}
                for n, item in enumerate(entity.relations)
            ),
        )
    if past := document.past_question:
        row = {"question": past.question, "score": past.score, "body": to_plain(past)}
        yield tables.past_questions, [row]
    speakers = dict.fromkeys(name for item in change.passages for name in item.speakers)
    yield tables.document_names, name_rows(name_keys(document, speakers), document.collection)
