"""Taking answers out of the cache, within a transaction that makes them stale."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete

from wellread.store.schema.asking_tables import cached_answers
from wellread.store.schema.chunked import chunks


def forget_cached(connection: Connection, answer_ids: Iterable[str]) -> None:
    """These answers are not given again."""
    for ids in chunks(answer_ids):
        connection.execute(delete(cached_answers).where(cached_answers.c.answer_id.in_(ids)))
