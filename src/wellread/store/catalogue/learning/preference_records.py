"""What people like, as it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy import delete, insert, select

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.learning_tables import preferences
from wellread.store.schema.tables import answers
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
        cited = answers.c.body["citations"]
        statement = select(answers.c.id, cited).where(answers.c.id.in_(VALUES))
        return {
            row[0]: {one["document_id"] for one in row[1] or ()}
            for row in self._rows_in(statement, answer_ids)
        }
