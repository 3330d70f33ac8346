"""From the values of an answer to the JSON bodies of ``api/schemas.py``; the one place for it."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from wellread.answers import (
    Answer,
    Citation,
    Conflict,
    Event,
    Evidence,
    Related,
    Sentence,
    SentenceEvent,
    Step,
    StepEvent,
    Table,
    TokenEvent,
)
from wellread.locators import link_to
from wellread.serve.api import schemas
from wellread.types import Hit, Locator, Span


def view_url(document_id: str, version: str, span: Span) -> str:
    """Where the built-in viewer shows ``span`` of that version of the document."""
    query = urlencode({"start": span.start, "end": span.end, "version": version})
    return f"/view/{quote(document_id, safe='')}?{query}#cited"


def table_body(table: Table) -> schemas.TableBody:
    """An exhaustive result."""
    return schemas.TableBody(
        columns=table.columns, rows=table.rows, documents=table.documents, method=table.method
    )


def answer_body(answer: Answer) -> schemas.AskResponse:
    """The whole answer."""
    usage = answer.usage
    return schemas.AskResponse(
        id=answer.id,
        question=answer.question,
        answer=answer.text,
        citations=tuple(citation_body(citation) for citation in answer.citations),
        confidence=schemas.ConfidenceBody(
            score=answer.confidence.score,
            band=answer.confidence.band,
            reasoning=answer.confidence.reasoning,
            model_claim=answer.confidence.model_claim,
        ),
        data_gaps=answer.data_gaps,
        conflicts=tuple(_conflict_body(conflict) for conflict in answer.conflicts),
        premises=answer.premises,
        related=tuple(_related_body(one) for one in answer.related),
        suggestions=answer.suggestions,
        notes=answer.notes,
        table=table_body(answer.table) if answer.table else None,
        session_id=answer.session_id,
        standalone=answer.standalone,
        type=answer.type,
        mode=answer.mode,
        cached=answer.cached,
        answered_by=answer.answered_by,
        fallback=answer.fallback,
        hallucinated_citations=answer.hallucinated_citations,
        repaired_citations=answer.repaired_citations,
        dropped_sentences=answer.dropped_sentences,
        sentences=tuple(sentence_body(sentence) for sentence in answer.sentences),
        usage=schemas.UsageBody(
            clusters_retrieved=usage.clusters,
            tokens_used=schemas.TokensBody(input=usage.input_tokens, output=usage.output_tokens),
            cost=usage.cost,
        ),
        steps=tuple(step_body(step) for step in answer.steps),
    )


def _conflict_body(conflict: Conflict) -> schemas.ConflictBody:
    return schemas.ConflictBody(
        about=conflict.about,
        views=tuple(
            schemas.ViewBody(text=view.text, citations=view.citations) for view in conflict.views
        ),
        reason=conflict.reason,
    )


def _related_body(related: Related) -> schemas.RelatedBody:
    return schemas.RelatedBody(
        kind=related.kind,
        title=related.title,
        id=related.id,
        collection=related.collection,
        url=related.url,
        reason=related.reason,
    )


def citation_body(citation: Citation) -> schemas.CitationBody:
    """A citation with both links."""
    return schemas.CitationBody(
        id=citation.id,
        document_id=citation.document_id,
        title=citation.title,
        url=citation.url,
        link=citation.link,
        view_url=view_url(citation.document_id, citation.version, citation.source_span),
        kind=citation.kind,
        source_type=citation.source_type,
        published_at=citation.published_at,
        relevance=citation.relevance,
        locator=citation.locator.label,
        place=_place_body(citation.locator),
        quote=citation.quote,
        answer_span=_span_body(citation.answer_span),
        source_span=_span_body(citation.source_span),
        verdict=citation.verdict,
    )


def evidence_body(evidence: Evidence) -> schemas.EvidenceBody:
    """A passage that an answer could rest on."""
    source = _source_body(evidence.hit, evidence.span, evidence.text, evidence.locator)
    return schemas.EvidenceBody(
        **source.model_dump(by_alias=False), key=evidence.key, score=evidence.hit.score
    )


def sentence_body(sentence: Sentence) -> schemas.SentenceBody:
    """A sentence of the answer with its verdict."""
    verdict = sentence.verdict
    return schemas.SentenceBody(
        text=sentence.text,
        start=sentence.span.start,
        end=sentence.span.end,
        verdict=verdict.name,
        method=verdict.method,
        score=verdict.score,
        reason=verdict.reason,
        citations=sentence.citations,
    )


def step_body(step: Step) -> schemas.StepBody:
    """A step of answering."""
    return schemas.StepBody(name=step.name, seconds=step.seconds, found=step.found)


def event_body(
    event: Event,
) -> tuple[str, schemas.StepBody | schemas.TokenBody | schemas.SentenceBody | schemas.AskResponse]:
    """The name and the data of a server-sent event."""
    match event:
        case StepEvent(step=step):
            return "step", step_body(step)
        case TokenEvent(text=text):
            return "token", schemas.TokenBody(text=text)
        case SentenceEvent(sentence=sentence):
            return "sentence", sentence_body(sentence)
    return "final", answer_body(event.answer)


def _source_body(hit: Hit, span: Span, text: str, locator: Locator) -> schemas.SourceBody:
    document = hit.document
    url = document.url or document.uri
    return schemas.SourceBody(
        document_id=document.id,
        title=document.title,
        url=url,
        link=link_to(url, locator, text, media_url=document.media_url),
        view_url=view_url(document.id, document.version, span),
        kind=document.kind,
        source_type=document.source_type,
        published_at=document.published_at,
        locator=locator.label,
        place=_place_body(locator),
        quote=text,
        source_span=_span_body(span),
    )


def _place_body(locator: Locator) -> schemas.PlaceBody:
    box = locator.box
    return schemas.PlaceBody(
        page=locator.page,
        box=(
            schemas.BoxBody(left=box.left, top=box.top, right=box.right, bottom=box.bottom)
            if box
            else None
        ),
        begin=locator.begin,
        speaker=locator.speaker,
        heading=locator.heading,
        line=locator.line,
    )


def _span_body(span: Span) -> schemas.SpanBody:
    return schemas.SpanBody(start=span.start, end=span.end)
