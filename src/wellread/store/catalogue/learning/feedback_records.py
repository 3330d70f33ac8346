"""Expert feedback as it is kept, and what it says of sentences and sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import delete, func, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.identity import sentence_hash
from wellread.store.catalogue.asking.answer_records import find_answer
from wellread.store.catalogue.asking.feedback_words import CHANGES, note_change
from wellread.store.catalogue.documents.lookup import property_of
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.feedback_values import Feedback
from wellread.store.schema.learning_tables import feedback, feedback_marks
from wellread.store.schema.tables import answers
from wellread.values.answers import Answer

MarkKind = Literal["harmful", "down", "up"]
_COLUMNS = ("id", "answer_id", "author", "question", "created_at", "updated_at", "score", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackMark:
    """What feedback says of a sentence (``key``: a hash of it) or a source (its document's id)."""

    kind: MarkKind
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuestion:
    """A question with feedback on its answer, to be compared with a new one.

    Attributes:
        vector: float32 bytes of its embedding by ``embedder``; empty until it was embedded.
    """

    feedback_id: str
    answer_id: str
    question: str
    score: float | None
    expired: str
    vector: bytes
    embedder: str


class FeedbackRecords(CataloguePart):
    """All feedback of the knowledge base."""

    def put(self, given: Feedback, marks: Sequence[FeedbackMark] = ()) -> None:
        """Keep feedback; that of the same author on the same answer is replaced."""
        body = to_plain(given)
        facts = {name: getattr(given, name) for name in _COLUMNS}
        for name in _COLUMNS:
            if name != "score":  # the column is a float, and a rating comes back as it was given
                del body[name]
        same = (feedback.c.answer_id == given.answer_id, feedback.c.author == given.author)
        with self._database.write() as connection:
            connection.execute(delete(feedback).where(*same))
            row = {**facts, "body": body, "vector": b"", "embedder": ""}
            connection.execute(insert(feedback), row)
            rows = [
                {"feedback_id": given.id, "ordinal": place, "kind": one.kind, "key": one.key}
                for place, one in enumerate(dict.fromkeys(marks))
            ]
            if rows:
                connection.execute(insert(feedback_marks), rows)
            note_change(connection)

    def get(self, feedback_id: str) -> Feedback | None:
        """The feedback of this id."""
        found = self._read(feedback.c.id == feedback_id)
        return found[0] if found else None

    def answer(self, answer_id: str) -> Answer | None:
        """An answer that there is feedback on."""
        with self._database.read() as connection:
            return find_answer(connection, answer_id)

    def of_answers(self, answer_ids: Iterable[str]) -> dict[str, list[Feedback]]:
        """Answer id to the feedback on it, the oldest first."""
        found: dict[str, list[Feedback]] = {}
        for one in self._read(feedback.c.answer_id.in_(sorted(answer_ids))):
            found.setdefault(one.answer_id, []).append(one)
        return found

    def every(self, *, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        """Feedback, the oldest first."""
        return self._read(limit=limit, offset=offset)

    def count(self) -> int:
        """How much there is."""
        return int(self._values(select(func.count()).select_from(feedback))[0])

    def remove(self, feedback_id: str) -> bool:
        """Forget feedback; whether there was one of this id."""
        with self._database.write() as connection:
            done = connection.execute(delete(feedback).where(feedback.c.id == feedback_id))
            note_change(connection)
            return done.rowcount > 0

    # --- what is looked up while a question is answered ---

    def stamp(self) -> str:
        """Another one after every change of what feedback says; one small query.

        The count is part of it, since feedback goes with its answer.
        """
        with self._database.read() as connection:
            changes = property_of(connection, CHANGES) or 0
            count = connection.execute(select(func.count()).select_from(feedback)).scalar()
        return f"{changes}/{count}"

    def named(self, feedback_ids: Iterable[str]) -> dict[str, Feedback]:
        """Feedback by its id; what is not there is left out."""
        return {one.id: one for one in self._read(feedback.c.id.in_(sorted(feedback_ids)))}

    def marked_by(self) -> dict[str, tuple[int, int]]:
        """Document id to how many people marked it down, and how many up, by feedback that counts.

        One person who says the same on many answers counts once.
        """
        statement = (
            select(
                feedback_marks.c.key,
                feedback_marks.c.kind,
                func.count(feedback.c.author.distinct()).label("people"),
            )
            .join_from(feedback_marks, feedback)
            .where(feedback_marks.c.kind.in_(("down", "up")), feedback.c.expired == "")
            .group_by(feedback_marks.c.key, feedback_marks.c.kind)
        )
        found: dict[str, tuple[int, int]] = {}
        for row in self._rows(statement):
            down, up = found.get(row.key, (0, 0))
            found[row.key] = (row.people, up) if row.kind == "down" else (down, row.people)
        return found

    def harmful_hashes(self) -> dict[str, set[str]]:
        """Author to the hash of each sentence that they flagged harmful."""
        statement = (
            select(feedback.c.author, feedback_marks.c.key)
            .join_from(feedback_marks, feedback)
            .where(feedback_marks.c.kind == "harmful")
        )
        found: dict[str, set[str]] = {}
        for row in self._rows(statement):
            found.setdefault(row.author, set()).add(row.key)
        return found

    def harmful_by(self) -> dict[str, dict[str, str]]:
        """Author to the hash of each sentence that they flagged harmful, and the sentence.

        The words are empty where the answer has them no more, since their source was removed.
        """
        said = answers.c.body["sentences"]
        statement = (
            select(feedback.c.author, feedback_marks.c.key, said.label("said"))
            .join_from(feedback_marks, feedback)
            .join(answers, answers.c.id == feedback.c.answer_id)
            .where(feedback_marks.c.kind == "harmful")
        )
        found: dict[str, dict[str, str]] = {}
        for row in self._rows(statement):
            theirs = found.setdefault(row.author, {})
            texts = (sentence["text"] for sentence in row.said or ())
            known = next((text for text in texts if sentence_hash(text) == row.key), "")
            theirs[row.key] = theirs.get(row.key) or known
        return found

    def questions(self) -> list[RatedQuestion]:
        """Every question that has feedback on its answer."""
        names = ("answer_id", "question", "score", "expired", "vector", "embedder")
        statement = select(feedback.c.id, *(feedback.c[name] for name in names))
        return [
            RatedQuestion(feedback_id=row.id, **{name: getattr(row, name) for name in names})
            for row in self._rows(statement.order_by(feedback.c.id))
        ]

    def embedded(self, vectors: dict[str, bytes], embedder: str) -> None:
        """Keep the vectors of questions: feedback id to the bytes of its embedding."""
        with self._database.write() as connection:
            for known, vector in sorted(vectors.items()):
                mine = feedback.c.id == known
                values = {"vector": vector, "embedder": embedder}
                connection.execute(update(feedback).where(mine).values(**values))

    def _read(self, *where: Any, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        columns = [feedback.c[name] for name in (*_COLUMNS, "body")]
        order = (feedback.c.created_at, feedback.c.id)
        statement = select(*columns).where(*where).order_by(*order).limit(limit).offset(offset)
        return [made_feedback(row) for row in self._rows(statement)]


def made_feedback(row: Any) -> Feedback:
    """The feedback that a row holds."""
    facts = {name: to_plain(getattr(row, name)) for name in _COLUMNS}
    plain = {**facts, **row.body}
    return from_plain(Feedback, plain)
