"""The text of an answer: the citation markers in it, and what keeps text literal in Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from wellread.answers import Answer, Citation, Sentence
from wellread.types import Span

_MARKER = re.compile(r"[ ]?\[[^\[\]\n]*\]")
_INLINE = re.compile(r"[\\`*\[\]<>|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_LEADING = re.compile(r"^([#>+=-]|\d+(?=[.)]))")
_LOADS = re.compile(r"!(?=\[)|<(?=[A-Za-z/!?])")


def markers_after(text: str, sentence: Sentence) -> Span:
    """Where the markers of ``sentence`` stand in the answer's ``text``: right after it."""
    end = sentence.span.end
    for _ in sentence.citations:
        found = _MARKER.match(text, end)
        if found is None:
            break
        end = found.end()
    return Span(start=sentence.span.end, end=end)


def with_markers(answer: Answer, shown: Callable[[Citation], str]) -> str:
    """The answer's text with ``shown`` in place of each marker; an empty one leaves no space."""
    by_id = {citation.id: citation for citation in answer.citations}
    pieces: list[str] = []
    place = 0
    for sentence in sorted(answer.sentences, key=lambda one: one.span.start):
        after = markers_after(answer.text, sentence)
        pieces.append(answer.text[place : after.start])
        put = [shown(by_id[known]) for known in sentence.citations if known in by_id]
        pieces += [f" {one}" for one in put if one]
        place = max(place, after.end)
    pieces.append(answer.text[place:])
    return "".join(pieces)


def plain_text(answer: Answer) -> str:
    """The answer's text without markers."""
    return with_markers(answer, lambda _: "")


def escaped(text: str) -> str:
    """``text`` as Markdown shows it letter by letter."""
    flat = _INLINE.sub(lambda found: f"\\{found.group()}", text)
    return _LEADING.sub(lambda found: _leading(found.group()), flat)


def link_target(link: str) -> str:
    """``link`` as the target of a Markdown link: no space, no bracket that would end it."""
    return quote(link, safe="%/:=&?~#+!$,;'@*_-.")


def loads_nothing(markdown: str) -> str:
    """``markdown`` without pictures and HTML: whoever shows it fetches nothing by it.

    A picture's address could carry what is said elsewhere to whoever wrote a source.
    """
    return _LOADS.sub(lambda found: f"\\{found.group()}", markdown)


def _leading(mark: str) -> str:
    """What begins a line and would make a list or a heading of it."""
    return f"\\{mark}" if not mark.isdigit() else f"{mark}\\"
