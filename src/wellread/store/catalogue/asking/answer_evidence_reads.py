"""Which answers rest on which documents, as it is kept beside them, and what they quote."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sqlalchemy import Connection, select

from wellread.store.catalogue.asking.redaction import NAMED
from wellread.store.catalogue.documents.lookup import VALUES, live_versions, whole_texts
from wellread.store.schema.database import chunks, rows_in
from wellread.store.schema.tables import answer_evidence, answers, documents


def cited_documents(connection: Connection, document_ids: Iterable[str]) -> set[str]:
    """Those of the documents that an answer quotes."""
    return {known for known, _ in answers_on(connection, document_ids, quoted=True)}


def titles_at_rest(connection: Connection, document_ids: Iterable[str]) -> dict[str, str]:
    """Those of the documents that an answer rests on or names, with their titles."""
    ids = sorted({known for known, _ in answers_on(connection, document_ids, named=True)})
    statement = select(documents.c.id, documents.c.title).where(documents.c.id.in_(VALUES))
    return {row.id: row.title for row in rows_in(connection, statement, ids)}


def stored_texts(connection: Connection, document_ids: Collection[str]) -> Iterator[str]:
    """The words of documents: text, title and summary; what answers quote of older versions too."""
    facts = select(documents.c.title, documents.c.summary)
    for known in sorted(document_ids):
        yield from whole_texts(connection, [known]).values()
        for row in connection.execute(facts.where(documents.c.id == known)):
            yield from row
    yield from _outdated_quotes(connection, document_ids)


def _outdated_quotes(connection: Connection, document_ids: Collection[str]) -> Iterator[str]:
    """What answers quote of versions of documents that are not live any more."""
    live = live_versions(connection, document_ids)
    resting = sorted({answer_id for _, answer_id in answers_on(connection, document_ids)})
    for ids in chunks(resting):
        stale = select(answers.c.body).where(answers.c.id.in_(ids), answers.c.stale.is_(True))
        for body in connection.execute(stale).scalars():
            for cited in body["citations"]:
                if cited["version"] != live.get(cited["document_id"], cited["version"]):
                    yield cited["quote"]


def answers_on(
    connection: Connection,
    document_ids: Iterable[str],
    *,
    quoted: bool = False,
    named: bool = False,
) -> Iterator[tuple[str, str]]:
    """Document and answer, for every answer that rests on one of the documents.

    Args:
        quoted: only those that quote it.
        named: also those that only name it.
    """
    columns = (answer_evidence.c.document_id, answer_evidence.c.answer_id)
    for ids in chunks(sorted(document_ids)):
        statement = select(*columns).where(answer_evidence.c.document_id.in_(ids)).distinct()
        if not named:
            statement = statement.where(answer_evidence.c.version != NAMED)
        if quoted:
            statement = statement.where(answer_evidence.c.end > answer_evidence.c.start)
        for row in connection.execute(statement):
            yield row.document_id, row.answer_id
