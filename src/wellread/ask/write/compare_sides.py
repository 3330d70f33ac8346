"""A comparison: what is said of all its sides, then of each under its name.

Whether a sentence is about a side is read off its words, not their stems: "represent" is no
representative. "Cheaper than the ferry" names the ferry, but is about something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.answers import Evidence
from wellread.ask.retrieve.direct import shared_topic, whole_side
from wellread.ask.retrieve.further_passages import HEADED, names_of
from wellread.ask.understand.answer_kind import says_what
from wellread.ask.write.candidate_sentences import Option, Page, in_order, introduces, plain_label
from wellread.ask.write.passage_reading import Chooser
from wellread.ask.write.sentence_choice import is_fragment, repeats
from wellread.ask.write.sentence_score import (
    Scored,
    SentenceFeatures,
    promising,
    score,
)
from wellread.questions import Analysis
from wellread.text.english_questions import STANDARD
from wellread.text.names import singular
from wellread.text.parsed import parse

OF_THE_TWO = 3  # sentences of each side that are scored
OF_A_SIDE = 2  # sentences that are told of each side
TOGETHER = 2  # sentences about several sides that are scored
NEAR = 0.5  # of the best score, that what is told must reach
_APART = re.compile(r"[\s-]+")


def compare_sides(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    features: Sequence[SentenceFeatures],
    chooser: Chooser,
) -> tuple[Page, Sequence[Scored]] | None:
    """A paragraph for what names both sides, then one for each side under its name.

    Where no aspect is asked about, a sentence that says what a side is says enough of it. None
    when fewer than two sides have a sentence of their own.
    """
    names = [whole_side(side, analysis.sides) for side in analysis.sides]
    alone, several = _sides_of(names, evidence, options)
    if sum(map(bool, alone)) < 2:
        return None
    plain = not shared_topic(analysis)
    told_first: list[list[int]] = []
    groups: list[list[int]] = []
    for name, held in zip(names, alone, strict=True):
        called = names_of(name, analysis)
        own = [*held, *(at for at in several if says_what(name, options[at].text))]
        first = [at for at in own if plain and introduces(called, options[at], evidence)][:1]
        best = promising(options, features, within=held, most=OF_THE_TWO) if held else []
        told_first.append(first)
        groups.append([*first, *(at for at in best if at not in first)])
    taken = {at for first in told_first for at in first}
    several = [at for at in several if at not in taken]
    both = promising(options, features, within=several, most=TOGETHER) if several else []
    places = [*both, *(place for group in groups for place in group)]
    scored = score(analysis, evidence, options, features, places, chooser)
    by_option = {(each.option.evidence, each.option.place): each for each in scored}

    def best_of(numbers: Sequence[int]) -> list[Scored]:
        found = [by_option[options[at].evidence, options[at].place] for at in numbers]
        return sorted(found, key=lambda each: -each.score)

    page = Page(evidence=evidence)
    least = NEAR * scored[0].score
    shown = [each for each in best_of(both) if each.score >= least and not is_fragment(each.option)]
    if plain:
        stands = [each for each in shown if not each.option.leaning]
        shown = [each for each in stands if len(_named(names, each.option.text)) > 1][:1]
    if shown:
        page.say_all(in_order([each.option for each in shown], options))
    for name, first, group in zip(names, told_first, groups, strict=True):
        members = best_of(first) or best_of(group)
        kept = _kept(members, shown, least if shown and not plain else 0.0)
        if kept:
            page.label(f"**{plain_label(name)}:**")
            page.say_all(in_order([each.option for each in kept], options))
    return page, scored


def _kept(members: Sequence[Scored], shown: Sequence[Scored], least: float) -> list[Scored]:
    kept: list[Scored] = []
    for each in members:
        said = [other.option for other in (*shown, *kept)]
        near = each.score >= max(least, NEAR * kept[0].score if kept else 0.0)
        new = not any(repeats(each.option, other) for other in said)
        if near and new and len(kept) < OF_A_SIDE:
            kept.append(each)
    return kept


def _sides_of(
    names: Sequence[str], evidence: Sequence[Evidence], options: Sequence[Option]
) -> tuple[list[list[int]], list[int]]:
    """For each side numbers of the options about it alone, and of those about more than one.

    A sentence that names no side is about the one that its title or heading names.
    """
    above = [_named(names, piece.heading.content) for piece in evidence]
    alone: list[list[int]] = [[] for _ in names]
    several: list[int] = []
    for place, option in enumerate(options):
        if not option.readable:
            continue
        named = _named(names, option.text)
        if len(named) > 1 or any(_is_standard(names[at], option.text) for at in named):
            several.append(place)
            continue
        named = named or above[option.evidence]
        if len(named) == 1:
            alone[named[0]].append(place)
    return alone, several


def _named(names: Sequence[str], text: str) -> list[int]:
    """The sides that ``text`` names; what is part of another's longer name is not named."""
    found: list[int] = []
    rest = text
    for at in sorted(range(len(names)), key=lambda number: -len(names[number].split())):
        words = _words(names[at])
        held = frozenset(_words(rest))
        if words and (held.issuperset(words) or _headless(words, held)):
            found.append(at)
            rest = _phrase(names[at]).sub(" ", rest)
    return sorted(found)


def _headless(words: Sequence[str], held: frozenset[str]) -> bool:
    return len(words) >= HEADED and held.issuperset(words[:-1])


def _is_standard(name: str, text: str) -> bool:
    """Whether ``text`` names the side only as that with which something else is compared."""
    phrase = _phrase(name)
    behind = re.compile(rf"\b{STANDARD}\s+(?:(?:the|an?)\s+)?{phrase.pattern}", re.IGNORECASE)
    return behind.search(text) is not None and phrase.search(behind.sub(" ", text)) is None


def _phrase(name: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in _words(name)]
    if len(words) >= HEADED:
        words[-1:] = []
    return re.compile(rf"\b{'[^a-zA-Z0-9]+'.join(words)}(?:e?s)?\b", re.IGNORECASE)


def _words(text: str) -> list[str]:
    """The content words in lower case, as one of each, without a possessive."""
    terms = parse(_APART.sub(" ", text)).terms
    bare = (term.replace("’", "'").removesuffix("'s") for term in terms)
    return [singular(word) or word for word in bare]
