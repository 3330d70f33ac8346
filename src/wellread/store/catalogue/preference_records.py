"""What people like and are told when they come back, and when documents came, as it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy import delete, func, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.database import CataloguePart, made_of
from wellread.store.schema.tables import answer_citations, answers, documents, notices, preferences
from wellread.values.question import LearnedPreference, Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPreferences:
    """What a person set, whether they let feedback add to it, and what it suggests."""

    given: Preferences = field(default_factory=Preferences)
    consent: bool = False
    learned: tuple[LearnedPreference, ...] = ()

    @property
    def in_force(self) -> Preferences:
        """What holds: what was set and, after consent only, what was learned and not revoked.

        What was set stands above what was learned.
        """
        if not self.consent:
            return self.given
        said = {*self.given.preferred, *self.given.lowered, *self.given.muted}
        new = [one for one in self.learned if not one.revoked and one.rule not in said]
        up = tuple(one.rule for one in new if one.effect == "preferred")
        down = tuple(one.rule for one in new if one.effect == "lowered")
        given = self.given
        return replace(given, preferred=given.preferred + up, lowered=given.lowered + down)


class PreferenceRecords(CataloguePart):
    """The preferences of everybody, by owner."""

    def of(self, owner: str) -> KeptPreferences:
        """What is kept of a person; nothing set where nothing is."""
        rows = self._rows(select(preferences).where(preferences.c.owner == owner))
        if not rows:
            return KeptPreferences()
        row = rows[0]
        learned: Sequence[object] = row.learned
        return KeptPreferences(
            given=from_plain(Preferences, row.body),
            consent=row.consent,
            learned=tuple(from_plain(LearnedPreference, one) for one in learned),
        )

    def put(self, owner: str, kept: KeptPreferences) -> None:
        """Keep these in place of what was kept."""
        row = {
            "owner": owner,
            "updated_at": datetime.now(UTC),
            "consent": kept.consent,
            "body": to_plain(kept.given),
            "learned": [to_plain(one) for one in kept.learned],
        }
        with self._database.write() as connection:
            connection.execute(delete(preferences).where(preferences.c.owner == owner))
            connection.execute(insert(preferences), row)

    def cited_by(self, answer_ids: Iterable[str]) -> dict[str, set[str]]:
        """Each answer to the ids of the documents that it cites; what it only read counts not."""
        wanted = list(answer_ids)
        columns = answer_citations.c
        statement = select(columns.answer_id, columns.document_id).where(
            columns.answer_id.in_(VALUES), columns.number > 0
        )
        cited: dict[str, set[str]] = {}
        for row in self._rows_in(statement, wanted):
            cited.setdefault(row.answer_id, set()).add(row.document_id)
        return cited


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that a person should know.

    Attributes:
        kind: ``correction_expired``, ``gap_closed``, ….
        target: the id of what it is about.
    """

    id: int
    owner: str
    created_at: datetime
    kind: str
    target: str
    text: str
    seen_at: datetime | None


class Notices(CataloguePart):
    """The notices of all people."""

    def tell(self, owner: str, kind: str, target: str, text: str) -> None:
        """Tell somebody something."""
        values = {"owner": owner, "kind": kind, "target": target, "text": text}
        self._run(insert(notices).values(created_at=datetime.now(UTC), **values))

    def of(self, owner: str, *, unseen: bool = True, limit: int = 100) -> list[Notice]:
        """The newest notices of a person, newest first."""
        where = [notices.c.owner == owner]
        if unseen:
            where.append(notices.c.seen_at.is_(None))
        statement = select(notices).where(*where).order_by(notices.c.id.desc()).limit(limit)
        return made_of(Notice, self._rows(statement))

    def newest(self, *, unseen: bool = True, limit: int = 100) -> list[Notice]:
        """The newest notices of everybody, newest first."""
        statement = select(notices).order_by(notices.c.id.desc()).limit(limit)
        if unseen:
            statement = statement.where(notices.c.seen_at.is_(None))
        return made_of(Notice, self._rows(statement))

    def known(self, notice_ids: list[int]) -> list[int]:
        """Those of the ids that a notice has."""
        return self._values(select(notices.c.id).where(notices.c.id.in_(notice_ids)))

    def mark_seen(self, notice_ids: list[int]) -> None:
        """These were seen, whoever they are for."""
        mine = (notices.c.id.in_(notice_ids), notices.c.seen_at.is_(None))
        self._run(update(notices).where(*mine).values(seen_at=datetime.now(UTC)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOf:
    """An answered question, and the documents that its answer rests on."""

    answer_id: str
    question: str
    created_at: datetime
    document_ids: tuple[str, ...]


class CoverageReads(CataloguePart):
    """Reads for the coverage of the taxonomy."""

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
