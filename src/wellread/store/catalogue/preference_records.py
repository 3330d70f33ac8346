"""Stores users' preferences, and reads which documents a user's answers cite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy import delete, func, insert, select

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.tables import answer_citations, answers, documents, preferences
from wellread.values.question import LearnedPreference, Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPreferences:
    """A user's preferences, the consent to learn from feedback, and learned preferences."""

    given: Preferences = field(default_factory=Preferences)
    consent: bool = False
    learned: tuple[LearnedPreference, ...] = ()

    @property
    def effective(self) -> Preferences:
        """The effective preferences: those set and, with consent, those learned and not revoked.

        Set preferences override learned ones.
        """
        if not self.consent:
            return self.given
        rules_set = {*self.given.preferred, *self.given.lowered, *self.given.muted}
        active = [rule for rule in self.learned if not rule.revoked and rule.rule not in rules_set]
        up = tuple(rule.rule for rule in active if rule.effect == "preferred")
        down = tuple(rule.rule for rule in active if rule.effect == "lowered")
        stated = self.given
        return replace(stated, preferred=stated.preferred + up, lowered=stated.lowered + down)


class PreferenceRecords(CataloguePart):
    """The preferences of all users, by owner."""

    def of(self, owner: str) -> StoredPreferences:
        """The stored preferences of a user; empty preferences when none are stored."""
        for row in self._rows(select(preferences).where(preferences.c.owner == owner)):
            return StoredPreferences(
                given=from_plain(Preferences, row.body),
                consent=row.consent,
                learned=tuple(from_plain(LearnedPreference, plain) for plain in row.learned),
            )
        return StoredPreferences()

    def put(self, owner: str, stored: StoredPreferences) -> None:
        """Replace the stored preferences of a user."""
        row = {
            "owner": owner,
            "updated_at": datetime.now(UTC),
            "consent": stored.consent,
            "body": to_plain(stored.given),
            "learned": [to_plain(preference) for preference in stored.learned],
        }
        with self._database.write() as connection:
            connection.execute(delete(preferences).where(preferences.c.owner == owner))
            connection.execute(insert(preferences), row)

    def cited_by(self, answer_ids: Iterable[str]) -> dict[str, set[str]]:
        """The ids of the documents that each answer cites, by answer id."""
        columns = answer_citations.c
        statement = select(columns.answer_id, columns.document_id).where(
            columns.answer_id.in_(VALUES),
            columns.number > 0,  # 0: only listed or mentioned
        )
        cited: dict[str, set[str]] = {}
        for row in self._rows_in(statement, answer_ids):
            cited.setdefault(row.answer_id, set()).add(row.document_id)
        return cited


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWithSources:
    """An answered question, and the documents that its answer cites."""

    answer_id: str
    question: str
    created_at: datetime
    document_ids: tuple[str, ...]


_QUESTION_FIELDS = ("answer_id", "question", "created_at")


class CoverageReads(CataloguePart):
    """Reads the questions and citations from which topic coverage is calculated."""

    def asked(self, owner: str, collections: Sequence[str]) -> list[QuestionWithSources]:
        """The questions of ``owner`` whose answers cite documents, newest first.

        Only documents of ``collections`` are included.
        """
        # One row for each answer, since many rows cost more than joining the ids in SQL.
        cited = (
            select(answer_citations.c.answer_id, answer_citations.c.document_id)
            .join(documents, documents.c.id == answer_citations.c.document_id)
            .where(documents.c.collection.in_(sorted(collections)))
            .distinct()
            .subquery()
        )
        ids = func.aggregate_strings(cited.c.document_id, ",").label("ids")
        by_answer = select(cited.c.answer_id, ids).group_by(cited.c.answer_id).subquery()
        statement = (
            select(answers.c.id, answers.c.question, answers.c.created_at, by_answer.c.ids)
            .join(by_answer, by_answer.c.answer_id == answers.c.id)
            .where(answers.c.owner == owner)
            .order_by(answers.c.created_at.desc(), answers.c.id)
        )
        return [
            QuestionWithSources(
                document_ids=tuple(sorted(ids.split(","))),
                **dict(zip(_QUESTION_FIELDS, facts, strict=True)),
            )
            for *facts, ids in self._rows(statement)
        ]
