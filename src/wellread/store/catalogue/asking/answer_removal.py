"""Redacts removed documents in stored answers, and deletes what removed answers leave behind.

A removed document's quotations, addresses and places become empty; table rows that only it supports
are redacted, and so are mentions of its title. Verbatim sentences and other quotations are replaced
letter by letter, so that all spans still fit the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update

from wellread.codec import to_plain
from wellread.store.catalogue.asking.answer_rows import (
    BLANK,
    NAMED,
    AnswerRecord,
    Plain,
    RemovedWords,
    change_prose,
    map_strings,
    read_records,
    redact,
    rewrite_rows,
    table_documents,
    title_replacer,
    titles_pattern,
)
from wellread.store.catalogue.documents.lookup import VALUES, live_versions, whole_texts
from wellread.store.schema.database import chunks, rows_in
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    answer_citations,
    answers,
    documents,
    feedback,
    gaps,
    notices,
    research_runs,
    sessions,
)
from wellread.types import Locator

_LABEL = re.compile(r"\*\*([^*\n]+)\*\*")
GAP_CLOSED = "gap_closed"  # the kind of notice that names the answer which closed a gap
EVERY_ANSWER = select(answers.c.id).order_by(answers.c.id)


# --- the documents of answers ---


def answers_citing(
    connection: Connection, document_ids: Iterable[str], *, mentioned: bool = False
) -> list[str]:
    """The ids of answers that cite one of the documents or, with ``mentioned``, only mention it."""
    cited = answer_citations.c
    statement = select(cited.answer_id).where(cited.document_id.in_(VALUES)).distinct()
    if not mentioned:
        statement = statement.where(cited.version != NAMED)
    return sorted({row.answer_id for row in rows_in(connection, statement, document_ids)})


def cited_documents(connection: Connection, document_ids: Iterable[str]) -> set[str]:
    """The ids among ``document_ids`` that an answer quotes."""
    cited = answer_citations.c
    quoted = select(cited.document_id).where(cited.document_id.in_(VALUES), cited.end > cited.start)
    return {row.document_id for row in rows_in(connection, quoted.distinct(), document_ids)}


def titles_of(connection: Connection, document_ids: Collection[str]) -> dict[str, str]:
    """Document id to title; unknown ids are left out."""
    statement = select(documents.c.id, documents.c.title).where(documents.c.id.in_(VALUES))
    return {row.id: row.title for row in rows_in(connection, statement, document_ids)}


def stored_texts(connection: Connection, document_ids: Collection[str]) -> Iterator[str]:
    """The texts, titles and summaries of documents, and quotations of their older versions."""
    facts = select(documents.c.title, documents.c.summary)
    for document_id in sorted(document_ids):
        yield from whole_texts(connection, [document_id]).values()
        for row in connection.execute(facts.where(documents.c.id == document_id)):
            yield from row
    live = live_versions(connection, document_ids)
    cited = answer_citations.c
    quotes = select(cited.document_id, cited.version, cited.quote).where(
        cited.document_id.in_(VALUES), cited.quote != ""
    )
    for row in rows_in(connection, quotes.order_by(cited.answer_id, cited.ordinal), document_ids):
        if row.version != live.get(row.document_id, row.version):
            yield row.quote


# --- removed documents ---


def redact_documents(
    connection: Connection, removed: RemovedWords, gone: Mapping[str, str]
) -> None:
    """Redact removed documents in all answers; those that cite them become stale."""
    citing = set(answers_citing(connection, gone))
    for ids in chunks(answers_citing(connection, gone, mentioned=True)):
        for answer_id, record in read_records(connection, ids).items():
            redact_answer(record, removed, gone)
            record.stale = record.stale or answer_id in citing
            rewrite_rows(connection, record)
    _redact_session_titles(connection, removed)


def redact_answer(record: AnswerRecord, removed: RemovedWords, gone: Mapping[str, str]) -> None:
    """Redact in an answer the documents that are ``gone`` (id to title)."""
    body = dict(record.body)
    lost = [row for row in record.rows if row["document_id"] in gone]
    numbers = {row["number"] for row in lost} - {0}
    titles = {name for row in lost for name in (row["told"]["title"], gone[row["document_id"]])}
    titles -= {"", REMOVED}
    _redact_rows(body, gone)
    _redact_sentences(body, numbers)
    if pattern := titles_pattern(titles):
        _redact_titles(body, pattern, gone)
    body["citations"] = [_without_source(item, item["id"] in numbers) for item in body["citations"]]
    record.body = map_strings(body, removed.redact)
    for row in lost:
        row["shape"], row["told"] = REMOVED, {**row["told"], "title": REMOVED}


def _redact_titles(body: Plain, pattern: re.Pattern[str], gone: Collection[str]) -> None:
    """Redact titles, except in verbatim sentences from documents that stay."""
    intact = [part for part in body["sentences"] if part["verdict"]["method"] == "verbatim"]

    def black(match: re.Match[str]) -> str:
        keep = any(part["span"]["start"] <= match.start() < part["span"]["end"] for part in intact)
        return match[0] if keep else redact(match[0])

    body["text"] = pattern.sub(black, body["text"])
    related = [part for part in body.get("related", ()) if part["id"] not in gone]
    body["related"] = [part for part in related if not pattern.search(part["title"])]
    body["suggestions"] = [part for part in body.get("suggestions", ()) if not pattern.search(part)]
    body |= change_prose(body, lambda prose: pattern.sub(lambda match: redact(match[0]), prose))
    body["sentences"] = [
        part
        if part["text"] is None or part in intact
        else {**part, "text": pattern.sub(lambda match: redact(match[0]), part["text"])}
        for part in body["sentences"]
    ]


def _without_source(citation: Plain, lost: bool) -> Plain:
    if not lost:
        return {**citation, "why": ""}  # the explanation may mention the removed document
    emptied = dict.fromkeys(("why", "quote", "link", "url"), "")
    return {**citation, **emptied, "title": REMOVED, "locator": to_plain(Locator(label=""))}


def _redact_sentences(body: Plain, lost: set[int]) -> None:
    """Redact the verbatim sentences of lost citations, with their labels."""
    text, previous = body["text"], None
    for sentence in body["sentences"]:
        if sentence["verdict"]["method"] == "verbatim" and lost.intersection(sentence["citations"]):
            text = _redact_span(text, sentence["span"])
            text = _redact_labels(text, previous, sentence)
        previous = sentence
    body["text"] = text
    body["sentences"] = [
        # The reason for the verdict may quote the removed document.
        {**item, "verdict": {**item["verdict"], "reason": ""}}
        if lost.intersection(item["citations"])
        else item
        for item in body["sentences"]
    ]


def _redact_labels(text: str, before: Plain | None, sentence: Plain) -> str:
    """``text`` with the label of a quotation, and its headings, redacted before a sentence."""
    start = before["span"]["end"] if before else 0
    labels = list(_LABEL.finditer(text, start, sentence["span"]["start"]))
    goes_on = before is not None and before["citations"] == sentence["citations"]
    for label in labels if goes_on else labels[-1:]:
        text = f"{text[: label.start(1)]}{redact(label[1])}{text[label.end(1) :]}"
    return text


def _redact_rows(body: Plain, gone: Collection[str]) -> None:
    """Redact the table rows that only removed documents support, and their lines in the text."""
    if not table_documents(body).intersection(gone):
        return
    table = body["table"]
    rows, documents = list(table["rows"]), []
    lines = [sentence["span"] for sentence in body["sentences"]]
    for place, ids in enumerate(table["documents"]):
        remaining = [document_id for document_id in ids if document_id not in gone]
        documents.append(remaining)
        if ids and not remaining:
            rows[place] = [REMOVED for _ in rows[place]]
            for span in lines[place + 1 : place + 2]:
                body["text"] = _redact_span(body["text"], span)
    body["table"] = {**table, "rows": rows, "documents": documents}


def _redact_span(text: str, span: Plain) -> str:
    start, end = span["start"], span["end"]
    return text[:start] + redact(text[start:end]) + text[end:]


# --- quotations and titles in answers that do not cite the document ---


def redact_uncited(connection: Connection, removed: RemovedWords, titles: Collection[str]) -> int:
    """Redact quotations and titles in all answers; return the number that had a quotation."""
    black = title_replacer((title, redact(title)) for title in titles)
    quoting = 0
    for ids in chunks(connection.execute(EVERY_ANSWER).scalars().all()):
        for record in read_records(connection, ids).values():
            body = map_strings(record.body, removed.redact)
            if body != record.body:
                quoting += 1
                record.stale = True
                body["citations"] = [{**one, "why": ""} for one in body["citations"]]
            body = change_prose(body, black)
            body["suggestions"] = [one for one in body.get("suggestions", ()) if BLANK not in one]
            if body != record.body:
                record.body = body
                rewrite_rows(connection, record)
    _redact_session_titles(connection, removed)
    return quoting


def _redact_session_titles(connection: Connection, removed: RemovedWords) -> None:
    if not removed:
        return
    for row in connection.execute(select(sessions.c.id, sessions.c.owner, sessions.c.title)).all():
        title = removed.redact(row.title)
        if title != row.title:
            is_session = (sessions.c.id == row.id, sessions.c.owner == row.owner)
            connection.execute(update(sessions).where(*is_session).values(title=title))


# --- answers that still quote removed documents ---


def quoting_removed(connection: Connection) -> dict[str, set[str]]:
    """Answer id to the removed documents that it still cites, lists or mentions."""
    cited = answer_citations.c
    statement = (
        select(cited.answer_id, cited.document_id)
        .outerjoin_from(answer_citations, documents, documents.c.id == cited.document_id)
        .where(documents.c.id.is_(None), cited.shape == "")
    )
    removed: dict[str, set[str]] = {}
    for row in connection.execute(statement):
        removed.setdefault(row.answer_id, set()).add(row.document_id)
    return removed


def redact_removed(connection: Connection, answer_id: str, gone: Collection[str]) -> RemovedWords:
    """Redact removed documents that an answer still quotes; return the redacted words."""
    cited = answer_citations.c
    quotes = select(cited.quote).where(cited.answer_id == answer_id, cited.document_id.in_(gone))
    removed = RemovedWords(connection.execute(quotes).scalars())
    redact_documents(connection, removed, dict.fromkeys(gone, ""))
    return removed


# --- traces of removed answers ---


def forget_questions(connection: Connection, bodies: Collection[Mapping[str, Any]]) -> None:
    """Delete the gaps that these removed answers filed, unless another answer has the question.

    The answer that closed a gap on retry is deleted with the gap, and so is the notice about it.
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
        others = select(answers.c.id).where(answers.c.question == asked, ~answers.c.id.in_(closing))
        if filed and connection.execute(others.limit(1)).first() is None:
            connection.execute(delete(gaps).where(gaps.c.id.in_([row.id for row in filed])))
            connection.execute(delete(answers).where(answers.c.id.in_(closing)))
            is_notice = (notices.c.kind == GAP_CLOSED, notices.c.target.in_(closing))
            connection.execute(delete(notices).where(*is_notice))
    answer_ids = [str(body["id"]) for body in bodies]
    for batch in chunks(answer_ids):
        for column in (gaps.c.answer_id, gaps.c.closed_by):
            connection.execute(update(gaps).where(column.in_(batch)).values({column: ""}))


def forget_conversation(
    connection: Connection, session_id: str, owner: str, answer_ids: Collection[str]
) -> None:
    """Delete the research runs of a session, and the notices about feedback on its answers."""
    runs = research_runs.c
    session = runs.request["question"]["session_id"].as_string()
    in_session = (session == session_id, runs.owner == owner)
    connection.execute(delete(research_runs).where(*in_session))
    for batch in chunks(answer_ids):
        connection.execute(delete(research_runs).where(runs.answer_id.in_(batch)))
        feedback_ids = select(feedback.c.id).where(feedback.c.answer_id.in_(batch))
        targets = [*connection.execute(feedback_ids).scalars(), *batch]
        connection.execute(delete(notices).where(notices.c.target.in_(targets)))
