"""The parts of a report as a language model writes them: each section, then the summary."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wellread.answers import EXTRACTIVE, NOBODY, Evidence
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.reports import Facet, ProgressEvent
from wellread.research.model.context import RunContext
from wellread.research.model.model_writing import (
    SectionDraft,
    SummarySource,
    write_section,
    write_summary,
)


@dataclass(slots=True, kw_only=True)
class ReportToWrite:
    """What a model writes from, and what it wrote.

    Attributes:
        pieces: facet id to the evidence of its section, the best first.
        evidence: of the whole report.
        drafts: facet id to its section; at first those that were chosen without a model.
    """

    question: str
    analysis: Analysis
    facets: Sequence[Facet]
    pieces: Mapping[str, Sequence[Evidence]]
    evidence: Sequence[Evidence]
    round: int
    drafts: dict[str, SectionDraft]
    summary: SectionDraft | None = field(default=None)


async def write_report(
    kb: KnowledgeBase, run: RunContext, report: ReportToWrite
) -> AsyncIterator[ProgressEvent]:
    """Write every section that has evidence, then the summary; they are left with ``report``.

    Where no model could be asked, what was chosen stays, and the draft says why. A section of which
    nothing is borne out is "not found".

    Raises:
        SettingsError: a model's name or address cannot be used.
        StoreError, ModelError: the catalogue or the embedder cannot be used.
    """
    for facet in report.facets:
        pieces = report.pieces.get(facet.id, ())
        if not pieces:
            continue
        # Of a speaker's facet the words of that speaker alone are asked for.
        speakers = facet.filters.speakers or report.analysis.filters.speakers
        filters = replace(report.analysis.filters, speakers=speakers)
        asked = replace(report.analysis, question=facet.query, sides=(), filters=filters)
        made = await write_section(kb, report.question, facet, asked, pieces, run)
        if made.by not in (EXTRACTIVE, NOBODY):
            report.drafts[facet.id] = made
            told = f"{made.by} wrote “{facet.title}”"
        else:
            chosen = report.drafts.get(facet.id, SectionDraft())
            report.drafts[facet.id] = replace(chosen, fallback=made.fallback)
            told = f"passages were chosen for “{facet.title}”"
        found = len(report.drafts[facet.id].checked)
        yield ProgressEvent(
            round=report.round,
            stage="write",
            text=f"{told}: {found} sentences, {made.removed} removed",
            facet=facet.id,
            found=found,
        )
    sections = [
        SummarySource(title=facet.title, checked=report.drafts[facet.id].checked)
        for facet in report.facets
        if facet.id in report.drafts and report.drafts[facet.id].checked
    ]
    report.summary = await write_summary(kb, report.question, sections, report.evidence, run)
