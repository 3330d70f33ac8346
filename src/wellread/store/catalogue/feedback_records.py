"""Expert feedback as it is kept, what it says of sentences and sources, and when it expires.

Feedback expires when the words that it rests on are not there any more: the places that the expert
gave, else what the answer quotes. A place whose document has another version is looked at again:
the same words may stand there still, or elsewhere in the document, and then the place moves.
Whoever reads feedback to say it as verified settles it first (``settle``), so it holds after a
crash too; a run of ingest settles all of it (``sweep``), so that people are told soon. What
expires, the notice to its author and the open question are written in one transaction, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.identity import sentence_hash, words_hash
from wellread.store.catalogue.asking.answer_records import find_answer
from wellread.store.catalogue.asking.answer_rows import RemovedWords, changed_in, shown_answers
from wellread.store.catalogue.documents.lookup import (
    live_versions,
    property_of,
    put_properties,
    whole_texts,
)
from wellread.store.catalogue.gap_records import record_gap
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.stored_values import BetterCitation, Feedback
from wellread.store.schema.tables import answers, feedback, feedback_marks, notices
from wellread.types import Span
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
    """A question with feedback on its answer, to be compared with a new one."""

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
        statement = (
            select(feedback.c.author, feedback_marks.c.key, feedback.c.answer_id)
            .join_from(feedback_marks, feedback)
            .where(feedback_marks.c.kind == "harmful")
        )
        found: dict[str, dict[str, str]] = {}
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            given = shown_answers(connection, {row.answer_id for row in rows})
        for row in rows:
            theirs = found.setdefault(row.author, {})
            texts = (sentence.text for sentence in given[row.answer_id].sentences)
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


EXPIRED = "correction_expired"  # the kind of the notice
_BEGIN = re.compile(r"(?<!\S)\S|\b\w")  # where a place may begin: a word, or what stands before it


class Expiry(CataloguePart):
    """Settles whether feedback counts still."""

    def sweep(self) -> int:
        """Settle all feedback whose sources have changed; how much of it expired."""
        statement = (
            select(feedback, answers.c.stale)
            .join_from(feedback, answers)
            .where(feedback.c.expired == "")
            .order_by(feedback.c.created_at, feedback.c.id)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            given = [
                (one, places_given(one), row.stale) for row in rows for one in [made_feedback(row)]
            ]
            named = {place.document_id for _, places, _ in given for place in places}
            live = live_versions(connection, named)
        suspects = [
            one
            for one, places, stale in given
            if (not places and stale)
            or any(live.get(place.document_id) != place.version for place in places)
        ]
        return sum(bool(one.expired) for one in self.settle(suspects))

    def settle(self, given: Iterable[Feedback]) -> list[Feedback]:
        """The feedback as it stands now: its places moved, or expired where words have gone."""
        settled: list[Feedback] = []
        for one in given:
            if one.expired:
                settled.append(one)
                continue
            with self._database.read() as connection:
                now = _settled(connection, one)
            if now != one:
                with self._database.write() as connection:
                    _write(connection, one, now)
            settled.append(now)
        return settled

    def now(self, places: Sequence[BetterCitation]) -> list[BetterCitation | None]:
        """Each place where it stands now; None where its words are not there any more."""
        with self._database.read() as connection:
            live = live_versions(connection, {one.document_id for one in places})
            found = [
                one
                if live.get(one.document_id) == one.version
                else _again(connection, one, live.get(one.document_id))
                for one in places
            ]
        return [None if isinstance(one, _Lost) else one for one in found]


def corrects(given: Feedback) -> bool:
    """Whether the expert said what the answer, or a sentence of it, should say instead."""
    return bool(given.correction or any(one.correction for one in given.sentences))


def places_given(given: Feedback) -> list[BetterCitation]:
    """The places that the expert gave, for the whole or for single sentences."""
    own = [one.citation for one in given.sentences if one.citation is not None]
    return [*given.citations, *own]


def places_quoted(answer: Answer, numbers: Iterable[int] | None = None) -> list[BetterCitation]:
    """What an answer quotes, all of it or the citations of these numbers, as places."""
    wanted = None if numbers is None else set(numbers)
    return [
        BetterCitation(
            document_id=cited.document_id,
            version=cited.version,
            span=cited.source_span,
            content=words_hash(cited.quote),
        )
        for cited in answer.citations
        if wanted is None or cited.id in wanted
    ]


def rests_on(given: Feedback, answer: Answer | None) -> list[BetterCitation]:
    """The places whose words have to stay for the feedback to count."""
    return places_given(given) or (places_quoted(answer) if answer else [])


# --- whether it did --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lost:
    """Why a place is there no more, in words."""

    why: str


def _settled(connection: Connection, given: Feedback) -> Feedback:
    own = places_given(given)
    answer = None if own else find_answer(connection, given.answer_id)
    places = rests_on(given, answer)
    live = live_versions(connection, {one.document_id for one in places})
    now: dict[BetterCitation, BetterCitation] = {}
    for place in places:
        if live.get(place.document_id) == place.version:
            continue
        found = _again(connection, place, live.get(place.document_id))
        if isinstance(found, _Lost):
            return replace(given, expired=found.why)
        now[place] = found
    if not own:
        return given
    return replace(
        given,
        citations=tuple(now.get(one, one) for one in given.citations),
        sentences=tuple(
            replace(one, citation=now.get(one.citation, one.citation)) if one.citation else one
            for one in given.sentences
        ),
    )


def _again(
    connection: Connection, place: BetterCitation, version: str | None
) -> BetterCitation | _Lost:
    """The place in the version that is live, or why its words are not there."""
    if version is None:
        return _Lost("a source that it rests on was removed")
    known = place.document_id
    span = moved(whole_texts(connection, [known]).get(known, ""), place)
    if span is None:
        # No title: one of a document that is removed later would stay here.
        day = datetime.now(UTC).date().isoformat()
        return _Lost(f"the words that it rests on are not in their source any more (seen {day})")
    return replace(place, version=version, span=span)


def moved(text: str, place: BetterCitation) -> Span | None:
    """Where the words of ``place`` stand in ``text``: there, else elsewhere; None: nowhere.

    Only a hash of the words is known, so every stretch of their length from a word on is tried.
    """
    length = place.span.end - place.span.start
    for start in (place.span.start, *(found.start() for found in _BEGIN.finditer(text))):
        if words_hash(text[start : start + length]) == place.content:
            return Span(start=start, end=start + length)
    return None


# --- what is written -------------------------------------------------------------------------


def _write(connection: Connection, before: Feedback, now: Feedback) -> None:
    """Keep what was found, unless somebody else has settled or changed the feedback since."""
    mine = (
        feedback.c.id == now.id,
        feedback.c.expired == "",
        feedback.c.updated_at == before.updated_at,
    )
    if not now.expired:
        plain = to_plain(now)
        body = select(feedback.c.body).where(*mine)
        kept = connection.execute(body).scalar()
        if kept is not None:
            new = {**kept, "citations": plain["citations"], "sentences": plain["sentences"]}
            connection.execute(update(feedback).where(*mine).values(body=new))
        return
    done = connection.execute(update(feedback).where(*mine).values(expired=now.expired))
    if not done.rowcount:
        return
    note_change(connection)
    if corrects(now):
        _tell(connection, now)


def _tell(connection: Connection, expired: Feedback) -> None:
    """Tell its author, and leave the question open, to be asked again."""
    moment = datetime.now(UTC)
    told = {
        "owner": expired.author,
        "created_at": moment,
        "kind": EXPIRED,
        "target": expired.id,
        "text": f"Your correction of “{expired.question}” counts no more: {expired.expired}.",
    }
    connection.execute(insert(notices).values(**told))
    # The answers table says nothing of whose the question is that the person who asked it has not
    # said; the gap is that of everybody, like those of unanswered questions.
    reason = f"a correction expired: {expired.expired}"
    record_gap(connection, expired.question, reason, kind="expired", answer_id=expired.answer_id)


CHANGES = "feedback_changes"  # the property that counts every change of what feedback says


def note_change(connection: Connection) -> None:
    """What feedback says has changed, so that nothing is held or given again that hangs on it."""
    put_properties(connection, {CHANGES: int(property_of(connection, CHANGES) or 0) + 1})


def forget_in_feedback(connection: Connection, removed: RemovedWords) -> None:
    """Take what was quoted of removed texts out of all feedback, and of what people are told."""
    if not removed:
        return
    columns = (feedback.c.id, feedback.c.question, feedback.c.body)
    for row in connection.execute(select(*columns)).all():
        question = removed.blanked(row.question)
        body = changed_in(row.body, removed.blanked)
        if (question, body) != (row.question, row.body):
            values: dict[str, Any] = {"question": question, "body": body}
            if question != row.question:  # its vector would tell of the words that went
                values |= {"vector": b"", "embedder": ""}
            changed = update(feedback).where(feedback.c.id == row.id)
            connection.execute(changed.values(updated_at=datetime.now(UTC), **values))
            note_change(connection)
    for told in connection.execute(select(notices.c.id, notices.c.text)).all():
        text = removed.blanked(told.text)
        if text != told.text:
            connection.execute(update(notices).where(notices.c.id == told.id).values(text=text))
