"""Upgrades catalogues of the schemas 0001 to 0008 and 0100 to the current schema.

The upgrade runs in one transaction, so it completes or changes nothing. Missing columns and indexes
are added, answers are split into rows, and obsolete tables and columns are dropped. Documents with
a list of their readers are refused: rights are per collection now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DefaultClause,
    Inspector,
    String,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.schema import CreateColumn

from wellread.codec import from_plain
from wellread.errors import StoreError
from wellread.store.catalogue.asking.answer_records import current_record
from wellread.store.catalogue.asking.answer_removal import BLANK
from wellread.store.catalogue.asking.answer_rows import AnswerRecord, read_records, rewrite_rows
from wellread.store.catalogue.asking.research_records import stored_report
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.name_records import write_names
from wellread.store.schema.database import chunks, insert_rows, rows_in
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import HEAD, answers, documents, metadata, research_runs, sessions
from wellread.values.answers import Answer

_WITH_REFERENCES = "0100"  # its answers contain references in place of titles of documents
OLD_SCHEMAS = (*(f"000{number}" for number in range(1, 9)), _WITH_REFERENCES)
Plain = dict[str, Any]
_WITH_PARTS = "0003"  # from this schema on, related items and conflicts in answers are objects
_REFERENCE = re.compile("\ufdd8(u?)(\\d+)\ufdd9")


def convert(connection: Connection, current: str) -> None:
    """Upgrade a catalogue of the older schema ``current`` to the current schema."""
    before = inspect(connection)
    has_names = "document_names" in before.get_table_names()
    old_columns = {name: _columns(before, name) for name in before.get_table_names()}
    if "readers" in old_columns["documents"]:
        _check_readers(connection)
    # Older schemas stored an answer as one JSON value.
    stored = connection.execute(select(answers.c.id, answers.c.body))
    bodies = _with_parts({row.id: row.body for row in stored}, current)
    _add_missing(connection, old_columns)
    _sync_indexes(connection)
    _drop_obsolete(connection)
    _rekey_sessions(connection)
    if not has_names:
        write_names(connection)
    if current == _WITH_REFERENCES:
        _resolve_references(connection)
    else:
        _rewrite_answers(connection, bodies)
    connection.execute(text("UPDATE alembic_version SET version_num = :new"), {"new": HEAD})


def _check_readers(connection: Connection) -> None:
    for table in ("documents", "sources"):
        statement = text(f"SELECT uri FROM {table} WHERE readers IS NOT NULL LIMIT 1")  # noqa: S608
        if uri := connection.execute(statement).scalar():
            raise StoreError(
                f"{uri} has a list of its own readers, but rights are per collection now; the home "
                "was not changed",
                hint="open the home once with commit 10b69232, which moves such documents into "
                "collections of their own",
            )


def _columns(inspector: Inspector, name: str) -> set[str]:
    return {column["name"] for column in inspector.get_columns(name)}


# --- tables ---


def _add_missing(connection: Connection, old_columns: Mapping[str, set[str]]) -> None:
    """Create missing tables with their indexes, and missing columns."""
    metadata.create_all(connection)
    for table in metadata.sorted_tables:
        for column in table.c:
            if table.name in old_columns and column.name not in old_columns[table.name]:
                default = None if column.nullable else _default(column)
                new_column = Column(
                    column.name, column.type, nullable=column.nullable, server_default=default
                )
                ddl = CreateColumn(new_column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f'ALTER TABLE "{table.name}" ADD COLUMN {ddl}')


def _default(column: Column[Any]) -> Any:
    """The value for existing rows in a new column that must not be empty."""
    if isinstance(column.server_default, DefaultClause):
        return column.server_default.arg
    kind = column.type
    if isinstance(kind, JSON):
        return "{}"
    if isinstance(kind, Boolean):
        return text("false")
    return "" if isinstance(kind, String) else "0"


def _drop_obsolete(connection: Connection) -> None:
    inspector = inspect(connection)
    for name in inspector.get_table_names():
        if name not in metadata.tables:
            if name != "alembic_version":
                connection.exec_driver_sql(f'DROP TABLE "{name}"')
            continue
        for column in _columns(inspector, name) - set(metadata.tables[name].c.keys()):
            connection.exec_driver_sql(f'ALTER TABLE "{name}" DROP COLUMN "{column}"')


def _rekey_sessions(connection: Connection) -> None:
    """Change the primary key of sessions to id and owner, so two owners can share an id."""
    key = inspect(connection).get_pk_constraint(sessions.name)["constrained_columns"]
    if set(key) == {"id", "owner"}:
        return
    rows = [dict(row._mapping) for row in connection.execute(select(sessions))]
    sessions.drop(connection)
    sessions.create(connection)
    insert_rows(connection, sessions, rows)


def _sync_indexes(connection: Connection) -> None:
    """Create missing indexes and drop obsolete ones."""
    inspector = inspect(connection)
    for table in metadata.sorted_tables:
        declared = {index.name for index in table.indexes}
        existing = {
            index["name"]
            for index in inspector.get_indexes(table.name)
            if not index.get("duplicates_constraint")
        }
        for name in existing - declared:
            connection.exec_driver_sql(f'DROP INDEX "{name}"')
        for index in table.indexes:  # two may have one name, each for its database
            if index.name not in existing:
                index.create(connection)


# --- answers ---


def _with_parts(bodies: dict[str, Plain], current: str) -> dict[str, Plain]:
    if current >= _WITH_PARTS:
        return bodies
    return {
        answer_id: {
            **body,
            "related": [{"kind": "document", "title": item} for item in body.get("related", ())],
            "conflicts": [{"about": item} for item in body.get("conflicts", ())],
        }
        for answer_id, body in bodies.items()
    }


def _rewrite_answers(connection: Connection, bodies: Mapping[str, Plain]) -> None:
    """Rewrite answers as rows, and the reports of research that contain answers."""
    facts = select(answers.c.id, answers.c.stale)
    for ids in chunks(bodies):
        for row in connection.execute(facts.where(answers.c.id.in_(ids))).all():
            record = current_record(connection, from_plain(Answer, bodies[row.id]))
            record.stale = record.stale or row.stale
            rewrite_rows(connection, record)
    runs = research_runs.c
    reports = select(runs.id, runs.answer_id, runs.report).where(runs.answer_id != "")
    for run in connection.execute(reports).all():
        if run.report:
            report = stored_report(run.report)
            connection.execute(update(research_runs).where(runs.id == run.id).values(report=report))


def _resolve_references(connection: Connection) -> None:
    """Replace references to documents in answers by the titles and addresses."""
    runs = research_runs.c
    columns = (documents.c.id, documents.c.title, documents.c.url, documents.c.uri)
    for ids in chunks(connection.execute(select(answers.c.id)).scalars().all()):
        for answer_id, record in read_records(connection, ids).items():
            query = select(*columns).where(documents.c.id.in_(VALUES))
            cited = [row["document_id"] for row in record.rows]
            live = {
                row.id: (row.title, row.url or row.uri) for row in rows_in(connection, query, cited)
            }
            moved = _resolve(record, live)
            rewrite_rows(connection, record)
            reports = select(runs.id, runs.report).where(runs.answer_id == answer_id)
            for run in connection.execute(reports).all():
                for part in (run.report["summary"], run.report["sections"]) if run.report else ():
                    for item in part if isinstance(part, list) else [{"span": part}]:
                        item["span"].update(moved(item["span"]))
                is_run = update(research_runs).where(runs.id == run.id)
                connection.execute(is_run.values(report=run.report))


def _resolve(record: AnswerRecord, live: Mapping[str, tuple[str, str]]) -> Callable[[Plain], Plain]:
    """Replace the references in ``record``; return a function that moves spans of its text."""

    def replacement(match: re.Match[str]) -> str:
        row = record.rows[int(match[2])]
        title, address = live.get(row["document_id"], (REMOVED, ""))
        if match[1]:
            return "" if row["shape"] else address
        return row["shape"] or title

    grown = [
        (match.end(), len(replacement(match)) - len(match[0]))
        for match in _REFERENCE.finditer(record.body["text"])
    ]

    def moved(span: Plain) -> Plain:
        return {
            end: span[end] + sum(growth for position, growth in grown if position <= span[end])
            for end in ("start", "end")
        }

    body_json = json.dumps(record.body, ensure_ascii=False)
    record.body = json.loads(
        _REFERENCE.sub(lambda match: json.dumps(replacement(match))[1:-1], body_json)
    )
    for row in record.rows:
        title = REMOVED if row["shape"] else live.get(row["document_id"], (REMOVED,))[0]
        row["told"] = {**row["told"], "title": title}
    titles = {row["number"]: row["told"]["title"] for row in record.rows}
    for citation in record.body["citations"]:
        citation |= {"title": titles[citation["id"]], "answer_span": moved(citation["answer_span"])}
    for sentence in record.body["sentences"]:
        sentence["span"] = moved(sentence["span"])
    removed = re.compile(f"{BLANK}|{re.escape(REMOVED)}")
    for name in ("related", "suggestions"):
        items = record.body.get(name, ())
        record.body[name] = [item for item in items if not removed.search(str(item))]
    return moved
