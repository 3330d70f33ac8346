"""``GET /api/similar``: past questions like a new one, with what experts said of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from rich.console import Console
from rich.text import Text

from wellread.ask.retrieve.past_questions import (
    Comparison,
    Like,
    SimilarQuestion,
    formatted,
    like,
    similar_questions,
)
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.serve.api.queries import ScopeQuery
from wellread.serve.api.schemas import Body
from wellread.serve.api.search import REFUSED
from wellread.serve.terminal import harmless

MOST = 50


class SimilarQuery(ScopeQuery):
    """A question, and which past questions are wanted; what is not given is as in the settings."""

    question: str
    rating: int | None = Field(default=None, ge=0, le=100)
    compare: Comparison = "lt"
    language: str = ""
    threshold: float | None = Field(default=None, ge=-1, le=1)
    limit: int | None = Field(default=None, ge=1, le=MOST)


class SentenceJudgementBody(Body):
    """An expert's word on one sentence of the answer."""

    score: int | None
    explanation: str
    harmful: bool
    content_issue: bool


class SimilarQuestionBody(Body):
    """A past question; ``expired`` says why its feedback counts no more, and is empty else."""

    document_id: str
    collection: str
    similarity: float
    question: str
    flow: tuple[str, ...]
    answer: str
    score: int | None
    feedback: tuple[SentenceJudgementBody, ...]
    citation_url: str
    expert_citation_url: str
    language: str
    expired: str


class SimilarBody(Body):
    """The past questions, the most similar first; ``prompt`` is what a model is shown of them."""

    question: str
    results: tuple[SimilarQuestionBody, ...]
    prompt: str


def similar_router(kb: KnowledgeBase) -> APIRouter:
    """The route over ``kb``."""
    router = APIRouter(responses=REFUSED)

    @router.get("/api/similar", response_model=SimilarBody)
    def similar(asked: Annotated[SimilarQuery, Query()]) -> SimilarBody:
        """Past questions like ``question`` that have an answer and feedback."""
        return similar_body(kb, asked)

    return router


def similar_body(kb: KnowledgeBase, asked: SimilarQuery) -> SimilarBody:
    """What is asked for.

    Raises:
        RequestError: the question is empty.
        UnknownCollectionError: a collection that does not exist.
    """
    if not asked.question.strip():
        raise RequestError("the question is empty", hint="give the question to compare with")
    found = similar_questions(kb, asked.question, _wanted(kb, asked))
    return SimilarBody(
        question=asked.question, results=tuple(map(_result, found)), prompt=formatted(found)
    )


def _wanted(kb: KnowledgeBase, asked: SimilarQuery) -> Like:
    usual = like(kb, asked.collections)
    rated = asked.rating is not None
    return Like(
        threshold=usual.threshold if asked.threshold is None else asked.threshold,
        most=asked.limit or usual.most,
        rating=asked.rating if rated else usual.rating,
        comparison=asked.compare if rated else usual.comparison,
        language=asked.language.strip().lower(),
        collections=usual.collections,
    )


def _result(one: SimilarQuestion) -> SimilarQuestionBody:
    past = one.past
    judged: Sequence[SentenceJudgementBody] = [
        SentenceJudgementBody(
            score=sentence.score,
            explanation=sentence.explanation,
            harmful=sentence.harmful,
            content_issue=sentence.content_issue,
        )
        for sentence in past.sentences
    ]
    return SimilarQuestionBody(
        document_id=one.document.id,
        collection=one.document.collection,
        similarity=one.similarity,
        question=past.question,
        flow=past.flow,
        answer=past.answer,
        score=past.score,
        feedback=tuple(judged),
        citation_url=past.citation_url,
        expert_citation_url=past.expert_citation_url,
        language=one.document.language,
        expired=one.expired,
    )


def print_similar(console: Console, body: SimilarBody) -> None:
    """Each past question with its answer and what was said of its sentences."""
    if not body.results:
        console.print(Text("No past question is like this one.", style="yellow"))
    for number, one in enumerate(body.results):
        if number:
            console.print()
        score = f", rated {one.score}/100" if one.score is not None else ""
        head = Text(harmless(one.question), style="bold")
        head.append(f"  {one.similarity:.2f}{score}", style="dim")
        console.print(head)
        console.print(Text(harmless(one.answer)))
        for sentence in one.feedback:
            said = [f"{sentence.score}/100"] if sentence.score is not None else []
            said += [harmless(sentence.explanation)] if sentence.explanation else []
            said += ["harmful"] if sentence.harmful else []
            said += ["content issue"] if sentence.content_issue else []
            if said:
                console.print(Text(f"  - {'; '.join(said)}"))
        link = one.expert_citation_url or one.citation_url
        if link:
            console.print(Text(f"  {harmless(link)}", style="dim"), soft_wrap=True)
        if one.expired:
            console.print(Text(f"Expired: {harmless(one.expired)}", style="yellow"))
