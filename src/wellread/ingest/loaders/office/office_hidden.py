"""What Word does not show of a document: runs set as hidden, of no size, or white on white."""

from __future__ import annotations

from lxml import etree

from wellread.ingest.loaders.office.archives import name_of
from wellread.ingest.loaders.office.office import child_of, elements, value_of

TINY = 2  # half points
PALE = 0xFF - 24  # of each of red, green and blue, from which letters are white to a reader
_PLAIN_TABLES = frozenset({"", "TableGrid", "TableNormal"})


def drop_hidden(root: etree._Element, styles: etree._Element | None) -> None:
    """Take out of ``root`` every run that is not seen on the page."""
    named = {} if styles is None else {value_of(one, "styleId"): one for one in styles}
    for run in list(elements(root, "r")):
        parent = run.getparent()
        if parent is not None and _unseen(run, named):
            parent.remove(run)


def _unseen(run: etree._Element, named: dict[str, etree._Element]) -> bool:
    settings = child_of(run, "rPr")
    paragraph = next((one for one in run.iterancestors() if name_of(one) == "p"), None)
    own = _inherited(value_of(child_of(settings, "rStyle"), "val"), named)
    around = _inherited(value_of(child_of(paragraph, "pPr", "pStyle"), "val"), named)
    chain = [one for one in (settings, *own, *around) if one is not None]
    if _first(chain, "vanish") not in (None, "0", "false", "off"):
        return True
    size = _first(chain, "sz") or ""
    if size.isdecimal() and int(size) <= TINY:
        return True
    return _pale(_first(chain, "color") or "") and not _on_a_ground(run, chain)


def _inherited(name: str, named: dict[str, etree._Element]) -> list[etree._Element]:
    """The run settings of a style and of those it is based on, nearest first."""
    found: list[etree._Element] = []
    seen: set[str] = set()
    while name in named and name not in seen:
        seen.add(name)
        settings = child_of(named[name], "rPr")
        found += [settings] if settings is not None else []
        name = value_of(child_of(named[name], "basedOn"), "val")
    return found


def _first(chain: list[etree._Element], setting: str) -> str | None:
    """The value of a setting where it is first given; "" when it is given without one."""
    given = (child_of(one, setting) for one in chain)
    element = next((one for one in given if one is not None), None)
    return None if element is None else value_of(element, "val").lower()


def _pale(colour: str) -> bool:
    if len(colour) != 6:
        return False
    try:
        return all(int(colour[at : at + 2], 16) >= PALE for at in (0, 2, 4))
    except ValueError:  # "auto"
        return False


def _on_a_ground(run: etree._Element, chain: list[etree._Element]) -> bool:
    """Whether something coloured lies, or may lie, behind the run."""
    if any(_shaded(one) or child_of(one, "highlight") is not None for one in chain):
        return True
    for one in run.iterancestors():
        name = name_of(one)
        if name == "txbxContent" or _shaded(child_of(one, f"{name}Pr")):
            return True
        if name == "tbl":
            style = value_of(child_of(one, "tblPr", "tblStyle"), "val")
            if style not in _PLAIN_TABLES:
                return True
        if name == "document" and child_of(one, "background") is not None:
            return True
    return False


def _shaded(settings: etree._Element | None) -> bool:
    fill = value_of(child_of(settings, "shd"), "fill").lower()
    return fill not in ("", "auto") and not _pale(fill)
