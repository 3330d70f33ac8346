"""Which of the scored sentences make up the answer: enough, no filler, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.retrieve.fuse import overlap
from wellread.ask.understand.answer_kind import Expected
from wellread.ask.write.extractive.candidate_sentences import Option
from wellread.ask.write.extractive.sentence_score import Scored
from wellread.text.parsed import parse

KEEP = 0.42  # of the best score: a further sentence must reach it
KEEP_AFTER_FACT = 0.68  # where the best one already gives the person, date, number or place
KEEP_LEANING = 0.75  # where it cannot be read without one that is not part of the answer yet
SAME = 0.55  # share of words in common from which a sentence repeats another
INSIDE = 0.85  # of the shorter one's words, from which it is part of the longer one
MANY_ITEMS = 8  # of one list


def pick(scored: Sequence[Scored], most: int, kind: Expected) -> list[Scored]:
    """The best sentence and those nearly as good that say something else, best first."""
    if not scored:
        return []
    best = scored[0]
    told = best.reading.expected and kind in ("person", "date", "number", "place")
    least = (KEEP_AFTER_FACT if told else KEEP) * best.score
    picked = [best]
    for each in scored[1:]:
        if len(picked) == most or each.score < least:
            break
        if told and each.reading.fits < best.reading.fits:
            continue
        if each.score < KEEP_LEANING * best.score and _needs_another(each.option, picked):
            continue
        if _is_fragment(each.option) and not best.option.item:
            continue
        if not any(repeats(each.option, other.option) for other in picked):
            picked.append(each)
    return picked


def _needs_another(option: Option, picked: Sequence[Scored]) -> bool:
    return option.leaning and not any(
        (each.option.evidence, each.option.place) == (option.evidence, option.place - 1)
        for each in picked
    )


def _is_fragment(option: Option) -> bool:
    """Whether it is an item of a list that is no sentence: it says little beside sentences."""
    return option.item and not option.text.rstrip("\"'”’)").endswith((".", "!", "…"))


def repeats(one: Option, other: Option) -> bool:
    """Whether one of two sentences says nothing that the other does not.

    Two sentences with other numbers are never repeats: which of them is right is the reader's.
    """
    first, second = parse(one.text).numbers, parse(other.text).numbers
    if first and second and not (first <= second or second <= first):
        return False
    shorter = min(len(one.stems), len(other.stems))
    if shorter and len(one.stems & other.stems) >= INSIDE * shorter and shorter >= 4:
        return True
    return overlap(one.stems, other.stems) >= SAME


def whole_list(picked: Sequence[Scored], options: Sequence[Option]) -> list[Option]:
    """The items of the list that two picked sentences stand in; empty when there is none."""
    lists = [
        (each.option.evidence, each.option.lead)
        for each in picked
        if each.option.item and each.option.lead >= 0
    ]
    doubled = next((each for each in lists if lists.count(each) > 1), None)
    if doubled is None:
        return []
    items = [
        option for option in options if option.item and (option.evidence, option.lead) == doubled
    ]
    return items if len(items) <= MANY_ITEMS else []
