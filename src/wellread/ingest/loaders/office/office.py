"""What Word, PowerPoint and Excel files share: the checked package and the facts about it."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment
from wellread.ingest.loaders.office.archives import name_of, open_archive, parse
from wellread.ingest.loaders.plain import one_line, title_from_name
from wellread.types import Document

_RELATIONS = "_rels/.rels"
_CORE = "/metadata/core-properties"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
# Titles that programs give by themselves, and programs that call themselves the author.
_NO_TITLE = re.compile(
    r"(?:word document|powerpoint presentation|pr[äe]sentation|presentation|document|dokument|book"
    r"|untitled|slide|workbook)\s*\d{0,3}|microsoft (?:word|powerpoint|excel)\b.*",
    re.IGNORECASE,
)
_PROGRAMS = frozenset({"python-docx", "openpyxl", "microsoft office user", "user", "unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficeFile:
    """A file that was checked: the bytes for the library, and its core properties without what
    programs fill in by themselves.
    """

    data: bytes
    title: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def page(self, source: Source, built: Built, *, source_type: str, title: str) -> Document:
        """The one document that the file is; ``title``: when the file has none of its own."""
        title = title or title_from_name(source.name)
        return source.document(
            built, kind="page", title=title, source_type=source_type, **self.facts
        )


def open_office(source: Source, limits: LoaderLimits) -> OfficeFile:
    """Check the whole file, read its core properties, and mend what the libraries stumble over.

    Raises:
        SourceError: it is no zip file that may be opened (see ``archives``).
    """
    with open_archive(source.data, source.uri, limits) as archive:
        try:
            found, data = _core_properties(archive), _mended(source.data, archive)
        except (zipfile.BadZipFile, etree.LxmlError) as error:
            raise SourceError(source.uri, f"damaged file: {error}") from error
    title = found.get("title", "")
    people = _listed(found.get("creator", ""), ";")
    keywords = _listed(found.get("keywords", ""), "[;,]")
    comment = found.get("description", "")
    about = comment or found.get("subject", "")
    return OfficeFile(
        data=data,
        title="" if _NO_TITLE.fullmatch(title) else title,
        facts={
            "authors": tuple(name for name in people if name.lower() not in _PROGRAMS),
            "published_at": moment(found.get("created")) or moment(found.get("modified")),
            "language": found.get("language", "").lower(),
            # not what a program says about itself
            "summary": "" if comment.startswith("generated ") else about,
            "taxonomy": {"tags": keywords} if keywords else {},
        },
    )


def _core_properties(archive: zipfile.ZipFile) -> dict[str, str]:
    try:
        root = parse(archive.read(_core_part(archive)), _RELATIONS)
    except (KeyError, SourceError):  # the text can be read all the same
        return {}
    return {name_of(child): one_line(child.text or "") for child in root}


def _core_part(archive: zipfile.ZipFile) -> str:
    """The name of the part with the core properties."""
    try:
        root = parse(archive.read(_RELATIONS), _RELATIONS)
    except (KeyError, SourceError):
        return "docProps/core.xml"
    targets = (value_of(one, "Target") for one in root if value_of(one, "Type").endswith(_CORE))
    return next((posixpath.normpath(target.lstrip("/")) for target in targets), "")


def _listed(value: str, between: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in re.split(between, value) if part.strip()))


def _mended(data: bytes, archive: zipfile.ZipFile) -> bytes:
    """The file in the names that the libraries know, without relations to parts that are not there.

    Some programs leave them behind when a picture is taken out, and the libraries refuse such a
    file as a whole.
    """
    names = set(archive.namelist())
    mended = _transitional(archive)
    for name in sorted(names):
        if name.endswith(".rels"):
            try:
                root = parse(mended.get(name) or archive.read(name), name)
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


def _transitional(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The parts of a Strict Open XML file with the names of the usual, transitional form.

    "Strict Open XML" (ISO/IEC 29500-1) differs in little but the addresses of its namespaces.
    """
    named = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
    if _RELATIONS not in named or not _STRICT.search(archive.read(_RELATIONS)):
        return {}
    parts = {name: archive.read(name) for name in named}
    return {name: _STRICT.sub(_TRANSITIONAL, held) for name, held in parts.items()}


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
    given = element.attrib.items() if element is not None else ()
    return next((str(value) for key, value in given if str(key).rpartition("}")[2] == name), "")


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
        branches = (child_of(child, name) for name in ("Choice", "Fallback"))
        branch = next((one for one in branches if one is not None), None)
        if branch is not None:
            yield from shown(branch)


def table_row(cells: Sequence[str]) -> str:
    """The cells in one line, without the empty ones at its end."""
    count = max((number for number, cell in enumerate(cells, 1) if cell), default=0)
    return " | ".join(cells[:count])
