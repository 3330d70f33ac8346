"""Tells what of a page a reader sees: attributes, styles and the page's rules hide elements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cssselect import HTMLTranslator, SelectorError
from lxml.etree import XPathError, _Element

INVISIBLE = frozenset(
    "script style noscript template iframe svg object embed canvas math select option textarea "
    "button input graphic head title".split()
)
BLOCKS = frozenset(
    "html p div section article main header footer aside nav blockquote figure figcaption address "
    "dl dt dd table thead tbody tfoot tr td th caption form fieldset legend details summary hr "
    "body center hgroup dialog search li".split()
)
# Elements whose text is never displayed.
_NO_WORDS = ("script", "style", "template", "noscript")
# Markdown code, or the opening tag of such an element.
_CODE_OR_NO_WORDS = re.compile(
    r"`[^`\n]+`|(?:\A\n*|(?<=\n\n))(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+"
    rf"|<(?P<name>{'|'.join(_NO_WORDS)})\b(?:\"[^\"]*\"|'[^']*'|[^'\"<>])*>",
    re.IGNORECASE,
)
SPACES = re.compile(r"[ \t\n\r\f\v]+")
# No box, an empty or clipped box, and positions far outside the page.
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
# Scripts fade real text in with these properties.
_FADING = re.compile(r"transition|animation|transform|will-change|filter", re.I)
_NO_SIZE = re.compile(
    r"font-size\s*:\s*(?:0*(?:\.0+|0)?(?:px|pt|em|rem|%)?|[01](?:\.\d+)?(?:px|pt))\s*(?:!|;|\Z)",
    re.I,
)
_SIZE = re.compile(r"font-size\s*:", re.I)
_DECLARATION = re.compile(r"(?<![\w-])(color|background(?:-color)?)\s*:\s*([^;!]+)", re.I)
_HEX = re.compile(r"#([0-9a-f]{3,8})\b", re.I)
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})", re.I)
_NAMED_COLOURS = {
    "white": (255, 255, 255), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255), "whitesmoke": (245, 245, 245), "black": (0, 0, 0),
    "floralwhite": (255, 250, 240), "mintcream": (245, 255, 250), "azure": (240, 255, 255),
}  # fmt: skip
MAX_COLOUR_DIFFERENCE = 24  # in red, green and blue (0-255): text and background look the same
# Class names of text that only screen readers speak ("opens in a new window").
_HIDING_CLASS = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-text|screenreader|offscreen)(?:\s|$)", re.I
)
_NEVER_HIDDEN = frozenset({"html", "body", "main", "article"})  # even with ``aria-hidden``


def ancestors(element: _Element) -> Iterator[_Element]:
    """Yield ``element`` and its ancestors, innermost first."""
    yield element
    yield from element.iterancestors()


def tag_of(element: _Element) -> str:
    """The element's name in lower case without namespace; empty for comments and instructions."""
    name = element.tag if isinstance(element.tag, str) else ""
    return name.rpartition("}")[2].lower()


def visible_text(element: _Element) -> str:
    """Return the visible text of ``element`` in one line."""
    pieces: list[str] = []
    _collect_visible(element, pieces)
    return SPACES.sub(" ", "".join(pieces))


def all_text(element: _Element) -> str:
    """Return all text of ``element``, hidden or not, without scripts and styles."""
    in_skipped = " or ".join(f"ancestor::{name}" for name in _NO_WORDS)
    pieces = element.xpath(f"descendant::text()[not({in_skipped})]")
    return "".join(map(str, pieces)) if isinstance(pieces, list) else ""


def without_scripts(text: str) -> str:
    """Remove scripts and styles from text with markup; line numbers are kept."""
    parts: list[str] = []
    copied = start = 0
    unclosed: set[str] = set()
    while match := _CODE_OR_NO_WORDS.search(text, start):
        start = match.end()
        name = (match["name"] or "").lower()
        if not name or name in unclosed:
            continue
        end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, start)
        if end is None:
            unclosed.add(name)
            continue
        parts += [text[copied : match.start()], "\n" * text.count("\n", match.start(), end.end())]
        copied = start = end.end()
    return "".join([*parts, text[copied:]])


