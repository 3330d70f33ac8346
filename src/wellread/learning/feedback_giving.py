"""Validates and stores a user's feedback on an answer, and imports it from files.

The input is a plain JSON value, the same for REST, command line, page and file. An absent field
stays unchanged, ``null`` clears a field, 0 is a valid score, and an empty string is refused where
a number is expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from wellread.codec import storable, to_plain
from wellread.errors import RequestError, UnknownNameError, invalid_value
from wellread.identity import sentence_hash, tagged_hash, words_hash
from wellread.kb import KnowledgeBase
from wellread.library.recheck import stored_answer
from wellread.store.schema.stored_values import BetterCitation, Feedback, Score, SentenceRating
from wellread.types import Span
from wellread.values.answers import Answer

MAX_TEXT_CHARS = 10_000  # characters of an explanation, a comment or a correction
MAX_SCORE = 100
Text = Annotated[str | None, Field(max_length=MAX_TEXT_CHARS)]
ScoreInput = Annotated[Score | None, Field(ge=0, le=MAX_SCORE)]


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PlaceInput(_Input):
    """A place in a document, given by ``start`` and ``end`` or by its ``words``.

    ``content``, which exported files contain, must equal the hash of the words now at that place.
    """

    document_id: str
    version: str = ""  # in exported files; ignored
    start: int = -1
    end: int = -1
    content: str | None = None
    words: str | None = None


class RatingInput(_Input):
    """The feedback on one sentence."""

    sentence: int
    score: ScoreInput = None
    explanation: Text = None
    harmful: bool | None = None
    content_issue: bool | None = None
    correction: Text = None
    citation: PlaceInput | None = None


class FeedbackInput(_Input):
    """The feedback on an answer."""

    score: ScoreInput = None
    comment: Text = None
    correction: Text = None
    citations: Annotated[tuple[PlaceInput, ...], Strict(False)] | None = None
    sentences: Annotated[tuple[RatingInput, ...], Strict(False)] | None = None


def _resolve_place(kb: KnowledgeBase, place: PlaceInput) -> BetterCitation:
    document_id = place.document_id
    document = kb.catalogue.document(document_id)
    version = kb.catalogue.live_versions([document_id]).get(document_id)
    if document is None or version is None:
        raise UnknownNameError(
            f"there is no document {document_id!r}", hint="'wellread show document' lists them"
        )
    span = _span_of(document.text, place)
    content = words_hash(span.of(document.text))
    if place.content not in (None, content):
        raise RequestError(
            f"the words at {span.start}–{span.end} of {document_id} differ from the cited ones",
            hint="choose the place again",
        )
    return BetterCitation(document_id=document_id, version=version, span=span, content=content)


def _span_of(text: str, place: PlaceInput) -> Span:
    if not place.words:
        start, end = place.start, place.end
        if 0 <= start < end <= len(text) and text[start:end].strip():
            return Span(start=start, end=end)
        raise RequestError(
            f"there is no text at {start}–{end} of the document",
            hint=f"it has {len(text):,} characters; you can give the words of the place instead",
        )
    pattern = r"\s+".join(map(re.escape, place.words.split()))
    matches = list(re.finditer(pattern, text)) if pattern else []
    if len(matches) != 1:
        raise RequestError(
            f"the document contains these words {len(matches)} times instead of once",
            hint="copy a longer passage from the document",
        )
    return Span(start=matches[0].start(), end=matches[0].end())


DERIVED_FIELDS = frozenset({"question", "created_at", "updated_at", "expired", "author"})
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """A line of a file that was refused, with the reason."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The result of an import: the answers that got feedback, and the refused lines."""

    answers: tuple[str, ...]
    refused: tuple[RefusedRow, ...]


def as_input(feedback: Feedback) -> Row:
    """Return ``feedback`` in the input format, from which it could be given again."""
    return {
        "score": feedback.score,
        "comment": feedback.comment,
        "correction": feedback.correction,
        "citations": [_citation_row(item) for item in feedback.citations],
        "sentences": [_rating_row(item) for item in feedback.sentences],
    }


