"""Builds the reply to a question: the cited text, the same after a warning, or a refusal.

A reply is an ``Answer`` that has no id, question and owner yet. This module also lists the subjects
that the material lacks, and records unanswered questions as gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from wellread.ask.deliver.cite import CitedText
from wellread.ask.retrieve.ranking import Found, distinct
from wellread.ask.retrieve.rated_questions import flagged_of_documents
from wellread.ask.understand.question_parts import parts_of
from wellread.ask.understand.vocabulary import is_everyday
from wellread.ask.verify.confidence import DISPUTED, LIMIT_LEFT_OUT, confidence_of_extracts
from wellread.ask.verify.conflicts import Statement, conflict_of, dispute_heading
from wellread.ask.write.extracts import Extract, Extracts
from wellread.codec import to_plain
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import GapKind
from wellread.text.parsed import parse
from wellread.text.tokens import Token
from wellread.types import AppliedLimit, Filters
from wellread.values.answers import (
    CATALOGUE,
    EXTRACTIVE,
    LIMITED_PREFIX,
    NOBODY,
    Answer,
    Confidence,
    Evidence,
    Question,
    Related,
    Usage,
)
from wellread.values.question import Analysis, Constraint, ConstraintKind

MIN_PART_SHARE = 0.5  # of the words of a part in a passage that answers it
MAX_TERMS = 3  # terms that describe the subject of a question without a name

NO_ANSWER = "I don't have enough information in these sources to answer this."
NEAREST_INTRO = "\n\nThe nearest passages, which may not answer it:\n\n"
MAX_NEAREST = 2  # extracts quoted in a refusal
GAP = "This might be a gap worth filling"
MORE = "Consider adding more content about {about}."
RELATED = 5
RELATED_SIMILARITY = 0.2
_LEFT_OUT: dict[ConstraintKind, str] = {
    "time": "nothing was found from {value}, so all dates were searched",
    "speaker": "nothing was found that {value} said, so all speakers were searched",
    "author": "nothing was found by {value}, so all authors were searched",
}
_LEFT_OUT_OTHERWISE = "nothing was found within {value}, so this limit was left out"


def notes_of(analysis: Analysis, found: Found) -> tuple[str, ...]:
    """Notes on how the question was read and searched: corrections, relaxed limits, failures."""
    left_out = (
        _LEFT_OUT.get(limit.kind, _LEFT_OUT_OTHERWISE).format(value=limit.value)
        for limit in found.relaxed
    )
    return tuple(dict.fromkeys((*analysis.respelt, *left_out, *found.failures, *found.notes)))


def limits_of(analysis: Analysis, relaxed: Collection[Constraint]) -> tuple[AppliedLimit, ...]:
    """All limits of the question; those that matched nothing are marked as relaxed."""
    from_question = (
        AppliedLimit(
            kind=constraint.kind,
            value=constraint.value,
            origin="question",
            relaxed=constraint in relaxed,
        )
        for constraint in analysis.constraints
    )
    return (*_filter_limits(analysis.filters), *from_question)


def _filter_limits(filters: Filters) -> Iterator[AppliedLimit]:
    values_by_kind = {
        "collection": filters.collections,
        "document": filters.document_ids,
        "kind": filters.kinds,
        "source_type": filters.source_types,
        "language": filters.languages,
        "author": filters.authors,
        "speaker": filters.speakers,
        "taxonomy": tuple(f"{name}: {value}" for name, value in filters.taxonomy),
    }
    for kind, values in values_by_kind.items():
        for value in values:
            yield AppliedLimit(kind=kind, value=value, origin="asker")
    if filters.published_from or filters.published_to:
        window = f"{_day(filters.published_from)} to {_day(filters.published_to)}"
        yield AppliedLimit(kind="time", value=window.strip(), origin="asker")


def _day(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else "…"


def flagged_note(count: int) -> tuple[str, ...]:
    """The note on ``count`` sentences left out as harmful; empty when ``count`` is 0."""
    if not count:
        return ()
    subject = "1 sentence was" if count == 1 else f"{count} sentences were"
    pronoun = "it" if count == 1 else "them"
    return (f"{subject} left out: an expert flagged {pronoun} as harmful",)


def remove_flagged(kb: KnowledgeBase, reply: Answer) -> Answer:
    """Remove statements flagged as harmful from everything in the reply except its text."""
    table, cited = reply.table, {citation.id: citation.document_id for citation in reply.citations}
    documents = table.documents if table else ()
    cited_ids = {*cited.values(), *chain(*documents)}
    (flagged,) = flagged_of_documents(kb, [cited_ids])
    if table is not None:
        # Without documents every row counts as citing none.
        row_ids = (*documents, *[()] * (len(table.rows) - len(documents)))
        by_row = zip(table.rows, row_ids, flagged_of_documents(kb, row_ids), strict=True)
        allowed = [(row, ids) for row, ids, harmful in by_row if not any(map(harmful.holds, row))]
        table = replace(
            table,
            rows=tuple(row for row, _ in allowed),
            documents=tuple(ids for _, ids in allowed) if documents else (),
        )
    conflicts = []
    for conflict in reply.conflicts:
        view_ids = [
            [cited[number] for number in view.citations if number in cited] or cited_ids
            for view in conflict.views
        ]
        by_view = zip(conflict.views, flagged_of_documents(kb, view_ids), strict=True)
        views = tuple(view for view, harmful in by_view if not harmful.holds(view.text))
        if not flagged.holds(conflict.about):
            conflicts.append(replace(conflict, views=views))
    return replace(
        reply,
        table=table,
        citations=tuple(
            replace(citation, why="") if flagged.holds(citation.why) else citation
            for citation in reply.citations
        ),
        conflicts=tuple(conflicts),
        data_gaps=flagged.free(reply.data_gaps),
        suggestions=flagged.free(reply.suggestions),
    )


def deliver(
    cited: CitedText,
    by: str,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    sure: Confidence,
) -> Answer:
    """Build the reply of a cited text; with low confidence it opens with a warning."""
    reply = cited.answer(by, sure)
    gaps = unanswered_parts(analysis, evidence)
    if sure.band != "low":
        return replace(reply, data_gaps=gaps)
    opening, advice = "", ""
    if cited.kb.settings.features.admit_uncertainty:
        opening, advice = LIMITED_PREFIX, f"\n\n{MORE.format(about=subject_phrase(analysis))}"
        if reply.text.startswith(("- ", "**")) or by == EXTRACTIVE:
            opening = f"{opening.rstrip()}\n\n"
    return replace(
        reply,
        text=f"{opening}{reply.text}{advice}",
        sentences=tuple(
            replace(sentence, span=sentence.span.moved(len(opening)))
            for sentence in reply.sentences
        ),
        citations=tuple(
            replace(citation, answer_span=citation.answer_span.moved(len(opening)))
            for citation in reply.citations
        ),
        data_gaps=distinct(missing_subjects(analysis, evidence), gaps),
    )


def deliver_extracts(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    extracts: Extracts,
    dispute: Sequence[Statement] = (),
) -> Answer:
    """Build the reply of extracts, or a refusal when the confidence is below the threshold."""
    unflagged, removed = remove_flagged_sentences(kb, extracts.shown)
    notes = flagged_note(removed)
    caps = [LIMIT_LEFT_OUT] if analysis.relaxed else []
    sure = confidence_of_extracts(kb, extracts, [*caps, DISPUTED] if dispute else caps)
    if sure.band == "none" or not unflagged:
        nearest = unflagged if extracts.near else ()
        return replace(refuse_to_answer(kb, analysis, evidence, nearest, sure), notes=notes)
    page = CitedText(kb, text=dispute_heading(dispute))
    page.show_all(unflagged)
    conflicts = conflict_of(dispute, analysis.question, page.sentences)
    reply = deliver(page, EXTRACTIVE, analysis, evidence, sure)
    return replace(reply, conflicts=conflicts, notes=notes)


def remove_flagged_sentences(
    kb: KnowledgeBase, extracts: Sequence[Extract]
) -> tuple[list[Extract], int]:
    """Remove sentences that an expert flagged as harmful; also return how many there were.

    An extract without any marked sentence left is dropped.
    """
    flagged = flagged_of_documents(kb, [{extract.piece.hit.document.id} for extract in extracts])
    remaining: list[Extract] = []
    removed = 0
    for extract, harmful in zip(extracts, flagged, strict=True):
        indexes = harmful.places([extract.of(span) for span in extract.sentences])
        removed += len(indexes)
        cleaned = extract.without([extract.sentences[index] for index in sorted(indexes)])
        remaining += [cleaned] if cleaned.marked else []
    return remaining, removed


def refuse_to_answer(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    extracts: Sequence[Extract],
    sure: Confidence,
) -> Answer:
    """Build a refusal that names the nearest material."""
    similar = [piece for piece in evidence if (piece.hit.similarity or 0.0) >= RELATED_SIMILARITY]
    documents = {piece.hit.document.id: piece.hit.document for piece in similar}
    related = tuple(
        Related(
            kind="document",
            title=document.title,
            id=document.id,
            collection=document.collection,
            url=document.url,
            reason="near the question",
        )
        for document in list(documents.values())[:RELATED]
    )
    titles = "; ".join(dict.fromkeys(item.title for item in related))
    text = NO_ANSWER
    text += f" The nearest material is: {titles}." if related else " Nothing in them is about it."
    text += f" {GAP}: there should be more about {subject_phrase(analysis)}."
    quoted = extracts[:MAX_NEAREST] if related else ()
    page = CitedText(kb, text=f"{text}{NEAREST_INTRO}" if quoted else text)
    page.show_all(quoted, "> ")
    gaps = (*missing_subjects(analysis, evidence), *unanswered_parts(analysis, evidence))
    unread = kb.catalogue.integrity.unread_pages(analysis.filters.collections)
    return replace(
        page.answer(sure=replace(sure, band="none")),
        data_gaps=(gaps or (f"no source answers “{analysis.question.strip()}”",)) + unread,
        related=related,
    )


def missing_subjects(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Notes on the question's subjects that no piece of evidence mentions."""
    texts = "\n".join(f"{piece.hit.document.title} {piece.text}" for piece in evidence)
    evidence_stems = parse(texts).stem_set
    return tuple(
        f"nothing found about “{subject}”"
        for subject in _subjects(analysis)
        if not parse(subject).stem_set <= evidence_stems
    )


