"""The text of an answer read as Markdown once: blocks, with its sentences in them.

Each face draws these blocks: pages as HTML, a terminal by Rich. No HTML of a text is kept
as such, no link and no image is followed, whoever wrote them: they are shown letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from wellread.text.words import harmless
from wellread.values.answer_text import (
    PLAIN,
    escaped,
    escaped_row,
    escaped_within,
    is_plain_reply,
    markers_after,
)
from wellread.values.answers import Answer, Citation, Sentence

# Where a sentence begins and ends is written into the Markdown, with its number, and read again
# from what becomes of it. To Markdown these are punctuation, so that emphasis works beside them; no
# text uses them (they belong to the writing of signs), and they are taken out of the answer.
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
_TOP, _DEEPEST = 2, 4  # the page's own heading is the question
_PIECE = re.compile(rf"(<[^>]+>|{MARK.pattern})")
_TAG = re.compile(r"<(/?)(\w+)[^>]*>")
_TABLE = '<div class="table-wrap" tabindex="0" role="group" aria-label="Table"><table>'


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePart:
    """A sentence of the answer, or one cell's part of it; ``html`` is safe to insert.

    Attributes:
        number: of the sentence, from 1.
        last: whether it is the end of the sentence, where its citations and its verdict stand.
    """

    number: int
    html: Markup
    sentence: Sentence
    citations: tuple[Citation, ...]
    last: bool


def tokens_of(answer: Answer) -> list[Token]:
    """The answer's blocks, the markers of its citations in them, for a terminal."""
    return _parsed(_marked(answer, markers=True))


def html_parts(answer: Answer) -> list[Markup | SentencePart]:
    """The answer's blocks as HTML in which its sentences stand, without their markers."""
    by_id = {citation.id: citation for citation in answer.citations}
    runs = [
        (number, Markup("".join(html for _, html in group)))  # noqa: S704 - sanitised by _html
        for number, group in groupby(
            _runs(_html(_marked(answer, markers=False))), key=lambda run: run[0]
        )
    ]
    ends = {number: place for place, (number, _) in enumerate(runs)}
    parts: list[Markup | SentencePart] = []
    for place, (number, html) in enumerate(runs):
        if not number:
            parts.append(html)
            continue
        sentence = answer.sentences[number - 1]
        cited = tuple(by_id[known] for known in sentence.citations if known in by_id)
        cited = () if sentence.within else cited
        last = ends[number] == place
        parts.append(
            SentencePart(number=number, html=html, sentence=sentence, citations=cited, last=last)
        )
    return parts


def draft_html(text: str) -> Markup:
    """A text on its way, of which no sentence is checked yet, as HTML."""
    html = _html(harmless(text).translate(_NO_MARKS))
    return Markup("".join(html for _, html in _runs(html)))  # noqa: S704 - sanitised by _html


def _marked(answer: Answer, *, markers: bool) -> str:
    """The answer's text as Markdown, with the marks of its sentences."""
    text = harmless(answer.text).translate(_NO_MARKS)
    between = escaped_within if is_plain_reply(answer) else str
    pieces: list[str] = []
    place = 0
    for number, sentence in sorted(
        enumerate(answer.sentences, 1), key=lambda both: both[1].span.start
    ):
        after = markers_after(text, sentence)
        said = sentence.span.of(text)
        pieces += [
            between(text[place : sentence.span.start]),
            f"{OPEN}{number}{OPEN}",
            _lines(said, text) if answer.answered_by in PLAIN else said,
            escaped(after.of(text)) if markers else "",
            f"{CLOSE}{number}{CLOSE}",
        ]
        place = max(place, after.end)
    return "".join([*pieces, between(text[place:])])


def _lines(said: str, text: str) -> str:
    """A sentence letter by letter; what stands on lines of its own stays so."""
    lines = (line.strip() for line in said.split("\n"))
    return "\\\n".join(escaped_row(line, text) for line in lines if line)


def _parsed(markdown: str) -> list[Token]:
    tokens = _PARSER.parse(markdown)
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = f"h{min(_DEEPEST, max(_TOP, int(token.tag[1:])))}"
    return tokens


def _html(markdown: str) -> str:
    html = _PARSER.renderer.render(_parsed(markdown), _PARSER.options, {})
    return nh3.clean(html, tags=INLINE | _TEXTS | _BLOCKS, attributes={"ol": {"start"}})


def _runs(html: str) -> Iterator[tuple[int, str]]:
    """Pieces of the HTML, each with the number of the sentence that it is of; 0 of none.

    A sentence may end inside bold words or go on in the next cell: each piece of text has its own
    emphasis, and what makes a block is of no sentence.
    """
    styles: list[str] = []
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
            piece = _styled(piece, styles if piece.strip() else [])
        yield last, piece


def _styled(text: str, styles: list[str]) -> str:
    ends = "".join(f"</{name}>" for name in reversed(styles))
    return f"{''.join(f'<{name}>' for name in styles)}{text}{ends}"


def _block(piece: str, tag: re.Match[str]) -> str:
    if tag[2] == "table":
        return f"{piece}</div>" if tag[1] else _TABLE
    return f'<{tag[2]} dir="auto">' if tag[2] in _TEXTS and not tag[1] else piece
