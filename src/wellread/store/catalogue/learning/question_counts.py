"""What was asked, row by row, without the bodies of answers: what patterns are counted from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, case, func, or_, select

from wellread.store.catalogue.asking.redaction import NAMED
from wellread.store.schema.database import CataloguePart, made_of
from wellread.store.schema.tables import answer_evidence, answers, documents
from wellread.values.answers import NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that a person asked.

    Attributes:
        type: what kind of question it was taken for.
    """

    id: str
    question: str
    created_at: datetime
    answered_by: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedTopic:
    """Where the documents of an answer are: their collection and values of the taxonomy."""

    answer_id: str
    collection: str
    taxonomy: Mapping[str, Sequence[str]]


class QuestionCounts(CataloguePart):
    """The questions of one owner at a time. What the system asked again itself is not in them."""

    def stamp(self, owner: str) -> str:
        """Another one when somebody asked, or questions were forgotten or blacked out."""
        stale = case((answers.c.stale.is_(True), 1), else_=0)
        facts = (func.count(), func.max(answers.c.created_at), func.sum(stale))
        (row,) = self._rows(select(*facts).where(*_of(owner)))
        return "/".join(map(str, row))

    def asked(
        self, owner: str, since: datetime | None, until: datetime | None
    ) -> list[AskedQuestion]:
        """The questions of a time, oldest first."""
        kind = answers.c.body["type"].as_string().label("type")
        names = ("id", "question", "created_at", "answered_by")
        statement = select(
            *(answers.c[name] for name in names), func.coalesce(kind, "").label("type")
        )
        within = _within(since, until)
        order = (answers.c.created_at, answers.c.id)
        rows = self._rows(statement.where(*_of(owner), *within).order_by(*order))
        return made_of(AskedQuestion, rows)

    def topics(
        self, owner: str, since: datetime | None, until: datetime | None
    ) -> list[CitedTopic]:
        """Of each answer the documents that it rests on, as what they are filed under.

        Where there is no answer, those that are nearest to the question.
        """
        rests = (
            select(answer_evidence.c.answer_id, answer_evidence.c.document_id)
            .join(answers, answers.c.id == answer_evidence.c.answer_id)
            .where(*_of(owner), *_within(since, until))
            .where(or_(answer_evidence.c.version != NAMED, answers.c.answered_by == NOBODY))
            .distinct()  # here: PostgreSQL compares no JSON
            .subquery()
        )
        columns = (rests.c.answer_id, documents.c.collection, documents.c.taxonomy)
        statement = select(*columns).join(documents, documents.c.id == rests.c.document_id)
        return [
            CitedTopic(
                answer_id=row.answer_id, collection=row.collection, taxonomy=row.taxonomy or {}
            )
            for row in self._rows(statement)
        ]


def _of(owner: str) -> tuple[ColumnElement[bool], ...]:
    return (answers.c.owner == owner, answers.c.session_id != "")


def _within(since: datetime | None, until: datetime | None) -> list[ColumnElement[bool]]:
    at = answers.c.created_at
    return [*([at >= since] if since else []), *([at <= until] if until else [])]
