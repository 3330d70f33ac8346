"""OpenDocument text (odt, as LibreOffice saves it): headings, paragraphs, lists, tables, notes.

The package is checked like an Office file, and the elements are walked here, as those of Word are:
the libraries for the format hand out its elements one by one too.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment
from wellread.ingest.loaders.office.archives import name_of, open_archive, parse
from wellread.ingest.loaders.office.office import child_of, elements, table_row, value_of
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, one_line, title_from_name
from wellread.types import Document

_CONTENT, _META, _STYLES = "content.xml", "meta.xml", "styles.xml"
_MANIFEST = "META-INF/manifest.xml"
_MARK_OF_NOTE = "* "
_UNREAD = frozenset(
    (
        "annotation tracked-changes table-of-content alphabetical-index illustration-index "
        "table-index object-index user-index bibliography sequence-decls variable-decls forms "
        "hidden-text hidden-paragraph ruby-text title desc script"
    ).split()
)
_SIGNS = {"tab": "\t", "line-break": "\n"}
_WHITE = re.compile(r"#f[0-9a-f]f[0-9a-f]f[0-9a-f]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """What counts of a style: what it is based on, and whether its letters are seen."""

    parent: str = ""
    hidden: bool = False


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One page."""
    with open_archive(source.data, source.uri, limits) as archive:
        if _MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST):
            raise SourceError(source.uri, "password-protected: save it without a password")
        content = _part(archive, _CONTENT, source.uri)
        if content is None:
            raise SourceError(source.uri, "damaged file: it has no content.xml")
        meta = _part(archive, _META, source.uri)
        styles = _styles(content, _part(archive, _STYLES, source.uri))
    writer = _Writer(styles)
    body = child_of(content, "body", "text")
    if body is not None:
        writer.walk(body)
    facts = _facts(meta)
    title = facts.get("title", [""])[0] or writer.title or writer.first_heading
    keywords = tuple(dict.fromkeys(facts.get("keyword", ())))
    made = facts.get("creation-date") or facts.get("date")
    yield source.document(
        writer.blocks.build(),
        kind="page",
        title=title or title_from_name(source.name),
        source_type="odt",
        language=facts.get("language", [""])[0].lower(),
        authors=tuple(facts.get("initial-creator") or facts.get("creator") or ()),
        published_at=moment(made[0] if made else None),
        summary=next(iter(facts.get("description") or facts.get("subject") or ()), ""),
        taxonomy={"tags": keywords} if keywords else {},
    )


def _part(archive: zipfile.ZipFile, name: str, uri: str) -> etree._Element | None:
    try:
        return parse(archive.read(name), uri)
    except KeyError:
        return None
    except zipfile.BadZipFile as error:
        raise SourceError(uri, f"damaged file: {error}") from error


