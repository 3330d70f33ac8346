"""Parses an answer's text as Markdown into blocks with marked sentences, for pages and terminals.

Pages render the blocks as HTML, the terminal with Rich. HTML, links and images in the text are
never interpreted: they are shown as plain characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from wellread.text.characters import harmless
from wellread.values.answer_text import (
    PLAIN,
    escaped,
    escaped_row,
    escaped_within,
    is_plain_reply,
    markers_after,
)
from wellread.values.answers import Answer, Citation, Sentence

# Marks with the sentence's number are inserted into the Markdown where a sentence starts and ends,
# and found again in the result. Markdown treats these SignWriting characters as punctuation, so
# emphasis works next to them; real texts do not use them, and they are removed from the answer.
OPEN, CLOSE = "\U0001da8b", "\U0001da88"
MARK = re.compile(f"{OPEN}\\d+{OPEN}|{CLOSE}\\d+{CLOSE}")
_NO_MARKS = str.maketrans(dict.fromkeys((OPEN, CLOSE), "\ufffd"))

_PARSER = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["link", "image", "autolink", "reference", "code"])
)
INLINE = {"em", "strong", "code", "s"}
_TEXTS = {"p", "li", "h2", "h3", "h4", "th", "td"}
_BLOCKS = {"ul", "ol", "blockquote", "pre", "hr", "br", "table", "thead", "tbody", "tr"}
_VOID = {"br", "hr"}
_MIN_LEVEL, _MAX_LEVEL = 2, 4  # heading levels; level 1 is the question
_PIECE = re.compile(rf"(<[^>]+>|{MARK.pattern})")
_TAG = re.compile(r"<(/?)(\w+)[^>]*>")
_TABLE = '<div class="table-wrap" tabindex="0" role="group" aria-label="Table"><table>'


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePart:
    """A sentence, or its part in one table cell; ``html`` is safe to insert.

    Attributes:
        number: the sentence's number, from 1.
        last: whether this is the end of the sentence, where citations and verdict are shown.
    """

    number: int
    html: Markup
    sentence: Sentence
    citations: tuple[Citation, ...]
    last: bool


def tokens_of(answer: Answer) -> list[Token]:
    """The answer's Markdown tokens with citation markers, for a terminal."""
    return _parse_markdown(_with_marks(answer, markers=True))


def html_parts(answer: Answer) -> list[Markup | SentencePart]:
    """The answer as HTML blocks and sentences, without citation markers."""
    by_id = {citation.id: citation for citation in answer.citations}
    runs = [
        (number, Markup("".join(html for _, html in group)))  # noqa: S704 - sanitised by _html
        for number, group in groupby(
            _sentence_runs(_html(_with_marks(answer, markers=False))), key=lambda run: run[0]
        )
    ]
    ends = {number: index for index, (number, _) in enumerate(runs)}
    parts: list[Markup | SentencePart] = []
    for index, (number, html) in enumerate(runs):
        if not number:
            parts.append(html)
            continue
        sentence = answer.sentences[number - 1]
        cited = tuple(
            by_id[citation_id] for citation_id in sentence.citations if citation_id in by_id
        )
        cited = () if sentence.within else cited
        last = ends[number] == index
        parts.append(
            SentencePart(number=number, html=html, sentence=sentence, citations=cited, last=last)
        )
    return parts


def top_level(parts: Sequence[Markup | SentencePart]) -> Iterator[list[Markup | SentencePart]]:
    """The parts of each paragraph, heading, list, table or quotation that is in no other one."""
    block: list[Markup | SentencePart] = []
    depth = 0
    for part in parts:
        if isinstance(part, SentencePart):
            block.append(part)
            continue
        begin = 0
        for tag in _TAG.finditer(part):
            depth += -1 if tag[1] else tag[2] not in _VOID
            if tag[1] and not depth:
                yield [*block, part[begin : tag.end()]]
                block, begin = [], tag.end()
        if depth or part[begin:].strip():
            block.append(part[begin:])
    if block:
        yield block


def draft_html(text: str) -> Markup:
    """An unchecked draft as HTML."""
    html = _html(harmless(text).translate(_NO_MARKS))
    return Markup("".join(html for _, html in _sentence_runs(html)))  # noqa: S704 - sanitised by _html


def _with_marks(answer: Answer, *, markers: bool) -> str:
    text = harmless(answer.text).translate(_NO_MARKS)
    escape_between = escaped_within if is_plain_reply(answer) else str
    pieces: list[str] = []
    position = 0
    for number, sentence in sorted(
        enumerate(answer.sentences, 1), key=lambda pair: pair[1].span.start
    ):
        after = markers_after(text, sentence)
        sentence_text = sentence.span.of(text)
        pieces += [
            escape_between(text[position : sentence.span.start]),
            f"{OPEN}{number}{OPEN}",
            _escaped_lines(sentence_text, text) if answer.answered_by in PLAIN else sentence_text,
            escaped(after.of(text)) if markers else "",
            f"{CLOSE}{number}{CLOSE}",
        ]
        position = max(position, after.end)
    return "".join([*pieces, escape_between(text[position:])])


def _escaped_lines(sentence_text: str, text: str) -> str:
    """A sentence with Markdown escaped and its line breaks kept."""
    lines = (line.strip() for line in sentence_text.split("\n"))
    return "\\\n".join(escaped_row(line, text) for line in lines if line)


def _parse_markdown(markdown: str) -> list[Token]:
    tokens = _PARSER.parse(markdown)
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = f"h{min(_MAX_LEVEL, max(_MIN_LEVEL, int(token.tag[1:])))}"
    return tokens


def _html(markdown: str) -> str:
    html = _PARSER.renderer.render(_parse_markdown(markdown), _PARSER.options, {})
    return nh3.clean(html, tags=INLINE | _TEXTS | _BLOCKS, attributes={"ol": {"start"}})


def _sentence_runs(html: str) -> Iterator[tuple[int, str]]:
    """Pieces of HTML with the number of their sentence; 0 for none.

    A sentence may end inside bold text or continue in the next cell, so each piece of text gets its
    own emphasis tags, and block tags belong to no sentence.
    """
    styles: list[str] = []
    # White space and line breaks belong to ``last``, the sentence of the piece before them.
    number = last = 0
    for piece in filter(None, _PIECE.split(html)):
        tag = _TAG.fullmatch(piece)
        if piece[0] in (OPEN, CLOSE):
            last = number = int(piece.strip(OPEN)) if piece[0] == OPEN else 0
            continue
        if tag and tag[2] in INLINE:
            styles = styles[:-1] if tag[1] else [*styles, tag[2]]
            continue
        if tag and tag[2] != "br":
            last, piece = 0, _block(piece, tag)
        elif tag is None:
            last = number if piece.strip() else last
            piece = _with_emphasis(piece, styles if piece.strip() else [])
        yield last, piece


def _with_emphasis(text: str, styles: list[str]) -> str:
    ends = "".join(f"</{name}>" for name in reversed(styles))
    return f"{''.join(f'<{name}>' for name in styles)}{text}{ends}"


def _block(piece: str, tag: re.Match[str]) -> str:
    if tag[2] == "table":
        return f"{piece}</div>" if tag[1] else _TABLE
    return f'<{tag[2]} dir="auto">' if tag[2] in _TEXTS and not tag[1] else piece
