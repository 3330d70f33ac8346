"""From what a person says of an answer to feedback that is kept, with what it marks.

What is given is a plain JSON value, the same by REST, command line, page and file. A field that is
absent stays as it was; ``null`` takes back what was said; 0 and 0.0 are ratings and stay what they
are; an empty string is no rating, so it is refused where a number belongs.

A source is not marked down because a sentence was wrong: the sentence may have misread it. It is
marked down when the expert says that it is at fault, or cites another document in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from wellread.answers import Answer
from wellread.codec import storable
from wellread.errors import RequestError, UnknownNameError
from wellread.identity import sentence_hash, tagged_hash
from wellread.kb import KnowledgeBase
from wellread.learning.better_citations import cited_place, cited_places
from wellread.library.recheck import stored_answer
from wellread.store.catalogue.learning.feedback_records import FeedbackMark
from wellread.store.schema.stored_values import Feedback, Score, SentenceRating

Plain = Mapping[str, Any]

BAD = 50  # a score below it is a bad one
BEST = 100
LONGEST = 10_000  # characters of an explanation, a comment or a correction
WHOLE_TEXTS = ("comment", "correction")
SENTENCE_TEXTS = ("explanation", "correction")
SENTENCE_FLAGS = ("harmful", "content_issue", "source_fault")
WHOLE = frozenset({"score", "citations", "sentences", *WHOLE_TEXTS})
SENTENCE = frozenset({"sentence", "score", "citation", *SENTENCE_TEXTS, *SENTENCE_FLAGS})


def give_feedback(
    kb: KnowledgeBase,
    answer_id: str,
    given: Plain,
    *,
    author: str,
    whole: bool = False,
    by: str | None = None,
) -> Feedback:
    """Keep what ``author`` says of an answer of theirs.

    Args:
        given: fields of ``WHOLE``; each of ``sentences`` has fields of ``SENTENCE``.
        whole: what was said before is replaced; otherwise only what is given changes.
        by: whom a file names as the expert; None leaves it as it was.

    Raises:
        UnknownNameError: there is no such answer, or no document that is cited.
        RequestError: a field is not known, a score is none, a place is not there, or nothing
            is said.
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
    made = _changed(kb, answer, base, storable(dict(given)))
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
    """What ``author`` said of the answer of that id.

    Raises:
        UnknownNameError: there is no such answer, or no feedback on it.
    """
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


def _changed(kb: KnowledgeBase, answer: Answer, base: Feedback, given: Plain) -> Feedback:
    _only(given, WHOLE, "feedback")
    changes: dict[str, Any] = {name: _text(given, name) for name in WHOLE_TEXTS if name in given}
    if "score" in given:
        changes["score"] = score_of(given["score"])
    if "citations" in given:
        changes["citations"] = cited_places(kb, given["citations"] or ())
    if "sentences" in given:
        changes["sentences"] = _sentences(kb, answer, base, given["sentences"])
    return replace(base, **changes)


def _sentences(
    kb: KnowledgeBase, answer: Answer, base: Feedback, given: Any
) -> tuple[SentenceRating, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise RequestError("“sentences” is no list", hint="give a list of ratings")
    ratings = {one.sentence: one for one in base.sentences}
    seen: set[int] = set()
    for one in given:
        place = _place(one, answer)
        if place in seen:
            raise RequestError(f"sentence {place} is rated twice", hint="rate each one once")
        seen.add(place)
        fresh = SentenceRating(sentence=place, content=sentence_hash(answer.sentences[place].text))
        ratings[place] = _rated(kb, ratings.get(place, fresh), one)
    return tuple(ratings[place] for place in sorted(ratings) if _said(ratings[place]))


def _rated(kb: KnowledgeBase, base: SentenceRating, given: Plain) -> SentenceRating:
    changes: dict[str, Any] = {name: _text(given, name) for name in SENTENCE_TEXTS if name in given}
    changes |= {name: _flag(given, name) for name in SENTENCE_FLAGS if name in given}
    if "score" in given:
        changes["score"] = score_of(given["score"])
    if "citation" in given:
        cited = given["citation"]
        changes["citation"] = None if cited is None else cited_place(kb, cited)
    return replace(base, **changes)


def _said(rating: SentenceRating) -> bool:
    """Whether a rating says anything."""
    empty = SentenceRating(sentence=rating.sentence, content=rating.content)
    return any(getattr(rating, one.name) != getattr(empty, one.name) for one in fields(empty))


def score_of(given: Any) -> Score | None:
    """A rating as it was given.

    Raises:
        RequestError: it is no number of 0 to 100.
    """
    if given is None:
        return None
    score: Score | None = given if isinstance(given, int | float) else None
    if score is None or isinstance(score, bool) or not 0 <= score <= BEST:
        raise RequestError(
            f"{given!r} is no score", hint=f"give a number of 0 to {BEST}, or null for not rated"
        )
    return score


def _place(given: Any, answer: Answer) -> int:
    if not isinstance(given, Mapping):
        raise RequestError("a sentence's rating is no object", hint='give {"sentence": 0, …}')
    _only(given, SENTENCE, "a sentence's rating")
    place = given.get("sentence")
    if not isinstance(place, int) or isinstance(place, bool):
        raise RequestError("a rating does not say its sentence", hint="number them from 0")
    if not 0 <= place < len(answer.sentences):
        raise RequestError(
            f"the answer has no sentence {place}",
            hint=f"it has {len(answer.sentences)}, numbered from 0",
        )
    return place


def _text(given: Plain, name: str) -> str:
    value = given[name]
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST:
        raise RequestError(f"“{name}” is no text of at most {LONGEST:,} characters")
    return value


def _flag(given: Plain, name: str) -> bool | None:
    value = given[name]
    if value is not None and not isinstance(value, bool):
        raise RequestError(f"“{name}” is neither true, false nor null")
    return value


def _only(given: Plain, known: Iterable[str], what: str) -> None:
    unknown = sorted(set(given).difference(known))
    if unknown:
        raise RequestError(
            f"{what} has no field “{unknown[0]}”", hint=f"it has {', '.join(sorted(known))}"
        )
