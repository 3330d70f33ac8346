"""An answer as rows: its text and figures, its sentences, and what it cites, lists or names.

It is kept as it was given, titles of documents included. A row of ``answer_citations`` points to
each document that it rests on or names, with what the document was called then; so what a removed
document said, and its title, are found again (``answer_removal``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.rights import READ
from wellread.store.schema.database import aside, chunks, rows_in
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
from wellread.text.names import singular
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import plain, stem, words_in
from wellread.values.answers import CATALOGUE, NOBODY, Answer, Related, VerdictName

Plain = dict[str, Any]
Change = Callable[[str], str]
_LISTED = "-"  # the version of a row whose document was not there when it was written
NAMED = ""  # the version of a row that is only named: nothing of it is quoted or told
COLUMNS = ("id", "session_id", "owner", "question", "answered_by", "type", "text")
_CITED = ("quote", "link", "url", "why", "locator")
_TOLD = ("title", "kind", "source_type", "published_at", "relevance", "verdict")
_REPEATING = frozenset({"data_gaps", "standalone"})  # say what was asked
_PROSE = _REPEATING | {
    *("about", "failures", "heading", "label", "notes", "reason", "reasoning", "rows"),
    *("suggestions", "title", "why"),
}


@dataclass(slots=True)
class Kept:
    """An answer as it is kept.

    Attributes:
        body: the plain answer; a sentence's ``text`` is None where it is what stands at its span.
        rows: those of ``answer_citations``, by ordinal; those without ``number`` are no citations.
    """

    body: Plain
    stale: bool
    rows: list[Plain] = field(default_factory=list)


# --- reading ---


def kept_answers(connection: Connection, answer_ids: Collection[str]) -> dict[str, Kept]:
    """Answers as they are kept; unknown ones are left out."""
    facts = [answers.c[name] for name in (*COLUMNS, "stale", "body")]
    found: dict[str, Kept] = {}
    for row in rows_in(connection, select(*facts).where(answers.c.id.in_(VALUES)), answer_ids):
        body = {**row.body, **{name: getattr(row, name) for name in COLUMNS}}
        found[row.id] = Kept(body | {"sentences": [], "citations": []}, row.stale)
    mine = answer_sentences.c
    said = select(answer_sentences).where(mine.answer_id.in_(VALUES))
    for row in rows_in(connection, said.order_by(mine.answer_id, mine.ordinal), found):
        sentence: Plain = dict(row._mapping)
        sentence["span"] = {"start": sentence.pop("start"), "end": sentence.pop("end")}
        found[row.answer_id].body["sentences"].append(sentence)
    cited = answer_citations.c
    rows = select(answer_citations).where(cited.answer_id.in_(VALUES))
    for row in rows_in(connection, rows.order_by(cited.answer_id, cited.ordinal), found):
        kept, held = found[row.answer_id], dict(row._mapping)
        kept.rows.append(held)
        if held["number"]:
            kept.body["citations"].append(_citation(held))
    return found


def _citation(row: Plain) -> Plain:
    return {
        **row["told"],
        **{name: row[name] for name in ("document_id", "version", *_CITED)},
        "id": row["number"],
        "source_span": {"start": row["start"], "end": row["end"]},
        "answer_span": {"start": row["answer_start"], "end": row["answer_end"]},
    }


def shown_answers(connection: Connection, answer_ids: Collection[str]) -> dict[str, Answer]:
    """Whole answers by id; unknown ones are left out."""
    kept = kept_answers(connection, answer_ids)
    return {answer_id: from_plain(Answer, shown(answer)) for answer_id, answer in kept.items()}


def shown(kept: Kept) -> Plain:
    """The plain answer with the words of every sentence."""
    text = kept.body["text"]
    sentences = [
        one if one["text"] is not None else {**one, "text": text[slice(*_ends(one))]}
        for one in kept.body["sentences"]
    ]
    return {**kept.body, "sentences": sentences}


def _ends(sentence: Plain) -> tuple[int, int]:
    return sentence["span"]["start"], sentence["span"]["end"]


# --- writing ---


def write_rows(connection: Connection, kept: Kept, at: datetime) -> None:
    """Write an answer's rows in place of those that it had; ``at``: when it was given."""
    answer_id = kept.body["id"]
    connection.execute(delete(answers).where(answers.c.id == answer_id))
    connection.execute(insert(answers), _answer_row(kept) | {"created_at": at})
    _write_parts(connection, kept)
    renew_facts(connection, kept, at)


