"""From what was read to the report: sections are chosen or written, and put together as Markdown.

Summary, a section per facet, disagreements, timeline; one bibliography, numbered in the order of
the text. Every sentence is checked on its way in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from anyio import to_thread

from wellread.ask.answer import answer, final
from wellread.ask.deliver.cite import CitedText, add_draft, flat, styled
from wellread.ask.deliver.prune_draft import pruned, unflagged
from wellread.ask.deliver.reply import flagged_note, unflagged_extracts
from wellread.ask.understand.conversation import Opened
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.research.planning import Planned
from wellread.research.run_state import RunState
from wellread.research.sections import (
    SectionDraft,
    Sections,
    draft_of,
    sections_of,
    write_report,
)
from wellread.types import Span
from wellread.values.answers import (
    BEFORE,
    EXTRACTIVE,
    NOBODY,
    Answer,
    Confidence,
    Conflict,
    Evidence,
    Related,
    Step,
    Usage,
)
from wellread.values.question import Analysis
from wellread.values.reports import (
    WARNINGS,
    Facet,
    ProgressEvent,
    ReadDocument,
    Report,
    ReportEvent,
    ReportSection,
    ResearchEvent,
)

IN_SUMMARY = 4  # extracts, where no answer is the summary
LEAST_DATED = 3  # sources, from which there is a timeline
MOST_LISTED = 12  # sources that are named as read and not used
READ_OFF = ("question", "bridge", "entity", "speaker")  # kinds of facets nobody named
NAMED = ("question", "side", "entity", "model")  # facets whose lack is a gap of the material
WHOLE = Confidence(
    score=0.6,
    band="medium",
    reasoning="the sources are told part by part; no single answer was asked for",
)
NOWHERE = "The sources hold nothing about this question."
NOT_DIRECTLY = "The sources do not answer this directly; what they say nearest to it:"


@dataclass(slots=True)
class Material:
    """What the report is made of.

    Attributes:
        quick: the answer of the one search, where the question asks for one.
    """

    turn: Opened
    analysis: Analysis
    planned: Planned
    quick: Answer | None = None
    sections: Sections = field(default_factory=Sections)

    @property
    def drafts(self) -> list[SectionDraft]:
        """The sections, and the summary that a model wrote."""
        summary = self.sections.summary
        return [*self.sections.drafts.values(), *([summary] if summary else [])]


async def deliver(state: RunState, material: Material) -> AsyncIterator[ResearchEvent]:
    """Choose, write, check; the report at the end."""
    kb = state.kb
    if not material.planned.whole:
        question = replace(
            material.turn.question,
            mode="quick",
            fresh=True,
            recorded=False,
            models=False,
            session_id="",
        )
        material.quick = await final(answer(kb, question))
    sections = await to_thread.run_sync(sections_of, state, material.analysis)
    material.sections = sections
    if "model" in kb.models.names():
        asked = material.planned.plan.question
        async for event in write_report(state, asked, material.analysis, sections):
            yield event
    found = sum(map(len, sections.shown.values()))
    passages, documents = len(sections.evidence), len(state.pool.documents(()))
    text = f"{found} places chosen from {passages} passages of {documents} documents"
    yield ProgressEvent(round=state.rounds, stage="write", text=text, found=found)
    report = await to_thread.run_sync(_composed, state, material)
    checked = len(report.answer.sentences)
    dropped = report.answer.dropped_sentences
    text = f"{checked} sentences are borne out by their sources, {dropped} were left out"
    yield ProgressEvent(round=state.rounds, stage="verify", text=text, found=checked)
    yield ReportEvent(report=report)


def _composed(state: RunState, material: Material) -> Report:
    """The report as it goes out."""
    kb = state.kb
    report = ReportPage(kb=kb, page=CitedText(kb), evidence=material.sections.evidence)
    report.heading("Summary")
    _summary(material, report)
    report.summary = Span(start=0, end=len(report.page.text.rstrip()))
    # What was asked for has a section always; what was read off the material, or came up on the
    # way, if it tells something.
    for facet in state.facets if state.pool.hits else ():
        draft = material.sections.drafts.get(facet.id)
        if draft is not None or facet.kind not in READ_OFF:
            report.section(facet, draft)
    report.conflicts = disagreements(report, material.quick)
    timeline(report)
    documents = _read(state, report)
    stopped = state.stopped or "complete"
    warning = "; ".join(filter(None, (WARNINGS.get(stopped, ""), state.failure)))
    return Report(
        id=state.id,
        answer=_answer(state, material, report, documents, warning),
        plan=replace(material.planned.plan, facets=tuple(state.facets)),
        summary=report.summary,
        sections=tuple(report.sections),
        stopped=stopped,
        rounds=state.rounds,
        searches=state.searches,
        seconds=round(state.seconds, 3),
        calls=state.calls,
        documents=tuple(documents),
        warning=warning,
    )


def _summary(material: Material, report: ReportPage) -> None:
    """The quick answer; where there is none, what answers best of the first facets."""
    quick, summary = material.quick, material.sections.summary
    by_expert = quick is not None and quick.answered_by == BEFORE
    if summary is not None and summary.checked and not by_expert:
        report.add(summary)
        return
    if quick is not None and (by_expert or (quick.answered_by != NOBODY and quick.sentences)):
        summary_of_answer(report, quick)
        return
    chosen = [extract.marked_alone() for extract in material.sections.best[:IN_SUMMARY]]
    if not chosen:
        report.page.text += quick.text if quick is not None else NOWHERE
        return
    if quick is not None:
        report.page.text += f"{NOT_DIRECTLY}\n\n"
    report.add(draft_of(chosen))


def _read(state: RunState, report: ReportPage) -> list[ReadDocument]:
    """Every document that was read: the nearest first, then what led on from them."""
    cited = {one.document_id for one in report.page.citations}
    led = [one.id for one in state.facets if one.kind == "bridge"]
    counts = Counter(hit.document.id for hit in state.pool.hits.values())
    titles = {hit.document.id: hit.document.title for hit in state.pool.hits.values()}
    return [
        ReadDocument(id=known, title=titles[known], passages=counts[known], cited=known in cited)
        for known in state.pool.documents(led)
    ]


def _answer(
    state: RunState,
    material: Material,
    report: ReportPage,
    documents: Sequence[ReadDocument],
    warning: str,
) -> Answer:
    turn, quick, page = material.turn, material.quick, report.page
    named = {one.id for one in state.facets if one.kind in NAMED}
    missing = [one.title for one in report.sections if not one.found and one.facet in named]
    gaps = tuple(f"nothing found about “{title}”" for title in missing)
    sure = _sure(material, bool(page.sentences))
    writers = [each.by for each in material.drafts if each.by not in (EXTRACTIVE, NOBODY)]
    fallbacks = dict.fromkeys(each.fallback for each in material.drafts if each.fallback)
    notes = (
        *turn.notes,
        *material.analysis.respelt,
        *(
            f"nothing was found within {one}, so it was left out"
            for one in material.planned.relaxed
        ),
        *material.planned.failures,
        *((warning,) if warning else ()),
        *flagged_note(report.flagged),
    )
    unused = [
        Related(kind="document", title=one.title, id=one.id, reason="read and not cited")
        for one in documents
        if not one.cited
    ]
    return Answer(
        id=tagged_hash("ans", state.id),
        question=" ".join(turn.asked.split()),
        standalone=turn.question.text if turn.question.text != turn.asked else "",
        type=material.analysis.type,
        owner=turn.question.owner,
        text=page.text.strip(),
        citations=tuple(page.citations),
        sentences=tuple(page.sentences),
        confidence=sure,
        answered_by=[*writers, EXTRACTIVE][0] if page.sentences else NOBODY,
        mode="deep",
        session_id=turn.question.session_id,
        data_gaps=tuple(dict.fromkeys((*(quick.data_gaps if quick else ()), *gaps))),
        conflicts=report.conflicts,
        related=tuple(unused[:MOST_LISTED]),
        notes=tuple(dict.fromkeys(notes)),
        table=quick.table if quick else None,
        relaxed=material.planned.relaxed,
        limits=quick.limits if quick else (),
        failures=material.planned.failures,
        rewritten=turn.rewritten,
        dropped_sentences=report.dropped,
        fallback="; ".join(fallbacks),
        hallucinated_citations=sum(each.unknown_keys for each in material.drafts),
        usage=Usage(
            input_tokens=state.tokens[0], output_tokens=state.tokens[1], cost=state.dollars
        ),
        steps=(Step(name="research", seconds=round(state.seconds, 3), found=len(state.pool.hits)),),
    )


def _sure(material: Material, found: bool) -> Confidence:
    """How sure the summary's answer is; a report on a whole answers nothing that could be wrong."""
    if material.quick is None:
        return WHOLE if found else Confidence(score=0.0, band="none", reasoning=NOWHERE)
    sure = material.quick.confidence
    if sure.band == "none" and found:
        return replace(sure, band="low")
    return sure


