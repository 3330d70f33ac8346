"""Loads the English word lists and patterns in ``data/en``, and gives each a name.

The few lists that every language has are read by ``languages.py``.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, cast

from wellread.text.languages import ENGLISH, word_lists
from wellread.types import Kind

_REFERENCE = re.compile(r"\{([A-Z_]+)\}")


def words(name: str) -> tuple[str, ...]:
    """The words of the list ``name``, in their order."""
    return tuple(word_lists(ENGLISH)[name].split())


def word_set(name: str) -> frozenset[str]:
    """The words of the list ``name``."""
    return frozenset(words(name))


def table(name: str) -> dict[str, str]:
    """The values by word in the table ``name``."""
    return dict(word_lists(ENGLISH)[name])


def hints(name: str) -> frozenset[str]:
    """Words of which a text must have one before the pattern ``name`` is tried."""
    listed = word_lists(ENGLISH)["HINTS"].get(name, "")
    return frozenset(_REFERENCE.sub(lambda match: " ".join(words(match[1])), listed).split())


def pattern(name: str) -> str:
    """The pattern ``name``, with its references replaced."""
    return filled(patterns()[name])


@cache
def patterns() -> dict[str, Any]:
    """The patterns by name, with their references."""
    file = resources.files(__package__) / "data" / ENGLISH / "patterns.toml"
    return tomllib.loads(file.read_text("utf-8"))


def filled(source: str) -> str:
    """The pattern ``source`` on one line, with its references replaced by patterns and words."""

    def replacement(match: re.Match[str]) -> str:
        other = match[1]
        if other in patterns():
            return pattern(other)
        listed = word_lists(ENGLISH)[other]
        return "|".join(listed if isinstance(listed, dict) else words(other))

    return _REFERENCE.sub(replacement, "".join(map(str.strip, source.splitlines())))


MONTHS = words("MONTHS")
WEEKDAYS = words("WEEKDAYS")
FUNCTION_WORDS = word_set("FUNCTION_WORDS")
NEGATIONS = word_set("NEGATIONS")
LOOSE_NUMBERS = word_set("LOOSE_NUMBERS")
SAYING = words("SAYING")
POINTING = words("POINTING")
REQUESTS = word_set("REQUESTS")
ASKING = words("ASKING")
DETERMINERS = word_set("DETERMINERS")
BE = word_set("BE")
AUXILIARIES = word_set("AUXILIARIES")
QUESTION_WORDS = word_set("QUESTION_WORDS")
PREPOSITIONS = word_set("PREPOSITIONS")
PARTICIPLES = word_set("PARTICIPLES")
EMPTY_HEADS = word_set("EMPTY_HEADS")
NEVER_NAMES = word_set("NEVER_NAMES")
STORY_STOP_WORDS = word_set("STORY_STOP_WORDS")
NUMBERS_AND_TIMES = word_set("NUMBERS_AND_TIMES")
BETWEEN_SIDES = word_set("BETWEEN_SIDES")
OF_THE_MOMENT = word_set("OF_THE_MOMENT")
AROUND_A_QUESTION = word_set("AROUND_A_QUESTION")
LEADING_WORDS = word_set("LEADING_WORDS")
SUMMING_UP = word_set("SUMMING_UP")
TOTALS = word_set("TOTALS")
AVERAGES = word_set("AVERAGES")
DOCUMENT_NOUNS = word_set("DOCUMENT_NOUNS")
ALL_THERE_IS = word_set("ALL_THERE_IS")
SPOKEN_NOUNS = word_set("SPOKEN_NOUNS")
INSIDE_A_NAME = word_set("INSIDE_A_NAME")
TIMES = word_set("TIMES")
ASPECTS = word_set("ASPECTS")
BEFORE_VALUE = word_set("BEFORE_VALUE")
THANKS = word_set("THANKS")
GREETINGS = word_set("GREETINGS")
PARTINGS = word_set("PARTINGS")
PLEASED = word_set("PLEASED")
BESIDE_A_COURTESY = word_set("BESIDE_A_COURTESY")
EVERYDAY = word_set("EVERYDAY")
BEFORE_NAME = word_set("BEFORE_NAME")
AFTER_NAME = word_set("AFTER_NAME")
MASSES = word_set("MASSES")
LABELLED = word_set("LABELLED")
FILED = word_set("FILED")
ENTRIES = word_set("ENTRIES")
ASKED_OF = words("ASKED_OF")
NO_PERSONS = word_set("NO_PERSONS")
GROUPS = word_set("GROUPS")
ORDINALS = word_set("ORDINALS")
ASKING_ON = words("ASKING_ON")
CLAUSES = words("CLAUSES")
BACK_MATTER = word_set("BACK_MATTER")
OFFICES = tuple(word_lists(ENGLISH)["OFFICES"])
STOP_WORDS = FUNCTION_WORDS | word_set("QUESTION_FILLERS")
IN_A_ROW_QUESTION = FUNCTION_WORDS - {"than"} | BE | AUXILIARIES | word_set("COUNTING")
COMMON_WORDS = NEVER_NAMES | word_set("COMMON_WORDS")
FORMS_OF_ADDRESS = frozenset(OFFICES) | word_set("FORMS_OF_ADDRESS")
NUMBER_WORDS = table("NUMBER_WORDS")
SCALES: dict[str, float] = word_lists(ENGLISH)["SCALES"]
UNITS = table("UNITS")
LANGUAGES = table("LANGUAGES")
BEFORE_SOURCES = word_set("BEFORE_SOURCES") | LANGUAGES.keys() | {*MONTHS}
SYNONYMS = tuple(tuple(line.split()) for line in word_lists(ENGLISH)["SYNONYMS"])
SOURCE_NOUNS = {
    cast("Kind", kind): nouns.split(", ") for kind, nouns in table("SOURCE_NOUNS").items()
}
PRONOUNS = {word: kind for kind, forms in table("PRONOUNS").items() for word in forms.split()}


Sign = tuple[re.Pattern[str], frozenset[str]]


def compiled(source: str) -> re.Pattern[str]:
    """The pattern ``source``, compiled to ignore case."""
    return re.compile(filled(source), re.IGNORECASE)


def form(name: str) -> re.Pattern[str]:
    """The pattern ``name``, compiled."""
    return compiled(patterns()[name])


def sign(name: str) -> Sign:
    """The pattern ``name``, and its hints."""
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
PRESENTING = form("PRESENTING")
RESULTING = form("RESULTING")
PRESENTED = pattern("PRESENTED")
REFERENCE = form("REFERENCE")
ASKS_FOR = {kind: compiled(source) for kind, source in patterns()["ASKS_FOR"].items()}
UNITS_ASKED = tuple(
    (compiled(entry["form"]), frozenset(entry["units"].split(", ")))
    for entry in patterns()["UNITS_ASKED"]
)
