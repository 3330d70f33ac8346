"""Builds the reply to a question: the answer with citations, context and similar past questions.

Past questions with expert feedback go into the prompt of a model; without a model, they are shown
beside the answer, marked as similar or as the same question. The context is the text around each
quotation and the coverage of the searched material.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from wellread.ask.aggregate.execute import execute
from wellread.ask.aggregate.query import AggregateResult, CatalogueQuery, Row
from wellread.ask.deliver.cite import relevances
from wellread.ask.retrieve.past_questions import (
    SimilarQuestion,
    default_criteria,
    is_same_question,
    similar_questions,
)
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

show_quoted(Evidence, "hit.document", "key score=hit.score")


class Cited(
    Shape,
    line="""*citation id number=citation.id relevance score=citation.relevance
    answer_span=citation.answer_span verdict=citation.verdict""",
    id=(str, lambda cited: str(cited.citation.id)),
):
    """A citation, from a span of the answer to a span of the source, with quotation and verdict.

    ``id`` is ``number`` as a string; sentences, views of a conflict and the markers ``[1]`` use
    the number.

    Attributes:
        relevance: why the source matters; ``score`` is its search score.
    """

    citation: Citation
    relevance: str


class PastBeside(Shape):
    """A similar past question with its answer and an expert's correction.

    It was answered here (``answerId``) or imported with a document (``documentId``).

    Attributes:
        answer: at most about 400 characters.
        correction: the expert's correction, or their explanation of what is wrong.
        score: the expert's rating, out of 100.
        similarity: cosine similarity of the two questions.
        verified: whether it is the same question with feedback that has not expired.
        expired: why its feedback is no longer valid; empty while it is.
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


def _citations(reply: Any) -> list[Cited]:
    reasons = relevances(reply.answer)
    return [Cited(citation=cited, relevance=reasons[cited.id]) for cited in reply.answer.citations]


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
    citations=(tuple[Cited, ...], _citations),
):
    """The answer with its proof. ``answeredBy`` is ``none`` when the material has no answer.

    Attributes:
        similar: similar past questions, when no model wrote the answer.
        standalone: the rewritten question of a follow-up; else empty.
        cached: whether a stored answer was reused.
        answered_by: the writer; ``catalogue`` for counts; ``none`` for no answer.
    """

    answer: Answer
    similar: tuple[PastBeside, ...] = ()


def answer_body(answer: Answer, similar: Sequence[PastBeside] = ()) -> AskResponse:
    """Return the reply with an answer and similar past questions."""
    return AskResponse(answer=answer, similar=tuple(similar))


def event_body(event: Event, similar: Sequence[PastBeside] = ()) -> tuple[str, object]:
    """Return the name and data of a server-sent event; ``similar`` is added to the final one."""
    match event:
        case StepEvent(step=step):
            return "step", step
        case TokenEvent():
            return "token", event
        case SentenceEvent(sentence=sentence):
            return "sentence", sentence
    return "final", answer_body(event.answer, similar)


# --- similar past questions ------------------------------------------------------------------


def similar_past_questions(kb: KnowledgeBase, answer: Answer) -> tuple[PastBeside, ...]:
    """Return past questions similar to that of ``answer``, if no model wrote the answer.

    They can only be limited to collections, so none are returned when the asker set another limit.
    """
    no_model = answer.answered_by == EXTRACTIVE or (answer.answered_by == NOBODY and not kb.model)
    if not answer.id:  # it was not a question
        return ()
    asker_limits = [limit for limit in answer.limits if limit.origin == "asker"]
    only_collections = all(limit.kind == "collection" for limit in asker_limits)
    if not (kb.settings.features.similar_questions and no_model and only_collections):
        return ()
    question = answer.standalone or answer.question
    criteria = default_criteria(kb, tuple(limit.value for limit in asker_limits))
    own_feedback = len(kb.catalogue.feedback.of_answers([answer.id]).get(answer.id, ()))
    # Leave room for this answer itself, which is also found once it has feedback.
    wider_criteria = replace(criteria, most=criteria.most and criteria.most + own_feedback)
    try:
        matches = similar_questions(kb, question, wider_criteria)
    except UnknownCollectionError:  # removed since the answer was given
        return ()
    bodies: list[PastBeside] = []
    free_places = criteria.most
    for similar in matches:
        if similar.rated is not None and similar.rated.given.answer_id == answer.id:
            continue
        if not free_places:
            break
        bodies.append(_past_question(kb, question, similar))
        free_places -= not similar.expired  # those with expired feedback come on top
    return tuple(bodies)


