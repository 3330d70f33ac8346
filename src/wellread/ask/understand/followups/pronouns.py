"""What the pronouns of a question stand for.

A pronoun that something in the question itself explains ("Why did Rosa leave her job?") stands
for nothing earlier. Of the others the first of each kind gets its name; those after it are then
explained by that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.ask.understand.followups.antecedents import Antecedent
from wellread.ask.understand.followups.turns import Edit, means, possessive
from wellread.text.english import AUXILIARIES, BE, PREPOSITIONS, STOP_WORDS
from wellread.text.english_followups import BEFORE_THIS, EMPTY_IT, PREFACE
from wellread.text.english_questions import CLAUSE_OPENERS, PRONOUNS
from wellread.text.noun_phrases import phrases_of
from wellread.text.parsed import parse
from wellread.text.tokens import Token
from wellread.types import Span

SAME_SEX, KNOWN_PERSON, PLURAL_THEY, PERSON_THEY = 1.0, 0.8, 1.5, 1.0
PLURAL_IT, PERSON_IT = 1.2, 1.5
LEAST = 1.4  # below this a pronoun stands for nothing that is known
Sort = str  # "he", "she", "it", "they" or "this"
_HAVE = frozenset({"has", "have", "had"})
_PEOPLE = frozenset("anyone children everybody everyone members people persons users".split())
_OWNING = frozenset({"his", "its", "their", "hers", "theirs"})
_SENTENCE_END = re.compile(r"[.?!;]\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where the question itself names something."""

    start: int
    end: int
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A pronoun that something earlier has to explain."""

    place: int  # among the words
    sort: Sort
    owning: bool


def references_of(text: str, tokens: Sequence[Token]) -> list[Reference]:
    """The pronouns that nothing in the question explains."""
    spots = [Spot(start=phrase.span.start, end=phrase.span.end) for phrase in phrases_of(tokens)]
    for name in parse(text).names:
        start = text.find(name)
        spots.append(Spot(start=start, end=start + len(name), named=True))
    empty = [match.span() for match in EMPTY_IT.finditer(text)]
    found = []
    for place, token in enumerate(tokens):
        sort = PRONOUNS.get(token.plain)
        if sort is None or _stands_for_clause(tokens, place, sort) or _is_other(text, token):
            continue
        if sort == "it" and any(start <= token.start < end for start, end in empty):
            continue
        owning = token.plain in _OWNING or (token.plain == "her" and _owns(tokens, place))
        if not _explained(text, tokens, place, spots, owning=owning):
            found.append(Reference(place=place, sort=sort, owning=owning))
    return found


def pronoun_edits(
    text: str, tokens: Sequence[Token], candidates: Sequence[Antecedent]
) -> Iterator[Edit]:
    """The first pronoun of each sort with what it stands for, where that is known."""
    done: set[Sort] = set()
    used: set[str] = set()
    said = {token.plain for token in tokens}
    for reference in references_of(text, tokens):
        if reference.sort in done:
            continue
        done.add(reference.sort)
        fitting = [
            one
            for one in candidates
            if one.key not in used
            and not (one.words and one.words <= said)
            and fits(reference, one)
        ]
        if not fitting:
            continue
        meant = max(fitting, key=lambda one: one.score + _agreement(reference.sort, one))
        if meant.score + _agreement(reference.sort, meant) < LEAST:
            continue
        used.add(meant.key)
        token = tokens[reference.place]
        end = token.start + len(token.written)
        put = possessive(meant.text) if reference.owning else meant.text
        yield Edit(
            span=Span(start=token.start, end=end), text=put, reason=means(token.written, meant.text)
        )


def fits(reference: Reference, one: Antecedent) -> bool:
    """Whether the pronoun can stand for it."""
    sort = reference.sort
    if sort in ("he", "she"):
        return one.person >= 0 and one.sex in ("", sort)
    if sort in ("it", "this"):
        return one.person < 2
    return True


def _agreement(sort: Sort, one: Antecedent) -> float:
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
    if place + 1 >= len(tokens) or not tokens[place + 1].joined:
        return False
    after = tokens[place + 1].plain
    return (after not in STOP_WORDS and after not in PREPOSITIONS) or after in (
        "own",
        "other",
        "most",
    )


def _stands_for_clause(tokens: Sequence[Token], place: int, sort: Sort) -> bool:
    """Whether "that" or "this" is no pronoun here, or one that stands for what was said."""
    if sort != "this":
        return False
    word = tokens[place].plain
    before = tokens[place - 1].plain if place else ""
    after = tokens[place + 1].plain if place + 1 < len(tokens) else ""
    ends = not after or not tokens[place + 1].joined
    closing = place + 2 >= len(tokens) and before in ("do", "does", "did")
    if not ends and after not in BE and after not in AUXILIARIES and not closing:
        return True
    if word == "that" and before and before not in BEFORE_THIS:
        return True
    return before in ("after", "before", "since", "like", "than", "of", "besides", "at", "do")


def _heads(tokens: Sequence[Token], place: int) -> bool:
    """Whether "it" or "they" is the subject of a clause with an auxiliary."""
    after = tokens[place + 1].plain if place + 1 < len(tokens) else ""
    before = tokens[place - 1].plain if place else ""
    return (after in AUXILIARIES or after in BE or after in _HAVE) and before not in AUXILIARIES


def _explained(
    text: str, tokens: Sequence[Token], place: int, spots: Sequence[Spot], *, owning: bool
) -> bool:
    """Whether a name or phrase in the same question explains the pronoun."""
    token = tokens[place]
    comma = text.find(", ", token.end)
    if comma >= 0 and PREFACE.match(text) and any(one.named for one in spots if one.start > comma):
        return True
    before = [spot for spot in spots if spot.end <= token.start]
    if not before:
        return owning and any(one.plain in _PEOPLE for one in tokens[:place])
    named = any(spot.named for spot in before)
    if owning or (named and (token.plain in ("he", "she") or _heads(tokens, place))):
        return True
    if named and place and tokens[place - 1].plain == "with" and token.plain != "it":
        return True  # "what does Rosa take with her"
    last = max(spot.end for spot in before)
    return _SENTENCE_END.search(text, last, token.start) is not None or any(
        one.plain in CLAUSE_OPENERS for one in tokens[:place] if one.start >= last
    )
