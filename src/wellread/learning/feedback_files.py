"""Feedback as files, JSON Lines or CSV, and back: what was said comes back as it was given.

A line of JSON is the feedback on one answer. CSV has a row for the answer as a whole and one for
each sentence that is judged; an empty cell is “not said”, so 0, 0.0 and nothing stay apart. Who
gave feedback and when is not read from a file: importing is an act of the one who imports. Whom
the file names as the expert (``by``) is kept as words to show.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wellread.codec import to_plain
from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import give_feedback
from wellread.store.schema.stored_values import BetterCitation, Feedback, SentenceRating

TOLD = frozenset({"question", "created_at", "updated_at", "expired", "author"})  # not read back
WHOLE_COLUMNS = ("answer_id", "by", "score", "comment", "correction", "citations")
SENTENCE_COLUMNS = {
    "sentence": "sentence",
    "sentence_score": "score",
    "explanation": "explanation",
    "harmful": "harmful",
    "content_issue": "content_issue",
    "source_fault": "source_fault",
    "sentence_correction": "correction",
    "citation": "citation",
}
COLUMNS = (*WHOLE_COLUMNS, *SENTENCE_COLUMNS, "question", "created_at", "updated_at", "expired")
_AS_JSON = frozenset(
    {"score", "citations", "sentence", "harmful", "content_issue", "source_fault", "citation"}
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")  # a cell that begins so is given a quote in front

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """A line of a file that was not taken, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file: the answers that have its feedback now, and what was refused."""

    answers: tuple[str, ...]
    refused: tuple[RefusedRow, ...]


def given_of(feedback: Feedback) -> Row:
    """``feedback`` as it would be given again."""
    return {
        "score": feedback.score,
        "comment": feedback.comment,
        "correction": feedback.correction,
        "citations": [_cited(one) for one in feedback.citations],
        "sentences": [_rating(one) for one in feedback.sentences],
    }


def as_jsonl(every: Iterable[Feedback]) -> str:
    """One line for the feedback on each answer."""
    lines = ({**_facts(one), **given_of(one)} for one in every)
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def as_csv(every: Iterable[Feedback]) -> str:
    """A row for each answer, followed by one for each of its sentences that is judged."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="")
    writer.writeheader()
    for one in every:
        given = given_of(one)
        sentences = given.pop("sentences")
        whole = {**_facts(one), **given}
        whole["citations"] = given["citations"] or None
        writer.writerow({name: _cell(name, value) for name, value in whole.items()})
        for rating in sentences:
            row = {
                column: _cell(name, rating.get(name)) for column, name in SENTENCE_COLUMNS.items()
            }
            writer.writerow({"answer_id": one.answer_id, **row})
    return out.getvalue()


def import_feedback(kb: KnowledgeBase, text: str, *, form: str, author: str) -> Imported:
    """Take what a file says, line by line; what is refused keeps nothing else from being taken.

    Args:
        form: ``jsonl`` or ``csv``.

    Raises:
        RequestError: the file is no CSV of these columns.
        StoreError: the catalogue cannot be written.
    """
    taken: dict[str, None] = {}
    refused: list[RefusedRow] = []
    for line, row in _csv_rows(text) if form == "csv" else _json_rows(text):
        try:
            known = _take(kb, row, author, taken)
        except WellreadError as error:
            if isinstance(error, RequestError):
                refused.append(RefusedRow(line=line, reason=str(error)))
                continue
            raise
        taken[known] = None
    return Imported(answers=tuple(taken), refused=tuple(refused))


def _take(kb: KnowledgeBase, row: Any, author: str, taken: Mapping[str, None]) -> str:
    if isinstance(row, RequestError):
        raise row
    if not isinstance(row, dict):
        raise RequestError("the line is no JSON object")
    said = {name: value for name, value in row.items() if name not in TOLD}
    known, by = said.pop("answer_id", None), said.pop("by", "")
    if not known or not isinstance(known, str):
        if "answer" in row and "question" in row:
            raise RequestError(
                "it has a question and an answer of its own, so it is a past question",
                hint="add the file as material: wellread add FILE --topic NAME",
            )
        raise RequestError("it names no answer", hint="give its id as “answer_id”")
    if known in taken:
        raise RequestError(f"the file has feedback on {known} already", hint="keep one of them")
    if not isinstance(by, str):
        raise RequestError("“by” is no text")
    return give_feedback(kb, known, said, author=author, whole=True, by=by).answer_id


def _facts(feedback: Feedback) -> Row:
    return {
        "answer_id": feedback.answer_id,
        "question": feedback.question,
        "by": feedback.by,
        "created_at": to_plain(feedback.created_at),
        "updated_at": to_plain(feedback.updated_at),
        "expired": feedback.expired,
    }


def _cited(one: BetterCitation) -> Row:
    plain = {"document_id": one.document_id, "start": one.span.start, "end": one.span.end}
    return {**plain, "version": one.version, "content": one.content}


def _rating(one: SentenceRating) -> Row:
    """Only what was said of the sentence."""
    plain: Row = {"sentence": one.sentence}
    for name in SENTENCE_COLUMNS.values():
        value = getattr(one, name)
        if value is not None and value != "":
            plain[name] = _cited(value) if isinstance(value, BetterCitation) else value
    return plain


def _json_rows(text: str) -> Iterator[tuple[int, Any]]:
    for line, row in enumerate(text.split("\n"), 1):
        if row.strip():
            try:
                yield line, json.loads(row)
            except ValueError as error:
                yield line, RequestError(f"the line is no JSON: {error}")


def _csv_rows(text: str) -> Iterator[tuple[int, Any]]:
    """The rows of each answer as one, at the line of the first."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    unknown = sorted(set(reader.fieldnames or ()).difference(COLUMNS))
    if unknown or "answer_id" not in (reader.fieldnames or ()):
        raise RequestError(
            f"the file has no column “answer_id”, or an unknown one: {', '.join(unknown)}",
            hint=f"its columns are {', '.join(COLUMNS)}",
        )
    waiting: tuple[int, Any] | None = None
    for row in _each(reader):
        made: Any
        try:
            made = _row_of(row)
        except ValueError as error:
            made = RequestError(f"a cell is not readable: {error}")
        known, line = row["answer_id"], reader.line_num
        if waiting and waiting[1].get("answer_id") == known and isinstance(made, dict):
            waiting[1]["sentences"] += made["sentences"]
            continue
        if waiting:
            yield waiting
        waiting = (line, made) if isinstance(made, dict) else None
        if waiting is None:
            yield line, made
    if waiting:
        yield waiting


def _each(reader: csv.DictReader[str]) -> Iterator[dict[str, Any]]:
    try:
        yield from reader
    except csv.Error as error:
        raise RequestError(
            f"line {reader.line_num} is no CSV: {error}", hint="those before it were taken"
        ) from error


def _row_of(row: Mapping[str, Any]) -> Row:
    if None in row:
        raise ValueError("the row has more cells than there are columns")
    whole = {name: _value(name, row[name]) for name in WHOLE_COLUMNS if row.get(name)}
    rating = {
        name: _value(name, row[column])
        for column, name in SENTENCE_COLUMNS.items()
        if row.get(column)
    }
    return {**whole, "sentences": [rating] if rating else []}


def _cell(name: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    if name in _AS_JSON:
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(FORMULA) else str(value)


def _value(name: str, cell: str) -> Any:
    if name in _AS_JSON:
        return json.loads(cell)
    return cell.removeprefix("'")
