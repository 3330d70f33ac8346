"""Stores gaps: questions without a good answer, to be retried and closed when material arrives.

The same question by the same user about the same part of the material is one gap with a count. A
closed gap is reopened when it is filed again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, func, insert, or_, select, update

from wellread.codec import storable
from wellread.identity import sentence_hash, tagged_hash
from wellread.store.catalogue.asking.answer_records import record_answer
from wellread.store.catalogue.asking.answer_removal import RemovedWords, map_strings, title_redactor
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.documents.reindexing import note_deletion
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.stored_values import Gap, GapKind, GapStatus
from wellread.store.schema.tables import answers, documents, gaps
from wellread.values.answers import Answer

FACTS = [gaps.c[item.name] for item in fields(Gap)]
OUTDATED = "a source of the answer that closed this question has changed or was removed"
COMPARED_UNTIL = "gaps/looked"  # the property with the time up to which new documents were compared
MAX_GAPS = 5_000  # newest gaps that one read returns
JUDGED = ("badly_rated", "expired")  # kinds of gaps that are about an earlier answer


class Filing(TypedDict, total=False):
    """Optional fields of a gap that is filed; see ``Gap``."""

    kind: GapKind
    scope: Sequence[str]
    limits: Mapping[str, Any]
    answer_id: str
    owner: str


def record_gap(connection: Connection, question: str, reason: str, **filing: Unpack[Filing]) -> int:
    """File a question without a good answer; return the id of its gap."""
    # A bad rating or an expired correction updates the answer's gap without counting as asked.
    question, reason = " ".join(storable(question).split()), storable(reason)
    scope, owner = sorted(set(filing.get("scope", ()))), filing.get("owner", "")
    limits = dict(filing.get("limits", {}))
    now = datetime.now(UTC)
    key = gap_key(question, scope, limits, owner)
    values = {
        "question": question,
        "reason": reason,
        "kind": filing.get("kind", "unanswered"),
        "answer_id": filing.get("answer_id", ""),
        "asked_at": now,
    }
    judged = values["kind"] in JUDGED and values["answer_id"]
    is_gap = or_(gaps.c.key == key, gaps.c.answer_id == judged) if judged else gaps.c.key == key
    query = select(gaps.c.id, gaps.c.status).where(is_gap).order_by(gaps.c.key != key, gaps.c.id)
    existing = connection.execute(query).first()
    if existing is None:
        row = {"key": key, "scope": scope, "limits": limits, "owner": owner, "created_at": now}
        new_key = connection.execute(insert(gaps), {**row, **values}).inserted_primary_key
        return int(new_key[0]) if new_key else 0
    if judged:
        changed = {"kind": values["kind"], "reason": reason}
    else:
        changed = {"asked": gaps.c.asked + 1, **values}
    connection.execute(update(gaps).where(gaps.c.id == existing.id).values(**changed))
    if existing.status == "closed":
        _set_status(connection, [existing.id], "open")
    return int(existing.id)


def list_gaps(connection: Connection) -> list[Gap]:
    """The newest gaps, newest first."""
    return _gaps(connection.execute(select(*FACTS).order_by(gaps.c.id.desc()).limit(MAX_GAPS)))


class GapLedger(CataloguePart):
    """All gaps of the knowledge base."""

    def of(self, ids: Iterable[int]) -> list[Gap]:
        """The gaps with these ids, ordered by id."""
        return _gaps(self._rows(select(*FACTS).where(gaps.c.id.in_(list(ids))).order_by(gaps.c.id)))

    def waiting(self) -> list[Gap]:
        """The gaps that are not closed, most often asked first."""
        order = (gaps.c.asked.desc(), gaps.c.id)
        return _gaps(self._rows(select(*FACTS).where(gaps.c.status != "closed").order_by(*order)))

    def any_waiting(self) -> bool:
        """Whether any gap is not closed."""
        return bool(self._rows(select(gaps.c.id).where(gaps.c.status != "closed").limit(1)))

    def set_status(self, ids: Iterable[int], status: GapStatus) -> int:
        """Open, plan or close gaps by hand; return the number of ids that exist."""
        with self._database.write() as connection:
            return _set_status(connection, list(ids), status)

    def close(self, gap: Gap, answer: Answer, read: Iterable[str] = ()) -> bool:
        """Close a gap and record its answer, as ``Catalogue.record_answer`` does.

        Return False, and record nothing, when the gap was closed, asked or deleted meanwhile.
        """
        now = datetime.now(UTC)
        is_open = (gaps.c.id == gap.id, gaps.c.status != "closed", gaps.c.asked == gap.asked)
        values = {"status": "closed", "closed_by": answer.id, "closed_at": now, "tried": ""}
        closed = update(gaps).where(*is_open, gaps.c.question == gap.question)
        with self._database.write() as connection:
            was_open = connection.execute(closed.values(tried_at=now, **values)).rowcount > 0
            if was_open:
                record_answer(connection, answer, read)
            return was_open

    def reopen_outdated(self) -> int:
        """Reopen the gaps whose closing answer has become stale; return their number."""
        stale = select(answers.c.id).where(answers.c.stale.is_(True))
        is_outdated = (gaps.c.status == "closed", gaps.c.closed_by.in_(stale))
        values = {"status": "open", "closed_by": "", "closed_at": None, "tried": OUTDATED}
        with self._database.write() as connection:
            return connection.execute(update(gaps).where(*is_outdated).values(**values)).rowcount

    def tried(self, gap_id: int, why: str, at: datetime) -> None:
        """Record that a gap was retried without success, with the reason."""
        self._run(update(gaps).where(gaps.c.id == gap_id).values(tried=why, tried_at=at))

    def record_no_news(self, gap_ids: Iterable[int], at: datetime) -> None:
        """Record that no new document concerns these gaps, so the same ones are not tried again."""
        with self._database.write() as connection:
            for batch in chunks(gap_ids):
                connection.execute(update(gaps).where(gaps.c.id.in_(batch)).values(tried_at=at))

    # --- which documents are new ---

    def looked(self) -> datetime | None:
        """The time up to which documents were compared with the gaps; None if never."""
        with self._database.read() as connection:
            stored = property_of(connection, COMPARED_UNTIL)
        return datetime.fromisoformat(str(stored)) if stored else None

    def set_compared_until(self, moment: datetime) -> None:
        """Record that documents written up to ``moment`` were compared with the gaps."""
        with self._database.write() as connection:
            put_properties(connection, {COMPARED_UNTIL: moment.isoformat()})

    def documents_since(self, since: datetime | None) -> dict[str, datetime]:
        """The times of writing of documents after ``since``, by id, oldest first."""
        written_at = documents.c.updated_at
        statement = select(documents.c.id, written_at).order_by(written_at, documents.c.id)
        if since is not None:
            statement = statement.where(written_at > since)
        return {row.id: row.updated_at for row in self._rows(statement)}

    # --- vectors for clustering ---

    def vectors(self, embedder: str) -> dict[int, bytes]:
        """The stored embeddings of questions by ``embedder``, by gap id."""
        statement = select(gaps.c.id, gaps.c.vector).where(gaps.c.embedder == embedder)
        return {row.id: row.vector for row in self._rows(statement) if row.vector}

    def store_vectors(self, vectors: Mapping[int, tuple[str, bytes]], embedder: str) -> None:
        """Store vectors: the embedded question and its vector bytes, by gap id.

        A gap whose question was redacted meanwhile gets no vector.
        """
        with self._database.write() as connection:
            for gap_id, (question, vector) in sorted(vectors.items()):
                is_gap = (gaps.c.id == gap_id, gaps.c.question == question)
                values = {"vector": vector, "embedder": embedder}
                connection.execute(update(gaps).where(*is_gap).values(**values))


def _set_status(connection: Connection, ids: list[int], status: GapStatus) -> int:
    values: dict[str, Any] = {"status": status, "closed_by": "", "closed_at": None}
    if status == "closed":
        values["closed_at"] = datetime.now(UTC)
    existing = 0
    for batch in chunks(ids):
        differs = (gaps.c.id.in_(batch), gaps.c.status != status)
        connection.execute(update(gaps).where(*differs).values(**values))
        count = select(func.count()).select_from(gaps).where(gaps.c.id.in_(batch))
        existing += int(connection.execute(count).scalar() or 0)
    return existing


def _gaps(rows: Iterable[Any]) -> list[Gap]:
    return [Gap(**{**row._mapping, "scope": tuple(row.scope)}) for row in rows]


def redact_gaps(connection: Connection, removed: RemovedWords, titles: Collection[str]) -> None:
    """Redact quotations and titles of removed documents in gaps.

    The question, and what repeats a title in it, are the user's own words, so they keep the title.
    A gap whose question changes loses its vector.
    """
    if not removed and not titles:
        return
    black = title_redactor(titles)
    for gap in connection.execute(select(gaps)).all():
        redact_title = str if black(gap.question) != gap.question else black
        new = {
            "question": removed.redact(gap.question),
            "reason": redact_title(removed.redact(gap.reason)),
            "tried": redact_title(removed.redact(gap.tried)),
            "limits": map_strings(gap.limits, removed.redact),
        }
        if any(getattr(gap, name) != value for name, value in new.items()):
            key = gap_key(new["question"], gap.scope, new["limits"], gap.owner)
            lost = {"vector": None, "embedder": ""} if new["question"] != gap.question else {}
            is_gap = gaps.c.id == gap.id
            connection.execute(update(gaps).where(is_gap).values(**new, **lost, key=key))
            note_deletion(connection)


def gap_key(question: str, scope: Sequence[str], limits: Mapping[str, Any], owner: str) -> str:
    """The key that identifies a gap; ignores case and punctuation of the question."""
    limit_parts = [f"{name}={limits[name]}" for name in sorted(limits)]
    return tagged_hash("gap", sentence_hash(question), *scope, "/", *limit_parts, "/", owner)
