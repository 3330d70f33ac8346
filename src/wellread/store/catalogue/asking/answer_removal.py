"""Redacts removed documents in answers; deletes answers with their gaps and research runs.

A removed document's quotations, addresses and places become empty; table rows that only it supports
are redacted, and so are mentions of its title. Verbatim sentences and other quotations are replaced
letter by letter, so that all spans still fit the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update

from wellread.codec import to_plain
from wellread.store.catalogue.asking.answer_rows import (
    MENTIONED,
    AnswerRecord,
    Plain,
    read_records,
    rewrite_rows,
    table_documents,
)
from wellread.store.catalogue.documents.lookup import VALUES, live_versions, whole_texts
from wellread.store.schema.database import chunks, delete_rows, rows_in
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    answer_citations,
    answers,
    documents,
    gaps,
    research_runs,
    sessions,
)
from wellread.text.sentences import sentence_spans
from wellread.types import Locator

Change = Callable[[str], str]

# --- the words of removed documents ---

RUN_WORDS = 8  # words of a run that counts as a quotation; shorter runs are too common
MIN_SENTENCE_WORDS = 5  # words of the shortest complete sentence that counts as a quotation
BLANK = "█"
# A redacted word is a word: else the words on both sides of it would be read as one run.
_WORD = re.compile(rf"[\w{BLANK}]+")
_LETTER = re.compile(r"\S")
_LABEL = re.compile(r"\*\*([^*\n]+)\*\*")
# Fields that contain no prose, but identifiers or fixed values.
_IDS = frozenset({"id", "document_id", "version", "kind", "method", "key", "session_id", "mode"})
_QUESTION_FIELDS = frozenset({"data_gaps", "standalone"})  # fields that repeat the question
_PROSE_FIELDS = _QUESTION_FIELDS | {
    *("about", "failures", "heading", "label", "notes", "reason", "reasoning", "rows"),
    *("suggestions", "title", "why"),
}


class RemovedWords:
    """Finds and redacts quotations of removed texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs = {run for text in texts for run in _runs(text)}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def redact(self, text: str) -> str:
        """``text`` with quotations redacted letter by letter, so that its length stays the same."""
        if not self._runs:
            return text
        matches = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in matches]
        redacted_text = text
        for length in range(MIN_SENTENCE_WORDS, RUN_WORDS + 1):
            for first in range(len(words) - length + 1):
                if hash(tuple(words[first : first + length])) in self._runs:
                    redacted_text = _redact_span(
                        redacted_text, matches[first].start(), matches[first + length - 1].end()
                    )
        return redacted_text


def _runs(text: str) -> Iterator[int]:
    """Hashes of all runs of ``RUN_WORDS`` words, and of shorter complete sentences."""
    words = _words(text)
    for first in range(len(words) - RUN_WORDS + 1):
        yield hash(tuple(words[first : first + RUN_WORDS]))
    for span in sentence_spans(text):
        sentence_words = _words(span.of(text)[: RUN_WORDS * 40])
        if MIN_SENTENCE_WORDS <= len(sentence_words) < RUN_WORDS:
            yield hash(tuple(sentence_words))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def redact(text: str) -> str:
    """``text`` with a block character in place of every letter."""
    return _LETTER.sub(BLANK, text)


def _redact_span(text: str, start: int, end: int) -> str:
    return text[:start] + redact(text[start:end]) + text[end:]


def title_redactor(titles: Iterable[str], words: Collection[str] = ()) -> Change:
    """A function that redacts ``titles`` of removed documents, and all ``words``.

    A title of one word may be an ordinary word, so it is redacted only within quotation marks; a
    number never, since markers contain numbers too.
    """
    names = (title for title in {*titles, *words} if title.strip() and not title.isdigit())
    ordered = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)")

    def black(match: re.Match[str]) -> str:
        title, text = match[0], match.string
        quoted = text[: match.start()].endswith("“") and text[match.end() :].startswith("”")
        return redact(title) if quoted or title in words or len(title.split()) > 1 else title

    return (lambda text: pattern.sub(black, text)) if ordered else str