def _facts(meta: etree._Element | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for element in () if meta is None else meta.iter():
        words = one_line(element.text or "") if name_of(element) else ""
        if words:
            found.setdefault(name_of(element), []).append(words)
    return found


def _styles(*roots: etree._Element | None) -> Mapping[str, _Style]:
    found = {}
    for root in roots:
        for style in () if root is None else elements(root, "style"):
            letters = child_of(style, "text-properties")
            ground = value_of(letters, "background-color") or value_of(
                child_of(style, "paragraph-properties"), "background-color"
            )
            white = _WHITE.fullmatch(value_of(letters, "color")) and not ground
            hidden = value_of(letters, "display") == "none" or bool(white)
            parent = value_of(style, "parent-style-name")
            found[value_of(style, "name")] = _Style(parent=parent, hidden=hidden)
    return found


@dataclass(slots=True)
class _Paragraph:
    """A paragraph's words, and the text boxes and notes that hang on it."""

    pieces: list[str] = field(default_factory=list)
    boxes: list[etree._Element] = field(default_factory=list)
    notes: list[etree._Element] = field(default_factory=list)


class _Writer:
    """Walks over the elements of a document and writes its blocks."""

    def __init__(self, styles: Mapping[str, _Style]) -> None:
        self.blocks = Blocks()
        self.title = self.first_heading = ""
        self._styles = styles

    def walk(self, holder: etree._Element) -> None:
        """Write everything in ``holder``."""
        for child in holder:
            name = name_of(child)
            if name in _UNREAD or not name:
                continue
            if name in ("h", "p"):
                self._paragraph(child, name)
            elif name == "list":
                self._list(child, "")
            elif name == "table":
                self._table(child)
            else:  # sections, frames, lists' headers: what they hold counts
                self.walk(child)

    def _paragraph(self, element: etree._Element, name: str) -> None:
        found = _Paragraph()
        self._gather(element, found)
        text = _trimmed(found)
        style = value_of(element, "style-name")
        if name == "h" and text:
            level = value_of(element, "outline-level")
            self.first_heading = self.first_heading or one_line(text)
            self.blocks.heading(int(level) if level.isdecimal() else 1, text)
        else:
            if "Title" in self._lineage(style) and not self.title:
                self.title = one_line(text)
            self.blocks.block(text)
        self._hanging(found)

    def _hanging(self, found: _Paragraph) -> None:
        for box in found.boxes:
            self.walk(box)
        for note in found.notes:
            words = " ".join(self._text(one) for one in elements(note, "p", "h"))
            self.blocks.block(f"{_MARK_OF_NOTE}{words}" if words.strip() else "")

    def _list(self, element: etree._Element, indent: str) -> None:
        first = not indent
        for item in element:
            begun = False
            for child in item:
                if name_of(child) == "list":
                    self._list(child, f"{indent}  ")
                elif name_of(child) in ("p", "h"):
                    found = _Paragraph()
                    self._gather(child, found)
                    text = _trimmed(found)
                    mark = "  " if begun else "- "
                    if text:
                        self.blocks.block(f"{indent}{mark}{text}", gap=PARAGRAPH if first else "\n")
                        begun, first = True, False
                    self._hanging(found)

    def _table(self, table: etree._Element) -> None:
        rows = (row for row in elements(table, "table-row"))
        first = True
        for row in rows:
            cells = [
                " ".join(self._text(one) for one in elements(cell, "p", "h"))
                for cell in row
                if name_of(cell) == "table-cell"
            ]
            line = table_row(cells)
            if line.strip():
                self.blocks.block(line, gap=PARAGRAPH if first else "\n")
                first = False

    def _text(self, element: etree._Element) -> str:
        found = _Paragraph()
        self._gather(element, found)
        return " ".join(_trimmed(found).split())

    def _gather(self, element: etree._Element, found: _Paragraph) -> None:
        """Add the words in ``element``, and note what hangs on it; nothing that is not seen."""
        seen = not self._hidden(value_of(element, "style-name"))
        if seen:
            found.pieces.append(_squeezed(element.text))
        for child in element:
            name = name_of(child)
            if name == "s" and seen:
                count = value_of(child, "c")
                found.pieces.append(" " * (int(count) if count.isdecimal() else 1))
            elif name in _SIGNS and seen:
                found.pieces.append(_SIGNS[name])
            elif name == "note":
                found.notes += [one for one in child if name_of(one) == "note-body"]
            elif name == "text-box":
                found.boxes.append(child)
            elif name and name not in _UNREAD:
                self._gather(child, found)
            if seen:
                found.pieces.append(_squeezed(child.tail))

    def _lineage(self, name: str) -> list[str]:
        """A style's name and those of what it is based on."""
        found: list[str] = []
        while name and name not in found:
            found.append(name)
            name = self._styles[name].parent if name in self._styles else ""
        return found

    def _hidden(self, name: str) -> bool:
        return any(self._styles[one].hidden for one in self._lineage(name) if one in self._styles)


def _squeezed(text: str | None) -> str:
    """White space as the format has it: any amount of it is one space."""
    return re.sub(r"[ \t\r\n]+", " ", text or "")


def _trimmed(found: _Paragraph) -> str:
    return "\n".join(line.strip(" ") for line in "".join(found.pieces).split("\n")).strip()
