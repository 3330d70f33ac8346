"""Sections and summary of a report, written by a language model and checked before they are shown.

A section is written from its own evidence alone, the summary from sentences that were checked. A
model judges them (``judge.py``): what cites nothing is removed and counted, and so is what is
unsupported where ``citations.strict`` says so; the rest is shown with its mark. A section of which
nothing is left is empty, and is told as "not found".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anyio import to_thread

from wellread.answers import (
    EXTRACTIVE,
    NOBODY,
    Checked,
    Claim,
    Evidence,
    Usage,
)
from wellread.ask.deliver.prune_draft import Deliverable, pruned
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.judge import NO_QUESTION, Opinion, Ruling, opinion_on, ruling_by
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.extracts import Extract
from wellread.ask.write.parse_draft import parse_draft
from wellread.ask.write.prompts import pieces_of, said_in, wordings
from wellread.ask.write.prompts.guard import Guard
from wellread.codec import from_plain, to_plain
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.models.base import Prompt
from wellread.models.prompts import fence_of, fenced, template
from wellread.questions import Analysis
from wellread.reports import Facet, ProgressEvent, StopReason
from wellread.research.model.asking import Heard, ask_in_turn
from wellread.research.model.context import RunContext

PACKAGE = "wellread.research.model"
LEAST_SENTENCES, MOST_SENTENCES = 2, 8  # of a section
LEAST_SUMMARY, MOST_SUMMARY = 3, 5
NOT_FOUND = "NOT FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionDraft:
    """A section, or the summary, each sentence with its verdict.

    Attributes:
        text: Markdown without citation markers; empty: nothing of it is borne out.
        extracts: what is shown in place of a text, where no model wrote; ``checked`` holds their
            marked sentences.
        checked: its sentences in order, with verdict and evidence keys; each stands in ``text``
            behind the one before it.
        by: the model's name, ``extractive``, or ``none`` for an empty one that nobody wrote.
        fallback: why another than the configured model wrote it; empty when none did.
        removed: sentences that cited nothing or, where the settings are strict, are unsupported.
        unknown_keys: evidence keys that the model made up.
        withheld: sentences and lines that must not be shown.
        stopped: the run's limit that kept the model from being asked.
    """

    text: str = ""
    extracts: tuple[Extract, ...] = ()
    checked: tuple[Checked, ...] = ()
    by: str = NOBODY
    fallback: str = ""
    removed: int = 0
    unknown_keys: int = 0
    withheld: int = 0
    usage: Usage = field(default_factory=Usage)
    stopped: StopReason | None = None

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The sentences with the evidence keys they cite."""
        return tuple(item.claim for item in self.checked)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySource:
    """A section as the summary sees it: its title and its supported sentences."""

    title: str
    checked: tuple[Checked, ...]


async def write_section(
    kb: KnowledgeBase,
    question: str,
    facet: Facet,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    run: RunContext,
) -> SectionDraft:
    """The section on ``facet``, from ``evidence`` alone.

    When no model writes it, it is empty and says why.

    Args:
        question: of the report as a whole.
        analysis: of what the section is about.
        evidence: under keys that are the report's.

    Raises:
        SettingsError: a model's name or address cannot be used.
        StoreError, ModelError: the catalogue or the embedder cannot be used.
    """
    if not evidence:
        return SectionDraft()
    fence = fence_of(question, facet.title, *(piece.text for piece in evidence))
    prompt = _section_prompt(question, facet, analysis, evidence, fence)
    heard = await ask_in_turn(kb, run, f"section:{facet.id}", lambda _: prompt)
    if heard.text.strip():
        free = [question, facet.title, *said_in(evidence)]
        guard = Guard(prompt.system, fence, free)
        about = replace(analysis, question=f"{question}\n{facet.title}")
        return await _kept(kb, run, heard, guard, (about, evidence))
    return SectionDraft(fallback=_why(kb, heard), stopped=heard.stopped)


async def write_summary(
    kb: KnowledgeBase,
    question: str,
    sections: Sequence[SummarySource],
    evidence: Sequence[Evidence],
    run: RunContext,
) -> SectionDraft:
    """The summary in three to five sentences, from the sentences of the sections alone.

    When no model writes it, or too little of what it writes is borne out, sentences of the
    sections are taken as they are, and the draft says why.

    Args:
        evidence: of the whole report; a sentence is checked against what the sections cite.

    Raises:
        SettingsError: a model's name or address cannot be used.
        StoreError, ModelError: the catalogue or the embedder cannot be used.
    """
    given = [item for section in sections for item in section.checked]
    if not given:
        return SectionDraft()
    cited = {key for item in given for key in item.claim.keys}
    pieces = [piece for piece in evidence if piece.key in cited]
    fence = fence_of(question, *(item.claim.text for item in given))
    prompt = _summary_prompt(question, sections, fence)
    heard = await ask_in_turn(kb, run, "summary", lambda _: prompt)
    reason = _why(kb, heard)
    if heard.text.strip():
        free = [question, *(section.title for section in sections), *said_in(pieces)]
        guard = Guard(prompt.system, fence, [*free, *(item.claim.text for item in given)])
        made = await _kept(kb, run, heard, guard, (replace(NO_QUESTION, question=question), pieces))
        if len(made.checked) >= min(LEAST_SUMMARY, len(given)):
            return _shortened(made)
        written = len(made.checked) + made.removed
        reason = f"only {len(made.checked)} of {written} sentences of {heard.by} were supported"
        return replace(
            _first_of(sections),
            fallback="; ".join([*heard.reasons, reason]),
            removed=made.removed,
            unknown_keys=made.unknown_keys,
            withheld=made.withheld,
            usage=made.usage,
        )
    return replace(_first_of(sections), fallback=reason, stopped=heard.stopped)


