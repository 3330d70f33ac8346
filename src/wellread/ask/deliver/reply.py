"""What is delivered: the cited text, the same with a warning in front, or the no-data reply.

Beside it what the material lacks for the question, in words a person would use, and what to add.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from wellread.ask.deliver.cite import CitedText, cite_extracts, styled
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.rated_questions import flagged_of_documents
from wellread.ask.understand.question_parts import parts_of
from wellread.ask.understand.vocabulary import is_everyday
from wellread.ask.verify.confidence import DISPUTED, LIMIT_LEFT_OUT, declined, of_extracts
from wellread.ask.verify.conflicts import Disagreement, conflict_of, told
from wellread.ask.write.drafting import Written
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
    LIMITED,
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

HELD = 0.5  # of a part's own words, from which a passage counts as about it
MOST_TERMS = 3  # by which a question without a name is called

NO_ANSWER = "I don't have enough information in these sources to answer this."
NEAR_ONES = "\n\nThe nearest passages, which may not answer it:\n\n"
NEAREST = 2  # extracts that a refusal quotes
GAP = "This might be a gap worth filling"
MORE = "Consider adding more content about {about}."
RELATED = 5
RELATED_SIMILARITY = 0.2
NOT_SURE = Confidence(score=0.0, band="none", reasoning="nothing was judged")
_LEFT_OUT: dict[ConstraintKind, str] = {
    "time": "nothing was found from {value}, so all dates were searched",
    "speaker": "nothing was found that {value} said, so all speakers were searched",
    "author": "nothing was found by {value}, so all authors were searched",
}
_LEFT_OUT_OTHERWISE = "nothing was found within {value}, so this limit was left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The text that goes out, with its proof and what is said beside it."""

    text: str
    sure: Confidence = NOT_SURE
    by: str = NOBODY
    written: Written | None = None
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    suggestions: tuple[str, ...] = ()  # questions to ask next
    notes: tuple[str, ...] = ()  # what became of it on the way out
    failures: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    table: Table | None = None
    repaired_citations: int = 0
    dropped_sentences: int = 0


def notes_of(analysis: Analysis, found: Found) -> tuple[str, ...]:
    """What a reader has to know of how the question was read and what was found, in words."""
    left_out = (
        _LEFT_OUT.get(one.kind, _LEFT_OUT_OTHERWISE).format(value=one.value)
        for one in found.relaxed
    )
    return tuple(dict.fromkeys((*analysis.respelt, *left_out, *found.failures, *found.notes)))


def limits_of(analysis: Analysis, relaxed: Collection[Constraint]) -> tuple[AppliedLimit, ...]:
    """Every limit in words; one that matched nothing and was left out is marked so."""
    read = (
        AppliedLimit(kind=one.kind, value=one.value, origin="question", relaxed=one in relaxed)
        for one in analysis.constraints
    )
    return (*_given(analysis.filters), *read)


def _given(filters: Filters) -> Iterator[AppliedLimit]:
    """What the asker set beside the question."""
    named = {
        "collection": filters.collections,
        "kind": filters.kinds,
        "source_type": filters.source_types,
        "language": filters.languages,
        "author": filters.authors,
        "speaker": filters.speakers,
        "taxonomy": tuple(f"{name}: {value}" for name, value in filters.taxonomy),
    }
    for kind, values in named.items():
        for value in values:
            yield AppliedLimit(kind=kind, value=value, origin="asker")
    if filters.published_from or filters.published_to:
        window = f"{_day(filters.published_from)} to {_day(filters.published_to)}"
        yield AppliedLimit(kind="time", value=window.strip(), origin="asker")


