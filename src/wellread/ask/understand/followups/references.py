"""What the words of a question that point back stand for: pronouns, "the library", "both".

A pronoun that something in the question itself explains ("Why did Rosa leave her job?") stands
for nothing earlier. Of the others the first of each kind gets its name; those after it are then
explained by that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from wellread.ask.understand.followups.antecedents import LONGEST_TITLE, Antecedent, known_in
from wellread.ask.understand.followups.turns import Edit, Turn, name_spans, put
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import AUXILIARIES, BE, PREPOSITIONS, STOP_WORDS
from wellread.text.english_followups import (
    AFTER_THERE,
    BEFORE_ONE,
    BEFORE_THIS,
    EMPTY_IT,
    LIST_COUNTS,
    NEVER_BEFORE_THIS,
    ORDINALS,
    PEOPLE,
    POINTING,
    PREFACE,
    THEN,
)
from wellread.text.english_questions import (
    CITABLE,
    CLAUSE_OPENERS,
    GROUPS,
    PERSONS,
    PRONOUNS,
    TEAMS,
    UNTOLD,
)
from wellread.text.parsed import parse
from wellread.text.periods import expressions_of
from wellread.text.tokens import Token, key_of_words, plain_at

SAME_SEX, KNOWN_PERSON, PLURAL_THEY, PERSON_THEY = 1.0, 0.8, 1.5, 1.0
PLURAL_IT, PERSON_IT = 1.2, 1.5
LEAST = 1.4  # below this a pronoun stands for nothing that is known
MOST_TEXT = 600  # characters that a list or a time is looked for in
_POINTERS = frozenset({"the", "this", "that", "these", "those"})
_HEADED = AUXILIARIES | BE | {"has", "have", "had"}
_OWNING = frozenset({"his", "its", "their", "hers", "theirs"})
_SENTENCE_END = re.compile(r"[.?!;]\s")
_LINE = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(.{2,120}?)\s*$", re.MULTILINE)
_LINE_HEAD = re.compile(r"^[*_“\"]*(.+?)[*_”\"]*(?:\s*[:–—(]\s*.*|\s+-\s+.*)?$")
_BETWEEN = re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+")
_EITHER = re.compile(
    r"\b((?:the\s+)?[\w’'-]+(?:\s+[\w’'-]+)?),?\s+or\s+((?:the\s+)?[\w’'-]+(?:\s+[\w’'-]+)?)"
)


class Reference(NamedTuple):
    """A pronoun that something earlier has to explain; ``sort`` is "he", "it", "this", ..."""

    token: Token
    sort: str
    owning: bool


def references_of(text: str) -> list[Reference]:
    """The pronouns that nothing in the question explains."""
    tokens = parse(text).tokens
    empty = [match.span() for match in EMPTY_IT.finditer(text)]
    ones = {match.end() for match in BEFORE_ONE.finditer(text)}
    found = []
    for place, token in enumerate(tokens):
        sort = "it" if token.start in ones else PRONOUNS.get(token.plain)
        if sort is None or _stands_for_clause(tokens, place, sort) or _is_other(text, token):
            continue
        if sort == "it" and any(start <= token.start < end for start, end in empty):
            continue
        owning = token.plain in _OWNING or (token.plain == "her" and _owns(tokens, place))
        if not _explained(text, tokens, place, owning=owning):
            found.append(Reference(token, sort, owning))
    return found


def pronoun_edits(text: str, candidates: Sequence[Antecedent]) -> Iterator[Edit]:
    """The first pronoun of each sort with what it stands for, where that is known."""
    done: set[str] = set()
    used: set[str] = set()
    said = {token.plain for token in parse(text).tokens}
    for token, sort, owning in references_of(text):
        if sort in done:
            continue
        done.add(sort)
        ranked = [
            (one.score + _agreement(sort, one), one)
            for one in candidates
            if one.key not in used and _fits(sort, one) and not (one.words and one.words <= said)
        ]
        score, meant = max(ranked, key=lambda pair: pair[0], default=(0.0, None))
        if meant is None or score < LEAST:
            continue
        used.add(meant.key)
        owner = ("'" if meant.text.endswith("s") else "'s") if owning else ""
        end = token.start + len(token.written)
        yield put(text, token.start, end, meant.text + owner, meant.text)


def _fits(sort: str, one: Antecedent) -> bool:
    if sort in ("he", "she"):
        return one.person >= 0 and one.sex in ("", sort)
    if sort == "they":
        # "they" is for several, for somebody, and for a body of people: for no one thing.
        return one.plural or one.named or one.person > 0 or not GROUPS.isdisjoint(one.words)
    return one.person < 2


def _agreement(sort: str, one: Antecedent) -> float:
    if sort in ("he", "she"):
        return SAME_SEX * (one.sex == sort) + KNOWN_PERSON * min(one.person, 1)
    if sort == "they":
        return PLURAL_THEY * one.plural - PERSON_THEY * (one.person > 0)
    return -PLURAL_IT * one.plural - PERSON_IT * (one.person == 1)


def _is_other(text: str, token: Token) -> bool:
    """ "IT", "it's", and "That is nice." are no pronouns that something earlier explains."""
    if len(token.written) > 1 and token.written.isupper() and not text.isupper():
        return True
    if token.plain in ("that", "this") and token.start == 0 and not text.endswith("?"):
        return True
    return token.plain == "it" and token.end > token.start + len(token.written)


def _owns(tokens: Sequence[Token], place: int) -> bool:
    """Whether "her" belongs to the noun after it."""
    after = plain_at(tokens, place + 1)
    if not after or not tokens[place + 1].joined:
        return False
    return after not in STOP_WORDS | PREPOSITIONS or after in ("own", "other", "most")


def _stands_for_clause(tokens: Sequence[Token], place: int, sort: str) -> bool:
    """Whether "that" or "this" is no pronoun here, or one that stands for what was said."""
    if sort != "this":
        return False
    before, after = plain_at(tokens, place - 1), plain_at(tokens, place + 1)
    ends = not after or not tokens[place + 1].joined
    closing = place + 2 >= len(tokens) and before in ("do", "does", "did")
    if not ends and after not in BE and after not in AUXILIARIES and not closing:
        return True
    if tokens[place].plain == "that" and before and before not in BEFORE_THIS:
        return True
    return before in NEVER_BEFORE_THIS


def _explained(text: str, tokens: Sequence[Token], place: int, *, owning: bool) -> bool:
    """Whether a name or phrase in the same question explains the pronoun."""
    token, names = tokens[place], name_spans(text)
    comma = text.find(", ", token.end)
    if comma >= 0 and PREFACE.match(text) and any(name.start > comma for name in names):
        return True
    spots = [*names, *(phrase.span for phrase in parse(text).phrases)]
    last = max((spot.end for spot in spots if spot.end <= token.start), default=-1)
    if last < 0:
        return owning and any(one.plain in PEOPLE for one in tokens[:place])
    before = plain_at(tokens, place - 1)
    named = any(name.end <= token.start for name in names)
    # "it" or "they" is the subject of a clause with an auxiliary.
    heads = plain_at(tokens, place + 1) in _HEADED and before not in AUXILIARIES
    if owning or (named and (token.plain in ("he", "she") or heads)):
        return True
    if named and before == "with" and token.plain != "it":
        return True  # "what does Rosa take with her"
    return _SENTENCE_END.search(text, last, token.start) is not None or any(
        one.plain in CLAUSE_OPENERS for one in tokens[:place] if one.start >= last
    )


def noun_edits(text: str, candidates: Sequence[Antecedent], used: Sequence[str]) -> Iterator[Edit]:
    """Definite phrases of one word with the name that fits; each name once.

    Args:
        used: what other words of the question stand for already.
    """
    tokens = parse(text).tokens
    said = {token.plain for token in tokens}
    taken = {text.lower() for text in used}
    for place, (token, head) in enumerate(pairwise(tokens)):
        if token.plain not in _POINTERS or not head.joined or head.written[:1].isupper():
            continue
        meant = _meant(token.plain, head, candidates, said) if _ends(tokens, place + 1) else None
        if meant is not None and meant.text.lower() not in taken:
            taken.add(meant.text.lower())
            owner = "'s" if head.end > head.start + len(head.written) else ""  # "the library's"
            yield put(text, token.start, head.end, meant.text + owner, meant.text)


def time_edits(text: str, earlier: Sequence[Turn], today: date) -> Iterator[Edit]:
    """ "then" and "that year" with the last time that was named."""
    match = THEN.search(text)
    if match is None or expressions_of(text, today):
        return
    for said in (
        part[:MOST_TEXT] for one in earlier[:-4:-1] for part in (one.answer, one.question)
    ):
        for time in expressions_of(said, today)[:1]:
            when = said[time.start : time.end]
            lead = {"recent": "", "day": "on "}.get(time.period.grain, "in ")
            yield put(text, match.start(), match.end(), f"{lead}{when}", when)
            return


def place_edits(text: str, candidates: Sequence[Antecedent]) -> Iterator[Edit]:
    """ "there", where it is a place, with the last place that was named."""
    tokens = parse(text).tokens
    said = {token.plain for token in tokens}
    places = [one for one in candidates if one.place and not one.words <= said]
    meant = min(places, key=lambda one: (one.back, -one.score), default=None)
    for before, token in pairwise(tokens):
        if token.plain != "there" or before.plain in BE | {"do", "does", "did"}:
            continue
        if meant is not None and AFTER_THERE.match(text[token.end :]):
            led = "" if before.plain in PREPOSITIONS else "in "
            yield put(text, token.start, token.end, f"{led}{meant.text}")
            return


def _ends(tokens: Sequence[Token], place: int) -> bool:
    """Whether the phrase ends with this word: no other noun follows."""
    noun, after = tokens[place], plain_at(tokens, place + 1)
    if noun.plain in STOP_WORDS:
        return False
    if not after or not tokens[place + 1].joined or noun.end > noun.start + len(noun.written):
        return True
    further = plain_at(tokens, place + 2)
    if plain_at(tokens, place - 2) in AUXILIARIES and (
        not further or further in STOP_WORDS | PREPOSITIONS
    ):
        return True  # "does the library lend?", not "does the library card cost?"
    if tokens[place - 1].plain == "the" and after in PREPOSITIONS:  # "the library in Hamburg"
        return False
    return after != "of" and after in STOP_WORDS | PREPOSITIONS


def _meant(
    pointer: str, head: Token, candidates: Sequence[Antecedent], said: set[str]
) -> Antecedent | None:
    key = key_of_words([head.plain])
    free = [one for one in candidates if one.named and not one.words <= said]
    for one in free:
        if one.person > 0:
            continue
        if _ends_so(one, key) and not (one.cited and len(one.text.split()) > LONGEST_TITLE):
            return one
        if one.kind and key_of_words([one.kind.split()[-1]]) == key:
            return one
    if pointer == "the":
        return None
    return next((one for one in free if one.back <= 1 and _may_be(head.plain, one)), None)


def _ends_so(one: Antecedent, key: str) -> bool:
    """Whether a name of several words ends with the noun, or with it and a name of its own: "the
    ferry" is the Northern Ferry, and the ferry Osprey.
    """
    written = one.text.split()
    if len(written) < 2 + one.text.lower().startswith("the "):
        return False
    own = written[-1][:1].isupper() and written[-2][:1].islower()
    return key == key_of_words([written[-1].lower()]) or (
        own and key == key_of_words([written[-2]])
    )


def _may_be(head: str, one: Antecedent) -> bool:
    """Whether what tells nothing of itself may be called ``head``."""
    if head in PERSONS:
        return one.person >= 0
    if head in CITABLE or one.person > 0 or one.kind:
        return False
    several = one.plural or one.cited
    return several if head in TEAMS else head in UNTOLD and not several


def list_edits(text: str, earlier: Sequence[Turn], vocabulary: Vocabulary) -> list[Edit]:
    """What is pointed at by its place in what was shown last; none when nothing was.

    An item that is a text of a source and no name that the base knows is left alone.
    """
    found: list[Edit] = []
    for match in POINTING.finditer(text):
        meant = _pointed_at(match, shown(earlier), earlier)
        if meant and all(_sayable(one, earlier, vocabulary) for one in meant):
            joined = " and ".join(filter(None, (", ".join(meant[:-1]), meant[-1])))
            found.append(put(text, match.start(), match.start() + len(match[0].strip()), joined))
    return found


def _sayable(item: str, earlier: Sequence[Turn], vocabulary: Vocabulary) -> bool:
    """Whether it is the user's own word, a name that the base knows, or a title that was listed."""
    listed = any(item in turn.items or item in turn.question for turn in earlier)
    return listed or known_in(item, vocabulary) == [item]


