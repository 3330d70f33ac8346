"""Converts answers to database rows and back, and stores their statistics.

The text of an answer stays as it was given. Each document that it cites or mentions has a row in
``answer_citations`` with the title at that time, so that this title can be found in the text again
when the document is removed (``answer_removal``). Citations and related documents are read with
the current title and address of the document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.rights import READ
from wellread.store.schema.database import delete_rows, insert_rows, rows_in, without_index
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    TOTAL,
    answer_citations,
    answer_facts,
    answer_sentences,
    answer_steps,
    answer_topics,
    answers,
    cached_answers,
    documents,
    entities,
    story_items,
)
from wellread.text.english import NUMBER_WORDS
from wellread.text.parsed import lowercase, parse, stem, words_in
from wellread.text.tokens import singular
from wellread.values.answers import CATALOGUE, NOBODY, Answer, Related, VerdictName

Plain = dict[str, Any]
_LISTED_VERSION = "-"  # of a listed document that did not exist when the row was written
MENTIONED = ""  # the version of a document that is only mentioned, not quoted or listed
COLUMNS = ("id", "session_id", "owner", "question", "answered_by", "type", "text")
_ROW_COLUMNS = ("answer_id", "ordinal", "document_id", "version", "start", "end", "number", "shape")
_CITATION_COLUMNS = ("quote", "link", "url", "why", "locator")
# The facts of a document that stay as they were when the answer was given (column ``told``).
_CITATION_FACTS = ("title", "kind", "source_type", "published_at", "relevance", "verdict")


@dataclass(slots=True)
class AnswerRecord:
    """An answer in its stored form.

    Attributes:
        body: the plain answer; a sentence's ``text`` is None when it equals the text at its span.
        rows: the rows of ``answer_citations`` in order; a row with ``number`` 0 is not a citation.
    """

    body: Plain
    stale: bool
    rows: list[Plain] = field(default_factory=list)


# --- reading ---


def read_records(connection: Connection, answer_ids: Collection[str]) -> dict[str, AnswerRecord]:
    """The answers in their stored form, by id; unknown ids are left out."""
    facts = [answers.c[name] for name in (*COLUMNS, "stale", "body")]
    records: dict[str, AnswerRecord] = {}
    for row in rows_in(connection, select(*facts).where(answers.c.id.in_(VALUES)), answer_ids):
        body = {**row.body, **{name: getattr(row, name) for name in COLUMNS}}
        records[row.id] = AnswerRecord(body | {"sentences": [], "citations": []}, row.stale)
    columns = answer_sentences.c
    statement = select(answer_sentences).where(columns.answer_id.in_(VALUES))
    for row in rows_in(connection, statement.order_by(columns.answer_id, columns.ordinal), records):
        sentence: Plain = dict(row._mapping)
        sentence["span"] = {"start": sentence.pop("start"), "end": sentence.pop("end")}
        records[row.answer_id].body["sentences"].append(sentence)
    cited = answer_citations.c
    rows = select(answer_citations).where(cited.answer_id.in_(VALUES))
    for row in rows_in(connection, rows.order_by(cited.answer_id, cited.ordinal), records):
        record, citation = records[row.answer_id], dict(row._mapping)
        record.rows.append(citation)
        if citation["number"]:
            record.body["citations"].append(_citation(citation))
    return records


def _citation(row: Plain) -> Plain:
    return {
        **row["told"],
        **{name: row[name] for name in ("document_id", "version", *_CITATION_COLUMNS)},
        "id": row["number"],
        "source_span": {"start": row["start"], "end": row["end"]},
        "answer_span": {"start": row["answer_start"], "end": row["answer_end"]},
    }


def read_answers(connection: Connection, answer_ids: Collection[str]) -> dict[str, Answer]:
    """The complete answers, by id; unknown ids are left out."""
    plain = plain_answers(connection, answer_ids)
    return {answer_id: from_plain(Answer, body) for answer_id, body in plain.items()}


def plain_answers(connection: Connection, answer_ids: Collection[str]) -> dict[str, Plain]:
    """The answers by id, with the texts of all sentences and the current titles."""
    records = read_records(connection, answer_ids)
    ids = {row["document_id"] for record in records.values() for row in record.rows}
    live = {row.id: row for row in rows_in(connection, _LIVE, ids)}
    for body in (record.body for record in records.values()):
        for sentence in body["sentences"]:
            if sentence["text"] is None:
                sentence["text"] = body["text"][slice(*_span_ends(sentence))]
        for item in (*body["citations"], *body.get("related", ())):
            document = live.get(item.get("document_id", item.get("id")))
            if document and item["title"] != REMOVED:
                _update_source(item, document.title, document.url)
    return {answer_id: record.body for answer_id, record in records.items()}


def _update_source(item: Plain, title: str, url: str) -> None:
    """Give a citation or related document its current title, address and link."""
    item["title"] = title
    if url:
        if item["url"] and item.get("link", "").startswith(item["url"]):
            item["link"] = url + item["link"].removeprefix(item["url"])
        item["url"] = url


def _span_ends(sentence: Plain) -> tuple[int, int]:
    return sentence["span"]["start"], sentence["span"]["end"]


# --- writing ---


def write_rows(connection: Connection, record: AnswerRecord, at: datetime) -> None:
    """Insert an answer that was given at ``at``, replacing an earlier one with its id."""
    answer_id = record.body["id"]
    connection.execute(delete(answers).where(answers.c.id == answer_id))
    connection.execute(insert(answers), _answer_row(record) | {"created_at": at})
    _write_parts(connection, record)
    write_facts(connection, answer_id, at, record.body)


def rewrite_rows(connection: Connection, record: AnswerRecord) -> None:
    """Update the rows of an answer; remove it from the answer cache when it is stale."""
    answer_id = record.body["id"]
    is_answer = answers.c.id == answer_id
    connection.execute(update(answers).where(is_answer).values(_answer_row(record)))
    for table in (answer_sentences, answer_citations):
        connection.execute(delete(table).where(table.c.answer_id == answer_id))
    _write_parts(connection, record)
    at = connection.execute(select(answers.c.created_at).where(is_answer)).scalar_one()
    write_facts(connection, answer_id, at, record.body)
    if record.stale:
        forget_cached(connection, [answer_id])


def forget_cached(connection: Connection, answer_ids: Iterable[str]) -> None:
    """Remove these answers from the answer cache."""
    delete_rows(connection, cached_answers.c.answer_id, answer_ids)


def _answer_row(record: AnswerRecord) -> Plain:
    own_columns = {*COLUMNS, "sentences", "citations"}
    body = {name: item for name, item in record.body.items() if name not in own_columns}
    columns = {name: record.body.get(name, "") for name in COLUMNS}
    confidence = record.body["confidence"]["score"]
    return {**columns, "confidence": confidence, "stale": record.stale, "body": body}


def _write_parts(connection: Connection, record: AnswerRecord) -> None:
    answer_id = record.body["id"]
    sentences = (
        {"answer_id": answer_id, "ordinal": ordinal, **sentence["span"]}
        | {name: sentence[name] for name in ("text", "verdict", "citations", "marked", "within")}
        for ordinal, sentence in enumerate(record.body["sentences"])
    )
    insert_rows(connection, answer_sentences, sentences)
    citations = {citation["id"]: citation for citation in record.body["citations"]}
    rows = [
        {name: row[name] for name in _ROW_COLUMNS}
        | (
            _citation_columns(citations[row["number"]])
            if row["number"] in citations
            else _mention_columns(row["told"]["title"])
        )
        for row in record.rows
    ]
    insert_rows(connection, answer_citations, rows)


def _mention_columns(title: str) -> Plain:
    empty: Plain = dict.fromkeys(("quote", "link", "url", "why"), "")
    return empty | {"locator": {}, "told": {"title": title}, "answer_start": 0, "answer_end": 0}


def _citation_columns(citation: Plain) -> Plain:
    span = citation["answer_span"]
    return {
        **{name: citation[name] for name in _CITATION_COLUMNS},
        "told": {name: citation[name] for name in _CITATION_FACTS},
        "answer_start": span["start"],
        "answer_end": span["end"],
    }


def to_record(connection: Connection, answer: Answer) -> AnswerRecord:
    """The stored form of an answer; a row's ``live`` is the current version (None: removed)."""
    body = to_plain(answer)
    for sentence in body["sentences"]:
        if sentence["text"] == body["text"][slice(*_span_ends(sentence))]:
            sentence["text"] = None
    return AnswerRecord(body, stale=False, rows=_document_rows(connection, answer, body))


