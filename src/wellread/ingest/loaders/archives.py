"""Safe reading of untrusted zip files, XML and Office packages.

XML is parsed without entities, document types or network access.

The directory of a zip file may give false sizes. So every entry is first unpacked once in pieces
and discarded; zipfile never returns more than the declared size.

Legacy (before 2007) and encrypted Office files are compound files (MS-CFB) instead, whose
directory names its streams in UTF-16.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import parse_moment
from wellread.ingest.loaders.plain import one_line, title_from_name
from wellread.types import Document

_HEAD_BYTES = 1024
_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE)
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
# Encodings that write markup as ASCII bytes (plus the NULs of UTF-16). In other encodings a
# declaration could not be found in the bytes.
_SAFE = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|(?:us-)?ascii|iso-8859-\d{1,2}|(?:windows-|cp)125\d|koi8-[ru]"
    r"|gb2312|gbk|gb18030|big5|euc-jp|euc-kr|shift_jis",
    re.IGNORECASE,
)


def forbidden_declaration(piece: bytes) -> str:
    """Return the dangerous declaration in ``piece`` of an XML file; empty when there is none."""
    plain = piece.replace(b"\x00", b"").upper()
    if b"<!ENTITY" in plain:
        return "entities"
    return "a document type" if b"<!DOCTYPE" in plain else ""


def is_readable(head: bytes) -> bool:
    """Whether a file starting with ``head`` is markup in an encoding that can be checked."""
    plain = head[:_HEAD_BYTES]
    for signature in _BYTE_ORDER_MARKS:
        plain = plain.removeprefix(signature)
    plain = plain.replace(b"\x00", b"")
    encoding = _ENCODING.search(plain)
    safe = encoding is None or _SAFE.fullmatch(encoding.group(1).decode("ascii")) is not None
    return safe and plain.lstrip().startswith(b"<")


def parse(data: bytes, uri: str, *, repair: bool = False) -> etree._Element:
    """Parse XML without network access or entity expansion, and return the root element.

    Args:
        repair: continue after errors as browsers do (for example an unescaped ``&``).
    """
    if forbidden_declaration(data) == "entities" or not is_readable(data):
        raise SourceError(uri, "the XML declares entities or has an unusual encoding")
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=repair
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise SourceError(uri, f"not XML: {error}") from error
    if root is None:  # nothing could be repaired
        raise SourceError(uri, "not XML: no element")
    return root


def name_of(element: etree._Element) -> str:
    """Return the element's name without namespace; empty for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


ZIP_START = b"PK\x03\x04"
MAX_RATIO = 300  # unpacked to packed size; office files stay below 100, a bomb is about 1,000
MIN_BOMB_BYTES = 10 << 20  # smaller unpacked entries are harmless at any ratio
PIECE_BYTES = 1 << 20
OVERLAP_CHARS = 16  # kept between two pieces, so that no keyword is cut in two

_ENCRYPTED = 0x1
_ODT = b"application/vnd.oasis.opendocument.text"
_MARKUP = (".xml", ".rels")
# Raised by zipfile on opening: damaged file, undecodable name, unknown version.
_UNREADABLE = (zipfile.BadZipFile, ValueError, NotImplementedError)


def names_in(data: bytes) -> list[str]:
    """Return the names of a zip file's entries; empty when it is not a readable zip file."""
    if not data.startswith(ZIP_START):
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except _UNREADABLE:
        return []


def is_odt(data: bytes) -> bool:
    """Whether this is OpenDocument text (or a template), by its uncompressed first entry."""
    return data[30:38] == b"mimetype" and data[38 : 38 + len(_ODT)] == _ODT


