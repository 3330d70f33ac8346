"""OpenDocument text (odt, as LibreOffice saves it): read as the page of HTML that says the same.

The package is checked like an Office file, and its elements get the names that HTML has for them:
the libraries for the format hand them out one by one too.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

import lxml.html
from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment
from wellread.ingest.loaders.html.html_blocks import blocks_of, visible_text, write_blocks
from wellread.ingest.loaders.office.archives import name_of, open_archive, parse
from wellread.ingest.loaders.office.office import child_of, elements, value_of
from wellread.ingest.loaders.plain import Blocks, one_line, title_from_name
from wellread.types import Document

_CONTENT, _META, _STYLES = "content.xml", "meta.xml", "styles.xml"
_MANIFEST = "META-INF/manifest.xml"
_MARK_OF_NOTE = "* "
_UNREAD = frozenset(
    "annotation tracked-changes table-of-content alphabetical-index illustration-index "
    "table-index object-index user-index bibliography sequence-decls variable-decls forms "
    "hidden-text hidden-paragraph ruby-text title desc script".split()
)
_TAGS = {
    "p": "p", "list": "ul", "list-item": "li", "list-header": "li", "line-break": "br",
    "table": "table", "table-row": "tr", "table-cell": "td",
}  # fmt: skip
_WHITE = re.compile(r"#f[0-9a-f]f[0-9a-f]f[0-9a-f]", re.IGNORECASE)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One page."""
    with open_archive(source.data, source.uri, limits) as archive:
        if _MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST):
            raise SourceError(source.uri, "password-protected: save it without a password")
        content = _part(archive, _CONTENT, source.uri)
        if content is None:
            raise SourceError(source.uri, "damaged file: it has no content.xml")
        facts = _facts(_part(archive, _META, source.uri))
        styles = _Styles(content, _part(archive, _STYLES, source.uri))
    page = lxml.html.Element("div")
    body = child_of(content, "body", "text")
    if body is not None:
        _convert(body, page, styles)
    found, blocks = blocks_of(page), Blocks()
    write_blocks(blocks, found)
    titled = page.find(".//p[@class='title']")
    title = facts.get("title", [""])[0] or (
        one_line(visible_text(titled)) if titled is not None else ""
    )
    title = title or next((block.text for block in found if block.level), "")
    keywords = tuple(dict.fromkeys(facts.get("keyword", ())))
    made = facts.get("creation-date") or facts.get("date")
    yield source.document(
        blocks.build(),
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


class _Styles:
    """Which styles hide letters or are a title's, by themselves or by what they are based on."""

    def __init__(self, *roots: etree._Element | None) -> None:
        self._parents: dict[str, str] = {}
        self._hiding: set[str] = set()
        for style in (one for root in roots if root is not None for one in elements(root, "style")):
            name, letters = value_of(style, "name"), child_of(style, "text-properties")
            ground = value_of(letters, "background-color") or value_of(
                child_of(style, "paragraph-properties"), "background-color"
            )
            white = _WHITE.fullmatch(value_of(letters, "color")) and not ground
            self._parents[name] = value_of(style, "parent-style-name")
            if white or value_of(letters, "display") == "none":
                self._hiding.add(name)

    def hides(self, name: str) -> bool:
        """Whether letters in this style are not seen."""
        return not self._hiding.isdisjoint(self._lineage(name))

    def is_title(self, name: str) -> bool:
        """Whether it is the style of the document's title."""
        return "Title" in self._lineage(name)

    def _lineage(self, name: str) -> list[str]:
        found: list[str] = []
        while name and name not in found:
            found.append(name)
            name = self._parents.get(name, "")
        return found


def _convert(holder: etree._Element, target: etree._Element, styles: _Styles) -> None:
    """Write what stands in ``holder`` into ``target``; notes come behind their paragraph."""
    _say(target, holder.text)
    for child in holder:
        name, style = name_of(child), value_of(child, "style-name")
        if name in ("s", "tab"):
            _say(target, " ")
        elif name and name != "note" and name not in _UNREAD:
            level = value_of(child, "outline-level")
            heading = f"h{min(int(level), 6)}" if level.isdecimal() and int(level) else "h1"
            made = etree.SubElement(target, heading if name == "h" else _TAGS.get(name, "span"))
            if styles.hides(style):
                made.set("hidden", "")
            if name == "p" and styles.is_title(style):
                made.set("class", "title")
            _convert(child, made, styles)
            for note in _notes(child) if name in ("p", "h") else ():
                etree.SubElement(target, "p").text = _MARK_OF_NOTE + note
        _say(target, child.tail)


def _notes(paragraph: etree._Element) -> Iterator[str]:
    """What the notes of a paragraph say, not those of paragraphs in boxes that hang on it."""
    for body in elements(paragraph, "note-body"):
        if next(one for one in body.iterancestors() if name_of(one) in ("p", "h")) is paragraph:
            words = ("".join(map(str, one.itertext())) for one in elements(body, "p", "h"))
            if text := one_line(" ".join(words)):
                yield text


def _say(target: etree._Element, words: str | None) -> None:
    """Write words behind all that stands in ``target``."""
    if words and len(target):
        target[-1].tail = (target[-1].tail or "") + words
    elif words:
        target.text = (target.text or "") + words
