"""Questions that were not answered, or not well: filed, asked again, closed, forgotten.

The same question of the same person, asked of the same part of the material, is one gap that is
asked so many times. One that was closed opens again when it is filed once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, func, insert, or_, select, update

from wellread.codec import storable
from wellread.identity import sentence_hash, tagged_hash
from wellread.store.catalogue.asking.answer_records import record_answer
from wellread.store.catalogue.asking.answer_removal import GAP_CLOSED
from wellread.store.catalogue.asking.answer_rows import (
    RemovedWords,
    any_title_changed,
    changed_in,
    titles_changed,
)
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.documents.reindexing import note_deletion
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.stored_values import Gap, GapKind, GapStatus
from wellread.store.schema.tables import answers, documents, gaps, notices
from wellread.values.answers import Answer

FACTS = [gaps.c[one.name] for one in fields(Gap)]
OUTDATED = "what the answer rested on that closed it has changed or gone"
LOOKED = "gaps/looked"  # the property that holds up to when new documents were looked at
MOST = 5_000  # gaps that are read at once, the newest


JUDGED = ("badly_rated", "expired")  # kinds that say something of an answer given before


class Filing(TypedDict, total=False):
    """What else is known of a gap that is filed; see ``Gap``."""

    kind: GapKind
    scope: Sequence[str]
    limits: Mapping[str, Any]
    answer_id: str
    owner: str


def record_gap(connection: Connection, question: str, reason: str, **known: Unpack[Filing]) -> int:
    """Keep a question that could not be answered, or not well; the id of its gap."""
    # A rating of an answer, or its correction that expired, is about its gap and no new asking.
    question, reason = " ".join(storable(question).split()), storable(reason)
    scope, owner = sorted(set(known.get("scope", ()))), known.get("owner", "")
    limits = dict(known.get("limits", {}))
    now = datetime.now(UTC)
    key = gap_key(question, scope, limits, owner)
    said = {
        "question": question,
        "reason": reason,
        "kind": known.get("kind", "unanswered"),
        "answer_id": known.get("answer_id", ""),
        "asked_at": now,
    }
    judged = said["kind"] in JUDGED and said["answer_id"]
    which = or_(gaps.c.key == key, gaps.c.answer_id == judged) if judged else gaps.c.key == key
    found = select(gaps.c.id, gaps.c.status).where(which).order_by(gaps.c.key != key, gaps.c.id)
    same = connection.execute(found).first()
    if same is None:
        row = {"key": key, "scope": scope, "limits": limits, "owner": owner, "created_at": now}
        made = connection.execute(insert(gaps), {**row, **said}).inserted_primary_key
        return int(made[0]) if made else 0
    if judged:
        changed = {"kind": said["kind"], "reason": reason}
    else:
        changed = {"asked": gaps.c.asked + 1, **said}
    connection.execute(update(gaps).where(gaps.c.id == same.id).values(**changed))
    if same.status == "closed":
        _set_status(connection, [same.id], "open")
    return int(same.id)


def list_gaps(connection: Connection, limit: int = MOST) -> list[Gap]:
    """The gaps filed last, newest first."""
    return _made(connection.execute(select(*FACTS).order_by(gaps.c.id.desc()).limit(limit)))


class GapLedger(CataloguePart):
    """All gaps of the knowledge base."""

    def of(self, ids: Iterable[int]) -> list[Gap]:
        """The gaps of these ids, by id."""
        with self._database.read() as connection:
            found = [
                one
                for some in chunks(ids)
                for one in _made(connection.execute(select(*FACTS).where(gaps.c.id.in_(some))))
            ]
        return sorted(found, key=lambda gap: gap.id)

    def waiting(self) -> list[Gap]:
        """The gaps that are not closed, the ones asked most first."""
        order = (gaps.c.asked.desc(), gaps.c.id)
        return _made(self._rows(select(*FACTS).where(gaps.c.status != "closed").order_by(*order)))

    def any_waiting(self) -> bool:
        """Whether there is a gap that is not closed."""
        return bool(self._rows(select(gaps.c.id).where(gaps.c.status != "closed").limit(1)))

    def set_status(self, ids: Iterable[int], status: GapStatus) -> int:
        """Open, plan or close gaps by hand; how many there were."""
        with self._database.write() as connection:
            return _set_status(connection, list(ids), status)

    def close(self, gap: Gap, answer: Answer, read: Iterable[str] = ()) -> bool:
        """Record an answer that closes a gap, as ``Catalogue.record_answer`` does.

        False, and nothing is recorded, when the gap was closed, asked or forgotten meanwhile.
        """
        now = datetime.now(UTC)
        same = (gaps.c.id == gap.id, gaps.c.status != "closed", gaps.c.asked == gap.asked)
        said = {"status": "closed", "closed_by": answer.id, "closed_at": now, "tried": ""}
        closed = update(gaps).where(*same, gaps.c.question == gap.question)
        with self._database.write() as connection:
            done = connection.execute(closed.values(tried_at=now, **said)).rowcount > 0
            if done:
                record_answer(connection, answer, read)
            return done

    def reopen_outdated(self) -> int:
        """Open the gaps again whose answer rests on what changed or went; how many."""
        stale = select(answers.c.id).where(answers.c.stale.is_(True))
        which = (gaps.c.status == "closed", gaps.c.closed_by.in_(stale))
        opened = {"status": "open", "closed_by": "", "closed_at": None, "tried": OUTDATED}
        with self._database.write() as connection:
            return connection.execute(update(gaps).where(*which).values(**opened)).rowcount

    def tried(self, gap_id: int, why: str, at: datetime) -> None:
        """A gap was asked again and stays open, and why."""
        self._run(update(gaps).where(gaps.c.id == gap_id).values(tried=why, tried_at=at))

    def passed_over(self, gap_ids: Iterable[int], at: datetime) -> None:
        """Nothing that is new is about these; they are not looked at again with the same."""
        with self._database.write() as connection:
            for some in chunks(gap_ids):
                connection.execute(update(gaps).where(gaps.c.id.in_(some)).values(tried_at=at))

    # --- which documents are new ---

    def looked(self) -> datetime | None:
        """Up to when documents were compared with the gaps; None: never."""
        with self._database.read() as connection:
            kept = property_of(connection, LOOKED)
        return datetime.fromisoformat(str(kept)) if kept else None

    def looked_until(self, moment: datetime) -> None:
        """Documents that were written up to then have been compared with the gaps."""
        with self._database.write() as connection:
            put_properties(connection, {LOOKED: moment.isoformat()})

    def arrived(self, since: datetime | None) -> dict[str, datetime]:
        """The documents that were written after ``since``, and when; the oldest first."""
        at = documents.c.updated_at
        statement = select(documents.c.id, at).order_by(at, documents.c.id)
        if since is not None:
            statement = statement.where(at > since)
        return {row.id: row.updated_at for row in self._rows(statement)}

    # --- what the clusters are made with ---

    def vectors(self, embedder: str) -> dict[int, bytes]:
        """Gap id to the bytes of its question's embedding by ``embedder``, where there is one."""
        statement = select(gaps.c.id, gaps.c.vector).where(gaps.c.embedder == embedder)
        return {row.id: row.vector for row in self._rows(statement) if row.vector}

    def embedded(self, vectors: Mapping[int, tuple[str, bytes]], embedder: str) -> None:
        """Keep vectors: gap id to the question that was embedded, and the bytes of it.

        One whose question was blacked out in the meantime gets none.
        """
        with self._database.write() as connection:
            for known, (question, vector) in sorted(vectors.items()):
                mine = (gaps.c.id == known, gaps.c.question == question)
                values = {"vector": vector, "embedder": embedder}
                connection.execute(update(gaps).where(*mine).values(**values))


