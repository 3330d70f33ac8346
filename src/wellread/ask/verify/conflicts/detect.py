"""Finds where passages answer one question differently, and where they mean different things.

Of every document the sentence that answers best is taken. Two such sentences are at odds when

- they are the same but for a number or a name, or one of them is negated;
- both speak of all that is asked for, and give other dates, numbers or people;
- both report one event, and count otherwise, or blame something else.

When two documents say that they are about different bearers of the name in the question, their
answers do not disagree: the question can mean several things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import Expected, expected_of
from wellread.ask.verify.conflicts.compared_values import (
    LASTING,
    causes,
    comparable,
    counts,
    counts_things,
    opposed,
    other_years,
    swapped,
    values,
)
from wellread.ask.write.candidate_sentences import Option
from wellread.ask.write.sentence_score import SentenceFeatures
from wellread.ask.write.source_subjects import (
    OPENING,
    TOGETHER,
    Identity,
    Report,
    about,
    differ,
    identities,
    named_stems,
    reports_of,
    same_event,
)
from wellread.questions import Analysis
from wellread.text.parsed import parse

MOST_VIEWS = 5
OF_ONE = 5  # sentences of one document that are compared with those of others
COVERED = 0.75  # of the question's terms, that a sentence and what is above it hold
COUNTED = 0.75  # of them, that it holds with title and opening, where it counts what is asked for
COUNTED_TOO = 0.4  # of them, where a report of the same event holds those
ON_TOPIC = 0.3  # of them, that a sentence holds which repeats another with other values
# Of what is asked about the name, that a sentence holds whose values count. Numbers stand near
# what they measure anyhow.
DIRECT, DIRECT_NUMBER = 0.99, 0.6
SHORT = 18  # words of such a sentence
LEAST_FOCUS = 0.45  # of how well the best sentence answers, for another view to count


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A document's answer.

    Attributes:
        title: the document's, where it holds the name that is asked about.
        worth: how well it answers, to compare documents by.
        focus: share of what is asked about the name that it holds.
        counts: how many of what is asked to be counted it says there are.
        counting: whether the question asks how many of something there are.
        years: of which it speaks, but for that of the question and its document's own.
        covered: share of all terms of the question that it, title and headings hold.
        lacks: names of the question that neither it nor its document's opening holds.
        report: the event that its document reports, where it reports one.
        published: when its document was.
    """

    option: Option
    document: str
    title: str
    worth: float
    focus: float
    covered: float
    values: frozenset[str]
    counts: frozenset[str]
    counting: bool
    years: frozenset[str]
    lacks: frozenset[str]
    identities: tuple[Identity, ...]
    report: Report | None
    published: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Documents that answer differently.

    Attributes:
        kind: ``meanings`` when they are about different things of one name.
        views: sentences that agree stand together; best first.
    """

    kind: Literal["conflict", "meanings"]
    about: str
    views: tuple[tuple[Option, ...], ...]


def disagreement(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    features: Sequence[SentenceFeatures],
) -> Disagreement | None:
    """What the evidence disagrees on; None when it speaks with one voice or none can tell."""
    kind = expected_of(analysis.question)
    name = _subject(analysis)
    by_document = _sides(analysis, evidence, options, features, kind, name)
    sides = [held[0] for held in by_document]
    meanings = _meanings([side for side in sides if _could_answer(side, kind)])
    if len(meanings) > 1:
        said = [view for meaning in meanings for view in _views(meaning, kind)]
        views = [*said, *_unplaced(sides, said)]
        return Disagreement(
            kind="meanings", about=name, views=tuple(_options(view) for view in views[:MOST_VIEWS])
        )
    views = _views(sides, kind)
    if len(views) == 1:
        views = _rivals(by_document, kind) or _counted(by_document, analysis.question) or views
    told = [_options(view) for view in views]
    if len(told) < 2 and kind == "reason":
        told = [tuple(view) for view in causes(analysis.question, evidence, options)]
    if len(told) > 1:
        return Disagreement(
            kind="conflict", about=analysis.question, views=tuple(told[:MOST_VIEWS])
        )
    return None


def _unplaced(sides: Sequence[Side], views: Sequence[Sequence[Side]]) -> list[list[Side]]:
    """Further answers by documents that do not say which bearer of the name they mean."""
    placed = {side.document for view in views for side in view}
    told = frozenset(value for view in views for side in view for value in side.values)
    return [
        [side]
        for side in sides
        if side.document not in placed
        and side.worth >= LEAST_FOCUS * sides[0].worth
        and side.values
        and told.isdisjoint(side.values)
    ]


def _rivals(by_document: Sequence[Sequence[Side]], kind: Expected) -> list[list[Side]]:
    """Two sentences of two documents that are the same but for a value; empty when none are."""
    if not by_document:
        return []
    least = LEAST_FOCUS * by_document[0][0].worth
    for number, held in enumerate(by_document):
        for others in by_document[number + 1 :]:
            for one in held:
                for other in others:
                    if min(one.worth, other.worth) >= least and _contradict(one, other, kind):
                        return [[one], [other]]
    return []


def _counted(by_document: Sequence[Sequence[Side]], question: str) -> list[list[Side]]:
    """A sentence each of documents that count what is asked for, and count otherwise."""
    counting = [side for held in by_document if (side := _counting(held)) is not None]
    first = [side for side in counting if side.covered >= COUNTED]
    # Times stand beside much: for "how long" the sentence itself has to tell of what lasted.
    lasting = LASTING.search(question) is not None
    telling = [
        side
        for side in counting
        if (side in first and (side.focus >= DIRECT_NUMBER or not (lasting or _late(side, first))))
        or any(_of_one_event(question, side, other) for other in first if other is not side)
    ]
    found: dict[frozenset[str], list[Side]] = {}
    for side in telling:
        if side.years != telling[0].years:  # there were so many at another time
            continue
        found.setdefault(side.counts, []).append(side)
    units = {value.rpartition(" ")[2] for counted in found for value in counted}
    return list(found.values()) if len(found) > 1 and len(units) == 1 else []


def _counting(held: Sequence[Side]) -> Side | None:
    """The first of a document's sentences that says how many there are."""
    sides = (side for side in held if len(side.counts) == 1 and side.covered >= COUNTED_TOO)
    return max(sides, key=lambda side: side.covered >= COUNTED, default=None)


