"""What a removed document leaves of the answers that were drawn from it: nothing that it said.

Its quotes, addresses and places become empty, the rows of a table that rest on nothing else go, and
so does what names it beside the text. A sentence that was taken verbatim, and any other quotation,
is blacked out letter by letter, so that all spans still fit the text.
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
    Kept,
    Plain,
    RemovedWords,
    blacked,
    changed_in,
    kept_answers,
    listed,
    rewrite_rows,
    said_beside,
    titles_changed,
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


# --- which answers rest on what ---


def answers_on(
    connection: Connection, document_ids: Iterable[str], *, named: bool = False
) -> list[str]:
    """The answers that rest on one of the documents; ``named``: or that only name it."""
    cited = answer_citations.c
    rest = select(cited.answer_id).where(cited.document_id.in_(VALUES)).distinct()
    if not named:
        rest = rest.where(cited.version != NAMED)
    return sorted({row.answer_id for row in rows_in(connection, rest, document_ids)})


def cited_documents(connection: Connection, document_ids: Iterable[str]) -> set[str]:
    """Those of the documents that an answer quotes."""
    cited = answer_citations.c
    quoted = select(cited.document_id).where(cited.document_id.in_(VALUES), cited.end > cited.start)
    return {row.document_id for row in rows_in(connection, quoted.distinct(), document_ids)}


def titles_of(connection: Connection, document_ids: Collection[str]) -> dict[str, str]:
    """What these documents are called; unknown ones are left out."""
    statement = select(documents.c.id, documents.c.title).where(documents.c.id.in_(VALUES))
    return {row.id: row.title for row in rows_in(connection, statement, document_ids)}


def stored_texts(connection: Connection, document_ids: Collection[str]) -> Iterator[str]:
    """The words of documents: text, title and summary; what answers quote of older versions too."""
    facts = select(documents.c.title, documents.c.summary)
    for known in sorted(document_ids):
        yield from whole_texts(connection, [known]).values()
        for row in connection.execute(facts.where(documents.c.id == known)):
            yield from row
    live = live_versions(connection, document_ids)
    cited = answer_citations.c
    quotes = select(cited.document_id, cited.version, cited.quote).where(
        cited.document_id.in_(VALUES), cited.quote != ""
    )
    for row in rows_in(connection, quotes.order_by(cited.answer_id, cited.ordinal), document_ids):
        if row.version != live.get(row.document_id, row.version):
            yield row.quote


# --- documents that go ---


def forget_documents(
    connection: Connection, removed: RemovedWords, gone: Mapping[str, str]
) -> None:
    """Take what answers took of documents out of them; those that rest on them are stale."""
    resting = set(answers_on(connection, gone))
    for ids in chunks(answers_on(connection, gone, named=True)):
        for answer_id, kept in kept_answers(connection, ids).items():
            forgotten(kept, removed, gone)
            kept.stale = kept.stale or answer_id in resting
            rewrite_rows(connection, kept)
    _forget_titles(connection, removed)


def forgotten(kept: Kept, removed: RemovedWords, gone: Mapping[str, str]) -> None:
    """Take out of an answer what it took from documents that are ``gone`` (id to title)."""
    body = dict(kept.body)
    lost = [row for row in kept.rows if row["document_id"] in gone]
    numbers = {row["number"] for row in lost} - {0}
    titles = {name for row in lost for name in (row["told"]["title"], gone[row["document_id"]])}
    titles -= {"", REMOVED}
    _take_rows(body, gone)
    _take_sentences(body, numbers)
    if pattern := titles_pattern(titles):
        _take_titles(body, pattern, gone)
    body["citations"] = [_without_source(one, one["id"] in numbers) for one in body["citations"]]
    kept.body = changed_in(body, removed.blanked)
    for row in lost:
        row["shape"], row["told"] = REMOVED, {**row["told"], "title": REMOVED}


def _take_titles(body: Plain, pattern: re.Pattern[str], gone: Collection[str]) -> None:
    """Black out titles, but in sentences that were taken verbatim from documents that stay."""
    stays = [one for one in body["sentences"] if one["verdict"]["method"] == "verbatim"]

    def black(found: re.Match[str]) -> str:
        inside = any(one["span"]["start"] <= found.start() < one["span"]["end"] for one in stays)
        return found[0] if inside else blacked(found[0])

    body["text"] = pattern.sub(black, body["text"])
    related = [one for one in body.get("related", ()) if one["id"] not in gone]
    body["related"] = [one for one in related if not pattern.search(one["title"])]
    body["suggestions"] = [one for one in body.get("suggestions", ()) if not pattern.search(one)]
    body |= said_beside(body, lambda said: pattern.sub(lambda found: blacked(found[0]), said))
    body["sentences"] = [
        one
        if one["text"] is None or one in stays
        else {**one, "text": pattern.sub(lambda found: blacked(found[0]), one["text"])}
        for one in body["sentences"]
    ]


def _without_source(cited: Plain, lost: bool) -> Plain:
    if not lost:
        return {**cited, "why": ""}  # may tell of it
    told = dict.fromkeys(("why", "quote", "link", "url"), "")
    return {**cited, **told, "title": REMOVED, "locator": to_plain(Locator(label=""))}


def _take_sentences(body: Plain, lost: set[int]) -> None:
    """Black out what was taken verbatim from lost citations, with its label."""
    text, before = body["text"], None
    for sentence in body["sentences"]:
        if sentence["verdict"]["method"] == "verbatim" and lost.intersection(sentence["citations"]):
            text = _blacked_at(text, sentence["span"])
            text = _without_labels(text, before, sentence)
        before = sentence
    body["text"] = text
    body["sentences"] = [
        # The reason of what was lost may quote what is gone.
        {**one, "verdict": {**one["verdict"], "reason": ""}}
        if lost.intersection(one["citations"])
        else one
        for one in body["sentences"]
    ]


def _without_labels(text: str, before: Plain | None, sentence: Plain) -> str:
    """``text`` with the label of a quotation, and headings in it, blacked out before a sentence."""
    start = before["span"]["end"] if before else 0
    labels = list(_LABEL.finditer(text, start, sentence["span"]["start"]))
    goes_on = before is not None and before["citations"] == sentence["citations"]
    for label in labels if goes_on else labels[-1:]:
        text = f"{text[: label.start(1)]}{blacked(label[1])}{text[label.end(1) :]}"
    return text


def _take_rows(body: Plain, gone: Collection[str]) -> None:
    """Take out the rows of the table that rest on nothing else, and their lines in the text."""
    if not listed(body).intersection(gone):
        return
    table = body["table"]
    rows, rests_on = list(table["rows"]), []
    lines = [sentence["span"] for sentence in body["sentences"]]
    for place, ids in enumerate(table["documents"]):
        left = [known for known in ids if known not in gone]
        rests_on.append(left)
        if ids and not left:
            rows[place] = [REMOVED for _ in rows[place]]
            for span in lines[place + 1 : place + 2]:
                body["text"] = _blacked_at(body["text"], span)
    body["table"] = {**table, "rows": rows, "documents": rests_on}


def _blacked_at(text: str, span: Plain) -> str:
    start, end = span["start"], span["end"]
    return text[:start] + blacked(text[start:end]) + text[end:]


# --- words and titles that stand in what does not rest on the document ---


def forget_removed(connection: Connection, removed: RemovedWords, titles: Collection[str]) -> int:
    """Take quotations and titles out of answers that do not cite them; how many had a quotation."""
    black = titles_changed((title, blacked(title)) for title in titles)
    quoting = 0
    for ids in chunks(connection.execute(EVERY_ANSWER).scalars().all()):
        for kept in kept_answers(connection, ids).values():
            body = changed_in(kept.body, removed.blanked)
            if body != kept.body:
                quoting += 1
                kept.stale = True
                body["citations"] = [{**one, "why": ""} for one in body["citations"]]
            body = said_beside(body, black)
            body["suggestions"] = [one for one in body.get("suggestions", ()) if BLANK not in one]
            if body != kept.body:
                kept.body = body
                rewrite_rows(connection, kept)
    _forget_titles(connection, removed)
    return quoting


def _forget_titles(connection: Connection, removed: RemovedWords) -> None:
    """Take quotations out of what sessions are called."""
    if not removed:
        return
    for row in connection.execute(select(sessions.c.id, sessions.c.owner, sessions.c.title)).all():
        title = removed.blanked(row.title)
        if title != row.title:
            mine = (sessions.c.id == row.id, sessions.c.owner == row.owner)
            connection.execute(update(sessions).where(*mine).values(title=title))


# --- answers that quote what is not there ---


def quoting_gone(connection: Connection) -> dict[str, set[str]]:
    """Answer id to documents that it cites, lists or names though they went."""
    cited = answer_citations.c
    statement = (
        select(cited.answer_id, cited.document_id)
        .outerjoin_from(answer_citations, documents, documents.c.id == cited.document_id)
        .where(documents.c.id.is_(None), cited.shape == "")
    )
    found: dict[str, set[str]] = {}
    for row in connection.execute(statement):
        found.setdefault(row.answer_id, set()).add(row.document_id)
    return found


def forget_gone(connection: Connection, answer_id: str, gone: Collection[str]) -> RemovedWords:
    """Take what an answer quotes of documents that went out of all that rest on them."""
    cited = answer_citations.c
    quotes = select(cited.quote).where(cited.answer_id == answer_id, cited.document_id.in_(gone))
    removed = RemovedWords(connection.execute(quotes).scalars())
    forget_documents(connection, removed, dict.fromkeys(gone, ""))
    return removed


# --- what removed answers left ---


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
            told = (notices.c.kind == GAP_CLOSED, notices.c.target.in_(closing))
            connection.execute(delete(notices).where(*told))
    gone = [str(body["id"]) for body in bodies]
    for some in chunks(gone):
        for column in (gaps.c.answer_id, gaps.c.closed_by):
            connection.execute(update(gaps).where(column.in_(some)).values({column: ""}))


def forget_conversation(
    connection: Connection, session_id: str, owner: str, answer_ids: Collection[str]
) -> None:
    """Delete the research of a session, and what was told of feedback on its answers."""
    runs = research_runs.c
    session = runs.request["question"]["session_id"].as_string()
    mine = (session == session_id, runs.owner == owner)
    connection.execute(delete(research_runs).where(*mine))
    for some in chunks(answer_ids):
        connection.execute(delete(research_runs).where(runs.answer_id.in_(some)))
        given = select(feedback.c.id).where(feedback.c.answer_id.in_(some))
        targets = [*connection.execute(given).scalars(), *some]
        connection.execute(delete(notices).where(notices.c.target.in_(targets)))
