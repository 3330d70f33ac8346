"""The rendered forms of a citation in an answer's text (``citations.style``), and finding them.

A marker is one pair of square brackets without another inside, so that whoever reads a stored
answer finds it again whatever the style was.
"""

from __future__ import annotations

from typing import Literal

from wellread.answers import Citation
from wellread.kb import KnowledgeBase
from wellread.locators import format_time

Style = Literal["number", "auto", "title", "page", "time", "entity"]
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


def _flat(text: str) -> str:
    return " ".join(text.translate(_INSIDE).split())
