"""Loads Word files (docx, docm): headings, paragraphs, lists, tables, text boxes and notes.

python-docx opens the package and finds the parts; the elements are traversed here, because it
skips content controls, text boxes, tracked insertions and notes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from docx.opc.exceptions import PackageNotFoundError
from docx.opc.part import PartFactory
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import (
    child_of,
    elements,
    name_of,
    open_office,
    parse,
    value_of,
    visible_children,
)
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, numeral, one_line
from wellread.ingest.loaders.text.meetings import as_meeting
from wellread.types import Document

MAX_TINY_HALF_POINTS = 2  # smaller text is invisible
MIN_WHITE = 0xFF - 24  # lighter red, green and blue values appear white
_PLAIN_TABLES = frozenset({"", "TableGrid", "TableNormal"})


def drop_hidden(root: etree._Element, styles: etree._Element | None) -> None:
    """Remove all invisible runs from ``root``."""
    styles_by_id = {} if styles is None else {value_of(style, "styleId"): style for style in styles}
    for run in list(elements(root, "r")):
        parent = run.getparent()
        if parent is not None and _is_hidden(run, styles_by_id):
            parent.remove(run)


def _is_hidden(run: etree._Element, styles: dict[str, etree._Element]) -> bool:
    settings = child_of(run, "rPr")
    paragraph = next((node for node in run.iterancestors() if name_of(node) == "p"), None)
    run_style = value_of(child_of(settings, "rStyle"), "val")
    paragraph_style = value_of(child_of(paragraph, "pPr", "pStyle"), "val")
    used = [*_with_bases(run_style, styles), *_with_bases(paragraph_style, styles)]
    inherited = (child_of(style, "rPr") for style in used)
    chain = [node for node in (settings, *inherited) if node is not None]
    if _first_value(chain, "vanish") not in (None, "0", "false", "off"):
        return True
    size = _first_value(chain, "sz") or ""
    if size.isdecimal() and int(size) <= MAX_TINY_HALF_POINTS:
        return True
    return _is_pale(_first_value(chain, "color") or "") and not _has_background(run, chain)


def _with_bases(name: str, styles: Mapping[str, etree._Element]) -> Iterator[etree._Element]:
    """Yield a style and its base styles, nearest first."""
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        yield styles[name]
        name = value_of(child_of(styles[name], "basedOn"), "val")


def _first_value(chain: list[etree._Element], setting: str) -> str | None:
    """Return a setting's value in the first element that has it; empty if it has no value."""
    settings = (child_of(node, setting) for node in chain)
    element = next((node for node in settings if node is not None), None)
    return None if element is None else value_of(element, "val").lower()


def _is_pale(colour: str) -> bool:
    if len(colour) != 6:
        return False
    try:
        return all(int(colour[index : index + 2], 16) >= MIN_WHITE for index in (0, 2, 4))
    except ValueError:  # "auto"
        return False


def _has_background(run: etree._Element, chain: list[etree._Element]) -> bool:
    if any(_is_shaded(node) or child_of(node, "highlight") is not None for node in chain):
        return True
    for node in run.iterancestors():
        name = name_of(node)
        if name == "txbxContent" or _is_shaded(child_of(node, f"{name}Pr")):
            return True
        if name == "tbl":
            style = value_of(child_of(node, "tblPr", "tblStyle"), "val")
            if style not in _PLAIN_TABLES:
                return True
        if name == "document" and child_of(node, "background") is not None:
            return True
    return False


def _is_shaded(settings: etree._Element | None) -> bool:
    fill = value_of(child_of(settings, "shd"), "fill").lower()
    return fill not in ("", "auto") and not _is_pale(fill)


# python-docx only knows plain documents; in documents with macros and in templates the same part
# has another name.
for _name in (
    "vnd.ms-word.document.macroEnabled",
    "vnd.ms-word.template.macroEnabledTemplate",
    "vnd.openxmlformats-officedocument.wordprocessingml.template",
):
    PartFactory.part_type_for[f"application/{_name}.main+xml"] = DocumentPart

