"""Records: news items and past questions in JSON Lines or a JSON list, past questions in CSV.

An item has ``text`` (or ``content`` or ``body``). A past question has ``question`` and at least
one of ``answer``, ``feedback`` and a score. Names are compared in lower case with underscores, so
``citationUrl``, ``Citation URL`` and ``citation-url`` are one. A table has the judgement of each
sentence in columns of its own: ``sentence_1_score``, ``Sentence 2 content issue``, ``harmful_1``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import (
    KNOWN_FIELDS,
    FrontMatter,
    moment,
    refuse_readers,
    scalar,
    strings,
    taxonomy_of,
    web_address,
)
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, unwrapped, whole_words
from wellread.types import KINDS, Document, PastQuestion, SentenceFeedback

Record = Mapping[str, Any]

_ANSWERS = ("answer", "response")
_FLOWS = ("flow", "history", "earlier_turns", "previous_turns", "conversation", "turns")
_CITATIONS = ("citation_url", "citation", "citations", "cited_url", "source_url", "url")
_BETTER = (
    "expert_citation_url", "expert_citation", "better_citation_url", "better_citation",
    "corrected_citation_url", "correct_citation_url", "suggested_citation_url",
)  # fmt: skip
_TOTALS = ("total_score", "expert_score", "overall_score", "expert_rating", "rating", "score")
_FEEDBACKS = ("feedback", "expert_feedback")
_SENTENCES = ("sentences", "sentence_feedback", "feedback_per_sentence", "sentence_scores")
LANGUAGES = ("language", "lang", "locale")

# What a sentence's judgement consists of, and other names of each part.
_PARTS = {
    "score": "score", "rating": "score",
    "explanation": "explanation", "comment": "explanation", "feedback": "explanation",
    "reason": "explanation",
    "harmful": "harmful", "harmful_flag": "harmful", "is_harmful": "harmful",
    "content_issue": "content_issue", "content_issue_flag": "content_issue",
    "has_content_issue": "content_issue", "issue": "content_issue",
}  # fmt: skip
_PART = "|".join(sorted(_PARTS, key=len, reverse=True))
_HOLDER = r"(?:sentence|feedback|sent|s)_?"
_COLUMN = re.compile(
    rf"{_HOLDER}(?P<a>\d{{1,3}})_(?P<b>{_PART})|(?P<c>{_PART})_(?:{_HOLDER})?(?P<d>\d{{1,3}})"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_USERS = frozenset({"", "user", "human", "asker", "questioner"})
_YES = frozenset({"true", "yes", "y", "1", "1.0", "x", "harmful"})


class MalformedError(ValueError):
    """What is wrong with one record; the caller adds the line."""


def plain_name(name: str) -> str:
    """``citationUrl`` and ``Citation URL`` as ``citation_url``."""
    return re.sub(r"[\s_/.:-]+", "_", _HUMP.sub("_", name.strip())).strip("_").lower()


def named(record: Record) -> Record:
    """The record under plain names; where two become the same, the first one with a value wins."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        plain = plain_name(str(name))
        if found.get(plain) in (None, ""):
            found[plain] = value
    return found


def is_past_question(record: Record) -> bool:
    """Whether a record (under plain names) is a question and what became of it."""
    judged = (*_ANSWERS, *_FEEDBACKS, *_TOTALS, *_SENTENCES)
    return "question" in record and any(name in record for name in judged)


def asks(columns: list[str]) -> bool:
    """Whether the columns of a table are those of past questions."""
    names = {plain_name(name) for name in columns}
    return is_past_question(dict.fromkeys(names)) or (
        "question" in names and any(_COLUMN.fullmatch(name) for name in names)
    )


def delimiter_of(header: str) -> str:
    """What stands between the columns of a table: spreadsheets of some countries write ``;``."""
    return max(",;\t", key=header.count)


def from_row(cells: Mapping[str, str]) -> Record:
    """The row of a table (under plain names) in the form of a JSON record."""
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


