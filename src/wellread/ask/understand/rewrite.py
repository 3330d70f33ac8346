"""Rewrites a follow-up as a question that stands alone, by rules. No model, no I/O.

Words are inserted only when they are certain: for a pronoun if the earlier questions name exactly
one thing that fits, for a question that gives only what changes in the previous one ("And in
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

MAX_CHARS = 400  # characters; a longer question is not rewritten
MAX_PART_WORDS = 7  # words in an elliptic part
MAX_BARE_TERMS = 4  # a question without names and with more terms starts a topic
MAX_TURNS_BACK = 3  # turns to whose questions a pronoun may refer
MAX_ANSWER_CHARS = 600  # characters of an answer that are searched for people
_LEADING_CONJUNCTION = re.compile(r"^(?:and|but|so|then|also|or)\b[,\s]+(?=\w)", re.IGNORECASE)
_PREPOSITIONS = PREPOSITIONS | {"to"}
_VERBS = AUXILIARIES | BE | {"have", "has", "had"}
_SINGULAR = frozenset({"he", "she", "it"})
_POSSESSIVE = frozenset({"his", "its", "their"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer, with the names that the answer cites and the items it lists."""

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
    """A pronoun without an antecedent in its question; ``kind`` is "he", "it", "this", ..."""

    token: Token
    kind: str
    possessive: bool


class _Thing(NamedTuple):
    span: Span
    text: str
    kind: str  # "person", an entity type, "phrase", or "" for any other name
    plural: bool
    definite: bool
    preposition: str  # the one before it, if any
    complete: bool  # the name cannot continue after the span
    certain: bool  # a name, or a phrase with an article or an owner


def make_standalone(
    question: str, earlier: Sequence[Turn], vocabulary: Vocabulary, today: date
) -> Rewritten:
    """Rewrite ``question`` so that it needs no earlier turn, where that is certain."""
    text = " ".join(question.split())
    last = next((turn.question for turn in reversed(earlier) if turn.question), "")
    if not text or not last or len(text) > MAX_CHARS:
        return Rewritten(text=question)
    rewritten = (
        _expand_which_ones(text, last)
        or _repeat_with_question_word(text, last)
        or _replace_part(text, last, vocabulary, today)
    )
    if rewritten:
        return _as_rewritten(rewritten, (f"the rest is from “{last}”",))
    asks_which = WHICH_ONES.match(text) is not None
    edits = [] if asks_which else list(_pronoun_edits(text, earlier, vocabulary))
    rewritten = text
    reasons: list[str] = []
    for span, antecedent, possessive in reversed(edits):
        suffix = ("'" if antecedent.endswith("s") else "'s") if possessive else ""
        rewritten = f"{rewritten[: span.start]}{antecedent}{suffix}{rewritten[span.end :]}"
        reasons.insert(0, f"“{span.of(text)}” is “{antecedent}”")
    if reasons:
        # A person's name alone does not give the topic.
        names_person = any(PRONOUNS[span.of(text).lower()] in ("he", "she") for span, *_ in edits)
        rewritten = _LEADING_CONJUNCTION.sub("", rewritten)
        return _as_rewritten(rewritten, tuple(reasons), last if names_person else "")
    is_bare = not parse(text).names and len(parse(text).terms) <= MAX_BARE_TERMS
    depends = is_bare or references_of(text) or is_continuation(text)
    return Rewritten(text=question, context=last if depends else "")


def is_continuation(question: str) -> bool:
    """Whether the question continues an earlier one ("and ...", "but ...")."""
    return _LEADING_CONJUNCTION.match(question.strip()) is not None


def references_of(text: str) -> list[Reference]:
    """The pronouns whose antecedent is not in the question itself.

    A plural is no antecedent of "he", "she" or "it".
    """
    tokens = parse(text).tokens
    things = _things(text, Vocabulary())
    empty = [match.span() for match in EMPTY_IT.finditer(text)]
    references = []
    for index, token in enumerate(tokens):
        kind = PRONOUNS.get(token.plain)
        if kind is None or _is_not_referring(text, tokens, index):
            continue
        earlier_things = [thing for thing in things if thing.span.end <= token.start]
        if any(not thing.plural or kind not in _SINGULAR for thing in earlier_things):
            continue
        if not any(start <= token.start < end for start, end in empty):
            after = plain_at(tokens, index + 1)
            owns = after and tokens[index + 1].joined and after not in STOP_WORDS | PREPOSITIONS
            possessive = token.plain in _POSSESSIVE or bool(token.plain == "her" and owns)
            references.append(Reference(token, kind, possessive))
    return references


def _is_not_referring(text: str, tokens: Sequence[Token], index: int) -> bool:
    """Whether the word is not a referring pronoun: "IT", "it's", "that bridge"."""
    token, after = tokens[index], plain_at(tokens, index + 1)
    if token.end > token.start + len(token.written):
        return True
    if len(token.written) > 1 and token.written.isupper() and not text.isupper():
        return True
    is_last = not after or not tokens[index + 1].joined
    return PRONOUNS[token.plain] == "this" and not (is_last or after in _VERBS)


