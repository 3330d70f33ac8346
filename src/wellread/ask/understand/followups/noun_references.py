"""Phrases that point back: "the library", "that year", "there", "the second one", "both"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from wellread.ask.understand.followups.antecedents import LONGEST_TITLE, Antecedent
from wellread.ask.understand.followups.turns import Edit, Turn, means
from wellread.text.english import AUXILIARIES, PREPOSITIONS, STOP_WORDS
from wellread.text.english_followups import AFTER_THERE, LIST_COUNTS, ORDINALS, POINTING, THEN
from wellread.text.english_questions import CITABLE, PERSONS, TEAMS, UNTOLD
from wellread.text.parsed import parse
from wellread.text.periods import expressions_of
from wellread.text.tokens import Token, key_of_words
from wellread.types import Span

_POINTERS = frozenset({"the", "this", "that", "these", "those"})


def noun_edits(
    text: str, tokens: Sequence[Token], candidates: Sequence[Antecedent], used: Sequence[str]
) -> Iterator[Edit]:
    """Definite phrases of one word with the name that fits; each name once.

    Args:
        used: what other words of the question stand for already, lower case.
    """
    said = {token.plain for token in tokens}
    taken = {text.lower() for text in used}
    for place, token in enumerate(tokens[:-1]):
        head = tokens[place + 1]
        if token.plain not in _POINTERS or not head.joined or head.written[:1].isupper():
            continue
        if not _ends(tokens, place + 1):
            continue
        meant = _meant(token.plain, head, candidates, said)
        if meant is None or meant.text.lower() in taken:
            continue
        taken.add(meant.text.lower())
        span = Span(start=token.start, end=head.start + len(head.written))
        put = meant.text
        if head.end > span.end:  # "the library's"
            span = Span(start=token.start, end=head.end)
            put = f"{put}'s"
        yield Edit(span=span, text=put, reason=means(span.of(text), meant.text))


def time_edits(text: str, earlier: Sequence[Turn], today: date) -> Iterator[Edit]:
    """ "then" and "that year" with the last time that was named."""
    match = THEN.search(text)
    if match is None or expressions_of(text, today):
        return
    for turn in reversed(earlier[-3:]):
        for said in (turn.answer, turn.question):
            times = expressions_of(said[:600], today)
            if times:
                when = said[times[0].start : times[0].end]
                lead = {"recent": "", "day": "on "}.get(times[0].period.grain, "in ")
                put = f"{lead}{when}"
                span = Span(start=match.start(), end=match.end())
                yield Edit(span=span, text=put, reason=means(match.group(), when))
                return


def place_edits(
    text: str, tokens: Sequence[Token], candidates: Sequence[Antecedent]
) -> Iterator[Edit]:
    """ "there", where it is a place, with the last place that was named."""
    said = {token.plain for token in tokens}
    for place, token in enumerate(tokens):
        if token.plain != "there" or place == 0 or not AFTER_THERE.match(text[token.end :]):
            continue
        if tokens[place - 1].plain in (
            "is",
            "are",
            "was",
            "were",
            "been",
            "be",
            "does",
            "do",
            "did",
        ):
            continue
        places = [one for one in candidates if one.place and not one.words <= said]
        if places:
            meant = min(places, key=lambda one: (one.back, -one.score))
            led = tokens[place - 1].plain in PREPOSITIONS
            put = meant.text if led else f"in {meant.text}"
            span = Span(start=token.start, end=token.end)
            yield Edit(span=span, text=put, reason=means(token.written, put))
            return


def _ends(tokens: Sequence[Token], place: int) -> bool:
    """Whether the phrase ends with this word: no other noun follows."""
    if tokens[place].plain in STOP_WORDS:
        return False
    if place + 1 >= len(tokens) or not tokens[place + 1].joined:
        return True
    if tokens[place].end > tokens[place].start + len(tokens[place].written):  # possessive
        return True
    verb = place + 1 if place > 1 and tokens[place - 2].plain in AUXILIARIES else None
    if verb is not None and (  # "does the library lend?", not "does the library card cost?"
        verb + 1 == len(tokens) or tokens[verb + 1].plain in STOP_WORDS | PREPOSITIONS
    ):
        return True
    after = tokens[place + 1].plain
    if tokens[place - 1].plain == "the" and after in PREPOSITIONS:  # "the library in Hamburg"
        return False
    return after in STOP_WORDS - {"of"} or (after in PREPOSITIONS and after != "of")


def _meant(
    pointer: str, head: Token, candidates: Sequence[Antecedent], said: set[str]
) -> Antecedent | None:
    key = key_of_words([head.plain])
    for one in candidates:
        if one.words <= said or not one.words or not one.named or one.person > 0:
            continue
        if _ends_so(one, key) and not (one.cited and len(one.text.split()) > LONGEST_TITLE):
            return one
        if one.kind and key_of_words([one.kind.split()[-1]]) == key:
            return one
    if pointer == "the":
        return None
    near = [one for one in candidates if not one.words <= said and one.named and one.back <= 1]
    return next((one for one in near if _may_be(head.plain, one)), None)


def _ends_so(one: Antecedent, key: str) -> bool:
    """Whether a name of several words ends with the noun, or with it and a name of its own: "the
    ferry" is the Northern Ferry, and the ferry Osprey.
    """
    written = one.text.split()
    if len(written) < 2 + one.text.lower().startswith("the "):
        return False
    if key_of_words([written[-1].lower()]) == key:
        return True
    own = written[-1][:1].isupper() and written[-2][:1].islower()
    return own and key_of_words([written[-2]]) == key


def _may_be(head: str, one: Antecedent) -> bool:
    """Whether what tells nothing of itself may be called ``head``."""
    if head in PERSONS:
        return one.person >= 0
    if head in CITABLE:
        return False
    if head in TEAMS:
        return one.person < 1 and (one.plural or one.cited) and not one.kind
    return head in UNTOLD and one.person < 1 and not (one.plural or one.cited or one.kind)


_LINE = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(.{2,120}?)\s*$", re.MULTILINE)
_LINE_HEAD = re.compile(r"^[*_“\"]*(.+?)[*_”\"]*(?:\s*[:–—(]\s*.*|\s+-\s+.*)?$")
_BETWEEN = re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+")
MOST_TEXT = 600  # characters that a list is looked for in
_EITHER = re.compile(
    r"\b((?:the\s+)?[\w’'-]+(?:\s+[\w’'-]+)?),?\s+or\s+((?:the\s+)?[\w’'-]+(?:\s+[\w’'-]+)?)"
)


def list_edits(text: str, earlier: Sequence[Turn]) -> list[Edit]:
    """What is pointed at by its place in what was shown last; none when nothing was."""
    found: list[Edit] = []
    items: tuple[str, ...] | None = None
    for match in POINTING.finditer(text):
        if items is None:
            items = shown(earlier)
        meant = _pointed_at(match, items, earlier)
        if meant:
            joined = f"{', '.join(meant[:-1])} and {meant[-1]}" if len(meant) > 1 else meant[0]
            said = match.group().strip()
            span = Span(start=match.start(), end=match.start() + len(said))
            found.append(Edit(span=span, text=joined, reason=means(said, joined)))
    return found


def shown(earlier: Sequence[Turn]) -> tuple[str, ...]:
    """The items of the last turn that showed at least two; of its words where it has no list."""
    for turn in reversed(earlier[-3:]):
        if len(turn.items) > 1:
            return turn.items
        lines = tuple(
            head.group(1) for line in _LINE.findall(turn.answer) if (head := _LINE_HEAD.match(line))
        )
        if len(lines) > 1:
            return lines
        for text in (turn.answer, turn.question):
            enumerated = _enumerated(text)
            if enumerated:
                return enumerated
    return ()


def _enumerated(text: str) -> tuple[str, ...]:
    """The names that one sentence lists ("A, B and C"), or its two sides ("A or B")."""
    for sentence in re.split(r"(?<=[.!?;:])\s+", text[:MOST_TEXT]):
        parts = _BETWEEN.split(sentence)
        listed = [parse(f"· {part}").names for part in parts]
        if len(parts) > 1 and all(listed):
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
        count = min(LIST_COUNTS[parts["count"]], len(items) + 1)
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
    return (items[place],) if 0 <= place < len(items) else ()
