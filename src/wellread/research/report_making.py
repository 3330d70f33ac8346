"""Builds the report: chooses or writes the sections and assembles them as Markdown.

A report has a summary, a section per facet, and what the sources disagree on. Citations are
numbered in the order of the text. Every sentence is checked before it is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from anyio import to_thread

from wellread.ask.answer import answer, final
from wellread.ask.deliver.cite import (
    CitedText,
    add_draft,
    drop_flagged,
    flatten_label,
    prune,
    styled_marker,
)
from wellread.ask.deliver.reply import flagged_note, remove_flagged_sentences
from wellread.ask.understand.conversation import SessionQuestion
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.research.planning import Planned
from wellread.research.run_state import RunState
from wellread.research.sections import SectionDraft, Sections, draft_of, sections_of, write_report
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

MAX_SUMMARY_EXTRACTS = 4  # extracts, if the summary is not an answer
MAX_UNCITED_LISTED = 12  # listed sources that were read but not cited
DERIVED_KINDS = ("question", "bridge", "entity", "speaker")  # facets derived from the material
GAP_KINDS = ("question", "side", "entity", "model")  # kinds of facets reported as gaps when empty
WHOLE_CONFIDENCE = Confidence(
    score=0.6,
    band="medium",
    reasoning="the report summarizes the sources part by part, without a single answer",
)
NOWHERE = "The sources contain nothing about this question."
NOT_DIRECTLY = "The sources do not answer this directly. The closest passages:"


@dataclass(slots=True)
class Material:
    """The inputs of a report.

    Attributes:
        quick: the quick answer, if the question asks for a single answer.
    """

    turn: SessionQuestion
    analysis: Analysis
    planned: Planned
    quick: Answer | None = None
    sections: Sections = field(default_factory=Sections)

    @property
    def drafts(self) -> list[SectionDraft]:
        """All section drafts, and the summary if a model wrote one."""
        summary = self.sections.summary
        return [*self.sections.drafts.values(), *([summary] if summary else [])]


async def deliver(state: RunState, material: Material) -> AsyncIterator[ResearchEvent]:
    """Choose or write the sections, check them, and yield the report as the last event."""
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
        topic = material.planned.plan.question
        async for event in write_report(state, topic, material.analysis, sections):
            yield event
    count = sum(map(len, sections.extracts.values()))
    passages, documents = len(sections.evidence), len(state.pool.documents(()))
    text = f"{count} extracts chosen from {passages} passages of {documents} documents"
    yield ProgressEvent(round=state.rounds, stage="write", text=text, found=count)
    report = await to_thread.run_sync(_compose_report, state, material)
    checked = len(report.answer.sentences)
    dropped = report.answer.dropped_sentences
    text = f"{checked} sentences are supported by their sources, {dropped} were removed"
    yield ProgressEvent(round=state.rounds, stage="verify", text=text, found=checked)
    yield ReportEvent(report=report)


def _compose_report(state: RunState, material: Material) -> Report:
    kb = state.kb
    report = ReportPage(kb=kb, page=CitedText(kb), evidence=material.sections.evidence)
    report.heading("Summary")
    _summary(material, report)
    report.summary = Span(start=0, end=len(report.page.text.rstrip()))
    # Requested facets always get a section; facets derived from the material or found during the
    # run only if they have content.
    for facet in state.facets if state.pool.hits else ():
        draft = material.sections.drafts.get(facet.id)
        if draft is not None or facet.kind not in DERIVED_KINDS:
            report.section(facet, draft)
    report.conflicts = disagreements(report, material.quick)
    documents = _read_documents(state, report)
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
    quick, summary = material.quick, material.sections.summary
    by_expert = quick is not None and quick.answered_by == BEFORE
    if summary is not None and summary.checked and not by_expert:
        report.add(summary)
        return
    if quick is not None and (by_expert or (quick.answered_by != NOBODY and quick.sentences)):
        report.page.append(quick)
        return
    chosen = [extract.only_marked() for extract in material.sections.best[:MAX_SUMMARY_EXTRACTS]]
    if not chosen:
        report.page.text += quick.text if quick is not None else NOWHERE
        return
    if quick is not None:
        report.page.text += f"{NOT_DIRECTLY}\n\n"
    report.add(draft_of(chosen))


def _read_documents(state: RunState, report: ReportPage) -> list[ReadDocument]:
    cited = {citation.document_id for citation in report.page.citations}
    bridge_ids = [facet.id for facet in state.facets if facet.kind == "bridge"]
    counts = Counter(hit.document.id for hit in state.pool.hits.values())
    titles = {hit.document.id: hit.document.title for hit in state.pool.hits.values()}
    return [
        ReadDocument(id=key, title=titles[key], passages=counts[key], cited=key in cited)
        for key in state.pool.documents(bridge_ids)
    ]


def _answer(
    state: RunState,
    material: Material,
    report: ReportPage,
    documents: Sequence[ReadDocument],
    warning: str,
) -> Answer:
    turn, quick, page = material.turn, material.quick, report.page
    required = {facet.id for facet in state.facets if facet.kind in GAP_KINDS}
    missing = [part.title for part in report.sections if not part.found and part.facet in required]
    gaps = tuple(f"Nothing was found about “{title}”." for title in missing)
    writers = [draft.by for draft in material.drafts if draft.by not in (EXTRACTIVE, NOBODY)]
    fallbacks = dict.fromkeys(draft.fallback for draft in material.drafts if draft.fallback)
    notes = (
        *turn.notes,
        *material.analysis.respelt,
        *(
            f"nothing was found within {limit}, so this limit was ignored"
            for limit in material.planned.relaxed
        ),
        *material.planned.failures,
        *((warning,) if warning else ()),
        *flagged_note(report.flagged),
    )
    unused = [
        Related(kind="document", title=document.title, id=document.id, reason="read and not cited")
        for document in documents
        if not document.cited
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
        confidence=_report_confidence(quick, bool(page.sentences)),
        answered_by=[*writers, EXTRACTIVE][0] if page.sentences else NOBODY,
        mode="deep",
        session_id=turn.question.session_id,
        data_gaps=tuple(dict.fromkeys((*(quick.data_gaps if quick else ()), *gaps))),
        conflicts=report.conflicts,
        related=tuple(unused[:MAX_UNCITED_LISTED]),
        notes=tuple(dict.fromkeys(notes)),
        table=quick.table if quick else None,
        relaxed=material.planned.relaxed,
        limits=quick.limits if quick else (),
        failures=material.planned.failures,
        rewritten=turn.rewritten,
        dropped_sentences=report.dropped,
        fallback="; ".join(fallbacks),
        hallucinated_citations=sum(draft.unknown_keys for draft in material.drafts),
        usage=Usage(
            input_tokens=state.tokens[0], output_tokens=state.tokens[1], cost=state.dollars
        ),
        steps=(Step(name="research", seconds=round(state.seconds, 3), found=len(state.pool.hits)),),
    )


def _report_confidence(quick: Answer | None, has_sentences: bool) -> Confidence:
    """Return the confidence of the quick answer; fixed for a report on whole documents."""
    if quick is None:
        nothing = Confidence(score=0.0, band="none", reasoning=NOWHERE)
        return WHOLE_CONFIDENCE if has_sentences else nothing
    if quick.confidence.band == "none" and has_sentences:
        return replace(quick.confidence, band="low")
    return quick.confidence


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
    flagged: int = 0  # removed sentences that an expert flagged as harmful

    def heading(self, title: str) -> int:
        """Start a part and return its position."""
        self.page.text = self.page.text.rstrip() + ("\n\n" if self.page.text else "")
        start = len(self.page.text)
        self.page.text += f"## {plain_label(title)}\n\n"
        return start

    def add(self, draft: SectionDraft) -> None:
        """Add a draft without sentences that an expert flagged as harmful."""
        if draft.extracts:
            extracts, flagged = remove_flagged_sentences(self.kb, draft.extracts)
            self.page.show_all(extracts)
            self.flagged += flagged
            return
        allowed = drop_flagged(self.kb, draft.checked, self.evidence)
        flagged = len(draft.checked) - len(allowed)
        text, sentences = prune(draft.text, draft.checked, allowed)
        cited_keys = {item.verdict.key for item in sentences}
        cited_keys.update(key for item in sentences for key in item.claim.keys)
        pieces = [piece for piece in self.evidence if piece.key in cited_keys]
        if sentences:
            add_draft(self.page, text, sentences, pieces)
        self.dropped += draft.removed + flagged
        self.flagged += flagged

    def section(self, facet: Facet, draft: SectionDraft | None) -> None:
        """Add the section of one facet, or "Nothing was found." if no sentence is supported."""
        start, count_before = self.heading(facet.title), len(self.page.sentences)
        if draft is not None and draft.checked:
            self.add(draft)
        found = len(self.page.sentences) > count_before
        if not found:
            self.page.text += "Nothing was found."
        span = Span(start=start, end=len(self.page.text))
        self.sections.append(
            ReportSection(facet=facet.id, title=facet.title, span=span, found=found)
        )


# --- parts after the sections --------------------------------------------------------------------


def disagreements(report: ReportPage, quick: Answer | None) -> tuple[Conflict, ...]:
    """Add and return the conflicts between sources, with the report's citation numbers."""
    if quick is None or not quick.conflicts:
        return ()
    style = report.kb.settings.citations.style
    by_place = {
        (citation.document_id, citation.source_span): citation for citation in report.page.citations
    }
    # The report's citation of the same place, by the quick answer's citation number.
    cited = {
        citation.id: by_place.get((citation.document_id, citation.source_span))
        for citation in quick.citations
    }
    report.heading("What the sources disagree on")
    conflicts, lines = [], []
    for conflict in quick.conflicts:
        # Square brackets are reserved for citation markers, so texts are flattened.
        reason = f" ({conflict.reason})" if conflict.reason else ""
        lines.append(f"- {flatten_label(conflict.about + reason)}")
        views = []
        for view in conflict.views:
            citations = [match for number in view.citations if (match := cited.get(number))]
            views.append(replace(view, citations=tuple(citation.id for citation in citations)))
            markers = (styled_marker(report.kb, citation, style) for citation in citations)
            lines.append(f"  - {flatten_label(view.text)} {' '.join(markers)}".rstrip())
        conflicts.append(replace(conflict, views=tuple(views)))
    report.page.text += "\n".join(lines)
    return tuple(conflicts)


def plain_label(name: str) -> str:
    """Return ``name`` as a label without Markdown syntax."""
    plain = "".join(" " if sign in "*_`[]<>\n" else sign for sign in name)
    plain = " ".join(plain.split())
    return plain[:1].upper() + plain[1:]
