"""An answer as blocks of sentences, each with its verdict and citations, ready to be drawn.

The text of a model is Markdown; it is rendered here, on the server, and sanitised. Everything else
is shown letter by letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from wellread.answer_text import markers_after
from wellread.answers import BEFORE, CATALOGUE, EXTRACTIVE, NOBODY, Answer, Citation, Sentence
from wellread.text.words import harmless

PLAIN = (EXTRACTIVE, CATALOGUE, BEFORE, NOBODY)  # whose text is no Markdown
INLINE = {"em", "strong", "code", "del", "sub", "sup"}

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
_ITEM = re.compile(r"(?:^|\n)[ \t]*(?:[-*+•]|(\d+)[.)])[ \t]+$")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSentence:
    """A sentence of the answer: ``number`` counts from 1; ``html`` is safe to insert."""

    number: int
    html: Markup
    sentence: Sentence
    citations: tuple[Citation, ...]


@dataclass(slots=True, kw_only=True)
class AnswerBlock:
    """A paragraph, or an item of a list (``marker`` is ``ul``, ``ol`` or empty).

    ``parts`` are sentences, and text between them that is none.
    """

    marker: str = ""
    parts: list[ShownSentence | Markup] = field(default_factory=list)


def answer_blocks(answer: Answer) -> list[AnswerBlock]:
    """The text of ``answer`` in its blocks; the citation markers stand in the sentences."""
    by_id = {citation.id: citation for citation in answer.citations}
    plain = answer.answered_by in PLAIN
    blocks = [AnswerBlock()]
    place = 0
    for number, sentence in enumerate(answer.sentences, 1):
        _between(blocks, answer.text[place : sentence.span.start])
        said = sentence.span.of(answer.text)
        shown = ShownSentence(
            number=number,
            html=escape(harmless(said)) if plain else inline_markdown(said),
            sentence=sentence,
            citations=tuple(by_id[known] for known in sentence.citations if known in by_id),
        )
        blocks[-1].parts.append(shown)
        place = markers_after(answer.text, sentence).end
    _between(blocks, answer.text[place:])
    return [block for block in blocks if block.parts]


def inline_markdown(text: str) -> Markup:
    """``text`` as one line of Markdown, sanitised: emphasis and code, no link, no image."""
    rendered = _MARKDOWN.renderInline(harmless(text))
    return Markup(nh3.clean(rendered, tags=INLINE, attributes={}))  # noqa: S704 - just sanitised


def _between(blocks: list[AnswerBlock], text: str) -> None:
    """What stands between two sentences: a new paragraph, the mark of a list item, or words."""
    item = _ITEM.search(text)
    before = text[: item.start()] if item else text
    pieces = _PARAGRAPH.split(before)
    for at, piece in enumerate(pieces):
        if at and blocks[-1].parts:
            blocks.append(AnswerBlock())
        if piece.strip():
            blocks[-1].parts.append(escape(harmless(piece)))
    if item:
        blocks.append(AnswerBlock(marker="ol" if item.group(1) else "ul"))
