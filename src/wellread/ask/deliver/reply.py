"""Builds the reply: the cited text, the same with a warning in front, or a refusal.

Also describes what the material lacks for the question, and files open questions as gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from wellread.ask.deliver.cite import CitedText, cite_extracts, styled_marker
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.rated_questions import flagged_of_documents
from wellread.ask.understand.question_parts import parts_of
from wellread.ask.understand.vocabulary import is_everyday
from wellread.ask.verify.confidence import (
    DISPUTED,
    LIMIT_LEFT_OUT,
    as_declined,
    confidence_of_extracts,
)
from wellread.ask.verify.conflicts import Disagreement, conflict_of, dispute_heading
from wellread.ask.write.drafting import RawDraft
from wellread.ask.write.extracts import Extract, Extracts
from wellread.codec import to_plain
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import GapKind
from wellread.text.parsed import parse
from wellread.text.tokens import Token
from wellread.types import AppliedLimit, Filters, Span
from wellread.values.answers import (
    CATALOGUE,
    EXTRACTIVE,
    LIMITED_PREFIX,
    NOBODY,
    Answer,
    Citation,
    Confidence,
    Conflict,
    Evidence,
    Question,
    Related,
    Sentence,
    Table,
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
NOT_SURE = Confidence(score=0.0, band="none", reasoning="nothing was assessed")
_LEFT_OUT: dict[ConstraintKind, str] = {
    "time": "nothing was found from {value}, so all dates were searched",
    "speaker": "nothing was found that {value} said, so all speakers were searched",
    "author": "nothing was found by {value}, so all authors were searched",
}
_LEFT_OUT_OTHERWISE = "nothing was found within {value}, so this limit was left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The delivered text with its citations, confidence, notes and suggestions."""

    text: str
    sure: Confidence = NOT_SURE
    by: str = NOBODY
    written: RawDraft | None = None
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    suggestions: tuple[str, ...] = ()  # questions to ask next
    notes: tuple[str, ...] = ()  # on how the reply was made
    failures: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    table: Table | None = None
    repaired_citations: int = 0
    dropped_sentences: int = 0


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


def remove_flagged(kb: KnowledgeBase, reply: Reply) -> Reply:
    """Remove statements flagged as harmful from everything in the reply except its text."""
    table, cited = reply.table, {citation.id: citation.document_id for citation in reply.citations}
    documents = table.documents if table else ()
    rows = table.rows if table else ()
    cited_ids = {*cited.values(), *chain(*documents)}
    beside = (documents[place] if place < len(documents) else () for place in range(len(rows)))
    flagged, *of_rows = flagged_of_documents(kb, [cited_ids, *beside])
    if table is not None:
        fine = [at for at, row in enumerate(rows) if not any(map(of_rows[at].holds, row))]
        table = replace(
            table,
            rows=tuple(table.rows[place] for place in fine),
            documents=tuple(documents[place] for place in fine if place < len(documents)),
        )
    views = [view for conflict in reply.conflicts for view in conflict.views]
    sides = [[cited[number] for number in view.citations if number in cited] for view in views]
    of_views = flagged_of_documents(kb, [side or cited_ids for side in sides])
    is_harmful = {id(view): one.holds(view.text) for view, one in zip(views, of_views, strict=True)}
    conflicts = [
        replace(conflict, views=tuple(view for view in conflict.views if not is_harmful[id(view)]))
        for conflict in reply.conflicts
        if not flagged.holds(conflict.about)
    ]
    citations = [
        replace(citation, why="") if flagged.holds(citation.why) else citation
        for citation in reply.citations
    ]
    return replace(
        reply,
        table=table,
        citations=tuple(citations),
        conflicts=tuple(conflicts),
        data_gaps=flagged.free(reply.data_gaps),
        suggestions=flagged.free(reply.suggestions),
    )


def deliver(
    cited: CitedText,
    written: RawDraft,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    sure: Confidence,
) -> Reply:
    """Build the reply of a written answer; with low confidence it opens with a warning."""
    text, sentences, citations = cited.text, tuple(cited.sentences), tuple(cited.citations)
    gaps, wish = written.data_gaps, ""
    if sure.band == "low":
        admits = cited.kb.settings.features.admit_uncertainty
        opening = LIMITED_PREFIX if admits else ""
        wish = f"\n\n{MORE.format(about=subject_phrase(analysis))}" if admits else ""
        if text.startswith(("- ", "**")):
            opening = f"{opening.rstrip()}\n\n" if opening else ""
        sentences = tuple(
            replace(sentence, span=sentence.span.moved(len(opening))) for sentence in sentences
        )
        citations = tuple(
            replace(citation, answer_span=citation.answer_span.moved(len(opening)))
            for citation in citations
        )
        text, gaps = opening + text, (*gaps, *missing_subjects(analysis, evidence))
    gaps = tuple(dict.fromkeys((*gaps, *unanswered_parts(analysis, evidence))))
    return Reply(
        text=text + wish,
        by=written.by,
        written=written,
        sentences=sentences,
        citations=citations,
        data_gaps=gaps,
        sure=sure,
    )


