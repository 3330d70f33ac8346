"""Which of the scored sentences make up the answer: few, each of which adds something asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.ask.retrieve.ranking import overlap
from wellread.ask.understand.answer_kind import SURE, Expected
from wellread.ask.write.candidate_sentences import Option
from wellread.ask.write.sentence_score import Scored, SentenceFeatures
from wellread.text.english import COUNTING_ON, NUMBER_WORDS
from wellread.text.parsed import parse
from wellread.text.words import words_in

KEEP = 0.42  # of the best score: a further sentence must reach it
KEEP_READ = 0.65  # the same where the passages were read
FAR = 2.0  # log odds of the reader under the best sentence's from which another adds nothing
KEEP_AFTER_FACT = 0.8  # where the best one already gives the person, date, number or place
ENOUGH = 0.8  # of the score, from which one sentence that gives such a fact is the answer
KEEP_LEANING = 0.75  # where it cannot be read without one that is not part of the answer yet
SAME = 0.55  # share of words in common from which a sentence repeats another
INSIDE = 0.85  # of the shorter one's words, from which it is part of the longer one
MANY_ITEMS = 8  # of one list
STEPS, STEP_WORDS = 3, 50  # sentences and words that go on with what is to be done
# "… is tied to two strict conditions."
_ANNOUNCED = re.compile(
    rf"\b(?:{'|'.join(NUMBER_WORDS.keys() - {'zero', 'one'})}|[2-9])"
    r"\s+(?:[^\W\d_]+\s+){0,2}(?P<named>[^\W\d_]+s)\W*$",
    re.IGNORECASE,
)


def pick(scored: Sequence[Scored], most: int, kind: Expected, keep: float = KEEP) -> list[Scored]:
    """The best sentence and those nearly as good that say something else, best first.

    Where a person, date, number or place is asked for, those that give none are left out if another
    does, and nothing is added to one that surely does.

    Args:
        keep: of the best score, what a further sentence must reach.
    """
    if not scored:
        return []
    best = scored[0]
    asked = kind in SURE
    told = best.features.expected and asked
    if told and best.score >= ENOUGH and best.features.fits >= 0:
        return [best]
    least = max(keep, KEEP_AFTER_FACT if told else 0.0) * best.score
    picked = [best]
    for each in scored[1:]:
        if len(picked) == most or each.score < least:
            break
        if told and each.features.fits < best.features.fits:
            continue
        if each.odds < best.odds - FAR and (told or not asked):
            continue
        if each.score < KEEP_LEANING * best.score and _needs_another(each.option, picked):
            continue
        if is_fragment(each.option) and not best.option.item:
            continue
        if not any(repeats(each.option, other.option) for other in picked):
            picked.append(each)
    giving = [each for each in picked if _gives(each.features)] if asked else []
    return giving or picked


def _gives(features: SentenceFeatures) -> bool:
    """Whether a sentence holds the kind of thing that is asked for, of the kind it is."""
    return features.fits > 0 or (features.fits == 0 and features.expected)


def _needs_another(option: Option, picked: Sequence[Scored]) -> bool:
    return option.leaning and not any(
        (each.option.evidence, each.option.place) == (option.evidence, option.place - 1)
        for each in picked
    )


def is_fragment(option: Option) -> bool:
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


def whole_list(
    picked: Sequence[Scored], options: Sequence[Option], asked: frozenset[str], kind: Expected
) -> list[Option]:
    """The items of the list that a picked sentence leads to, or two picked ones stand in.

    Also those beside the best item where what introduces them holds what is asked, and no single
    person, date, number or place is.

    Args:
        asked: the question's words, as stems.
    """
    lists = [
        (each.option.evidence, each.option.lead)
        for each in picked
        if each.option.item and each.option.lead >= 0
    ]
    leads = {(each.option.evidence, each.option.place) for each in picked}
    led = [(each.evidence, each.lead) for each in options if each.item]
    doubled = next((each for each in lists if lists.count(each) > 1), None)
    doubled = next((each for each in led if each in leads), doubled)
    if doubled is None and kind not in SURE:
        doubled = _introduced(picked[0].option, options, asked) if picked else None
    if doubled is None:
        return []
    items = [
        option for option in options if option.item and (option.evidence, option.lead) == doubled
    ]
    return items if len(items) <= MANY_ITEMS else []


def _introduced(
    best: Option, options: Sequence[Option], asked: frozenset[str]
) -> tuple[int, int] | None:
    """The list of the item ``best``, where its lead says more of what is asked than the item.

    Also where the item is no sentence: a part of what the lead leads to.
    """
    at = (best.evidence, best.lead)
    lead = next((one for one in options if (one.evidence, one.place) == at), None)
    if not best.item or lead is None or not lead.text.rstrip().endswith(":"):
        return None
    said = asked & lead.stems
    part = is_fragment(best) and bool(said)
    return at if part or asked & best.stems < said else None


def announced_after(best: Option, options: Sequence[Option], asked: frozenset[str]) -> list[Option]:
    """What tells the things asked for, where ``best`` ends with how many of them there are.

    The next sentence, and those after it that go on counting.

    Args:
        asked: the question's words, as stems.
    """
    told = _ANNOUNCED.search(best.text)
    if told is None or parse(told["named"]).stem_set.isdisjoint(asked):
        return []
    after = steps_after(best, options)
    for place, option in enumerate(after[1:], start=1):
        if COUNTING_ON.isdisjoint(words_in(option.text.lower())[:2]):
            return after[:place]
    return after


def steps_after(best: Option, options: Sequence[Option]) -> list[Option]:
    """The next sentences of the paragraph, which go on with what is to be done."""
    found: list[Option] = []
    end, words = best.span.end, 0
    for option in options:
        if option.evidence != best.evidence or option.place <= best.place:
            continue
        words += len(option.text.split())
        apart = option.span.start - end > 1 or not option.text.rstrip("\"'”’)").endswith((".", "!"))
        other = option.item or option.speaker != best.speaker
        if apart or other or len(found) == STEPS or words > STEP_WORDS:
            break
        found.append(option)
        end = option.span.end
    return found
