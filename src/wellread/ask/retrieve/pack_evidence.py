"""Packs hits into the evidence that an answer may rest on."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.answers import Evidence
from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.models.word_pieces import count_tokens
from wellread.text.sentences import sentence_spans
from wellread.types import Hit, Span


def pack(kb: KnowledgeBase, hits: Sequence[Hit], sides: int = 1) -> list[Evidence]:
    """Evidence in the order of ``hits`` until the token or character budget is spent.

    A piece that does not fit whole is cut after its last whole sentence that does; keys are
    ``e1``, ``e2``, ... in order.

    Args:
        sides: how many the question compares. The first hits are about one side each, in turns
            (``strategies/sides.py``); none of them takes more than its share of the budgets.
    """
    marks = kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])
    packed: list[Evidence] = []
    tokens, characters = 0, 0
    settings = kb.settings.context
    for number, (hit, found) in enumerate(zip(hits, marks, strict=True)):
        shared = number < sides and sides > 1
        text = _fitting(
            hit.passage.text,
            (settings.max_characters - characters) // (sides - number if shared else 1),
            (settings.max_tokens - tokens) // (sides - number if shared else 1),
        )
        if not text and shared:
            continue
        if not text:
            break
        tokens += count_tokens(text)
        characters += len(text)
        span = Span(start=hit.passage.span.start, end=hit.passage.span.start + len(text))
        packed.append(
            Evidence(
                key=f"e{len(packed) + 1}",
                hit=hit,
                text=text,
                span=span,
                locator=Marks(found).locate(span),
            )
        )
        if len(text) < len(hit.passage.text) and not shared:
            break
    return packed


def _fitting(text: str, room: int, room_tokens: int) -> str:
    """``text``, or its longest run of whole sentences that the room still allows."""
    if len(text) <= room and count_tokens(text) <= room_tokens:
        return text
    fitting = ""
    for span in sentence_spans(text):
        longer = text[: span.end]
        if len(longer) > room or count_tokens(longer) > room_tokens:
            break
        fitting = longer
    return fitting
