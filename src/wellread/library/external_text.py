"""Somebody else's text taken apart into sentences, whatever form its citations have.

Markers are blanked, not cut out, so that every sentence keeps its place in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wellread.ask.verify.align import plain
from wellread.ask.write.parse_draft import parse_draft
from wellread.text.parsed import parse
from wellread.types import Span

_YEAR = r"(?:1[6-9]|20)\d\d[a-z]?"
_WORK = rf"[^()\[\];]{{2,80}}?,?\s+(?:{_YEAR}|n\.\s?d\.)(?:,\s*(?:pp?\.|S\.)?\s*[\d–-]+)?"
_MARKERS = (
    # [1], [1, 2], [1–3], [^1], [[1]], [1](https://…), [p. 5], [Smith 2020]
    r"\[{1,2}\^?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]{1,2}(?:\((?:#|https?://)[^()\s]*\))?",
    rf"\[{_WORK}(?:;\s*{_WORK})*\]",
    # 【1†source】
    r"【[^【】\n]{1,100}】",
    # (Smith 2020), (Smith et al., 2020; Jones, 2019, p. 5), (see Smith 2020)
    rf"\((?:(?:see|cf\.|e\.g\.,?)\s+)?(?-i:(?=[A-ZÄÖÜÉ])){_WORK}(?:;\s*{_WORK})*\)",
    # (Source: …), [Source: …], [citation needed]
    r"[\[(](?:sources?|refs?\.?|references?)\s*:\s*[^\[\]()\n]{1,200}[\])]",
    r"\[citation needed\]",
    # ¹²
    r"[⁰¹²³⁴-⁹]{1,3}(?=[\s.,;:)]|$)",
    r"<sup>[^<]{1,20}</sup>",
)
_MARKER = re.compile("|".join(f"(?:{each})" for each in _MARKERS), re.IGNORECASE)
_REFERENCES = re.compile(
    r"(?im)^[ \t]*(?:#{1,6}[ \t]*|\*\*)?(?:references|sources|bibliography|works cited|citations|"
    r"footnotes)(?:\*\*)?[ \t]*:?(?:\*\*)?[ \t]*$"
)
_LISTED = re.compile(r"[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)][ \t]|\[\^?\d{1,3}\]|https?://)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSentence:
    """A sentence, without its markers, and where it stands in the text."""

    text: str
    span: Span

    @property
    def claims(self) -> bool:
        """Whether it says something that can be checked: no question, no lead-in, some content."""
        return not self.text.rstrip("\"”»’') ").endswith(("?", ":")) and bool(
            parse(self.text).stems
        )


def sentences_of(text: str) -> list[ForeignSentence]:
    """The sentences of a Markdown or plain text, in order. Headings, tables' heads and a list of
    references at the end are none.
    """
    blanked = _MARKER.sub(lambda found: " " * len(found.group()), _before_references(text))
    found: list[ForeignSentence] = []
    place = 0
    for claim in parse_draft(blanked.replace("\r", " "), ()).claims:
        start = blanked.replace("\r", " ").find(claim.text, place)
        if start < 0:
            continue
        place = start + len(claim.text)
        shown = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(claim.text.split()))
        span = Span(start=start, end=start + len(claim.text.rstrip()))
        found.append(ForeignSentence(text=plain(shown), span=span))
    return found


def _before_references(text: str) -> str:
    """``text`` up to the heading of a list of references that ends it."""
    for heading in _REFERENCES.finditer(text):
        below = [line for line in text[heading.end() :].splitlines() if line.strip()]
        if below and all(_LISTED.match(line) for line in below):
            return text[: heading.start()]
    return text
