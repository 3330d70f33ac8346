"""Records: news items and past questions in JSON Lines or a JSON list, past questions in CSV.

An item has ``text`` (or ``content`` or ``body``). A past question has ``question`` and at least
one of ``answer``, ``feedback`` and a score; see ``record_keys`` for its fields.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import (
    KNOWN_FIELDS,
    FrontMatter,
    moment,
    refuse_readers,
    taxonomy_of,
    web_address,
)
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, unwrapped, whole_words
from wellread.ingest.loaders.text.record_keys import (
    LANGUAGES,
    MalformedError,
    delimiter_of,
    from_row,
    is_past_question,
    named,
    past_question,
    plain_name,
)
from wellread.types import KINDS, Document

Record = Mapping[str, Any]

TITLE_CHARACTERS = 120
_KINDS = frozenset(KINDS) - {"entity", "qa"}
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*(?:,[ \t\r\n]*)?")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One document a record; the first malformed one refuses the whole file."""
    text = decode(source)
    listed = False
    if source.name.lower().endswith(".csv"):
        records = _csv_records(source.uri, text)
    elif listed := text.lstrip().startswith("["):
        records = _listed_records(source.uri, text)
    else:
        records = _json_records(source.uri, text)
    documents: list[Document] = []
    for number, (line, record) in enumerate(records, 1):
        key = str(number) if listed else f"L{line}"  # what its uri ends in
        refuse_readers(record, source.uri, deep=False)
        try:
            asked = named(record)
            documents.append(
                _qa(source, asked, line, key)
                if is_past_question(asked)
                else _item(source, record, line, key)
            )
        except MalformedError as error:
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


def _listed_records(uri: str, text: str) -> Iterator[tuple[int, Record]]:
    """The objects of one JSON list, each with the line on which it begins."""
    decoder = json.JSONDecoder()
    at = text.index("[") + 1
    line, counted, before = 1, 0, _SPACE
    while found := before.match(text, at):
        at, comma = found.end(), "," in found.group()
        line, counted = line + text.count("\n", counted, at), at
        if not comma and text[at : at + 1] == "]" and not text[at + 1 :].strip():
            return
        if before is _COMMA and not comma:
            raise _at_line(uri, line, "expected a comma or the end of the list")
        try:
            record, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _at_line(uri, error.lineno, f"{error.msg} (column {error.colno})") from error
        except (ValueError, RecursionError) as error:
            raise _at_line(uri, line, str(error)) from error
        if not isinstance(record, dict):
            raise _at_line(uri, line, "not an object")
        yield line, record
        before = _COMMA


def _csv_records(uri: str, text: str) -> Iterator[tuple[int, Record]]:
    delimiter = delimiter_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    names: list[str] = []
    begun = 1
    try:
        for row in reader:
            line, begun = begun, reader.line_num + 1
            if not names:
                names = [plain_name(name) for name in row]
            elif len(row) > len(names):
                raise _at_line(uri, line, f"{len(row)} fields, but the header names {len(names)}")
            elif any(row):
                cells = zip(names, row, strict=False)
                yield line, from_row({name: cell.strip() for name, cell in cells if cell.strip()})
    except csv.Error as error:
        raise _at_line(uri, reader.line_num, str(error)) from error


def _item(source: Source, record: Record, line: int, key: str) -> Document:
    record = {_known(name): value for name, value in record.items()}
    body = next((record[name] for name in ("text", "content", "body") if record.get(name)), None)
    if body is None:
        raise MalformedError("neither text nor a question with an answer")
    if not isinstance(body, str) or not body.strip():
        raise MalformedError("text is not words")
    built = _blocks(_joined(body), line)
    matter = FrontMatter(fields=record, body="")
    link = matter.link("url", "link")
    return source.document(
        built,
        uri=link or matter.words("uri", "id", "guid") or f"{source.uri}#{key}",
        kind=matter.words("kind") if matter.words("kind") in _KINDS else "article",
        title=matter.words("title", "headline") or _first_words(built[0]),
        url=link,
        source_type=matter.words("source_type", "type") or "jsonl",
        language=matter.words("language", "lang").lower(),
        authors=matter.several("authors", "author"),
        published_at=moment(record.get("published_at") or record.get("date")),
        summary=matter.words("summary", "description"),
        media_url=matter.link("media_url"),
        taxonomy=taxonomy_of(matter, words_too=False),
    )


def _known(name: str) -> str:
    """``publishedAt`` as ``published_at``; names without a meaning of ours stay as they are."""
    plain = plain_name(name)
    return plain if plain in KNOWN_FIELDS else name


def _qa(source: Source, record: Record, line: int, key: str) -> Document:
    past = past_question(record)
    question, answer = _joined(past.question), _joined(past.answer)
    past = replace(past, question=PARAGRAPH.join(question), answer=PARAGRAPH.join(answer))
    fields = FrontMatter(fields=record, body="")
    return source.document(
        _blocks([*question, *answer], line),
        uri=f"{source.uri}#{key}",
        kind="qa",
        title=_first_words(past.question),
        url=web_address(past.citation_url),
        source_type=fields.words("source_type") or "qa",
        language=fields.words(*LANGUAGES).lower(),
        published_at=moment(record.get("published_at") or record.get("date")),
        past_question=past,
    )


def _joined(text: str) -> list[str]:
    """The paragraphs of a field; lines that were only broken to fit a width are joined."""
    paragraphs = [part.strip() for part in _PARAGRAPHS.split(text.replace("\r\n", "\n").strip())]
    words = whole_words(text.split("\n"))
    return [unwrapped(part.split("\n"), words)[0] for part in paragraphs if part]


def _blocks(paragraphs: list[str], line: int) -> Built:
    blocks = Blocks()
    for paragraph in paragraphs:
        blocks.block(paragraph, line)
    return blocks.build()


def _first_words(text: str) -> str:
    first = " ".join(text.partition("\n")[0].split())
    if len(first) <= TITLE_CHARACTERS:
        return first
    return first[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"
