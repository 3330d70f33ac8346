"""Routes that search passages (by query, speaker or date) and similar past questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request

from wellread.ask.retrieve.past_questions import (
    Comparison,
    SimilarityCriteria,
    SimilarQuestion,
    default_criteria,
    formatted,
    similar_questions,
)
from wellread.ask.retrieve.rated_questions import flagged_sentences, without_flagged
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.searches import Result, Results, Surroundings, around, find, newest
from wellread.serve.features.feature import (
    DateRangeQuery,
    FeatureRouter,
    RankedQuery,
    Scope,
    SearchQuery,
    SpeakerQuery,
)
from wellread.serve.guards.route_rules import Kb, note_opened
from wellread.serve.views import FACES, Shape, show_quoted
from wellread.store.schema.stored_values import Rights
from wellread.types import Filters, SentenceFeedback

router = FeatureRouter("read")
MAX_SIMILAR = 50
# --- passages --------------------------------------------------------------------------------

show_quoted(
    Result,
    "hit.document",
    """passage_id=hit.passage.id collection=hit.document.collection authors=hit.document.authors
    speakers=hit.passage.speakers score similarity=hit.similarity ranks=hit.ranks""",
    score=(float | None, lambda result: result.hit.score if result.hit.ranks else None),
)


def _passage_index(surroundings: Surroundings) -> int:
    ids = [result.hit.passage.id for result in surroundings.results]
    return ids.index(surroundings.passage_id)


FACES.show(
    Surroundings,
    """document_id=document.id title=document.title passage_id ordinal passages before passage
    after""",
    before=(tuple[Result, ...], lambda value: value.results[: _passage_index(value)]),
    passage=(Result, lambda value: value.results[_passage_index(value)]),
    after=(tuple[Result, ...], lambda value: value.results[_passage_index(value) + 1 :]),
)


class ResultsBody(
    Shape,
    line="""query=found.query mode limits=found.filters notes=found.notes total=found.total
    results=found.results""",
):
    """Passages, best first; without a query, newest first.

    ``total`` is the length of a list; null for a search, which ranks without counting. A result's
    ``quote`` is the whole passage, or the words of the requested speaker in it; only searches have
    ``score``, ``similarity`` and ``ranks``.

    Attributes:
        notes: words that were searched for in another spelling.
    """

    found: Results
    mode: SearchMode | None


@router.get("/api/search")
def search_passages(kb: Kb, params: Annotated[SearchQuery, Query()]) -> ResultsBody:
    """Search passages by ``query``, best first."""
    return search_body(kb, params, params.filters())


# Names may contain slashes.
@router.get("/api/search/speaker/{name:path}")
def by_speaker(kb: Kb, name: str, params: Annotated[SpeakerQuery, Query()]) -> ResultsBody:
    """Search the words of a speaker by ``query``; without one, list all, newest first."""
    return find_or_list(kb, params, replace(params.filters(), speakers=(name,)))


@router.get("/api/search/date-range")
def by_date(kb: Kb, params: Annotated[DateRangeQuery, Query()]) -> ResultsBody:
    """Search passages published from ``start`` to ``end``; without a query, newest first."""
    if not (params.start or params.end):
        raise RequestError(
            "the date range has neither start nor end", hint="give start, end or both"
        )
    return find_or_list(kb, params, params.filters())


Neighbours = Annotated[int, Query(ge=0, le=50)]


@router.get("/api/segments/{passage_id}/context")
def context(
    kb: Kb,
    request: Request,
    passage_id: str,
    scope: Scope,
    before: Neighbours = 2,
    after: Neighbours = 2,
) -> Surroundings:
    """Return a passage with its neighbours in the document."""
    surroundings = around(kb, passage_id, before, after, scope)
    note_opened(request, surroundings.document.id)
    return surroundings


def find_or_list(kb: KnowledgeBase, params: RankedQuery, limits: Filters) -> ResultsBody:
    """Search by the query, or list the newest if it is empty."""
    if params.query.strip():
        return search_body(kb, params, limits)
    return results_body(newest(kb, limits, limit=params.limit, offset=params.offset), None)


def search_body(kb: KnowledgeBase, params: RankedQuery, limits: Filters) -> ResultsBody:
    """Search by the query."""
    most = params.offset + params.limit
    results = find(kb, params.query, limits, mode=params.mode, limit=most)
    return results_body(replace(results, results=results.results[params.offset :]), params.mode)


def results_body(results: Results, mode: SearchMode | None) -> ResultsBody:
    """Return the reply of a search (by ``mode``) or of a list."""
    return ResultsBody(found=results, mode=mode if results.total is None else None)


# --- past questions --------------------------------------------------------------------------

FACES.show_whole(SentenceFeedback)


class SimilarQuestionBody(Shape):
    """A past question; ``expired`` says why its feedback is no longer valid, if so.

    It was imported with a document or answered here (``answer_id``); ``correction`` is that of an
    expert.
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
    """Past questions, most similar first; ``prompt`` is their text in a model's prompt."""

    question: str
    results: tuple[SimilarQuestionBody, ...]
    prompt: str


