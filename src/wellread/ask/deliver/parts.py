"""The replies to the parts of a question as one: each under its part, its citations numbered on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.answers import NOBODY, Confidence, Usage
from wellread.ask.deliver.cite import CitedText, styled
from wellread.ask.deliver.reply import Reply
from wellread.ask.retrieve.retrieval import Found
from wellread.ask.write.drafting import Written
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Span

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
