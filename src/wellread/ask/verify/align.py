"""Where a sentence stands in a passage, letter by letter or nearly so."""

from __future__ import annotations

import re

from rapidfuzz import fuzz

from wellread.text.english import DOUBTING
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span

FUZZY = 92.0  # per cent of characters that agree, from which a sentence counts as quoted
LEAST_LOOSE, LEAST_FUZZY = 3, 4  # words; fewer are found anywhere by chance

_LOOSE = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "–": "-", "—": "-"})
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*_`~])([*_`~]{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_`~])")
# What takes back the words that follow it in the same sentence.
_DOUBTING = re.compile(rf"\b(?:{'|'.join(DOUBTING)})\b", re.IGNORECASE)


def plain(sentence: str) -> str:
    """``sentence`` without Markdown's emphasis, code marks and links."""
    shown = _LINK.sub(r"\1", sentence)
    for _ in range(2):  # bold inside italics
        shown = _EMPHASIS.sub(r"\2", shown)
    return shown


def verbatim(sentence: str, text: str) -> Span | None:
    """Where ``sentence`` stands in ``text``, but for white space, quotation marks, case and a
    final stop.
    """
    place = text.find(sentence)
    if place >= 0:
        return Span(start=place, end=place + len(sentence))
    parts = sentence.translate(_LOOSE).rstrip(" .!?").split()
    if len(parts) < LEAST_LOOSE:
        return None
    pattern = r"(?<!\w)" + r"\s+".join(re.escape(part) for part in parts) + r"(?!\w)"
    found = re.search(pattern, text.translate(_LOOSE), re.IGNORECASE)
    return Span(start=found.start(), end=found.end()) if found else None


def fuzzy(sentence: str, text: str) -> tuple[Span, float] | None:
    """Where ``sentence`` stands in ``text`` but for a few characters, and how alike, 0-1."""
    if len(sentence) > len(text) or len(sentence.split()) < LEAST_FUZZY:
        return None
    found = fuzz.partial_ratio_alignment(sentence, text, score_cutoff=FUZZY)
    if found is None:
        return None
    return _grow_to_words(Span(start=found.dest_start, end=found.dest_end), text), found.score / 100


def taken_back(text: str, span: Span) -> bool:
    """Whether the rest of the sentence around ``span`` denies or doubts what stands there.

    "It is not true that the bridge is closed" quotes "the bridge is closed" and says the opposite.
    """
    around = [each for each in sentence_spans(text) if each.overlaps(span)]
    if not around:
        return False
    before = text[around[0].start : span.start] if around[0].start < span.start else ""
    return parse(before).negations % 2 == 1 or _DOUBTING.search(before) is not None


def _grow_to_words(span: Span, text: str) -> Span:
    start, end = span.start, span.end
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return Span(start=start, end=end)
