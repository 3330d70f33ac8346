"""Whether a question asks for a list, and how well a list of a text is the one that it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.ask.understand.answer_kind import asks_how
from wellread.ask.understand.text_lists import Listing
from wellread.text.english import NUMBER_WORDS
from wellread.text.english_questions import (
    ASKS_LIST,
    ASKS_LIST_OF,
    LEADING_TO,
    LISTING_VERBS,
    NO_PLURALS,
    OF,
    PLURALS,
    STEPS,
)
from wellread.text.names import singular
from wellread.text.parsed import parse
from wellread.text.words import stem

LEAST = 0.65  # of the words asked for that stand above a list, from which it is the one
BY_TITLE, BY_ITEMS, OTHERWISE = 0.9, 0.4, 0.3  # what a word counts that only stands there
NOUN = 1.5  # what the word for the items counts
UNKNOWN = 0.75  # what a word counts that stands near no list
COUNTED, MISCOUNTED = 0.25, -0.5  # for as many items as the question says, and for other numbers
BEGINNING = 8  # words of an item in which it may name a second thing
EACH_ITEM, MANY = 0.01, 10  # of two lists the longer one is meant
ANOTHER = 0.6  # what is left for a list of something else than the items asked for
FEWEST_UNDER_HEADING = 3  # items of a list that only a heading introduces
LEADING = 20  # last words of a lead that are read
SHORTEST_SENTENCE = 5  # words of a lead that says by itself what follows
SHORT = 14  # words of items that are read for the question's words


@dataclass(frozen=True, slots=True)
class AskedList:
    """What is to be listed.

    Attributes:
        stems: the words that say which list.
        noun: the stem of the word for its items; empty where the question names none.
        count: how many items the question says there are; 0 when it does not.
        steps: it asks for what to do, one after the other.
        names: of the stems, those of names.
    """

    stems: frozenset[str]
    noun: str
    count: int
    steps: bool
    names: frozenset[str] = frozenset()


def asked_list(question: str) -> AskedList | None:
    """The list that ``question`` asks for; None when it asks for none."""
    read = parse(question)
    found = ASKS_LIST.search(question)
    what = found["what"].split() if found else []
    noun = what[-1].lower() if what else ""
    several = len(noun) > 3 and noun not in NO_PLURALS
    several = several and (noun in PLURALS or singular(noun) != "")
    steps = asks_how(question) or (several and stem(noun) in _STEPS)
    if not (several or steps or ASKS_LIST_OF.search(question)):
        return None
    counts = [int(NUMBER_WORDS.get(word.lower(), word)) for word in what if _counts(word)]
    stems = frozenset(read.topic_stems) - _LISTING - _NUMBERS
    if not stems:
        return None
    own = stem(noun) if several and stem(noun) in stems else ""
    names = parse(" ".join(read.names)).stem_set & stems - {own}
    return AskedList(stems, own, counts[0] if counts else 0, steps, names)


def _counts(word: str) -> bool:
    return word.isdigit() or word.lower() in NUMBER_WORDS


_JOINING = frozenset({"and", "plus"})
_LISTING = parse(" ".join(LISTING_VERBS)).stem_set
_NUMBERS = parse(" ".join(NUMBER_WORDS)).stem_set
_STEPS = parse(" ".join(STEPS)).stem_set


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadList:
    """The stems around and in a list.

    Attributes:
        lead: the clause that introduces it; empty where a heading or a header does.
        heads: of each of them without what follows "of".
        above: of the lead and the heading.
        shared: of the word that all items begin with.
        outer: of the document's title and the further headings.
        inside: of the items, where these are short.
        led: a line before it introduces it.
        items: how many there are.
        most: how many there are where each item that names two things counts twice.
    """

    lead: str
    heads: frozenset[str]
    above: frozenset[str]
    outer: frozenset[str]
    inside: frozenset[str]
    led: bool
    items: int
    most: int
    shared: frozenset[str] = frozenset()


def read_list(listing: Listing, text: str, title: str, headings: Sequence[str]) -> ReadList:
    """What stands around and in ``listing`` of ``text``.

    Args:
        title: of the document.
        headings: the path over the list.
    """
    items = [parse(item.of(text)) for item in listing.items]
    lead = listing.lead.of(text) if listing.lead else ""
    first = {item.words[0] for item in items if item.words}
    shared = "".join(first) if len(first) == 1 else ""
    heading = headings[-1] if headings else ""
    told = " ".join(lead.split()[-LEADING:])
    sentence = lead.endswith(":") and len(told.split()) > SHORTEST_SENTENCE
    near, far = (told, heading) if sentence else (f"{told} {heading}", "")
    brief = sum(len(item.words) for item in items) <= SHORT * len(items)
    return ReadList(
        lead=told if sentence else "",
        heads=parse(" ".join(map(_head, (told, heading)))).stem_set,
        above=parse(near).stem_set,
        shared=parse(shared).stem_set,
        outer=parse(" ".join((title, *headings[:-1], far))).stem_set,
        inside=frozenset(one for item in items for one in item.stems) if brief else frozenset(),
        led=bool(lead),
        items=len(items),
        most=len(items) + sum(not _JOINING.isdisjoint(item.words[:BEGINNING]) for item in items),
    )


def fits_of(asked: AskedList, lists: Sequence[ReadList]) -> list[float]:
    """How well each of ``lists`` is what is asked for; below ``LEAST`` it is not.

    A word that stands near none of them tells nothing of which it is, and counts less.
    """
    lists = [_with_shared(asked, one) for one in lists]
    known = frozenset[str]().union(*(one.above | one.outer | one.inside for one in lists))
    weights = {
        one: (NOUN if one == asked.noun else 1.0) if one in known | asked.names else UNKNOWN
        for one in asked.stems
    }
    return [_fit(asked, one, weights) for one in lists]


def _with_shared(asked: AskedList, one: ReadList) -> ReadList:
    """The list with the word that its items begin with above it, where that says what they are.

    Items may also all begin with what the whole text is about.
    """
    told = asked.noun in one.shared or bool(one.shared & _STEPS)
    return replace(one, above=one.above | one.shared, heads=one.heads | one.shared) if told else one


def _fit(asked: AskedList, one: ReadList, weights: Mapping[str, float]) -> float:
    if not (asked.stems & one.above or (asked.steps and one.above & _STEPS)):
        return 0.0
    gained = 0.0
    for word, weight in weights.items():
        if word in one.above:
            other = word == asked.noun and _another(word, one)
            gained += weight * (OTHERWISE if other else 1.0)
        elif word in one.outer:
            gained += weight * BY_TITLE
        elif word in one.inside and not asked.steps:
            gained += weight * BY_ITEMS
    fit = gained / sum(weights.values()) + EACH_ITEM * min(one.items, MANY)
    if weights.get(asked.noun, 0.0) >= 1 and asked.noun not in one.above | one.outer | one.inside:
        fit *= ANOTHER  # other lists are of these, this one is not
    if one.items < FEWEST_UNDER_HEADING and not one.led and one.items != asked.count:
        return 0.0
    if asked.count == one.items:
        fit += COUNTED
    elif asked.count and not one.items < asked.count <= one.most:
        fit += MISCOUNTED
    return fit


def _head(heading: str) -> str:
    """A heading without what follows "of": the rules of a room are rules."""
    return OF.split(heading, maxsplit=1)[0]


def _another(noun: str, one: ReadList) -> bool:
    """Whether what stands above a list names the noun, but says that it lists something else."""
    if not one.lead:
        return noun not in one.heads | one.outer
    leading = LEADING_TO.search(one.lead)
    return leading is not None and noun not in parse(leading["what"]).stem_set