def _day(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else "…"


def flagged_note(count: int) -> tuple[str, ...]:
    """The note on sentences that were left out; none where nothing was."""
    if not count:
        return ()
    which = "1 sentence was" if count == 1 else f"{count} sentences were"
    what = "it" if count == 1 else "them"
    return (f"{which} left out: an expert flagged {what} as harmful",)


def beside_unflagged(kb: KnowledgeBase, reply: Reply) -> Reply:
    """The reply with nothing beside its text that says what an expert flagged as harmful."""
    table, cited = reply.table, {one.id: one.document_id for one in reply.citations}
    documents = table.documents if table else ()
    rows = table.rows if table else ()
    every = {*cited.values(), *chain(*documents)}
    beside = (documents[place] if place < len(documents) else () for place in range(len(rows)))
    flagged, *of_rows = flagged_of_documents(kb, [every, *beside])
    if table is not None:
        fine = [at for at, row in enumerate(rows) if not any(map(of_rows[at].holds, row))]
        table = replace(
            table,
            rows=tuple(table.rows[place] for place in fine),
            documents=tuple(documents[place] for place in fine if place < len(documents)),
        )
    views = [view for one in reply.conflicts for view in one.views]
    sides = [[cited[known] for known in view.citations if known in cited] for view in views]
    of_views = flagged_of_documents(kb, [side or every for side in sides])
    held = {id(view): one.holds(view.text) for view, one in zip(views, of_views, strict=True)}
    conflicts = [
        replace(one, views=tuple(view for view in one.views if not held[id(view)]))
        for one in reply.conflicts
        if not flagged.holds(one.about)
    ]
    citations = [replace(one, why="") if flagged.holds(one.why) else one for one in reply.citations]
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
    written: Written,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    sure: Confidence,
) -> Reply:
    """The cited text; one that is not sure opens by saying so, and names what is missing."""
    text, sentences, citations = cited.text, tuple(cited.sentences), tuple(cited.citations)
    gaps, wish = written.data_gaps, ""
    if sure.band == "low":
        admits = cited.kb.settings.features.admit_uncertainty
        opening = LIMITED if admits else ""
        wish = f"\n\n{MORE.format(about=about(analysis))}" if admits else ""
        if text.startswith(("- ", "**")):
            opening = f"{opening.rstrip()}\n\n" if opening else ""
        sentences = tuple(
            replace(sentence, span=sentence.span.moved(len(opening))) for sentence in sentences
        )
        citations = tuple(
            replace(citation, answer_span=citation.answer_span.moved(len(opening)))
            for citation in citations
        )
        text, gaps = opening + text, (*gaps, *missing(analysis, evidence))
    gaps = tuple(dict.fromkeys((*gaps, *unanswered(analysis, evidence))))
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
    found: Extracts,
    dispute: Disagreement | None = None,
) -> Reply:
    """The extracts in order; below the threshold the reply that the material does not answer."""
    fit, lost = unflagged_extracts(kb, found.shown)
    caps = [LIMIT_LEFT_OUT] if analysis.relaxed else []
    sure = of_extracts(kb, found, [*caps, DISPUTED] if dispute else caps)
    if sure.band == "none" or not fit:
        reply = no_data(kb, analysis, evidence, fit if found.near else ())
        return replace(reply, sure=declined(sure), notes=flagged_note(lost))
    low = sure.band == "low" and kb.settings.features.admit_uncertainty
    lead = f"{LIMITED.rstrip()}\n\n" if low else ""
    cited = cite_extracts(kb, fit, lead + (told(dispute, evidence) if dispute else ""))
    gaps = missing(analysis, evidence) if sure.band == "low" else ()
    wish = f"\n\n{MORE.format(about=about(analysis))}" if low else ""
    return Reply(
        text=cited.text + wish,
        by=EXTRACTIVE,
        sentences=tuple(cited.sentences),
        citations=tuple(cited.citations),
        data_gaps=tuple(dict.fromkeys((*gaps, *unanswered(analysis, evidence)))),
        conflicts=conflict_of(dispute, evidence, cited.sentences) if dispute else (),
        sure=sure,
        notes=flagged_note(lost),
    )