def map_strings(value: Any, change: Change) -> Any:
    """A JSON value with ``change`` applied to every string except names and ids."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name in _IDS else map_strings(item, change)
            for name, item in value.items()
        }
    return value


def _map_fields(value: Any, names: Collection[str], change: Change) -> Any:
    """A JSON value with ``change`` applied to the strings in the fields ``names``."""
    if isinstance(value, list):
        return [_map_fields(item, names, change) for item in value]
    if isinstance(value, dict):
        return {
            name: map_strings(item, change) if name in names else _map_fields(item, names, change)
            for name, item in value.items()
        }
    return value


# --- the documents of answers ---


def answers_citing(connection: Connection, document_ids: Iterable[str]) -> list[str]:
    """The ids of answers that cite one of the documents."""
    cited = answer_citations.c
    query = select(cited.answer_id).where(cited.document_id.in_(VALUES), cited.version != MENTIONED)
    return sorted({row.answer_id for row in rows_in(connection, query, document_ids)})


def titles_of(connection: Connection, document_ids: Collection[str]) -> dict[str, str]:
    """The titles of documents, by id; unknown ids are left out."""
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


def quoting_removed(connection: Connection) -> dict[str, set[str]]:
    """The removed documents that each answer still cites, lists or mentions, by answer id."""
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


# --- redacting ---


def redact_answers(
    connection: Connection, removed: RemovedWords, gone: Mapping[str, str], titles: Iterable[str]
) -> None:
    """Redact removed documents in all answers; those that cite or quote them become stale.

    Args:
        gone: the titles of the removed documents, by id.
        titles: those of their titles that no remaining document has.
    """
    black = title_redactor(titles)
    every_answer = connection.execute(select(answers.c.id).order_by(answers.c.id)).scalars().all()
    for ids in chunks(every_answer):
        for record in read_records(connection, ids).values():
            before = (record.body, record.stale, _shapes(record))
            redact_answer(record, removed, gone, black)
            if (record.body, record.stale, _shapes(record)) != before:
                rewrite_rows(connection, record)
    if removed:
        for row in connection.execute(select(sessions)).all():
            title = removed.redact(row.title)
            if title != row.title:
                is_session = (sessions.c.id == row.id, sessions.c.owner == row.owner)
                connection.execute(update(sessions).where(*is_session).values(title=title))


def _shapes(record: AnswerRecord) -> list[str]:
    return [row["shape"] for row in record.rows]


def redact_answer(
    record: AnswerRecord, removed: RemovedWords, gone: Mapping[str, str], black: Change = str
) -> None:
    """Redact in an answer the documents ``gone`` (titles by id), and other titles by ``black``."""
    body = dict(record.body)
    lost = [row for row in record.rows if row["document_id"] in gone and not row["shape"]]
    if lost:
        names = {name for row in lost for name in (row["told"]["title"], gone[row["document_id"]])}
        redact_names, redact_titles = title_redactor((), names - {"", REMOVED}), black
        _redact_sources(body, {row["number"] for row in lost} - {0}, gone, redact_names)
        black = lambda text: redact_titles(redact_names(text))  # noqa: E731
        for row in lost:
            row["shape"], row["told"] = REMOVED, {**row["told"], "title": REMOVED}
    quoted = map_strings(body, removed.redact)
    if quoted != body or any(row["version"] != MENTIONED for row in lost):
        record.stale = True
        # Explanations may paraphrase the removed document.
        quoted["citations"] = [{**citation, "why": ""} for citation in quoted["citations"]]
    record.body = _redact_prose(quoted, black)


def _redact_prose(body: Plain, black: Change) -> Plain:
    """The body with titles redacted outside the text, except in the user's own words."""
    question_has_title = black(body["question"]) != body["question"]
    names = _PROSE_FIELDS - _QUESTION_FIELDS if question_has_title else _PROSE_FIELDS
    redacted: Plain = _map_fields(body, names, black)
    if table := redacted.get("table"):
        table["method"] = black(table["method"])
    for name in ("related", "suggestions"):
        if name in body:
            redacted[name] = [item for item in redacted[name] if BLANK not in str(item)]
    return redacted


