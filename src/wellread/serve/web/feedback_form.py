"""The form in which an answer is rated: what it shows, and what was filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wellread.errors import RequestError
from wellread.identity import sentence_hash, words_hash
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import feedback_of
from wellread.store.schema.feedback_values import (
    BetterCitation,
    Feedback,
    Score,
    SentenceRating,
)
from wellread.values.answers import Answer, Sentence

FAULT = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSentence:
    """A sentence with what was said of it; ``words``: of the better citation."""

    number: int
    sentence: Sentence
    rating: SentenceRating
    words: str


def feedback_values(kb: KnowledgeBase, answer: Answer) -> dict[str, Any]:
    """What ``parts/feedback.html`` shows."""
    given = feedback_of(kb, answer.id, kb.asker.owner)
    ratings = {one.sentence: one for one in given.sentences} if given else {}
    sentences = []
    for place, sentence in enumerate(answer.sentences):
        rating = ratings.get(place) or SentenceRating(
            sentence=place, content=sentence_hash(sentence.text)
        )
        words = _words(kb, rating.citation)
        sentences.append(
            RatedSentence(number=place + 1, sentence=sentence, rating=rating, words=words)
        )
    cited = given.citations[0] if given and given.citations else None
    better = [one.citation for one in ratings.values() if one.citation]
    ids = dict.fromkeys(
        [one.document_id for one in answer.citations]
        + [one.document_id for one in ([cited] if cited else []) + better]
    )
    titles = {known: facts.title for known, facts in kb.catalogue.facts(ids).items()}
    return {
        "given": given,
        "rated": sentences,
        "documents": {known: titles[known] for known in ids if known in titles},
        "whole_citation": cited,
        "whole_words": _words(kb, cited),
    }


def filled_in(form: Mapping[str, Any], answer: Answer, before: Feedback | None) -> dict[str, Any]:
    """What the form says beside ``before``, to be given as a change of it.

    Raises:
        RequestError: a score is no number.
    """
    given: dict[str, Any] = {
        "score": _score(form.get("score", "")),
        "comment": str(form.get("comment", "")),
        "correction": str(form.get("correction", "")),
    }
    cited = _citation(form, "", str(form.get("words_before", "")))
    if cited is not _SAME:
        given["citations"] = [cited] if cited else []
    known = {one.sentence: one for one in before.sentences} if before else {}
    given["sentences"] = [
        _sentence(form, place, known.get(place)) for place in range(len(answer.sentences))
    ]
    return given


def _sentence(form: Mapping[str, Any], place: int, before: SentenceRating | None) -> dict[str, Any]:
    name = f"s{place + 1}_"
    told: dict[str, Any] = {
        "sentence": place,
        "score": _score(form.get(f"{name}score", "")),
        "explanation": str(form.get(f"{name}explanation", "")),
        "correction": str(form.get(f"{name}correction", "")),
        "source_fault": FAULT.get(str(form.get(f"{name}source_fault", ""))),
    }
    for flag in ("harmful", "content_issue"):
        if f"{name}{flag}" in form:
            told[flag] = True
        elif before and getattr(before, flag):
            told[flag] = None  # the tick was taken away: it is not said any more
    cited = _citation(form, name, str(form.get(f"{name}words_before", "")))
    if cited is not _SAME:
        told["citation"] = cited
    return told


_SAME: Any = object()


def _citation(form: Mapping[str, Any], name: str, before: str) -> Any:
    """What is cited; None: nothing; ``_SAME``: what was cited before."""
    document = str(form.get(f"{name}document", ""))
    words = str(form.get(f"{name}words", "")).strip()
    if [document, *words.split()] == before.split():
        return _SAME
    if not document and not words:
        return None
    if not document or not words:
        raise RequestError(
            "a better citation needs its source and its words", hint="give both, or neither"
        )
    return {"document_id": document, "words": words}


def _score(given: Any) -> Score | None:
    """The number as it was typed; an empty field is “not rated”."""
    text = str(given).strip()
    if not text:
        return None
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise RequestError(f"{text!r} is no score", hint="give a number of 0 to 100") from None


def _words(kb: KnowledgeBase, cited: BetterCitation | None) -> str:
    """The words at the place, as long as they are the ones that were cited."""
    document = kb.catalogue.document(cited.document_id) if cited else None
    if cited is None or document is None:
        return ""
    words = cited.span.of(document.text)
    return words if words_hash(words) == cited.content else ""