LEVELS = 9
# Word writes English names of built-in styles; other programs write translated names.
_HEADING_NAME = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|titre|kop|rubrik|overskrift|otsikko|nagłówek"
    r"|nadpis|címsor|başlık|заголовок|επικεφαλίδα|标题|標題|見出し|제목)\s*([1-9])",
    re.IGNORECASE,
)
_TITLE_NAME = re.compile(r"(?:title|titel|titre|título|titolo|标题|表題)", re.IGNORECASE)
_SKIPPED = frozenset(
    {"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "rt", "sdtPr", "tblPr"}
)
_BLOCK_HOLDERS = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"})
_HOLDERS = _BLOCK_HOLDERS | {"tbl", "tr", "tc"}
_SIGNS = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
_NOTES = {
    "footnoteReference": "footnotes",
    "endnoteReference": "endnotes",
    "commentReference": "comments",
}
_NOTE_MARKER = "* "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """A paragraph style.

    Attributes:
        level: its heading level (0: not a heading).
        listed: the number and level of its list, as written; empty for none.
    """

    id: str = ""
    name: str = ""
    level: int = 0
    listed: tuple[str, str] = ("", "")


@dataclass(slots=True)
class _Paragraph:
    """A paragraph's text, with the text boxes and notes anchored in it."""

    pieces: list[str] = field(default_factory=list)
    boxes: list[etree._Element] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text with line breaks."""
        return "".join(self.pieces)

    def gather(self, element: etree._Element) -> _Paragraph:
        """Add the content of ``element``."""
        for child in visible_children(element):
            name = name_of(child)
            if name == "t":
                self.pieces.append(child.text or "")
            elif name in _SIGNS:
                self.pieces.append(_SIGNS[name])
            elif name == "txbxContent":
                self.boxes.append(child)
            elif name in _NOTES:
                self.notes.append((_NOTES[name], value_of(child, "id")))
            elif name not in _SKIPPED:
                self.gather(child)
        return self


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a Word file as one page."""
    file = open_office(source, limits)
    part = _main_part(file.data, source.uri)
    notes = _notes(part, source.uri)
    for root in (part.element, *notes.values()):
        drop_hidden(root, _related_root(part, "styles"))
    writer = _Writer(_styles(part), notes, _Numbering(_related_root(part, "numbering")))
    body = child_of(part.element, "body")
    if body is not None:
        writer.walk(body)
    title = writer.title or file.title or writer.first_heading
    page = file.page(source, writer.blocks.build(), source_type="docx", title=title)
    yield as_meeting(page, source)


def _main_part(data: bytes, uri: str) -> DocumentPart:
    try:
        part = Package.open(io.BytesIO(data)).main_document_part
    except (PackageNotFoundError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
        raise SourceError(uri, f"damaged Word file: {error}") from error
    except (KeyError, ValueError, AttributeError) as error:
        # Also raised for "Strict Open XML", whose parts have other names.
        reason = f"not a Word file that can be read: save it as .docx ({error})"
        raise SourceError(uri, reason) from error
    if not isinstance(part, DocumentPart):
        raise SourceError(uri, f"not a Word file: its content type is {part.content_type}")
    return part


@dataclass(slots=True)
class _Writer:
    _styles: Mapping[str, _Style]
    _notes: Mapping[tuple[str, str], etree._Element]
    _numbering: _Numbering
    blocks: Blocks = field(default_factory=Blocks)
    title: str = ""
    first_heading: str = ""
    _listing: bool = False

    def walk(self, holder: etree._Element) -> None:
        """Write the paragraphs and tables of ``holder``."""
        for element in visible_children(holder):
            name = name_of(element)
            if name == "p":
                self._write_paragraph(element)
            elif name == "tbl":
                self._write_table(element)
            elif name in _BLOCK_HOLDERS:
                self.walk(element)

    def _write_paragraph(self, element: etree._Element) -> None:
        paragraph = _gather(element)
        style = self._style_of(element)
        level = _outline(child_of(element, "pPr", "outlineLvl")) or style.level
        words = one_line(paragraph.text)
        depth, sign = self._numbering.item(element, style) if words else (None, "")
        if words and not self.title and _TITLE_NAME.fullmatch(style.name):
            self.title = words
            self._head(1, words)
        elif words and level:
            self.first_heading = self.first_heading or words
            self._head(level, words if sign == BULLET else f"{sign} {words}")
        elif depth is not None:
            item = f"{'  ' * depth}{sign} {words}"
            self.blocks.block(item, gap="\n" if self._listing else PARAGRAPH)
            self._listing = True
        else:
            lines = (one_line(line) for line in paragraph.text.split("\n"))
            self.blocks.block("\n".join(line for line in lines if line))
            self._listing = self._listing and not words
        self._write_attached(paragraph)

    def _style_of(self, paragraph: etree._Element) -> _Style:
        name = value_of(child_of(paragraph, "pPr", "pStyle"), "val")
        return self._styles.get(name, _Style())

    def _head(self, level: int, words: str) -> None:
        self.blocks.heading(level, words)
        self._listing = False

    def _write_attached(self, paragraph: _Paragraph) -> None:
        for box in paragraph.boxes:
            self.walk(box)
        for note in paragraph.notes:
            if note in self._notes:
                texts = (_gather(part).text for part in _paragraphs(self._notes[note]))
                words = one_line(" ".join(texts))
                author = value_of(self._notes[note], "author") or "an unnamed person"
                marker = f"Comment by {author}: " if note[0] == "comments" else _NOTE_MARKER
                self.blocks.block(marker + words if words else "")
                self._listing = False

    def _write_table(self, table: etree._Element) -> None:
        self._listing = False
        rows = [
            [] if child_of(row, "trPr", "del") is not None else list(_nested(row, "tc"))
            for row in _nested(table, "tr")
        ]
        if len(rows) == 1 and len(rows[0]) == 1:  # a frame around text
            self.walk(rows[0][0])
            return
        attached = _Paragraph()
        texts: list[list[str]] = []
        groups: set[int] = set()
        for row in rows:
            texts.append([])
            for cell in row:
                paragraphs = list(_paragraphs(cell))
                attached.notes += [note for part in paragraphs for note in _gather(part).notes]
                text = one_line(" ".join(map(self._numbered, paragraphs)))
                above = texts[-2][len(texts[-1]) :] if len(texts) > 1 else []
                texts[-1].append("".join(above[:1]) if _continues_cell(cell) else text)
                wide = value_of(child_of(cell, "tcPr", "gridSpan"), "val")
                more = min(int(wide), MAX_SPAN) - 1 if wide.isdecimal() else 0
                texts[-1] += texts[-1][-1:] * more if len(row) > 1 else [""] * more
                groups |= {len(texts) - 1} if more and len(row) > 1 else set()
        named = bool(rows) and len(rows) > 1 and _is_header(rows[0])
        self.blocks.table(texts, header=named or None, groups=groups)
        self._write_attached(attached)

    def _numbered(self, paragraph: etree._Element) -> str:
        """The text of a paragraph in a cell, with its number in a list."""
        text = _gather(paragraph).text
        _, sign = self._numbering.item(paragraph, self._style_of(paragraph))
        return f"{sign} {text}" if text.strip() and sign != BULLET else text


def _is_header(row: list[etree._Element]) -> bool:
    """Whether a row is repeated on each page, or all its text is bold."""
    line = row[0].getparent() if row else None
    if child_of(line, "trPr", "tblHeader") is not None:
        return len(row) > 1
    runs = [run for cell in row for run in elements(cell, "r") if _gather(run).text.strip()]
    bold = [child_of(run, "rPr", "b") for run in runs]
    return (
        len(row) > 1
        and bool(runs)
        and all(mark is not None and value_of(mark, "val") not in ("0", "false") for mark in bold)
    )


def _gather(element: etree._Element) -> _Paragraph:
    return _Paragraph().gather(element)


def _paragraphs(holder: etree._Element) -> Iterator[etree._Element]:
    """Yield all paragraphs of a cell or note, including those of inner tables and text boxes."""
    for child in visible_children(holder):
        if name_of(child) == "p":
            yield child
            for box in _gather(child).boxes:
                yield from _paragraphs(box)
        elif name_of(child) in _HOLDERS:
            yield from _paragraphs(child)


def _nested(holder: etree._Element, name: str) -> Iterator[etree._Element]:
    """Yield the rows of a table or the cells of a row, including those in content controls."""
    for child in visible_children(holder):
        if name_of(child) == name:
            yield child
        elif name_of(child) in _BLOCK_HOLDERS:
            yield from _nested(child, name)


def _continues_cell(cell: etree._Element) -> bool:
    merged = child_of(cell, "tcPr", "vMerge")
    return merged is not None and value_of(merged, "val") != "restart"


BULLET = "-"
MAX_SPAN = 63  # columns of a table in Word
_LEVEL_SIGN = re.compile(r"%([1-9])")
# Word's names of number forms; all others are written as digits.
_FORMS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}


class _Numbering:
    """Counts the numbers of lists, headings and clauses as Word does (ECMA-376, 17.9)."""

    def __init__(self, root: etree._Element | None) -> None:
        nodes = [] if root is None else list(root)
        lists = {
            value_of(node, "abstractNumId"): node
            for node in nodes
            if name_of(node) == "abstractNum"
        }
        linked = {
            value_of(child_of(node, "styleLink"), "val"): name for name, node in lists.items()
        }
        self._levels = {name: _levels_of(node) for name, node in lists.items()}
        for name, node in lists.items():  # a list defined by the style that another one has
            style = value_of(child_of(node, "numStyleLink"), "val")
            self._levels[name] = self._levels[linked.get(style, name) if style else name]
        self._lists: dict[str, str] = {}
        self._overrides: dict[str, dict[int, etree._Element]] = {}
        for node in nodes:
            if name_of(node) == "num":
                number = value_of(node, "numId")
                self._lists[number] = value_of(child_of(node, "abstractNumId"), "val")
                self._overrides[number] = _levels_of(node, "lvlOverride")
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def item(self, paragraph: etree._Element, style: _Style) -> tuple[int | None, str]:
        """The depth of a paragraph in a list (None: outside) and its number or ``BULLET``."""
        own = child_of(paragraph, "pPr", "numPr")
        number = value_of(child_of(own, "numId"), "val") or style.listed[0]
        if number in ("", "0"):  # 0 removes the item from its style's list
            return None, BULLET
        name = self._lists.get(number, "")
        levels = self._levels.get(name, {})
        given = value_of(child_of(own, "ilvl"), "val") or style.listed[1]
        by_style = (
            at
            for at, level in levels.items()
            if value_of(child_of(level, "pStyle"), "val") == style.id
        )
        depth = min(int(given), LEVELS) if given.isdecimal() else next(by_style, 0)
        return depth, self._sign(number, depth, name)

    def _sign(self, number: str, depth: int, name: str) -> str:
        levels, override = self._levels.get(name, {}), self._overrides.get(number, {}).get(depth)
        level = child_of(override, "lvl")
        level = levels.get(depth) if level is None else level
        counts = self._counts.setdefault(name, {})
        start = value_of(child_of(override, "startOverride"), "val")
        if (number, depth) in self._begun or not start.isdecimal():
            start = "" if depth in counts else _start_of(level)
        self._begun.add((number, depth))
        counts[depth] = int(start) if start else counts[depth] + 1
        for deeper in [at for at in counts if at > depth]:
            del counts[deeper]
        template = value_of(child_of(level, "lvlText"), "val")
        if "%" not in template or value_of(child_of(level, "numFmt"), "val") == "bullet":
            return BULLET
        legal = child_of(level, "isLgl") is not None

        def shown(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            form = value_of(child_of(levels.get(at), "numFmt"), "val")
            value = counts.get(at, int(_start_of(levels.get(at))))
            return numeral(value, "1" if legal else _FORMS.get(form, "1"))

        return one_line(_LEVEL_SIGN.sub(shown, template))


def _levels_of(node: etree._Element, name: str = "lvl") -> dict[int, etree._Element]:
    children = {value_of(child, "ilvl"): child for child in node if name_of(child) == name}
    return {int(level): child for level, child in children.items() if level.isdecimal()}


def _start_of(level: etree._Element | None) -> str:
    start = value_of(child_of(level, "start"), "val")
    return start if start.isdecimal() and len(start) < 9 else "1"


def _outline(element: etree._Element | None) -> int:
    """Return the heading level of ``w:outlineLvl``; 9 there means body text."""
    level = value_of(element, "val")
    return int(level) + 1 if level.isdecimal() and int(level) < LEVELS else 0


def _styles(part: DocumentPart) -> dict[str, _Style]:
    """Return the paragraph styles by id, with inherited properties."""
    root = _related_root(part, "styles")
    if root is None:
        return {}
    by_id = {value_of(style, "styleId"): style for style in root if name_of(style) == "style"}
    return {name: _style(name, by_id) for name in by_id}


def _style(name: str, by_id: Mapping[str, etree._Element]) -> _Style:
    style_name = value_of(child_of(by_id[name], "name"), "val")
    level, number, depth = 0, "", ""
    for element in _with_bases(name, by_id):
        heading = _HEADING_NAME.fullmatch(value_of(child_of(element, "name"), "val"))
        outline = child_of(element, "pPr", "outlineLvl")
        if not level and outline is not None and not _outline(outline):
            break  # declared as body text, whatever its base style is
        level = level or _outline(outline) or (int(heading.group(1)) if heading else 0)
        own = child_of(element, "pPr", "numPr")
        number = number or value_of(child_of(own, "numId"), "val")
        depth = depth or value_of(child_of(own, "ilvl"), "val")
    return _Style(id=name, name=style_name, level=level, listed=(number, depth))


def _notes(part: DocumentPart, uri: str) -> dict[tuple[str, str], etree._Element]:
    return {
        (kind, value_of(note, "id")): note
        for kind in _NOTES.values()
        if (root := _related_root(part, kind, uri)) is not None
        for note in elements(root, "footnote", "endnote", "comment")
    }


def _related_root(part: DocumentPart, kind: str, uri: str = "") -> etree._Element | None:
    for relation in part.rels.values():
        if relation.reltype.rpartition("/")[2] == kind and not relation.is_external:
            target = relation.target_part
            element = getattr(target, "element", None)
            return element if element is not None else parse(target.blob, uri)
    return None
