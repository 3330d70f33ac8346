"""The rendered forms of a citation in an answer's text (``citations.style``), and finding them.

A marker is one pair of square brackets without another inside, so that whoever reads a stored
answer finds it again whatever the style was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from wellread.answers import Answer, Citation, Sentence
from wellread.kb import KnowledgeBase
from wellread.locators import format_time
from wellread.types import Span

Style = Literal["number", "auto", "title", "page", "time", "entity"]
_ONE = re.compile(r"[ ]?\[[^\[\]\n]*\]")
_INSIDE = str.maketrans({"[": "(", "]": ")"})


def marker(citation: Citation, style: Style, entity_id: str = "") -> str:
    """The marker of ``citation``; a form that it has no place for becomes the plain title.

    Args:
        entity_id: what the graph calls the source, where it is an entity.
    """
    if style == "number":
        return f"[{citation.id}]"
    page, begin = citation.locator.page, citation.locator.begin
    by_kind = style in ("auto", "entity")
    if by_kind and citation.kind == "entity" and entity_id:
        return f"[Source: {_flat(entity_id)}]"
    title = _flat(citation.title)
    if page is not None and (style == "page" or (by_kind and citation.kind == "paper")):
        return f"[{title}, p. {page}]"
    if begin is not None and (style == "time" or (by_kind and citation.kind == "transcript")):
        return f"[{title} @ {format_time(begin)}]"
    return f"[{title}]"


def styled(kb: KnowledgeBase, citation: Citation, style: Style) -> str:
    """``marker``, with the entity's id read from the catalogue where the style shows it."""
    if citation.kind != "entity" or style not in ("auto", "entity"):
        return marker(citation, style)
    document = kb.catalogue.document(citation.document_id)
    entity = document.entity if document else None
    return marker(citation, style, entity.entity_id if entity else "")


def markers_after(text: str, sentence: Sentence) -> Span:
    """Where the markers of ``sentence`` stand in the answer's ``text``: right after it."""
    end = sentence.span.end
    for _ in sentence.citations:
        found = _ONE.match(text, end)
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


def _flat(text: str) -> str:
    return " ".join(text.translate(_INSIDE).split())