def unflagged_extracts(kb: KnowledgeBase, extracts: Sequence[Extract]) -> tuple[list[Extract], int]:
    """The extracts without sentences that an expert flagged as harmful, and how many those are.

    An extract of which no marked sentence is left goes.
    """
    flagged = flagged_of_documents(kb, [{one.piece.hit.document.id} for one in extracts])
    kept: list[Extract] = []
    lost = 0
    for extract, harmful in zip(extracts, flagged, strict=True):
        places = harmful.places([extract.of(span) for span in extract.sentences])
        lost += len(places)
        left = extract.without([extract.sentences[at] for at in sorted(places)])
        kept += [left] if left.marked else []
    return kept, lost


def no_data(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    extracts: Sequence[Extract] = (),
) -> Reply:
    """Says that the material does not answer, and what it has that is near."""
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
    titles = "; ".join(dict.fromkeys(one.title for one in related))
    text = NO_ANSWER
    text += f" The nearest material is: {titles}." if related else " Nothing in them is about it."
    text += f" {GAP}: there should be more about {about(analysis)}."
    quoted = extracts[:NEAREST] if related else ()
    cited = cite_extracts(kb, quoted, f"{text}{NEAR_ONES}" if quoted else text, "> ")
    gaps = (*missing(analysis, evidence), *unanswered(analysis, evidence))
    return Reply(
        text=cited.text,
        sentences=tuple(cited.sentences),
        citations=tuple(cited.citations),
        data_gaps=gaps or (f"no source answers “{analysis.question.strip()}”",),
        related=related,
    )


