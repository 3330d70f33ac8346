"""An answer as one HTML file: nothing is loaded from elsewhere, nothing in it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Literal
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from wellread.answer_text import markers_after
from wellread.answers import BEFORE, CATALOGUE, EXTRACTIVE, NOBODY, Answer, Sentence
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.text.words import harmless

# Whose text is no Markdown: what means something there is to be read as it stands.
PLAIN = (EXTRACTIVE, CATALOGUE, BEFORE, NOBODY)
STALE = "A source of this answer has changed or gone since it was given."
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_POINT = re.compile(r"\s*[-*+•]\s+")
_NUMBER = re.compile(r"\s*(\d{1,3})[.)]\s+")

Shape = Literal["text", "heading", "points", "numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some of the answer's text; ``sentence`` is None for what stands between the sentences."""

    text: str
    sentence: Sentence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the answer; ``number`` is that of an item in a numbered list."""

    shape: Shape
    pieces: tuple[Piece, ...]
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines of one shape that stand together: a paragraph, or a list."""

    shape: Shape
    lines: tuple[Line, ...]


def answer_page(stored: StoredAnswer, answer: Answer) -> str:
    """``answer`` as a file for a browser and for paper, with all that is known of its proof."""
    return _template().render(
        stored=stored,
        answer=answer,
        blocks=list(blocks_of(answer)),
        known={citation.id for citation in answer.citations},
        byline=byline(answer),
        stale=STALE,
    )


def byline(answer: Answer) -> str:
    """Who answered, in words."""
    return "Declined" if answer.answered_by == NOBODY else f"Answered by {answer.answered_by}"


def web_link(link: str) -> str:
    """``link`` when it is one of the web, else nothing: no other scheme is to be followed."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:  # brackets in a host
        return ""
    return link.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


def blocks_of(answer: Answer) -> Iterator[Block]:
    """The answer's text without its markers, in paragraphs, headings and lists.

    Of Markdown only the marks at the beginning of a line are read, and only where they stand
    between sentences: a sentence is shown as it is.
    """
    plain = answer.answered_by in PLAIN and not answer.sentences
    lines = [_shaped(pieces, plain=plain) for pieces in _lines(answer)]
    for shape, group in groupby(lines, key=lambda line: line.shape if line else None):
        found = [line for line in group if line]
        if shape is None:  # an empty line
            continue
        if shape in ("points", "numbers"):
            yield Block(shape=shape, lines=tuple(found))
        else:
            yield from (Block(shape=shape, lines=(line,)) for line in found)


def _lines(answer: Answer) -> Iterator[list[Piece]]:
    """The pieces of each line; a line ends only between sentences."""
    line: list[Piece] = []
    for piece in _pieces(answer):
        if piece.sentence:
            line.append(piece)
            continue
        head, *rest = piece.text.split("\n")
        line.append(Piece(text=head))
        for text in rest:
            yield line
            line = [Piece(text=text)]
    yield line


def _pieces(answer: Answer) -> Iterator[Piece]:
    """Sentences and what stands between them; the pieces, joined, are the text less markers."""
    place = 0
    for sentence in sorted(answer.sentences, key=lambda one: one.span.start):
        yield Piece(text=answer.text[place : sentence.span.start])
        yield Piece(text=sentence.span.of(answer.text), sentence=sentence)
        place = max(place, markers_after(answer.text, sentence).end)
    yield Piece(text=answer.text[place:])


def _shaped(pieces: list[Piece], *, plain: bool) -> Line | None:
    """The line without the mark that says what it is; None when there is nothing in it."""
    if not any(piece.text.strip() for piece in pieces):
        return None
    first, *rest = pieces
    shapes: tuple[tuple[Shape, re.Pattern[str]], ...] = (
        ("heading", _HEADING),
        ("points", _POINT),
        ("numbers", _NUMBER),
    )
    for shape, pattern in () if plain else shapes:
        if found := pattern.match(first.text):
            left = (Piece(text=first.text[found.end() :]), *rest)
            number = int(found.group(1)) if shape == "numbers" else 0
            return Line(shape=shape, pieces=left, number=number)
    return Line(shape="text", pieces=tuple(pieces))


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("wellread.library"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    environment.filters["web"] = web_link
    return environment.get_template("answer.html")
