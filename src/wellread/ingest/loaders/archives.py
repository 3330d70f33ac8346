"""Zip files and XML from strangers: checked as a whole before any library opens them.

XML is parsed without entities, document types or anything from elsewhere.

The directory of a zip file says how large each entry is, and can lie. So each entry is unpacked
here once, piece by piece and without keeping it: zipfile gives no more than was promised.

Office files before 2007, and files with a password, are compound files (MS-CFB) instead, whose
directory names its streams in UTF-16.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment
from wellread.ingest.loaders.plain import one_line, title_from_name
from wellread.types import Document

_HEAD_BYTES = 1024
_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE)
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
# Encodings in which the signs of markup are ASCII bytes, apart from the NULs of UTF-16. In any
# other one a declaration could not be seen in the bytes.
_SEEN = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|(?:us-)?ascii|iso-8859-\d{1,2}|(?:windows-|cp)125\d|koi8-[ru]"
    r"|gb2312|gbk|gb18030|big5|euc-jp|euc-kr|shift_jis",
    re.IGNORECASE,
)


def declares(piece: bytes) -> str:
    """What ``piece`` of an XML file declares that only attacks need; empty when nothing."""
    plain = piece.replace(b"\x00", b"").upper()
    if b"<!ENTITY" in plain:
        return "entities"
    return "a document type" if b"<!DOCTYPE" in plain else ""


def is_readable(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is markup in an encoding that can be checked."""
    plain = head[:_HEAD_BYTES]
    for mark in _MARKS:
        plain = plain.removeprefix(mark)
    plain = plain.replace(b"\x00", b"")
    named = _ENCODING.search(plain)
    known = named is None or _SEEN.fullmatch(named.group(1).decode("ascii")) is not None
    return known and plain.lstrip().startswith(b"<")


def parse(data: bytes, uri: str, *, repair: bool = False) -> etree._Element:
    """The root element. Nothing is fetched, no entity is expanded.

    Args:
        repair: read on after an error, as browsers do (an ``&`` that is not escaped).
    """
    if declares(data) == "entities" or not is_readable(data):
        raise SourceError(uri, "XML that declares entities, or is in an unusual encoding")
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
    """The element's name without its namespace; empty for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


ZIP_START = b"PK\x03\x04"
LARGEST_RATIO = 300  # unpacked to packed; office files stay below 100, a bomb is about 1,000
ANY_RATIO_BELOW = 10 << 20  # bytes unpacked that are harmless at any ratio
PIECE = 1 << 20
LONGEST_WORD = 16  # bytes kept between two pieces, so that no word is cut in two

_ENCRYPTED = 0x1
_ODT = b"application/vnd.oasis.opendocument.text"
_MARKUP = (".xml", ".rels")
# What zipfile raises on opening: damage, a name that is no text, a version it does not know.
_UNREADABLE = (zipfile.BadZipFile, ValueError, NotImplementedError)


def names_in(data: bytes) -> list[str]:
    """The names of a zip file's entries; none when it is not a zip file that can be read."""
    if not data.startswith(ZIP_START):
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except _UNREADABLE:
        return []


def is_odt(data: bytes) -> bool:
    """Whether it is OpenDocument text, or a template: its type stands first, and is not packed."""
    return data[30:38] == b"mimetype" and data[38 : 38 + len(_ODT)] == _ODT


def open_archive(
    data: bytes, uri: str, limits: LoaderLimits, *, document_types: bool = False
) -> zipfile.ZipFile:
    """The zip file, after every entry was found to be what the directory says.

    XML inside may declare neither a document type nor entities: the standard for office files
    forbids them, and only attacks use them.

    Args:
        document_types: they may be declared, as pages of e-books do.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _UNREADABLE as error:
        raise SourceError(uri, f"damaged file: {error}") from error
    entries = archive.infolist()
    if len(entries) > limits.max_entries:
        most = f"the limit is {limits.max_entries:,}"
        raise SourceError(uri, f"a zip file of {len(entries):,} entries, {most}")
    left = limits.max_unpacked_bytes
    for entry in entries:
        left -= _checked(archive, entry, uri, left, document_types)
    return archive


def _checked(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, uri: str, left: int, document_types: bool
) -> int:
    """The unpacked size of ``entry``, proved by unpacking."""
    name = f"{entry.filename!r:.80}"
    if entry.flag_bits & _ENCRYPTED:
        raise SourceError(uri, "password-protected: save it without a password")
    if entry.file_size > left:
        raise SourceError(uri, "too large when unpacked (possibly a zip bomb)")
    bomb = entry.file_size > LARGEST_RATIO * max(entry.compress_size, 1)
    if bomb and entry.file_size > ANY_RATIO_BELOW:
        raise SourceError(uri, f"{name} unpacks to {entry.file_size:,} bytes (a zip bomb)")
    markup = entry.filename.lower().endswith(_MARKUP)
    unpacked, before = 0, b""
    try:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("packed in an unusual way")
        opened = archive.open(entry)
        while piece := opened.read(PIECE):
            if not unpacked:
                markup = markup or piece.lstrip()[:5] == b"<?xml"
                if markup and not is_readable(piece):
                    raise SourceError(uri, f"{name} is not XML in UTF-8 or UTF-16")
            what = declares(before + piece) if markup else ""
            if what and not (document_types and what != "entities"):
                raise SourceError(uri, f"{name} declares {what}, which is not allowed in it")
            unpacked += len(piece)
            before = piece[-LONGEST_WORD * 2 :]  # two bytes a sign in UTF-16
    except (*_UNREADABLE, zlib.error, EOFError) as error:
        raise SourceError(uri, f"damaged file: {name}: {error}") from error
    if unpacked != entry.file_size:
        raise SourceError(uri, f"damaged file: {name} is not of the size that it should be")
    return unpacked


_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PASSWORD = "EncryptedPackage"  # noqa: S105 the name of a stream
# Stream names (MS-DOC, MS-XLS, MS-PPT, MS-OFFCRYPTO) and what to do about them.
_STREAMS = {
    _PASSWORD: "password-protected: save it without a password",
    "WordDocument": "an old Word file (.doc): save it as .docx",
    "PowerPoint Document": "an old PowerPoint file (.ppt): save it as .pptx",
    "Workbook": "an old Excel file (.xls): save it as .xlsx",
    "Book": "an old Excel file (.xls): save it as .xlsx",
}


def is_office_binary(data: bytes) -> bool:
    """Whether it is such a file; other compound files (installers, mails) are none."""
    return bool(_stream(data))


def refuse_binary(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Always refuses, and says what to do."""
    stream = _stream(source.data)
    raise SourceError(source.uri, _STREAMS.get(stream, "not an Office file"))


def _stream(data: bytes) -> str:
    if not data.startswith(_START):
        return ""
    return next((name for name in _STREAMS if f"{name}\0".encode("utf-16-le") in data), "")


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
    """Check the whole file, read its core properties, and mend what the libraries stumble over."""
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
    try:
        root = parse(archive.read(_RELATIONS), _RELATIONS)
    except (KeyError, SourceError):
        return "docProps/core.xml"
    targets = (value_of(one, "Target") for one in root if value_of(one, "Type").endswith(_CORE))
    return next((posixpath.normpath(target.lstrip("/")) for target in targets), "")


def _listed(value: str, between: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in re.split(between, value) if part.strip()))


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