def _redact_sources(body: Plain, lost: set[int], gone: Collection[str], black: Change) -> None:
    """Redact everything in an answer from removed documents, which its citations ``lost`` cite."""
    _redact_rows(body, gone)
    text, end = body["text"], 0
    for sentence in body["sentences"]:
        start, previous_end, end = sentence["span"]["start"], end, sentence["span"]["end"]
        if _is_verbatim(sentence) and lost.intersection(sentence["citations"]):
            labels = _LABEL.sub(lambda label: f"**{redact(label[1])}**", text[previous_end:start])
            text = text[:previous_end] + labels + redact(text[start:end]) + text[end:]
    intact = [
        sentence["span"]
        for sentence in body["sentences"]
        if _is_verbatim(sentence) and not lost.intersection(sentence["citations"])
    ]
    body["text"] = _map_outside(text, intact, black)
    body["sentences"] = [
        {
            **sentence,
            "text": black(text) if text and sentence["span"] not in intact else text,
            # The reason for the verdict may quote the removed document.
            "verdict": {**sentence["verdict"], "reason": ""}
            if lost.intersection(sentence["citations"])
            else sentence["verdict"],
        }
        for sentence in body["sentences"]
        for text in [sentence["text"]]
    ]
    emptied = dict.fromkeys(("quote", "link", "url"), "")
    emptied |= {"title": REMOVED, "locator": to_plain(Locator(label=""))}
    body["citations"] = [
        citation | emptied if citation["id"] in lost else citation for citation in body["citations"]
    ]
    body["related"] = [item for item in body.get("related", ()) if item["id"] not in gone]


def _is_verbatim(sentence: Plain) -> bool:
    return bool(sentence["verdict"]["method"] == "verbatim")


def _map_outside(text: str, spans: Iterable[Plain], black: Change) -> str:
    """``text`` with ``black`` applied to what lies outside the spans, which are in order."""
    parts, end = [], 0
    for span in spans:
        parts += [black(text[end : span["start"]]), text[span["start"] : span["end"]]]
        end = span["end"]
    return "".join((*parts, black(text[end:])))


def _redact_rows(body: Plain, gone: Collection[str]) -> None:
    """Redact the table rows that only removed documents support, and their lines in the text."""
    if not table_documents(body).intersection(gone):
        return
    table = body["table"]
    rows, sources = list(table["rows"]), []
    for number, ids in enumerate(table["documents"]):
        remaining = [document_id for document_id in ids if document_id not in gone]
        sources.append(remaining)
        if ids and not remaining:
            rows[number] = [REMOVED for _ in rows[number]]
            # The text's first sentence introduces the table; each later one is a row's line.
            for line in body["sentences"][number + 1 : number + 2]:
                body["text"] = _redact_span(body["text"], **line["span"])
    body["table"] = {**table, "rows": rows, "documents": sources}


# --- removing answers ---


def delete_answers(connection: Connection, owner: str, answer_ids: Collection[str]) -> None:
    """Delete answers of ``owner`` with their research runs and gaps.

    A gap stays when another answer has its question. The answer that closed a gap on retry is
    deleted with the gap.
    """
    standalone = answers.c.body["standalone"].as_string()
    columns = (answers.c.id, answers.c.question, standalone.label("standalone"))
    questions: list[Any] = []
    for ids in chunks(answer_ids):
        questions += connection.execute(select(*columns).where(answers.c.id.in_(ids))).all()
        connection.execute(delete(research_runs).where(research_runs.c.answer_id.in_(ids)))
    delete_rows(connection, answers.c.id, answer_ids)
    for row in questions:
        question = " ".join((row.standalone or row.question).split())
        filed = connection.execute(
            select(gaps.c.id, gaps.c.closed_by).where(
                or_(gaps.c.question == question, gaps.c.answer_id == row.id),
                gaps.c.owner.in_({owner, ""}),
            )
        ).all()
        closing = {gap.closed_by for gap in filed} - {""}
        others = select(answers.c.id).where(
            answers.c.question == question, ~answers.c.id.in_(closing)
        )
        if filed and connection.execute(others.limit(1)).first() is None:
            connection.execute(delete(gaps).where(gaps.c.id.in_([gap.id for gap in filed])))
            connection.execute(delete(answers).where(answers.c.id.in_(closing)))
    for ids in chunks(answer_ids):
        for column in (gaps.c.answer_id, gaps.c.closed_by):
            connection.execute(update(gaps).where(column.in_(ids)).values({column: ""}))