def _collect_visible(element: _Element, pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        tag = tag_of(child)
        if tag and tag not in INVISIBLE and not is_hidden(child, tag):
            space = " " if tag in BLOCKS or tag == "br" else ""
            pieces.append(space)
            _collect_visible(child, pieces)
            pieces.append(space)
        pieces.append(child.tail or "")


def is_hidden(element: _Element, tag: str) -> bool:
    """Whether the element is not displayed."""
    if not element.attrib:
        return False
    decoration = element.get("aria-hidden") == "true" and tag not in _NEVER_HIDDEN
    if tag == "a" and (element.get("href") or "").startswith("#"):
        # The link symbol beside a heading.
        decoration |= not any(map(str.isalnum, "".join(map(str, element.itertext()))))
    return (
        decoration
        or ("hidden" in element.attrib and element.get("hidden") != "until-found")
        or (tag == "dialog" and "open" not in element.attrib)
        or hides_text(element, element.get("style") or "")
        or bool(_HIDING_CLASS.search(element.get("class") or ""))
    )


def hides_text(element: _Element, style: str) -> bool:
    """Whether the style makes text invisible: no box, no size, or the background's colour."""
    if not style:
        return False
    if _HIDING_STYLE.search(style) or (_NO_BOX.search(style) and _CUT.search(style)):
        return True
    if _UNSEEN.search(style) and not _FADING.search(style):
        return True
    if _NO_SIZE.search(style):
        # Pages remove the spaces between boxes this way and set the size again inside the boxes.
        inner_styles = (inner.get("style") or "" for inner in element.iterdescendants())
        return not any(map(_SIZE.search, inner_styles))
    colours = declared_colours(style)
    colour, background = colours.get("color", ""), colours.get("background", "")
    if colour.lower() == "transparent":
        return "background-clip" not in style.lower()  # else the letters show the background
    return bool(background) and colours_alike(colour, background)


def declared_colours(style: str) -> dict[str, str]:
    """Return the text and background colours that a style declares; the last one wins."""
    if "color" not in style.lower() and "background" not in style.lower():
        return {}
    pairs = _DECLARATION.findall(style)
    return {name.lower().removesuffix("-color"): value.strip() for name, value in pairs}


def colours_alike(colour: str, background: str) -> bool:
    """Whether two colours are too similar for text in one to be readable on the other."""
    rgb1, rgb2 = _rgb(colour), _rgb(background)
    if rgb1 is None or rgb2 is None:
        return bool(colour) and colour.lower() == background.lower()
    return all(abs(a - b) <= MAX_COLOUR_DIFFERENCE for a, b in zip(rgb1, rgb2, strict=True))


def _rgb(colour: str) -> tuple[int, int, int] | None:
    """Return red, green and blue (0-255); None when the colour is unknown."""
    if match := _HEX.match(colour.strip()):
        digits = match.group(1)
        six = digits if len(digits) >= 6 else "".join(2 * digit for digit in digits)
        return int(six[:2], 16), int(six[2:4], 16), int(six[4:6], 16)
    if match := _RGB.match(colour.strip()):
        return int(match.group(1)), int(match.group(2)), int(match.group(3))
    return _NAMED_COLOURS.get(colour.strip().lower())


MAX_SHEET_CHARS = 500_000  # read from all style elements together
MAX_HIDDEN_SHARE = 0.5  # share of a page's letters, unless fewer than FEW_CHARS are hidden
FEW_CHARS = 150
WHITE = "#ffffff"
MAX_LINK_SHARE = 0.5  # of the letters of a panel; one with more is a menu
_MENU_TAGS = frozenset("nav header footer form dialog".split())
_MENU_ROLES = frozenset("menu menubar navigation listbox dialog alertdialog tooltip search".split())

_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_RULE = re.compile(r"(?P<head>[^{}]*)\{(?P<body>[^{}]*)\}")
_GROUP = re.compile(r"@(?P<name>[\w-]+)(?P<of>[^{};]*)\{(?P<rules>(?:[^{}]*\{[^{}]*\})*[^{}]*)\}")
_NAME = re.compile(r"[.#]([\w-]+)")  # most selectors name a class that no element has
_MORE_THAN_NAMES = re.compile(r"[\\(\[]")  # such as ``:not(.note)``, which needs no such name
_RELEVANT = re.compile(
    r"display|visibility|opacity|font-size|color|background|left|right|top|indent|clip|height|width"
    r"|transform",
    re.IGNORECASE,
)


def mark_hidden(tree: _Element) -> None:
    """Set the attribute ``hidden`` on all elements that the page's own <style> rules always hide.

    Rules that would hide most of a page are ignored, because a script then shows the text.
    """
    bodies: dict[_Element, list[str]] = {}
    for elements, body in _rules(tree):
        for element in elements:
            bodies.setdefault(element, []).append(body)
    styles = {node: _cascade([*parts, node.get("style") or ""]) for node, parts in bodies.items()}
    has_links = any("stylesheet" in (node.get("rel") or "").lower() for node in tree.iter("link"))
    hidden = {
        element
        for element, style in styles.items()
        if hides_text(element, style)
        or (not has_links and _is_white_on_white(element, style, styles))
    }
    outer = [node for node in hidden if hidden.isdisjoint(node.iterancestors())]
    length = sum(len("".join(map(str, node.itertext()))) for node in outer)
    if 0 < length <= max(FEW_CHARS, MAX_HIDDEN_SHARE * len(visible_text(tree))):
        for element in hidden:
            element.set("hidden", "")


def open_panels(tree: _Element) -> None:
    """Show the hidden panels that a button above them, or one that names them, opens; no menus.

    A button that stands alone above its panel becomes a heading.
    """
    elements = [element for element in tree.iter() if tag_of(element)]
    opened = {name for element in elements for name in (element.get("aria-controls") or "").split()}
    for panel in [element for element in elements if "hidden" in element.attrib]:
        above = panel.getprevious()
        button = next(above.iter("button"), None) if above is not None else None
        if (
            above is not None
            and button is not None
            and all_text(button).strip() != all_text(above).strip()
        ):
            button = None
        if (button is None and panel.get("id") not in opened) or _is_menu(panel):
            continue
        del panel.attrib["hidden"]
        if panel.get("aria-hidden"):
            del panel.attrib["aria-hidden"]
        if button is not None:
            button.tag = "h4" if button is above else "span"


def _is_menu(panel: _Element) -> bool:
    links = sum(len(visible_text(link)) for link in panel.iter("a"))
    return any(
        tag_of(box) in _MENU_TAGS or box.get("role") in _MENU_ROLES for box in ancestors(panel)
    ) or links > MAX_LINK_SHARE * len(all_text(panel).strip())


def _cascade(bodies: list[str]) -> str:
    """Return the combined declarations of several rules; the last value of each property wins."""
    values: dict[str, str] = {}
    for part in ";".join(bodies).split(";"):
        name, _, value = part.partition(":")
        name = name.strip().lower()
        if value and ("!important" in value or "!important" not in values.get(name, "")):
            values[name] = value.strip()
    return ";".join(f"{name}:{value}" for name, value in values.items())


def _rules(tree: _Element) -> Iterator[tuple[list[_Element], str]]:
    """Yield the selected elements and declarations of each rule that may hide something."""
    sheets = [tag for tag in tree.iter("style") if (tag.get("media") or "all") in ("all", "screen")]
    sheet = _COMMENT.sub(" ", "\n".join(tag.text or "" for tag in sheets)[:MAX_SHEET_CHARS])
    sheet = _GROUP.sub(_unwrap_media, sheet)
    named = set(" ".join(f"{tag.get('class')} {tag.get('id')}" for tag in tree.iter()).split())
    for rule in _RULE.finditer(sheet):
        if not _RELEVANT.search(rule["body"]):
            continue
        for selector in rule["head"].rpartition(";")[2].split(","):
            if _MORE_THAN_NAMES.search(selector) or named.issuperset(_NAME.findall(selector)):
                yield _select(tree, selector), rule["body"]


def _unwrap_media(group: re.Match[str]) -> str:
    media = group["of"].strip().lower()
    applies = group["name"].lower() == "media" and media in ("all", "screen")
    return group["rules"] if applies else " "


def _select(tree: _Element, selector: str) -> list[_Element]:
    """Return the elements that a selector matches; none for pseudo-elements and invalid ones."""
    try:
        result = tree.xpath(HTMLTranslator().css_to_xpath(selector))
    except (SelectorError, XPathError, RecursionError):
        return []
    elements = result if isinstance(result, list) else []
    return [tag for tag in elements if isinstance(tag, _Element) and tag_of(tag) not in INVISIBLE]


def _is_white_on_white(element: _Element, style: str, styles: dict[_Element, str]) -> bool:
    """Whether the text is nearly white without another background around it."""
    if not colours_alike(declared_colours(style).get("color", ""), WHITE):
        return False
    outer_styles = (styles.get(box) or box.get("style") or "" for box in ancestors(element))
    backgrounds = (declared_colours(outer).get("background", "") for outer in outer_styles)
    background = next(filter(None, backgrounds), "")
    coloured = any(box.get("bgcolor") for box in ancestors(element))
    return not coloured and (not background or colours_alike(background, WHITE))
