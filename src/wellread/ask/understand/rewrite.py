"""Rewrites a follow-up as a question that stands alone, by rules. No model, no I/O.

Words are inserted only when they are certain: for a pronoun if the earlier questions name exactly
one thing that fits, for a question that repeats all but one part of the previous one ("And in
2022?", "Why?"), and for "which ones" after a count. Any other follow-up keeps its wording and is
searched together with the previous question. Inserted words come from questions, or are names of
known people in an answer, so source text never becomes part of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from wellread.ask.understand.mentions import entities_of, people_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import (
    ALSO,
    ASPECTS,
    AUXILIARIES,
    BE,
    EMPTY_IT,
    EXISTS,
    GROUPS,
    HOW_MANY_REST,
    NO_PERSONS,
    ONLY_QUESTION_WORD,
    POLAR,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    STOP_WORDS,
    TIME_LED,
    WHAT_ABOUT,
    WHICH_ONES,
)
from wellread.text.parsed import parse
from wellread.text.periods import expressions_of, lacks_year
from wellread.text.tokens import Token, key_of_words, plain_at
from wellread.types import Span

LONGEST = 400  # characters; longer questions stand alone
LONGEST_PART = 7  # words in an elliptic part
FEW_TERMS = 4  # terms up to which a question without names may continue the topic
TURNS_BACK = 3  # turns to whose questions a pronoun may refer
MOST_ANSWER = 600  # characters of an answer that are searched for people
_CONNECTED = re.compile(r"^(?:and|but|so|then|also|or)\b[,\s]+(?=\w)", re.IGNORECASE)
_LEADS = PREPOSITIONS | {"to"}
_VERBS = AUXILIARIES | BE | {"have", "has", "had"}
_ASKED = [[word] for word in AUXILIARIES]
_OF_ONE = frozenset({"he", "she", "it"})
_OWNING = frozenset({"his", "its", "their"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question, its answer, the ``names`` that this cites and the ``items`` of a list in it."""

    question: str
    answer: str = ""
    names: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A question rewritten with earlier turns; ``context`` is the last one, for retrieval only."""

    text: str
    reasons: tuple[str, ...] = ()
    context: str = ""


class Reference(NamedTuple):
    """A pronoun without an antecedent in its question; ``sort`` is "he", "it", "this", ..."""

    token: Token
    sort: str
    owning: bool


class _Thing(NamedTuple):
    """A thing named in a question."""

    span: Span
    text: str
    sort: str  # "person", the type of the entity, "" for another name, "phrase"
    plural: bool
    definite: bool
    led: str  # the preposition in front of it
    whole: bool  # the name cannot continue after the span
    sure: bool  # a name, or a phrase with an article or an owner


def make_standalone(
    question: str, earlier: Sequence[Turn], vocabulary: Vocabulary, today: date
) -> Rewritten:
    """Rewrite ``question`` so that it needs no earlier turn, where that is certain."""
    text = " ".join(question.split())
    last = next((turn.question for turn in reversed(earlier) if turn.question), "")
    if not text or not last or len(text) > LONGEST:
        return Rewritten(text=question)
    rewritten = (
        _which_ones(text, last)
        or _with_question_word(text, last)
        or _replace_part(text, last, vocabulary, today)
    )
    if rewritten:
        return _rewritten(rewritten, (f"the rest is from “{last}”",))
    asks_which = WHICH_ONES.match(text) is not None
    edits = [] if asks_which else list(_pronouns(text, earlier, vocabulary))
    rewritten = text
    reasons: list[str] = []
    for span, meant, owning in reversed(edits):
        owner = ("'" if meant.endswith("s") else "'s") if owning else ""
        rewritten = f"{rewritten[: span.start]}{meant}{owner}{rewritten[span.end :]}"
        reasons.insert(0, f"“{span.of(text)}” is “{meant}”")
    if reasons:
        # A person's name alone does not give the topic.
        person = any(PRONOUNS[span.of(text).lower()] in ("he", "she") for span, *_ in edits)
        rewritten = _CONNECTED.sub("", rewritten)
        return _rewritten(rewritten, tuple(reasons), last if person else "")
    bare = not parse(text).names and len(parse(text).terms) <= FEW_TERMS
    leans = bare or references_of(text) or is_continuation(text)
    return Rewritten(text=question, context=last if leans else "")


def is_continuation(question: str) -> bool:
    """Whether the question continues an earlier one ("and ...", "but ...")."""
    return _CONNECTED.match(question.strip()) is not None


def references_of(text: str) -> list[Reference]:
    """The pronouns that nothing earlier in the question can explain.

    A plural cannot explain "he", "she" or "it".
    """
    tokens = parse(text).tokens
    spots = _things(text, Vocabulary())
    empty = [match.span() for match in EMPTY_IT.finditer(text)]
    references = []
    for place, token in enumerate(tokens):
        sort = PRONOUNS.get(token.plain)
        if sort is None or _is_not_referring(text, tokens, place):
            continue
        before = [spot for spot in spots if spot.span.end <= token.start]
        if any(not thing.plural or sort not in _OF_ONE for thing in before):
            continue
        if not any(start <= token.start < end for start, end in empty):
            after = plain_at(tokens, place + 1)
            noun = after and tokens[place + 1].joined and after not in STOP_WORDS | PREPOSITIONS
            owning = token.plain in _OWNING or bool(token.plain == "her" and noun)
            references.append(Reference(token, sort, owning))
    return references


def _is_not_referring(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether the word is not a referring pronoun: "IT", "it's", "that bridge"."""
    token, after = tokens[place], plain_at(tokens, place + 1)
    if token.end > token.start + len(token.written):
        return True
    if len(token.written) > 1 and token.written.isupper() and not text.isupper():
        return True
    ends = not after or not tokens[place + 1].joined
    return PRONOUNS[token.plain] == "this" and not (ends or after in _VERBS)