def known_names(text: str, vocabulary: Vocabulary) -> list[str]:
    """The known entities and people that ``text`` names, in its spelling and order."""
    people = [mention.span for mention in people_in(text, vocabulary)]
    spans = [*people, *(entity.span for entity in entities_of(text, vocabulary, people))]
    return [span.of(text) for span in sorted(dict.fromkeys(spans), key=lambda span: span.start)]


def _as_rewritten(text: str, reasons: tuple[str, ...], context: str = "") -> Rewritten:
    return Rewritten(text=f"{text[:1].upper()}{text[1:]}", reasons=reasons, context=context)


# --- pronouns --------------------------------------------------------------------------------


def _pronoun_edits(
    text: str, earlier: Sequence[Turn], vocabulary: Vocabulary
) -> Iterator[tuple[Span, str, bool]]:
    """The first pronoun of each kind with its antecedent, if there is only one candidate."""
    handled = {"this"}
    for token, kind, possessive in references_of(text):
        antecedent = "" if kind in handled else _antecedent(kind, earlier, vocabulary)
        handled.add(kind)
        if antecedent:
            span = Span(start=token.start, end=token.start + len(token.written))
            yield span, antecedent, possessive


def _antecedent(kind: str, earlier: Sequence[Turn], vocabulary: Vocabulary) -> str:
    """The only thing of ``kind`` in the last question; empty if there are none or several.

    A person may also be named in earlier questions or, if known, in the last answer.
    """
    person = kind in ("he", "she")
    for turn in earlier[: -MAX_TURNS_BACK - 1 : -1] if person else earlier[-1:]:
        things = _candidates(kind, _things(turn.question, vocabulary))
        if things:
            return things[0].text if len(things) == 1 and things[0].complete else ""
    if not person or not earlier:
        return ""
    answer = earlier[-1].answer[:MAX_ANSWER_CHARS]
    people = dict.fromkeys(mention.span.of(answer) for mention in people_in(answer, vocabulary))
    return next(iter(people)) if len(people) == 1 else ""


def _candidates(kind: str, things: Sequence[_Thing]) -> list[_Thing]:
    if kind in ("he", "she"):
        fitting = [thing for thing in things if thing.kind == "person"]
        fitting = fitting or [
            thing for thing in things if not thing.kind and _may_be_person(thing.text)
        ]
    elif kind == "they":
        fitting = [thing for thing in things if thing.plural] or [
            thing for thing in things if thing.kind != "phrase"
        ]
    else:
        fitting = [thing for thing in things if not thing.plural and thing.kind != "person"]
    # A thing after a preposition ("in Leeds") is a detail; so is an indefinite phrase ("a ferry").
    unprefixed = [thing for thing in fitting if not thing.preposition]
    fitting = unprefixed or [
        thing for thing in fitting if thing.definite or thing.plural or thing.kind != "phrase"
    ]
    fitting = [thing for thing in fitting if thing.certain] or fitting
    return list({thing.text: thing for thing in fitting}.values())


def _may_be_person(name: str) -> bool:
    words = name.split()
    return (
        len(words) > 1
        and all(word[:1].isupper() for word in words)
        and not (NO_PERSONS & {word.lower() for word in words})
    )


def _things(text: str, vocabulary: Vocabulary) -> list[_Thing]:
    """The known people and entities, other names and phrases in ``text``; no times."""
    covered = [Span(start=time.start, end=time.end) for time in expressions_of(text, date.today())]
    things: list[_Thing] = []
    people = [mention.span for mention in people_in(text, vocabulary)]
    types = {entity.span: entity.type for entity in entities_of(text, vocabulary, people)}
    names = ((text.find(name), len(name)) for name in parse(text).names)
    name_spans = [Span(start=at, end=at + length) for at, length in names if at >= 0]
    phrases = {phrase.bare: phrase.span for phrase in parse(text).phrases}
    for span in (*people, *types, *name_spans, *phrases):
        if any(span.overlaps(other) for other in covered):
            continue
        covered.append(span)
        kind = "person" if span in people else types.get(span, "phrase" if span in phrases else "")
        kind = "" if span in name_spans and kind == "phrase" else kind
        words = text[: span.start].lower().split()
        full_span = phrases.get(span, span)
        article = words[-1:] == ["the"] or (span in phrases and words[-1:] in (["a"], ["an"]))
        words = words[:-1] if article or full_span != span else words
        things.append(
            _Thing(
                span=span,
                text=f"the {span.of(text)}" if article else full_span.of(text),
                kind=kind,
                plural=_is_plural(span.of(text), is_name=kind != "phrase"),
                definite=text[: span.start].lower().endswith("the "),
                preposition=next((word for word in words[-1:] if word in _PREPOSITIONS), ""),
                certain=kind != "phrase" or article or full_span != span,
                complete=kind != ""
                or bool(AUXILIARIES & {*words[-1:]})
                or _name_ends(text, span.end),
            )
        )
    return sorted(things, key=lambda thing: thing.span.start)


def _name_ends(text: str, position: int) -> bool:
    """Whether a name that ends at ``position`` cannot continue."""
    after = re.findall(r"\w+", text[position:])
    return len(after) < 2 or after[0].lower() in STOP_WORDS | PREPOSITIONS


