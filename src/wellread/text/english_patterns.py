"""English patterns of questions, follow-ups, limits and planted orders, from ``data/en``."""

from __future__ import annotations

import re

from wellread.text.english import filled, hints, pattern, patterns

Sign = tuple[re.Pattern[str], frozenset[str]]


def compiled(written: str) -> re.Pattern[str]:
    """A pattern as it is written, compiled for any case of letters."""
    return re.compile(filled(written), re.IGNORECASE)


def form(name: str) -> re.Pattern[str]:
    """The pattern ``name``, compiled."""
    return compiled(patterns()[name])


def sign(name: str) -> Sign:
    """The pattern ``name``, and words of which one must occur before it is tried."""
    return form(name), hints(name)


ROUGHLY = pattern("ROUGHLY")
POINTED_AT = pattern("POINTED_AT")

GIVEN_NAME = pattern("GIVEN_NAME")
ASKS_WHAT = form("ASKS_WHAT")
OPENING_A_SENTENCE = pattern("OPENING_A_SENTENCE")
SAYS_WHAT = pattern("SAYS_WHAT")
HOW_MANY = form("HOW_MANY")
CAUSES = form("CAUSES")
EVERYTHING = form("EVERYTHING")
SIDES = tuple(map(compiled, patterns()["SIDES"]))
COMPARING = pattern("COMPARING")
ASPECT = form("ASPECT")
SIDE_LEADING = form("SIDE_LEADING")
SIDE_TRAILING = form("SIDE_TRAILING")

ALSO = form("ALSO")
ONLY_QUESTION_WORD = form("ONLY_QUESTION_WORD")
POLAR = form("POLAR")
WHAT_ABOUT = form("WHAT_ABOUT")
EXISTS = form("EXISTS")
HOW_MANY_REST = form("HOW_MANY_REST")
WHICH_ONES = form("WHICH_ONES")
EMPTY_IT = form("EMPTY_IT")
TIME_LED = form("TIME_LED")
BEFORE_TIME = form("BEFORE_TIME")
AFTER_TIME = form("AFTER_TIME")
PUBLISHED = form("PUBLISHED")
TOLD = form("TOLD")
AMOUNT = form("AMOUNT")
LISTING = form("LISTING")
LISTING_ASKED = form("LISTING_ASKED")
ABOUT = pattern("ABOUT")
ORDERS_TO_SAY = tuple(sign(f"ORDERS_TO_SAY_{number}") for number in (1, 2, 3))
BEING_ASKED = sign("BEING_ASKED")
OWN_REPLY = sign("OWN_REPLY")
TO_A_PROGRAM = sign("TO_A_PROGRAM")
SPOKEN_TO = sign("SPOKEN_TO")
ORDER_LABEL = sign("ORDER_LABEL")
READING_THIS = sign("READING_THIS")
NEW_PART = sign("NEW_PART")
FORGETTING = sign("FORGETTING")
SOLE_TRUTH = sign("SOLE_TRUTH")
UNIVERSAL = form("UNIVERSAL")
ANNOUNCING = form("ANNOUNCING")
POINTING_BACK = form("POINTING_BACK")
CALL_SYNTAX = pattern("CALL_SYNTAX")
ORDERS_TO_LOOK = tuple(map(compiled, patterns()["ORDERS_TO_LOOK"]))

IN_LANGUAGE = form("IN_LANGUAGE")
ANY_SOURCE = pattern("ANY_SOURCE")
NAMED = pattern("NAMED")
SAYING_FORMS = pattern("SAYING_FORMS")
ACCORDING_TO = form("ACCORDING_TO")
HEARD = form("HEARD")
WRITING = pattern("WRITING")
WORKS = pattern("WORKS")
OPINIONS = pattern("OPINIONS")
TOLD_THEN = pattern("TOLD_THEN")
NEWS_ASKED = pattern("NEWS_ASKED")
ANOTHER_QUESTION = form("ANOTHER_QUESTION")
OPENS_A_QUESTION = form("OPENS_A_QUESTION")
STANDS_FOR = form("STANDS_FOR")
PRESENTING = pattern("PRESENTING")
RESULTING = pattern("RESULTING")
PRESENTED = pattern("PRESENTED")
REFERENCE = form("REFERENCE")
ASKS_FOR = {kind: compiled(written) for kind, written in patterns()["ASKS_FOR"].items()}
UNITS_ASKED = tuple(
    (compiled(one["form"]), frozenset(one["units"].split(", ")))
    for one in patterns()["UNITS_ASKED"]
)
