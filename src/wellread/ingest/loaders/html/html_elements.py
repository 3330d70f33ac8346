"""Elements of a page: their names, what they stand in, and what a browser shows of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element

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
