"""Builds the reply: the cited text, the same with a warning in front, or a refusal.

A reply is an ``Answer`` that has no id, question and owner yet. This module also describes what the
material lacks for the question, and files open questions as gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from wellread.ask.deliver.cite import CitedText
from wellread.ask.retrieve.ranking import Found
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

HELD = 0.5  # share of a part's own words from which a passage counts as about it
MOST_TERMS = 3  # terms that name the subject of a question without a name

NO_ANSWER = "I don't have enough information in these sources to answer this."
NEAR_ONES = "\n\nThe nearest passages, which may not answer it:\n\n"
NEAREST = 2  # extracts quoted in a refusal
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
    read = (
        AppliedLimit(
            kind=constraint.kind,
            value=constraint.value,
            origin="question",
            relaxed=constraint in relaxed,
        )
        for constraint in analysis.constraints
    )
    return (*_filter_limits(analysis.filters), *read)


def _filter_limits(filters: Filters) -> Iterator[AppliedLimit]:
    values_by_kind = {
        "collection": filters.collections,
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
    which = "1 sentence was" if count == 1 else f"{count} sentences were"
    what = "it" if count == 1 else "them"
    return (f"{which} left out: an expert flagged {what} as harmful",)


def remove_flagged(kb: KnowledgeBase, reply: Answer) -> Answer:
    """Remove statements flagged as harmful from everything in the reply except its text."""
    table, cited = reply.table, {citation.id: citation.document_id for citation in reply.citations}
    documents = table.documents if table else ()
    cited_ids = {*cited.values(), *chain(*documents)}
    (flagged,) = flagged_of_documents(kb, [cited_ids])
    if table is not None:
        beside = (*documents, *[()] * (len(table.rows) - len(documents)))
        of_rows = zip(table.rows, beside, flagged_of_documents(kb, beside), strict=True)
        fine = [(row, ids) for row, ids, one in of_rows if not any(map(one.holds, row))]
        table = replace(
            table,
            rows=tuple(row for row, _ in fine),
            documents=tuple(ids for _, ids in fine) if documents else (),
        )
    conflicts = []
    for conflict in reply.conflicts:
        sides = [
            [cited[number] for number in view.citations if number in cited] or cited_ids
            for view in conflict.views
        ]
        of_views = zip(conflict.views, flagged_of_documents(kb, sides), strict=True)
        views = tuple(view for view, one in of_views if not one.holds(view.text))
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
    opening, wish = "", ""
    if cited.kb.settings.features.admit_uncertainty:
        opening, wish = LIMITED_PREFIX, f"\n\n{MORE.format(about=subject_phrase(analysis))}"
        if reply.text.startswith(("- ", "**")) or by == EXTRACTIVE:
            opening = f"{opening.rstrip()}\n\n"
    return replace(
        reply,
        text=f"{opening}{reply.text}{wish}",
        sentences=tuple(
            replace(sentence, span=sentence.span.moved(len(opening)))
            for sentence in reply.sentences
        ),
        citations=tuple(
            replace(citation, answer_span=citation.answer_span.moved(len(opening)))
            for citation in reply.citations
        ),
        data_gaps=_distinct(missing_subjects(analysis, evidence), gaps),
    )


def deliver_extracts(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    extracts: Extracts,
    dispute: Sequence[Statement] = (),
) -> Answer:
    """Build the reply of extracts, or a refusal when the confidence is below the threshold."""
    fit, lost = remove_flagged_sentences(kb, extracts.shown)
    notes = flagged_note(lost)
    caps = [LIMIT_LEFT_OUT] if analysis.relaxed else []
    sure = confidence_of_extracts(kb, extracts, [*caps, DISPUTED] if dispute else caps)
    if sure.band == "none" or not fit:
        near = fit if extracts.near else ()
        return replace(refuse_to_answer(kb, analysis, evidence, near, sure), notes=notes)
    page = CitedText(kb, text=dispute_heading(dispute))
    page.show_all(fit)
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
    lost = 0
    for extract, harmful in zip(extracts, flagged, strict=True):
        places = harmful.places([extract.of(span) for span in extract.sentences])
        lost += len(places)
        cleaned = extract.without([extract.sentences[at] for at in sorted(places)])
        remaining += [cleaned] if cleaned.marked else []
    return remaining, lost


def refuse_to_answer(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    extracts: Sequence[Extract],
    sure: Confidence,
) -> Answer:
    """Build a refusal that names the nearest material."""
    near = [piece for piece in evidence if (piece.hit.similarity or 0.0) >= RELATED_SIMILARITY]
    documents = {piece.hit.document.id: piece.hit.document for piece in near}
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
    quoted = extracts[:NEAREST] if related else ()
    page = CitedText(kb, text=f"{text}{NEAR_ONES}" if quoted else text)
    page.show_all(quoted, "> ")
    gaps = (*missing_subjects(analysis, evidence), *unanswered_parts(analysis, evidence))
    return replace(
        page.answer(sure=replace(sure, band="none")),
        data_gaps=gaps or (f"no source answers “{analysis.question.strip()}”",),
        related=related,
    )


def missing_subjects(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Notes on the question's subjects that no piece of evidence mentions."""
    evidence_stems = {
        stem
        for piece in evidence
        for stem in parse(f"{piece.hit.document.title} {piece.text}").stems
    }
    absent = (
        subject
        for subject in _subjects(analysis)
        if not evidence_stems.issuperset(parse(subject).stems)
    )
    return tuple(f"nothing found about “{one}”" for one in absent)