def past_question(record: Record) -> PastQuestion:
    """The past question that a record (under plain names) holds."""
    question, answer = record.get("question"), _first(record, _ANSWERS) or ""
    if not isinstance(question, str) or not question.strip():
        raise MalformedError("question is not words")
    if not isinstance(answer, str):
        raise MalformedError("answer is not words")
    feedback = _feedback(_first(record, _FEEDBACKS))
    sentences = _first(record, _SENTENCES) or _first(feedback, _SENTENCES) or []
    if not isinstance(sentences, list) or not all(isinstance(row, dict) for row in sentences):
        raise MalformedError("sentences is not a list of objects")
    score = _first(record, _TOTALS)
    return PastQuestion(
        question=question.strip(),
        answer=answer.strip(),
        flow=_flow(_first(record, _FLOWS)),
        citation_url=_link(_first(record, _CITATIONS)),
        score=_score(_first(feedback, _TOTALS) if score is None else score),
        expert_citation_url=_link(
            _first(record, _BETTER) or _first(feedback, (*_BETTER, *_CITATIONS))
        ),
        sentences=tuple(_sentence(named(row)) for row in sentences),
    )


def _first(record: Record, names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _feedback(given: object) -> Record:
    if isinstance(given, list):
        return {"sentences": given}
    if isinstance(given, str):
        return {"sentences": [{"explanation": given}]}
    if given is not None and not isinstance(given, dict):
        raise MalformedError("feedback is neither an object nor a list of sentences")
    return named(given or {})


def _turns(cell: str) -> list[Any]:
    """The turns in one cell of a table: a JSON list, or one a line."""
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):
            listed: list[Any] = json.loads(cell)
            return listed
    return [line.strip() for line in cell.split("\n") if line.strip()]


def _flow(given: object) -> tuple[str, ...]:
    """The user's turns, of texts or of messages with a role."""
    turns = given if isinstance(given, list) else [given]
    said: list[object] = []
    for turn in turns:
        if isinstance(turn, dict):
            role = scalar(turn.get("role") or turn.get("speaker")).lower()
            words = _first(named(turn), ("content", "text", "question", "user"))
            said += [words] if role in _USERS else []
        else:
            said.append(turn)
    return strings(said)


def _link(given: object) -> str:
    """One address; of several, or of an object with one, the first."""
    if isinstance(given, list):
        given = given[0] if given else ""
    if isinstance(given, dict):
        given = _first(named(given), ("url", "link", "href"))
    return scalar(given)


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
SpeechForm = Literal["whisper", "whisper.cpp", "assemblyai", "deepgram", "aws", ""]

# Each form by the object inside the tree, its list, and the keys of the list's first entry.
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
FIRST_BYTES = 1 << 16
_WORDS = frozenset({"text", "content", "body", "question"})
_FEED = "jsonfeed.org/version/"
# Keys that make it worth while to parse the whole file.
_SPOKEN = re.compile(
    rb'"(?:segments|transcription|utterances|words|channels|items|audio_segments)"\s*:\s*[\[{]'
)


def kind_of_json(data: bytes) -> JsonKind:
    """The kind of a JSON file; empty when it is none that is read.

    Only the first object of a list is parsed, and the whole of an object only when some key in
    it promises a feed or speech.
    """
    start = data[:FIRST_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        return "records" if is_record(_first_of_list(data)) else ""
    if start != b"{" or not _SPOKEN.search(data):
        return ""
    tree = tree_of(data)
    if is_feed(tree):
        return "feed"
    return "speech" if speech_form(tree) else ""


def is_record(entry: object) -> bool:
    """Whether ``entry`` is an object with words in it, as a list of records begins with."""
    return isinstance(entry, dict) and any(plain_name(str(name)) in _WORDS for name in entry)


def tree_of(data: bytes) -> dict[str, Any]:
    """The object that ``data`` is; empty when it is none."""
    try:
        tree = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def is_feed(tree: dict[str, Any]) -> bool:
    """Whether it is a JSON Feed (jsonfeed.org), version 1 or 1.1."""
    return _FEED in str(tree.get("version", ""))[:100] and isinstance(tree.get("items"), list)


def speech_form(tree: dict[str, Any]) -> SpeechForm:
    """Which tool wrote the transcript; empty when it is none."""
    for form, inside, name, keys in _SPEECH_FORMS:
        holder = tree.get(inside) if inside else tree
        value = holder.get(name) if isinstance(holder, dict) else None
        entry = value[0] if isinstance(value, list) and value else None
        if isinstance(entry, dict) and keys <= entry.keys():
            return form
    return ""


def _first_of_list(data: bytes) -> dict[str, Any]:
    """The first entry of a list of objects; the rest is not parsed."""
    for size in (FIRST_BYTES, len(data)):
        inside = data[:size].decode("utf-8-sig", errors="replace").partition("[")[2].lstrip()
        if not inside.startswith("{"):
            return {}
        try:
            entry, _ = json.JSONDecoder().raw_decode(inside)
        except (ValueError, RecursionError):
            continue
        return entry if isinstance(entry, dict) else {}
    return {}


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
