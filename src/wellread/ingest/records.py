"""Records, one a line: news items and past questions in JSON Lines, past questions in CSV.

An item has ``text`` (or ``content`` or ``body``). A past question has ``question`` and at least
one of ``answer``, ``feedback`` and ``score``; ``feedback`` holds ``score``, ``citation_url`` and
``sentences``, each with ``score``, ``explanation``, ``harmful`` and ``content_issue``. In CSV the
sentences are columns: ``sentence_1_score``, ``sentence_1_explanation``, ...
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from wellread.errors import SourceError
from wellread.ingest.base import LoaderLimits, Source
from wellread.ingest.front_matter import (
    FrontMatter,
    moment,
    scalar,
    strings,
    taxonomy_of,
    web_address,
)
from wellread.ingest.plain import Blocks, decode
from wellread.types import KINDS, Document, Kind, PastQuestion, SentenceFeedback

Record = Mapping[str, Any]

TITLE_CHARACTERS = 120
_KINDS: dict[str, Kind] = {kind: kind for kind in KINDS if kind not in ("entity", "qa")}
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_COLUMN = re.compile(r"sentence_(\d{1,3})_(score|explanation|harmful|content_issue)$")
_CITATIONS = ("citation_url", "citation", "url")
_ANSWERED = ("answer", "feedback", "score", "sentences")


class _MalformedError(ValueError):
    """What is wrong with one record; the caller adds the line."""


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One document a record; the first malformed line refuses the whole file."""
    text = decode(source)
    is_csv = source.name.lower().endswith(".csv")
    records = _csv_records(source.uri, text) if is_csv else _json_records(source.uri, text)
    documents: list[Document] = []
    for line, record in records:
        try:
            asked = "question" in record and any(name in record for name in _ANSWERED)
            documents.append(_qa(source, record, line) if asked else _item(source, record, line))
        except _MalformedError as error:
            raise _at_line(source.uri, line, str(error)) from error
    yield from documents


def _at_line(uri: str, line: int, what: str) -> SourceError:
    return SourceError(uri, f"malformed line {line}: {what}")


def _json_records(uri: str, text: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise _at_line(uri, number, f"{error.msg} (column {error.colno})") from error
        except (ValueError, RecursionError) as error:  # a number or a nesting without end
            raise _at_line(uri, number, str(error)) from error
        if not isinstance(record, dict):
            raise _at_line(uri, number, "not an object")
        yield number, record


def _csv_records(uri: str, text: str) -> Iterator[tuple[int, Record]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    begun = 1
    try:
        for row in reader:
            line, begun = begun, reader.line_num + 1
            if not names:
                names = [name.strip().lower() for name in row]
            elif len(row) > len(names):
                raise _at_line(uri, line, f"{len(row)} fields, but the header names {len(names)}")
            elif any(row):
                cells = zip(names, row, strict=False)
                yield line, _nested({name: cell.strip() for name, cell in cells if cell.strip()})
    except csv.Error as error:
        raise _at_line(uri, reader.line_num, str(error)) from error


def _nested(cells: dict[str, str]) -> Record:
    """A row in the form of a JSON record: sentence columns gathered, empty cells left out."""
    sentences: dict[int, dict[str, str]] = {}
    record: dict[str, Any] = {"answer": ""}
    for name, cell in cells.items():
        column = _SENTENCE_COLUMN.match(name)
        if column:
            sentences.setdefault(int(column.group(1)), {})[column.group(2)] = cell
        else:
            record[name] = [cell] if name == "flow" else cell
    if sentences:
        record["sentences"] = [sentences.get(n, {}) for n in range(1, max(sentences) + 1)]
    return record


def _item(source: Source, record: Record, line: int) -> Document:
    body = next((record[name] for name in ("text", "content", "body") if record.get(name)), None)
    if body is None:
        raise _MalformedError("neither text nor a question with an answer")
    if not isinstance(body, str) or not body.strip():
        raise _MalformedError("text is not words")
    text, marks = _blocks([part.strip() for part in _PARAGRAPHS.split(body.strip())], line)
    matter = FrontMatter(fields=record, body="")
    link = matter.link("url", "link")
    return Document(
        collection=source.collection,
        uri=link or matter.words("uri", "id", "guid") or f"{source.uri}#L{line}",
        kind=_KINDS.get(matter.words("kind"), "article"),
        title=matter.words("title", "headline") or _first_words(text),
        text=text,
        marks=marks,
        url=link,
        source_type=matter.words("source_type", "type") or "jsonl",
        language=matter.words("language", "lang"),
        authors=matter.several("authors", "author"),
        published_at=moment(record.get("published_at") or record.get("date")),
        summary=matter.words("summary", "description"),
        media_url=matter.link("media_url"),
        taxonomy=taxonomy_of(matter, words_too=False),
    )


def _qa(source: Source, record: Record, line: int) -> Document:
    past = _past_question(record)
    text, marks = _blocks([part for part in (past.question, past.answer) if part], line)
    return Document(
        collection=source.collection,
        uri=f"{source.uri}#L{line}",
        kind="qa",
        title=_first_words(past.question),
        text=text,
        marks=marks,
        url=web_address(past.citation_url),
        source_type=scalar(record.get("source_type")) or "qa",
        language=scalar(record.get("language")) or scalar(record.get("lang")),
        published_at=moment(record.get("published_at") or record.get("date")),
        past_question=past,
    )


def _past_question(record: Record) -> PastQuestion:
    question, answer = record.get("question"), record.get("answer") or ""
    if not isinstance(question, str) or not question.strip():
        raise _MalformedError("question is not words")
    if not isinstance(answer, str):
        raise _MalformedError("answer is not words")
    feedback = record.get("feedback") or {}
    if isinstance(feedback, list):
        feedback = {"sentences": feedback}
    if isinstance(feedback, str):
        feedback = {"sentences": [{"explanation": feedback}]}
    if not isinstance(feedback, dict):
        raise _MalformedError("feedback is neither an object nor a list of sentences")
    sentences = record.get("sentences", feedback.get("sentences")) or []
    if not isinstance(sentences, list) or not all(isinstance(row, dict) for row in sentences):
        raise _MalformedError("sentences is not a list of objects")
    score = record.get("score", record.get("total_score", feedback.get("score")))
    better = record.get("expert_citation_url") or feedback.get("citation_url")
    return PastQuestion(
        question=question.strip(),
        answer=answer.strip(),
        flow=strings(record.get("flow") or []),
        citation_url=scalar(
            record.get("citation_url") or record.get("citation") or record.get("url")
        ),
        score=_score(score),
        expert_citation_url=scalar(better),
        sentences=tuple(_sentence(row) for row in sentences),
    )


def _sentence(row: Record) -> SentenceFeedback:
    return SentenceFeedback(
        score=_score(row.get("score")),
        explanation=scalar(row.get("explanation")),
        harmful=_flag(row.get("harmful")),
        content_issue=_flag(row.get("content_issue")),
    )


def _score(value: object) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = float(value) if isinstance(value, str | int | float) else -1.0
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 100:
        raise _MalformedError(f"score {value!r:.20} is not between 0 and 100")
    return round(number)


def _flag(value: object) -> bool:
    return value is True or str(value).strip().lower() in ("true", "yes", "1")


def _blocks(paragraphs: list[str], line: int) -> tuple[str, Any]:
    blocks = Blocks()
    for paragraph in paragraphs:
        blocks.block(paragraph, line)
    return blocks.build()


def _first_words(text: str) -> str:
    first = " ".join(text.partition("\n")[0].split())
    if len(first) <= TITLE_CHARACTERS:
        return first
    return first[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"
