"""Markup as a flat list of readable blocks: headings, paragraphs, list items, rows, code.

Every block knows the element that holds it, so that its place in the page can be judged later
(``html.py``), and what of it is a link. ``write_blocks`` puts chosen blocks into a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cssselect import HTMLTranslator, SelectorError
from lxml.etree import XPathError, _Element

from wellread.ingest.loaders.plain import PARAGRAPH, Blocks

INVISIBLE = frozenset(
    "script style noscript template iframe svg object embed canvas math select option textarea "
    "button input graphic head title".split()
)
BLOCKS = frozenset(
    "html p div section article main header footer aside nav blockquote figure figcaption address "
    "dl dt dd table thead tbody tfoot tr td th caption form fieldset legend details summary hr "
    "body center hgroup dialog search li".split()
)
# Elements whose text is for the browser alone, wherever they stand.
_NO_WORDS = ("script", "style", "template", "noscript")
# What Markdown shows as code, whatever stands in it; or such an element's beginning.
_CODE_OR_NO_WORDS = re.compile(
    r"`[^`\n]+`|(?:\A\n*|(?<=\n\n))(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+"
    rf"|<(?P<name>{'|'.join(_NO_WORDS)})\b(?:\"[^\"]*\"|'[^']*'|[^'\"<>])*>",
    re.IGNORECASE,
)
SPACES = re.compile(r"[ \t\n\r\f\v]+")
# No box, a box without size or cut away, and places far outside the page.
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:left|top|right|text-indent)\s*:\s*-(?:\d{4,}(?:\.\d+)?px|\d{3,}(?:\.\d+)?(?:r?em|v[wh]|%))"
    r"|clip\s*:\s*rect\(\s*(?:[01](?:px)?[\s,]+){3}[01](?:px)?\s*\)"
    r"|clip-path\s*:\s*(?:inset\(\s*(?:[5-9]\d|100)(?:\.\d+)?%|circle\(\s*0(?:px|%)?\s*[)a ]"
    r"|polygon\(\s*0(?:px|%)?\s+0(?:px|%)?\s*(?:,\s*0(?:px|%)?\s+0(?:px|%)?\s*)*\))"
    r"|transform\s*:[^;]*(?:scale\(\s*0\s*\)|translate[xy]?\(\s*-\d{4,})",
    re.I,
)
_NO_BOX = re.compile(r"(?<![\w-])(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:!|;|\Z)", re.I)
_CUT = re.compile(r"overflow(?:-[xy])?\s*:\s*(?:hidden|clip)", re.I)
_UNSEEN = re.compile(r"(?<![\w-])opacity\s*:\s*0*(?:\.0+|0)?%?\s*(?:!|;|\Z)", re.I)
# Scripts fade real text in, and move it while they do.
_FADING = re.compile(r"transition|animation|transform|will-change|filter", re.I)
_NO_SIZE = re.compile(
    r"font-size\s*:\s*(?:0*(?:\.0+|0)?(?:px|pt|em|rem|%)?|[01](?:\.\d+)?(?:px|pt))\s*(?:!|;|\Z)",
    re.I,
)
_SIZE = re.compile(r"font-size\s*:", re.I)
_DECLARATION = re.compile(r"(?<![\w-])(color|background(?:-color)?)\s*:\s*([^;!]+)", re.I)
_HEX = re.compile(r"#([0-9a-f]{3,8})\b", re.I)
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})", re.I)
_NAMED = {
    "white": (255, 255, 255), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255), "whitesmoke": (245, 245, 245), "black": (0, 0, 0),
    "floralwhite": (255, 250, 240), "mintcream": (245, 255, 250), "azure": (240, 255, 255),
}  # fmt: skip
NEAR_COLOUR = 24  # of 255, in each of red, green and blue: nobody reads one on the other
# What frameworks call the words that only a screen reader speaks ("opens in a new window").
_HIDING_CLASS = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-text|screenreader|offscreen)(?:\s|$)", re.I
)
_SHOWN = frozenset({"html", "body", "main", "article"})  # never decoration, whatever they claim


def ancestors(element: _Element) -> Iterator[_Element]:
    """``element`` and what it stands in, innermost first."""
    yield element
    yield from element.iterancestors()


def tag_of(element: _Element) -> str:
    """The element's name in lower case, without a namespace; empty for comments and the like."""
    name = element.tag if isinstance(element.tag, str) else ""
    return name.rpartition("}")[2].lower()


