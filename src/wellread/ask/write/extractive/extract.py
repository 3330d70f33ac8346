"""The built-in answerer. Read this first.

evidence → its sentences → a score each → those that answer, and where sources disagree → a text
of verbatim sentences in a readable order, each with the span that it was taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Claim, Evidence
from wellread.ask.understand.answer_kind import expected_of
from wellread.ask.verify.conflicts.detect import Disagreement, disagreement
from wellread.ask.verify.conflicts.dispute import Dispute, told
from wellread.ask.verify.conflicts.events import with_further_reports
from wellread.ask.write.extractive.arrange import Page, in_order
from wellread.ask.write.extractive.candidate_sentences import Option, options_of
from wellread.ask.write.extractive.guide_steps import Section, sections_of
from wellread.ask.write.extractive.pick import pick, repeats, whole_list
from wellread.ask.write.extractive.sentence_score import Reading, Scored, promising, read, score
from wellread.ask.write.extractive.side_sentences import OF_A_SIDE, SidePlaces, sides_of
from wellread.models.base import Embedder
from wellread.questions import Analysis

PASSAGES = 8  # of the evidence, best first, whose sentences are looked at
OF_THE_TWO = 3  # sentences of each side of a comparison that are embedded
TOGETHER = 2  # sentences about several sides that are embedded


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What was chosen.

    Attributes:
        text: the answer; what it holds beside the claims' sentences are labels of ours.
        best_score: how likely the best sentence answers, 0-1.
        best_similarity: cosine of the question and the nearest of the chosen sentences.
    """

    text: str = ""
    claims: tuple[Claim, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    best_score: float = 0.0
    best_similarity: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """The evidence taken apart."""

    evidence: Sequence[Evidence]
    options: Sequence[Option]
    readings: Sequence[Reading]


def extract(
    analysis: Analysis, evidence: Sequence[Evidence], embedder: Embedder, *, most: int
) -> Extract:
    """Choose the sentences that answer, about ``most``; none when the evidence has no sentence.

    Sentences that another needs to be read, further items of a list and the other views of a
    disagreement come on top.
    """
    sections, whole = sections_of(analysis, evidence), evidence
    if analysis.type != "comparative":
        evidence = with_further_reports(evidence, PASSAGES)
    options = options_of(evidence)
    if not options:
        return Extract()
    material = _Material(
        evidence=evidence, options=options, readings=read(analysis, evidence, options)
    )
    page = Page(evidence=evidence)
    if len(analysis.sides) > 1:
        sides, several = sides_of(analysis.sides, evidence, options)
        if sum(bool(side.places) for side in sides) > 1:
            return _compared(analysis, material, sides, several, embedder)
    scored = score(
        analysis,
        evidence,
        material.options,
        material.readings,
        promising(options, material.readings),
        embedder,
    )
    if sections:
        return _stepwise(sections, whole, scored)
    disputes = []
    picked = pick(scored, most, expected_of(analysis.question))
    found = disputed(analysis, evidence, options, material.readings)
    if found is not None:
        disputes.append(told(found, evidence, page))
    else:
        chosen = [each.option for each in picked]
        chosen += [item for item in whole_list(picked, options) if item not in chosen]
        page.say_all(in_order(_dated_first(analysis, picked, chosen), options))
    return Extract(
        text=page.text,
        claims=tuple(page.claims),
        disputes=tuple(disputes),
        best_score=scored[0].score,
        best_similarity=max(each.similarity for each in picked),
    )


def _stepwise(
    sections: Sequence[Section], evidence: Sequence[Evidence], scored: Sequence[Scored]
) -> Extract:
    """What a guide tells to do, a paragraph for each of its sections under its heading."""
    page = Page(evidence=evidence)
    for section in sections:
        page.label(f"**{_plain(section.heading)}:**" if section.heading else "")
        page.say_all(section.told)
    return Extract(
        text=page.text.lstrip("\n"),
        claims=tuple(page.claims),
        best_score=scored[0].score,
        best_similarity=scored[0].similarity,
    )


def disputed(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    readings: Sequence[Reading],
) -> Disagreement | None:
    """What the sources disagree on, where the question asks for one thing."""
    if analysis.type not in ("factual", "temporal", "counting"):
        return None
    return disagreement(analysis, evidence, options, readings)


def _dated_first(
    analysis: Analysis, picked: Sequence[Scored], chosen: list[Option]
) -> list[Option]:
    """For "when", a sentence with a date leads."""
    if analysis.type != "temporal" or picked[0].reading.expected:
        return chosen
    dated = [each.option for each in picked if each.reading.expected]
    return [*dated, *(option for option in chosen if option not in dated)]


def _compared(
    analysis: Analysis,
    material: _Material,
    sides: Sequence[SidePlaces],
    several: Sequence[int],
    embedder: Embedder,
) -> Extract:
    """A paragraph for what names both sides, then one for each side under its name."""
    options, readings = material.options, material.readings
    groups = [promising(options, readings, within=side.places, most=OF_THE_TWO) for side in sides]
    both = promising(options, readings, within=several, most=TOGETHER) if several else []
    places = [*both, *(place for group in groups for place in group)]
    scored = score(analysis, material.evidence, options, readings, places, embedder)
    by_option = {(each.option.evidence, each.option.place): each for each in scored}
    page = Page(evidence=material.evidence)
    together = [by_option[options[place].evidence, options[place].place] for place in both]
    shown = [each for each in _best(together) if each.score >= scored[0].score / 2][:TOGETHER]
    if shown:
        page.say_all(in_order([each.option for each in shown], options))
    for side, group in zip(sides, groups, strict=True):
        members = _best([by_option[options[p].evidence, options[p].place] for p in group])
        kept: list[Scored] = []
        for each in members:
            said = [other.option for other in (*shown, *kept)]
            if len(kept) < OF_A_SIDE and not any(repeats(each.option, o) for o in said):
                kept.append(each)
        kept = [each for each in kept if each.score >= kept[0].score / 2]
        if kept:
            page.label(f"**{_plain(side.name)}:**")
            page.say_all(in_order([each.option for each in kept], options))
    return Extract(
        text=page.text,
        claims=tuple(page.claims),
        best_score=scored[0].score,
        best_similarity=max(each.similarity for each in scored),
    )


def _best(scored: Sequence[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda each: -each.score)


def _plain(name: str) -> str:
    """A side's name without what Markdown would read as more than a name."""
    plain = "".join(" " if sign in "*_`[]<>\n" else sign for sign in name)
    plain = " ".join(plain.split())
    return plain[:1].upper() + plain[1:]