def _set_status(connection: Connection, ids: list[int], status: GapStatus) -> int:
    values: dict[str, Any] = {"status": status, "closed_by": "", "closed_at": None}
    if status == "closed":
        values["closed_at"] = datetime.now(UTC)
    done = 0
    for some in chunks(ids):
        which = (gaps.c.id.in_(some), gaps.c.status != status)
        connection.execute(update(gaps).where(*which).values(**values))
        count = select(func.count()).select_from(gaps).where(gaps.c.id.in_(some))
        done += int(connection.execute(count).scalar() or 0)
    return done


def _made(rows: Iterable[Any]) -> list[Gap]:
    return [Gap(**{**row._mapping, "scope": tuple(row.scope)}) for row in rows]


FROM = ", from "  # in such a notice: after it stand the titles of what the answer cites


def forget_in_gaps(connection: Connection, removed: RemovedWords) -> None:
    """Take what gaps quote of removed texts out of them, and what their vectors tell of it."""
    changed = False
    for gap in connection.execute(select(gaps)).all():
        said = {
            "question": removed.blanked(gap.question),
            "reason": removed.blanked(gap.reason),
            "tried": removed.blanked(gap.tried),
            "limits": changed_in(gap.limits, removed.blanked),
        }
        if any(getattr(gap, name) != value for name, value in said.items()):
            key = gap_key(said["question"], gap.scope, said["limits"], gap.owner)
            gone = {"vector": None, "embedder": "", "key": key}
            connection.execute(update(gaps).where(gaps.c.id == gap.id).values(**said, **gone))
            changed = True
    told = select(notices.c.id, notices.c.text).where(notices.c.kind == GAP_CLOSED)
    for row in connection.execute(told).all():
        text = removed.blanked(row.text)
        if text != row.text:
            mine = notices.c.id == row.id
            connection.execute(update(notices).where(mine).values(text=text))
            changed = True
    if changed:
        note_deletion(connection)


def rename_in_gaps(connection: Connection, titles: Mapping[str, str]) -> None:
    """Put the new title in the place of each old one, where gaps and notices name sources.

    What was asked stays, and so does a reason that only repeats it.
    """
    change = titles_changed(titles.items())
    columns = (gaps.c.id, gaps.c.question, gaps.c.reason, gaps.c.tried)
    for gap in connection.execute(select(*columns)).all():
        said = {"reason": change(gap.reason), "tried": change(gap.tried)}
        same = said == {"reason": gap.reason, "tried": gap.tried}
        if not same and change(gap.question) == gap.question:
            connection.execute(update(gaps).where(gaps.c.id == gap.id).values(**said))
            note_deletion(connection)
    told = select(notices.c.id, notices.c.text).where(notices.c.kind == GAP_CLOSED)
    for row in connection.execute(told).all():
        asked, mark, names = row.text.rpartition(FROM)
        text = asked + mark + any_title_changed(titles)(names)
        if text != row.text:
            connection.execute(update(notices).where(notices.c.id == row.id).values(text=text))
            note_deletion(connection)


def gap_key(question: str, scope: Sequence[str], limits: Mapping[str, Any], owner: str) -> str:
    """Two questions with the same key are one gap: case and punctuation do not count."""
    told = [f"{name}={limits[name]}" for name in sorted(limits)]
    return tagged_hash("gap", sentence_hash(question), *scope, "/", *told, "/", owner)
