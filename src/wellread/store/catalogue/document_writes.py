"""Writing documents: one transaction flips whole sources from their old to their new content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, update

from wellread.codec import marks_to_blob, to_plain
from wellread.errors import StoreError
from wellread.identity import document_id, facts_of, version_of
from wellread.store.catalogue.asking import answer_records, answer_removal
from wellread.store.catalogue.asking.answer_rows import RemovedWords
from wellread.store.catalogue.asking.research_records import forget_research
from wellread.store.catalogue.documents import collection_records, reindexing
from wellread.store.catalogue.documents.collection_records import documents_of_sources
from wellread.store.catalogue.documents.entity_nodes import forget_described
from wellread.store.catalogue.documents.lookup import COPIED, live_hashes, passage_row
from wellread.store.catalogue.documents.name_records import name_keys, rows_of
from wellread.store.catalogue.documents.story_records import mark_dirty
from wellread.store.catalogue.feedback_records import forget_in_feedback
from wellread.store.catalogue.forgetting import forget_words
from wellread.store.catalogue.gap_records import rename_in_gaps
from wellread.store.schema import tables
from wellread.store.schema.database import chunks
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
FOUND = (tables.mentions, tables.mention_scans)  # in the text of one version


def commit_changes(
    connection: Connection,
    changes: Sequence[SourceChange],
    noted: Collection[VersionKey] = (),
) -> None:
    """Flip whole sources to their new content.

    Documents that a source yielded before and no more are deleted. The write intents of the new
    versions are settled; replaced and deleted versions become pending removals; answers that rest
    on them become stale.

    Args:
        noted: versions whose rows were written to the index. Their notes must still be there:
            whoever takes the writers' lock settles what is noted, and drops its rows.
    """
    reindexing.check_noted(connection, noted)
    _flip(connection, changes)


def _gone(connection: Connection, changes: Sequence[SourceChange]) -> dict[str, str]:
    """The documents that whole sources yielded before and do not any more, with their versions."""
    kept = {
        document_id(new.document.collection, new.document.uri)
        for change in changes
        for new in change.documents
    }
    whole: defaultdict[str, list[str]] = defaultdict(list)
    for record in (change.record for change in changes if not change.accumulates):
        whole[record.collection].append(record.uri)
    return {
        known: version
        for name, uris in whole.items()
        for known, version in documents_of_sources(connection, name, uris).items()
        if known not in kept
    }


def _flip(connection: Connection, changes: Sequence[SourceChange]) -> None:
    now = datetime.now(UTC)
    rows = {
        row["id"]: (row, new)
        for change in changes
        for new in change.documents
        for row in [_document_row(change.record, new, now)]
    }
    before = live_hashes(connection, rows)
    gone = _gone(connection, changes)
    now_live = {known: (row["version"], row["facts"]) for known, (row, _) in rows.items()}
    replaced = [(known, old[0]) for known, old in before.items() if old[0] != now_live[known][0]]
    outdated = [known for known, _ in replaced]
    collection_records.touch(connection, (row["collection"] for row, _ in rows.values()))
    changed = [one for one, old in before.items() if old != now_live[one]]
    mark_dirty(connection, changed)
    titles = answer_removal.titles_of(connection, changed)
    removed = RemovedWords(answer_removal.stored_texts(connection, gone))
    gone_titles = set(answer_removal.titles_of(connection, gone).values())
    _clear(connection, before, CONTENT)
    _clear(connection, outdated, FOUND)
    _write(connection, rows, before)
    answer_records.mark_stale(connection, outdated)
    answer_records.file_again(connection, changed)
    _retitle(connection, {known: (old, rows[known][0]["title"]) for known, old in titles.items()})
    delete_documents(connection, gone)
    if gone:
        forget_words(connection, removed, gone_titles)
    collection_records.record_sources(connection, [change.record for change in changes])
    reindexing.settle(connection, [(known, new[0]) for known, new in now_live.items()])
    reindexing.plan_removals(connection, replaced)
    for ids in chunks(outdated):
        _forget_staged(connection, ids)
    if before:
        reindexing.note_deletion(connection)
    _owe_vectors(connection, rows)


def _retitle(connection: Connection, changed: Mapping[str, tuple[str, str]]) -> None:
    """Call documents by their titles of now where they are named in words (id to old and new)."""
    titles = {old: new for old, new in changed.values() if old.strip() and old != new}
    if titles:
        rename_in_gaps(connection, titles)


def _owe_vectors(connection: Connection, rows: Mapping[str, tuple[Row, DocumentChange]]) -> None:
    owed = [
        reindexing.VectorDebt(document_id=known, version=row["version"], passages=row["passages"])
        for known, (row, change) in rows.items()
        if change.owes_vectors
    ]
    reindexing.owe(connection, owed)


def delete_documents(connection: Connection, versions: dict[str, str]) -> None:
    """Delete documents with all that hangs on them; plan the removal of their index rows."""
    if not versions:
        return
    cited = answer_removal.cited_documents(connection, versions)
    removed = RemovedWords(answer_removal.stored_texts(connection, cited))
    titles = answer_removal.titles_of(connection, versions)
    forget_described(connection, versions)
    mark_dirty(connection, versions)
    collection_records.touch_documents(connection, versions)
    for ids in chunks(versions):
        connection.execute(delete(tables.documents).where(tables.documents.c.id.in_(ids)))
        _forget_staged(connection, ids)
    reindexing.plan_removals(connection, list(versions.items()))
    answer_removal.forget_documents(connection, removed, titles)
    forget_in_feedback(connection, removed)
    forget_research(connection, versions)
    reindexing.note_deletion(connection)


def _forget_staged(connection: Connection, ids: Sequence[str]) -> None:
    """Take the words of documents out of what is staged for the next index.

    The rows stay, because they say what that index holds of these documents and has to drop.
    """
    which = tables.next_documents.c.document_id.in_(ids)
    connection.execute(update(tables.next_documents).where(which).values(version="", facts=""))
    parts = tables.next_passages.c.document_id.in_(ids)
    connection.execute(update(tables.next_passages).where(parts).values(context="", speakers=[]))


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


def _clear(connection: Connection, ids: Collection[str], which: Iterable[Table]) -> None:
    keys = [{"known": known} for known in ids]
    for table in which if keys else ():
        connection.execute(delete(table).where(table.c.document_id == bindparam("known")), keys)


def _write(
    connection: Connection, rows: dict[str, tuple[Row, DocumentChange]], before: Collection[str]
) -> None:
    table = tables.documents
    fresh = [row for known, (row, _) in rows.items() if known not in before]
    again = [
        {f"new_{name}": value for name, value in row.items() if name != "added_at"}
        for known, (row, _) in rows.items()
        if known in before
    ]
    if fresh:
        connection.execute(insert(table), fresh)
    if again:
        names = {column.name for column in table.c} - {"id", "added_at"}
        kept: Row = {name: bindparam(f"new_{name}") for name in names}
        statement = update(table).where(table.c.id == bindparam("new_id")).values(kept)
        connection.execute(statement, again)
    parts: defaultdict[Table, list[Row]] = defaultdict(list)
    for known, (_, change) in rows.items():
        for content, made in _content(change):
            parts[content] += ({"document_id": known, **values} for values in made)
    for content, whole in parts.items():
        if whole:
            connection.execute(insert(content), whole)


def _content(change: DocumentChange) -> Iterator[tuple[Table, Iterable[Row]]]:
    """The rows of each table that hang on one document, but for its id."""
    document, size = change.document, tables.PIECE
    starts = range(0, max(len(document.text), 1), size)
    pieces = (document.text[start : start + size] for start in starts)
    yield tables.texts, ({"piece": n, "text": piece} for n, piece in enumerate(pieces))
    yield tables.marks, [{"blob": marks_to_blob(document.marks)}]
    yield tables.passages, (passage_row(one, n) for n, one in enumerate(change.passages))
    if entity := document.entity:
        names = ("entity_id", "entity_type", "aliases")
        yield tables.entities, [{name: getattr(entity, name) for name in names}]
        yield (
            tables.relations,
            (
                {"ordinal": n, "source": entity.entity_id, "type": one.type, "target": one.target}
                for n, one in enumerate(entity.relations)
            ),
        )
    if past := document.past_question:
        row = {"question": past.question, "score": past.score, "body": to_plain(past)}
        yield tables.past_questions, [row]
    speakers = dict.fromkeys(name for one in change.passages for name in one.speakers)
    yield tables.document_names, rows_of(name_keys(document, speakers), document.collection)
