"""The built-in answerer. Read this first.

evidence → its sentences → a score each → those that answer → a text of verbatim sentences in a
readable order, each with the span that it was taken from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wellread.answers import Claim, Evidence
from wellread.ask.retrieve.asked_lists import is_listed
from wellread.ask.retrieve.further_passages import names_of
from wellread.ask.understand.answer_kind import (
    Expected,
    expected_of,
    guide_of,
    holds,
    subject_of,
    wants_steps,
)
from wellread.ask.understand.planted_orders import without_orders
from wellread.ask.understand.text_lists import listings_of
from wellread.ask.write.candidate_sentences import (
    Option,
    Page,
    in_order,
    introduces,
    options_of,
    plain_label,
)
from wellread.ask.write.compare_sides import compare_sides
from wellread.ask.write.leading_sentence import chosen_of
from wellread.ask.write.passage_reading import Chooser
from wellread.ask.write.sentence_choice import announced_after, steps_after, whole_list
from wellread.ask.write.sentence_score import (
    Scored,
    SentenceFeatures,
    features_of,
    read_or_promising,
    score,
)
from wellread.ask.write.source_subjects import with_further_reports
from wellread.questions import Analysis
from wellread.text.english import AFTER_ORDERS, DUTIES, STOP_WORDS
from wellread.text.parsed import parse
from wellread.types import Span

PASSAGES = 16  # of the evidence, best first, whose sentences are looked at
FEWEST, MOST = 2, 7  # sections that are told
OF_A_SECTION = 2  # sentences; a list counts as it is
LONGEST_HEADING = 9  # words
MANY_STEPS = 6  # of one list
SAID_AGAIN = 0.6  # of the question's words, from which a sentence says again what is asked about
_MUST = re.compile(rf"\b(?:{'|'.join(DUTIES)})\b", re.IGNORECASE)
_LIST_OF_NEEDS = re.compile(r"\b(?:has|have|needs?|requires?|must|should)\b[^.]*$")
# "Ask the sewing circle", "Plan with 600 euros": a bare verb, and what it acts on or with.
_ORDER = re.compile(rf"^(?P<verb>[A-Z][a-z]{{1,14}})\s+(?:{'|'.join(AFTER_ORDERS)})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The evidence taken apart: its sentences and what is read off each."""

    evidence: Sequence[Evidence]
    options: Sequence[Option]
    features: Sequence[SentenceFeatures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What was chosen.

    Attributes:
        text: the answer; what it holds beside the claims' sentences are labels of ours.
        best_score: how likely the best sentence answers, 0-1.
        best_similarity: cosine of the question and the nearest of the chosen sentences.
        best_odds: the highest log odds of the reader that a chosen sentence answers; None where it
            read none or a whole list is given.
        material: what it was chosen from.
        arranged: it is a list of a guide's steps or of the sides of a comparison.
    """

    text: str = ""
    claims: tuple[Claim, ...] = ()
    best_score: float = 0.0
    best_similarity: float = 0.0
    best_odds: float | None = None
    material: Material | None = None
    arranged: bool = False


def material_of(analysis: Analysis, evidence: Sequence[Evidence]) -> Material:
    """The sentences of the best passages and of those that report the same event."""
    if analysis.type != "comparative":
        evidence = with_further_reports(evidence, PASSAGES)
    options = options_of(evidence, analysis.voices)
    features = features_of(analysis, evidence, options)
    return Material(evidence=evidence, options=options, features=features)


def extract(
    analysis: Analysis, evidence: Sequence[Evidence], chooser: Chooser, *, most: int
) -> Extract:
    """Choose the sentences that answer, about ``most``; none when the evidence has no sentence.

    Sentences that another needs to be read and further items of a list come on top.
    """
    listed = [at for at, piece in enumerate(evidence) if is_listed(piece)]
    sections = [] if listed else sections_of(analysis, evidence)
    material = material_of(analysis, evidence)
    options, features = material.options, material.features
    if not options:
        return Extract()
    if len(analysis.sides) > 1 and not listed:
        compared = compare_sides(analysis, evidence, options, features, chooser)
        if compared is not None:
            page, scored = compared
            return Extract(
                text=page.text,
                claims=tuple(page.claims),
                best_score=scored[0].score,
                best_similarity=max(each.similarity for each in scored),
                arranged=True,
            )
    places = read_or_promising(options, features, chooser)
    first = [] if listed or sections else _introducing(analysis, material)
    places += [place for place in first if place not in places]
    scored = score(analysis, material.evidence, options, features, places, chooser)
    scored = _led_by([options[place] for place in first], scored, material.evidence)
    if listed:
        return _whole_list(listed, evidence, scored)
    if sections:
        return _stepwise(sections, evidence, scored)
    picked = chosen_of(analysis.question, scored, most, read=chooser.readings is not None)
    chosen = [each.option for each in picked]
    kind = expected_of(analysis.question)
    items = whole_list(picked, options, analysis.parsed.stem_set, kind)
    chosen += [item for item in items if item not in chosen]
    if picked:
        further = _going_on(kind, analysis, chosen, options)
        chosen += [each for each in further if each not in chosen]
    page = Page(evidence=material.evidence)
    page.say_all(in_order(chosen, options))
    return Extract(
        text=page.text,
        claims=tuple(page.claims),
        best_score=scored[0].score,
        best_similarity=max(each.similarity for each in picked),
        best_odds=max(each.odds for each in picked) if chooser.readings else None,
        material=material,
    )


def _going_on(
    kind: Expected, analysis: Analysis, chosen: Sequence[Option], options: Sequence[Option]
) -> list[Option]:
    """The sentences after the best one, where what is asked for stands in them."""
    if wants_steps(analysis.question) or _unreasoned(kind, analysis, chosen):
        return steps_after(chosen[0], options)
    if kind == "number":
        return []
    return announced_after(chosen[0], options, analysis.parsed.stem_set)


def _unreasoned(kind: Expected, analysis: Analysis, chosen: Sequence[Option]) -> bool:
    """Whether a reason is asked for, and what is told only says again what it is the reason of."""
    if kind != "reason" or any(holds(kind, one.text, analysis.question) for one in chosen):
        return False
    asked = analysis.parsed.stem_set
    return len(asked & chosen[0].stems) >= SAID_AGAIN * len(asked)


def _introducing(analysis: Analysis, material: Material) -> list[int]:
    """Numbers of the sentences that say what is asked about as a whole, or what a guide does."""
    names = names_of(subject_of(analysis.question), analysis)
    documents = [piece.hit.document for piece in material.evidence]
    guide = guide_of(analysis.question, " ".join(analysis.terms), documents)
    names = (guide.title,) if guide else names
    return [
        place
        for place, option in enumerate(material.options)
        if option.readable and introduces(names, option, material.evidence)
    ]


def _led_by(
    first: Sequence[Option], scored: Sequence[Scored], evidence: Sequence[Evidence]
) -> list[Scored]:
    """The best of ``first`` leads, with the score of the best; no talk follows a text."""
    lead = next((each for each in scored if each.option in first), None)
    if lead is None:
        return list(scored)
    spoken = {at for at, one in enumerate(evidence) if one.hit.document.kind == "transcript"}
    if lead.option.evidence in spoken:
        spoken = set()
    rest = [each for each in scored if each is not lead and each.option.evidence not in spoken]
    return [replace(lead, score=scored[0].score), *rest]


def _whole_list(
    listed: Sequence[int], evidence: Sequence[Evidence], scored: Sequence[Scored]
) -> Extract:
    """All items of the list that is asked for, under what introduces it."""
    page = Page(evidence=evidence)
    first = evidence[listed[0]]
    heading = first.locator.heading[-1] if first.locator.heading else ""
    if len(listed) == 1:
        listing = listings_of(first.text)[0]
        lead, items = listing.lead, [(listed[0], item) for item in listing.items]
        if lead and lead.of(first.text).rstrip(":") == heading.rstrip(":"):
            lead = None
    else:
        pieces = [(at, Span(start=0, end=len(evidence[at].text))) for at in listed]
        opened = " | " in first.text or (
            first.text.rstrip().endswith(":") and not evidence[listed[1]].text.endswith(":")
        )
        lead, items = (pieces[0][1], pieces[1:]) if opened else (None, pieces)
    if lead is None and heading:
        page.label(f"**{plain_label(heading).rstrip(':')}:**")
    elif lead is not None:
        page.say(_part(listed[0], lead, evidence, place=-1))
    for place, (at, item) in enumerate(items):
        page.say(_part(at, item, evidence, place=place), bullet=True)
    return Extract(
        text=page.text,
        claims=tuple(page.claims),
        best_score=scored[0].score,
        best_similarity=scored[0].similarity,
        arranged=True,
    )


def _part(at: int, span: Span, evidence: Sequence[Evidence], *, place: int) -> Option:
    """A part of a piece of evidence that is told as it stands."""
    begin = evidence[at].span.start
    text = span.of(evidence[at].text)
    return Option(
        evidence=at,
        place=place,
        span=Span(start=begin + span.start, end=begin + span.end),
        text=text,
        stems=parse(text).stem_set,
        readable=True,
        leaning=False,
        item=place >= 0,
    )


def _stepwise(
    sections: Sequence[Section], evidence: Sequence[Evidence], scored: Sequence[Scored]
) -> Extract:
    """What a guide tells to do, a paragraph for each of its sections under its heading."""
    page = Page(evidence=evidence)
    for section in sections:
        page.label(f"**{plain_label(section.heading)}:**" if section.heading else "")
        page.say_all(section.told)
    return Extract(
        text=page.text.lstrip("\n"),
        claims=tuple(page.claims),
        best_score=scored[0].score,
        best_similarity=scored[0].similarity,
        arranged=True,
    )


# --- a guide's steps -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the guide, and its sentences that tell what to do, in order."""

    heading: str
    told: tuple[Option, ...]


def sections_of(analysis: Analysis, evidence: Sequence[Evidence]) -> list[Section]:
    """The sections of the guide that the evidence holds, in its own order; none without a guide."""
    documents = [piece.hit.document for piece in evidence]
    guide = guide_of(analysis.question, " ".join(analysis.terms), documents)
    if guide is None:
        return []
    options = options_of(evidence, analysis.voices)
    places = [at for at, piece in enumerate(evidence) if piece.hit.document.id == guide.id]
    held = [
        (evidence[at], [option for option in options if option.evidence == at])
        for at in sorted(places, key=lambda place: evidence[place].span.start)
    ]
    told = [one for piece, own in held for one in _told_in(piece, own, OF_A_SECTION)]
    if len({section.heading for section in told}) >= FEWEST:
        return told[:MOST]
    short = [one for piece, own in held for one in _told_in(piece, own, MANY_STEPS)]
    return short if len(short) == 1 and len(short[0].told) >= FEWEST else []


def _told_in(piece: Evidence, options: Sequence[Option], most: int) -> Iterator[Section]:
    """The sections of one piece; lines that are headings divide it."""
    heading = without_orders(piece.locator.heading[-1]).strip() if piece.locator.heading else ""
    runs: list[tuple[str, list[Option]]] = [(heading, [])]
    leads = {option.lead for option in options}
    for option in options:
        if option.place not in leads and _is_heading(option, piece):
            runs.append((option.text, []))
        else:
            runs[-1][1].append(option)
    for name, held in runs:
        told: dict[int, Option] = {}
        for option in held:
            lead = next((each.text for each in held if each.place == option.lead), "")
            telling = option.readable and (_tells(option) or _LIST_OF_NEEDS.search(lead))
            if not telling or len(told) >= most:
                continue
            whole = [
                each for each in held if option.item and each.item and each.lead == option.lead
            ]
            told |= {each.place: each for each in whole[:MANY_STEPS] or [option]}
        if told:
            chosen = [told[place] for place in sorted(told)]
            yield Section(heading=name, told=tuple(in_order(chosen, options)))


def _is_heading(option: Option, piece: Evidence) -> bool:
    """Whether it is a line of its own that is one of the headings' kind."""
    start = option.span.start - piece.span.start
    after = piece.text[start + len(option.text) :]
    short = len(option.text.split()) <= LONGEST_HEADING and option.text[:1].isupper()
    alone = after.startswith("\n\n") and (not start or piece.text[:start].endswith("\n\n"))
    return short and alone and not option.item and not option.text.endswith((".", ":", "!", "?"))


def _tells(option: Option) -> bool:
    """Whether it tells a reader what to do."""
    if _MUST.search(option.text):
        return True
    order = _ORDER.match(option.text)
    return order is not None and order["verb"].lower() not in STOP_WORDS
