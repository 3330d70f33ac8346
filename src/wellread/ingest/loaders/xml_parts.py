"""XML from strangers: parsed without entities, document types or anything from elsewhere."""

from __future__ import annotations

import re

from lxml import etree

from wellread.errors import SourceError

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
    plain = _unmarked(head[:_HEAD_BYTES])
    named = _ENCODING.search(plain)
    known = named is None or _SEEN.fullmatch(named.group(1).decode("ascii")) is not None
    return known and plain.lstrip().startswith(b"<")


def parse(data: bytes, uri: str, *, repair: bool = False) -> etree._Element:
    """The root element. Nothing is fetched, no entity is expanded.

    Args:
        repair: read on after an error, as browsers do (an ``&`` that is not escaped).

    Raises:
        SourceError: it is not XML, or declares entities.
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


def _unmarked(head: bytes) -> bytes:
    for mark in _MARKS:
        head = head.removeprefix(mark)
    return head.replace(b"\x00", b"")