def deliver_extracts(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    extracts: Extracts,
    dispute: Disagreement | None = None,
) -> Reply:
    """Build the reply of extracts, or a refusal when the confidence is below the threshold."""
    fit, lost = remove_flagged_sentences(kb, extracts.shown)
    caps = [LIMIT_LEFT_OUT] if analysis.relaxed else []
    sure = confidence_of_extracts(kb, extracts, [*caps, DISPUTED] if dispute else caps)
    if sure.band == "none" or not fit:
        reply = refuse_to_answer(kb, analysis, evidence, fit if extracts.near else ())
        return replace(reply, sure=as_declined(sure), notes=flagged_note(lost))
    low = sure.band == "low" and kb.settings.features.admit_uncertainty
    lead = f"{LIMITED_PREFIX.rstrip()}\n\n" if low else ""
    cited = cite_extracts(kb, fit, lead + (dispute_heading(dispute, evidence) if dispute else ""))
    gaps = missing_subjects(analysis, evidence) if sure.band == "low" else ()
    wish = f"\n\n{MORE.format(about=subject_phrase(analysis))}" if low else ""
    return Reply(
        text=cited.text + wish,
        by=EXTRACTIVE,
        sentences=tuple(cited.sentences),
        citations=tuple(cited.citations),
        data_gaps=tuple(dict.fromkeys((*gaps, *unanswered_parts(analysis, evidence)))),
        conflicts=conflict_of(dispute, evidence, cited.sentences) if dispute else (),
        sure=sure,
        notes=flagged_note(lost),
    )


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
    extracts: Sequence[Extract] = (),
) -> Reply:
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
    cited = cite_extracts(kb, quoted, f"{text}{NEAR_ONES}" if quoted else text, "> ")
    gaps = (*missing_subjects(analysis, evidence), *unanswered_parts(analysis, evidence))
    return Reply(
        text=cited.text,
        sentences=tuple(cited.sentences),
        citations=tuple(cited.citations),
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
    reply: Reply


def merge_replies(kb: KnowledgeBase, parts: Sequence[Part]) -> Part:
    """Merge the replies to the parts of a question; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    page = CitedText(kb)
    for part in parts:
        between = "\n\n" if page.text else ""
        page.text += f"{between}**{part.analysis.asked}**\n\n"
        _append(page, part.reply)
    replies = [part.reply for part in parts]
    unanswered = [part for part in parts if part.reply.by == NOBODY]
    answered = [reply for reply in replies if reply.by != NOBODY] or replies
    lacking = [f"no source answers the part “{part.analysis.asked}”" for part in unanswered]
    merged = replace(
        answered[0],
        text=page.text,
        sentences=tuple(page.sentences),
        citations=tuple(page.citations),
        sure=_merged_confidence([reply.sure for reply in answered], complete=not unanswered),
        written=_merged_draft([reply.written for reply in replies if reply.written]),
        data_gaps=_distinct(lacking, *(reply.data_gaps for reply in replies)),
        conflicts=tuple(conflict for reply in replies for conflict in reply.conflicts),
        notes=_distinct(*(reply.notes for reply in replies)),
        table=next((reply.table for reply in replies if reply.table), None),
        repaired_citations=sum(reply.repaired_citations for reply in replies),
        dropped_sentences=sum(reply.dropped_sentences for reply in replies),
    )
    found = Found(
        hits=tuple(hit for part in parts for hit in part.found.hits),
        relaxed=tuple(limit for part in parts for limit in part.found.relaxed),
        failures=_distinct(*(part.found.failures for part in parts)),
        notes=_distinct(*(part.found.notes for part in parts)),
        clusters=sum(part.found.clusters for part in parts),
    )
    respelt = _distinct(*(part.analysis.respelt for part in parts))
    return Part(analysis=replace(parts[0].analysis, respelt=respelt), found=found, reply=merged)


def _append(page: CitedText, reply: Reply) -> None:
    """Add the text of a reply, with its markers renumbered for this page."""
    style = page.kb.settings.citations.style
    citations = {citation.id: citation for citation in reply.citations}
    done = 0
    for sentence in reply.sentences:
        page.text += reply.text[done : sentence.span.start]
        span = Span(start=len(page.text), end=len(page.text) + len(sentence.text))
        page.text += sentence.text
        done = sentence.span.end
        numbers = []
        for number in sentence.citations:
            marker = f" {styled_marker(page.kb, citations[number], style)}"
            cited = page.numbered(replace(citations[number], answer_span=span))
            if not sentence.within:
                done += len(marker) if reply.text.startswith(marker, done) else 0
                page.text += f" {styled_marker(page.kb, cited, style)}"
            numbers.append(cited.id)
        page.sentences.append(replace(sentence, span=span, citations=tuple(numbers)))
    page.text += reply.text[done:]


def _merged_confidence(confidences: Sequence[Confidence], *, complete: bool) -> Confidence:
    """The confidence of the least certain part, capped when a part is unanswered."""
    least = min(confidences, key=lambda sure: sure.score)
    if complete or least.band == "none":
        return least
    why = f"{least.reasoning}; but a part of the question is not answered"
    return replace(least, score=min(least.score, INCOMPLETE), band="low", reasoning=why)


def _merged_draft(drafts: Sequence[RawDraft]) -> RawDraft | None:
    if not drafts:
        return None
    usage = sum((draft.usage for draft in drafts), Usage())
    return replace(drafts[0], usage=usage)


def _distinct(*groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))
