"""Past questions like a new one, with what experts said of their answers."""

from __future__ import annotations

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
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import harmless


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


def similar_body(kb: KnowledgeBase, question: str, wanted: Like) -> SimilarBody:
    """What is asked for.

    Raises:
        RequestError: the question is empty.
        UnknownCollectionError: a collection that does not exist.
    """
    if not question.strip():
        raise RequestError("the question is empty", hint="give the question to compare with")
    found = similar_questions(kb, question, wanted)
    return SimilarBody.of(
        question=question, results=[_result(one) for one in found], prompt=formatted(found)
    )


def _result(one: SimilarQuestion) -> SimilarQuestionBody:
    return SimilarQuestionBody.of(
        one, one.past, one.document, document_id=one.document.id, feedback=one.past.sentences
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
