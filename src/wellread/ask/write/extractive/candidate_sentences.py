"""The sentences of the evidence that could be part of an answer, with what stands around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span

SHORTEST_WORDS = 4
LONGEST_LINE = 14  # words of a line of its own that is no sentence

# What only the sentence before explains. Connectives ("However", "Also") read well by themselves.
_LEANING = re.compile(
    r"^(?:[\"'“‘(]*)(?:(?:however|but|also|moreover|then|thus|so|therefore|and|yet|later),?\s+)?"
    r"(?:it|its|this|that|these|those|they|their|them|he|she|his|her|hers|such|both|each of them"
    r"|the (?:former|latter|same|two|other|others|rest)|yes|no|another|others|for this|in this"
    r"|at that time|since then|there,)\b(?!’s\b.*\bthat\b)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]+$")
# "A good room has": what follows is a list.
_OPEN_END = re.compile(
    r"\b(?:has|have|had|is|are|was|were|includes?|needs?|offers?|contains?|means?|must|should|can"
    r"|will|to|for|of|with|by|if|when|that)$"
)
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


def options_of(evidence: Sequence[Evidence]) -> list[Option]:
    """Every sentence of every piece, in order."""
    found: list[Option] = []
    for number, piece in enumerate(evidence):
        lead = -1
        for place, span in enumerate(sentence_spans(piece.text)):
            text = span.of(piece.text)
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
                )
            )
    return found


def _readable(text: str, before: str, after: str, *, item: bool) -> bool:
    bare = text.rstrip("\"'”’)")
    if bare.endswith(("?", ":")) or _CAPTION.match(text) or text.lstrip().startswith("|"):
        return False
    if " | " in text and " | " not in before.rstrip().rpartition("\n")[2]:
        return False  # the first row of a table says what the columns are
    if len(text.split()) < SHORTEST_WORDS and not (item and bare.endswith((".", "!"))):
        return False
    if item:
        return True
    if bare.endswith((".", "!", "…", ";")) or (after and not after.startswith("\n\n")):
        return True
    # The last line of a paragraph without a full stop: a heading, or what stands below one.
    alone = not before or before.endswith("\n\n")
    return not alone and not (before.endswith("\n") and len(text.split()) <= LONGEST_LINE)
