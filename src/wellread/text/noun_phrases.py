"""Noun phrases of short texts, told by the closed-class words around them.

No parser: a phrase is a run of content words after an article, a preposition, a form of "be", or
an auxiliary, less the verb that must follow an auxiliary's subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.text.english import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    EMPTY_HEADS,
    PARTICIPLES,
    PREPOSITIONS,
    STOP_WORDS,
)
from wellread.text.tokens import Token
from wellread.types import Span

LONGEST = 5  # words of a phrase
_ADVERB = re.compile(r"\w{3,}ly$")
_HEAD_OF = re.compile(r"\s+(?:of|for|in|at)\s+(?:the\s+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A noun phrase; ``span`` holds its article, ``bare`` does not."""

    span: Span
    bare: Span
    head: str  # its last word, plain
    definite: bool


def phrases_of(tokens: Sequence[Token]) -> list[Phrase]:
    """The noun phrases of a text in reading order; they do not overlap."""
    found: list[Phrase] = []
    place = 0
    while place < len(tokens):
        end, phrase = _phrase(tokens, place)
        if phrase is not None:
            found.append(phrase)
        place = max(end, place + 1)
    return found


def _phrase(tokens: Sequence[Token], place: int) -> tuple[int, Phrase | None]:
    """The phrase that the word at ``place`` leads to, and the word after it."""
    word = tokens[place].plain
    start = place + 1
    if word in DETERMINERS:
        led = tokens[place - 1].plain if place else ""
    elif word in PREPOSITIONS or word in BE or word in AUXILIARIES or word in ("what", "which"):
        if start < len(tokens) and tokens[start].plain in DETERMINERS:
            return place + 1, None  # the article leads to it
        led = word
    else:
        return place + 1, None
    run = list(_run(tokens, start))
    following = tokens[start + len(run)].plain if start + len(run) < len(tokens) else ""
    if run and _holds_verb(tokens, led, len(run), following, opens=place <= 1):
        objects = tokens[run[-1]].plain.endswith("s") and len(run) > 2 and led in AUXILIARIES
        run = run[: -2 if objects else -1]  # "identify bots" goes, so does "identify"
    if word in ("what", "which") and len(run) > 1:  # "which libraries lend tools"
        many = [n for n, at in enumerate(run) if tokens[at].plain.endswith("s")]
        run = run[: many[0] + 1] if many else run
    if not run or (len(run) == 1 and tokens[run[0]].plain in EMPTY_HEADS):
        return place + 1, None
    first, last = tokens[run[0]], tokens[run[-1]]
    bare = Span(start=first.start, end=last.start + len(last.written))
    begin = tokens[place].start if word in DETERMINERS else bare.start
    return run[-1] + 1, Phrase(
        span=Span(start=begin, end=bare.end),
        bare=bare,
        head=last.plain,
        definite=word == "the",
    )


def _run(tokens: Sequence[Token], start: int) -> Iterator[int]:
    for place in range(start, min(len(tokens), start + LONGEST)):
        token = tokens[place]
        if place > start and not token.joined:
            return
        if token.plain in STOP_WORDS or token.plain in PREPOSITIONS:
            return
        if place == start and token.plain.endswith("ed") and tokens[place - 1].plain in BE:
            return
        ends = token.plain.endswith("ed") and len(token.plain) > 4 and token.written[0].islower()
        if place > start and (ends or token.plain in PARTICIPLES or _ADVERB.match(token.plain)):
            return
        yield place


def _holds_verb(
    tokens: Sequence[Token], led: str, length: int, following: str, *, opens: bool
) -> bool:
    """Whether the last word of a run is the verb that its auxiliary asks for."""
    if led in AUXILIARIES:
        if following in PARTICIPLES or following.endswith("ed"):
            return False
        return following not in ("have", "be", "get", "make", "do", "give", "need", "know")
    return led in BE and opens and length > 1 and tokens[0].plain in BE
