"""Turns HTML into a flat list of visible blocks: headings, paragraphs, list items, rows, code.

Every block keeps its element and its share of links, so that ``html.py`` can choose the main text.
``write_blocks`` writes chosen blocks to a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lxml.etree import _Element

from wellread.ingest.loaders.plain import (
    PARAGRAPH,
    Blocks,
    header_of,
    joined_names,
    numeral,
    table_row,
)
from wellread.ingest.loaders.text.html_visible import (
    BLOCKS,
    INVISIBLE,
    SPACES,
    all_text,
    ancestors,
    is_hidden,
    tag_of,
    visible_text,
)

HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Elements that end the reach of headings inside; the loose ones do not if they contain only
# headings.
BOXES = frozenset("aside figure details dialog nav footer form blockquote".split())
LOOSE_BOXES = frozenset("section article li td th".split())

MAX_HEADING_CHARS = 60  # a longer heading that ends with a full stop is a sentence
MAX_STRAY_CHARS = 20  # beside a heading that do not count as text (a number, a link)

_LISTS = frozenset({"ul", "ol", "menu"})
_CELLS = frozenset({"td", "th"})
MAX_LISTING_ROW_CHARS = 300  # of a row whose cells contain lists; a longer one is a page layout
MAX_SPAN = 100  # rows or columns of one cell
MAX_SPANNING_CHARS = 100  # of a cell that is repeated in the rows that it spans


@dataclass(frozen=True, slots=True, kw_only=True)
class TextNode:
    """A text node of the tree: the text of ``element``, or its tail."""

    element: _Element
    tail: bool

    def prefix(self, mark: str) -> None:
        """Insert ``mark`` before the text."""
        name = "tail" if self.tail else "text"
        setattr(self.element, name, mark + (getattr(self.element, name) or ""))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """One visible block of a page.

    Attributes:
        level: the heading level (1-6); 0 for other blocks.
        group: the outermost list or the table that contains the block.
        tight: whether no blank line separates it from the previous block of the group.
        linked: the share of letters in links to other pages.
        nodes: text nodes that identify the block; one for each cell of a row.
        columns: the names of the columns, for a row below a table's header.
    """

    text: str
    element: _Element
    level: int = 0
    group: _Element | None = None
    tight: bool = False
    linked: float = 0.0
    nodes: tuple[TextNode, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def letters(self) -> int:
        """The number of letters and digits."""
        return sum(map(str.isalnum, self.text))


def blocks_of(element: _Element) -> list[Block]:
    """Return the visible blocks below ``element``, in order."""
    reader = _Reader()
    reader.walk(element)
    reader.flush(element)
    return reader.blocks


def write_blocks(blocks: Blocks, chosen: Iterable[Block]) -> None:
    """Write the chosen blocks; a heading applies until its box (aside, list item) ends."""
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
            open_sections = [section for section in open_sections if section[0] < block.level]
            open_sections.append((block.level, heading_box(block)))
            blocks.heading(block.level, block.text)
        else:
            together = block.tight and before is not None and before.group is block.group
            gap = "\n" if together else PARAGRAPH
            blocks.block(block.text, gap=gap, columns=block.columns)
        before = block


def heading_box(heading: Block) -> _Element | None:
    """The element that limits the heading's reach; none limits the first heading of a page."""
    for ancestor in ancestors(heading.element):
        tag = tag_of(ancestor)
        if tag in BOXES or (tag in LOOSE_BOXES and heading.level > 1 and _has_text(ancestor)):
            return ancestor
    return None


def _has_text(box: _Element) -> bool:
    headings = sum(len(visible_text(heading).strip()) for heading in box.iter(*HEADINGS))
    return len(visible_text(box).strip()) > headings + MAX_STRAY_CHARS