def _late(side: Side, others: Sequence[Side]) -> bool:
    """Whether another document that counts is of another time: it may count something else."""
    days = [other.published for other in others if other.published is not None]
    if side.published is None or not days:
        return False
    return any(abs(side.published - day) > TOGETHER for day in days)


def _of_one_event(question: str, one: Side, other: Side) -> bool:
    if one.report is None or other.report is None:
        return False
    return same_event(one.report, other.report) and about(question, one.report, other.report)


def _subject(analysis: Analysis) -> str:
    """What the question is about: its longest name."""
    named = [name for name in analysis.names if not name[:1].isdigit()]
    return max(named, key=len, default="")


def _sides(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    features: Sequence[SentenceFeatures],
    kind: Expected,
    name: str,
) -> list[list[Side]]:
    """The best answering sentences of every document, best first."""
    asked = analysis.parsed.stem_set
    focus = (asked - parse(name).stem_set) or asked or frozenset([""])
    who = [identities(name, piece) if name else () for piece in evidence]
    reports = reports_of(evidence)
    openings = [
        parse(f"{piece.hit.document.title} {piece.text[:OPENING]}").stem_set for piece in evidence
    ]
    named = named_stems(analysis.question)
    held_by: dict[str, list[Side]] = {}
    for option, read in zip(options, features, strict=True):
        if not option.readable or read.fits < 0:
            continue
        facts = evidence[option.evidence].hit.document
        held = len(focus & option.stems) / len(focus)
        side = Side(
            option=option,
            document=facts.id,
            title=_naming(facts.title, name),
            focus=held,
            covered=len(asked & (option.stems | openings[option.evidence])) / (len(asked) or 1),
            worth=held
            + 0.6 * read.terms
            + 0.5 * (read.expected - read.lacking)
            + 0.25 * (option.place == 0)
            + 0.2 * read.pairs
            - 0.2 * option.leaning,
            values=values(kind, option.text, analysis.question),
            counts=counts(option.text, analysis.question),
            counting=counts_things(analysis.question),
            years=other_years(option.text, analysis.question, facts.published_at),
            lacks=named - option.stems - openings[option.evidence],
            identities=who[option.evidence],
            report=reports[option.evidence],
            published=facts.published_at.date() if facts.published_at else None,
        )
        held_by.setdefault(facts.id, []).append(side)
    best = [
        sorted(sides, key=lambda side: (-side.worth, side.option.evidence, side.option.place))[
            :OF_ONE
        ]
        for sides in held_by.values()
    ]
    best.sort(key=lambda sides: (-sides[0].worth, sides[0].option.evidence))
    # What lacks a name that the best has speaks of something else.
    return [sides for sides in best if sides[0].lacks <= best[0][0].lacks]


