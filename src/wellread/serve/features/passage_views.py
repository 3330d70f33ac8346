"""Passages that were found or listed, a passage among its neighbours, and past questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal

from pydantic import Field
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.ask.retrieve.past_questions import (
    Comparison,
    Like,
    SimilarQuestion,
    formatted,
    like,
    similar_questions,
)
from wellread.ask.retrieve.rated_questions import (
    FlaggedSentences,
    flagged_sentences,
    without_flagged,
)
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.searches import Result, Results, Surroundings, find, newest
from wellread.serve.features.bodies import Body, RankBody, SourceBody
from wellread.serve.terminal import INDENT, SHORT_ID, linked, print_link, shortened
from wellread.text.words import harmless
from wellread.types import Filters, Kind

LONGEST_QUOTE = 240


class ResultBody(SourceBody):
    """A passage; ``quote`` is all of it, or what the speaker asked for says in it.

    ``score``, ``similarity`` and ``ranks`` are of a search; a list has none.
    """

    passage_id: str
    collection: str
    authors: tuple[str, ...]
    speakers: tuple[str, ...]
    score: float | None
    similarity: float | None
    ranks: tuple[RankBody, ...]


class LimitsBody(Body):
    """What a search was limited to, names as the documents have them."""

    collections: tuple[str, ...]
    kinds: tuple[Kind, ...]
    speakers: tuple[str, ...]
    authors: tuple[str, ...]
    languages: tuple[str, ...]
    source_types: tuple[str, ...]
    taxonomy: tuple[str, ...]
    published_from: datetime | None
    published_to: datetime | None


class ResultsBody(Body):
    """What was found, best first; without a query, what is there, newest first.

    ``total`` is the length of a whole list; null for a search, which ranks and does not count.
    """

    query: str
    mode: Literal["hybrid", "text", "vector"] | None
    limits: LimitsBody
    notes: tuple[str, ...] = Field(description="which words were searched for in another spelling")
    total: int | None
    results: tuple[ResultBody, ...]


class SurroundingsBody(Body):
    """A passage among those around it; it is number ``ordinal`` (from 0) of ``passages``."""

    document_id: str
    title: str
    passage_id: str
    ordinal: int
    passages: int
    before: tuple[ResultBody, ...]
    passage: ResultBody
    after: tuple[ResultBody, ...]


def found_body(
    kb: KnowledgeBase, query: str, limits: Filters, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found, or without a query listed; ``page``: limit and offset.

    Raises:
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
    """
    if query.strip():
        return ranked_body(kb, query, limits, mode, page)
    limit, offset = page
    return results_body(newest(kb, limits, limit=limit, offset=offset), None)


