"""Moves documents that named their readers (schema 0007) into collections of their own.

There is one for each collection and list of readers, open to those of the readers who may read the
collection that the documents were in. A document's id is made of its collection and address, so it
gets a new one here, wherever it stands; its index rows are noted as to be written anew.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes
from uuid import uuid4

import sqlalchemy as sa

from wellread.identity import document_id, passage_id, tagged_hash
from wellread.types import Span

logger = logging.getLogger(__name__)  # commands show what it says

ALL = "*"
GROUP = "group:"
_ROLES = ("reader", "editor", "admin")
Key = tuple[str, str]  # a collection, and a list of readers as it was kept
Holder = tuple[str | None, str | None]  # the ids of a user and of a group; one of them is there
Grant = tuple[str, Holder]  # of a collection

_ID = re.compile(r"\b(?:doc|psg)_[0-9a-f]{24}\b")
# Where documents and passages are named: table, key, column, and whether that holds JSON.
_NAMING = (
    ("answers", ("id",), "body", True),
    ("feedback", ("id",), "body", True),
    ("feedback_marks", ("feedback_id", "ordinal"), "key", False),
    ("past_questions", ("document_id",), "body", True),
    ("preferences", ("owner",), "body", True),
    ("preferences", ("owner",), "learned", True),
    ("audit", ("id",), "documents", True),
    ("audit", ("id",), "target", False),
    ("research_runs", ("id",), "request", True),
    ("research_runs", ("id",), "plan", True),
    ("research_runs", ("id",), "report", True),
    ("research_steps", ("run_id", "key"), "result", True),
    ("research_events", ("run_id", "number"), "body", True),
)
_WITHOUT_DOCUMENTS = (  # sources that named readers, and of which nothing was read
    "SELECT t.collection, t.uri, t.readers FROM sources t WHERE t.readers IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.collection = t.collection"
    " AND d.source_uri = t.uri)"
)
_OF_DOCUMENT = ("texts", "marks", "passages", "past_questions", "entities", "relations")


@dataclass(frozen=True, slots=True)
class _Move:
    """What moves where.

    Attributes:
        names: of the new collections.
        ids: of documents and passages, old to new.
        moved: how many documents went into each new collection.
    """

    names: dict[Key, str]
    ids: dict[str, str] = field(default_factory=dict)
    moved: dict[Key, int] = field(default_factory=dict)


def move_documents(bind: sa.Connection, home: Path | None) -> None:
    """Move what names readers; the columns that hold them stay, for the caller to drop."""
    move = _Move(_new_names(bind))
    if move.names:
        logger.warning("rights are per collection: documents that named their readers move")
        files = _sources(bind, move.names, home)
        _documents(bind, move, files)
        _follow_ids(bind, move.ids)
        _answers(bind, move.names)
        _jobs(bind)
        told = _grants(bind, move.names)
        for key, name in sorted(move.names.items(), key=lambda one: one[1]):
            _tell(key, name, move.moved.get(key, 0), told[key])
    _settings(bind, move.names)


def _tell(key: Key, name: str, count: int, who: Sequence[str]) -> None:
    logger.warning(
        "%d document%s of the collection %r with the readers %s: in %r from now on, open to %s; "
        "take 'readers' out of what it is read from, which is read into it now",
        count,
        "" if count == 1 else "s",
        key[0],
        ", ".join(json.loads(key[1])),
        name,
        ", ".join(who) or "admins only",
    )


def _rows(bind: sa.Connection, query: str, **values: Any) -> Sequence[Any]:
    return bind.execute(sa.text(query), values).all()


def _run(bind: sa.Connection, statement: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        bind.execute(sa.text(statement), rows)


def _new_names(bind: sa.Connection) -> dict[Key, str]:
    """A free name for each collection and list of readers in it."""
    wanted = {
        (row.collection, row.readers)
        for query in (
            "SELECT DISTINCT collection, readers FROM documents WHERE readers IS NOT NULL",
            _WITHOUT_DOCUMENTS,
        )
        for row in _rows(bind, query)
    }
    taken = {
        row[0]
        for table in ("documents", "sources", "grants", "jobs", "stories")
        for row in _rows(bind, f"SELECT DISTINCT collection FROM {table}")  # noqa: S608
    } | {row[0] for row in _rows(bind, "SELECT name FROM collections")}
    for row in _rows(bind, "SELECT collections FROM api_keys WHERE collections IS NOT NULL"):
        taken.update(_loaded(row[0]) or ())
    names: dict[Key, str] = {}
    for collection, readers in sorted(wanted):
        number, name = 1, f"{collection}-restricted"
        while name in taken:
            number += 1
            name = f"{collection}-restricted-{number}"
        taken.add(name)
        names[collection, readers] = name
    return names


def _loaded(value: Any) -> Any:
    """A value of a JSON column, which SQLite gives as text."""
    return json.loads(value) if isinstance(value, str) else value


# --- sources and documents ---


def _sources(bind: sa.Connection, names: Mapping[Key, str], home: Path | None) -> dict[Key, str]:
    """Move the records of sources; collection and address of a kept file to its new address.

    A source whose documents are for several stays where it is open to all, with a record in each
    new collection: no run reads it into one of them (``ingest/run.py``).
    """
    lists: dict[Key, set[str | None]] = {}
    for row in _rows(
        bind,
        "SELECT DISTINCT d.collection, d.source_uri, d.readers FROM documents d WHERE EXISTS"
        " (SELECT 1 FROM documents n WHERE n.collection = d.collection"
        " AND n.source_uri = d.source_uri AND n.readers IS NOT NULL)",
    ):
        lists.setdefault((row[0], row[1]), set()).add(row[2])
    for row in _rows(
        bind, "SELECT collection, uri, readers FROM sources WHERE readers IS NOT NULL"
    ):
        lists.setdefault((row[0], row[1]), {row[2]})
    columns = [one["name"] for one in sa.inspect(bind).get_columns("sources")]
    rest = ", ".join(name for name in columns if name not in ("collection", "readers"))
    copied, left, files = [], [], {}
    for (collection, uri), readers in sorted(lists.items(), key=lambda one: one[0]):
        new = [names[collection, one] for one in readers if one is not None]
        copied += [{"new": name, "old": collection, "uri": uri} for name in new]
        if None not in readers:
            left.append({"old": collection, "uri": uri})
        if len(readers) == 1 and (kept := _kept_file(bind, home, (collection, uri), new[0])):
            files[collection, uri] = kept
    _run(
        bind,
        f"INSERT INTO sources (collection, {rest}) SELECT :new, {rest} FROM sources"  # noqa: S608
        " WHERE collection = :old AND uri = :uri",
        copied,
    )
    _run(bind, "DELETE FROM sources WHERE collection = :old AND uri = :uri", left)
    moved = [{"uri": uri, "new": kept} for (_, uri), kept in files.items()]
    _run(bind, "UPDATE sources SET root = :new WHERE uri = :uri AND root = :uri", moved)
    _run(bind, "UPDATE sources SET uri = :new WHERE uri = :uri", moved)
    return files


def _kept_file(bind: sa.Connection, home: Path | None, source: Key, new: str) -> str:
    """The new address of a file that was uploaded, which moves with all that lies beside it under
    its name (a recording); empty for one that lies elsewhere."""
    collection, uri = source
    if home is None:
        return ""
    folders = [home / "uploads" / f"c-{quote(name, safe='')}" for name in (collection, new)]
    inside = f"{folders[0].as_uri()}/"
    if not uri.startswith(inside) or "/" in uri.removeprefix(inside):
        return ""
    query = "SELECT uri FROM sources WHERE collection = :name"
    others = {row[0] for row in _rows(bind, query, name=collection)} - {uri}
    path = Path(os.fsdecode(unquote_to_bytes(uri.removeprefix("file://"))))
    folders[1].mkdir(exist_ok=True)
    for each in sorted(folders[0].iterdir()):
        if each == path or (each.stem == path.stem and each.as_uri() not in others):
            each.replace(folders[1] / each.name)  # what an upgrade that broke off moved, is there
    return (folders[1] / path.name).as_uri()


def _documents(bind: sa.Connection, move: _Move, files: Mapping[Key, str]) -> None:
    """Give the documents their collection and id, and note what the index has to do."""
    columns = [one["name"] for one in sa.inspect(bind).get_columns("documents")]
    rows, changed = [], {"id", "collection", "uri", "facts", "source_uri", "readers"}
    for row in _rows(
        bind,
        "SELECT id, collection, uri, source_uri, version, readers FROM documents"
        " WHERE readers IS NOT NULL ORDER BY id",
    ):
        key = (row.collection, row.readers)
        kept = files.get((row.collection, row.source_uri), row.source_uri)
        below = row.uri.startswith(row.source_uri)
        uri = kept + row.uri.removeprefix(row.source_uri) if below else row.uri
        new = document_id(move.names[key], uri)
        move.ids[row.id] = new
        move.moved[key] = move.moved.get(key, 0) + 1
        rows.append(
            {
                "old": row.id,
                "new": new,
                "collection": move.names[key],
                "uri": uri,
                "source": kept,
                "version": row.version,
            }
        )
    rest = ", ".join(name for name in columns if name not in changed)
    # Their hash of facts counts the readers; without one they are written whole when read again.
    _run(
        bind,
        f"INSERT INTO documents (id, collection, uri, source_uri, facts, {rest})"  # noqa: S608
        f" SELECT :new, :collection, :uri, :source, '', {rest} FROM documents WHERE id = :old",
        rows,
    )
    for table in _OF_DOCUMENT:
        _run(bind, f"UPDATE {table} SET document_id = :new WHERE document_id = :old", rows)  # noqa: S608
    _passages(bind, move, rows)
    for statement in _LEFT_BEHIND:
        _run(bind, statement, rows)
    touched = {name for (old, _), new in move.names.items() for name in (old, new)}
    properties = sa.table("properties", sa.column("key"), sa.column("value", sa.JSON))
    stamps = {tagged_hash("words", name): uuid4().hex for name in touched}
    bind.execute(sa.delete(properties).where(properties.c.key.in_(list(stamps))))
    bind.execute(sa.insert(properties), [{"key": k, "value": v} for k, v in stamps.items()])


# What was found in them or made of them goes; links of names are looked for by the next run.
_LEFT_BEHIND = (
    "UPDATE stories SET dirty = true WHERE id IN"
    " (SELECT story_id FROM story_items WHERE document_id = :old)",
    "DELETE FROM documents WHERE id = :old",
    "UPDATE next_documents SET version = '', facts = '' WHERE document_id = :old",
    "UPDATE next_passages SET context = '', speakers = '[]' WHERE document_id = :old",
    "DELETE FROM index_writes WHERE document_id = :old",
    "INSERT INTO index_writes (document_id, version, action, run)"
    " VALUES (:old, :version, 'remove', '')",
    "INSERT INTO index_writes (document_id, version, action, run)"
    " VALUES (:new, :version, 'write', '')",
)


def _passages(bind: sa.Connection, move: _Move, rows: Iterable[Mapping[str, Any]]) -> None:
    query = 'SELECT id, version, start, "end" FROM passages WHERE document_id = :known'
    ids = {
        row.id: passage_id(one["new"], row.version, Span(start=row.start, end=row.end))
        for one in rows
        for row in _rows(bind, query, known=one["new"])
    }
    changes = [{"old": old, "new": new} for old, new in ids.items()]
    _run(bind, "UPDATE passages SET id = :new WHERE id = :old", changes)
    move.ids.update(ids)


def _follow_ids(bind: sa.Connection, ids: Mapping[str, str]) -> None:
    """Name documents and passages by their new ids wherever they are named."""
    pairs = [{"old": old, "new": new} for old, new in ids.items() if old.startswith("doc_")]
    for table in ("research_reads",):
        _run(bind, f"UPDATE {table} SET document_id = :new WHERE document_id = :old", pairs)  # noqa: S608

    def renamed(text: str) -> str:
        return _ID.sub(lambda found: ids.get(found[0], found[0]), text)

    for name, key, column, is_json in _NAMING:
        kind = sa.JSON() if is_json else sa.String()
        named = sa.table(name, *map(sa.column, key), sa.column(column, kind))
        for row in bind.execute(sa.select(named)).all():
            value = row._mapping[column]
            written = json.dumps(value) if is_json else value
            if (new := renamed(written)) != written:
                mine = [named.c[one] == row._mapping[one] for one in key]
                values = {column: json.loads(new) if is_json else new}
                bind.execute(sa.update(named).where(*mine).values(values))
    bind.execute(sa.text("DELETE FROM cached_answers"))


# --- what was drawn from them ---


def _answers(bind: sa.Connection, names: Mapping[Key, str]) -> None:
    """What could be drawn from such documents, could be drawn from their new collections."""
    topics = sa.table(
        "answer_topics",
        *map(sa.column, ("answer_id", "kind", "topic", "at")),
        sa.column("gap", sa.Boolean),
    )
    lists = bind.execute(sa.select(topics).where(topics.c.kind == "readers")).all()
    read: dict[str, list[str]] = {}
    for row in bind.execute(sa.select(topics).where(topics.c.kind == "read")).all():
        read.setdefault(row.answer_id, []).append(row.topic)
    rows = [
        {"answer_id": one.answer_id, "at": one.at, "kind": "read", "gap": False, "topic": new}
        for one in lists
        for collection in read.get(one.answer_id, ())
        if (new := names.get((collection, one.topic)))
    ]
    if rows:
        bind.execute(sa.insert(topics), rows)
    bind.execute(sa.delete(topics).where(topics.c.kind == "readers"))
    steps = sa.table(
        "research_steps", sa.column("run_id"), sa.column("key"), sa.column("result", sa.JSON)
    )
    kept = bind.execute(sa.select(steps).where(steps.c.key.in_(("read", "readers")))).all()
    said = {row.run_id: row.result for row in kept if row.key == "readers"}
    for row in kept:
        more = [names.get((old, one)) for old in row.result for one in said.get(row.run_id, ())]
        if row.key == "read" and any(more):
            mine = (steps.c.run_id == row.run_id, steps.c.key == "read")
            result = sorted({*row.result, *filter(None, more)})
            bind.execute(sa.update(steps).where(*mine).values(result=result))
    bind.execute(sa.delete(steps).where(steps.c.key == "readers"))


def _jobs(bind: sa.Connection) -> None:
    """Logs of runs that dealt with them say nothing of them: they stay with the old collection."""
    for row in _rows(
        bind,
        "SELECT job_id, count(*) AS lines FROM job_items WHERE readers IS NOT NULL GROUP BY job_id",
    ):
        values = [{"job": row.job_id, "lines": row.lines}]
        _run(
            bind,
            "UPDATE jobs SET inputs = '[]', reason = '', total = total - :lines,"
            " done = done - :lines WHERE id = :job",
            values,
        )
        _run(
            bind,
            "DELETE FROM jobs WHERE id = :job AND NOT EXISTS (SELECT 1 FROM job_items i"
            " WHERE i.job_id = :job AND i.readers IS NULL)",
            values,
        )
    bind.execute(sa.text("DELETE FROM job_items WHERE readers IS NOT NULL"))


# --- who may read them ---


def _grants(bind: sa.Connection, names: Mapping[Key, str]) -> dict[Key, list[str]]:
    """Open the new collections to whom they are for; to whom each is open, by name.

    A grant of the old collection becomes one of the new for its user or group, where these are
    named; of a group that is not named, for those of its members that are. Keys go along.
    """
    users = {row.id: row.name for row in _rows(bind, "SELECT id, name FROM users")}
    groups = {row.id: row.name for row in _rows(bind, "SELECT id, name FROM user_groups")}
    members: dict[str, list[str]] = {}
    called = {one: {name} - {name if name.startswith(GROUP) else ""} for one, name in users.items()}
    for row in _rows(bind, "SELECT group_id, user_id FROM group_members"):
        members.setdefault(row.group_id, []).append(row.user_id)
        called[row.user_id].add(f"{GROUP}{groups[row.group_id]}")
    given = _rows(bind, "SELECT collection, role, user_id, group_id FROM grants ORDER BY id")
    shown: dict[Holder, str] = {(one, None): name for one, name in users.items()}
    shown |= {(None, one): f"{GROUP}{name}" for one, name in groups.items()}
    new: dict[Grant, str] = {}
    for key, name in names.items():
        readers = set(json.loads(key[1]))
        for one in (one for one in given if one.collection in (key[0], ALL)):
            if one.group_id and shown[None, one.group_id] in readers:
                holders: list[Holder] = [(None, one.group_id)]
            else:
                inside = members.get(one.group_id, ()) if one.group_id else (one.user_id,)
                holders = [(user, None) for user in inside if called[user] & readers]
            for holder in holders:
                new[name, holder] = _higher(new.get((name, holder), one.role), one.role)
        _keys(bind, key, name, {user for user, known in called.items() if known & readers})
    told = {
        key: sorted(shown[holder] for where, holder in new if where == name)
        for key, name in names.items()
    }
    for holder in _no_more_than_before(bind, given, new, set(names.values())):
        logger.warning(
            "%s had a grant of all collections and has one of each that there was now, since the "
            "new ones are not all for them; grant collections to come by name",
            shown[holder],
        )
    _run(
        bind,
        "INSERT INTO grants (collection, role, user_id, group_id) VALUES (:name, :role, :u, :g)",
        [{"name": name, "role": role, "u": u, "g": g} for (name, (u, g)), role in new.items()],
    )
    return told


def _higher(one: str, other: str) -> str:
    return max(one, other, key=_ROLES.index)


def _keys(bind: sa.Connection, key: Key, name: str, readers: set[str]) -> None:
    """Keys that are limited to the old collection open the new one to those that it is for."""
    table = sa.table(
        "api_keys", sa.column("id"), sa.column("user_id"), sa.column("collections", sa.JSON)
    )
    for row in bind.execute(sa.select(table)).all():
        if row.user_id in readers and key[0] in (row.collections or ()):
            mine = sa.update(table).where(table.c.id == row.id)
            bind.execute(mine.values(collections=[*row.collections, name]))


def _no_more_than_before(
    bind: sa.Connection, given: Sequence[Any], new: dict[Grant, str], names: set[str]
) -> list[Holder]:
    """A grant of all collections would open every new one too: where these are not all for its
    holder, it becomes a grant of each that was there. The holders of such."""
    there = {
        row[0]
        for query in (
            "SELECT DISTINCT collection FROM documents",
            "SELECT DISTINCT collection FROM sources",
            "SELECT name FROM collections",
        )
        for row in _rows(bind, query)
    } - names
    changed: list[Holder] = []
    for one in (one for one in given if one.collection == ALL):
        holder = (one.user_id, one.group_id)
        if all((name, holder) in new for name in names):
            continue
        changed.append(holder)
        mine = {row.collection: row.role for row in given if (row.user_id, row.group_id) == holder}
        for name in there:
            new[name, holder] = _higher(one.role, mine.get(name, one.role))
    rows = [{"name": name, "u": user, "g": group} for name, (user, group) in new]
    rows += [{"name": ALL, "u": user, "g": group} for user, group in changed]
    _run(
        bind,
        "DELETE FROM grants WHERE collection = :name"
        " AND coalesce(user_id, '') = coalesce(:u, '')"
        " AND coalesce(group_id, '') = coalesce(:g, '')",
        rows,
    )
    return changed


def _settings(bind: sa.Connection, names: Mapping[Key, str]) -> None:
    """The settings of collections name no readers; the new ones have those of the old.

    What the reader's own file said stays: until another is given, runs are refused.
    """
    table = sa.table(
        "collections",
        sa.column("name"),
        sa.column("settings", sa.JSON),
        sa.column("updated_at", sa.DateTime),
    )
    known = {row.name: row.settings for row in bind.execute(sa.select(table)).all()}
    for name, settings in known.items():
        if "readers" in settings:
            own = settings.pop("readers").get("")
            kept = settings | ({"readers": {"": own}} if own else {})
            bind.execute(sa.update(table).where(table.c.name == name).values(settings=kept))
    now = sa.func.current_timestamp()
    for (old, _), name in names.items():
        settings = {**known.get(old, {}), "moved_from": old}
        bind.execute(sa.insert(table).values(name=name, settings=settings, updated_at=now))