def _document_rows(connection: Connection, answer: Answer, body: Plain) -> list[Plain]:
    """The rows of the answer's documents: cited, then only listed, then only mentioned."""
    cited = {citation.document_id for citation in answer.citations}
    listed = sorted(table_documents(body) - cited)
    related = {name for item in answer.related for name in _related_documents(connection, item)}
    mentioned = sorted(related - cited - table_documents(body))
    live = {row.id: row for row in rows_in(connection, _LIVE, [*cited, *listed, *mentioned])}
    versions = {row.id: row.version for row in live.values()}
    titles = {row.id: row.title for row in live.values()}
    titles |= {item.id: item.title for item in answer.related if item.kind == "document"}
    titles |= {citation.document_id: citation.title for citation in answer.citations}
    keys = [
        (item.document_id, item.version, item.source_span.start, item.source_span.end, item.id)
        for item in answer.citations
    ]
    # A document that is not cited has no span, since nothing is quoted from it.
    keys += [(listed_id, versions.get(listed_id, _LISTED_VERSION), 0, 0, 0) for listed_id in listed]
    keys += [(mentioned_id, MENTIONED, 0, 0, 0) for mentioned_id in mentioned]
    return [
        {
            "answer_id": answer.id,
            "ordinal": ordinal,
            "document_id": document_id,
            "version": version,
            "start": start,
            "end": end,
            "number": number,
            "shape": "",  # filled when the document is removed
            "live": versions.get(document_id),
            "told": {"title": titles.get(document_id, "")},
        }
        for ordinal, (document_id, version, start, end, number) in enumerate(keys)
    ]


