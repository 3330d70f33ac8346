"""From what was read to the report: extracts are chosen, or a model writes, and put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anyio import to_thread

from wellread.answers import (
    BEFORE,
    EXTRACTIVE,
    NOBODY,
    Answer,
    Confidence,
    Related,
    Step,
    Usage,
)
from wellread.ask.answer import answer, final
from wellread.ask.deliver.cite import CitedText
from wellread.ask.deliver.reply import flagged_note
from wellread.ask.understand.followups.conversation import Opened
from wellread.identity import tagged_hash
from wellread.questions import Analysis
from wellread.reports import (
    WARNINGS,
    Facet,
    ProgressEvent,
    ReadDocument,
    Report,
    ReportEvent,
    ResearchEvent,
)
from wellread.research.model.model_writing import (
    ReportToWrite,
    SectionDraft,
    draft_of,
    write_report,
)
from wellread.research.planning import Planned
from wellread.research.report_text import (
    IN_SUMMARY,
    MOST_LISTED,
    ReportPage,
    disagreements,
    looked_for,
    not_used,
    summary_of_answer,
    timeline,
)
from wellread.research.run_state import RunState
from wellread.research.sections import NOTHING, Sections, sections_of
from wellread.types import Span

PIECES = 8  # of evidence that a model writes one section from
READ_OFF = ("question", "bridge", "entity", "speaker", "taxonomy")  # kinds of facets nobody named
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
        drafts: facet id to its section. ``summary``: where a model wrote it.
    """

    turn: Opened
    analysis: Analysis
    planned: Planned
    quick: Answer | None = None
    sections: Sections = NOTHING
    drafts: dict[str, SectionDraft] = field(default_factory=dict)
    summary: SectionDraft | None = None


async def deliver(state: RunState, material: Material) -> AsyncIterator[ResearchEvent]:
    """Choose, write, check; the report at the end.

    Raises:
        ModelError: the embedder could not be run or reached.
        StoreError: the catalogue cannot be read.
    """
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
    await to_thread.run_sync(_choose, state, material)
    if "model" in kb.models.names():
        writing = _to_write(state, material)
        async for event in write_report(kb, state, writing):
            yield event
        material.drafts, material.summary = writing.drafts, writing.summary
    found = len(material.sections.extracts)
    text = (
        f"{found} places chosen from {len(material.sections.evidence)} "
        f"passages of {len(state.pool.documents())} documents"
    )
    yield ProgressEvent(round=state.rounds, stage="write", text=text, found=found)
    report = await to_thread.run_sync(_composed, state, material)
    checked = len(report.answer.sentences)
    dropped = report.answer.dropped_sentences
    text = f"{checked} sentences are borne out by their sources, {dropped} were left out"
    yield ProgressEvent(round=state.rounds, stage="verify", text=text, found=checked)
    yield ReportEvent(report=report)


def _choose(state: RunState, material: Material) -> None:
    """Choose the extracts and make a section of each facet that has some."""
    material.sections = sections_of(
        state.kb, material.analysis, state.facets, state.pool, state.kb.settings.research.sentences
    )
    for known, extracts in material.sections.shown.items():
        material.drafts[known] = draft_of(extracts)


def _to_write(state: RunState, material: Material) -> ReportToWrite:
    """What a model writes from: the passages of each facet's extracts, then its nearest."""
    shown, read = material.sections.shown, material.sections.read
    pieces = {
        facet.id: list(
            {
                piece.key: piece
                for piece in (*(one.piece for one in shown.get(facet.id, ())), *read[facet.id])
            }.values()
        )[:PIECES]
        for facet in state.facets
    }
    return ReportToWrite(
        question=material.planned.plan.question,
        analysis=material.analysis,
        facets=state.facets,
        pieces=pieces,
        evidence=material.sections.evidence,
        round=state.rounds,
        drafts=dict(material.drafts),
    )


def _composed(state: RunState, material: Material) -> Report:
    """The report as it goes out."""
    kb = state.kb
    report = ReportPage(kb=kb, page=CitedText(kb), evidence=material.sections.evidence)
    report.heading("Summary")
    _summary(material, report)
    report.summary = Span(start=0, end=len(report.page.text.rstrip()))
    facets = [one for one in state.facets if _told(one, material.drafts)]
    for facet in facets if state.pool.hits else ():
        report.section(facet, material.drafts.get(facet.id))
    report.conflicts = disagreements(report, material.quick)
    dated = timeline(report)
    looked_for(report, state.facets)
    documents = _read(state, report)
    not_used(report, documents)
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
        matrix=tuple(report.matrix),
        timeline=dated,
        documents=tuple(documents),
        warning=warning,
    )


def _told(facet: Facet, drafts: Mapping[str, SectionDraft]) -> bool:
    """Whether a facet has a section: what was asked for always; what was read off the material, or
    came up on the way, if it tells something. The table of what was looked for has them all.
    """
    return facet.kind not in READ_OFF or facet.id in drafts


def _summary(material: Material, report: ReportPage) -> None:
    """The quick answer; where there is none, what answers best of the first facets."""
    quick = material.quick
    if (
        quick is not None and quick.answered_by == BEFORE
    ):  # an expert's word: no model's is put first
        summary_of_answer(report, quick)
        return
    if material.summary is not None and material.summary.checked:
        report.add(material.summary)
        return
    if quick is not None and quick.answered_by != NOBODY and quick.sentences:
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
    drafts = _drafts(material)
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
        answered_by=_by(drafts) if page.sentences else NOBODY,
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
        fallback=_fallback(material),
        hallucinated_citations=sum(one.unknown_keys for one in drafts),
        usage=Usage(
            input_tokens=state.tokens[0], output_tokens=state.tokens[1], cost=state.dollars
        ),
        steps=(Step(name="research", seconds=round(state.seconds, 3), found=len(state.pool.hits)),),
    )


def _drafts(material: Material) -> list[SectionDraft]:
    return [*material.drafts.values(), *([material.summary] if material.summary else [])]


def _by(drafts: Sequence[SectionDraft]) -> str:
    """Who wrote it: the model that wrote any of it, else it is extracted."""
    writers = [one.by for one in drafts if one.by not in (EXTRACTIVE, NOBODY)]
    return writers[0] if writers else EXTRACTIVE


def _fallback(material: Material) -> str:
    """Why parts of it were written by another than the configured model."""
    return "; ".join(dict.fromkeys(one.fallback for one in _drafts(material) if one.fallback))


def _sure(material: Material, found: bool) -> Confidence:
    """How sure the summary's answer is; a report on a whole answers nothing that could be wrong."""
    if material.quick is None:
        return WHOLE if found else Confidence(score=0.0, band="none", reasoning=NOWHERE)
    sure = material.quick.confidence
    if sure.band == "none" and found:
        return replace(sure, band="low")
    return sure
