"""What feedback quotes of texts that were removed, and noting that it has changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select, update

from wellread.store.catalogue.asking.removed_words import RemovedWords, changed_in
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.schema.learning_tables import feedback, notices

CHANGES = "feedback_changes"  # the property that counts every change of what feedback says


def note_change(connection: Connection) -> None:
    """What feedback says has changed, so that nothing is held or given again that hangs on it."""
    put_properties(connection, {CHANGES: int(property_of(connection, CHANGES) or 0) + 1})


def forget_in_feedback(connection: Connection, removed: RemovedWords) -> None:
    """Take what was quoted of removed texts out of all feedback, and of what people are told."""
    if not removed:
        return
    columns = (feedback.c.id, feedback.c.question, feedback.c.body)
    for row in connection.execute(select(*columns)).all():
        question = removed.blanked(row.question)
        body = changed_in(row.body, removed.blanked)
        if (question, body) != (row.question, row.body):
            values: dict[str, Any] = {"question": question, "body": body}
            if question != row.question:  # its vector would tell of the words that went
                values |= {"vector": b"", "embedder": ""}
            changed = update(feedback).where(feedback.c.id == row.id)
            connection.execute(changed.values(updated_at=datetime.now(UTC), **values))
            note_change(connection)
    for told in connection.execute(select(notices.c.id, notices.c.text)).all():
        text = removed.blanked(told.text)
        if text != told.text:
            connection.execute(update(notices).where(notices.c.id == told.id).values(text=text))