class _Reader:
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
        self._tables: Table = {}
        self._sign = "-"
        self._numbers: dict[_Element, int] = {}

    def walk(self, element: _Element) -> None:
        """Read ``element`` without its tail."""
        tag = tag_of(element)
        if not tag or tag in INVISIBLE or is_hidden(element, tag):
            return
        if tag == "br":
            self._break(element)
        elif tag in HEADINGS:
            self._heading(element, HEADINGS[tag])
        elif tag == "pre" or (tag == "code" and "\n" in all_text(element).strip()):
            self._verbatim(element)
        elif tag == "tr" and not _is_layout_row(element):
            self._row(element)
        else:
            self._plain(element, tag)

    def flush(self, element: _Element) -> None:
        """End the current block inside ``element``."""
        text = _squeeze("".join(self._pieces))
        nodes, linked = self._nodes, self._linked
        self._pieces, self._nodes, self._linked, self._breaks = [], [], 0, 0
        if not text:
            return
        tight = self._bullet
        if tight:
            text = "  " * max(len(self._lists) - 1, 0) + f"{self._sign} {text}"
            self._bullet = False
        longest = max(nodes, key=lambda node: node[0])[1] if nodes else None
        self._add(text, element, tight=tight, linked=linked, nodes=(longest,) if longest else ())

    def _begin(self, element: _Element) -> None:
        self.flush(self._around[-1] if self._around else element)

    def _add(self, text: str, element: _Element, *, linked: int = 0, **fields: Any) -> None:
        letters = sum(map(str.isalnum, text)) or 1
        in_table = next((outer for outer in ancestors(element) if tag_of(outer) == "table"), None)
        self.blocks.append(
            Block(
                text=text,
                element=element,
                group=self._lists[0] if self._lists else in_table,
                linked=min(1.0, linked / letters),
                **fields,
            )
        )

    def _plain(self, element: _Element, tag: str) -> None:
        listed = tag in _LISTS
        is_block = listed or tag in BLOCKS
        if is_block:
            if not _is_named_value(element):
                self._begin(element)
            self._around.append(element)
        if listed:
            self._lists.append(element)
        if tag == "li":
            self._bullet, self._sign = True, self._item_sign(element)
        link = _is_external_link(element)
        self._in_link += link
        self._text(element.text, element, tail=False)
        for child in element:
            self.walk(child)
            self._text(child.tail, child, tail=True)
        self._in_link -= link
        if is_block:
            if _is_named_value(element.getnext()):
                self._pieces.append(": ")
            else:
                self.flush(element)
            self._around.pop()
        if listed:
            self._lists.pop()
        if tag == "li":
            self._bullet = False

    def _item_sign(self, item: _Element) -> str:
        """The number that a page shows before an item, or a dash."""
        around = self._lists[-1] if self._lists else item
        if tag_of(around) != "ol":
            return "-"
        given = [
            item.get("value") or "",
            around.get("start") or "" if around not in self._numbers else "",
        ]
        number = next(
            (int(text) for text in given if text.isdecimal() and len(text) < 9),
            self._numbers.get(around, 1),
        )
        self._numbers[around] = number + 1
        return f"{numeral(number, around.get('type') or '1')}."

    def _text(self, text: str | None, element: _Element, *, tail: bool) -> None:
        # Line breaks in the markup are displayed as spaces; only <br> breaks a line.
        if not text:
            return
        self._pieces.append(SPACES.sub(" ", text))
        letters = sum(map(str.isalnum, text))
        if letters:
            self._breaks = 0
            self._nodes.append((letters, TextNode(element=element, tail=tail)))
            self._linked += letters if self._in_link else 0

    def _break(self, element: _Element) -> None:
        """Break the line at one ``<br>``, and end the paragraph at two."""
        self._breaks += 1
        self._pieces.append("\n")
        if self._breaks > 1:
            self._begin(element)

    def _heading(self, element: _Element, level: int) -> None:
        self._begin(element)
        text = visible_text(element).strip()
        if text:
            linked = self._link_letters(element)
            if level > 1 and len(text) > MAX_HEADING_CHARS and text.endswith((".", "!", "。")):
                level = 0  # a sentence in large letters
            self._add(text, element, level=level, linked=linked, nodes=_longest_node(element))

    def _verbatim(self, element: _Element) -> None:
        self._begin(element)
        text = all_text(element).strip("\n").rstrip()
        if text:
            self._add(text, element, nodes=_longest_node(element))

    def _row(self, element: _Element) -> None:
        self._begin(element)
        if element not in self._tables:
            self._tables |= _read_table(element)
        texts, columns = self._tables[element]
        if any(texts):
            nodes = tuple(node for cell in _cells_of(element) for node in _longest_node(cell))
            linked = self._link_letters(element)
            self._add(
                table_row(texts), element, tight=True, linked=linked, nodes=nodes, columns=columns
            )

    def _link_letters(self, element: _Element) -> int:
        links = [element] if self._in_link else element.iter("a")
        texts = (visible_text(link) for link in links if self._in_link or _is_external_link(link))
        return sum(sum(map(str.isalnum, text)) for text in texts)