def rewrite_rows(connection: Connection, kept: Kept) -> None:
    """Write what an answer is now over its rows; a stale one is not given again."""
    answer_id = kept.body["id"]
    mine, given = answers.c.id == answer_id, select(answers.c.created_at)
    connection.execute(update(answers).where(mine).values(_answer_row(kept)))
    for table in (answer_sentences, answer_citations):
        connection.execute(delete(table).where(table.c.answer_id == answer_id))
    _write_parts(connection, kept)
    renew_facts(connection, kept, connection.execute(given.where(mine)).scalar_one())
    if kept.stale:
        forget_cached(connection, [answer_id])


def renew_facts(connection: Connection, kept: Kept, at: datetime) -> None:
    """Keep the figures of an answer, in place of those that it had."""
    write_facts(connection, kept.body["id"], at, kept.body)


def forget_cached(connection: Connection, answer_ids: Iterable[str]) -> None:
    """These answers are not given again."""
    for ids in chunks(answer_ids):
        connection.execute(delete(cached_answers).where(cached_answers.c.answer_id.in_(ids)))


def _answer_row(kept: Kept) -> Plain:
    apart = {*COLUMNS, "sentences", "citations"}
    body = {name: item for name, item in kept.body.items() if name not in apart}
    columns = {name: kept.body.get(name, "") for name in COLUMNS}
    sure = kept.body["confidence"]["score"]
    return {**columns, "confidence": sure, "stale": kept.stale, "body": body}


def _write_parts(connection: Connection, kept: Kept) -> None:
    answer_id = kept.body["id"]
    sentences = [
        {"answer_id": answer_id, "ordinal": place, **sentence["span"]}
        | {name: sentence[name] for name in ("text", "verdict", "citations", "marked", "within")}
        for place, sentence in enumerate(kept.body["sentences"])
    ]
    if sentences:
        connection.execute(insert(answer_sentences), sentences)
    cited = {citation["id"]: citation for citation in kept.body["citations"]}
    rows = [
        {name: row[name] for name in _ROW}
        | _citation_row(cited.get(row["number"], {"title": row["told"]["title"]}))
        for row in kept.rows
    ]
    if rows:
        connection.execute(insert(answer_citations), rows)


_ROW = ("answer_id", "ordinal", "document_id", "version", "start", "end", "number", "shape")


def _citation_row(told: Plain) -> Plain:
    if "id" not in told:
        empty: Plain = dict.fromkeys(("quote", "link", "url", "why"), "")
        return empty | {"locator": {}, "told": told, "answer_start": 0, "answer_end": 0}
    span = told["answer_span"]
    return {
        **{name: told[name] for name in _CITED},
        "told": {name: told[name] for name in _TOLD},
        "answer_start": span["start"],
        "answer_end": span["end"],
    }


def kept_form(connection: Connection, answer: Answer) -> Kept:
    """An answer as it is to be kept; its rows say which version is live, None for a document that
    is gone (``live``)."""
    body = to_plain(answer)
    for sentence in body["sentences"]:
        if sentence["text"] == body["text"][slice(*_ends(sentence))]:
            sentence["text"] = None
    return Kept(body, stale=False, rows=_document_rows(connection, answer, body))