_LIVE = select(*(documents.c[name] for name in ("id", "version", "title", "url"))).where(
    documents.c.id.in_(VALUES)
)


def _related_documents(connection: Connection, related: Related) -> Iterable[str]:
    """The ids of documents whose titles an answer shows as related material."""
    if related.kind == "document":
        return (related.id,) if related.id else ()
    titled = select(documents.c.id).where(documents.c.title == related.title)
    if related.kind == "entity":
        statement = titled.join(entities, entities.c.document_id == documents.c.id).where(
            entities.c.entity_id == related.id
        )
        if related.collection:
            statement = statement.where(without_index(documents.c.collection) == related.collection)
    else:
        statement = titled.join(story_items, story_items.c.document_id == documents.c.id).where(
            story_items.c.story_id == related.id
        )
    return connection.execute(statement.distinct()).scalars()


def table_documents(body: Plain) -> set[str]:
    """The ids of the documents listed in the answer's table."""
    table = body.get("table")
    return {document_id for row in table["documents"] for document_id in row} if table else set()


MAX_TOPIC_WORDS = 12  # words of a question that are counted as topics
MIN_WORD_CHARS = 3
MAX_TOPIC_CHARS = 80


def write_facts(connection: Connection, answer_id: str, at: datetime, body: Plain) -> None:
    """Replace the stored statistics of an answer by those of ``body``."""
    for table in (answer_facts, answer_steps, answer_topics):
        conditions = [table.c.answer_id == answer_id]
        if table is answer_topics:
            conditions.append(answer_topics.c.kind != READ)  # independent of the answer's text
        connection.execute(delete(table).where(*conditions))
    facts = _facts(body)
    key = {"answer_id": answer_id, "at": at}
    connection.execute(insert(answer_facts), facts | key)
    seconds = _steps(body) | {TOTAL: facts["seconds"]}
    steps = [{"name": name, "seconds": duration} | key for name, duration in seconds.items()]
    connection.execute(insert(answer_steps), steps)
    topics = [
        {"kind": kind, "topic": topic, "gap": facts["gap"]} | key
        for kind, topic in sorted(_topics(connection, body))
    ]
    insert_rows(connection, answer_topics, topics)


