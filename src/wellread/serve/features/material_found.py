"""What is found and listed of the material: passages, documents, recordings, past questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import Query, Request

from wellread.ask.retrieve.past_questions import (
    Comparison,
    Like,
    SimilarQuestion,
    formatted,
    like,
    similar_questions,
)
from wellread.ask.retrieve.rated_questions import (
    flagged_sentences,
    without_flagged,
)
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.searches import Result, Results, Surroundings, around, find, newest
from wellread.serve.features.feature import (
    DateRangeQuery,
    FeatureRouter,
    Scope,
    SearchQuery,
    SpeakerQuery,
)
from wellread.serve.guards.route_rules import Kb, note_opened
from wellread.serve.views import (
    FACES,
    Shape,
    show_quoted,
)
from wellread.store.schema.stored_values import Rights
from wellread.types import Filters, SentenceFeedback

router = FeatureRouter()
MOST_SIMILAR = 50
# --- passages --------------------------------------------------------------------------------

show_quoted(
    Result,
    "hit.document",
    """passage_id=hit.passage.id collection=hit.document.collection authors=hit.document.authors
    speakers=hit.passage.speakers score similarity=hit.similarity ranks=hit.ranks""",
    score=(float | None, lambda result: result.hit.score if result.hit.ranks else None),
)


def _middle(found: Surroundings) -> int:
    ids = [result.hit.passage.id for result in found.results]
    return ids.index(found.passage_id)


FACES.show(
    Surroundings,
    """document_id=document.id title=document.title passage_id ordinal passages before passage
    after""",
    before=(tuple[Result, ...], lambda found: found.results[: _middle(found)]),
    passage=(Result, lambda found: found.results[_middle(found)]),
    after=(tuple[Result, ...], lambda found: found.results[_middle(found) + 1 :]),
)


class ResultsBody(
    Shape,
    line="""query=found.query mode limits=found.filters notes=found.notes total=found.total
    results=found.results""",
):
    """What was found, best first; without a query, what is there, newest first.

    ``total`` is the length of a whole list; null for a search, which ranks and does not count.
    A result's ``quote`` is all of the passage, or what the speaker asked for says in it; its
    ``score``, ``similarity`` and ``ranks`` are of a search; a list has none.

    Attributes:
        notes: which words were searched for in another spelling.
    """

    found: Results
    mode: SearchMode | None


@router.get("/api/search")
def search_passages(kb: Kb, asked: Annotated[SearchQuery, Query()]) -> ResultsBody:
    """The best passages for ``query``, best first."""
    return ranked_body(kb, asked.query, asked.filters(), asked.mode, (asked.limit, asked.offset))


# A name may hold a slash.
@router.get("/api/search/speaker/{name:path}")
def by_speaker(kb: Kb, name: str, asked: Annotated[SpeakerQuery, Query()]) -> ResultsBody:
    """What the speaker says about ``query``; without one all of it, newest first."""
    limits = replace(asked.filters(), speakers=(name,))
    return found_body(kb, asked.query, limits, asked.mode, (asked.limit, asked.offset))


@router.get("/api/search/date-range")
def by_date(kb: Kb, asked: Annotated[DateRangeQuery, Query()]) -> ResultsBody:
    """What was published from ``start`` to ``end``; without a query newest first."""
    if not (asked.start or asked.end):
        raise RequestError(
            "the date range has neither start nor end", hint="give start, end or both"
        )
    return found_body(kb, asked.query, asked.filters(), asked.mode, (asked.limit, asked.offset))


Beside = Annotated[int, Query(ge=0, le=50)]


@router.get("/api/segments/{passage_id}/context")
def context(
    kb: Kb, request: Request, passage_id: str, scope: Scope, before: Beside = 2, after: Beside = 2
) -> Surroundings:
    """A passage with those before and after it in its document."""
    found = around(kb, passage_id, before, after, scope)
    note_opened(request, found.document.id)
    return found


def found_body(
    kb: KnowledgeBase, query: str, limits: Filters, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found, or without a query listed; ``page``: limit and offset."""
    if query.strip():
        return ranked_body(kb, query, limits, mode, page)
    limit, offset = page
    return results_body(newest(kb, limits, limit=limit, offset=offset), None)


