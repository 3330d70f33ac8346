"""An answer as it goes out, with what can be told beside it.

Beside it stand the text around its quotations, the coverage of what it was looked for in, and past
questions with expert feedback: a model is told of those in its prompt; without one the reader sees
them, and is told that a near one need not be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from wellread.ask.aggregate.execute import CatalogueRequest, worked_out
from wellread.ask.aggregate.read.result import AggregateResult, Row
from wellread.ask.deliver.cite import relevances
from wellread.ask.retrieve.past_questions import SimilarQuestion, like, same, similar_questions
from wellread.ask.retrieve.rated_questions import flagged_sentences, shown_text
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import UnknownCollectionError
from wellread.kb import KnowledgeBase
from wellread.serve.views import FACES, Shape, show_quoted
from wellread.text.sentences import sentence_spans
from wellread.types import Filters, Span
from wellread.values.answers import (
    EXTRACTIVE,
    NOBODY,
    Answer,
    Citation,
    Event,
    Evidence,
    SentenceEvent,
    StepEvent,
    TokenEvent,
)

LONGEST_CELL = 120
LONGEST_QUOTE = 240

show_quoted(Evidence, "hit.document", "key score=hit.score")


class Cited(
    Shape,
    line="""*citation id number=citation.id relevance score=citation.relevance
    answer_span=citation.answer_span verdict=citation.verdict""",
    id=(str, lambda cited: str(cited.citation.id)),
):
    """Answer span → source span, with the quote and the verdict.

    ``id`` is ``number`` as a string; sentences, views of a conflict and the markers ``[1]`` have
    the number.

    Attributes:
        relevance: why the source matters, in words; ``score`` is of the search that found it.
    """

    citation: Citation
    relevance: str


class PastBeside(Shape):
    """A past question like the new one, with its answer and what an expert put right of it.

    It is an answer given here (``answerId``), or came in a document (``documentId``).

    Attributes:
        answer: at most about 400 characters.
        correction: what the expert put right, or says is wrong with it.
        score: the expert's, of 100.
        similarity: cosine of the two questions.
        verified: whether it is the same question, and not expired.
        expired: why its feedback counts no more; empty while it does.
    """

    question: str
    answer: str
    correction: str
    score: int | None
    similarity: float
    verified: bool
    expired: str
    answer_id: str
    document_id: str
    link: str


def _cited(reply: Any) -> list[Cited]:
    why = relevances(reply.answer)
    return [Cited(citation=one, relevance=why[one.id]) for one in reply.answer.citations]


class AskResponse(
    Shape,
    line="""id=answer.id question=answer.question answer=answer.text citations
    confidence=answer.confidence data_gaps=answer.data_gaps conflicts=answer.conflicts
    related=answer.related suggestions=answer.suggestions notes=answer.notes limits=answer.limits
    table=answer.table session_id=answer.session_id standalone=answer.standalone type=answer.type
    mode=answer.mode cached=answer.cached answered_by=answer.answered_by fallback=answer.fallback
    hallucinated_citations=answer.hallucinated_citations
    repaired_citations=answer.repaired_citations dropped_sentences=answer.dropped_sentences
    sentences=answer.sentences usage=answer.usage steps=answer.steps similar""",
    citations=(tuple[Cited, ...], _cited),
):
    """The answer and its proof. ``answeredBy`` is ``none`` when the material has no answer.

    Attributes:
        similar: past questions like it, beside a new answer that no model wrote.
        standalone: the question as a follow-up was understood; or empty.
        cached: whether an answer given before was given again.
        answered_by: a writer; ``catalogue`` counted; ``none`` declined.
    """

    answer: Answer
    similar: tuple[PastBeside, ...] = ()


def answer_body(answer: Answer, similar: Sequence[PastBeside] = ()) -> AskResponse:
    """The whole answer; ``similar``: past questions to show beside it."""
    return AskResponse(answer=answer, similar=tuple(similar))


def event_body(event: Event, similar: Sequence[PastBeside] = ()) -> tuple[str, object]:
    """The name and the data of a server-sent event; ``similar`` goes with the final one."""
    match event:
        case StepEvent(step=step):
            return "step", step
        case TokenEvent():
            return "token", event
        case SentenceEvent(sentence=sentence):
            return "sentence", sentence
    return "final", answer_body(event.answer, similar)


# --- past questions beside it ----------------------------------------------------------------


def past_beside(kb: KnowledgeBase, answer: Answer) -> tuple[PastBeside, ...]:
    """The past questions like that of ``answer``; none where a model, a count or an expert
    answered.

    Only the borders of collections can be kept to, so an asker who set another limit is shown none.
    """
    unwritten = answer.answered_by == EXTRACTIVE or (answer.answered_by == NOBODY and not kb.model)
    if not answer.id:  # nothing was asked
        return ()
    given = [one for one in answer.limits if one.origin == "asker"]
    bordered = all(one.kind == "collection" for one in given)
    if not (kb.settings.features.similar_questions and unwritten and bordered):
        return ()
    question = answer.standalone or answer.question
    wanted = like(kb, tuple(one.value for one in given))
    own = len(kb.catalogue.feedback.of_answers([answer.id]).get(answer.id, ()))
    # An answer that was judged is like itself; it takes nobody's place.
    wider = replace(wanted, most=wanted.most and wanted.most + own)
    try:
        found = similar_questions(kb, question, wider)
    except UnknownCollectionError:  # it was removed since the answer was given, with all in it
        return ()
    bodies: list[PastBeside] = []
    room = wanted.most
    for one in found:
        if one.rated is not None and one.rated.given.answer_id == answer.id:
            continue
        if not room:
            break
        bodies.append(_beside(kb, question, one))
        room -= not one.expired
    return tuple(bodies)


def _beside(kb: KnowledgeBase, question: str, one: SimilarQuestion) -> PastBeside:
    past, flagged = one.past, flagged_sentences(kb, one.collections)
    asked = one.alone or past.question
    agrees = same(question, asked, one.similarity)
    judged = (each for each in past.sentences if each.harmful or each.content_issue)
    wrong = " ".join(each.explanation for each in judged if each.explanation)
    return PastBeside.of(
        one,
        past,
        answer=shown_text(past.answer, flagged, past.sentences),
        correction=shown_text(one.correction or wrong, flagged),
        verified=agrees and not one.expired,
        answer_id=one.rated.given.answer_id if one.rated else "",
        document_id=one.document.id if one.document else "",
        link=past.expert_citation_url or past.citation_url,
    )


def standing(one: PastBeside) -> str:
    """In words: whether it is the same question, whether its feedback counts, and the rating."""
    parts = ["verified: the same question" if one.verified else "similar, not verified"]
    parts += [f"expired: {one.expired}"] if one.expired else []
    parts += [f"rated {one.score} of 100"] if one.score is not None else []
    return "; ".join(parts)


# --- its surroundings and what it was looked for in ------------------------------------------

REACH = 600  # characters on either side of a quotation that are looked at
NEIGHBOURS = 2  # sentences on either side that are shown
MOST_DIMENSIONS, MOST_PAIRS, MOST_ROWS = 6, 3, 100


class QuoteContext(Shape):
    """The sentences before and after the quotation of citation ``number``."""

    number: int
    before: str
    after: str


def quote_contexts(kb: KnowledgeBase, answer: Answer) -> tuple[QuoteContext, ...]:
    """What stands around each quotation; of a source that has changed since, nothing."""
    live = kb.catalogue.live_versions([one.document_id for one in answer.citations])
    cited = [one for one in answer.citations if live.get(one.document_id) == one.version]
    facts = kb.catalogue.facts({one.document_id for one in cited}) if cited else {}
    places: list[tuple[str, Span]] = []
    for one in cited:
        span, size = one.source_span, facts[one.document_id].characters
        places.append((one.document_id, Span(start=max(0, span.start - REACH), end=span.start)))
        places.append((one.document_id, Span(start=span.end, end=min(size, span.end + REACH))))
    texts = kb.catalogue.texts(places) if places else []
    pairs = zip(cited, texts[::2], texts[1::2], strict=True)
    return tuple(
        QuoteContext(number=one.id, before=_last(before), after=_first(after))
        for one, before, after in pairs
    )


def _last(text: str) -> str:
    spans = sentence_spans(text)[-NEIGHBOURS:]
    cut = len(text) >= REACH and len(spans) < NEIGHBOURS  # it begins in the middle of a sentence
    told = " ".join(span.of(text) for span in spans)
    return f"… {told.partition(' ')[2]}" if cut and spans else told


def _first(text: str) -> str:
    spans = sentence_spans(text)[:NEIGHBOURS]
    cut = len(text) >= REACH and bool(spans) and spans[-1].end >= len(text.rstrip())
    told = " ".join(span.of(text) for span in spans)
    return f"{told.rpartition(' ')[0]} …" if cut else told


def scope_coverage(kb: KnowledgeBase, filters: Filters) -> tuple[AggregateResult, ...]:
    """The coverage of the taxonomy within ``filters``: each dimension, then pairs of them.

    Without a taxonomy, how the documents divide over collections, kinds and years.
    """
    held = vocabulary_of(kb, filters.collections).dimensions
    dimensions = sorted(held)[:MOST_DIMENSIONS]
    asked: list[tuple[str, ...]] = [(one,) for one in dimensions]
    asked += list(combinations(dimensions, 2))[:MOST_PAIRS]
    fields = [CatalogueRequest(form="coverage", by=by, limit=MOST_ROWS) for by in asked or [()]]
    return tuple(worked_out(kb, one, filters) for one in fields)


# --- quoted places, and what is counted and listed by fields ---------------------------------

FACES.show(Row, "cells documents=document_ids")
FACES.show(
    AggregateResult,
    "kind sentence number columns rows absent method notes",
    notes=(tuple[str, ...], lambda result: [*result.notes, *result.failures]),
)