# --- the page ------------------------------------------------------------------------------------


@dataclass(slots=True)
class ReportPage:
    """The report under construction."""

    kb: KnowledgeBase
    page: CitedText
    evidence: Sequence[Evidence]
    sections: list[ReportSection] = field(default_factory=list)
    summary: Span = field(default_factory=lambda: Span(start=0, end=0))
    conflicts: tuple[Conflict, ...] = ()
    dropped: int = 0
    flagged: int = 0  # sentences that an expert flagged as harmful, and that were left out

    def heading(self, title: str) -> int:
        """Begin a part; where it begins."""
        self.page.text = self.page.text.rstrip() + ("\n\n" if self.page.text else "")
        start = len(self.page.text)
        self.page.text += f"## {plain_label(title)}\n\n"
        return start

    def add(self, draft: SectionDraft) -> None:
        """Put in a draft, without what an expert flagged as harmful."""
        if draft.extracts:
            extracts, lost = unflagged_extracts(self.kb, draft.extracts)
            self.page.show_all(extracts)
            self.flagged += lost
            return
        fit = unflagged(self.kb, draft.checked, self.evidence)
        lost = len(draft.checked) - len(fit)
        text, kept = pruned(draft.text, draft.checked, fit)
        used = {item.verdict.key for item in kept}
        used.update(key for item in kept for key in item.claim.keys)
        pieces = [piece for piece in self.evidence if piece.key in used]
        if kept:
            add_draft(self.page, text, kept, pieces)
        self.dropped += draft.removed + lost
        self.flagged += lost

    def section(self, facet: Facet, draft: SectionDraft | None) -> None:
        """The part of one facet; "nothing was found" where no sentence of it is borne out."""
        start, first = self.heading(facet.title), len(self.page.sentences)
        if draft is not None and draft.checked:
            self.add(draft)
        found = len(self.page.sentences) > first
        if not found:
            self.page.text += "Nothing was found."
        span = Span(start=start, end=len(self.page.text))
        self.sections.append(
            ReportSection(facet=facet.id, title=facet.title, span=span, found=found)
        )

    def markers(self, documents: Sequence[str]) -> str:
        """The marker of the first citation of each document."""
        first = {one.document_id: one for one in reversed(self.page.citations)}
        style = self.kb.settings.citations.style
        shown = [styled(self.kb, first[known], style) for known in documents if known in first]
        return " ".join(shown)


