"""From a follow-up to a question that stands alone. No model, no I/O.

Words are put into a question only where it is sure which: a pronoun for which the questions before
name exactly one thing, a question that leaves all but one part to the one before ("And in 2022?",
"Why?"), and "which ones" after a count. Any other follow-up stays as it was asked, and is searched
for with the question before. Only questions are read, and of an answer the people that the base
knows: what a source says is never part of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from wellread.ask.understand.mentions import entities_of, people_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import AUXILIARIES, BE, PREPOSITIONS, QUESTION_WORDS, STOP_WORDS
from wellread.text.english_followups import (
    ALSO,
    ASPECTS,
    EMPTY_IT,
    EXISTS,
    HOW_MANY,
    ONLY_QUESTION_WORD,
    POLAR,
    TIME_LED,
    WHAT_ABOUT,
    WHICH_ONES,
)
from wellread.text.english_questions import GROUPS, NO_PERSONS, PRONOUNS
from wellread.text.parsed import parse
from wellread.text.periods import expressions_of, lacks_year
from wellread.text.tokens import Token, key_of_words, plain_at
from wellread.types import Span

LONGEST = 400  # characters of a question that is looked at: longer ones say what they mean
LONGEST_PART = 7  # words
FEW_TERMS = 4  # of a question that names nothing, up to which it may be about the same
TURNS_BACK = 3  # whose questions a pronoun may point to
MOST_ANSWER = 600  # characters of an answer in which people are looked for
_CONNECTED = re.compile(r"^(?:and|but|so|then|also|or)\b[,\s]+(?=\w)", re.IGNORECASE)
_LEADS = PREPOSITIONS | {"to"}
_VERBS = AUXILIARIES | BE | {"have", "has", "had"}
_ASKED = [[word] for word in AUXILIARIES]
_OF_ONE = frozenset({"he", "she", "it"})
_OWNING = frozenset({"his", "its", "their"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its answer.

    Attributes:
        question: as it was understood: the rewritten one, where it was rewritten.
        answer: the delivered text without citation markers.
        names: entities and titles that the answer cites, the most important first.
        items: what was shown as a list, in the order shown.
    """

    question: str
    answer: str = ""
    names: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A question as it is meant after others.

    Attributes:
        reasons: what was put in for what, in words; empty when nothing was.
        context: the question before, for retrieval alone, where this one may be about the same.
    """

    text: str
    reasons: tuple[str, ...] = ()
    context: str = ""


class Reference(NamedTuple):
    """A pronoun that something earlier has to explain; ``sort`` is "he", "it", "this", ..."""

    token: Token
    sort: str
    owning: bool


class _Thing(NamedTuple):
    """Something that a question names."""

    span: Span
    text: str
    sort: str  # "person", the type of the entity, "" for another name, "phrase"
    plural: bool
    definite: bool
    led: str  # the preposition in front of it
    whole: bool  # no further word of it may follow
    sure: bool  # a name, or a phrase with an article or an owner


def standalone(
    question: str, earlier: Sequence[Turn], vocabulary: Vocabulary, today: date
) -> Rewritten:
    """``question`` in words that need no earlier turn, where these are sure.

    Args:
        earlier: the turns so far, oldest first.
        today: what "last week" is counted from.
    """
    text = " ".join(question.split())
    last = next((turn.question for turn in reversed(earlier) if turn.question), "")
    if not text or not last or len(text) > LONGEST:
        return Rewritten(text=question)
    whole = _which_ones(text, last) or _asked_so(text, last) or _part(text, last, vocabulary, today)
    if whole:
        return _made(whole, (f"the rest is from “{last}”",))
    asks_which = WHICH_ONES.match(text) is not None
    edits = [] if asks_which else list(_pronouns(text, earlier, vocabulary))
    whole = text
    reasons: list[str] = []
    for span, meant, owning in reversed(edits):
        owner = ("'" if meant.endswith("s") else "'s") if owning else ""
        whole = f"{whole[: span.start]}{meant}{owner}{whole[span.end :]}"
        reasons.insert(0, f"“{span.of(text)}” is “{meant}”")
    if reasons:
        # Who is meant says nothing of what was talked about.
        person = any(PRONOUNS[span.of(text).lower()] in ("he", "she") for span, *_ in edits)
        whole = _CONNECTED.sub("", whole)
        return _made(whole, tuple(reasons), last if person else "")
    bare = not parse(text).names and len(parse(text).terms) <= FEW_TERMS
    leans = bare or references_of(text) or connected(text)
    return Rewritten(text=question, context=last if leans else "")


def connected(question: str) -> bool:
    """Whether it goes on from something said before ("and ...", "but ...")."""
    return _CONNECTED.match(question.strip()) is not None


def references_of(text: str) -> list[Reference]:
    """The pronouns that nothing before them in the question may explain.

    What is plural explains no "he", "she" or "it".
    """
    tokens = parse(text).tokens
    spots = _things(text, Vocabulary())
    empty = [match.span() for match in EMPTY_IT.finditer(text)]
    found = []
    for place, token in enumerate(tokens):
        sort = PRONOUNS.get(token.plain)
        if sort is None or _is_none(text, tokens, place):
            continue
        before = [one for one in spots if one.span.end <= token.start]
        if any(not one.plural or sort not in _OF_ONE for one in before):
            continue
        if not any(start <= token.start < end for start, end in empty):
            after = plain_at(tokens, place + 1)
            noun = after and tokens[place + 1].joined and after not in STOP_WORDS | PREPOSITIONS
            owning = token.plain in _OWNING or bool(token.plain == "her" and noun)
            found.append(Reference(token, sort, owning))
    return found


def _is_none(text: str, tokens: Sequence[Token], place: int) -> bool:
    """ "IT", "it's", "that bridge", "what that is": no pronouns that something earlier explains."""
    token, after = tokens[place], plain_at(tokens, place + 1)
    if token.end > token.start + len(token.written):
        return True
    if len(token.written) > 1 and token.written.isupper() and not text.isupper():
        return True
    ends = not after or not tokens[place + 1].joined
    return PRONOUNS[token.plain] == "this" and not (ends or after in _VERBS)


def known_in(text: str, vocabulary: Vocabulary) -> list[str]:
    """The entities and people of the base that ``text`` names, as it writes them, in its order."""
    people = [one.span for one in people_in(text, vocabulary)]
    spans = [*people, *(one.span for one in entities_of(text, vocabulary, people))]
    return [span.of(text) for span in sorted(dict.fromkeys(spans), key=lambda span: span.start)]


def _made(whole: str, reasons: tuple[str, ...], context: str = "") -> Rewritten:
    return Rewritten(text=f"{whole[:1].upper()}{whole[1:]}", reasons=reasons, context=context)


# --- pronouns --------------------------------------------------------------------------------


def _pronouns(
    text: str, earlier: Sequence[Turn], vocabulary: Vocabulary
) -> Iterator[tuple[Span, str, bool]]:
    """The first pronoun of each sort with what it stands for, where it can be one thing only."""
    done = {"this"}
    for token, sort, owning in references_of(text):
        meant = "" if sort in done else _meant(sort, earlier, vocabulary)
        done.add(sort)
        if meant:
            span = Span(start=token.start, end=token.start + len(token.written))
            yield span, meant, owning


def _meant(sort: str, earlier: Sequence[Turn], vocabulary: Vocabulary) -> str:
    """The one thing of that sort that the last question names; empty for none or several.

    A person may stand in a question before that, or in the last answer if the base knows the name.
    """
    person = sort in ("he", "she")
    for turn in earlier[: -TURNS_BACK - 1 : -1] if person else earlier[-1:]:
        things = _of_sort(sort, _things(turn.question, vocabulary))
        if things:
            return things[0].text if len(things) == 1 and things[0].whole else ""
    if not person or not earlier:
        return ""
    said = earlier[-1].answer[:MOST_ANSWER]
    people = dict.fromkeys(one.span.of(said) for one in people_in(said, vocabulary))
    return next(iter(people)) if len(people) == 1 else ""


def _of_sort(sort: str, things: Sequence[_Thing]) -> list[_Thing]:
    """Those that the pronoun may stand for; what a preposition leads only where all are led."""
    if sort in ("he", "she"):
        fit = [one for one in things if one.sort == "person"]
        fit = fit or [one for one in things if not one.sort and _may_be_person(one.text)]
    elif sort == "they":
        fit = [one for one in things if one.plural] or [
            one for one in things if one.sort != "phrase"
        ]
    else:
        fit = [one for one in things if not one.plural and one.sort != "person"]
    free = [one for one in fit if not one.led]
    fit = free or [one for one in fit if one.definite or one.plural or one.sort != "phrase"]
    fit = [one for one in fit if one.sure] or fit
    return list({one.text: one for one in fit}.values())


def _may_be_person(name: str) -> bool:
    words = name.split()
    return (
        len(words) > 1
        and all(word[:1].isupper() for word in words)
        and not (NO_PERSONS & {word.lower() for word in words})
    )


def _things(text: str, vocabulary: Vocabulary) -> list[_Thing]:
    """What ``text`` names: people and entities of the base, other names, then phrases; no times."""
    taken = [Span(start=one.start, end=one.end) for one in expressions_of(text, date.today())]
    found: list[_Thing] = []
    people = [one.span for one in people_in(text, vocabulary)]
    known = {one.span: one.type for one in entities_of(text, vocabulary, people)}
    names = ((text.find(name), len(name)) for name in parse(text).names)
    named = [Span(start=at, end=at + length) for at, length in names if at >= 0]
    phrases = {one.bare: one.span for one in parse(text).phrases}
    for span in (*people, *known, *named, *phrases):
        if any(span.overlaps(other) for other in taken):
            continue
        taken.append(span)
        sort = "person" if span in people else known.get(span, "phrase" if span in phrases else "")
        sort = "" if span in named and sort == "phrase" else sort
        before = text[: span.start].lower().split()
        whole = phrases.get(span, span)
        article = before[-1:] == ["the"] or (span in phrases and before[-1:] in (["a"], ["an"]))
        before = before[:-1] if article or whole != span else before
        found.append(
            _Thing(
                span=span,
                text=f"the {span.of(text)}" if article else whole.of(text),
                sort=sort,
                plural=_plural(span.of(text), named=sort != "phrase"),
                definite=text[: span.start].lower().endswith("the "),
                led=next((word for word in before[-1:] if word in _LEADS), ""),
                sure=sort != "phrase" or article or whole != span,
                whole=sort != "" or before[-1:] in _ASKED or _ends(text, span.end),
            )
        )
    return sorted(found, key=lambda one: one.span.start)


def _ends(text: str, place: int) -> bool:
    """Whether no noun may follow there that belongs to the name before it ("bought?" is none)."""
    after = re.findall(r"\w+", text[place:])
    return len(after) < 2 or after[0].lower() in STOP_WORDS | PREPOSITIONS


def _plural(text: str, *, named: bool = False) -> bool:
    """Whether it is plural, or a group; a name is where it names several, or a firm of several."""
    head = text.split()[-1].lower()
    ends = len(head) > 3 and head.endswith("s") and not head.endswith(("ss", "us", "is"))
    return head in GROUPS or "&" in text or (ends and not named)


# --- questions that leave words out ----------------------------------------------------------


def _which_ones(text: str, last: str) -> str:
    """After a count, or whether there are any: which these are."""
    count, exists = HOW_MANY.match(last), EXISTS.match(last)
    if WHICH_ONES.match(text) is None:
        return ""
    return f"Which {count['rest']}" if count else _which_are(exists["noun"]) if exists else ""


def _which_are(noun: str) -> str:
    """ "Which tool libraries are there in Leeds?" of "tool libraries in Leeds?"."""
    head = next(iter(parse(f"of {noun}").phrases), None)
    cut = head.bare.end - len("of ") if head else len(noun.rstrip(" ?"))
    return f"Which {noun[:cut]} are there{noun[cut:]}"


def _asked_so(text: str, last: str) -> str:
    """The last question asked with another question word ("Why?")."""
    only, polar = ONLY_QUESTION_WORD.match(text), POLAR.match(last)
    if only is None or polar is None:
        return ""
    return f"{only['wh']} {polar['rest'][:1].lower()}{polar['rest'][1:]}"


def _part(text: str, last: str, vocabulary: Vocabulary, today: date) -> str:
    """The last question with the one part of like form replaced by the part that ``text`` is."""
    part = _fragment(text, today)
    first, _, rest = part.partition(" ")
    led = first.lower() if first.lower() in _LEADS and rest else ""
    bare = rest if led else part
    if not bare:
        return ""
    if _only_time(bare, today):
        return _at_another_time(part, bare, last, today)
    if not parse(bare).terms:
        return ""
    spot = _in_place_of(bare, led, _things(last, vocabulary), vocabulary)
    if spot is None:
        return ""
    definite = bare.lower().startswith("the ")
    start = spot.span.end - len(spot.text) if definite else spot.span.start
    return f"{last[:start]}{bare}{last[spot.span.end :]}"


def _in_place_of(
    bare: str, led: str, things: Sequence[_Thing], vocabulary: Vocabulary
) -> _Thing | None:
    """The one of ``things`` that ``bare`` takes the place of; None where it is not sure which.

    A name is for a name of its sort, a phrase for one with the same head; else for the only one of
    its form ("the ferry", "wind turbines"), unless it is an aspect of that ("the cost").
    """
    named = [one for one in _things(f"· {bare}", vocabulary) if one.sort != "phrase"]
    sort, head = named[0].sort if named else "phrase", key_of_words([bare.split()[-1]])
    like = [one for one in things if (one.sort == "phrase") == (not named)]
    same = [one for one in like if sort and one.sort == sort]
    if not named:
        same = [one for one in like if key_of_words([one.text.split()[-1]]) == head]
        definite, plural = bare.lower().startswith("the "), _plural(bare)
        like = [one for one in like if one.definite == definite and one.plural == plural]
        like = like if (definite or plural) and head not in ASPECTS else []
    elif sort:
        like = [one for one in like if not one.sort]
    beside = [one for one in things if led and one.led == led]
    spots = same or beside or ([] if led else like)
    return spots[0] if len(spots) == 1 else None


def _fragment(text: str, today: date) -> str:
    """The part of a question that ``text`` is ("And the ferry?"); empty for a whole question."""
    match = WHAT_ABOUT.match(text) or ALSO.match(text)
    part = match["part"] if match else text.rstrip("?.! ")
    plain = [token.plain for token in parse(part).tokens]
    if not plain or len(plain) > LONGEST_PART or plain[0] in QUESTION_WORDS:
        return ""
    if WHAT_ABOUT.match(text):
        return part
    if not _VERBS.isdisjoint(token.plain for token in parse(part).tokens if token.written != "May"):
        return ""
    short = plain[0] in _LEADS or plain[0] == "the" or _is_one_name(part)
    return part if (match and (short or len(plain) <= 3)) or _only_time(part, today) else ""


def _is_one_name(part: str) -> bool:
    return any(len(name) >= len(part) - 2 for name in parse(f"· {part}").names)


def _only_time(part: str, today: date) -> bool:
    times = expressions_of(part, today)
    return bool(times) and not parse(part.replace(part[times[0].start : times[0].end], "")).terms


def _at_another_time(part: str, bare: str, last: str, today: date) -> str:
    """The last question at another time."""
    times, led = expressions_of(last, today), bare != part
    if not times:
        said = part if led or not bare[:1].isdigit() else f"in {part}"
        kept = last.rstrip(" ?.!")
        return f"{kept} {said}{last[len(kept) :].strip()}"
    (time, *_) = expressions_of(part, today)
    if lacks_year(part, time):  # a month or a day is of the year that was talked about
        part = f"{part[: time.end]} {times[-1].period.last.year}{part[time.end :]}"
    start, end = times[0].start, times[-1].end if len(times) == 2 else times[0].end
    lead = TIME_LED.search(last, 0, start) if led else None
    return f"{last[: lead.start() if lead else start]}{part}{last[end:]}"
