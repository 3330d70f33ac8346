"""The text of an answer and the citation markers in it: finding them, taking them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from wellread.answers import Answer, Citation, Sentence
from wellread.ask_settings import CitationSettings
from wellread.types import Span

_MARKER = re.compile(r"[ ]?\[[^\[\]\n]*\]")


def markers_after(text: str, sentence: Sentence) -> Span:
    """Where the markers of ``sentence`` stand in the answer's ``text``: right after it."""
    end = sentence.span.end
    for _ in sentence.citations:
        found = _MARKER.match(text, end)
        if found is None:
            break
        end = found.end()
    return Span(start=sentence.span.end, end=end)


def with_markers(
    answer: Answer,
    shown: Callable[[Citation], str],
    *,
    said: Callable[[str], str] = lambda text: text,
) -> str:
    """The answer's text with ``shown`` in place of each marker; an empty one leaves no space.

    Args:
        said: what becomes of the text between the markers.
    """
    by_id = {citation.id: citation for citation in answer.citations}
    pieces: list[str] = []
    place = 0
    for sentence in sorted(answer.sentences, key=lambda one: one.span.start):
        after = markers_after(answer.text, sentence)
        pieces.append(said(answer.text[place : after.start]))
        put = [shown(by_id[known]) for known in sentence.citations if known in by_id]
        pieces += [f" {one}" for one in put if one]
        place = max(place, after.end)
    pieces.append(said(answer.text[place:]))
    return "".join(pieces)


def as_rendered(answer: Answer, settings: CitationSettings) -> Answer:
    """The answer as it is rendered: without addresses where ``citations.include_links`` is off."""
    if settings.include_links:
        return answer
    bare = tuple(replace(citation, url="", link="") for citation in answer.citations)
    return replace(answer, citations=bare)


def plain_text(answer: Answer) -> str:
    """The answer's text without markers."""
    return with_markers(answer, lambda _: "")
