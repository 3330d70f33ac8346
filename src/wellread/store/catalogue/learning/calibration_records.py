"""The calibration that is in force in a home, and those before it.

They stand in one property: a new one, or going back, is one write. It is part of what answers hang
on (``AnswerCache.stamp``), so that none of before is given again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select

from wellread.answers import BEFORE, CATALOGUE, NOBODY
from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.learning.answer_figures import mean_ratings
from wellread.store.schema.calibration_values import CALIBRATION, Calibration, RatedAnswer
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.learning_tables import answer_facts, feedback
from wellread.text.words import plain, words_in

KEPT = 10  # calibrations that one can go back over
_NOT_JUDGED = (NOBODY, CATALOGUE, BEFORE)  # their confidence is worked out otherwise


class Calibrations(CataloguePart):
    """What maps the confidence that is shipped to the one of this base."""

    def live(self) -> Calibration | None:
        """The one in force; None: confidence is as shipped."""
        found = self.every()
        return found[-1] if found else None

    def every(self) -> list[Calibration]:
        """The one in force, last, with those before it."""
        with self._database.read() as connection:
            kept = property_of(connection, CALIBRATION) or []
        return [from_plain(Calibration, one) for one in kept]

    def put(self, calibration: Calibration) -> None:
        """Put one in force."""
        with self._database.write() as connection:
            kept = property_of(connection, CALIBRATION) or []
            kept = [*kept, to_plain(calibration)][-KEPT:]
            put_properties(connection, {CALIBRATION: kept})

    def undo(self) -> Calibration | None:
        """Take the one in force away, so that the one before it is again; the one that went."""
        with self._database.write() as connection:
            kept = property_of(connection, CALIBRATION) or []
            if not kept:
                return None
            put_properties(connection, {CALIBRATION: kept[:-1]})
        return from_plain(Calibration, kept[-1])

    def rated(self) -> int:
        """How many answers ``rated_answers`` has."""
        score, by = feedback.c.score, answer_facts.c.answered_by
        valid = (score.is_not(None), feedback.c.expired == "", by.not_in(_NOT_JUDGED))
        counted = select(func.count(feedback.c.answer_id.distinct()))
        joined = counted.join_from(
            feedback, answer_facts, answer_facts.c.answer_id == feedback.c.answer_id
        )
        return int(self._values(joined.where(*valid))[0])

    def rated_answers(self) -> list[RatedAnswer]:
        """Every answer that was rated and whose confidence was judged, the oldest first.

        Of several ratings the mean counts; ratings that have expired do not.
        """
        ratings = mean_ratings()
        asked = select(feedback.c.answer_id, func.min(feedback.c.question).label("question"))
        questions = asked.group_by(feedback.c.answer_id).subquery()
        columns = (
            ratings.c.answer_id,
            ratings.c.score,
            answer_facts.c.shipped,
            answer_facts.c.confidence,
            questions.c.question,
        )
        statement = (
            select(*columns)
            .join_from(ratings, answer_facts, answer_facts.c.answer_id == ratings.c.answer_id)
            .join(questions, questions.c.answer_id == ratings.c.answer_id)
            .where(answer_facts.c.answered_by.not_in(_NOT_JUDGED))
            .order_by(answer_facts.c.at, ratings.c.answer_id)
        )
        score = feedback.c.score
        valid = (score.is_not(None), feedback.c.expired == "")
        given = select(feedback.c.answer_id, feedback.c.author, score).where(*valid)
        by: dict[str, list[tuple[str, float]]] = {}
        with self._database.read() as connection:
            rows: Sequence[Any] = connection.execute(statement).all()
            for row in connection.execute(given.order_by(feedback.c.author)):
                by.setdefault(row.answer_id, []).append((row.author, row.score))
        return [
            RatedAnswer(
                answer_id=row.answer_id,
                question=" ".join(map(plain, words_in(row.question))),
                shipped=row.shipped,
                confidence=row.confidence,
                score=row.score,
                ratings=tuple(by.get(row.answer_id, ())),
            )
            for row in rows
        ]