# --- what is asked ---------------------------------------------------------------------------


def _section_prompt(
    question: str, facet: Facet, analysis: Analysis, evidence: Sequence[Evidence], fence: str
) -> Prompt:
    return Prompt(
        system=template("section_system.md", PACKAGE).render(
            fence=fence,
            least=LEAST_SENTENCES,
            most=MOST_SENTENCES,
            wording=wordings()[analysis.type],
            voices=[_line(name, fence) for name in analysis.voices],
        ),
        user=template("section_user.md", PACKAGE).render(
            fence=fence,
            pieces=pieces_of(evidence, fence),
            question=_line(question, fence),
            topic=_line(facet.title, fence),
        ),
    )


def _summary_prompt(question: str, sections: Sequence[SummarySource], fence: str) -> Prompt:
    shown = [
        {
            "title": _line(section.title, fence),
            "sentences": [
                f"{_line(item.claim.text, fence)} {''.join(f'[{key}]' for key in item.claim.keys)}"
                for item in section.checked
            ],
        }
        for section in sections
        if section.checked
    ]
    return Prompt(
        system=template("summary_system.md", PACKAGE).render(
            fence=fence, least=LEAST_SUMMARY, most=MOST_SUMMARY
        ),
        user=template("summary_user.md", PACKAGE).render(
            fence=fence, sections=shown, question=_line(question, fence)
        ),
    )


def _line(text: str, fence: str) -> str:
    return " ".join(fenced(text, fence).split())


# --- what is kept ----------------------------------------------------------------------------


async def _kept(
    kb: KnowledgeBase,
    run: RunContext,
    heard: Heard,
    guard: Guard,
    asked: tuple[Analysis, Sequence[Evidence]],
) -> SectionDraft:
    """What of a reply may be shown, after a judge has seen it."""
    analysis, evidence = asked
    draft = parse_draft(heard.text, {piece.key for piece in evidence}, guard, evidence=evidence)
    said = SectionDraft(
        by=heard.by,
        fallback=heard.told,
        unknown_keys=draft.unknown_keys,
        withheld=draft.withheld,
        usage=usage_of(heard.usage),
    )
    if draft.text.strip(" .*_").upper() == NOT_FOUND:
        return said
    checked = await to_thread.run_sync(check_claims, draft.claims, evidence, analysis.voices)
    ruling = await _judged(kb, run, analysis, evidence, checked, heard.by)
    strict, voices = kb.settings.citations.strict, bool(analysis.voices)
    shown = Deliverable(strict=strict, required=True, voices=voices)
    fit = [item for item in ruling.checked if shown.holds(item)]
    text, kept = pruned(draft.text, ruling.checked, fit)
    stated = [item for item in kept if not item.verdict.states_nothing]
    said = replace(
        said,
        removed=len(checked) - len(kept),
        fallback="; ".join(filter(None, (said.fallback, ruling.failure))),
        usage=said.usage + ruling.usage,
    )
    return replace(said, text=text, checked=tuple(stated)) if stated else said


async def _judged(
    kb: KnowledgeBase,
    run: RunContext,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    by: str,
) -> Ruling:
    """The sentences after a judge has seen them; the call is a step of the run's journal."""

    async def ask() -> Any:
        return to_plain(await opinion_on(kb, analysis, evidence, checked, by=by))

    if run.stop():
        return Ruling(checked=checked)
    key = tagged_hash("judge", *(item.claim.text for item in checked))
    opinion = from_plain(Opinion, await run.once(f"judge:{key}", ask))
    if opinion.by or opinion.usage.cost:
        run.spend(opinion.usage)
    return ruling_by(opinion, analysis, evidence, checked)


def draft_of(extracts: Sequence[Extract]) -> SectionDraft:
    """A section that shows ``extracts``."""
    checked = tuple(
        Checked(
            claim=Claim(text=extract.of(span), keys=(extract.piece.key,), source=span),
            verdict=extract.verdict(span),
        )
        for extract in extracts
        for span in sorted(extract.marked, key=lambda span: span.start)
    )
    return SectionDraft(extracts=tuple(extracts), checked=checked, by=EXTRACTIVE)


def _shortened(made: SectionDraft) -> SectionDraft:
    """The summary with no more sentences than one may have."""
    if len(made.checked) <= MOST_SUMMARY:
        return made
    text, kept = pruned(made.text, made.checked, made.checked[:MOST_SUMMARY])
    return replace(made, text=text, checked=tuple(kept))


def _first_of(sections: Sequence[SummarySource]) -> SectionDraft:
    """The first sentence of each section, then the second ones, as many as a summary has."""
    depth = max(len(section.checked) for section in sections)
    taken = [
        section.checked[place]
        for place in range(depth)
        for section in sections
        if place < len(section.checked)
    ]
    texts: dict[str, Checked] = {}
    for item in taken:
        texts.setdefault(item.claim.text, item)
    kept = tuple(texts.values())[:MOST_SUMMARY]
    return SectionDraft(
        text=" ".join(item.claim.text for item in kept), checked=kept, by=EXTRACTIVE
    )


def _why(kb: KnowledgeBase, heard: Heard) -> str:
    """Why the configured model did not write; empty where none is configured."""
    if "model" not in kb.models.names():
        return ""
    if heard.stopped:
        limit = heard.stopped.replace("_", " ")
        return "; ".join([*heard.reasons, f"no model was asked: {limit}"])
    if heard.by and not heard.text.strip():
        return "; ".join([*heard.reasons, f"{heard.by} gave an empty reply"])
    return heard.told


# --- the whole report ----------------------------------------------------------------------------


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
