"""Loads records: news items and past questions from JSON Lines, JSON lists and CSV tables.

Any other CSV or TSV table is one page, told row by row as a sheet is.

A news item has ``text`` (or ``content`` or ``body``). A past question has ``question`` and at least
one of ``answer``, ``feedback`` and a score. Names are normalised to lower case with underscores, so
``citationUrl``, ``Citation URL`` and ``citation-url`` are equal. In tables, ratings of sentences
have their own columns: ``sentence_1_score``, ``Sentence 2 content issue``, ``harmful_1``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.front_matter import (
    KNOWN_FIELDS,
    FrontMatter,
    date_in_name,
    parse_moment,
    refuse_readers,
    scalar,
    strings,
    taxonomy_of,
    web_address,
)
from wellread.ingest.loaders.plain import (
    PARAGRAPH,
    Blocks,
    count_words,
    decode,
    one_line,
    table_row,
    title_from_name,
    unwrap,
)
from wellread.types import KINDS, Document, PastQuestion, SentenceFeedback

Record = Mapping[str, Any]

_ANSWERS = ("answer", "response")
_FLOWS = ("flow", "history", "earlier_turns", "previous_turns", "conversation", "turns")
_CITATIONS = ("citation_url", "citation", "citations", "cited_url", "source_url", "url")
_BETTER_CITATIONS = (
    "expert_citation_url", "expert_citation", "better_citation_url", "better_citation",
    "corrected_citation_url", "correct_citation_url", "suggested_citation_url",
)  # fmt: skip
_TOTALS = ("total_score", "expert_score", "overall_score", "expert_rating", "rating", "score")
_FEEDBACKS = ("feedback", "expert_feedback")
_SENTENCES = ("sentences", "sentence_feedback", "feedback_per_sentence", "sentence_scores")
LANGUAGES = ("language", "lang", "locale")

# The parts of a sentence's rating, with alternative names.
_PARTS = {
    "score": "score", "rating": "score",
    "explanation": "explanation", "comment": "explanation", "feedback": "explanation",
    "reason": "explanation",
    "harmful": "harmful", "harmful_flag": "harmful", "is_harmful": "harmful",
    "content_issue": "content_issue", "content_issue_flag": "content_issue",
    "has_content_issue": "content_issue", "issue": "content_issue",
}  # fmt: skip
_PART_NAMES = "|".join(sorted(_PARTS, key=len, reverse=True))
_HOLDER = r"(?:sentence|feedback|sent|s)_?"
_COLUMN = re.compile(
    rf"{_HOLDER}(?P<a>\d{{1,3}})_(?P<b>{_PART_NAMES})|(?P<c>{_PART_NAMES})_(?:{_HOLDER})?(?P<d>\d{{1,3}})"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_USERS = frozenset({"", "user", "human", "asker", "questioner"})
_YES = frozenset({"true", "yes", "y", "1", "1.0", "x", "harmful"})


class MalformedError(ValueError):
    """Raised for an invalid record; the caller adds the line number."""


def plain_name(name: str) -> str:
    """Normalise a field name: ``citationUrl`` and ``Citation URL`` become ``citation_url``."""
    return re.sub(r"[\s_/.:-]+", "_", _HUMP.sub("_", name.strip())).strip("_").lower()


def normalise_names(record: Record) -> Record:
    """Return the record with normalised names; of equal names, the first one with a value wins."""
    values: dict[str, Any] = {}
    for name, value in record.items():
        plain = plain_name(str(name))
        if values.get(plain) in (None, ""):
            values[plain] = value
    return values


def is_past_question(record: Record) -> bool:
    """Whether a record (with normalised names) is a past question."""
    names = (*_ANSWERS, *_FEEDBACKS, *_TOTALS, *_SENTENCES)
    return "question" in record and any(name in record for name in names)


def is_question_header(line: str) -> bool:
    """Whether the first line of a table names the columns of past questions."""
    try:
        columns = next(csv.reader([line], delimiter=delimiter_of(line)), [])
    except csv.Error:
        return False
    names = {plain_name(name) for name in columns}
    return is_past_question(dict.fromkeys(names)) or (
        "question" in names and any(_COLUMN.fullmatch(name) for name in names)
    )


def delimiter_of(text: str) -> str:
    """Return the column delimiter of a table: the one that cuts its first rows most evenly.

    Spreadsheets in some countries use ``;``. The first lines of ``text`` decide.
    """
    lines = text[:HEAD_BYTES].split("\n")[:SNIFFED_LINES]

    def evenness(delimiter: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        return max(
            ((count * (width > 1), width) for width, count in widths.items()), default=(0, 0)
        )

    return max(DELIMITERS, key=evenness)


def to_record(cells: Mapping[str, str]) -> Record:
    """Convert a table row (with normalised names) to the form of a JSON record."""
    sentences: dict[int, dict[str, str]] = {}
    record: dict[str, Any] = {"answer": ""}
    for name, cell in cells.items():
        column = _COLUMN.fullmatch(name)
        if column:
            number, part = column["a"] or column["d"], column["b"] or column["c"]
            sentences.setdefault(int(number), {})[_PARTS[part]] = cell
        elif name in _FLOWS:
            record[name] = _turns(cell)
        else:
            record[name] = cell
    if sentences:
        record["sentences"] = [sentences.get(n, {}) for n in range(1, max(sentences) + 1)]
    return record


def parse_past_question(record: Record) -> PastQuestion:
    """Return the past question in a record (with normalised names)."""
    question, answer = record.get("question"), first_value(record, _ANSWERS) or ""
    if not isinstance(question, str) or not question.strip():
        raise MalformedError("question is not text")
    if not isinstance(answer, str):
        raise MalformedError("answer is not text")
    feedback = _feedback(first_value(record, _FEEDBACKS))
    sentences = first_value(record, _SENTENCES) or first_value(feedback, _SENTENCES) or []
    if not isinstance(sentences, list) or not all(isinstance(row, dict) for row in sentences):
        raise MalformedError("sentences is not a list of objects")
    score = first_value(record, _TOTALS)
    return PastQuestion(
        question=question.strip(),
        answer=answer.strip(),
        flow=_flow(first_value(record, _FLOWS)),
        citation_url=_link(first_value(record, _CITATIONS)),
        score=_score(first_value(feedback, _TOTALS) if score is None else score),
        expert_citation_url=_link(
            first_value(record, _BETTER_CITATIONS)
            or first_value(feedback, (*_BETTER_CITATIONS, *_CITATIONS))
        ),
        sentences=tuple(_sentence(normalise_names(row)) for row in sentences),
    )


def first_value(record: Record, names: Sequence[str]) -> Any:
    """The first value under one of ``names`` that is not empty, or None."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _feedback(value: object) -> Record:
    if isinstance(value, list):
        return {"sentences": value}
    if isinstance(value, str):
        return {"sentences": [{"explanation": value}]}
    if value is not None and not isinstance(value, dict):
        raise MalformedError("feedback is neither an object nor a list of sentences")
    return normalise_names(value or {})


