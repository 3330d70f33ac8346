"""What Word, PowerPoint and Excel files share: the checked package and the facts about it."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment
from wellread.ingest.loaders.office.archives import name_of, open_archive, parse
from wellread.ingest.loaders.plain import one_line

_RELATIONS = "_rels/.rels"
_CORE = "/metadata/core-properties"
# Titles that programs give by themselves, and programs that call themselves the author.
_NO_TITLE = re.compile(
    r"(?:word document|powerpoint presentation|pr[äe]sentation|presentation|document|dokument|book"
    r"|untitled|slide|workbook)\s*\d{0,3}|microsoft (?:word|powerpoint|excel)\b.*",
    re.IGNORECASE,
)
_PROGRAMS = frozenset({"python-docx", "openpyxl", "microsoft office user", "user", "unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficeFacts:
    """The core properties, without what programs fill in by themselves."""

    title: str = ""
    authors: tuple[str, ...] = ()
    published_at: datetime | None = None
    language: str = ""
    summary: str = ""
    keywords: tuple[str, ...] = ()

    @property
    def taxonomy(self) -> dict[str, tuple[str, ...]]:
        """The keywords as a dimension."""
        return {"tags": self.keywords} if self.keywords else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficeFile:
    """A file that was checked: what is known about it, and the bytes for the library."""

    facts: OfficeFacts
    data: bytes


def open_office(source: Source, limits: LoaderLimits) -> OfficeFile:
    """Check the whole file, read its core properties, and mend what the libraries stumble over.

    Raises:
        SourceError: it is no zip file that may be opened (see ``archives``).
    """
    with open_archive(source.data, source.uri, limits) as archive:
        try:
            return OfficeFile(facts=_facts(archive), data=_mended(source.data, archive))
        except (zipfile.BadZipFile, etree.LxmlError) as error:
            raise SourceError(source.uri, f"damaged file: {error}") from error


def _facts(archive: zipfile.ZipFile) -> OfficeFacts:
    try:
        root = parse(archive.read(_core_part(archive)), _RELATIONS)
    except (KeyError, SourceError):  # the text can be read all the same
        return OfficeFacts()
    found = {name_of(child): one_line(child.text or "") for child in root}
    title = found.get("title", "")
    return OfficeFacts(
        title="" if _NO_TITLE.fullmatch(title) else title,
        authors=tuple(_people(found.get("creator", ""))),
        published_at=moment(found.get("created")) or moment(found.get("modified")),
        language=found.get("language", "").lower(),
        summary=_summary(found),
        keywords=tuple(_listed(found.get("keywords", ""), r"[;,]")),
    )


def _mended(data: bytes, archive: zipfile.ZipFile) -> bytes:
    """The file without relations to parts that are not there.

    Some programs leave them behind when a picture is taken out, and the libraries refuse such a
    file as a whole.
    """
    names = set(archive.namelist())
    mended: dict[str, bytes] = {}
    for name in sorted(names):
        if name.endswith(".rels"):
            try:
                root = parse(archive.read(name), name)
            except SourceError:  # the library says what is wrong, if it needs the part at all
                continue
            gone = [one for one in root if _leads_nowhere(one, name, names)]
            for one in gone:
                root.remove(one)
            if gone:
                mended[name] = etree.tostring(root)
    if not mended:
        return data
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for name in dict.fromkeys(archive.namelist()):
            copy.writestr(name, mended.get(name) or archive.read(name))
    return stream.getvalue()


def _leads_nowhere(relation: etree._Element, name: str, names: set[str]) -> bool:
    if value_of(relation, "TargetMode") == "External":
        return False
    target = value_of(relation, "Target").partition("#")[0]
    # word/_rels/document.xml.rels holds the relations of word/document.xml
    folder = posixpath.dirname(posixpath.dirname(name))
    path = target[1:] if target.startswith("/") else posixpath.join(folder, target)
    return bool(target) and posixpath.normpath(path) not in names


def elements(root: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Every element below ``root`` with one of these names, whatever its namespace."""
    return (element for element in root.iter() if name_of(element) in names)


def value_of(element: etree._Element | None, name: str) -> str:
    """The attribute ``name`` of ``element``, whatever its namespace; empty when not there."""
    if element is None:
        return ""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return ""


def child_of(element: etree._Element | None, *path: str) -> etree._Element | None:
    """The element at the end of ``path``, each step the first child of that name."""
    for step in path:
        if element is None:
            return None
        element = next((child for child in element if name_of(child) == step), None)
    return element


def shown(element: etree._Element) -> Iterator[etree._Element]:
    """The children that a program of today shows: one branch of each choice."""
    for child in element:
        if name_of(child) != "AlternateContent":
            yield child
            continue
        branch = child_of(child, "Choice")
        if branch is None:
            branch = child_of(child, "Fallback")
        if branch is not None:
            yield from shown(branch)


def table_row(cells: Sequence[str]) -> str:
    """The cells in one line, without the empty ones at its end."""
    count = len(cells)
    while count and not cells[count - 1]:
        count -= 1
    return " | ".join(cells[:count])


def _core_part(archive: zipfile.ZipFile) -> str:
    """The name of the part with the core properties."""
    try:
        root = parse(archive.read(_RELATIONS), _RELATIONS)
    except (KeyError, SourceError):
        return "docProps/core.xml"
    for element in root:
        if value_of(element, "Type").endswith(_CORE):
            return posixpath.normpath(value_of(element, "Target").lstrip("/"))
    return ""


def _summary(found: Mapping[str, str]) -> str:
    """The comment or the subject; not what a program says about itself."""
    given = found.get("description", "")
    return "" if given.startswith("generated ") else given or found.get("subject", "")


def _people(names: str) -> Iterator[str]:
    return (name for name in _listed(names, ";") if name.lower() not in _PROGRAMS)


def _listed(value: str, between: str) -> Iterator[str]:
    parts = (part.strip() for part in re.split(between, value))
    return iter(dict.fromkeys(part for part in parts if part))