def ranked_body(
    kb: KnowledgeBase, query: str, limits: Filters, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found; ``page``: limit and offset."""
    limit, offset = page
    found = find(kb, query, limits, mode=mode, limit=offset + limit)
    return results_body(replace(found, results=found.results[offset:]), mode)


def results_body(found: Results, mode: SearchMode | None) -> ResultsBody:
    """What a search found (by ``mode``), or a list has."""
    return ResultsBody(found=found, mode=mode if found.total is None else None)


# --- past questions --------------------------------------------------------------------------

FACES.show_whole(SentenceFeedback)


class SimilarQuestionBody(Shape):
    """A past question; ``expired`` says why its feedback counts no more, and is empty else.

    It came in a document, or is an answer given here (``answer_id``), which an expert may have put
    right (``correction``).
    """

    document_id: str
    answer_id: str
    correction: str
    collection: str
    similarity: float
    question: str
    flow: tuple[str, ...]
    answer: str
    score: int | None
    feedback: tuple[SentenceFeedback, ...]
    citation_url: str
    expert_citation_url: str
    language: str
    expired: str


class SimilarBody(Shape):
    """The past questions, the most similar first; ``prompt`` is what a model is shown of them."""

    question: str
    results: tuple[SimilarQuestionBody, ...]
    prompt: str


def wanted_like(
    kb: KnowledgeBase,
    collections: tuple[str, ...],
    *,
    rating: tuple[int | None, Comparison],
    language: str,
    threshold: float | None,
    limit: int | None,
) -> Like:
    """Which past questions are wanted; what is not given is as in the settings."""
    usual = like(kb, collections)
    score, comparison = rating
    return Like(
        threshold=usual.threshold if threshold is None else threshold,
        most=limit or usual.most,
        rating=usual.rating if score is None else score,
        comparison=usual.comparison if score is None else comparison,
        language=language.strip().lower(),
        collections=usual.collections,
    )


def similar_body(
    kb: KnowledgeBase,
    question: str,
    wanted: Like,
    may_edit: Callable[[str], bool] = lambda _: True,
) -> SimilarBody:
    """What is asked for; experts' explanations only of collections that the asker may edit."""
    if not question.strip():
        raise RequestError("the question is empty", hint="give the question to compare with")
    found = [
        one if all(map(may_edit, one.collections or ("",))) else _unexplained(one)
        for one in similar_questions(kb, question, wanted)
    ]
    return SimilarBody(
        question=question,
        results=tuple(_similar_question(kb, one) for one in found),
        prompt=formatted(found, partial(flagged_sentences, kb)),
    )


def _similar_question(kb: KnowledgeBase, one: SimilarQuestion) -> SimilarQuestionBody:
    document, rated = one.document, one.rated
    flagged = flagged_sentences(kb, one.collections)
    return SimilarQuestionBody.of(
        one,
        one.past,
        document_id=document.id if document else "",
        answer_id=rated.given.answer_id if rated else "",
        collection=next(iter(one.collections), ""),
        language=document.language if document else "",
        answer=without_flagged(one.past.answer, flagged),
        correction=without_flagged(one.correction, flagged),
        feedback=one.past.sentences,
    )


@router.get("/api/similar")
def similar(
    kb: Kb,
    request: Request,
    scope: Scope,
    question: str,
    rating: Annotated[int | None, Query(ge=0, le=100)] = None,
    compare: Comparison = "lt",
    language: str = "",
    threshold: Annotated[float | None, Query(ge=-1, le=1)] = None,
    limit: Annotated[int | None, Query(ge=1, le=MOST_SIMILAR)] = None,
) -> SimilarBody:
    """Past questions like ``question`` that have an answer and feedback.

    Those that others asked here only where the collection is named. What experts explained is for
    who may edit it. What is not given is as in the settings.
    """
    chosen = (rating, compare)
    wanted = wanted_like(
        kb, scope, rating=chosen, language=language, threshold=threshold, limit=limit
    )
    if not scope:
        wanted = replace(wanted, owner=kb.asker.owner)
    rights: Rights = request.state.rights
    return similar_body(kb, question, wanted, rights.may_edit)


def _unexplained(one: SimilarQuestion) -> SimilarQuestion:
    judged = tuple(replace(each, explanation="") for each in one.past.sentences)
    return replace(one, past=replace(one.past, sentences=judged))
