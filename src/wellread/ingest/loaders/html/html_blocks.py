"""Markup as a flat list of readable blocks: headings, paragraphs, list items, rows, code.

Every block knows the element that holds it, so that its place in the page can be judged later
(``html_main``), and what of it is a link. ``write_blocks`` puts chosen blocks into a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lxml.etree import _Element

from wellread.ingest.loaders.html.html_elements import (
    BLOCKS,
    INVISIBLE,
    SPACES,
    all_text,
    ancestors,
    hidden,
    tag_of,
    visible_text,
)
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks

HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Elements whose headings say nothing of what follows them; the looser ones do when they hold
# nothing but headings.
BOXES = frozenset("aside figure details dialog nav footer form blockquote".split())
LOOSE_BOXES = frozenset("section article li td th".split())

SENTENCE_CHARACTERS = 60  # from which a heading that ends with a full stop is none
STRAY_CHARACTERS = 20  # beside a heading, that do not make a text (a number, a link to itself)

_LISTS = frozenset({"ul", "ol", "menu"})
_CELLS = frozenset({"td", "th"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextNode:
    """A piece of text of the tree: the text of ``element``, or the text that follows it."""

    element: _Element
    tail: bool

    def prefix(self, mark: str) -> None:
        """Put ``mark`` in front of the piece."""
        name = "tail" if self.tail else "text"
        setattr(self.element, name, mark + (getattr(self.element, name) or ""))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """One block.

    Attributes:
        element: the innermost block element around it.
        level: of a heading, 1-6; 0 for what is none.
        group: the outermost list or the table that it is a part of.
        tight: whether it stands on the line below the one before of its group.
        linked: share of its letters that are links to other pages.
        nodes: pieces of text by which it can be found again; one for each cell of a row.
    """

    text: str
    element: _Element
    level: int = 0
    group: _Element | None = None
    tight: bool = False
    linked: float = 0.0
    nodes: tuple[TextNode, ...] = ()

    @property
    def letters(self) -> int:
        """Letters and digits of the text."""
        return sum(map(str.isalnum, self.text))


def blocks_of(element: _Element) -> list[Block]:
    """Every visible block below ``element``, in order."""
    reader = _Reader()
    reader.walk(element)
    reader.flush(element)
    return reader.blocks


def write_blocks(blocks: Blocks, chosen: Iterable[Block]) -> None:
    """Write the chosen blocks; a heading holds until its box ends (an aside, a list item)."""
    open_sections: list[tuple[int, _Element | None]] = []
    before: Block | None = None
    for block in chosen:
        around = set(ancestors(block.element))
        for depth, (level, box) in enumerate(open_sections):
            if box is not None and box not in around:
                if not block.level or block.level > level:
                    blocks.leave(level)
                del open_sections[depth:]
                break
        if block.level:
            open_sections = [one for one in open_sections if one[0] < block.level]
            open_sections.append((block.level, heading_box(block)))
            blocks.heading(block.level, block.text)
        else:
            together = block.tight and before is not None and before.group is block.group
            blocks.block(block.text, gap="\n" if together else PARAGRAPH)
        before = block


def heading_box(heading: Block) -> _Element | None:
    """Where the heading's reach ends. A page's first heading reaches over its own article."""
    for one in ancestors(heading.element):
        tag = tag_of(one)
        if tag in BOXES or (tag in LOOSE_BOXES and heading.level > 1 and _holds_a_text(one)):
            return one
    return None


def _holds_a_text(box: _Element) -> bool:
    """Whether something else than headings stands in the box."""
    headings = sum(len(visible_text(one).strip()) for one in box.iter(*HEADINGS))
    return len(visible_text(box).strip()) > headings + STRAY_CHARACTERS


class _Reader:
    """Gathers inline text until a block begins or ends."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._pieces: list[str] = []
        self._nodes: list[tuple[int, TextNode]] = []
        self._linked = 0
        self._in_link = 0
        self._breaks = 0
        self._lists: list[_Element] = []
        self._bullet = False
        self._around: list[_Element] = []

    def walk(self, element: _Element) -> None:
        """Read ``element``; what follows it is the caller's."""
        tag = tag_of(element)
        if not tag or tag in INVISIBLE or hidden(element, tag):
            return
        if tag == "br":
            self._break(element)
        elif tag in HEADINGS:
            self._heading(element, HEADINGS[tag])
        elif tag == "pre" or (tag == "code" and "\n" in all_text(element).strip()):
            self._verbatim(element)
        elif tag == "tr" and not _for_layout(element):
            self._row(element)
        else:
            self._plain(element, tag)

    def flush(self, element: _Element) -> None:
        """End the block that was being gathered inside ``element``."""
        text = _squeeze("".join(self._pieces))
        nodes, linked = self._nodes, self._linked
        self._pieces, self._nodes, self._linked, self._breaks = [], [], 0, 0
        if not text:
            return
        tight = self._bullet
        if tight:
            text = "  " * max(len(self._lists) - 1, 0) + "- " + text
            self._bullet = False
        longest = max(nodes, key=lambda one: one[0])[1] if nodes else None
        self._add(text, element, tight=tight, linked=linked, nodes=(longest,) if longest else ())

    def _begin(self, element: _Element) -> None:
        """End what stands before a block."""
        self.flush(self._around[-1] if self._around else element)

    def _add(
        self,
        text: str,
        element: _Element,
        *,
        level: int = 0,
        tight: bool = False,
        linked: int = 0,
        nodes: Sequence[TextNode] = (),
    ) -> None:
        letters = sum(map(str.isalnum, text)) or 1
        in_table = next((one for one in ancestors(element) if tag_of(one) == "table"), None)
        self.blocks.append(
            Block(
                text=text,
                element=element,
                level=level,
                group=self._lists[0] if self._lists else in_table,
                tight=tight,
                linked=min(1.0, linked / letters),
                nodes=tuple(nodes),
            )
        )

    def _plain(self, element: _Element, tag: str) -> None:
        listed = tag in _LISTS
        apart = listed or tag in BLOCKS
        if apart:
            self._begin(element)
            self._around.append(element)
        if listed:
            self._lists.append(element)
        if tag == "li":
            self._bullet = True
        link = _leads_away(element)
        self._in_link += link
        self._text(element.text, element, tail=False)
        for child in element:
            self.walk(child)
            self._text(child.tail, child, tail=True)
        self._in_link -= link
        if apart:
            self.flush(element)
            self._around.pop()
        if listed:
            self._lists.pop()
        if tag == "li":
            self._bullet = False

    def _text(self, text: str | None, element: _Element, *, tail: bool) -> None:
        # A line break of the markup is a space to a reader; only <br> breaks a line.
        if not text:
            return
        self._pieces.append(SPACES.sub(" ", text))
        letters = sum(map(str.isalnum, text))
        if letters:
            self._breaks = 0
            self._nodes.append((letters, TextNode(element=element, tail=tail)))
            self._linked += letters if self._in_link else 0

    def _break(self, element: _Element) -> None:
        """One ``<br>`` breaks the line, two end the paragraph."""
        self._breaks += 1
        self._pieces.append("\n")
        if self._breaks > 1:
            self._begin(element)

    def _heading(self, element: _Element, level: int) -> None:
        self._begin(element)
        text = visible_text(element).strip()
        if text:
            linked = self._link_letters(element)
            if level > 1 and len(text) > SENTENCE_CHARACTERS and text.endswith((".", "!", "。")):
                level = 0  # sentences that are only set in large letters
            self._add(text, element, level=level, linked=linked, nodes=_nodes(element))

    def _verbatim(self, element: _Element) -> None:
        self._begin(element)
        text = all_text(element).strip("\n").rstrip()
        if text:
            self._add(text, element, nodes=_nodes(element))

    def _row(self, element: _Element) -> None:
        self._begin(element)
        cells = [cell for cell in element if tag_of(cell) in _CELLS]
        texts = [visible_text(cell).strip() for cell in cells]
        if any(texts):
            nodes = [node for cell in cells for node in _nodes(cell)]
            linked = self._link_letters(element)
            self._add(" | ".join(texts), element, tight=True, linked=linked, nodes=nodes)

    def _link_letters(self, element: _Element) -> int:
        links = [element] if self._in_link else element.iter("a")
        texts = (visible_text(one) for one in links if self._in_link or _leads_away(one))
        return sum(sum(map(str.isalnum, text)) for text in texts)


def _leads_away(element: _Element) -> bool:
    """Whether the element is a link to another page; a link inside the page is part of its text."""
    target = element.get("href") if tag_of(element) == "a" else None
    return target is not None and not target.startswith("#")


def _for_layout(row: _Element) -> bool:
    """Whether the cells hold whole parts of a page, and not the values of a table."""
    parts = row.iterdescendants("table", "ul", "ol", "pre", "article", "section", *HEADINGS)
    return next(parts, None) is not None or any(len(cell.findall(".//p")) > 1 for cell in row)


def _nodes(element: _Element) -> tuple[TextNode, ...]:
    """The longest piece of text inside ``element``."""
    pieces = [
        (len((one.tail if tail else one.text) or ""), TextNode(element=one, tail=tail))
        for one in element.iter()
        for tail in (False, True)
        if (one is not element if tail else tag_of(one))
    ]
    length, longest = max(pieces, key=lambda piece: piece[0])
    return (longest,) if length else ()


def _squeeze(text: str) -> str:
    lines = (SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
