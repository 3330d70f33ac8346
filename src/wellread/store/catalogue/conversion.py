"""Opens catalogues of schemas 0001 to 0008 and 0100: what they hold, as this release keeps it.

All in the transaction of whoever upgrades: it is done whole, or nothing has changed. Tables get the
columns and indexes that they lack, answers become rows of their own, and what is not kept any more
goes. Documents that name their readers are not taken over: rights are per collection.
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
    Index,
    Inspector,
    String,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.schema import CreateColumn

from wellread.codec import from_plain
from wellread.errors import StoreError
from wellread.store.catalogue.asking.answer_records import as_it_stands
from wellread.store.catalogue.asking.answer_rows import BLANK, Kept, kept_answers, rewrite_rows
from wellread.store.catalogue.asking.research_records import kept_report
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.name_records import fill
from wellread.store.schema.database import chunks, rows_in
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import HEAD, answers, documents, metadata, research_runs, sessions
from wellread.values.answers import Answer

_WITH_REFERENCES = "0100"  # in answers, in place of titles of documents
OLD = (*(f"000{number}" for number in range(1, 9)), _WITH_REFERENCES)
Plain = dict[str, Any]
_WITH_PARTS = "0003"  # from it on what answers name has parts
_REFERENCE = re.compile("\ufdd8(u?)(\\d+)\ufdd9")


def convert(connection: Connection, current: str) -> None:
    """Bring the catalogue of an older schema, ``current``, to that of this release."""
    before = inspect(connection)
    named = "document_names" in before.get_table_names()
    old = {name: _columns(before, name) for name in before.get_table_names()}
    if "readers" in old["documents"]:
        _check_readers(connection)
    bodies = _with_parts(_bodies(connection), current)
    _add(connection, old)
    _indexes(connection)
    _take_out(connection)
    _sessions(connection)
    if not named:
        fill(connection)
    if current == _WITH_REFERENCES:
        _spell_out(connection)
    else:
        _answers(connection, bodies)
    connection.execute(text("UPDATE alembic_version SET version_num = :new"), {"new": HEAD})


def _check_readers(connection: Connection) -> None:
    for table in ("documents", "sources"):
        named = text(f"SELECT uri FROM {table} WHERE readers IS NOT NULL LIMIT 1")  # noqa: S608
        if uri := connection.execute(named).scalar():
            raise StoreError(
                f"{uri} names who may read it, and rights are per collection now; the home stays "
                "as it was",
                hint="open it once with commit 10b69232, which moves such documents into "
                "collections of their own",
            )


def _columns(found: Inspector, name: str) -> set[str]:
    return {column["name"] for column in found.get_columns(name)}


# --- tables ---


def _add(connection: Connection, old: Mapping[str, set[str]]) -> None:
    """Make what is not there: tables with their indexes, and columns."""
    metadata.create_all(connection)
    for made in metadata.sorted_tables:
        for column in made.c:
            if made.name in old and column.name not in old[made.name]:
                default = None if column.nullable else _default(column)
                new = Column(
                    column.name, column.type, nullable=column.nullable, server_default=default
                )
                written = CreateColumn(new).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f'ALTER TABLE "{made.name}" ADD COLUMN {written}')


def _default(column: Column[Any]) -> Any:
    """What rows from before have in a column that must have a value."""
    if isinstance(column.server_default, DefaultClause):
        return column.server_default.arg
    kind = column.type
    if isinstance(kind, JSON):
        return "{}"
    if isinstance(kind, Boolean):
        return text("false")
    return "" if isinstance(kind, String | Text) else "0"


def _take_out(connection: Connection) -> None:
    """Drop the tables and columns that are not kept any more."""
    found = inspect(connection)
    for name in found.get_table_names():
        if name not in metadata.tables:
            if name != "alembic_version":
                connection.exec_driver_sql(f'DROP TABLE "{name}"')
            continue
        for column in _columns(found, name) - set(metadata.tables[name].c.keys()):
            connection.exec_driver_sql(f'ALTER TABLE "{name}" DROP COLUMN "{column}"')


def _sessions(connection: Connection) -> None:
    """Sessions of the same name of two owners are two."""
    key = inspect(connection).get_pk_constraint(sessions.name)["constrained_columns"]
    if set(key) == {"id", "owner"}:
        return
    rows = [dict(row._mapping) for row in connection.execute(select(sessions))]
    sessions.drop(connection)
    sessions.create(connection)
    if rows:
        connection.execute(insert(sessions), rows)


def _indexes(connection: Connection) -> None:
    """Make the indexes that are not there, and drop those that are not wanted any more."""
    found = inspect(connection)
    for made in metadata.sorted_tables:
        wanted: dict[Any, Index] = {index.name: index for index in made.indexes}
        there = {
            index["name"]
            for index in found.get_indexes(made.name)
            if not index.get("duplicates_constraint")
        }
        for name in there - wanted.keys():
            connection.exec_driver_sql(f'DROP INDEX "{name}"')
        for name in wanted.keys() - there:
            wanted[name].create(connection)


# --- answers ---


def _bodies(connection: Connection) -> dict[str, Plain]:
    """Every answer as it was kept: one JSON value."""
    return {row.id: row.body for row in connection.execute(select(answers.c.id, answers.c.body))}


def _with_parts(bodies: dict[str, Plain], current: str) -> dict[str, Plain]:
    if current >= _WITH_PARTS:
        return bodies
    return {
        known: {
            **body,
            "related": [{"kind": "document", "title": each} for each in body.get("related", ())],
            "conflicts": [{"about": each} for each in body.get("conflicts", ())],
        }
        for known, body in bodies.items()
    }


def _answers(connection: Connection, bodies: Mapping[str, Plain]) -> None:
    """Write answers as rows, and the reports of research that stand in them."""
    facts = select(answers.c.id, answers.c.stale)
    for ids in chunks(bodies):
        for row in connection.execute(facts.where(answers.c.id.in_(ids))).all():
            kept = as_it_stands(connection, from_plain(Answer, bodies[row.id]))
            kept.stale = kept.stale or row.stale
            rewrite_rows(connection, kept)
    runs = research_runs.c
    reports = select(runs.id, runs.answer_id, runs.report).where(runs.answer_id != "")
    for run in connection.execute(reports).all():
        if run.report:
            report = kept_report(run.report)
            connection.execute(update(research_runs).where(runs.id == run.id).values(report=report))


def _spell_out(connection: Connection) -> None:
    """Put titles and addresses in the place of references to the rows of their documents."""
    runs = research_runs.c
    columns = (documents.c.id, documents.c.title, documents.c.url, documents.c.uri)
    for ids in chunks(connection.execute(select(answers.c.id)).scalars().all()):
        for answer_id, kept in kept_answers(connection, ids).items():
            named = select(*columns).where(documents.c.id.in_(VALUES))
            cited = [row["document_id"] for row in kept.rows]
            live = {
                row.id: (row.title, row.url or row.uri) for row in rows_in(connection, named, cited)
            }
            moved = _spelled(kept, live)
            rewrite_rows(connection, kept)
            reports = select(runs.id, runs.report).where(runs.answer_id == answer_id)
            for run in connection.execute(reports).all():
                for part in (run.report["summary"], run.report["sections"]) if run.report else ():
                    for one in part if isinstance(part, list) else [{"span": part}]:
                        one["span"].update(moved(one["span"]))
                mine = update(research_runs).where(runs.id == run.id)
                connection.execute(mine.values(report=run.report))


def _spelled(kept: Kept, live: Mapping[str, tuple[str, str]]) -> Callable[[Plain], Plain]:
    """Spell an answer out; what says where a span of its text is then."""

    def word(found: re.Match[str]) -> str:
        row = kept.rows[int(found[2])]
        title, address = live.get(row["document_id"], (REMOVED, ""))
        if found[1]:
            return "" if row["shape"] else address
        return row["shape"] or title

    grown = [
        (found.end(), len(word(found)) - len(found[0]))
        for found in _REFERENCE.finditer(kept.body["text"])
    ]

    def moved(span: Plain) -> Plain:
        return {
            end: span[end] + sum(more for place, more in grown if place <= span[end])
            for end in ("start", "end")
        }

    written = json.dumps(kept.body, ensure_ascii=False)
    kept.body = json.loads(_REFERENCE.sub(lambda found: json.dumps(word(found))[1:-1], written))
    for row in kept.rows:
        title = REMOVED if row["shape"] else live.get(row["document_id"], (REMOVED,))[0]
        row["told"] = {**row["told"], "title": title}
    titles = {row["number"]: row["told"]["title"] for row in kept.rows}
    for citation in kept.body["citations"]:
        citation |= {"title": titles[citation["id"]], "answer_span": moved(citation["answer_span"])}
    for sentence in kept.body["sentences"]:
        sentence["span"] = moved(sentence["span"])
    gone = re.compile(f"{BLANK}|{re.escape(REMOVED)}")
    for name in ("related", "suggestions"):
        there = kept.body.get(name, ())
        kept.body[name] = [one for one in there if not gone.search(str(one))]
    return moved
