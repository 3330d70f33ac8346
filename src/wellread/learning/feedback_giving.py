"""From what a person says of an answer to feedback that is kept, with what it marks.

What is given is a plain JSON value, the same by REST, command line, page and file. A field that is
absent stays as it was; ``null`` takes back what was said; 0 and 0.0 are ratings and stay what they
are; an empty string is no rating, so it is refused where a number belongs.

A source is not marked down because a sentence was wrong: the sentence may have misread it. It is
marked down when the expert says that it is at fault, or cites another document in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from wellread.codec import storable, to_plain
from wellread.errors import RequestError, UnknownNameError, WellreadError
from wellread.identity import sentence_hash, tagged_hash, words_hash
from wellread.kb import KnowledgeBase
from wellread.library.recheck import stored_answer
from wellread.store.catalogue.feedback_records import FeedbackMark
from wellread.store.schema.stored_values import BetterCitation, Feedback, Score, SentenceRating
from wellread.types import Span
from wellread.values.answers import Answer

LONGEST = 10_000  # characters of an explanation, a comment or a correction
BEST = 100
Text = Annotated[str | None, Field(max_length=LONGEST)]
Given = Annotated[Score | None, Field(ge=0, le=BEST)]


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GivenPlace(_Plain):
    """A place in a document: by ``start`` and ``end``, or by the ``words`` that stand there.

    ``content``, as an exported file has it, must be the hash of the words that stand there now.
    """

    document_id: str
    version: str = ""  # as a file has it; not read
    start: int = -1
    end: int = -1
    content: str | None = None
    words: str | None = None


class GivenRating(_Plain):
    """What is said of one sentence."""

    sentence: int
    score: Given = None
    explanation: Text = None
    harmful: bool | None = None
    content_issue: bool | None = None
    source_fault: bool | None = None
    correction: Text = None
    citation: GivenPlace | None = None


class GivenFeedback(_Plain):
    """What is said of an answer."""

    score: Given = None
    comment: Text = None
    correction: Text = None
    citations: Annotated[tuple[GivenPlace, ...], Strict(False)] | None = None
    sentences: Annotated[tuple[GivenRating, ...], Strict(False)] | None = None


def _cited_place(kb: KnowledgeBase, given: GivenPlace) -> BetterCitation:
    """The place that is given, in the document as it is now."""
    known = given.document_id
    document = kb.catalogue.document(known)
    version = kb.catalogue.live_versions([known]).get(known)
    if document is None or version is None:
        raise UnknownNameError(
            f"there is no document {known!r}", hint="'wellread show document' lists them"
        )
    span = _span_of(document.text, given)
    content = words_hash(span.of(document.text))
    if given.content not in (None, content):
        raise RequestError(
            f"the words at {span.start}–{span.end} of {known} are others than were cited",
            hint="choose the place again",
        )
    return BetterCitation(document_id=known, version=version, span=span, content=content)


def _span_of(text: str, given: GivenPlace) -> Span:
    if not given.words:
        start, end = given.start, given.end
        if 0 <= start < end <= len(text) and text[start:end].strip():
            return Span(start=start, end=end)
        raise RequestError(
            f"there is no text at {start}–{end} of the document",
            hint=f"it has {len(text):,} characters; or give the words that stand there",
        )
    pattern = r"\s+".join(map(re.escape, given.words.split()))
    places = list(re.finditer(pattern, text)) if pattern else []
    if len(places) != 1:
        raise RequestError(
            f"the document has these words {len(places)} times",
            hint="copy them from it, with more of what stands around them",
        )
    return Span(start=places[0].start(), end=places[0].end())


TOLD = frozenset({"question", "created_at", "updated_at", "expired", "author"})  # not read back
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


def import_feedback(kb: KnowledgeBase, text: str, *, author: str) -> Imported:
    """Take what a file says, line by line; what is refused keeps nothing else from being taken."""
    taken: dict[str, None] = {}
    refused: list[RefusedRow] = []
    for line, row in _json_rows(text):
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
    for name in GivenRating.model_fields:
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


BAD = 50  # a score below it is a bad one


def give_feedback(
    kb: KnowledgeBase,
    answer_id: str,
    given: Mapping[str, Any],
    *,
    author: str,
    whole: bool = False,
    by: str | None = None,
) -> Feedback:
    """Keep what ``author`` says of an answer of theirs.

    Args:
        given: fields of ``GivenFeedback``.
        whole: what was said before is replaced; otherwise only what is given changes.
        by: whom a file names as the expert; None leaves it as it was.
    """
    _, answer = stored_answer(kb, answer_id, author)
    before = feedback_of(kb, answer.id, author)
    now = datetime.now(UTC)
    base = Feedback(
        id=tagged_hash("fbk", answer.id, author),
        answer_id=answer.id,
        author=author,
        question=answer.standalone or answer.question,
        created_at=before.created_at if before else now,
        updated_at=now,
    )
    if before and not whole:
        base = replace(before, updated_at=now)
    made = _changed(kb, answer, base, _read(given))
    if by is not None:
        made = replace(made, by=storable(by))
    if says_nothing(made):
        raise RequestError(
            "the feedback says nothing", hint="give a score, a sentence, a comment or a correction"
        )
    kb.catalogue.feedback.put(made, marks_of(made, answer))
    _file_gap(kb, before, made)
    return made


def feedback_of(kb: KnowledgeBase, answer_id: str, author: str) -> Feedback | None:
    """What ``author`` said of the answer of this whole id; None: nothing."""
    said = kb.catalogue.feedback.of_answers([answer_id]).get(answer_id, ())
    return next((one for one in said if one.author == author), None)


def known_feedback(kb: KnowledgeBase, answer_id: str, author: str) -> Feedback:
    """What ``author`` said of the answer of that id."""
    _, answer = stored_answer(kb, answer_id, author)
    found = feedback_of(kb, answer.id, author)
    if found is None:
        raise UnknownNameError(
            f"there is no feedback on the answer {answer.id}",
            hint="'wellread feedback' shows what there is",
        )
    return found


def says_nothing(given: Feedback) -> bool:
    """Whether neither the answer nor a sentence is judged."""
    said = (given.comment, given.correction, given.citations, given.sentences)
    return given.score is None and not any(said)


def marks_of(given: Feedback, answer: Answer) -> list[FeedbackMark]:
    """What feedback says of sentences and sources, to be looked up while others are answered."""
    documents = {one.id: one.document_id for one in answer.citations}
    marks = [FeedbackMark(kind="up", key=one.document_id) for one in given.citations]
    for rating in given.sentences:
        if rating.harmful:
            marks.append(FeedbackMark(kind="harmful", key=rating.content))
        if rating.citation:
            marks.append(FeedbackMark(kind="up", key=rating.citation.document_id))
        if not _source_fails(rating) or rating.sentence >= len(answer.sentences):
            continue
        better = rating.citation.document_id if rating.citation else ""
        cited = (documents.get(one) for one in answer.sentences[rating.sentence].citations)
        marks += [
            FeedbackMark(kind="down", key=known) for known in cited if known and known != better
        ]
    return list(dict.fromkeys(marks))


def _source_fails(rating: SentenceRating) -> bool:
    """Whether the expert holds the source of the sentence to be at fault."""
    if rating.source_fault is not None:
        return rating.source_fault
    bad = rating.content_issue or (rating.score is not None and rating.score < BAD)
    return bool(bad and rating.citation)


def _file_gap(kb: KnowledgeBase, before: Feedback | None, made: Feedback) -> None:
    """A question whose answer has become a bad one is open again."""
    was = before is not None and before.score is not None and before.score < BAD
    if made.score is not None and made.score < BAD and not was:
        reason = made.comment or f"an expert rated the answer {made.score:g} of {BEST}"
        kb.catalogue.record_gap(
            made.question, reason, kind="badly_rated", answer_id=made.answer_id, owner=made.author
        )


def _read(given: Mapping[str, Any]) -> GivenFeedback:
    try:
        return GivenFeedback.model_validate(storable(dict(given)))
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise RequestError(
            f"the feedback cannot be read: {'; '.join(wrong)}",
            hint=f"a score is a number of 0 to {BEST}, or null; sentences are numbered from 0",
        ) from error


def _changed(kb: KnowledgeBase, answer: Answer, base: Feedback, given: GivenFeedback) -> Feedback:
    changes = _simple(given)
    if "citations" in changes:
        changes["citations"] = tuple(_cited_place(kb, one) for one in given.citations or ())
    if "sentences" in changes:
        changes["sentences"] = _sentences(kb, answer, base, given.sentences)
    return replace(base, **changes)


def _simple(given: _Plain) -> dict[str, Any]:
    """The fields that were given; a text that is null is empty."""
    texts = ("comment", "correction", "explanation")
    said = {name: getattr(given, name) for name in given.model_fields_set}
    return {name: value or "" if name in texts else value for name, value in said.items()}


def _sentences(
    kb: KnowledgeBase, answer: Answer, base: Feedback, given: Sequence[GivenRating] | None
) -> tuple[SentenceRating, ...]:
    if given is None:
        return ()
    ratings = {one.sentence: one for one in base.sentences}
    seen: set[int] = set()
    for one in given:
        place = one.sentence
        if not 0 <= place < len(answer.sentences):
            raise RequestError(
                f"the answer has no sentence {place}",
                hint=f"it has {len(answer.sentences)}, numbered from 0",
            )
        if place in seen:
            raise RequestError(f"sentence {place} is rated twice", hint="rate each one once")
        seen.add(place)
        changes = _simple(one)
        if one.citation is not None:
            changes["citation"] = _cited_place(kb, one.citation)
        fresh = SentenceRating(sentence=place, content=sentence_hash(answer.sentences[place].text))
        ratings[place] = replace(ratings.get(place, fresh), **changes)
    return tuple(ratings[place] for place in sorted(ratings) if _said(ratings[place]))


def _said(rating: SentenceRating) -> bool:
    """Whether a rating says anything."""
    empty = SentenceRating(sentence=rating.sentence, content=rating.content)
    return any(getattr(rating, one.name) != getattr(empty, one.name) for one in fields(empty))