def missing(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """What the question is about that no piece of evidence names."""
    held = {
        stem
        for piece in evidence
        for stem in parse(f"{piece.hit.document.title} {piece.text}").stems
    }
    absent = (one for one in _subjects(analysis) if not held.issuperset(parse(one).stems))
    return tuple(f"nothing found about “{one}”" for one in absent)


def unanswered(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The parts of a question with several of which no piece of evidence holds the words."""
    parts = parts_of(analysis.question)
    if len(parts) < 2:
        return ()
    asked = [parse(part).stem_set for part in parts]
    pieces = [parse(f"{one.hit.document.title} {one.text}").stem_set for one in evidence]
    found = []
    for place, (part, stems) in enumerate(zip(parts, asked, strict=True)):
        own = stems.difference(*(other for at, other in enumerate(asked) if at != place))
        best = max((len(own & piece) for piece in pieces), default=0)
        if own and best < HELD * len(own):
            found.append(f"no source answers the part “{part}”")
    return tuple(found)


def about(analysis: Analysis) -> str:
    """What the question is about, in quotation marks."""
    return ", ".join(f"“{one}”" for one in _subjects(analysis)) or "the subject of the question"


def _subjects(analysis: Analysis) -> list[str]:
    """The names of the question, else the rare words of its noun phrases, else all rare words."""
    named = [name for name in analysis.names if not name[:1].isdigit()]
    if named:
        return list(dict.fromkeys(named))
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


# --- a question that was not answered, or not surely, is filed as a gap --------------------------
# Only of answers that are recorded: what must not be kept leaves no question behind either.


def file_gap(kb: KnowledgeBase, done: Answer, asked: Question) -> None:
    """File the question of ``done`` as a gap where the material did not answer it."""
    kind = gap_kind(done)
    if kind is None:
        return
    kb.catalogue.record_gap(
        done.standalone or done.question,
        "; ".join(done.data_gaps) or done.confidence.reasoning,
        kind=kind,
        scope=asked.filters.collections,
        limits=limits_of_gap(asked.filters),
        answer_id=done.id,
        owner=done.owner,
    )


def gap_kind(done: Answer) -> GapKind | None:
    """In which way an answer leaves its question open; None when it does not.

    ``unanswered``: nothing near was found, or a count of the whole material found nothing.
    ``declined``: what was found does not answer. ``hedged``: it was answered, and not surely, or
    not in all its parts. A courtesy lacks nothing.
    """
    if done.answered_by == NOBODY:
        if not done.data_gaps:
            return None
        return "declined" if done.citations or done.related else "unanswered"
    if done.answered_by == CATALOGUE:
        return "unanswered" if done.data_gaps else None
    return "hedged" if done.confidence.band in ("low", "none") else None


def limits_of_gap(filters: Filters) -> dict[str, object]:
    """The limits beside the collections, plain; those that limit nothing are left out."""
    plain = to_plain(replace(filters, collections=()))
    return {name: value for name, value in plain.items() if value}


# --- the replies to the parts of a question as one -----------------------------------------------

INCOMPLETE = 0.45  # how sure an answer is at most of which a part is wanting


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One question of several that were asked in one: as it was read, what was found, the reply."""

    analysis: Analysis
    found: Found
    reply: Reply


def as_one(kb: KnowledgeBase, parts: Sequence[Part]) -> Part:
    """The whole that the parts make; one that stands alone stays as it is."""
    if len(parts) == 1:
        return parts[0]
    page = CitedText(kb)
    for part in parts:
        between = "\n\n" if page.text else ""
        page.text += f"{between}**{part.analysis.asked}**\n\n"
        _append(page, part.reply)
    replies = [part.reply for part in parts]
    wanting = [part for part in parts if part.reply.by == NOBODY]
    told = [reply for reply in replies if reply.by != NOBODY] or replies
    lacking = [f"no source answers the part “{part.analysis.asked}”" for part in wanting]
    whole = replace(
        told[0],
        text=page.text,
        sentences=tuple(page.sentences),
        citations=tuple(page.citations),
        sure=_sure([reply.sure for reply in told], complete=not wanting),
        written=_written([reply.written for reply in replies if reply.written]),
        data_gaps=_all(lacking, *(reply.data_gaps for reply in replies)),
        conflicts=tuple(one for reply in replies for one in reply.conflicts),
        notes=_all(*(reply.notes for reply in replies)),
        table=next((reply.table for reply in replies if reply.table), None),
        repaired_citations=sum(reply.repaired_citations for reply in replies),
        dropped_sentences=sum(reply.dropped_sentences for reply in replies),
    )
    found = Found(
        hits=tuple(hit for part in parts for hit in part.found.hits),
        relaxed=tuple(one for part in parts for one in part.found.relaxed),
        failures=_all(*(part.found.failures for part in parts)),
        notes=_all(*(part.found.notes for part in parts)),
        clusters=sum(part.found.clusters for part in parts),
    )
    respelt = _all(*(part.analysis.respelt for part in parts))
    return Part(analysis=replace(parts[0].analysis, respelt=respelt), found=found, reply=whole)


def _append(page: CitedText, reply: Reply) -> None:
    """Add the text of a reply, its markers with the numbers that they have on this page."""
    style = page.kb.settings.citations.style
    own = {one.id: one for one in reply.citations}
    done = 0
    for sentence in reply.sentences:
        page.text += reply.text[done : sentence.span.start]
        span = Span(start=len(page.text), end=len(page.text) + len(sentence.text))
        page.text += sentence.text
        done = sentence.span.end
        numbers = []
        for number in sentence.citations:
            marker = f" {styled(page.kb, own[number], style)}"
            cited = page.numbered(replace(own[number], answer_span=span))
            if not sentence.within:
                done += len(marker) if reply.text.startswith(marker, done) else 0
                page.text += f" {styled(page.kb, cited, style)}"
            numbers.append(cited.id)
        page.sentences.append(replace(sentence, span=span, citations=tuple(numbers)))
    page.text += reply.text[done:]


def _sure(told: Sequence[Confidence], *, complete: bool) -> Confidence:
    """As sure as its least sure part; where one is wanting, the whole is not what was asked for."""
    least = min(told, key=lambda sure: sure.score)
    if complete or least.band == "none":
        return least
    why = f"{least.reasoning}; but a part of the question is not answered"
    return replace(least, score=min(least.score, INCOMPLETE), band="low", reasoning=why)


def _written(drafts: Sequence[Written]) -> Written | None:
    """The first draft, with what all of them cost."""
    if not drafts:
        return None
    usage = sum((draft.usage for draft in drafts), Usage())
    return replace(drafts[0], usage=usage)


def _all(*groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))