def shown(earlier: Sequence[Turn]) -> tuple[str, ...]:
    """The items of the last turn that showed at least two; of its words where it has no list."""
    for turn in earlier[:-4:-1]:
        heads = [_LINE_HEAD.match(line) for line in _LINE.findall(turn.answer)]
        lines = tuple(head.group(1) for head in heads if head)
        for items in (turn.items, lines):
            if len(items) > 1:
                return items
        enumerated = _enumerated(turn.answer) or _enumerated(turn.question)
        if enumerated:
            return enumerated
    return ()


def _enumerated(text: str) -> tuple[str, ...]:
    """The names that one sentence lists ("A, B and C"), or its two sides ("A or B")."""
    for sentence in re.split(r"(?<=[.!?;:])\s+", text[:MOST_TEXT]):
        listed = [parse(f"· {part}").names for part in _BETWEEN.split(sentence)]
        if len(listed) > 1 and all(listed):
            return (listed[0][-1], *(found[0] for found in listed[1:]))
    either = _EITHER.search(text)
    if either is None:
        return ()
    one, other = either.group(1), either.group(2).split()
    return one, " ".join(other[: len(one.split())])


def _pointed_at(
    match: re.Match[str], items: Sequence[str], earlier: Sequence[Turn]
) -> Sequence[str]:
    parts = {name: value.lower() for name, value in match.groupdict().items() if value}
    two = len(items) == 2
    if len(items) < 2:
        return ()
    if "edge" in parts:
        count = LIST_COUNTS[parts["count"]]
        several = items[:count] if parts["edge"] == "first" else items[-count:]
        return several if len(several) == count else ()
    if "both" in parts:
        return items if parts["both"] == "all" or two else ()
    if "other" in parts:
        asked = earlier[-1].question.lower()
        rest = [item for item in items if item.lower() not in asked]
        return rest if two and len(rest) == 1 else ()
    if "pair" in parts:
        place = ("former", "latter").index(parts["pair"]) if two else -1
    elif "number" in parts:
        place = int(parts["number"]) - 1
    else:
        place = len(items) - 1 if parts["ordinal"] == "last" else ORDINALS[parts["ordinal"]]
    return items[place : place + 1] if place >= 0 else ()