def ranked_body(
    kb: KnowledgeBase, query: str, limits: Filters, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found; ``page``: limit and offset.

    Raises:
        RequestError: the query is empty.
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
    """
    limit, offset = page
    found = find(kb, query, limits, mode=mode, limit=offset + limit)
    return results_body(replace(found, results=found.results[offset:]), mode)


def results_body(found: Results, mode: SearchMode | None) -> ResultsBody:
    """What a search found (by ``mode``), or a list has."""
    ranked = found.total is None
    limits = found.filters
    return ResultsBody.of(
        found,
        mode=mode if ranked else None,
        limits=LimitsBody.of(
            limits, taxonomy=[f"{name}={value}" for name, value in limits.taxonomy]
        ),
        results=[result_body(one, ranked=ranked) for one in found.results],
    )


def result_body(result: Result, *, ranked: bool = False) -> ResultBody:
    """A passage; with its score and places when it was ``ranked``."""
    hit = result.hit
    return ResultBody.at(
        hit.document,
        result.span,
        result.text,
        result.locator,
        hit,
        passage_id=hit.passage.id,
        speakers=hit.passage.speakers,
        score=hit.score if ranked else None,
    )


def surroundings_body(found: Surroundings) -> SurroundingsBody:
    """A passage among those around it."""
    bodies = [result_body(one) for one in found.results]
    middle = next(place for place, body in enumerate(bodies) if body.passage_id == found.passage_id)
    return SurroundingsBody.of(
        found,
        document_id=found.document.id,
        title=found.document.title,
        before=bodies[:middle],
        passage=bodies[middle],
        after=bodies[middle + 1 :],
    )


def print_results(console: Console, body: ResultsBody) -> None:
    """What a search found with its place in each ranked list, or a list newest first."""
    for note in body.notes:
        console.print(Text(harmless(note), style="dim"))
    if not body.results:
        what = f"found for “{harmless(body.query)}”" if body.query else "there within these limits"
        console.print(Text(f"Nothing {what}.", style="yellow"))
        return
    for number, result in enumerate(body.results, start=1):
        facts = [result.passage_id[:SHORT_ID]]
        if result.score is not None:
            places = ", ".join(f"{place.name} #{place.rank}" for place in result.ranks)
            facts.insert(0, f"{result.score:.3f} ({places})")
        print_source(console, f"{number}.", result, *facts)
    if body.total is not None and body.total > len(body.results):
        what = "passages" if body.limits.speakers else "documents"
        more = f"… the newest of {body.total:,} {what}; words rank them by what they say"
        console.print(Text(more, style="dim"))


def print_surroundings(console: Console, body: SurroundingsBody) -> None:
    """The passage in full, and those around it dimmed."""
    head = Text(harmless(body.title), style="bold")
    head.append(f"  passage {body.ordinal + 1:,} of {body.passages:,}", style="dim")
    console.print(head, soft_wrap=True)
    for result in body.before:
        _print_whole(console, result, "dim")
    _print_whole(console, body.passage, "")
    for result in body.after:
        _print_whole(console, result, "dim")
    print_link(console, body.passage.link)


def print_source(console: Console, mark: str, source: SourceBody, *facts: str) -> None:
    """A quoted place: title and locator with the link, facts about it, and its first words."""
    head = Text.assemble((f"{mark} ", "bold cyan"))
    title = f"{source.title}, {source.locator}" if source.locator else source.title
    head.append(harmless(title), style=linked(source.link))
    day = [f"{source.published_at:%Y-%m-%d}"] if source.published_at else []
    head.append(f"  {', '.join((source.kind, *day, *facts))}", style="dim")
    console.print(head)
    quote = Text(f"“{shortened(source.quote, LONGEST_QUOTE)}”")
    console.print(Padding(quote, (0, 0, 0, INDENT)))
    print_link(console, source.link)


def _print_whole(console: Console, result: ResultBody, style: str) -> None:
    place = f"{harmless(result.locator)}  " if result.locator else ""
    console.print()
    line = Text.assemble((place, "bold cyan" if not style else "cyan"))
    line.append(result.passage_id[:SHORT_ID], style="dim")
    console.print(line, soft_wrap=True)
    console.print(Text(harmless(result.quote), style=style))


class SentenceJudgementBody(Body):
    """An expert's word on one sentence of the answer."""

    score: int | None
    explanation: str
    harmful: bool
    content_issue: bool


class SimilarQuestionBody(Body):
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


def similar_body(
    kb: KnowledgeBase,
    question: str,
    wanted: Like,
    may_edit: Callable[[str], bool] = lambda _: True,
) -> SimilarBody:
    """What is asked for; experts' explanations only of collections that the asker may edit.

    Raises:
        RequestError: the question is empty.
        UnknownCollectionError: a collection that does not exist.
    """
    if not question.strip():
        raise RequestError("the question is empty", hint="give the question to compare with")
    near = similar_questions(kb, question, wanted)
    flagged = partial(flagged_sentences, kb)
    found = [
        one if all(map(may_edit, one.collections or ("",))) else _unexplained(one) for one in near
    ]
    return SimilarBody.of(
        question=question,
        results=[_similar_question(one, flagged(one.collections)) for one in found],
        prompt=formatted(found, flagged),
    )


def _unexplained(one: SimilarQuestion) -> SimilarQuestion:
    judged = tuple(replace(each, explanation="") for each in one.past.sentences)
    return replace(one, past=replace(one.past, sentences=judged))


def _similar_question(one: SimilarQuestion, flagged: FlaggedSentences) -> SimilarQuestionBody:
    document, rated = one.document, one.rated
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
        if one.correction and not one.expired:
            console.print(Text(f"Corrected: {harmless(one.correction)}", style="green"))
        if one.expired:
            console.print(Text(f"Expired: {harmless(one.expired)}", style="yellow"))