def _turns(cell: str) -> list[Any]:
    """Return the turns in one table cell: a JSON list, or one turn per line."""
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):
            listed: list[Any] = json.loads(cell)
            return listed
    return [line.strip() for line in cell.split("\n") if line.strip()]


def _flow(value: object) -> tuple[str, ...]:
    turns = value if isinstance(value, list) else [value]
    texts: list[object] = []
    for turn in turns:
        if isinstance(turn, dict):
            role = scalar(turn.get("role") or turn.get("speaker")).lower()
            words = first_value(normalise_names(turn), ("content", "text", "question", "user"))
            texts += [words] if role in _USERS else []
        else:
            texts.append(turn)
    return strings(texts)


def _link(value: object) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = first_value(normalise_names(value), ("url", "link", "href"))
    return scalar(value)


def _sentence(row: Record) -> SentenceFeedback:
    parts = {_PARTS[name]: value for name, value in row.items() if name in _PARTS}
    return SentenceFeedback(
        score=_score(parts.get("score")),
        explanation=scalar(parts.get("explanation")),
        harmful=_flag(parts.get("harmful")),
        content_issue=_flag(parts.get("content_issue")),
    )


def _score(value: object) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = value.strip().removesuffix("/100").removesuffix("%").strip()
    try:
        number = float(value) if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 100:
        raise MalformedError(f"score {value!r:.20} is not between 0 and 100")
    return round(number)


