"""The report as Markdown: summary, a section per facet, timeline, what was looked for, what was not
used; one bibliography, numbered in the order of the text. Every sentence is checked on its way in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wellread.answers import Answer, Conflict, Evidence
from wellread.ask.deliver.cite import CitedText, add_draft, flat, styled
from wellread.ask.deliver.prune_draft import pruned, unflagged
from wellread.ask.deliver.reply import unflagged_extracts
from wellread.kb import KnowledgeBase
from wellread.reports import DatedSentence, Facet, MatrixCell, ReadDocument, ReportSection
from wellread.research.model.model_writing import SectionDraft
from wellread.types import Span

NOTHING = "Nothing was found."
IN_SUMMARY = 4  # extracts, where no answer is the summary
LEAST_DATED = 3  # sources, from which there is a timeline
MOST_LISTED = 12  # sources that are named as read and not used


@dataclass(slots=True)
class ReportPage:
    """The report under construction."""

    kb: KnowledgeBase
    page: CitedText
    evidence: Sequence[Evidence]
    sections: list[ReportSection] = field(default_factory=list)
    matrix: list[MatrixCell] = field(default_factory=list)
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
        new = range(first, len(self.page.sentences))
        if not new:
            self.page.text += NOTHING
        cells: dict[str, list[int]] = defaultdict(list)
        cited = {one.id: one.document_id for one in self.page.citations}
        for place in new:
            if draft is not None and draft.extracts and not self.page.sentences[place].marked:
                continue  # what stands around the sentence that tells
            for number in self.page.sentences[place].citations:
                if place not in cells[cited[number]]:
                    cells[cited[number]].append(place)
        self.matrix += [
            MatrixCell(facet=facet.id, document_id=known, sentences=tuple(places))
            for known, places in cells.items()
        ]
        span = Span(start=start, end=len(self.page.text))
        self.sections.append(
            ReportSection(facet=facet.id, title=facet.title, span=span, found=bool(new))
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


# --- what follows the sections --------------------------------------------------------------------


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


def timeline(report: ReportPage) -> tuple[DatedSentence, ...]:
    """A line for each dated source, by date; written where there are at least three."""
    page = report.page
    sources: dict[str, DatedSentence] = {}
    titles: dict[str, str] = {}
    by_number = {one.id: one for one in page.citations}
    for place, sentence in enumerate(page.sentences):
        for number in sentence.citations:
            cited = by_number[number]
            if cited.published_at is not None and cited.document_id not in sources:
                day = f"{cited.published_at:%Y-%m-%d}"
                sources[cited.document_id] = DatedSentence(day=day, sentence=place)
                titles[cited.document_id] = cited.title
    if len(sources) < LEAST_DATED:
        return ()
    report.heading("Timeline")
    ordered = sorted(sources, key=lambda known: (sources[known].day, sources[known].sentence))
    page.text += "\n".join(
        f"- {sources[known].day}: {plain_label(titles[known])} {report.markers([known])}"
        for known in ordered
    )
    return tuple(sources[known] for known in ordered)


def looked_for(report: ReportPage, facets: Sequence[Facet]) -> None:
    """The matrix as a table: each facet, how many sentences tell of it, from which sources."""
    if len(report.sections) < 2:
        return
    report.heading("What was looked for")
    rows = ["| Looked for | Sentences | Sources |", "|---|---|---|"]
    for facet in facets:
        if facet.kind == "question" and not any(one.facet == facet.id for one in report.sections):
            continue  # the summary tells of it
        cells = [cell for cell in report.matrix if cell.facet == facet.id]
        count = len({place for cell in cells for place in cell.sentences})
        title = plain_label(facet.title).replace("|", "/")
        shown = report.markers([cell.document_id for cell in cells]) or (
            "nothing further" if facet.kind == "bridge" else "not found"
        )
        rows.append(f"| {title} | {count} | {shown} |")
    report.page.text += "\n".join(rows)


def not_used(report: ReportPage, documents: Sequence[ReadDocument]) -> None:
    """The documents that were read and are not cited."""
    left = [one for one in documents if not one.cited]
    if not left:
        return
    report.heading("Read but not used")
    named = [plain_label(one.title) for one in left[:MOST_LISTED]]
    more = len(left) - len(named)
    rest = f"\n- and {more} more" if more else ""
    report.page.text += "\n".join(f"- {title}" for title in named) + rest


def plain_label(name: str) -> str:
    """A name for a label, without what Markdown would read as more than a name."""
    plain = "".join(" " if sign in "*_`[]<>\n" else sign for sign in name)
    plain = " ".join(plain.split())
    return plain[:1].upper() + plain[1:]
