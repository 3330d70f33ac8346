"""An answer as rows: its text and figures, its sentences, and what it cites, lists or names.

Nothing here repeats what a document is called or where it opens: a row of ``answer_citations``
points to the document, and wherever the answer names it beside its own words stands a reference to
that row. Titles are looked up when the answer is shown. What a document said is kept as it was
quoted, until the document is removed (``answer_removal``).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.asking.answer_facts_records import write_facts
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.database import aside, chunks, rows_in
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    answer_citations,
    answer_sentences,
    answers,
    cached_answers,
    documents,
    entities,
    story_items,
)
from wellread.text.sentences import sentence_spans
from wellread.values.answers import Answer, Related

Plain = dict[str, Any]
Change = Callable[[str], str]
Edit = tuple[int, int, str]  # start and end in the text as it was, and what comes there
_LISTED = "-"  # the version of a row whose document was not there when it was written
NAMED = ""  # the version of a row that is only named: nothing of it is quoted or told
COLUMNS = ("id", "session_id", "owner", "question", "answered_by", "type", "text")
_CITED = ("quote", "link", "url", "why", "locator")
_TOLD = ("kind", "source_type", "published_at", "relevance", "verdict")
_REPEATING = frozenset({"data_gaps", "standalone"})  # say what was asked
_PROSE = _REPEATING | {
    *("about", "failures", "heading", "label", "notes", "reason", "reasoning", "rows"),
    *("suggestions", "title", "why"),
}


@dataclass(slots=True)
class Kept:
    """An answer as it is kept.

    Attributes:
        body: the plain answer with references in place of titles; a sentence's ``text`` is None
            where it is what stands at its span.
        rows: those of ``answer_citations``, by ordinal; those without ``number`` are no citations.
            ``title`` and ``url`` are those of the document as it is now, None where it is gone.
    """

    body: Plain
    stale: bool
    rows: list[Plain] = field(default_factory=list)

    def spelled(self, found: re.Match[str]) -> str:
        """What a reference stands for: the title (a shape where it was removed), or the address."""
        row = self.rows[int(found[2])]
        if found[1]:
            return "" if row["shape"] else row["url"] or ""
        return str(row["shape"] or (REMOVED if row["title"] is None else row["title"]))

    def spelling(self, said: str) -> str:
        """``said`` with titles in place of references."""
        return REFERENCE.sub(self.spelled, said) if OPEN in said else said

    def names_gone(self, plain: Any) -> bool:
        """Whether a text, or one in a list or mapping, names a document that is not there."""
        if isinstance(plain, dict):
            plain = list(plain.values())
        if isinstance(plain, list):
            return any(map(self.names_gone, plain))
        places = REFERENCE.findall(plain) if isinstance(plain, str) else ()
        rows = [self.rows[int(place)] for _, place in places]
        return any(row["shape"] or row["title"] is None for row in rows)


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
    rows = (
        select(answer_citations, documents.c.title, documents.c.url, documents.c.uri)
        .outerjoin_from(answer_citations, documents, documents.c.id == cited.document_id)
        .where(cited.answer_id.in_(VALUES))
        .order_by(cited.answer_id, cited.ordinal)
    )
    names = [column.name for column in cited]
    for row in rows_in(connection, rows, found):
        kept = found[row.answer_id]
        held: Plain = dict(zip(names, row, strict=False))
        kept.rows.append(held)
        if held["number"]:
            kept.body["citations"].append(_citation(held))
        held["title"] = row[len(names)]
        held["url"] = row[len(names) + 1] or row[len(names) + 2]
    return found


def _citation(row: Plain) -> Plain:
    return {
        **row["told"],
        **{name: row[name] for name in ("document_id", "version", *_CITED)},
        "id": row["number"],
        "title": reference(row["ordinal"]),
        "source_span": {"start": row["start"], "end": row["end"]},
        "answer_span": {"start": row["answer_start"], "end": row["answer_end"]},
    }


def shown_answers(connection: Connection, answer_ids: Collection[str]) -> dict[str, Answer]:
    """Whole answers by id, with documents called as they are now; unknown ones are left out."""
    kept = kept_answers(connection, answer_ids)
    return {answer_id: from_plain(Answer, shown(answer)) for answer_id, answer in kept.items()}


def shown(kept: Kept) -> Plain:
    """The plain answer with titles in place of references; what only names what is gone is out."""
    body = dict(kept.body)
    for name in ("related", "suggestions"):
        body[name] = [each for each in body.get(name, ()) if not kept.names_gone(each)]
    text, moved = spelled_out(kept)
    plain: Plain = _every_string({**body, "text": ""}, kept.spelling) | {"text": text}
    shapes = [row["shape"] for row in kept.rows if row["number"]]
    for citation, shape in zip(plain["citations"], shapes, strict=True):
        citation["answer_span"] = moved_span(citation["answer_span"], moved)
        citation["title"] = REMOVED if shape else citation["title"]
    for sentence in plain["sentences"]:
        sentence["span"] = moved_span(sentence["span"], moved)
        if sentence["text"] is None:
            sentence["text"] = text[sentence["span"]["start"] : sentence["span"]["end"]]
    return plain


def spelled_out(kept: Kept) -> tuple[str, Callable[[int], int]]:
    """The text as it is shown, and where a place of the one that is kept stands in it."""
    text = kept.body["text"]
    return edited(text, [(*m.span(), kept.spelled(m)) for m in REFERENCE.finditer(text)])


def places_kept(kept: Kept) -> Callable[[int], int]:
    """Where a place of the text as it is shown stands in the one that is kept."""
    text = kept.body["text"]
    edits, grown = [], 0
    for found in REFERENCE.finditer(text):
        start, said = found.start() + grown, kept.spelled(found)
        edits.append((start, start + len(said), found[0]))
        grown += len(said) - len(found[0])
    return edited("", edits)[1]


def _every_string(plain: Any, change: Change) -> Any:
    if isinstance(plain, str):
        return change(plain)
    if isinstance(plain, list):
        return [_every_string(item, change) for item in plain]
    if isinstance(plain, dict):
        return {name: _every_string(item, change) for name, item in plain.items()}
    return plain


def _without_marks(text: str) -> str:
    """What the marks of references are made of has no meaning in a text."""
    return text if text.isascii() else text.replace(OPEN, "\ufffd").replace(CLOSE, "\ufffd")


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
    asked = kept.spelling(kept.body["standalone"])
    write_facts(connection, kept.body["id"], at, {**kept.body, "standalone": asked})


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
        {name: row[name] for name in _ROW} | _citation_row(cited.get(row["number"]))
        for row in kept.rows
    ]
    if rows:
        connection.execute(insert(answer_citations), rows)


_ROW = ("answer_id", "ordinal", "document_id", "version", "start", "end", "number", "shape")


def _citation_row(cited: Plain | None) -> Plain:
    if cited is None:
        empty: Plain = dict.fromkeys(("quote", "link", "url", "why"), "")
        return empty | {"locator": {}, "told": {}, "answer_start": 0, "answer_end": 0}
    span = cited["answer_span"]
    return {
        **{name: cited[name] for name in _CITED},
        "told": {name: cited[name] for name in _TOLD},
        "answer_start": span["start"],
        "answer_end": span["end"],
    }


# --- references ---


def reference(place: int, sort: str = "") -> str:
    """What stands for the title (``u``: the address) of the document of a row."""
    return f"{OPEN}{sort}{place}{CLOSE}"


def kept_form(connection: Connection, answer: Answer) -> Kept:
    """An answer as it is to be kept, with its documents as they are now.

    Rows say what the answer calls their document (``called``), and which version is live (None
    where the document is gone).
    """
    body = _every_string(to_plain(answer), _without_marks)
    rows = _document_rows(connection, answer, body)
    first: dict[str, Plain] = {}
    titles: dict[str, str] = {}
    for row in rows:
        first.setdefault(row["document_id"], row)
    for row in first.values():
        for title in {row["called"], row["title"] or ""} - {"", REMOVED}:
            titles.setdefault(title, reference(row["ordinal"]))
    return Kept(_referring(body, first, titles), stale=False, rows=rows)


def _document_rows(connection: Connection, answer: Answer, body: Plain) -> list[Plain]:
    """What the answer cites; then what it only lists, and what it only names."""
    cited = {citation.document_id for citation in answer.citations}
    in_rows = sorted(listed(body) - cited)
    beside = sorted(_named(connection, answer.related) - cited - listed(body))
    live = {
        row.id: {"live": row.version, "title": row.title, "url": row.url or row.uri}
        for row in rows_in(connection, _LIVE, [*cited, *in_rows, *beside])
    }
    called = {one.id: one.title for one in answer.related if one.kind == "document"}
    called |= {citation.document_id: citation.title for citation in answer.citations}
    rows = [
        (one.document_id, one.version, one.source_span.start, one.source_span.end, one.id)
        for one in answer.citations
    ]
    # What only a row of the table rests on has no place, since nothing is quoted of it.
    rows += [(one, live[one]["live"] if one in live else _LISTED, 0, 0, 0) for one in in_rows]
    rows += [(one, NAMED, 0, 0, 0) for one in beside]
    names = ("document_id", "version", "start", "end", "number")
    return [
        dict(zip(names, row, strict=True))
        | live.get(row[0], {"live": None, "title": None, "url": None})
        | {"answer_id": answer.id, "ordinal": place, "shape": "", "called": called.get(row[0], "")}
        for place, row in enumerate(rows)
    ]


_LIVE = select(
    documents.c.id, documents.c.version, documents.c.title, documents.c.url, documents.c.uri
).where(documents.c.id.in_(VALUES))


def _referring(body: Plain, first: Mapping[str, Plain], titles: Mapping[str, str]) -> Plain:
    """The body with references in place of titles, wherever it names one of its documents.

    Quotations, sentences that were taken word for word, and what the asker wrote stay.

    Args:
        first: the first row of each document; ``titles``: each title to what stands for it.
    """
    text, moved = edited(body["text"], list(_edits(body, first, titles)))
    new = said_beside(body, any_title_changed(titles)) | {"text": text}
    for citation in new["citations"]:
        citation["title"] = reference(first[citation["document_id"]]["ordinal"])
        citation["answer_span"] = moved_span(citation["answer_span"], moved)
    for shown_place in (*new["citations"], *new["related"]):
        row = first.get(shown_place.get("document_id", shown_place["id"]))
        url = shown_place["url"]
        for name in ("link", "url") if row and url and row["url"] == url else ():
            if row and name in shown_place:
                sign = reference(row["ordinal"], "u")
                shown_place[name] = shown_place[name].replace(url, sign, 1)
    for sentence, before in zip(new["sentences"], body["sentences"], strict=True):
        start, end = before["span"]["start"], before["span"]["end"]
        if sentence["text"] == body["text"][start:end]:
            sentence["text"] = None
        sentence["span"] = moved_span(sentence["span"], moved)
    return new


def _edits(body: Plain, first: Mapping[str, Plain], titles: Mapping[str, str]) -> Iterator[Edit]:
    """The places of the text that only name a document: between sentences, and lines of a list."""
    text, pattern = body["text"], titles_pattern(titles)
    if pattern is None:
        return
    cited = {
        citation["id"]: {citation["title"]: reference(first[citation["document_id"]]["ordinal"])}
        for citation in body["citations"]
    }
    stretches: list[tuple[int, int, dict[str, str]]] = []
    end, before = 0, dict[str, str]()
    for place, sentence in enumerate([*body["sentences"], None]):
        # Of documents of one title, a marker or a label names the one that its sentence cites.
        numbers = sentence["citations"] if sentence else ()
        own = {title: sign for known in numbers for title, sign in cited.get(known, {}).items()}
        span = sentence["span"] if sentence else {"start": len(text), "end": len(text)}
        stretches.append((end, span["start"], {**titles, **own, **before}))
        if body.get("table") and place <= len(body["table"]["documents"]):
            stretches.append((span["start"], span["end"], {**titles, **own}))
        end, before = span["end"], own
    done = 0
    for start, stop, signs in stretches:
        for found in pattern.finditer(text, max(start, done), stop):
            done = found.end()
            yield found.start(), done, signs[found.group()]


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


# --- places in a text ---


def listed(body: Plain) -> set[str]:
    """The documents that the rows of the table rest on."""
    table = body.get("table")
    return {document_id for row in table["documents"] for document_id in row} if table else set()


def markers(body: Plain, text: str) -> Iterator[tuple[int, int, int]]:
    """The number of each citation in ``text`` with where the inside of its marker stands."""
    for sentence in body["sentences"]:
        place = sentence["span"]["end"]
        for number in sentence["citations"]:
            start = text.find("[", place, place + 2)
            close = text.find("]", start)
            if start < 0 or close < 0:
                break
            yield number, start + 1, close
            place = close + 1


def edited(text: str, edits: Sequence[Edit]) -> tuple[str, Callable[[int], int]]:
    """The text with all edits, in order, and where a place of it stands then."""
    pieces, at = [], 0
    for start, end, new in edits:
        pieces += [text[at:start], new]
        at = end
    pieces.append(text[at:])
    ends = [end for _, end, _ in edits]
    grown = [0, *accumulate(len(new) - (end - start) for start, end, new in edits)]
    return "".join(pieces), lambda place: place + grown[bisect_right(ends, place)]


def moved_span(span: Plain, moved: Callable[[int], int]) -> Plain:
    """A span of the text in the text as it is now."""
    return {**span, "start": moved(span["start"]), "end": moved(span["end"])}


def blanked_parts(kept: Kept, text: str, blank: Change) -> tuple[str, Callable[[int], int]]:
    """A kept text with ``blank`` done as if titles stood in it, and where its places stand then."""
    found = list(REFERENCE.finditer(text))
    if not found:
        return blank(text), lambda place: place
    whole, moved = edited(text, [(*m.span(), kept.spelled(m)) for m in found])
    covered = blank(whole)
    if covered == whole:
        return text, lambda place: place
    edits: list[Edit] = []
    at = 0
    for reference_at in found:
        start, end = reference_at.span()
        edits.append((at, start, covered[moved(at) : moved(start)]))
        new = covered[moved(start) : moved(end)]
        edits.append((start, end, reference_at[0] if new == kept.spelled(reference_at) else new))
        at = end
    edits.append((at, len(text), covered[moved(at) :]))
    return edited(text, [edit for edit in edits if edit[0] < edit[1]])


RUN = 8  # words: shorter runs are anybody's
SHORTEST = 5  # words of a whole sentence that counts
BLANK = "█"
OPEN, CLOSE = "\ufdd8", "\ufdd9"  # around the number of a reference (``answer_rows``)
REFERENCE = re.compile(rf"{OPEN}(u?)(\d+){CLOSE}")
_WORD = re.compile(r"\w+")
_LETTER = re.compile(rf"({REFERENCE.pattern})|\S")
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
    """``text`` with a block in place of every letter; references stay."""
    return _LETTER.sub(lambda found: found[1] or BLANK, text)


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