def _is_plural(text: str, *, is_name: bool = False) -> bool:
    """Whether ``text`` is plural or a group; a name only if it is a group or contains "&"."""
    head = text.split()[-1].lower()
    ends = len(head) > 3 and head.endswith("s") and not head.endswith(("ss", "us", "is"))
    return head in GROUPS or "&" in text or (ends and not is_name)


# --- questions that leave words out ----------------------------------------------------------


def _expand_which_ones(text: str, last: str) -> str:
    """The question "Which ...?" for "which ones?" after "How many ...?" or "Are there ...?"."""
    count, exists = HOW_MANY_REST.match(last), EXISTS.match(last)
    if WHICH_ONES.match(text) is None:
        return ""
    return f"Which {count['rest']}" if count else _which_are_there(exists["noun"]) if exists else ""


def _which_are_there(noun: str) -> str:
    """Turn "tool libraries in Leeds?" into "Which tool libraries are there in Leeds?"."""
    head = next(iter(parse(f"of {noun}").phrases), None)
    cut = head.bare.end - len("of ") if head else len(noun.rstrip(" ?"))
    return f"Which {noun[:cut]} are there{noun[cut:]}"


def _repeat_with_question_word(text: str, last: str) -> str:
    """The last question with the new question word ("Why?")."""
    only, polar = ONLY_QUESTION_WORD.match(text), POLAR.match(last)
    if only is None or polar is None:
        return ""
    return f"{only['wh']} {polar['rest'][:1].lower()}{polar['rest'][1:]}"


def _replace_part(text: str, last: str, vocabulary: Vocabulary, today: date) -> str:
    """The last question with ``text`` in place of the one part that it can replace."""
    part = _elliptic_part(text, today)
    first, _, rest = part.partition(" ")
    preposition = first.lower() if first.lower() in _PREPOSITIONS and rest else ""
    bare = rest if preposition else part
    if not bare:
        return ""
    if _is_only_time(bare, today):
        return _replace_time(part, bare, last, today)
    if not parse(bare).terms:
        return ""
    replaced = _replaced_thing(bare, preposition, _things(last, vocabulary), vocabulary)
    if replaced is None:
        return ""
    definite = bare.lower().startswith("the ")
    start = replaced.span.end - len(replaced.text) if definite else replaced.span.start
    return f"{last[:start]}{bare}{last[replaced.span.end :]}"


def _replaced_thing(
    bare: str, preposition: str, things: Sequence[_Thing], vocabulary: Vocabulary
) -> _Thing | None:
    """The thing that ``bare`` replaces; None if that is not certain.

    A name replaces a name of its kind, a phrase one with the same head. Otherwise a phrase replaces
    the only one of its form ("the ferry", "wind turbines"), unless it is an aspect ("the cost").
    """
    # The dot keeps the first word from counting as the capitalised start of a sentence.
    names = [thing for thing in _things(f"· {bare}", vocabulary) if thing.kind != "phrase"]
    kind, head = names[0].kind if names else "phrase", key_of_words([bare.split()[-1]])
    alike = [thing for thing in things if (thing.kind == "phrase") == (not names)]
    same_kind = [thing for thing in alike if kind and thing.kind == kind]
    if not names:
        same_kind = [thing for thing in alike if key_of_words([thing.text.split()[-1]]) == head]
        definite, plural = bare.lower().startswith("the "), _is_plural(bare)
        alike = [thing for thing in alike if thing.definite == definite and thing.plural == plural]
        alike = alike if (definite or plural) and head not in ASPECTS else []
    elif kind:
        alike = [thing for thing in alike if not thing.kind]
    after_same = [thing for thing in things if preposition and thing.preposition == preposition]
    matches = same_kind or after_same or ([] if preposition else alike)
    return matches[0] if len(matches) == 1 else None


def _elliptic_part(text: str, today: date) -> str:
    """The part of a question that ``text`` consists of ("And the ferry?"), else empty."""
    match = WHAT_ABOUT.match(text) or ALSO.match(text)
    part = match["part"] if match else text.rstrip("?.! ")
    words = [token.plain for token in parse(part).tokens]
    if not words or len(words) > MAX_PART_WORDS or words[0] in QUESTION_WORDS:
        return ""
    if WHAT_ABOUT.match(text):
        return part
    if not _VERBS.isdisjoint(token.plain for token in parse(part).tokens if token.written != "May"):
        return ""
    is_short = words[0] in _PREPOSITIONS or words[0] == "the" or _is_one_name(part)
    return part if (match and (is_short or len(words) <= 3)) or _is_only_time(part, today) else ""


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
    time = expressions_of(part, today)[0]
    if lacks_year(part, time):  # take the year from the last question
        part = f"{part[: time.end]} {times[-1].period.last.year}{part[time.end :]}"
    start, end = times[0].start, times[-1].end if len(times) == 2 else times[0].end
    lead = TIME_LED.search(last, 0, start) if has_preposition else None
    return f"{last[: lead.start() if lead else start]}{part}{last[end:]}"
