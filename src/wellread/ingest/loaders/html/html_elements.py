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
SPACES = re.compile(r"[ \t\n\r\f\v]+")
# Letters of no size, and places far outside the page. No opacity: scripts fade real text in.
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden"
    r"|(?:left|top|right|text-indent)\s*:\s*-\d{4,}(?:\.\d+)?(?:px|em|rem)",
    re.I,
)
_NO_SIZE = re.compile(r"font-size\s*:\s*0*(?:\.0+|0)?(?:px|pt|em|rem|%)?\s*(?:!|;|\Z)", re.I)
_SIZE = re.compile(r"font-size\s*:", re.I)
_COLOUR = re.compile(r"(?<![\w-])(color|background(?:-color)?)\s*:\s*([^;!]+?)\s*(?:!|;|\Z)", re.I)
_WHITE = re.compile(r"#fff(?:fff)?|white|rgb\(255, ?255, ?255\)", re.I)
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
        or _hides(element, element.get("style") or "")
        or bool(_HIDING_CLASS.search(element.get("class") or ""))
    )


def _hides(element: _Element, style: str) -> bool:
    """Whether the style leaves nothing to see: no box, no size, or one colour on the same."""
    if not style:
        return False
    if _HIDING_STYLE.search(style):
        return True
    if _NO_SIZE.search(style):
        # Spaces between boxes are taken out so, and the boxes given their size again.
        inner = (one.get("style") or "" for one in element.iterdescendants())
        return not any(map(_SIZE.search, inner))
    colours = {
        name.lower().removesuffix("-color"): _WHITE.sub("white", colour.lower())
        for name, colour in _COLOUR.findall(style)
    }
    return "color" in colours and colours["color"] == colours.get("background")
