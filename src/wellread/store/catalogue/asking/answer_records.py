"""Answers that were given: recorded, found, and stale when what they rest on changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, select, update

from wellread.answers import Answer
from wellread.store.catalogue.accounts.audit_records import note_asked
from wellread.store.catalogue.asking.answer_facts_records import note_read, write_facts
from wellread.store.catalogue.asking.answer_removal import answers_on, forgotten
from wellread.store.catalogue.asking.answer_rows import (
    NAMED,
    Kept,
    forget_cached,
    kept_answers,
    kept_form,
    rewrite_rows,
    shown_answers,
    write_rows,
)
from wellread.store.catalogue.asking.removed_words import RemovedWords
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.store.schema.database import chunks, made_of
from wellread.store.schema.tables import answers, sessions
from wellread.text.headlines import shortened

FACTS = [answers.c[name] for name in StoredAnswer.__dataclass_fields__]
TITLE = 80  # characters of a first question that name a session


def record_answer(connection: Connection, answer: Answer, read: Iterable[str] = ()) -> None:
    """Keep ``answer`` with the spans that it cites; one of the same id is replaced.

    It is stale from the start when a source changed or went while it was being written. Its
    session is made when there is none yet.

    Args:
        read: the collections that it could be drawn from.
    """
    kept = as_it_stands(connection, answer)
    now = datetime.now(UTC)
    write_rows(connection, kept, now)
    note_read(connection, answer.id, now, read)
    shown = [row["document_id"] for row in kept.rows if not row["shape"]]
    note_asked(connection, answer.owner, answer.id, shown)
    _seen(connection, answer, now)


def rewrite_answer(connection: Connection, answer: Answer, *, stale: bool) -> None:
    """Keep ``answer`` as it was found to be now, in place of what was recorded of it."""
    kept = as_it_stands(connection, answer)
    kept.stale = kept.stale or stale
    rewrite_rows(connection, kept)


def as_it_stands(connection: Connection, answer: Answer) -> Kept:
    """The answer to keep, without what is not there any more; stale where that was something."""
    kept = kept_form(connection, answer)
    lost = {row["document_id"]: row["told_title"] for row in kept.rows if row["live"] is None}
    kept.stale = any(row["version"] not in (NAMED, row["live"]) for row in kept.rows)
    if lost:
        quotes = [one.quote for one in answer.citations if one.document_id in lost]
        forgotten(kept, RemovedWords(quotes), lost)
    return kept


def _seen(connection: Connection, answer: Answer, now: datetime) -> None:
    """The session of ``answer`` was used; its first question names it."""
    if not answer.session_id:
        return
    mine = (sessions.c.id == answer.session_id, sessions.c.owner == answer.owner)
    done = connection.execute(update(sessions).where(*mine).values(seen_at=now))
    if done.rowcount:
        return
    connection.execute(
        insert(sessions),
        {
            "id": answer.session_id,
            "owner": answer.owner,
            "title": shortened(answer.question, TITLE),
            "created_at": now,
            "seen_at": now,
        },
    )


def find_answer(connection: Connection, answer_id: str) -> Answer | None:
    """The whole answer."""
    return shown_answers(connection, [answer_id]).get(answer_id)


def list_answers(connection: Connection, limit: int = 100) -> list[StoredAnswer]:
    """Facts about the newest answers, newest first."""
    order = (answers.c.created_at.desc(), answers.c.id)
    statement = select(*FACTS).order_by(*order).limit(limit)
    return made_of(StoredAnswer, connection.execute(statement))


def mark_stale(connection: Connection, document_ids: Iterable[str]) -> None:
    """The answers that rest on these documents are stale: each keeps what it said and quoted."""
    resting = sorted({answer_id for _, answer_id in answers_on(connection, document_ids)})
    for ids in chunks(resting):
        connection.execute(update(answers).where(answers.c.id.in_(ids)).values(stale=True))
    forget_cached(connection, resting)


def renew_facts(connection: Connection, document_ids: Iterable[str]) -> None:
    """Documents are filed otherwise: so are the answers that rest on them."""
    resting = sorted({answer_id for _, answer_id in answers_on(connection, document_ids)})
    moments = select(answers.c.id, answers.c.created_at)
    for ids in chunks(resting):
        kept = kept_answers(connection, ids)
        for row in connection.execute(moments.where(answers.c.id.in_(ids))).all():
            write_facts(connection, row.id, row.created_at, kept[row.id].body)