def unanswered_parts(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Notes on the parts of a multi-part question whose words no piece of evidence contains."""
    parts = parts_of(analysis.question)
    if len(parts) < 2:
        return ()
    part_stems = [parse(part).stem_set for part in parts]
    pieces = [parse(f"{piece.hit.document.title} {piece.text}").stem_set for piece in evidence]
    notes = []
    for number, (part, stems) in enumerate(zip(parts, part_stems, strict=True)):
        others = (other for at, other in enumerate(part_stems) if at != number)
        own_stems = stems.difference(*others)
        best = max((len(own_stems & piece) for piece in pieces), default=0)
        if own_stems and best < MIN_PART_SHARE * len(own_stems):
            notes.append(f"no source answers the part “{part}”")
    return tuple(notes)


def subject_phrase(analysis: Analysis) -> str:
    """The subjects of the question, in quotation marks."""
    return (
        ", ".join(f"“{subject}”" for subject in _subjects(analysis))
        or "the subject of the question"
    )


def _subjects(analysis: Analysis) -> list[str]:
    """The names in the question, else the rare words of its noun phrases, else all rare words."""
    names = [name for name in analysis.names if not name[:1].isdigit()]
    if names:
        return list(dict.fromkeys(names))
    text = parse(analysis.subject or analysis.question)
    topic = frozenset(text.topic_stems)
    rare = [
        token
        for token in text.tokens
        if not is_everyday(token.plain) and not topic.isdisjoint(parse(token.written).stems)
    ]
    spans = [phrase.bare for phrase in text.phrases]
    in_phrases = [
        token for token in rare if any(span.start <= token.start < span.end for span in spans)
    ]
    runs: list[list[Token]] = []
    for token in in_phrases or rare:
        if runs and token.start == runs[-1][-1].end + 1:
            runs[-1].append(token)
        else:
            runs.append([token])
    return list(dict.fromkeys(" ".join(token.written for token in run) for run in runs))[:MAX_TERMS]


# --- gaps: questions without an answer, or with an uncertain one ---------------------------------
# Only recorded answers leave a gap: a question that must not be stored is not stored as a gap.


def file_gap(kb: KnowledgeBase, answer: Answer, question: Question) -> None:
    """Record the question of an answer as a gap if the material did not answer it."""
    kind = gap_kind(answer)
    if kind is None:
        return
    kb.catalogue.record_gap(
        answer.standalone or answer.question,
        "; ".join(answer.data_gaps) or answer.confidence.reasoning,
        kind=kind,
        scope=question.filters.collections,
        limits=limits_of_gap(question.filters),
        answer_id=answer.id,
        owner=answer.owner,
    )


def gap_kind(answer: Answer) -> GapKind | None:
    """The kind of gap that an answer leaves; None without one, as for a greeting.

    ``unanswered``: no related material was found, or a catalogue query had no result.
    ``declined``: the related material does not answer. ``hedged``: the answer is uncertain or
    incomplete.
    """
    if answer.answered_by == NOBODY:
        if not answer.data_gaps:
            return None
        return "declined" if answer.citations or answer.related else "unanswered"
    if answer.answered_by == CATALOGUE:
        return "unanswered" if answer.data_gaps else None
    return "hedged" if answer.confidence.band in ("low", "none") else None


def limits_of_gap(filters: Filters) -> dict[str, object]:
    """The non-empty filters except the collections, as plain values."""
    plain = to_plain(replace(filters, collections=()))
    return {name: value for name, value in plain.items() if value}


# --- merging the replies to the parts of a question ----------------------------------------------

MAX_INCOMPLETE = 0.45  # highest confidence of an answer that lacks a part


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of several questions asked in one text: its analysis, search result and reply."""

    analysis: Analysis
    found: Found
    reply: Answer


def merge_replies(kb: KnowledgeBase, parts: Sequence[Part]) -> Part:
    """Merge the replies to the parts of a question; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    page = CitedText(kb)
    for part in parts:
        separator = "\n\n" if page.text else ""
        page.text += f"{separator}**{part.analysis.asked}**\n\n"
        page.append(part.reply)
    replies, results = [part.reply for part in parts], [part.found for part in parts]
    unanswered = [part for part in parts if part.reply.answered_by == NOBODY]
    answered = [reply for reply in replies if reply.answered_by != NOBODY] or replies
    missing_parts = [f"no source answers the part “{part.analysis.asked}”" for part in unanswered]
    sure = min((reply.confidence for reply in answered), key=lambda sure: sure.score)
    if unanswered and sure.band != "none":
        why = f"{sure.reasoning}; but a part of the question is not answered"
        sure = replace(sure, score=min(sure.score, MAX_INCOMPLETE), band="low", reasoning=why)
    merged = replace(
        answered[0],
        text=page.text,
        sentences=tuple(page.sentences),
        citations=tuple(page.citations),
        confidence=sure,
        fallback=next((reply.fallback for reply in replies if reply.fallback), ""),
        data_gaps=distinct(missing_parts, *(reply.data_gaps for reply in replies)),
        conflicts=tuple(conflict for reply in replies for conflict in reply.conflicts),
        notes=distinct(*(reply.notes for reply in replies)),
        table=next((reply.table for reply in replies if reply.table), None),
        hallucinated_citations=sum(reply.hallucinated_citations for reply in replies),
        repaired_citations=sum(reply.repaired_citations for reply in replies),
        dropped_sentences=sum(reply.dropped_sentences for reply in replies),
        usage=sum((reply.usage for reply in replies), Usage()),
    )
    found = Found(
        hits=tuple(hit for result in results for hit in result.hits),
        relaxed=tuple(limit for result in results for limit in result.relaxed),
        failures=distinct(*(result.failures for result in results)),
        notes=distinct(*(result.notes for result in results)),
        clusters=sum(result.clusters for result in results),
    )
    respelt = distinct(*(part.analysis.respelt for part in parts))
    return Part(analysis=replace(parts[0].analysis, respelt=respelt), found=found, reply=merged)