def _is_named_value(element: _Element | None) -> bool:
    """Whether the element is a short value below its name in a list of definitions."""
    name = element.getprevious() if element is not None and tag_of(element) == "dd" else None
    if element is None or name is None or tag_of(name) != "dt":
        return False
    text = visible_text(name).strip()
    is_plain = next(element.iterdescendants(*BLOCKS), None) is None
    return is_plain and text[-1:].isalnum() and len(text) <= MAX_HEADING_CHARS


def _is_external_link(element: _Element) -> bool:
    target = element.get("href") if tag_of(element) == "a" else None
    return target is not None and not target.startswith("#")


def _is_layout_row(row: _Element) -> bool:
    """Whether the cells contain parts of a page layout instead of table values."""
    parts = row.iterdescendants("table", "pre", "article", "section", *HEADINGS)
    if next(parts, None) is not None or any(len(cell.findall(".//p")) > 1 for cell in row):
        return True
    lists = next(row.iterdescendants(*_LISTS), None) is not None
    return lists and (len(row) < 2 or len(visible_text(row)) > MAX_LISTING_ROW_CHARS)


Table = dict[_Element, tuple[list[str], tuple[str, ...]]]
"""The cells and the column names of each row; a header has no column names."""


def _cells_of(row: _Element) -> list[_Element]:
    return [cell for cell in row if tag_of(cell) in _CELLS]


def _read_table(row: _Element) -> Table:
    """Read the table around ``row``; cells that span several rows or columns stand in each.

    The rows of header cells at its top name the columns; without any, the first row may do so.
    """
    around = next((outer for outer in ancestors(row) if tag_of(outer) == "table"), row)
    lines = [
        line
        for line in around.iter("tr")
        if next((outer for outer in ancestors(line) if tag_of(outer) == "table"), line) is around
        and not is_hidden(line, "tr")
    ]
    spanning: dict[int, tuple[int, str]] = {}
    rows = [_spread(line, spanning) for line in lines]
    top = next((at for at, line in enumerate(lines) if not _is_header(line)), 0)
    named = [names for names in rows[:top] if len(set(names)) > 1] or [list(header_of(rows))]
    columns = joined_names(named)
    first = max(top, 1)
    return {
        line: (texts, columns if at >= first else ())
        for at, (line, texts) in enumerate(zip(lines, rows, strict=True))
    }


def _is_header(row: _Element) -> bool:
    cells = _cells_of(row)
    in_head = any(tag_of(outer) == "thead" for outer in row.iterancestors())
    return in_head or (len(cells) > 1 and all(tag_of(cell) == "th" for cell in cells))


def _spread(row: _Element, spanning: dict[int, tuple[int, str]]) -> list[str]:
    """The texts of a row by column; ``spanning``: the rows left and text of cells from above."""
    texts: list[str] = []
    for cell in [*_cells_of(row), None]:
        while len(texts) in spanning or (cell is None and len(texts) <= max(spanning, default=-1)):
            left, text = spanning.pop(len(texts), (0, ""))
            if left > 1:
                spanning[len(texts)] = left - 1, text
            texts.append(text)
        if cell is None:
            break
        text = visible_text(cell).strip()
        for number in range(_span_of(cell, "colspan")):
            shown = text if number == 0 or tag_of(cell) == "th" or len(row) > 1 else ""
            if (tall := _span_of(cell, "rowspan")) > 1 and len(text) <= MAX_SPANNING_CHARS:
                spanning[len(texts)] = tall - 1, shown
            texts.append(shown)
    return texts


def _span_of(cell: _Element, name: str) -> int:
    value = cell.get(name) or ""
    return min(max(int(value), 1), MAX_SPAN) if value.isdecimal() and len(value) < 6 else 1


def _longest_node(element: _Element) -> tuple[TextNode, ...]:
    nodes = [
        (len((node.tail if tail else node.text) or ""), TextNode(element=node, tail=tail))
        for node in element.iter()
        for tail in (False, True)
        if (node is not element if tail else tag_of(node))
    ]
    length, longest = max(nodes, key=lambda pair: pair[0])
    return (longest,) if length else ()


def _squeeze(text: str) -> str:
    lines = (SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