def similarity_criteria(
    kb: KnowledgeBase,
    collections: tuple[str, ...],
    *,
    rating: tuple[int | None, Comparison],
    language: str,
    threshold: float | None,
    limit: int | None,
) -> SimilarityCriteria:
    """Return the criteria; those that are None are taken from the settings."""
    defaults = default_criteria(kb, collections)
    score, comparison = rating
    return SimilarityCriteria(
        threshold=defaults.threshold if threshold is None else threshold,
        most=limit or defaults.most,
        rating=defaults.rating if score is None else score,
        comparison=defaults.comparison if score is None else comparison,
        language=language.strip().lower(),
        collections=defaults.collections,
    )


def similar_body(
    kb: KnowledgeBase,
    question: str,
    criteria: SimilarityCriteria,
    may_edit: Callable[[str], bool] = lambda _: True,
) -> SimilarBody:
    """Find past questions; explanations are shown only for collections the asker may edit."""
    if not question.strip():
        raise RequestError("the question is empty", hint="give the question to compare with")
    questions = [
        past if all(map(may_edit, past.collections or ("",))) else _without_explanations(past)
        for past in similar_questions(kb, question, criteria)
    ]
    return SimilarBody(
        question=question,
        results=tuple(_similar_question(kb, past) for past in questions),
        prompt=formatted(kb, questions),
    )


def _similar_question(kb: KnowledgeBase, similar: SimilarQuestion) -> SimilarQuestionBody:
    document, rated = similar.document, similar.rated
    flagged = flagged_sentences(kb, similar.collections)
    return SimilarQuestionBody.of(
        similar,
        similar.past,
        document_id=document.id if document else "",
        answer_id=rated.given.answer_id if rated else "",
        collection=next(iter(similar.collections), ""),
        language=document.language if document else "",
        answer=without_flagged(similar.past.answer, flagged),
        correction=without_flagged(similar.correction, flagged),
        feedback=similar.past.sentences,
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
    limit: Annotated[int | None, Query(ge=1, le=MAX_SIMILAR)] = None,
) -> SimilarBody:
    """Find past questions like ``question`` that have an answer and feedback.

    Questions of other users are included only when a collection is named. Experts' explanations
    are shown to editors only. Missing parameters are taken from the settings.
    """
    rating_limit = (rating, compare)
    criteria = similarity_criteria(
        kb, scope, rating=rating_limit, language=language, threshold=threshold, limit=limit
    )
    if not scope:
        criteria = replace(criteria, owner=kb.asker.owner)
    rights: Rights = request.state.rights
    return similar_body(kb, question, criteria, rights.may_edit)


def _without_explanations(similar: SimilarQuestion) -> SimilarQuestion:
    sentences = tuple(replace(rated, explanation="") for rated in similar.past.sentences)
    return replace(similar, past=replace(similar.past, sentences=sentences))
