"""What feedback quotes of texts that were removed."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, select, update

from wellread.store.catalogue.asking.redaction import RemovedWords, changed_in
from wellread.store.schema.learning_tables import feedback


def forget_in_feedback(connection: Connection, removed: RemovedWords) -> None:
    """Take what was quoted of removed texts out of all feedback."""
    if not removed:
        return
    columns = (feedback.c.id, feedback.c.question, feedback.c.body)
    for row in connection.execute(select(*columns)).all():
        question = removed.blanked(row.question)
        body = changed_in(row.body, removed.blanked)
        if (question, body) != (row.question, row.body):
            values = {"question": question, "body": body, "updated_at": datetime.now(UTC)}
            connection.execute(update(feedback).where(feedback.c.id == row.id).values(**values))