def _document_rows(connection: Connection, answer: Answer, body: Plain) -> list[Plain]:
    """What the answer cites; then what it only lists, and what it only names."""
    cited = {citation.document_id for citation in answer.citations}
    in_rows = sorted(listed(body) - cited)
    beside = sorted(_named(connection, answer.related) - cited - listed(body))
    live = {
        row.id: (row.version, row.title)
        for row in rows_in(connection, _LIVE, [*cited, *in_rows, *beside])
    }
    called = {known: title for known, (_, title) in live.items()}
    called |= {one.id: one.title for one in answer.related if one.kind == "document"}
    called |= {citation.document_id: citation.title for citation in answer.citations}
    rows = [
        (one.document_id, one.version, one.source_span.start, one.source_span.end, one.id)
        for one in answer.citations
    ]
    # What only a row of the table rests on has no place, since nothing is quoted of it.
    rows += [(one, live[one][0] if one in live else _LISTED, 0, 0, 0) for one in in_rows]
    rows += [(one, NAMED, 0, 0, 0) for one in beside]
    names = ("document_id", "version", "start", "end", "number")
    return [
        dict(zip(names, row, strict=True))
        | {"answer_id": answer.id, "ordinal": place, "shape": ""}
        | {"live": live.get(row[0], (None,))[0], "told": {"title": called.get(row[0], "")}}
        for place, row in enumerate(rows)
    ]


_LIVE = select(documents.c.id, documents.c.version, documents.c.title).where(
    documents.c.id.in_(VALUES)
)


def said_beside(body: Plain, change: Change) -> Plain:
    """A body with what is said beside its text changed, but for what the asker wrote."""
    asked = set() if change(body["question"]) == body["question"] else _REPEATING
    new: Plain = _changed_under(body, _PROSE - asked, change, inside=False)
    if table := new.get("table"):
        table["method"] = change(table["method"])
    return new


def _changed_under(plain: Any, names: Collection[str], change: Change, *, inside: bool) -> Any:
    if isinstance(plain, dict):
        return {
            name: _changed_under(item, names, change, inside=name in names)
            for name, item in plain.items()
        }
    if isinstance(plain, list):
        return [_changed_under(item, names, change, inside=inside) for item in plain]
    return change(plain) if inside and isinstance(plain, str) else plain


def _named(connection: Connection, related: Iterable[Related]) -> set[str]:
    """The documents whose titles an answer shows as related material."""
    return {document_id for one in related for document_id in _documents_of(connection, one)}


def _documents_of(connection: Connection, related: Related) -> Iterable[str]:
    if related.kind == "document":
        return (related.id,) if related.id else ()
    titled = select(documents.c.id).where(documents.c.title == related.title)
    if related.kind == "entity":
        statement = titled.join(entities, entities.c.document_id == documents.c.id).where(
            entities.c.entity_id == related.id
        )
        if related.collection:
            statement = statement.where(aside(documents.c.collection) == related.collection)
    else:
        statement = titled.join(story_items, story_items.c.document_id == documents.c.id).where(
            story_items.c.story_id == related.id
        )
    return connection.execute(statement.distinct()).scalars()


def listed(body: Plain) -> set[str]:
    """The documents that the rows of the table rest on."""
    table = body.get("table")
    return {document_id for row in table["documents"] for document_id in row} if table else set()


RUN = 8  # words: shorter runs are anybody's
SHORTEST = 5  # words of a whole sentence that counts
BLANK = "█"
_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"\S")
# Names of fields that hold no prose: what they hold points to something, or is chosen by us.
_PLAIN = frozenset({"id", "document_id", "version", "kind", "method", "key", "session_id", "mode"})


