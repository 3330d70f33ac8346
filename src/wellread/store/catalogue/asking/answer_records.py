"""Answers that were given, and what they rest on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Text, cast, delete, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.accounts.audit_records import note_asked
from wellread.store.catalogue.asking.answer_evidence_reads import answers_on
from wellread.store.catalogue.asking.answer_facts_records import (
    note_read,
    rewrite_facts,
    write_facts,
)
from wellread.store.catalogue.asking.gap_erasure import forget_in_gaps, rename_in_gaps
from wellread.store.catalogue.asking.redaction import (
    NAMED,
    RemovedWords,
    blacked,
    forgotten,
    listed,
    named,
)
from wellread.store.catalogue.asking.retitling import (
    Named,
    Renamed,
    move_sections,
    names_of,
    naming,
    renamed,
    retitle_research,
    retitled,
    unnamed,
)
from wellread.store.catalogue.documents.index_debts import note_deletion
from wellread.store.catalogue.documents.lookup import VALUES, live_versions
from wellread.store.schema.catalogue_values import REMOVED, StoredAnswer
from wellread.store.schema.database import STREAM_ROWS, chunks, made_of, rows_in
from wellread.store.schema.tables import (
    answer_evidence,
    answers,
    cached_answers,
    documents,
    sessions,
)
from wellread.text.sentences import shortened
from wellread.values.answers import Answer

Plain = dict[str, Any]
FACTS = [column for column in answers.c if column.name != "body"]
RAW_BODIES = (
    select(answers.c.id, cast(answers.c.body, Text).label("raw"))
    .order_by(answers.c.id)
    .execution_options(yield_per=STREAM_ROWS)
)
TITLE = 80  # characters of a first question that name a session


def record_answer(connection: Connection, answer: Answer, read: Iterable[str] = ()) -> None:
    """Keep ``answer`` with the spans that it cites; one of the same id is replaced.

    It is stale from the start when a source changed or went while it was being written. Its
    session is made when there is none yet.

    Args:
        read: the collections that it could be drawn from.
    """
    body, stale = _as_it_stands(connection, answer)
    now = datetime.now(UTC)
    connection.execute(delete(answers).where(answers.c.id == answer.id))
    connection.execute(
        insert(answers),
        {
            "id": answer.id,
            "created_at": now,
            "session_id": answer.session_id,
            "question": body["question"],
            "answered_by": answer.answered_by,
            "confidence": answer.confidence.score,
            "stale": stale,
            "body": body,
            "owner": answer.owner,
        },
    )
    write_facts(connection, answer.id, now, body)
    note_read(connection, answer.id, now, read)
    _write_evidence(connection, answer)
    shown = select(answer_evidence.c.document_id).where(answer_evidence.c.answer_id == answer.id)
    note_asked(connection, answer.owner, answer.id, connection.execute(shown).scalars())
    _seen(connection, answer, now)


def rewrite_answer(connection: Connection, answer: Answer, *, stale: bool) -> None:
    """Keep ``answer`` as it was found to be now, in place of what was recorded of it."""
    body, outdated = _as_it_stands(connection, answer)
    _rewrite(connection, answer.id, body, stale=stale or outdated)
    connection.execute(delete(answer_evidence).where(answer_evidence.c.answer_id == answer.id))
    _write_evidence(connection, answer)


def _as_it_stands(connection: Connection, answer: Answer) -> tuple[Plain, bool]:
    """The body to keep, without what is not there any more, and whether that was something."""
    body = to_plain(answer)
    in_rows = listed(body)
    beside = {one.id: one.title for one in answer.related if one.kind == "document" and one.id}
    live = live_versions(
        connection, {*in_rows, *beside, *(citation.document_id for citation in answer.citations)}
    )
    titles = beside | {one.document_id: one.title for one in answer.citations}
    lost = {*in_rows, *titles}.difference(live)
    if lost:
        quotes = [one.quote for one in answer.citations if one.document_id in lost]
        gone = {known: titles.get(known, "") for known in lost}
        body = forgotten(body, RemovedWords(quotes), gone)
    passed = [one for one in answer.citations if live.get(one.document_id) != one.version]
    told = {known: Named(title=title, url="") for known, title in titles.items() if known in live}
    now = {known: replace(one, url="") for known, one in names_of(connection, told).items()}
    if changed := renamed(told, now):
        body, _ = retitled(body, changed)
    return body, bool(passed) or not live.keys() >= in_rows


def _write_evidence(connection: Connection, answer: Answer) -> None:
    """What the answer cites; then what it only lists, and what it only names."""
    evidence = [
        (one.document_id, one.version, one.source_span.start, one.source_span.end)
        for one in answer.citations
    ]
    # What only a row of the table rests on has no place, since nothing is quoted of it.
    table = answer.table.documents if answer.table else ()
    in_rows = {known for row in table for known in row}
    live = live_versions(connection, in_rows)
    seen = {known for known, *_ in evidence}
    evidence += [(known, live[known], 0, 0) for known in sorted(in_rows - seen) if known in live]
    beside = named(connection, answer.related) - seen - in_rows
    evidence += [(known, NAMED, 0, 0) for known in sorted(live_versions(connection, beside))]
    if evidence:
        names = ("document_id", "version", "start", "end")
        connection.execute(
            insert(answer_evidence),
            [
                {"answer_id": answer.id, "ordinal": ordinal} | dict(zip(names, each, strict=True))
                for ordinal, each in enumerate(evidence)
            ],
        )


def _seen(connection: Connection, answer: Answer, now: datetime) -> None:
    """The session of ``answer`` was used; its first question names it."""
    if not answer.session_id:
        return
    mine = (sessions.c.id == answer.session_id, sessions.c.owner == answer.owner)
    done = connection.execute(update(sessions).where(*mine).values(seen_at=now))
    if done.rowcount:
        return
    connection.execute(
        insert(sessions),
        {
            "id": answer.session_id,
            "owner": answer.owner,
            "title": shortened(answer.question, TITLE),
            "created_at": now,
            "seen_at": now,
        },
    )


def find_answer(connection: Connection, answer_id: str) -> Answer | None:
    """The whole answer."""
    row = connection.execute(select(answers.c.body).where(answers.c.id == answer_id)).first()
    return from_plain(Answer, row.body) if row else None


def list_answers(connection: Connection, limit: int = 100) -> list[StoredAnswer]:
    """Facts about the newest answers, newest first."""
    order = (answers.c.created_at.desc(), answers.c.id)
    statement = select(*FACTS).order_by(*order).limit(limit)
    return made_of(StoredAnswer, connection.execute(statement))


def mark_stale(connection: Connection, document_ids: Iterable[str]) -> None:
    """The answers that rest on these documents are stale: each keeps what it said and quoted."""
    resting = sorted({answer_id for _, answer_id in answers_on(connection, document_ids)})
    for ids in chunks(resting):
        connection.execute(update(answers).where(answers.c.id.in_(ids)).values(stale=True))
    forget_cached(connection, resting)


def forget_documents(
    connection: Connection, removed: RemovedWords, gone: Mapping[str, str]
) -> None:
    """Mark the answers that rest on documents that are gone and take out what they took of them.

    Args:
        gone: document id to the title that it had.
    """
    resting = {answer_id for _, answer_id in answers_on(connection, gone)}
    beside = {answer_id for _, answer_id in answers_on(connection, gone, named=True)}
    for answer_id in sorted(resting | beside):
        row = connection.execute(
            select(answers.c.body, answers.c.stale).where(answers.c.id == answer_id)
        ).one()
        body = forgotten(row.body, removed, gone)
        _rewrite(connection, answer_id, body, stale=row.stale or answer_id in resting)
    names = (answer_evidence.c.version == NAMED,)
    for some in chunks(sorted(gone)):
        those = answer_evidence.c.document_id.in_(some)
        connection.execute(delete(answer_evidence).where(those, *names))
    _forget_titles(connection, removed)


def follow_names(connection: Connection, before: Mapping[str, Named]) -> None:
    """Answers call documents as they are called now; the figures of what changed are made anew.

    Args:
        before: what documents that changed were called.
    """
    changed = renamed(before, names_of(connection, before))
    resting = {answer_id for _, answer_id in answers_on(connection, before)}
    concerned = resting | {one for _, one in answers_on(connection, changed, named=True)}
    concerned |= set(naming(connection, {was.title for was, _ in changed.values()}))
    for answer_id in sorted(concerned):
        rename_in(connection, answer_id, changed)
    if changed:
        retitle_research(connection, changed)
        rename_in_gaps(connection, [(was.title, now.title) for was, now in changed.values()])


def rename_in(connection: Connection, answer_id: str, changed: Renamed) -> None:
    """An answer calls these documents as they are called now."""
    facts = select(answers.c.body, answers.c.stale).where(answers.c.id == answer_id)
    row = connection.execute(facts).one()
    body, edits = retitled(row.body, changed)
    if body == row.body:
        rewrite_facts(connection, answer_id, body)
        return
    _rewrite(connection, answer_id, body, stale=row.stale)
    move_sections(connection, answer_id, edits)
    note_deletion(connection)


def misnamed(connection: Connection, answer_id: str) -> Renamed:
    """The documents that an answer cites or names by another title than theirs."""
    body = connection.execute(select(answers.c.body).where(answers.c.id == answer_id)).scalar_one()
    # A document that was removed and is there again bears another name here for good.
    cited = [one for one in body["citations"] if one["title"] != REMOVED]
    told = {one["document_id"]: one["title"] for one in cited}
    told |= {one["id"]: one["title"] for one in body["related"] if one["kind"] == "document"}
    now = names_of(connection, told)
    before = {known: replace(one, title=told[known]) for known, one in now.items()}
    return renamed(before, now)


def without_words(connection: Connection, removed: RemovedWords) -> dict[str, int]:
    """Answers that quote nothing of what was removed: id to a hash of the body as it is kept.

    Looking takes as long as there are answers; done before ``forget_words``, it keeps no writer
    waiting.
    """
    return {
        row.id: hash(row.raw)
        for row in connection.execute(RAW_BODIES)
        if (body := json.loads(row.raw)) == forgotten(body, removed, {})
    }


def forget_words(
    connection: Connection,
    removed: RemovedWords,
    titles: Collection[str] = (),
    looked_at: Mapping[str, int] | None = None,
) -> int:
    """Take quotations out of every answer and every gap; how many answers had some.

    For what answers say of documents without citing them.

    Args:
        titles: of the documents that went; those that another one bears as well stay.
        looked_at: what ``without_words`` found; answers that are still the same are passed over.
    """
    kept = select(documents.c.title).where(documents.c.title.in_(VALUES))
    lost = set(titles).difference(row.title for row in rows_in(connection, kept, titles))
    for answer_id in naming(connection, lost):
        row = connection.execute(
            select(answers.c.body, answers.c.stale).where(answers.c.id == answer_id)
        ).one()
        _rewrite(connection, answer_id, unnamed(row.body, lost), stale=row.stale)
    if lost:
        rename_in_gaps(connection, [(title, blacked(title)) for title in lost])
    if not removed:
        return 0
    known = looked_at or {}
    changed = 0
    for answer_id in _other_answers(connection, known):
        row = connection.execute(select(answers.c.body).where(answers.c.id == answer_id)).one()
        body = forgotten(row.body, removed, {})
        if body != row.body:
            _rewrite(connection, answer_id, body, stale=True)
            changed += 1
    forget_in_gaps(connection, removed)
    _forget_titles(connection, removed)
    return changed


def _other_answers(connection: Connection, known: Mapping[str, int]) -> list[str]:
    rows = connection.execute(RAW_BODIES)
    return [row.id for row in rows if known.get(row.id) != hash(row.raw)]


def _forget_titles(connection: Connection, removed: RemovedWords) -> None:
    """Take quotations out of what sessions are called."""
    if not removed:
        return
    for row in connection.execute(select(sessions.c.id, sessions.c.owner, sessions.c.title)).all():
        title = removed.blanked(row.title)
        if title != row.title:
            mine = (sessions.c.id == row.id, sessions.c.owner == row.owner)
            connection.execute(update(sessions).where(*mine).values(title=title))


def _rewrite(connection: Connection, answer_id: str, body: Plain, *, stale: bool) -> None:
    if stale:
        forget_cached(connection, [answer_id])
    values = {"body": body, "question": body["question"], "stale": stale}
    connection.execute(update(answers).where(answers.c.id == answer_id).values(**values))
    rewrite_facts(connection, answer_id, body)


def forget_cached(connection: Connection, answer_ids: Iterable[str]) -> None:
    """These answers are not given again."""
    for ids in chunks(answer_ids):
        connection.execute(delete(cached_answers).where(cached_answers.c.answer_id.in_(ids)))