def _past_question(kb: KnowledgeBase, question: str, similar: SimilarQuestion) -> PastBeside:
    past, flagged = similar.past, flagged_sentences(kb, similar.collections)
    past_text = similar.alone or past.question
    is_same = is_same_question(question, past_text, similar.similarity)
    notes = (note for note in past.sentences if note.harmful or note.content_issue)
    explanations = " ".join(note.explanation for note in notes if note.explanation)
    return PastBeside.of(
        similar,
        past,
        answer=shown_text(past.answer, flagged, past.sentences),
        correction=shown_text(similar.correction or explanations, flagged),
        verified=is_same and not similar.expired,
        answer_id=similar.rated.given.answer_id if similar.rated else "",
        document_id=similar.document.id if similar.document else "",
        link=past.expert_citation_url or past.citation_url,
    )


def past_question_status(past: PastBeside) -> str:
    """Describe whether it is the same question, has expired feedback, and how it was rated."""
    parts = ["verified: the same question" if past.verified else "similar, not verified"]
    parts += [f"expired: {past.expired}"] if past.expired else []
    parts += [f"rated {past.score} of 100"] if past.score is not None else []
    return "; ".join(parts)


# --- context of quotations and coverage of the searched material -----------------------------

CONTEXT_CHARS = 600  # characters read on either side of a quotation
CONTEXT_SENTENCES = 2  # sentences shown on either side
MAX_DIMENSIONS, MAX_PAIRS, MAX_ROWS = 6, 3, 100


class QuoteContext(Shape):
    """The sentences before and after the quotation of citation ``number``."""

    number: int
    before: str
    after: str


def quote_contexts(kb: KnowledgeBase, answer: Answer) -> tuple[QuoteContext, ...]:
    """Return the text around each quotation; changed sources are skipped."""
    versions = kb.catalogue.live_versions([cited.document_id for cited in answer.citations])
    current = [c for c in answer.citations if versions.get(c.document_id) == c.version]
    facts = kb.catalogue.facts({cited.document_id for cited in current}) if current else {}
    windows: list[tuple[str, Span]] = []
    for cited in current:
        document_id, span = cited.document_id, cited.source_span
        start = max(0, span.start - CONTEXT_CHARS)
        end = min(facts[document_id].characters, span.end + CONTEXT_CHARS)
        windows.append((document_id, Span(start=start, end=span.start)))
        windows.append((document_id, Span(start=span.end, end=end)))
    texts = kb.catalogue.texts(windows) if windows else []
    pairs = zip(current, texts[::2], texts[1::2], strict=True)
    return tuple(
        QuoteContext(number=cited.id, before=_last_sentences(before), after=_first_sentences(after))
        for cited, before, after in pairs
    )


def _last_sentences(text: str) -> str:
    spans = sentence_spans(text)[-CONTEXT_SENTENCES:]
    is_cut = len(text) >= CONTEXT_CHARS and len(spans) < CONTEXT_SENTENCES  # starts in mid-sentence
    sentences = " ".join(span.of(text) for span in spans)
    return f"… {sentences.partition(' ')[2]}" if is_cut and spans else sentences


def _first_sentences(text: str) -> str:
    spans = sentence_spans(text)[:CONTEXT_SENTENCES]
    is_cut = len(text) >= CONTEXT_CHARS and bool(spans) and spans[-1].end >= len(text.rstrip())
    sentences = " ".join(span.of(text) for span in spans)
    return f"{sentences.rpartition(' ')[0]} …" if is_cut else sentences


def scope_coverage(kb: KnowledgeBase, filters: Filters) -> tuple[AggregateResult, ...]:
    """Count the documents within ``filters`` by each taxonomy dimension and by pairs of them.

    Without a taxonomy, count them by collection, kind and year.
    """
    taxonomy = vocabulary_of(kb, filters.collections).dimensions
    dimensions = sorted(taxonomy)[:MAX_DIMENSIONS]
    groupings: list[tuple[str, ...]] = [(dimension,) for dimension in dimensions]
    groupings += list(combinations(dimensions, 2))[:MAX_PAIRS]
    queries = [
        CatalogueQuery(form="coverage", by=by, where=(filters,), limit=MAX_ROWS)
        for by in groupings or [()]  # () means by collection, kind and year
    ]
    return tuple(result for query in queries if (result := execute(kb, query)))


# --- results of catalogue queries ------------------------------------------------------------

FACES.show(Row, "cells documents=document_ids")
FACES.show(
    AggregateResult,
    "kind sentence number columns rows absent method notes",
    notes=(tuple[str, ...], lambda result: [*result.notes, *result.failures]),
)
