"""Which sentences are told: those that score well, or the one that answers by its form alone."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.understand.answer_kind import asks_what, enumerated, expected_of
from wellread.ask.understand.asked_list import asked_list
from wellread.ask.write.sentence_choice import KEEP, KEEP_READ, pick
from wellread.ask.write.sentence_score import Scored

DEFINES, LISTS, GIVES = (
    0.1,
    0.5,
    0.5,
)  # of the best score, from which a sentence of such a form is the answer
FEWEST_NAMED = 3  # things that a sentence names which lists them


def chosen_of(
    question: str, scored: Sequence[Scored], most: int, *, read: bool
) -> Sequence[Scored]:
    """The sentences to tell, about ``most``.

    Where one defines what is asked about, gives the amount that is asked for where the best does
    not, or names one after the other the things that are asked for, what only stands near it is
    left out; what goes on with it is kept.

    Args:
        read: whether somebody read the passages.
    """
    picked = pick(scored, most, expected_of(question), KEEP_READ if read else KEEP)
    best = _leading(question, scored)
    if best is None:
        return picked
    option = best.option
    more = [
        each
        for each in picked
        if (each.option.evidence, each.option.place) == (option.evidence, option.place + 1)
        and each.option.leaning
    ]
    return [best, *more]


def _leading(question: str, scored: Sequence[Scored]) -> Scored | None:
    """The best one that defines, counts or lists what is asked for; None without a good one."""
    asked = asked_list(question)
    giving = [each for each in scored if each.features.fits > 0 and not each.features.chatter]
    if asks_what(question):
        fitting, least = giving, DEFINES
    elif giving:
        fitting, least = giving if scored[0].features.fits < 0 else [], GIVES
    elif asked is not None and asked.noun and not asked.steps:
        named = asked.count or FEWEST_NAMED
        fitting = [each for each in scored if enumerated(each.option.text) >= named]
        least = LISTS
    else:
        return None
    good = fitting and fitting[0].score >= least * scored[0].score
    return fitting[0] if good else None