def open_archive(
    data: bytes,
    uri: str,
    limits: LoaderLimits,
    *,
    document_types: bool = False,
    any_markup: bool = False,
) -> zipfile.ZipFile:
    """Open a zip file after checking every entry against the directory.

    XML inside must not declare a document type or entities: the standard for office files forbids
    them, and only attacks use them.

    Args:
        document_types: allow document types, which pages of e-books declare.
        any_markup: leave XML to the loaders of the files inside.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _UNREADABLE as error:
        raise SourceError(uri, f"damaged file: {error}") from error
    entries = archive.infolist()
    if len(entries) > limits.max_entries:
        limit = f"the limit is {limits.max_entries:,}"
        raise SourceError(uri, f"too many entries in the zip file: {len(entries):,}, {limit}")
    budget = limits.max_unpacked_bytes
    for entry in entries:
        allowed = None if any_markup else document_types
        budget -= _unpacked_size(archive, entry, uri, budget, allowed)
    return archive


def _unpacked_size(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    uri: str,
    budget: int,
    document_types: bool | None,
) -> int:
    """Check ``entry`` by unpacking it, and return its unpacked size (None: XML unchecked)."""
    name = f"{entry.filename!r:.80}"
    if entry.flag_bits & _ENCRYPTED:
        raise SourceError(uri, "password-protected: save it without a password")
    if entry.file_size > budget:
        raise SourceError(uri, "too large when unpacked (possibly a zip bomb)")
    bomb = entry.file_size > MAX_RATIO * max(entry.compress_size, 1)
    if bomb and entry.file_size > MIN_BOMB_BYTES:
        raise SourceError(uri, f"{name} unpacks to {entry.file_size:,} bytes (a zip bomb)")
    checked = document_types is not None
    markup = checked and entry.filename.lower().endswith(_MARKUP)
    unpacked, before = 0, b""
    try:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("an unsupported compression method")
        opened = archive.open(entry)
        while piece := opened.read(PIECE_BYTES):
            if not unpacked:
                markup = markup or (checked and piece.lstrip()[:5] == b"<?xml")
                if markup and not is_readable(piece):
                    raise SourceError(uri, f"{name} is not XML in UTF-8 or UTF-16")
            declared = forbidden_declaration(before + piece) if markup else ""
            if declared and not (document_types and declared != "entities"):
                raise SourceError(uri, f"{name} declares {declared}, which is not allowed in it")
            unpacked += len(piece)
            before = piece[-OVERLAP_CHARS * 2 :]  # two bytes per character in UTF-16
    except (*_UNREADABLE, zlib.error, EOFError) as error:
        raise SourceError(uri, f"damaged file: {name}: {error}") from error
    if unpacked != entry.file_size:
        raise SourceError(uri, f"damaged file: {name} does not have the declared size")
    return unpacked


def load_zip(source: Source, limits: LoaderLimits) -> Iterator[Source]:
    """Yield the files inside a zip file, each a source of its own; none is written to disk."""
    with open_archive(source.data, source.uri, limits, any_markup=True) as archive:
        for entry in archive.infolist():
            *folders, name = entry.filename.split("/")
            parts = {*folders, name} - {".", ".."}
            hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
            if name and not hidden:
                yield source.member(entry.filename, archive.read(entry))


START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PASSWORD = "EncryptedPackage"  # noqa: S105 the name of a stream
# Stream names (MS-DOC, MS-XLS, MS-PPT, MS-OFFCRYPTO) and the advice for such files.
_STREAMS = {
    _PASSWORD: "password-protected: save it without a password",
    "WordDocument": "an old Word file (.doc): save it as .docx",
    "PowerPoint Document": "an old PowerPoint file (.ppt): save it as .pptx",
    "Workbook": "an old Excel file (.xls): save it as .xlsx",
    "Book": "an old Excel file (.xls): save it as .xlsx",
}


def refuse_binary(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Refuse a legacy or encrypted Office file with advice on how to convert it."""
    stream = office_binary_stream(source.data)
    raise SourceError(source.uri, _STREAMS.get(stream, "not an Office file"))


def office_binary_stream(data: bytes) -> str:
    """Return the stream that tells a legacy or encrypted Office file; empty for other files."""
    if not data.startswith(START):
        return ""
    return next((name for name in _STREAMS if f"{name}\0".encode("utf-16-le") in data), "")