def unanswered_parts(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Notes on the parts of a multi-part question whose words no piece of evidence contains."""
    parts = parts_of(analysis.question)
    if len(parts) < 2:
        return ()
    part_stems = [parse(part).stem_set for part in parts]
    pieces = [parse(f"{piece.hit.document.title} {piece.text}").stem_set for piece in evidence]
    notes = []
    for place, (part, stems) in enumerate(zip(parts, part_stems, strict=True)):
        own_stems = stems.difference(*(other for at, other in enumerate(part_stems) if at != place))
        best = max((len(own_stems & piece) for piece in pieces), default=0)
        if own_stems and best < HELD * len(own_stems):
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
    read = parse(analysis.subject or analysis.question)
    topic = frozenset(read.topic_stems)
    rare = [
        token
        for token in read.tokens
        if not is_everyday(token.plain) and not topic.isdisjoint(parse(token.written).stems)
    ]
    spans = [phrase.bare for phrase in read.phrases]
    in_phrases = [one for one in rare if any(span.start <= one.start < span.end for span in spans)]
    runs: list[list[Token]] = []
    for token in in_phrases or rare:
        if runs and token.start == runs[-1][-1].end + 1:
            runs[-1].append(token)
        else:
            runs.append([token])
    return list(dict.fromkeys(" ".join(one.written for one in run) for run in runs))[:MOST_TERMS]


# --- gaps: questions without an answer, or with an uncertain one ---------------------------------
# Only recorded answers leave a gap; what must not be stored leaves no question behind either.


def file_gap(kb: KnowledgeBase, done: Answer, question: Question) -> None:
    """File the question of ``done`` as a gap if the material did not answer it."""
    kind = gap_kind(done)
    if kind is None:
        return
    kb.catalogue.record_gap(
        done.standalone or done.question,
        "; ".join(done.data_gaps) or done.confidence.reasoning,
        kind=kind,
        scope=question.filters.collections,
        limits=limits_of_gap(question.filters),
        answer_id=done.id,
        owner=done.owner,
    )


def gap_kind(done: Answer) -> GapKind | None:
    """How an answer leaves its question open; None when it does not.

    ``unanswered_parts``: no related material was found, or a catalogue query had no result.
    ``as_declined``: the material found does not answer. ``hedged``: the answer is uncertain or
    incomplete. A greeting leaves no gap.
    """
    if done.answered_by == NOBODY:
        if not done.data_gaps:
            return None
        return "declined" if done.citations or done.related else "unanswered"
    if done.answered_by == CATALOGUE:
        return "unanswered" if done.data_gaps else None
    return "hedged" if done.confidence.band in ("low", "none") else None


def limits_of_gap(filters: Filters) -> dict[str, object]:
    """The non-empty filters except the collections, as plain values."""
    plain = to_plain(replace(filters, collections=()))
    return {name: value for name, value in plain.items() if value}


# --- merging the replies to the parts of a question ----------------------------------------------

INCOMPLETE = 0.45  # highest confidence of an answer that lacks a part


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
        between = "\n\n" if page.text else ""
        page.text += f"{between}**{part.analysis.asked}**\n\n"
        page.append(part.reply)
    replies, found = [part.reply for part in parts], [part.found for part in parts]
    unanswered = [part for part in parts if part.reply.answered_by == NOBODY]
    answered = [reply for reply in replies if reply.answered_by != NOBODY] or replies
    lacking = [f"no source answers the part “{part.analysis.asked}”" for part in unanswered]
    sure = min((reply.confidence for reply in answered), key=lambda sure: sure.score)
    if unanswered and sure.band != "none":
        why = f"{sure.reasoning}; but a part of the question is not answered"
        sure = replace(sure, score=min(sure.score, INCOMPLETE), band="low", reasoning=why)
    merged = replace(
        answered[0],
        text=page.text,
        sentences=tuple(page.sentences),
        citations=tuple(page.citations),
        confidence=sure,
        fallback=next((reply.fallback for reply in replies if reply.fallback), ""),
        data_gaps=_distinct(lacking, *(reply.data_gaps for reply in replies)),
        conflicts=tuple(conflict for reply in replies for conflict in reply.conflicts),
        notes=_distinct(*(reply.notes for reply in replies)),
        table=next((reply.table for reply in replies if reply.table), None),
        hallucinated_citations=sum(reply.hallucinated_citations for reply in replies),
        repaired_citations=sum(reply.repaired_citations for reply in replies),
        dropped_sentences=sum(reply.dropped_sentences for reply in replies),
        usage=sum((reply.usage for reply in replies), Usage()),
    )
    whole = Found(
        hits=tuple(hit for one in found for hit in one.hits),
        relaxed=tuple(limit for one in found for limit in one.relaxed),
        failures=_distinct(*(one.failures for one in found)),
        notes=_distinct(*(one.notes for one in found)),
        clusters=sum(one.clusters for one in found),
    )
    respelt = _distinct(*(part.analysis.respelt for part in parts))
    return Part(analysis=replace(parts[0].analysis, respelt=respelt), found=whole, reply=merged)


def _distinct(*groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))