class RemovedWords:
    """What ``texts`` said."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs = {run for text in texts for run in _runs(text)}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def blanked(self, text: str) -> str:
        """``text`` with quotations blacked out, letter by letter, so that its length stays."""
        if not self._runs:
            return text
        places = list(_WORD.finditer(text))
        words = [place.group().casefold() for place in places]
        covered = ""
        for length in range(SHORTEST, RUN + 1):
            for first in range(len(words) - length + 1):
                if hash(tuple(words[first : first + length])) in self._runs:
                    start, end = places[first].start(), places[first + length - 1].end()
                    covered = covered or text
                    covered = covered[:start] + blacked(covered[start:end]) + covered[end:]
        return covered or text


def changed_in(plain: Any, change: Callable[[str], str]) -> Any:
    """A plain JSON value with every string changed, names and ids excepted."""
    if isinstance(plain, str):
        return change(plain)
    if isinstance(plain, list):
        return [changed_in(item, change) for item in plain]
    if isinstance(plain, dict):
        return {
            name: item if name in _PLAIN else changed_in(item, change)
            for name, item in plain.items()
        }
    return plain


def blacked(text: str) -> str:
    """``text`` with a block in place of every letter."""
    return _LETTER.sub(BLANK, text)


def titles_pattern(titles: Collection[str]) -> re.Pattern[str] | None:
    """Any of the titles as whole words; not numbers, as those stand in markers too."""
    words = (title for title in titles if title.strip() and not title.isdigit())
    known = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)") if known else None


def any_title_changed(titles: Mapping[str, str]) -> Callable[[str], str]:
    """``titles_changed`` for words that say nothing but titles: any of them counts."""
    pattern = titles_pattern(titles)
    if pattern is None:
        return str
    return lambda text: pattern.sub(lambda found: titles[found.group()], text)


def titles_changed(pairs: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Puts the second in the place of the first of each pair of titles, the longest first.

    A title of one word may be anybody's word: it counts where it stands in quotation marks only.
    """
    new = {old: title for old, title in pairs if old != title}
    pattern = titles_pattern(new)

    def title(found: re.Match[str]) -> str:
        old, text = found.group(), found.string
        quoted = text[: found.start()].endswith("“") and text[found.end() :].startswith("”")
        return new[old] if quoted or len(old.split()) > 1 else old

    return (lambda text: pattern.sub(title, text)) if pattern else str


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _runs(text: str) -> Iterator[int]:
    """Hashes of all runs of ``RUN`` words, and of whole shorter sentences."""
    words = _words(text)
    for first in range(len(words) - RUN + 1):
        yield hash(tuple(words[first : first + RUN]))
    for span in sentence_spans(text):
        said = _words(span.of(text)[: RUN * 40])
        if SHORTEST <= len(said) < RUN:
            yield hash(tuple(said))


MOST_WORDS = 12  # of a question that are counted as what it is about
SHORTEST_WORD = 3
LONGEST_TOPIC = 80


def write_facts(
    connection: Connection, answer_id: str, at: datetime, body: Mapping[str, Any]
) -> None:
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


def _facts(body: Mapping[str, Any]) -> dict[str, Any]:
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


def _steps(body: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by step; one that a question in parts went through several times, as the sum."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for step in body.get("steps") or ():
        seconds[step["name"]] += step["seconds"]
    return dict(seconds)


def _topics(connection: Connection, body: Mapping[str, Any]) -> set[tuple[str, str]]:
    """What the answer is about: collections and fields of what it cites, words of its question."""
    found = {("word", word) for word in _asked_words(body.get("standalone") or body["question"])}
    cited = sorted({one["document_id"] for one in body["citations"]})
    facts = select(documents.c.collection, documents.c.taxonomy).where(documents.c.id.in_(cited))
    for row in connection.execute(facts) if cited else ():
        found.add(("collection", row.collection))
        for name, values in row.taxonomy.items():
            found |= {("field", f"{name}: {value}"[:LONGEST_TOPIC]) for value in values}
    return found


def _asked_words(question: str) -> list[str]:
    """The words that say what a question is about, in the singular, each once."""
    question = question.replace(REMOVED, " ")
    about = set(parse(question).topic_stems)
    words = (plain(word) for word in words_in(question) if stem(word) in about)
    telling = (word for word in words if len(word) >= SHORTEST_WORD and word not in NUMBER_WORDS)
    named = dict.fromkeys((singular(word) or word)[:LONGEST_TOPIC] for word in telling)
    return [word for word in named if word not in NUMBER_WORDS][:MOST_WORDS]