def _flag(value: object) -> bool:
    return value is True or str(value).strip().lower() in _YES


JsonKind = Literal["feed", "records", "speech", ""]
SpeechForm = Literal["whisper", "whisper.cpp", "assemblyai", "deepgram", "aws", "meeting", ""]

# Each format: the inner object, the name of its list, and the keys of the list's first entry.
_SPEECH_FORMS: tuple[tuple[SpeechForm, str, str, frozenset[str]], ...] = (
    ("whisper", "", "segments", frozenset({"text", "start"})),
    ("whisper", "", "segments", frozenset({"text", "words"})),
    ("whisper.cpp", "", "transcription", frozenset({"text", "offsets"})),
    ("assemblyai", "", "utterances", frozenset({"text", "start"})),
    ("assemblyai", "", "words", frozenset({"text", "end"})),
    ("deepgram", "results", "channels", frozenset({"alternatives"})),
    ("deepgram", "results", "utterances", frozenset({"transcript", "start"})),
    ("aws", "results", "items", frozenset({"alternatives", "type"})),
    ("aws", "results", "audio_segments", frozenset({"transcript"})),
)
HEAD_BYTES = 1 << 16
SNIFFED_LINES = 50
DELIMITERS = ",;\t|"
_SEPARATOR_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)  # Excel's own first line
_TEXT_FIELDS = frozenset({"text", "content", "body", "question"})
_FEED_VERSION = "jsonfeed.org/version/"
# Only files with one of these keys are parsed completely.
_PROMISING_KEY = re.compile(
    rb'"(?:segments|transcription|utterances|words|channels|items|audio_segments'
    rb'|entries|transcripts?|monologues|turns|captions|timeline|speech)"\s*:\s*[\[{]'
)


