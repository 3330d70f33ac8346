"""The figures of an answer, written with it: metrics read these small rows and no bodies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from wellread.store.rights import READ
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    TOTAL,
    answer_facts,
    answer_steps,
    answer_topics,
    documents,
)
from wellread.text.english import NUMBER_WORDS
from wellread.text.names import singular
from wellread.text.parsed import parse
from wellread.text.words import plain, stem, words_in
from wellread.values.answers import CATALOGUE, NOBODY, VerdictName

Plain = Mapping[str, Any]
MOST_WORDS = 12  # of a question that are counted as what it is about
SHORTEST_WORD = 3
LONGEST_TOPIC = 80


def write_facts(connection: Connection, answer_id: str, at: datetime, body: Plain) -> None:
    """Keep the figures of the answer with this body, in place of those that it had."""
    for table in (answer_facts, answer_steps, answer_topics):
        mine = [table.c.answer_id == answer_id]
        if table is answer_topics:
            mine.append(answer_topics.c.kind != READ)  # that does not hang on the body
        connection.execute(delete(table).where(*mine))
    facts = _facts(body)
    key = {"answer_id": answer_id, "at": at}
    connection.execute(insert(answer_facts), facts | key)
    seconds = _steps(body) | {TOTAL: facts["seconds"]}
    steps = [{"name": name, "seconds": taken} | key for name, taken in seconds.items()]
    connection.execute(insert(answer_steps), steps)
    topics = [
        {"kind": kind, "topic": topic, "gap": facts["gap"]} | key
        for kind, topic in sorted(_topics(connection, body))
    ]
    if topics:
        connection.execute(insert(answer_topics), topics)


def note_read(
    connection: Connection, answer_id: str, at: datetime, collections: Iterable[str]
) -> None:
    """Keep from which collections an answer could be drawn: who may not read one, gets it not."""
    topics = [
        {"answer_id": answer_id, "at": at, "kind": READ, "topic": name, "gap": False}
        for name in sorted(set(collections))
    ]
    if topics:
        connection.execute(insert(answer_topics), topics)


def forget_read(connection: Connection, collection: str) -> None:
    """The collection is not there any more."""
    named = (answer_topics.c.kind == READ, answer_topics.c.topic == collection)
    connection.execute(delete(answer_topics).where(*named))


def _facts(body: Plain) -> dict[str, Any]:
    sure, usage = body["confidence"], body.get("usage") or {}
    verdicts = Counter(one["verdict"]["name"] for one in body["sentences"])
    by = body["answered_by"]
    return {
        "type": body.get("type", ""),
        "mode": body.get("mode", ""),
        "answered_by": by,
        "band": sure["band"],
        "confidence": sure["score"],
        "seconds": sum(_steps(body).values()),
        "cost": usage.get("cost", 0.0),
        "citations": len(body["citations"]),
        "input_tokens": usage.get("input_tokens", 0),
        "output_tokens": usage.get("output_tokens", 0),
        "follow_up": bool(body.get("rewritten")),
        "cached": bool(body.get("cached")),
        "gap": by in (NOBODY, CATALOGUE) and bool(body.get("data_gaps")),
        **{one.value: verdicts[one.value] for one in VerdictName},
    }


def _steps(body: Plain) -> dict[str, float]:
    """Seconds by step; one that a question in parts went through several times, as the sum."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for step in body.get("steps") or ():
        seconds[step["name"]] += step["seconds"]
    return dict(seconds)


def _topics(connection: Connection, body: Plain) -> set[tuple[str, str]]:
    """What the answer is about: collections and fields of what it cites, words of its question."""
    found = {("word", word) for word in _words(body.get("standalone") or body["question"])}
    cited = sorted({one["document_id"] for one in body["citations"]})
    facts = select(documents.c.collection, documents.c.taxonomy).where(documents.c.id.in_(cited))
    for row in connection.execute(facts) if cited else ():
        found.add(("collection", row.collection))
        for field, values in row.taxonomy.items():
            found |= {("field", f"{field}: {value}"[:LONGEST_TOPIC]) for value in values}
    return found


def _words(question: str) -> list[str]:
    """The words that say what a question is about, in the singular, each once."""
    question = question.replace(REMOVED, " ")
    about = set(parse(question).topic_stems)
    words = (plain(word) for word in words_in(question) if stem(word) in about)
    telling = (word for word in words if len(word) >= SHORTEST_WORD and word not in NUMBER_WORDS)
    named = dict.fromkeys((singular(word) or word)[:LONGEST_TOPIC] for word in telling)
    return [word for word in named if word not in NUMBER_WORDS][:MOST_WORDS]