def known_names(text: str, vocabulary: Vocabulary) -> list[str]:
    """The known entities and people that ``text`` names, in its spelling and order."""
    people = [mention.span for mention in people_in(text, vocabulary)]
    spans = [*people, *(entity.span for entity in entities_of(text, vocabulary, people))]
    return [span.of(text) for span in sorted(dict.fromkeys(spans), key=lambda span: span.start)]


def _rewritten(text: str, reasons: tuple[str, ...], context: str = "") -> Rewritten:
    return Rewritten(text=f"{text[:1].upper()}{text[1:]}", reasons=reasons, context=context)


# --- pronouns --------------------------------------------------------------------------------


def _pronouns(
    text: str, earlier: Sequence[Turn], vocabulary: Vocabulary
) -> Iterator[tuple[Span, str, bool]]:
    """The first pronoun of each sort with its antecedent, if there is only one candidate."""
    done = {"this"}
    for token, sort, owning in references_of(text):
        meant = "" if sort in done else _antecedent(sort, earlier, vocabulary)
        done.add(sort)
        if meant:
            span = Span(start=token.start, end=token.start + len(token.written))
            yield span, meant, owning


def _antecedent(sort: str, earlier: Sequence[Turn], vocabulary: Vocabulary) -> str:
    """The only thing of that sort in the last question; empty if there are none or several.

    A person may also be named in earlier questions or, if known, in the last answer.
    """
    person = sort in ("he", "she")
    for turn in earlier[: -TURNS_BACK - 1 : -1] if person else earlier[-1:]:
        things = _candidates(sort, _things(turn.question, vocabulary))
        if things:
            return things[0].text if len(things) == 1 and things[0].whole else ""
    if not person or not earlier:
        return ""
    answer = earlier[-1].answer[:MOST_ANSWER]
    people = dict.fromkeys(mention.span.of(answer) for mention in people_in(answer, vocabulary))
    return next(iter(people)) if len(people) == 1 else ""