def kind_of_json(data: bytes) -> JsonKind:
    """Return the kind of a JSON file; empty when it is not supported.

    Only the first object of a list is parsed, and a single object only when one of its keys
    suggests a feed or transcript.
    """
    start = data[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        first = _first_entry(data)
        return "speech" if is_turn(first) else "records" if is_record(first) else ""
    if start != b"{" or not _PROMISING_KEY.search(data):
        return ""
    tree = parse_object(data)
    if is_feed(tree):
        return "feed"
    return "speech" if speech_form(tree) else ""


def is_record(entry: object) -> bool:
    """Whether ``entry`` is a record: an object with a text field."""
    return isinstance(entry, dict) and any(plain_name(str(name)) in _TEXT_FIELDS for name in entry)


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in ``data``; empty when it is not an object."""
    try:
        tree = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def is_feed(tree: dict[str, Any]) -> bool:
    """Whether ``tree`` is a JSON Feed (jsonfeed.org), version 1 or 1.1."""
    return _FEED_VERSION in str(tree.get("version", ""))[:100] and isinstance(
        tree.get("items"), list
    )


def speech_form(tree: dict[str, Any]) -> SpeechForm:
    """Return the tool that wrote the transcript; empty when ``tree`` is not a known transcript."""
    for form, holder_name, name, keys in _SPEECH_FORMS:
        holder = tree.get(holder_name) if holder_name else tree
        value = holder.get(name) if isinstance(holder, dict) else None
        entry = value[0] if isinstance(value, list) and value else None
        if isinstance(entry, dict) and keys <= entry.keys():
            return form
    return "meeting" if turns_in(tree) else ""


# Names of the parts of a turn in files of meeting programs, normalised.
TURN_TEXTS = ("text", "spoken_text", "transcript", "content", "caption", "sentence", "body")
TURN_SPEAKERS = (
    "speaker_display_name", "speaker_name", "speaker", "user_name", "username", "participant",
    "speaker_id",
)  # fmt: skip
TURN_BEGINS = (
    "start_time", "start_offset", "start", "begin", "offset", "timestamp", "ts", "start_ms",
    "start_date_time",
)  # fmt: skip
_MAX_HOLDERS = 40  # objects that are searched for a list of turns


def is_turn(entry: object) -> bool:
    """Whether ``entry`` is an object with a text, a speaker and a time."""
    names = set(map(plain_name, map(str, entry))) if isinstance(entry, dict) else set()
    return all(not names.isdisjoint(part) for part in (TURN_TEXTS, TURN_SPEAKERS, TURN_BEGINS))


def turns_in(tree: object) -> list[dict[str, Any]]:
    """Return the first list of turns in a JSON value, in the order of depth; or none."""
    holders: list[object] = [tree]
    for holder in islice(holders, _MAX_HOLDERS):
        if isinstance(holder, list) and holder and is_turn(holder[0]):
            return objects(holder)
        holders += holder.values() if isinstance(holder, dict) else ()
    return []


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a JSON list; none if ``value`` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _first_entry(data: bytes) -> dict[str, Any]:
    for size in (HEAD_BYTES, len(data)):
        list_text = data[:size].decode("utf-8-sig", errors="replace").partition("[")[2].lstrip()
        if not list_text.startswith("{"):
            return {}
        try:
            entry, _ = json.JSONDecoder().raw_decode(list_text)
        except (ValueError, RecursionError):
            continue
        return entry if isinstance(entry, dict) else {}
    return {}


MAX_TITLE_CHARS = 120
_KINDS = frozenset(KINDS) - {"entity", "qa"}
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*(?:,[ \t\r\n]*)?")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load one document per record; a malformed record makes the file fail."""
    text = decode(source)
    is_list = False
    if source.name.lower().endswith((".csv", ".tsv", ".tab")):
        records = _csv_records(source.uri, text)
    elif is_list := text.lstrip().startswith("["):
        records = _list_records(source.uri, text)
    else:
        records = _json_records(source.uri, text)
    documents: list[Document] = []
    for number, (line, record) in enumerate(records, 1):
        if not isinstance(record, dict):
            raise _bad_line(source.uri, line, "not an object")
        key = str(number) if is_list else f"L{line}"  # the end of its uri
        refuse_readers(record, source.uri, deep=False)
        try:
            normalised = normalise_names(record)
            documents.append(
                _qa(source, normalised, line, key)
                if is_past_question(normalised)
                else _item(source, record, line, key)
            )
        except MalformedError as error:
            raise _bad_line(source.uri, line, str(error)) from error
    yield from documents


def _bad_line(uri: str, line: int, reason: str) -> SourceError:
    return SourceError(uri, f"malformed line {line}: {reason}")


def _json_records(uri: str, text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise _bad_line(uri, number, f"{error.msg} (column {error.colno})") from error
        except (ValueError, RecursionError) as error:  # a number too long or nesting too deep
            raise _bad_line(uri, number, str(error)) from error
        yield number, record


def _list_records(uri: str, text: str) -> Iterator[tuple[int, Any]]:
    decoder = json.JSONDecoder()
    position = text.index("[") + 1
    line, counted, separator = 1, 0, _SPACE
    while match := separator.match(text, position):
        position, comma = match.end(), "," in match.group()
        line, counted = line + text.count("\n", counted, position), position
        if not comma and text[position : position + 1] == "]" and not text[position + 1 :].strip():
            return
        if separator is _COMMA and not comma:
            raise _bad_line(uri, line, "expected a comma or the end of the list")
        try:
            record, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise _bad_line(uri, error.lineno, f"{error.msg} (column {error.colno})") from error
        except (ValueError, RecursionError) as error:
            raise _bad_line(uri, line, str(error)) from error
        yield line, record
        separator = _COMMA


def _csv_records(uri: str, text: str) -> Iterator[tuple[int, Record]]:
    delimiter = delimiter_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    names: list[str] = []
    next_line = 1
    try:
        for row in reader:
            line, next_line = next_line, reader.line_num + 1
            if not names:
                names = [plain_name(name) for name in row]
            elif len(row) > len(names):
                raise _bad_line(uri, line, f"{len(row)} fields, but the header names {len(names)}")
            elif any(row):
                cells = zip(names, row, strict=False)
                filled = {name: cell.strip() for name, cell in cells if cell.strip()}
                yield line, to_record(filled)
    except csv.Error as error:
        raise _bad_line(uri, reader.line_num, str(error)) from error


def _item(source: Source, record: Record, line: int, key: str) -> Document:
    record = {_field_name(name): value for name, value in record.items()}
    body = next((record[name] for name in ("text", "content", "body") if record.get(name)), None)
    if body is None:
        raise MalformedError("neither text nor a question with an answer")
    if not isinstance(body, str) or not body.strip():
        raise MalformedError("text is empty or not a string")
    built = _blocks(_paragraphs(body), line)
    matter = FrontMatter(fields=record, body="")
    link = matter.link("url", "link")
    return source.document(
        built,
        uri=link or matter.text_of("uri", "id", "guid") or f"{source.uri}#{key}",
        kind=matter.text_of("kind") if matter.text_of("kind") in _KINDS else "article",
        title=matter.text_of("title", "headline") or _first_words(built[0]),
        url=link,
        source_type=matter.text_of("source_type", "type") or "jsonl",
        language=matter.text_of("language", "lang").lower(),
        authors=matter.values_of("authors", "author"),
        published_at=parse_moment(record.get("published_at") or record.get("date")),
        summary=matter.text_of("summary", "description"),
        media_url=matter.link("media_url"),
        taxonomy=taxonomy_of(matter, include_strings=False),
    )


def _field_name(name: str) -> str:
    """The normalised name of a known field (``publishedAt``: ``published_at``), else ``name``."""
    plain = plain_name(name)
    return plain if plain in KNOWN_FIELDS else name


def _qa(source: Source, record: Record, line: int, key: str) -> Document:
    past = parse_past_question(record)
    question, answer = _paragraphs(past.question), _paragraphs(past.answer)
    past = replace(past, question=PARAGRAPH.join(question), answer=PARAGRAPH.join(answer))
    fields = FrontMatter(fields=record, body="")
    return source.document(
        _blocks([*question, *answer], line),
        uri=f"{source.uri}#{key}",
        kind="qa",
        title=_first_words(past.question),
        url=web_address(past.citation_url),
        source_type=fields.text_of("source_type") or "qa",
        language=fields.text_of(*LANGUAGES).lower(),
        published_at=parse_moment(record.get("published_at") or record.get("date")),
        past_question=past,
    )


def _paragraphs(text: str) -> list[str]:
    paragraphs = [part.strip() for part in _PARAGRAPHS.split(text.replace("\r\n", "\n").strip())]
    words = count_words(text.split("\n"))
    return [unwrap(part.split("\n"), words)[0] for part in paragraphs if part]


def _blocks(paragraphs: list[str], line: int) -> Built:
    blocks = Blocks()
    for paragraph in paragraphs:
        blocks.block(paragraph, line)
    return blocks.build()


def _first_words(text: str) -> str:
    first_line = " ".join(text.partition("\n")[0].split())
    if len(first_line) <= MAX_TITLE_CHARS:
        return first_line
    return first_line[:MAX_TITLE_CHARS].rsplit(" ", 1)[0] + "…"


def load_table(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a CSV or TSV file as one page: a line per row, with the column names over it."""
    text, builder, cells = decode(source), TextBuilder(), 0
    has_header = False
    for line, row in _table_rows(source, text):
        values = [one_line(cell) for cell in row]
        cells += sum(map(bool, values))
        if cells > limits.max_cells:
            raise SourceError(source.uri, f"more than {limits.max_cells:,} filled cells")
        if not any(values):
            continue
        builder.add("\n" if builder.length else "")
        builder.line(line)
        builder.add(table_row(values))
        if not has_header and len(values) > 1 and values.count("") <= 1:
            has_header = True
            builder.columns(() if any(map(_is_value, values)) else values)
    yield source.document(
        builder.build(),
        kind="page",
        title=title_from_name(source.name),
        source_type=source.name.lower().rpartition(".")[2],
        published_at=date_in_name(source.name),
    )


def _table_rows(source: Source, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows one by one, each with the line it begins on."""
    separator = _SEPARATOR_LINE.match(text)
    is_tsv = source.name.lower().endswith((".tsv", ".tab"))
    delimiter = separator[1] if separator else "\t" if is_tsv else delimiter_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in islice(reader, 1 if separator else 0, None):
            yield max(1, reader.line_num - sum(cell.count("\n") for cell in row)), row
    except csv.Error as error:
        raise _bad_line(source.uri, reader.line_num, str(error)) from error


def _is_value(cell: str) -> bool:
    """Whether a cell holds a number or date rather than the name of a column."""
    return not any(map(str.isalpha, cell)) and not re.fullmatch(r"(?:1[5-9]|20)\d\d", cell)