def summary_of_answer(report: ReportPage, answer: Answer) -> None:
    """The quick answer as the summary, its citations numbered as those of the report."""
    page, text = report.page, answer.text
    place = 0
    by_number = {one.id: one for one in answer.citations}
    style = report.kb.settings.citations.style
    for sentence in answer.sentences:
        page.text += text[place : sentence.span.start]
        place = sentence.span.end
        span = Span(start=len(page.text), end=len(page.text) + len(sentence.text))
        page.text += sentence.text
        numbers = []
        for number in sentence.citations:
            old = f" {styled(report.kb, by_number[number], style)}"
            new = page.numbered(replace(by_number[number], answer_span=span))
            if not sentence.within:
                place += len(old) if text.startswith(old, place) else 0
                page.text += f" {styled(report.kb, new, style)}"
            numbers.append(new.id)
        page.sentences.append(replace(sentence, span=span, citations=tuple(numbers)))
    page.text += text[place:]


# --- what follows the sections -------------------------------------------------------------------


def disagreements(report: ReportPage, quick: Answer | None) -> tuple[Conflict, ...]:
    """What the sources disagree on, each view with what it rests on, by the report's numbers."""
    if quick is None or not quick.conflicts:
        return ()
    places = {(one.document_id, one.source_span): one.id for one in report.page.citations}
    new = {
        one.id: places[one.document_id, one.source_span]
        for one in quick.citations
        if (one.document_id, one.source_span) in places
    }
    told = tuple(
        replace(
            conflict,
            views=tuple(
                replace(view, citations=tuple(new[one] for one in view.citations if one in new))
                for view in conflict.views
            ),
        )
        for conflict in quick.conflicts
    )
    by_number = {one.id: one.document_id for one in report.page.citations}
    report.heading("What the sources disagree on")
    lines = []
    for conflict in told:
        # Only markers stand in square brackets there, whatever a source or a question writes.
        reason = f" ({conflict.reason})" if conflict.reason else ""
        lines.append(f"- {flat(conflict.about + reason)}")
        for view in conflict.views:
            marks = report.markers([by_number[one] for one in view.citations])
            lines.append(f"  - {flat(view.text)} {marks}".rstrip())
    report.page.text += "\n".join(lines)
    return told


def timeline(report: ReportPage) -> None:
    """A line for each dated source, by date, where there are at least three."""
    dated = {
        one.document_id: (f"{one.published_at:%Y-%m-%d}", one.title)
        for one in reversed(report.page.citations)
        if one.published_at is not None
    }
    if len(dated) < LEAST_DATED:
        return
    report.heading("Timeline")
    report.page.text += "\n".join(
        f"- {day}: {plain_label(title)} {report.markers([known])}"
        for known, (day, title) in sorted(dated.items(), key=lambda each: each[1][0])
    )


def plain_label(name: str) -> str:
    """A name for a label, without what Markdown would read as more than a name."""
    plain = "".join(" " if sign in "*_`[]<>\n" else sign for sign in name)
    plain = " ".join(plain.split())
    return plain[:1].upper() + plain[1:]
