"""Stores expert feedback, looks it up for new questions, and expires it when its sources change.

Feedback expires when the words that support it are gone: the citations that the expert gave, or
else the answer's own quotations. When a document has a new version, its citations are checked
again: if the same words are still in the document, the citation moves to them. Code that presents
feedback as verified calls ``settle`` first, so a crash cannot make it stale; each ingest run calls
``sweep`` to settle all feedback, so that gaps are filed soon. The expiry and the gap are written in
one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.identity import sentence_hash, words_hash
from wellread.store.catalogue.asking.answer_records import find_answer
from wellread.store.catalogue.asking.answer_removal import RemovedWords, map_strings
from wellread.store.catalogue.asking.answer_rows import read_answers
from wellread.store.catalogue.documents.lookup import (
    live_versions,
    property_of,
    put_properties,
    whole_texts,
)
from wellread.store.catalogue.gap_records import record_gap
from wellread.store.schema.database import CataloguePart, insert_rows, reading, rows_to_values
from wellread.store.schema.stored_values import BetterCitation, Feedback
from wellread.store.schema.tables import answers, feedback, feedback_marks
from wellread.types import Span
from wellread.values.answers import Answer

_COLUMNS = ("id", "answer_id", "author", "question", "created_at", "updated_at", "score", "expired")
_HARMFUL = "harmful"  # the kind of a feedback mark for a flagged sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuestion:
    """A question with feedback on its answer, for comparison with new questions."""

    feedback_id: str
    answer_id: str
    question: str
    score: float | None
    expired: str
    vector: bytes
    embedder: str


class FeedbackRecords(CataloguePart):
    """All feedback of the knowledge base."""

    def put(self, entry: Feedback) -> None:
        """Store feedback, replacing the same author's feedback on the same answer."""
        body = to_plain(entry)
        facts = {name: getattr(entry, name) for name in _COLUMNS}
        for name in _COLUMNS:
            if name != "score":  # the column is a float, but the rating must keep its exact form
                del body[name]
        is_same = (feedback.c.answer_id == entry.answer_id, feedback.c.author == entry.author)
        with self._database.write() as connection:
            connection.execute(delete(feedback).where(*is_same))
            row = {**facts, "body": body, "vector": b"", "embedder": ""}
            connection.execute(insert(feedback), row)
            harmful = (rating.content for rating in entry.sentences if rating.harmful)
            rows = (
                {"feedback_id": entry.id, "ordinal": ordinal, "kind": _HARMFUL, "key": content}
                for ordinal, content in enumerate(dict.fromkeys(harmful))
            )
            insert_rows(connection, feedback_marks, rows)
            note_change(connection)

    answer = reading(find_answer)  # for reading feedback together with its answer

    def of_answers(self, answer_ids: Iterable[str]) -> dict[str, list[Feedback]]:
        """The feedback on each answer, oldest first, by answer id."""
        by_answer: dict[str, list[Feedback]] = {}
        for entry in self._read(feedback.c.answer_id.in_(sorted(answer_ids))):
            by_answer.setdefault(entry.answer_id, []).append(entry)
        return by_answer

    def list_all(self, *, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        """All feedback, oldest first."""
        return self._read(limit=limit, offset=offset)

    def count(self) -> int:
        """The number of feedback entries."""
        return int(self._values(select(func.count()).select_from(feedback))[0])

    def remove(self, feedback_id: str) -> bool:
        """Delete feedback; return whether this id existed."""
        with self._database.write() as connection:
            result = connection.execute(delete(feedback).where(feedback.c.id == feedback_id))
            note_change(connection)
            return result.rowcount > 0

    # --- read while a question is answered ---

    def stamp(self) -> str:
        """A stamp that changes whenever feedback changes; cheap to read.

        It includes the count, since feedback is deleted together with its answer.
        """
        with self._database.read() as connection:
            changes = property_of(connection, CHANGES) or 0
            count = connection.execute(select(func.count()).select_from(feedback)).scalar()
        return f"{changes}/{count}"

    def named(self, feedback_ids: Iterable[str]) -> dict[str, Feedback]:
        """Feedback by id; unknown ids are left out."""
        return {entry.id: entry for entry in self._read(feedback.c.id.in_(sorted(feedback_ids)))}

    def harmful_hashes(self) -> dict[str, set[str]]:
        """The hashes of the sentences flagged as harmful, by author."""
        hashes: dict[str, set[str]] = {}
        for row in self._rows(_FLAGGED):
            hashes.setdefault(row.author, set()).add(row.key)
        return hashes

    def harmful_by(self) -> dict[str, dict[str, str]]:
        """The sentences flagged as harmful, by author and by their hashes.

        A sentence is empty when the answer has lost it because its source was removed.
        """
        with self._database.read() as connection:
            rows = connection.execute(_FLAGGED).all()
            answers_by_id = read_answers(connection, {row.answer_id for row in rows})
        by_author: dict[str, dict[str, str]] = {}
        for row in rows:
            texts = (sentence.text for sentence in answers_by_id[row.answer_id].sentences)
            flagged = next((text for text in texts if sentence_hash(text) == row.key), "")
            sentences = by_author.setdefault(row.author, {})
            sentences[row.key] = sentences.get(row.key) or flagged
        return by_author

    def questions(self) -> list[RatedQuestion]:
        """All questions with feedback on their answers."""
        names = ("answer_id", "question", "score", "expired", "vector", "embedder")
        columns = (feedback.c.id.label("feedback_id"), *(feedback.c[name] for name in names))
        rows = self._rows(select(*columns).order_by(feedback.c.id))
        return rows_to_values(RatedQuestion, rows)

    def store_vectors(self, vectors: dict[str, bytes], embedder: str) -> None:
        """Store the embeddings of questions as vector bytes by feedback id."""
        with self._database.write() as connection:
            for feedback_id, vector in sorted(vectors.items()):
                is_feedback = feedback.c.id == feedback_id
                values = {"vector": vector, "embedder": embedder}
                connection.execute(update(feedback).where(is_feedback).values(**values))

    def _read(self, *conditions: Any, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        columns = [feedback.c[name] for name in (*_COLUMNS, "body")]
        order = (feedback.c.created_at, feedback.c.id)
        statement = select(*columns).where(*conditions).order_by(*order).limit(limit).offset(offset)
        return [feedback_of(row) for row in self._rows(statement)]


_FLAGGED = (
    select(feedback.c.author, feedback_marks.c.key, feedback.c.answer_id)
    .join_from(feedback_marks, feedback)
    .where(feedback_marks.c.kind == _HARMFUL)
)


def feedback_of(row: Any) -> Feedback:
    """Build feedback from a row."""
    facts = {name: to_plain(getattr(row, name)) for name in _COLUMNS}
    return from_plain(Feedback, {**facts, **row.body})


_WORD_START = re.compile(r"(?<!\S)\S|\b\w")  # a word, or the sign before it, may start a citation


class Expiry(CataloguePart):
    """Updates feedback whose sources have changed: moves its citations or expires it."""

    def sweep(self) -> int:
        """Settle all feedback whose sources have changed; return the number that expired."""
        statement = (
            select(feedback, answers.c.stale)
            .join_from(feedback, answers)
            .where(feedback.c.expired == "")
            .order_by(feedback.c.created_at, feedback.c.id)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            entries = [
                (item, places_given(item), row.stale) for row in rows for item in [feedback_of(row)]
            ]
            document_ids = {place.document_id for _, places, _ in entries for place in places}
            live = live_versions(connection, document_ids)
        suspects = [
            item
            for item, places, stale in entries
            if (not places and stale)
            or any(live.get(place.document_id) != place.version for place in places)
        ]
        return sum(bool(item.expired) for item in self.settle(suspects))

    def settle(self, entries: Iterable[Feedback]) -> list[Feedback]:
        """Move citations of feedback to the live text, or expire it; return it as stored."""
        settled: list[Feedback] = []
        for entry in entries:
            if entry.expired:
                settled.append(entry)
                continue
            with self._database.read() as connection:
                current = _settle(connection, entry)
            if current != entry:
                with self._database.write() as connection:
                    _store_settled(connection, entry, current)
            settled.append(current)
        return settled

    def now(self, places: Sequence[BetterCitation]) -> list[BetterCitation | None]:
        """Each place moved to the live text; None when its words are gone."""
        with self._database.read() as connection:
            live = live_versions(connection, {place.document_id for place in places})
            moved_places = [
                place
                if live.get(place.document_id) == place.version
                else _relocate(connection, place, live.get(place.document_id))
                for place in places
            ]
        return [None if isinstance(place, str) else place for place in moved_places]


def corrects(entry: Feedback) -> bool:
    """Whether the expert corrected the answer or one of its sentences."""
    return bool(entry.correction or any(sentence.correction for sentence in entry.sentences))


def places_given(entry: Feedback) -> list[BetterCitation]:
    """The citations that the expert gave, for the answer and for single sentences."""
    citations = [sentence.citation for sentence in entry.sentences if sentence.citation is not None]
    return [*entry.citations, *citations]


def places_quoted(answer: Answer, numbers: Iterable[int] | None = None) -> list[BetterCitation]:
    """The answer's citations, or those with these numbers, as places."""
    chosen = None if numbers is None else set(numbers)
    return [
        BetterCitation(
            document_id=cited.document_id,
            version=cited.version,
            span=cited.source_span,
            content=words_hash(cited.quote),
        )
        for cited in answer.citations
        if chosen is None or cited.id in chosen
    ]


def supporting_places(entry: Feedback, answer: Answer | None) -> list[BetterCitation]:
    """The places whose words must still exist for the feedback to count."""
    return places_given(entry) or (places_quoted(answer) if answer else [])


# --- moving citations ------------------------------------------------------------------------


def _settle(connection: Connection, entry: Feedback) -> Feedback:
    given_places = places_given(entry)
    answer = None if given_places else find_answer(connection, entry.answer_id)
    places = supporting_places(entry, answer)
    live = live_versions(connection, {item.document_id for item in places})
    moved_places: dict[BetterCitation, BetterCitation] = {}
    for place in places:
        if live.get(place.document_id) == place.version:
            continue
        moved_place = _relocate(connection, place, live.get(place.document_id))
        if isinstance(moved_place, str):
            return replace(entry, expired=moved_place)
        moved_places[place] = moved_place
    if not given_places:
        return entry
    return replace(
        entry,
        citations=tuple(moved_places.get(item, item) for item in entry.citations),
        sentences=tuple(
            replace(item, citation=moved_places.get(item.citation, item.citation))
            if item.citation
            else item
            for item in entry.sentences
        ),
    )


def _relocate(
    connection: Connection, place: BetterCitation, version: str | None
) -> BetterCitation | str:
    """The place in the live version, or the reason why its words are missing."""
    if version is None:
        return "a source that it cites was removed"
    document_id = place.document_id
    span = find_words(whole_texts(connection, [document_id]).get(document_id, ""), place)
    if span is None:
        # Without the title, which would remain here if the document were removed later.
        day = datetime.now(UTC).date().isoformat()
        return f"the words that it cites are no longer in their source (noticed {day})"
    return replace(place, version=version, span=span)


def find_words(text: str, place: BetterCitation) -> Span | None:
    """The span of the words of ``place`` in ``text``, at the old position first, or None.

    Only a hash of the words is stored, so all text of their length is tried from each word on.
    """
    length = place.span.end - place.span.start
    for start in (place.span.start, *(match.start() for match in _WORD_START.finditer(text))):
        if words_hash(text[start : start + length]) == place.content:
            return Span(start=start, end=start + length)
    return None


# --- writing ---------------------------------------------------------------------------------


def _store_settled(connection: Connection, original: Feedback, final: Feedback) -> None:
    """Store settled feedback, unless it was settled or changed by another process since."""
    unchanged = (
        feedback.c.id == final.id,
        feedback.c.expired == "",
        feedback.c.updated_at == original.updated_at,
    )
    if not final.expired:
        plain = to_plain(final)
        stored = connection.execute(select(feedback.c.body).where(*unchanged)).scalar()
        if stored is not None:
            new_body = {**stored, "citations": plain["citations"], "sentences": plain["sentences"]}
            connection.execute(update(feedback).where(*unchanged).values(body=new_body))
        return
    result = connection.execute(update(feedback).where(*unchanged).values(expired=final.expired))
    if not result.rowcount:
        return
    note_change(connection)
    if corrects(final):
        # The gap has no owner: the author of the feedback need not have asked the question.
        reason = f"a correction expired: {final.expired}"
        record_gap(connection, final.question, reason, kind="expired", answer_id=final.answer_id)


CHANGES = "feedback_changes"  # the property that counts the changes to feedback


def note_change(connection: Connection) -> None:
    """Count a change to feedback, which invalidates all caches that depend on it."""
    put_properties(connection, {CHANGES: int(property_of(connection, CHANGES) or 0) + 1})


def redact_feedback(connection: Connection, removed: RemovedWords) -> None:
    """Remove quotations of removed texts from all feedback."""
    if not removed:
        return
    columns = (feedback.c.id, feedback.c.question, feedback.c.body)
    for row in connection.execute(select(*columns)).all():
        question = removed.redact(row.question)
        body = map_strings(row.body, removed.redact)
        if (question, body) != (row.question, row.body):
            values: dict[str, Any] = {"question": question, "body": body}
            if question != row.question:  # the vector would reveal the removed words
                values |= {"vector": b"", "embedder": ""}
            statement = update(feedback).where(feedback.c.id == row.id)
            connection.execute(statement.values(updated_at=datetime.now(UTC), **values))
            note_change(connection)