def _candidates(sort: str, things: Sequence[_Thing]) -> list[_Thing]:
    if sort in ("he", "she"):
        fit = [thing for thing in things if thing.sort == "person"]
        fit = fit or [thing for thing in things if not thing.sort and _may_be_person(thing.text)]
    elif sort == "they":
        fit = [thing for thing in things if thing.plural] or [
            thing for thing in things if thing.sort != "phrase"
        ]
    else:
        fit = [thing for thing in things if not thing.plural and thing.sort != "person"]
    free = [thing for thing in fit if not thing.led]
    fit = free or [
        thing for thing in fit if thing.definite or thing.plural or thing.sort != "phrase"
    ]
    fit = [thing for thing in fit if thing.sure] or fit
    return list({thing.text: thing for thing in fit}.values())


def _may_be_person(name: str) -> bool:
    words = name.split()
    return (
        len(words) > 1
        and all(word[:1].isupper() for word in words)
        and not (NO_PERSONS & {word.lower() for word in words})
    )


def _things(text: str, vocabulary: Vocabulary) -> list[_Thing]:
    """The known people and entities, other names and phrases in ``text``; no times."""
    taken = [Span(start=time.start, end=time.end) for time in expressions_of(text, date.today())]
    things: list[_Thing] = []
    people = [mention.span for mention in people_in(text, vocabulary)]
    types = {entity.span: entity.type for entity in entities_of(text, vocabulary, people)}
    names = ((text.find(name), len(name)) for name in parse(text).names)
    name_spans = [Span(start=at, end=at + length) for at, length in names if at >= 0]
    phrases = {phrase.bare: phrase.span for phrase in parse(text).phrases}
    for span in (*people, *types, *name_spans, *phrases):
        if any(span.overlaps(other) for other in taken):
            continue
        taken.append(span)
        sort = "person" if span in people else types.get(span, "phrase" if span in phrases else "")
        sort = "" if span in name_spans and sort == "phrase" else sort
        before = text[: span.start].lower().split()
        full_span = phrases.get(span, span)
        article = before[-1:] == ["the"] or (span in phrases and before[-1:] in (["a"], ["an"]))
        before = before[:-1] if article or full_span != span else before
        things.append(
            _Thing(
                span=span,
                text=f"the {span.of(text)}" if article else full_span.of(text),
                sort=sort,
                plural=_is_plural(span.of(text), is_name=sort != "phrase"),
                definite=text[: span.start].lower().endswith("the "),
                led=next((word for word in before[-1:] if word in _LEADS), ""),
                sure=sort != "phrase" or article or full_span != span,
                whole=sort != "" or before[-1:] in _ASKED or _name_ends(text, span.end),
            )
        )
    return sorted(things, key=lambda thing: thing.span.start)


def _name_ends(text: str, place: int) -> bool:
    after = re.findall(r"\w+", text[place:])
    return len(after) < 2 or after[0].lower() in STOP_WORDS | PREPOSITIONS


def _is_plural(text: str, *, is_name: bool = False) -> bool:
    """Whether ``text`` is plural or a group; a name only if it is a group or contains "&"."""
    head = text.split()[-1].lower()
    ends = len(head) > 3 and head.endswith("s") and not head.endswith(("ss", "us", "is"))
    return head in GROUPS or "&" in text or (ends and not is_name)


# --- questions that leave words out ----------------------------------------------------------


def _which_ones(text: str, last: str) -> str:
    """The question "Which ...?" for "which ones?" after a count or an existence question."""
    count, exists = HOW_MANY_REST.match(last), EXISTS.match(last)
    if WHICH_ONES.match(text) is None:
        return ""
    return f"Which {count['rest']}" if count else _which_are(exists["noun"]) if exists else ""


def _which_are(noun: str) -> str:
    """Turn "tool libraries in Leeds?" into "Which tool libraries are there in Leeds?"."""
    head = next(iter(parse(f"of {noun}").phrases), None)
    cut = head.bare.end - len("of ") if head else len(noun.rstrip(" ?"))
    return f"Which {noun[:cut]} are there{noun[cut:]}"


