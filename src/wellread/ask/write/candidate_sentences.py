"""The sentences of the evidence that could be part of an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.retrieve.reported_speech import is_theirs, sentences_of
from wellread.ask.understand.answer_kind import says_what
from wellread.ask.understand.planted_orders import planted_in
from wellread.text.english import CONNECTIVES, LEANING, OPEN_ENDS
from wellread.text.english_questions import REFERENCE
from wellread.text.names import bracketed_forms
from wellread.text.parsed import parse
from wellread.types import Span

SHORTEST_WORDS = 4
SHORTEST_SENTENCE = 6  # words of an item that needs no lead
LEADS = 1  # sentences at most that are brought along for one that leans on them
OPENING = 200  # characters of a document within which its first sentence begins
LONGEST_TITLE = 12  # words that may stand before it
LONGEST_LINE = 14  # words of a line of its own that is no sentence

# What only the sentence before explains. Connectives ("However", "Also") read well by themselves.
_LEANING = re.compile(
    rf"^(?:[\"'“‘(]*)(?:(?:{'|'.join(CONNECTIVES)}),?\s+)?(?:{'|'.join(LEANING)})\b(?!’s\b.*\bthat\b)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]+$")
# "A good room has": what follows is a list.
_OPEN_END = re.compile(rf"\b(?:{'|'.join(OPEN_ENDS)})$")
_CAPTION = re.compile(
    r"^(?:figure|fig\.|table|chart|photo|image|source)\s*(?:\d+|:)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One sentence that could be part of the answer.

    Attributes:
        evidence: number of its piece of evidence.
        place: its number among the sentences of that piece.
        span: where it stands in the document.
        readable: it can stand in an answer: no heading, question, caption or fragment.
        leaning: it cannot be read without the sentence before it ("It ...", "These ...").
        item: it is an item of a list.
        lead: number (``place``) of the line that introduces its list; -1 when there is none.
        speaker: who says it; empty where nobody speaks.
    """

    evidence: int
    place: int
    span: Span
    text: str
    stems: frozenset[str]
    readable: bool
    leaning: bool
    item: bool = False
    lead: int = -1
    speaker: str = ""


def options_of(evidence: Sequence[Evidence], voices: Sequence[str] = ()) -> list[Option]:
    """Every sentence of every piece, in order; no sentence goes on from one speaker to another.

    Orders to whoever answers are left out.

    Args:
        voices: whose words are asked for: what they say, and what articles report of them.
    """
    found: list[Option] = []
    for number, piece in enumerate(evidence):
        lead = -1
        planted = planted_in(piece.text)
        for place, (speaker, span) in enumerate(sentences_of(piece)):
            if any(span.overlaps(order) for order in planted):
                lead = -1
                continue
            text = span.of(piece.text)
            if voices and not is_theirs(piece, speaker, text, voices):
                continue
            before, after = piece.text[: span.start], piece.text[span.end :]
            item = _BULLET.search(before[-12:]) is not None
            if text.endswith(":") or (not item and _OPEN_END.search(text)):
                lead = place
            elif not item and "\n" in before[len(before.rstrip()) :]:
                lead = -1  # a new paragraph that is no item ends the list
            found.append(
                Option(
                    evidence=number,
                    place=place,
                    span=Span(start=piece.span.start + span.start, end=piece.span.start + span.end),
                    text=text,
                    stems=parse(text).stem_set,
                    readable=_readable(text, before, after, item=item),
                    leaning=_LEANING.match(text) is not None or text[:1].islower(),
                    item=item,
                    lead=lead if item else -1,
                    speaker=speaker,
                )
            )
    return found