def visible_text(element: _Element) -> str:
    """The words of ``element`` in one line, without what a browser does not show."""
    return SPACES.sub(" ", "".join(_visible(element)))


def all_text(element: _Element) -> str:
    """The words of ``element`` with all white space, shown or not, but for scripts and styles."""
    inside = " or ".join(f"ancestor::{name}" for name in _NO_WORDS)
    pieces = element.xpath(f"descendant::text()[not({inside})]")
    return "".join(map(str, pieces)) if isinstance(pieces, list) else ""


def without_scripts(text: str) -> str:
    """Text that may hold markup, without scripts and styles; its lines keep their numbers."""
    kept: list[str] = []
    place = start = 0
    endless: set[str] = set()
    while found := _CODE_OR_NO_WORDS.search(text, start):
        start = found.end()
        name = (found["name"] or "").lower()
        if not name or name in endless:
            continue
        end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, start)
        if end is None:
            endless.add(name)
            continue
        kept += [text[place : found.start()], "\n" * text.count("\n", found.start(), end.end())]
        place = start = end.end()
    return "".join([*kept, text[place:]])


def _visible(element: _Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        tag = tag_of(child)
        if tag and tag not in INVISIBLE and not hidden(child, tag):
            apart = " " if tag in BLOCKS or tag == "br" else ""
            yield apart
            yield from _visible(child)
            yield apart
        yield child.tail or ""


def hidden(element: _Element, tag: str) -> bool:
    """Whether a browser does not show the element."""
    if not element.attrib:
        return False
    decoration = element.get("aria-hidden") == "true" and tag not in _SHOWN
    if tag == "a" and (element.get("href") or "").startswith("#"):
        # The sign beside a heading that links to it.
        decoration |= not any(map(str.isalnum, "".join(map(str, element.itertext()))))
    return (
        decoration
        or ("hidden" in element.attrib and element.get("hidden") != "until-found")
        or (tag == "dialog" and "open" not in element.attrib)
        or hides(element, element.get("style") or "")
        or bool(_HIDING_CLASS.search(element.get("class") or ""))
    )


def hides(element: _Element, style: str) -> bool:
    """Whether the style leaves nothing to see: no box, no size, or one colour on the same."""
    if not style:
        return False
    if _HIDING_STYLE.search(style) or (_NO_BOX.search(style) and _CUT.search(style)):
        return True
    if _UNSEEN.search(style) and not _FADING.search(style):
        return True
    if _NO_SIZE.search(style):
        # Spaces between boxes are taken out so, and the boxes given their size again.
        inner = (one.get("style") or "" for one in element.iterdescendants())
        return not any(map(_SIZE.search, inner))
    colours = declared(style)
    colour, ground = colours.get("color", ""), colours.get("background", "")
    if colour.lower() == "transparent":
        return "background-clip" not in style.lower()  # letters cut out of a picture
    return bool(ground) and nearly(colour, ground)


def declared(style: str) -> dict[str, str]:
    """The colours that a style gives to letters and to what is behind them; the last one counts."""
    if "color" not in style.lower() and "background" not in style.lower():
        return {}
    found = _DECLARATION.findall(style)
    return {name.lower().removesuffix("-color"): value.strip() for name, value in found}


def nearly(one: str, other: str) -> bool:
    """Whether two colours are so alike that letters of one cannot be read on the other."""
    first, second = _rgb(one), _rgb(other)
    if first is None or second is None:
        return bool(one) and one.lower() == other.lower()
    return all(abs(a - b) <= NEAR_COLOUR for a, b in zip(first, second, strict=True))


def _rgb(colour: str) -> tuple[int, int, int] | None:
    """Red, green and blue, 0-255; None for what cannot be told."""
    if found := _HEX.match(colour.strip()):
        digits = found.group(1)
        whole = digits if len(digits) >= 6 else "".join(2 * digit for digit in digits)
        return int(whole[:2], 16), int(whole[2:4], 16), int(whole[4:6], 16)
    if found := _RGB.match(colour.strip()):
        return int(found.group(1)), int(found.group(2)), int(found.group(3))
    return _NAMED.get(colour.strip().lower())


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


SHEET_CHARACTERS = 500_000  # of all style elements together, that are read
MOST_HIDDEN = 0.5  # share of a page's letters, where these are
SHORT = 150  # or more
WHITE = "#ffffff"

_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_RULE = re.compile(r"(?P<head>[^{}]*)\{(?P<body>[^{}]*)\}")
_GROUP = re.compile(r"@(?P<name>[\w-]+)(?P<of>[^{};]*)\{(?P<rules>(?:[^{}]*\{[^{}]*\})*[^{}]*)\}")
_RELEVANT = re.compile(
    r"display|visibility|opacity|font-size|color|background|left|right|top|indent|clip|height|width"
    r"|transform",
    re.IGNORECASE,
)


def mark_hidden(tree: _Element) -> None:
    """Give the attribute ``hidden`` to every element that a style element's rules hide for good.

    Where the rules would hide most of a page, a script is meant to show it: they are not believed.
    """
    rules = list(_rules(tree))
    if not rules:
        return
    bodies: dict[_Element, list[str]] = {}
    for found, body in rules:
        for element in found:
            bodies.setdefault(element, []).append(body)
    styles = {one: _last([*held, one.get("style") or ""]) for one, held in bodies.items()}
    outside = any("stylesheet" in (one.get("rel") or "").lower() for one in tree.iter("link"))
    gone = {
        element
        for element, style in styles.items()
        if hides(element, style) or (not outside and _pale(element, style, styles))
    }
    if 0 < _letters(gone) <= max(SHORT, MOST_HIDDEN * len(visible_text(tree))):
        for element in gone:
            element.set("hidden", "")


def _last(bodies: list[str]) -> str:
    """What several rules declare together: of each property what is said last."""
    held: dict[str, str] = {}
    for part in ";".join(bodies).split(";"):
        name, _, value = part.partition(":")
        name = name.strip().lower()
        if value and ("!important" in value or "!important" not in held.get(name, "")):
            held[name] = value.strip()
    return ";".join(f"{name}:{value}" for name, value in held.items())


def _rules(tree: _Element) -> Iterator[tuple[list[_Element], str]]:
    """What each rule that may hide something holds for, and what it declares."""
    sheets = [one for one in tree.iter("style") if (one.get("media") or "all") in ("all", "screen")]
    sheet = _COMMENT.sub(" ", "\n".join(one.text or "" for one in sheets)[:SHEET_CHARACTERS])
    sheet = _GROUP.sub(_shown_on_screens, sheet)
    for rule in _RULE.finditer(sheet):
        if not _RELEVANT.search(rule["body"]):
            continue
        for selector in rule["head"].rpartition(";")[2].split(","):
            yield _found(tree, selector), rule["body"]


def _shown_on_screens(group: re.Match[str]) -> str:
    of = group["of"].strip().lower()
    return group["rules"] if group["name"].lower() == "media" and of in ("all", "screen") else " "


def _found(tree: _Element, selector: str) -> list[_Element]:
    """What a selector stands for; nothing for made content, and for what cannot be understood."""
    try:
        found = tree.xpath(HTMLTranslator().css_to_xpath(selector))
    except (SelectorError, XPathError, RecursionError):
        return []
    elements = found if isinstance(found, list) else []
    return [one for one in elements if isinstance(one, _Element) and tag_of(one) not in INVISIBLE]


def _pale(element: _Element, style: str, styles: dict[_Element, str]) -> bool:
    """Whether the letters are nearly white and nothing around them has another background."""
    if not nearly(declared(style).get("color", ""), WHITE):
        return False
    around = (styles.get(one) or one.get("style") or "" for one in ancestors(element))
    grounds = (declared(one).get("background", "") for one in around)
    ground = next((one for one in grounds if one), "")
    coloured = any(one.get("bgcolor") for one in ancestors(element))
    return not coloured and (not ground or nearly(ground, WHITE))


def _letters(gone: set[_Element]) -> int:
    outer = [one for one in gone if gone.isdisjoint(one.iterancestors())]
    return sum(len("".join(map(str, one.itertext()))) for one in outer)