def _with_question_word(text: str, last: str) -> str:
    """The last question with the new question word ("Why?")."""
    only, polar = ONLY_QUESTION_WORD.match(text), POLAR.match(last)
    if only is None or polar is None:
        return ""
    return f"{only['wh']} {polar['rest'][:1].lower()}{polar['rest'][1:]}"


def _replace_part(text: str, last: str, vocabulary: Vocabulary, today: date) -> str:
    """The last question with its only part of the same form replaced by ``text``."""
    part = _fragment(text, today)
    first, _, rest = part.partition(" ")
    preposition = first.lower() if first.lower() in _LEADS and rest else ""
    bare = rest if preposition else part
    if not bare:
        return ""
    if _is_only_time(bare, today):
        return _replace_time(part, bare, last, today)
    if not parse(bare).terms:
        return ""
    spot = _replaced_thing(bare, preposition, _things(last, vocabulary), vocabulary)
    if spot is None:
        return ""
    definite = bare.lower().startswith("the ")
    start = spot.span.end - len(spot.text) if definite else spot.span.start
    return f"{last[:start]}{bare}{last[spot.span.end :]}"


def _replaced_thing(
    bare: str, preposition: str, things: Sequence[_Thing], vocabulary: Vocabulary
) -> _Thing | None:
    """The one of ``things`` that ``bare`` replaces; None when that is not certain.

    A name replaces a name of its sort, a phrase one with the same head; else the only phrase of the
    same form ("the ferry", "wind turbines"), unless ``bare`` is an aspect of it ("the cost").
    """
    names = [thing for thing in _things(f"· {bare}", vocabulary) if thing.sort != "phrase"]
    sort, head = names[0].sort if names else "phrase", key_of_words([bare.split()[-1]])
    like = [thing for thing in things if (thing.sort == "phrase") == (not names)]
    same = [thing for thing in like if sort and thing.sort == sort]
    if not names:
        same = [thing for thing in like if key_of_words([thing.text.split()[-1]]) == head]
        definite, plural = bare.lower().startswith("the "), _is_plural(bare)
        like = [thing for thing in like if thing.definite == definite and thing.plural == plural]
        like = like if (definite or plural) and head not in ASPECTS else []
    elif sort:
        like = [thing for thing in like if not thing.sort]
    beside = [thing for thing in things if preposition and thing.led == preposition]
    spots = same or beside or ([] if preposition else like)
    return spots[0] if len(spots) == 1 else None


def _fragment(text: str, today: date) -> str:
    """The part of a question in ``text`` ("And the ferry?"); empty for a whole question."""
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
    return part if (match and (short or len(plain) <= 3)) or _is_only_time(part, today) else ""


def _is_one_name(part: str) -> bool:
    return any(len(name) >= len(part) - 2 for name in parse(f"· {part}").names)


def _is_only_time(part: str, today: date) -> bool:
    times = expressions_of(part, today)
    return bool(times) and not parse(part.replace(part[times[0].start : times[0].end], "")).terms


def _replace_time(part: str, bare: str, last: str, today: date) -> str:
    times, has_preposition = expressions_of(last, today), bare != part
    if not times:
        time_phrase = part if has_preposition or not bare[:1].isdigit() else f"in {part}"
        question_body = last.rstrip(" ?.!")
        return f"{question_body} {time_phrase}{last[len(question_body) :].strip()}"
    (time, *_) = expressions_of(part, today)
    if lacks_year(part, time):  # take the year from the last question
        part = f"{part[: time.end]} {times[-1].period.last.year}{part[time.end :]}"
    start, end = times[0].start, times[-1].end if len(times) == 2 else times[0].end
    lead = TIME_LED.search(last, 0, start) if has_preposition else None
    return f"{last[: lead.start() if lead else start]}{part}{last[end:]}"