def _readable(text: str, before: str, after: str, *, item: bool) -> bool:
    bare = text.rstrip("\"'”’)")
    if (
        bare.endswith(("?", ":"))
        or _CAPTION.match(text)
        or REFERENCE.search(text)
        or text.lstrip().startswith("|")
        or (text.isupper() and not bare.endswith((".", "!")))  # a heading in capitals
    ):
        return False
    if " | " in text and " | " not in before.rstrip().rpartition("\n")[2]:
        return False  # the first row of a table says what the columns are
    if len(text.split()) < SHORTEST_WORDS:
        whole = item and bare.endswith((".", "!"))
        if not whole or (after and not after.startswith("\n")):
            return False  # a scrap, or what the rest of an item is called: "- Roof. Two came."
    if item:
        return True
    if bare.endswith((".", "!", "…", ";")) or (after and not after.startswith("\n\n")):
        return True
    # The last line of a paragraph without a full stop: a heading, or what stands below one.
    alone = not before or before.endswith("\n\n")
    return not alone and not (before.endswith("\n") and len(text.split()) <= LONGEST_LINE)


def introduces(names: Sequence[str], option: Option, evidence: Sequence[Evidence]) -> bool:
    """Whether a sentence says what the thing of these names is, or opens the document about it."""
    if any(says_what(name, option.text) for name in names):
        return True
    piece = evidence[option.evidence]
    title = piece.hit.document.title
    called = {parse(name).stems for name in (title, *bracketed_forms(title))}
    return any(parse(name).stems in called for name in names) and _opens(option, piece)


def _opens(option: Option, piece: Evidence) -> bool:
    """Whether it is the first sentence of a document below its title."""
    before = piece.text[: option.span.start - piece.span.start]
    return (
        option.readable
        and piece.hit.document.kind != "transcript"
        and piece.span.start + len(before) <= OPENING
        and len(before.split()) <= LONGEST_TITLE
    )


def is_sentence(option: Option) -> bool:
    """Whether it reads as a sentence by itself."""
    ended = option.text.rstrip("\"'”’)").endswith((".", "!", "…"))
    return ended and option.text[:1].isupper() and len(option.text.split()) >= SHORTEST_SENTENCE


def plain_label(name: str) -> str:
    """A name for a label, without what Markdown would read as more than a name."""
    plain = "".join(" " if sign in "*_`[]<>\n" else sign for sign in name)
    plain = " ".join(plain.split())
    return plain[:1].upper() + plain[1:]


def in_order(picked: Sequence[Option], options: Sequence[Option]) -> list[Option]:
    """Reading order: the best sentence's source leads, then the others, each as it stands there.

    A sentence that leans on the one before ("It ...", "These ...") brings it along, an item of
    a list the line that introduces it.
    """
    by_place = {(option.evidence, option.place): option for option in options}
    lists = Counter((option.evidence, option.lead) for option in picked if option.item)
    alone = {lead for lead, items in lists.items() if items == 1}
    first_seen: dict[int, int] = {}
    for rank, option in enumerate(picked):
        first_seen.setdefault(option.evidence, rank)
    wanted: dict[tuple[int, int], Option] = {}
    for option in picked:
        for each in (*_before(option, by_place, alone), option):
            wanted[each.evidence, each.place] = each
    groups = sorted(first_seen, key=lambda number: first_seen[number])
    ordered: list[Option] = []
    for number in groups:
        ordered += sorted(
            (option for option in wanted.values() if option.evidence == number),
            key=lambda option: option.place,
        )
    lead = picked[0]
    if not _before(lead, by_place, alone) and ordered[0] is not lead and not ordered[0].item:
        # What answers best is read first, unless what stands before it is needed to read it.
        ordered.remove(lead)
        ordered.insert(0, lead)
    return ordered


def _before(
    option: Option, by_place: dict[tuple[int, int], Option], alone: Collection[tuple[int, int]]
) -> list[Option]:
    """The sentences that ``option`` cannot be read without, in order.

    Args:
        alone: lists of which one item only is told; it needs no lead where it is a sentence.
    """
    if option.item and option.lead >= 0:
        whole = (option.evidence, option.lead) in alone and is_sentence(option)
        return [] if whole else [by_place[option.evidence, option.lead]]
    found: list[Option] = []
    place = option
    while place.leaning and len(found) < LEADS:
        earlier = by_place.get((place.evidence, place.place - 1))
        if earlier is None or not earlier.readable or earlier.speaker != place.speaker:
            break
        found.insert(0, earlier)
        place = earlier
    return found
