"""Answers that were given, what they rest on, and the questions that stayed open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from wellread.answers import Answer, Sentence
from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.schema import answer_evidence, answers, documents, gaps
from wellread.store.catalogue.values import Gap, StoredAnswer, VersionKey

BLANK = "█"
AT_ONCE = 500
FACTS = [column for column in answers.c if column.name != "body"]


def record_answer(connection: Connection, answer: Answer) -> None:
    """Keep ``answer`` with the spans that it cites; one of the same id is replaced.

    It is stale from the start when a source changed or went while it was being written.
    """
    cited = {citation.document_id for citation in answer.citations}
    live = _live(connection, cited)
    stale = any(live.get(one.document_id) != one.version for one in answer.citations)
    answer = without_quotes(answer, cited.difference(live))
    connection.execute(delete(answers).where(answers.c.id == answer.id))
    connection.execute(
        insert(answers),
        {
            "id": answer.id,
            "created_at": datetime.now(UTC),
            "session_id": answer.session_id,
            "question": answer.question,
            "answered_by": answer.answered_by,
            "confidence": answer.confidence.score,
            "stale": stale,
            "body": to_plain(answer),
        },
    )
    if answer.citations:
        connection.execute(
            insert(answer_evidence),
            [
                {
                    "answer_id": answer.id,
                    "ordinal": ordinal,
                    "document_id": citation.document_id,
                    "version": citation.version,
                    "start": citation.source_span.start,
                    "end": citation.source_span.end,
                }
                for ordinal, citation in enumerate(answer.citations)
            ],
        )


def find_answer(connection: Connection, answer_id: str) -> Answer | None:
    """The whole answer."""
    row = connection.execute(select(answers.c.body).where(answers.c.id == answer_id)).first()
    return from_plain(Answer, row.body) if row else None


def list_answers(connection: Connection, limit: int) -> list[StoredAnswer]:
    """Facts about the newest answers, newest first."""
    order = (answers.c.created_at.desc(), answers.c.id)
    return [
        StoredAnswer(**row._mapping)
        for row in connection.execute(select(*FACTS).order_by(*order).limit(limit))
    ]


def mark_stale(connection: Connection, versions: Sequence[VersionKey]) -> None:
    """Mark the answers that cite one of these versions of documents."""
    if not versions:
        return
    citing = select(answer_evidence.c.answer_id).where(
        answer_evidence.c.document_id == bindparam("d"),
        answer_evidence.c.version == bindparam("v"),
    )
    connection.execute(
        update(answers).where(answers.c.id.in_(citing)).values(stale=True),
        [{"d": document_id, "v": version} for document_id, version in versions],
    )


def forget_evidence(connection: Connection, document_ids: set[str]) -> None:
    """Mark the answers that cite these documents and take out what they quote of them."""
    for answer_id in _citing(connection, document_ids):
        answer = find_answer(connection, answer_id)
        if answer:
            body = to_plain(without_quotes(answer, document_ids))
            connection.execute(
                update(answers).where(answers.c.id == answer_id).values(stale=True, body=body)
            )


def without_quotes(answer: Answer, document_ids: set[str]) -> Answer:
    """``answer`` without the words that it took from these documents.

    Quotes become empty. A sentence that was taken verbatim is blacked out letter by letter, so
    that all spans still fit the text.
    """
    gone = {cited.id for cited in answer.citations if cited.document_id in document_ids}
    text = answer.text
    sentences: list[Sentence] = []
    for sentence in answer.sentences:
        if sentence.verdict.method == "verbatim" and gone.intersection(sentence.citations):
            span = sentence.span
            text = text[: span.start] + _blacked(span.of(text)) + text[span.end :]
            sentence = replace(sentence, text=_blacked(sentence.text))
        sentences.append(sentence)
    return replace(
        answer,
        text=text,
        sentences=tuple(sentences),
        citations=tuple(
            replace(cited, quote="") if cited.id in gone else cited for cited in answer.citations
        ),
    )


def record_gap(connection: Connection, question: str, reason: str) -> None:
    """Keep a question that could not be answered."""
    values = {"question": question, "reason": reason, "created_at": datetime.now(UTC)}
    connection.execute(insert(gaps), values)


def list_gaps(connection: Connection, limit: int) -> list[Gap]:
    """The newest gaps, newest first."""
    statement = select(gaps).order_by(gaps.c.id.desc()).limit(limit)
    return [Gap(**row._mapping) for row in connection.execute(statement)]


def _citing(connection: Connection, document_ids: Iterable[str]) -> list[str]:
    ids = sorted(document_ids)
    found: set[str] = set()
    for first in range(0, len(ids), AT_ONCE):
        chunk = ids[first : first + AT_ONCE]
        statement = select(answer_evidence.c.answer_id).where(
            answer_evidence.c.document_id.in_(chunk)
        )
        found.update(connection.execute(statement).scalars())
    return sorted(found)


def _live(connection: Connection, document_ids: Iterable[str]) -> dict[str, str]:
    statement = select(documents.c.id, documents.c.version).where(
        documents.c.id.in_(sorted(document_ids))
    )
    return {row.id: row.version for row in connection.execute(statement)}


def _blacked(text: str) -> str:
    return "".join(character if character.isspace() else BLANK for character in text)
