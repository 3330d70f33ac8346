"""What the rules of a page's own style elements hide: marked, so that nothing of it is read.

Only rules that hide an element for good count: no media but the screen, no state of the mouse.
Where the rules would hide most of a page, a script is meant to show it, and they are not believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cssselect import HTMLTranslator, SelectorError
from lxml.etree import XPathError, _Element

from wellread.ingest.loaders.text.html_blocks import (
    INVISIBLE,
    ancestors,
    declared,
    hides,
    nearly,
    tag_of,
    visible_text,
)

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
    """Give the attribute ``hidden`` to every element that a style element's rules hide."""
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