def _naming(title: str, name: str) -> str:
    """The title where it holds the name: two documents of one such title mean the same thing."""
    return title if parse(name).stem_set <= parse(title).stem_set else ""


def _same_title(one: Side, other: Side) -> bool:
    return bool(one.title) and one.title == other.title


def _could_answer(side: Side, kind: Expected) -> bool:
    """Where a number is asked for, what gives none for it is no other answer."""
    return kind != "number" or bool(side.values and side.focus)


def _meanings(sides: Sequence[Side]) -> list[list[Side]]:
    """The sides by what they are about; those that do not say so are left out."""
    groups: list[list[Side]] = []
    for side in sides:
        if not side.identities or side.worth < LEAST_FOCUS * sides[0].worth:
            continue
        for group in groups:
            if _same_title(group[0], side) or not differ(group[0].identities, side.identities):
                group.append(side)
                break
        else:
            groups.append([side])
    return groups


def _views(sides: Sequence[Side], kind: Expected) -> list[list[Side]]:
    """The sides by what they say: one group unless a side is at odds with the first."""
    if not sides:
        return []
    views: list[list[Side]] = [[sides[0]]]
    for side in sides[1:]:
        if side.worth < LEAST_FOCUS * sides[0].worth:
            continue
        if all(_at_odds(view[0], side, kind) for view in views):
            views.append([side])
            continue
        for view in views:
            if view[0].values & side.values:
                view.append(side)
                break
    return views


def _at_odds(one: Side, other: Side, kind: Expected) -> bool:
    if _contradict(one, other, kind):
        return True
    if kind not in ("date", "number", "person"):
        return False
    if not (_direct(one, kind) and _direct(other, kind)):
        return False
    both = min(one.covered, other.covered) >= COVERED
    if one.counting:  # what is counted changes with time, and other numbers count other things
        at_once = one.years == other.years and one.counts and other.counts
        return bool(both and at_once and one.counts.isdisjoint(other.counts))
    told = comparable(kind, one.values, other.values)
    return both and told and one.values.isdisjoint(other.values)


def _direct(side: Side, kind: Expected) -> bool:
    """Whether it says little else: a long sentence has dates and people of other things, too."""
    least = DIRECT_NUMBER if kind == "number" else DIRECT
    return side.focus >= least and len(side.option.text.split()) <= SHORT


def _contradict(one: Side, other: Side, kind: Expected) -> bool:
    if min(one.covered, other.covered) < ON_TOPIC:
        return False
    first, second = one.option.text, other.option.text
    # Another number or name in two sentences that are otherwise alike is no other reason.
    told = kind not in ("reason", "way") and swapped(first, second) is not None
    return told or opposed(first, second)


def _options(view: Sequence[Side]) -> tuple[Option, ...]:
    return tuple(side.option for side in view[:2])
