"""Past questions with their feedback, and the documents that their citations name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select

from wellread.codec import from_plain
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.database import Database, rows_in
from wellread.store.schema.document_tables import documents, past_questions
from wellread.types import PastQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPastQuestion:
    """A past question, and when it was last written (its feedback with it)."""

    past: PastQuestion
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A document that an address names, when it came and when it was last changed."""

    title: str
    added_at: datetime
    updated_at: datetime


class PastQuestions:
    """Reads of past questions. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, document_ids: Iterable[str]) -> dict[str, StoredPastQuestion]:
        """Document id to the past question it holds; other documents are left out."""
        statement = (
            select(past_questions.c.document_id, past_questions.c.body, documents.c.updated_at)
            .join_from(past_questions, documents, documents.c.id == past_questions.c.document_id)
            .where(past_questions.c.document_id.in_(VALUES))
        )
        with self._database.read() as connection:
            return {
                row.document_id: StoredPastQuestion(
                    past=from_plain(PastQuestion, row.body), updated_at=row.updated_at
                )
                for row in rows_in(connection, statement, document_ids)
            }

    def cited(self, collection: str, address: str) -> list[CitedSource]:
        """The documents of the collection that ``address`` names: a url, a uri, or its end.

        A relative address ("papers/seagrass.pdf") names what ends in it.
        """
        named = [documents.c.url == address, documents.c.uri == address]
        if ":" not in address:
            tail = "/" + address.removeprefix("./").lstrip("/")
            named.append(documents.c.uri.endswith(tail, autoescape=True))
        statement = select(documents.c.title, documents.c.added_at, documents.c.updated_at).where(
            documents.c.collection == collection, documents.c.kind != "qa", or_(*named)
        )
        with self._database.read() as connection:
            return [
                CitedSource(title=row.title, added_at=row.added_at, updated_at=row.updated_at)
                for row in connection.execute(statement)
            ]