_RELATIONS = "_rels/.rels"
_CORE = "/metadata/core-properties"
# Default titles of programs, and programs that enter themselves as the author.
_NO_TITLE = re.compile(
    r"(?:word document|powerpoint presentation|pr[äe]sentation|presentation|document|dokument|book"
    r"|untitled|slide|workbook)\s*\d{0,3}|microsoft (?:word|powerpoint|excel)\b.*",
    re.IGNORECASE,
)
# What python-docx and python-pptx leave from their templates, when a program sets no date.
_TEMPLATE_DATES = frozenset(
    {"2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z", "2013-01-27T09:15:58Z"}
)
_PROGRAMS = frozenset({"python-docx", "openpyxl", "microsoft office user", "user", "unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficeFile:
    """A checked Office file: its bytes and its core properties without programs' defaults."""

    data: bytes
    title: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def page(self, source: Source, built: Built, *, source_type: str, title: str) -> Document:
        """Return the document of the file; ``title`` is used when the file has no title."""
        title = title or title_from_name(source.name)
        return source.document(
            built, kind="page", title=title, source_type=source_type, **self.facts
        )


def open_office(source: Source, limits: LoaderLimits) -> OfficeFile:
    """Check the file, read its properties and drop dangling relations that libraries refuse."""
    with open_archive(source.data, source.uri, limits) as archive:
        try:
            properties, data = _core_properties(archive), _without_dangling(source.data, archive)
        except (zipfile.BadZipFile, etree.LxmlError) as error:
            raise SourceError(source.uri, f"damaged file: {error}") from error
    title = properties.get("title", "")
    written = (properties.get(name, "") for name in ("created", "modified"))
    dates = [date for date in written if date not in _TEMPLATE_DATES]
    people = _split_list(properties.get("creator", ""), ";")
    keywords = _split_list(properties.get("keywords", ""), "[;,]")
    comment = properties.get("description", "")
    summary = comment or properties.get("subject", "")
    return OfficeFile(
        data=data,
        title="" if _NO_TITLE.fullmatch(title) else title,
        facts={
            "authors": tuple(name for name in people if name.lower() not in _PROGRAMS),
            "published_at": next(filter(None, map(parse_moment, dates)), None),
            "language": properties.get("language", "").lower(),
            # comments that programs generate are not summaries
            "summary": "" if comment.startswith("generated ") else summary,
            "taxonomy": {"tags": keywords} if keywords else {},
        },
    )


def _core_properties(archive: zipfile.ZipFile) -> dict[str, str]:
    try:
        root = parse(archive.read(_core_part(archive)), _RELATIONS)
    except (KeyError, SourceError):  # the text is readable without properties
        return {}
    return {name_of(child): one_line(child.text or "") for child in root}


def _core_part(archive: zipfile.ZipFile) -> str:
    try:
        root = parse(archive.read(_RELATIONS), _RELATIONS)
    except (KeyError, SourceError):
        return "docProps/core.xml"
    targets = (value_of(rel, "Target") for rel in root if value_of(rel, "Type").endswith(_CORE))
    return next((posixpath.normpath(target.lstrip("/")) for target in targets), "")


def _split_list(value: str, between: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in re.split(between, value) if part.strip()))


def _without_dangling(data: bytes, archive: zipfile.ZipFile) -> bytes:
    """Return the file without relations to missing parts.

    Some programs leave them behind when a picture is removed, and the libraries refuse such files.
    """
    names = set(archive.namelist())
    repaired: dict[str, bytes] = {}
    for name in sorted(names):
        if name.endswith(".rels"):
            try:
                root = parse(archive.read(name), name)
            except SourceError:  # the library reports the error if it needs the part
                continue
            dangling = [relation for relation in root if _is_dangling(relation, name, names)]
            for relation in dangling:
                root.remove(relation)
            if dangling:
                repaired[name] = etree.tostring(root)
    if not repaired:
        return data
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for name in dict.fromkeys(archive.namelist()):
            copy.writestr(name, repaired.get(name) or archive.read(name))
    return stream.getvalue()


def _is_dangling(relation: etree._Element, name: str, names: set[str]) -> bool:
    if value_of(relation, "TargetMode") == "External":
        return False
    target = value_of(relation, "Target").partition("#")[0]
    # word/_rels/document.xml.rels contains the relations of word/document.xml
    folder = posixpath.dirname(posixpath.dirname(name))
    path = target[1:] if target.startswith("/") else posixpath.join(folder, target)
    return bool(target) and posixpath.normpath(path) not in names


def elements(root: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Return all elements below ``root`` with one of these names, in any namespace."""
    return (element for element in root.iter() if name_of(element) in names)


def value_of(element: etree._Element | None, name: str) -> str:
    """Return the attribute ``name`` of ``element`` in any namespace; empty when it is missing."""
    items = element.attrib.items() if element is not None else ()
    return next((str(value) for key, value in items if str(key).rpartition("}")[2] == name), "")


def child_of(element: etree._Element | None, *path: str) -> etree._Element | None:
    """The element at the end of ``path``, where each step is the first child of that name."""
    for step in path:
        if element is None:
            return None
        element = next((child for child in element if name_of(child) == step), None)
    return element


def visible_children(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the children that current programs display: one branch of each ``AlternateContent``."""
    for child in element:
        if name_of(child) != "AlternateContent":
            yield child
            continue
        branches = (child_of(child, name) for name in ("Choice", "Fallback"))
        branch = next((candidate for candidate in branches if candidate is not None), None)
        if branch is not None:
            yield from visible_children(branch)
