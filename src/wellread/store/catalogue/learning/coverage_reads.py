"""When documents came, and which answers rest on them: what coverage is told of over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from wellread.store.catalogue.documents.aggregates import Limits, meeting
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.tables import answer_citations, answers, documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """When a document was published, if that is known, and when it was added."""

    published_at: datetime | None
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOf:
    """An answered question, and the documents that its answer rests on."""

    answer_id: str
    question: str
    created_at: datetime
    document_ids: tuple[str, ...]


class CoverageReads(CataloguePart):
    """Reads for the coverage of the taxonomy."""

    def arrivals(self, limits: Limits = ()) -> dict[str, Arrival]:
        """The id of each document that meets the limits to when it came."""
        columns = (documents.c.id, documents.c.published_at, documents.c.added_at)
        with self._database.read() as connection:
            rows = connection.execute(select(*columns).where(meeting(connection, limits))).all()
        return {
            row.id: Arrival(published_at=row.published_at, added_at=row.added_at) for row in rows
        }

    def asked(self, owner: str, collections: Sequence[str]) -> list[AskedOf]:
        """The questions of ``owner`` whose answers rest on documents, the newest first.

        Only documents of ``collections`` are told.
        """
        # One row for each answer: rows cost more than what the database puts into one.
        rests = (
            select(answer_citations.c.answer_id, answer_citations.c.document_id)
            .join(documents, documents.c.id == answer_citations.c.document_id)
            .where(documents.c.collection.in_(sorted(collections)))
            .distinct()
            .subquery()
        )
        of = (
            select(rests.c.answer_id, func.aggregate_strings(rests.c.document_id, ",").label("ids"))
            .group_by(rests.c.answer_id)
            .subquery()
        )
        statement = (
            select(answers.c.id, answers.c.question, answers.c.created_at, of.c.ids)
            .join(of, of.c.answer_id == answers.c.id)
            .where(answers.c.owner == owner)
            .order_by(answers.c.created_at.desc(), answers.c.id)
        )
        return [
            AskedOf(
                answer_id=row.id,
                question=row.question,
                created_at=row.created_at,
                document_ids=tuple(sorted(row.ids.split(","))),
            )
            for row in self._rows(statement)
        ]
