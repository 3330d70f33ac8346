"""From sessions and stored answers to the JSON bodies of ``api/stored_schemas.py``."""

from __future__ import annotations

from wellread.answers import Answer, Citation
from wellread.library.recheck import Rechecked
from wellread.locators import format_time
from wellread.serve.api import stored_schemas as schemas
from wellread.serve.present import answer_body
from wellread.store.catalogue.asking.session_records import SessionFacts
from wellread.store.schema.catalogue_values import StoredAnswer

# Who asks as long as there are no users: everybody who reaches this machine's home.
OWNER = ""


def session_body(facts: SessionFacts) -> schemas.SessionBody:
    """A conversation."""
    return schemas.SessionBody(
        id=facts.id,
        title=facts.title,
        turns=facts.turns,
        created_at=facts.created_at,
        seen_at=facts.seen_at,
    )


def session_detail_body(facts: SessionFacts, answers: list[Answer]) -> schemas.SessionDetailBody:
    """A conversation with its answers."""
    return schemas.SessionDetailBody(
        **dict(session_body(facts)), answers=tuple(answer_body(answer) for answer in answers)
    )


def stored_body(stored: StoredAnswer) -> schemas.StoredAnswerBody:
    """Facts about an answer."""
    return schemas.StoredAnswerBody(
        id=stored.id,
        question=stored.question,
        session_id=stored.session_id,
        answered_by=stored.answered_by,
        confidence=stored.confidence,
        created_at=stored.created_at,
        stale=stored.stale,
    )


def whole_body(stored: StoredAnswer, answer: Answer) -> schemas.WholeAnswerBody:
    """An answer as it is kept."""
    return schemas.WholeAnswerBody(
        **dict(answer_body(answer)), created_at=stored.created_at, stale=stored.stale
    )


def recheck_body(found: Rechecked) -> schemas.RecheckBody:
    """What checking an answer again has shown."""
    return schemas.RecheckBody(
        id=found.answer.id,
        stale=found.stale,
        citations=tuple(
            schemas.CitationCheckBody(
                id=one.id, title=one.title, standing=one.standing, reason=one.reason
            )
            for one in found.citations
        ),
        sentences=tuple(
            schemas.SentenceCheckBody(
                text=one.text,
                before=one.before,
                verdict=one.now.name,
                method=one.now.method,
                reason=one.now.reason,
            )
            for one in found.sentences
        ),
        notes=found.notes,
    )


def query_body(answer: Answer) -> schemas.QueryResponse:
    """The answer in the form of ``POST /api/query``."""
    warnings = [*answer.notes]
    if answer.fallback:
        warnings.insert(0, f"answered by {answer.answered_by}: {answer.fallback}")
    if answer.confidence.band == "low":
        warnings.insert(0, "based on limited information")
    return schemas.QueryResponse(
        answer=answer.text,
        session_id=answer.session_id,
        sources=tuple(_source(citation) for citation in answer.citations),
        citations=tuple(
            schemas.QueryCitation(video=citation.title, timestamp=_time(citation))
            for citation in answer.citations
        ),
        mode=answer.mode,
        warning="; ".join(warnings) or None,
    )


def _source(citation: Citation) -> schemas.QuerySource:
    return schemas.QuerySource(
        video_id=citation.document_id,
        video_title=citation.title,
        timestamp=citation.locator.begin,
        timestamp_formatted=_time(citation),
        excerpt=citation.quote,
        speaker=citation.locator.speaker,
    )


def _time(citation: Citation) -> str:
    begin = citation.locator.begin
    return format_time(begin) if begin is not None else ""
