"""Questions that were not answered, or not well: filed, asked again, closed, forgotten.

The same question of the same person, asked of the same part of the material, is one gap that is
asked so many times. One that was closed opens again when it is filed once more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from wellread.codec import storable
from wellread.identity import sentence_hash, tagged_hash
from wellread.store.catalogue.asking.redaction import RemovedWords, changed_in
from wellread.store.catalogue.documents.index_debts import note_deletion
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.schema.catalogue_values import Gap, GapKind, GapStatus
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.learning_tables import gaps, notices
from wellread.store.schema.tables import answers, documents, passages

FACTS = [gaps.c[one.name] for one in fields(Gap)]
CLOSED_NOTICE = "gap_closed"
LOOKED = "gaps/looked"  # the property that holds up to when new documents were looked at
MOST = 5_000  # gaps that are read at once, the newest


class Filing(TypedDict, total=False):
    """What else is known of a gap that is filed; see ``Gap``."""

    kind: GapKind
    scope: Sequence[str]
    limits: Mapping[str, Any]
    answer_id: str
    owner: str


def record_gap(connection: Connection, question: str, reason: str, **known: Unpack[Filing]) -> int:
    """Keep a question that could not be answered, or not well; the id of its gap.

    Args:
        reason: what the material lacks, in words.
    """
    question, reason = " ".join(storable(question).split()), storable(reason)
    scope, owner = sorted(set(known.get("scope", ()))), known.get("owner", "")
    limits = dict(known.get("limits", {}))
    now = datetime.now(UTC)
    key = _key(question, scope, limits, owner)
    said = {
        "question": question,
        "reason": reason,
        "kind": known.get("kind", "unanswered"),
        "answer_id": known.get("answer_id", ""),
        "asked_at": now,
    }
    same = connection.execute(select(gaps.c.id, gaps.c.status).where(gaps.c.key == key)).first()
    if same is None:
        row = {"key": key, "scope": scope, "limits": limits, "owner": owner, "created_at": now}
        made = connection.execute(insert(gaps), {**row, **said}).inserted_primary_key
        return int(made[0]) if made else 0
    again = update(gaps).where(gaps.c.id == same.id).values(asked=gaps.c.asked + 1, **said)
    connection.execute(again)
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

    def close(self, gap: Gap, answer_id: str) -> bool:
        """An answer closes a gap; False when it was closed or asked again in the meantime."""
        now = datetime.now(UTC)
        same = (gaps.c.id == gap.id, gaps.c.status != "closed", gaps.c.asked == gap.asked)
        values = {"status": "closed", "closed_by": answer_id, "closed_at": now, "tried_at": now}
        with self._database.write() as connection:
            done = connection.execute(update(gaps).where(*same).values(tried="", **values))
            return done.rowcount > 0

    def tried(self, gap_id: int, why: str, at: datetime) -> None:
        """A gap was asked again and stays open, and why."""
        self._run(update(gaps).where(gaps.c.id == gap_id).values(tried=why, tried_at=at))

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

    def passage_ids(self, document_ids: Iterable[str]) -> Iterator[list[str]]:
        """The ids of the passages of documents, some at a time."""
        for some in chunks(document_ids):
            order = (passages.c.document_id, passages.c.ordinal)
            statement = select(passages.c.id).where(passages.c.document_id.in_(some))
            yield from chunks(self._values(statement.order_by(*order)))

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


# --- forgetting ---------------------------------------------------------------------------------


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
            key = _key(said["question"], gap.scope, said["limits"], gap.owner)
            gone = {"vector": None, "embedder": "", "key": key}
            connection.execute(update(gaps).where(gaps.c.id == gap.id).values(**said, **gone))
            changed = True
    told = select(notices.c.id, notices.c.text).where(notices.c.kind == CLOSED_NOTICE)
    for row in connection.execute(told).all():
        text = removed.blanked(row.text)
        if text != row.text:
            mine = notices.c.id == row.id
            connection.execute(update(notices).where(mine).values(text=text))
            changed = True
    if changed:
        note_deletion(connection)


def forget_questions(connection: Connection, bodies: Collection[Mapping[str, Any]]) -> None:
    """Delete the gaps that these removed answers filed, unless another has the same question.

    With a gap goes the answer that closed it by itself, and what its owner was told of that.
    """
    for body in bodies:
        asked = " ".join(str(body.get("standalone") or body["question"]).split())
        filed = connection.execute(
            select(gaps.c.id, gaps.c.closed_by).where(
                or_(gaps.c.question == asked, gaps.c.answer_id == body["id"]),
                gaps.c.owner.in_({str(body.get("owner", "")), ""}),
            )
        ).all()
        closing = {row.closed_by for row in filed} - {""}
        same = select(answers.c.id).where(answers.c.question == asked, ~answers.c.id.in_(closing))
        if filed and connection.execute(same.limit(1)).first() is None:
            connection.execute(delete(gaps).where(gaps.c.id.in_([row.id for row in filed])))
            connection.execute(delete(answers).where(answers.c.id.in_(closing)))
            told = (notices.c.kind == CLOSED_NOTICE, notices.c.target.in_(closing))
            connection.execute(delete(notices).where(*told))
    gone = [str(body["id"]) for body in bodies]
    for some in chunks(gone):
        for column in (gaps.c.answer_id, gaps.c.closed_by):
            connection.execute(update(gaps).where(column.in_(some)).values({column: ""}))


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


def _key(question: str, scope: Sequence[str], limits: Mapping[str, Any], owner: str) -> str:
    """Two questions with the same key are one gap: case and punctuation do not count."""
    told = [f"{name}={limits[name]}" for name in sorted(limits)]
    return tagged_hash("gap", sentence_hash(question), *scope, "/", *told, "/", owner)


def _made(rows: Iterable[Any]) -> list[Gap]:
    return [Gap(**{**row._mapping, "scope": tuple(row.scope)}) for row in rows]