def as_jsonl(feedbacks: Iterable[Feedback]) -> str:
    """The feedback as JSON Lines, one line for each answer."""
    names = ("answer_id", "question", "by", "created_at", "updated_at", "expired")
    lines = (
        {name: to_plain(getattr(feedback, name)) for name in names} | as_input(feedback)
        for feedback in feedbacks
    )
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def import_feedback(kb: KnowledgeBase, text: str, *, author: str) -> ImportResult:
    """Import the feedback of a JSON Lines file; refused lines do not stop the others."""
    imported: dict[str, None] = {}
    refused: list[RefusedRow] = []
    for line, row in enumerate(text.split("\n"), 1):
        try:
            if row.strip():
                imported[_import_row(kb, row, author, imported)] = None
        except RequestError as error:
            refused.append(RefusedRow(line=line, reason=str(error)))
    return ImportResult(answers=tuple(imported), refused=tuple(refused))


def _import_row(kb: KnowledgeBase, text: str, author: str, imported: Mapping[str, None]) -> str:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise RequestError(f"the line is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise RequestError("the line is not a JSON object")
    values = {name: value for name, value in row.items() if name not in DERIVED_FIELDS}
    answer_id, by = values.pop("answer_id", None), values.pop("by", "")
    if not answer_id or not isinstance(answer_id, str):
        if "answer" in row and "question" in row:
            raise RequestError(
                "the line has its own question and answer, so it is a past question, not feedback",
                hint="add the file as material: wellread add FILE --topic NAME",
            )
        raise RequestError("the id of the answer is missing", hint="give it as “answer_id”")
    if answer_id in imported:
        raise RequestError(f"the file has feedback on {answer_id} twice", hint="keep one of them")
    if not isinstance(by, str):
        raise RequestError("“by” is not text")
    return give_feedback(kb, answer_id, values, author=author, replace_all=True, by=by).answer_id


def _citation_row(cited: BetterCitation) -> Row:
    plain = {"document_id": cited.document_id, "start": cited.span.start, "end": cited.span.end}
    return {**plain, "version": cited.version, "content": cited.content}


def _rating_row(rating: SentenceRating) -> Row:
    """The rating of a sentence without its empty fields."""
    plain: Row = {"sentence": rating.sentence}
    for name in RatingInput.model_fields:
        value = getattr(rating, name)
        if value is not None and value != "":
            plain[name] = _citation_row(value) if isinstance(value, BetterCitation) else value
    return plain


BAD_SCORE = 50  # lower scores are bad


def give_feedback(
    kb: KnowledgeBase,
    answer_id: str,
    given: Mapping[str, Any],
    *,
    author: str,
    replace_all: bool = False,
    by: str | None = None,
) -> Feedback:
    """Store the feedback of ``author`` on one of their answers.

    Args:
        given: the fields of a ``FeedbackInput``.
        replace_all: replace all earlier feedback; otherwise only the given fields change.
        by: the expert that a file names; None leaves the stored name unchanged.
    """
    _, answer = stored_answer(kb, answer_id, author)
    previous = feedback_of(kb, answer.id, author)
    now = datetime.now(UTC)
    base = Feedback(
        id=tagged_hash("fbk", answer.id, author),
        answer_id=answer.id,
        author=author,
        question=answer.standalone or answer.question,
        created_at=previous.created_at if previous else now,
        updated_at=now,
    )
    if previous and not replace_all:
        base = replace(previous, updated_at=now)
    feedback = _apply(kb, answer, base, _validate(given))
    if by is not None:
        feedback = replace(feedback, by=storable(by))
    details = (feedback.comment, feedback.correction, feedback.citations, feedback.sentences)
    if feedback.score is None and not any(details):
        raise RequestError(
            "the feedback is empty", hint="give a score, a sentence, a comment or a correction"
        )
    kb.catalogue.feedback.put(feedback)
    _file_gap(kb, previous, feedback)
    return feedback


def feedback_of(kb: KnowledgeBase, answer_id: str, author: str) -> Feedback | None:
    """The feedback of ``author`` on the answer with this full id, if there is any."""
    feedbacks = kb.catalogue.feedback.of_answers([answer_id]).get(answer_id, ())
    return next((feedback for feedback in feedbacks if feedback.author == author), None)


def require_feedback(kb: KnowledgeBase, answer_id: str, author: str) -> Feedback:
    """The feedback of ``author`` on the answer with this id or prefix of an id."""
    _, answer = stored_answer(kb, answer_id, author)
    feedback = feedback_of(kb, answer.id, author)
    if feedback is None:
        raise UnknownNameError(
            f"there is no feedback on the answer {answer.id}",
            hint="'wellread feedback' lists all feedback",
        )
    return feedback


def _file_gap(kb: KnowledgeBase, previous: Feedback | None, new: Feedback) -> None:
    """File a gap when the score of an answer becomes bad."""
    was_bad = previous is not None and previous.score is not None and previous.score < BAD_SCORE
    if new.score is not None and new.score < BAD_SCORE and not was_bad:
        reason = new.comment or f"an expert rated the answer {new.score:g} of {MAX_SCORE}"
        kb.catalogue.record_gap(
            new.question, reason, kind="badly_rated", answer_id=new.answer_id, owner=new.author
        )


def _validate(values: Mapping[str, Any]) -> FeedbackInput:
    try:
        return FeedbackInput.model_validate(storable(dict(values)))
    except ValidationError as error:
        problems = [
            invalid_value(problem, ".".join(map(str, problem["loc"])))
            for problem in error.errors(include_url=False, include_input=False)
        ]
        raise RequestError(
            f"the feedback cannot be read: {'; '.join(problems)}",
            hint=f"a score is a number of 0 to {MAX_SCORE}, or null; sentences are numbered from 0",
        ) from error


def _apply(kb: KnowledgeBase, answer: Answer, base: Feedback, entry: FeedbackInput) -> Feedback:
    changes = _set_fields(entry)
    if "citations" in changes:
        changes["citations"] = tuple(_resolve_place(kb, place) for place in entry.citations or ())
    if "sentences" in changes:
        changes["sentences"] = _update_sentences(kb, answer, base, entry.sentences)
    return replace(base, **changes)


def _set_fields(model: _Input) -> dict[str, Any]:
    """The fields that the input sets; null texts become empty strings."""
    texts = ("comment", "correction", "explanation")
    values = {name: getattr(model, name) for name in model.model_fields_set}
    return {name: value or "" if name in texts else value for name, value in values.items()}


def _update_sentences(
    kb: KnowledgeBase, answer: Answer, base: Feedback, inputs: Sequence[RatingInput] | None
) -> tuple[SentenceRating, ...]:
    if inputs is None:
        return ()
    ratings = {entry.sentence: entry for entry in base.sentences}
    seen: set[int] = set()
    for entry in inputs:
        number = entry.sentence
        if not 0 <= number < len(answer.sentences):
            raise RequestError(
                f"the answer has no sentence {number}",
                hint=f"it has {len(answer.sentences)}, numbered from 0",
            )
        if number in seen:
            raise RequestError(f"sentence {number} is rated twice", hint="rate each one once")
        seen.add(number)
        changes = _set_fields(entry)
        if entry.citation is not None:
            changes["citation"] = _resolve_place(kb, entry.citation)
        empty = SentenceRating(
            sentence=number, content=sentence_hash(answer.sentences[number].text)
        )
        ratings[number] = replace(ratings.get(number, empty), **changes)
    return tuple(ratings[number] for number in sorted(ratings) if _is_rated(ratings[number]))


def _is_rated(rating: SentenceRating) -> bool:
    """Whether a rating has any field besides the sentence."""
    empty = SentenceRating(sentence=rating.sentence, content=rating.content)
    return any(getattr(rating, field.name) != getattr(empty, field.name) for field in fields(empty))