def record_collections(
    connection: Connection, answer_id: str, at: datetime, collections: Iterable[str]
) -> None:
    """Record the collections that an answer could use: only readers of all may see it."""
    topics = (
        {"answer_id": answer_id, "at": at, "kind": READ, "topic": name, "gap": False}
        for name in sorted(set(collections))
    )
    insert_rows(connection, answer_topics, topics)


def forget_collection(connection: Connection, collection: str) -> None:
    """Delete the records that answers could use this collection."""
    is_record = (answer_topics.c.kind == READ, answer_topics.c.topic == collection)
    connection.execute(delete(answer_topics).where(*is_record))


def _facts(body: Mapping[str, Any]) -> dict[str, Any]:
    confidence, usage = body["confidence"], body.get("usage") or {}
    verdicts = Counter(item["verdict"]["name"] for item in body["sentences"])
    answered_by = body["answered_by"]
    return {
        "type": body.get("type", ""),
        "mode": body.get("mode", ""),
        "answered_by": answered_by,
        "band": confidence["band"],
        "confidence": confidence["score"],
        "seconds": sum(_steps(body).values()),
        "cost": usage.get("cost", 0.0),
        "citations": len(body["citations"]),
        "input_tokens": usage.get("input_tokens", 0),
        "output_tokens": usage.get("output_tokens", 0),
        "follow_up": bool(body.get("rewritten")),
        "cached": bool(body.get("cached")),
        "gap": answered_by in (NOBODY, CATALOGUE) and bool(body.get("data_gaps")),
        **{item.value: verdicts[item.value] for item in VerdictName},
    }


def _steps(body: Mapping[str, Any]) -> dict[str, float]:
    """The seconds of each step, summed when a question with several parts repeats a step."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for step in body.get("steps") or ():
        seconds[step["name"]] += step["seconds"]
    return dict(seconds)


def _topics(connection: Connection, body: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The topics of an answer: collections and fields that it cites, words of its question."""
    topics = {("word", word) for word in _topic_words(body.get("standalone") or body["question"])}
    cited = sorted({citation["document_id"] for citation in body["citations"]})
    facts = select(documents.c.collection, documents.c.taxonomy).where(documents.c.id.in_(cited))
    for row in connection.execute(facts) if cited else ():
        topics.add(("collection", row.collection))
        for name, values in row.taxonomy.items():
            topics |= {("field", f"{name}: {value}"[:MAX_TOPIC_CHARS]) for value in values}
    return topics


def _topic_words(question: str) -> list[str]:
    """The topic words of a question, in the singular, without duplicates."""
    question = question.replace(REMOVED, " ")
    topic_stems = set(parse(question).topic_stems)
    words = (lowercase(word) for word in words_in(question) if stem(word) in topic_stems)
    long = (word for word in words if len(word) >= MIN_WORD_CHARS and word not in NUMBER_WORDS)
    singulars = dict.fromkeys((singular(word) or word)[:MAX_TOPIC_CHARS] for word in long)
    return [word for word in singulars if word not in NUMBER_WORDS][:MAX_TOPIC_WORDS]
