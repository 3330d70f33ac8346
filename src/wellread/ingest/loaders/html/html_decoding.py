"""The bytes of a page as text that an HTML parser takes."""

from __future__ import annotations

import re

from charset_normalizer import from_bytes

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Source

_REFERENCE = re.compile(r"&#([xX][0-9a-fA-F]{1,9}|[0-9]{1,9});?")
HEAD_BYTES = 4096
NOTE = "read as {}, which the page does not declare: if letters look wrong, save it as UTF-8"
_NAMES = {"cp1252": "Windows-1252", "latin_1": "ISO-8859-1"}

_DECLARED = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I
)


def decode(source: Source) -> str:
    """The page as text: by byte order mark, UTF-8, the declared charset, or detection.

    Raises:
        SourceError: none of them fits.
    """
    return _decoded(source)[0]


def note_on(source: Source) -> str:
    """What a report should say when the encoding of a page was only detected."""
    try:
        encoding = _decoded(source)[1]
    except SourceError:
        return ""
    return NOTE.format(encoding) if encoding else ""


def _decoded(source: Source) -> tuple[str, str]:
    """The page as text, and the name of its encoding when that was detected."""
    data = source.data
    declared = _DECLARED.search(data[:HEAD_BYTES])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        names = ["utf-16"]
    else:
        names = ["utf-8-sig", *([declared.group(1).decode("ascii")] if declared else [])]
    for name in names:
        try:
            return data.decode(name), ""
        except (UnicodeDecodeError, LookupError):  # LookupError: a charset that nobody knows
            continue
    best = from_bytes(data).best()
    if best is None:
        raise SourceError(source.uri, "not UTF-8, and no other encoding fits")
    return str(best), _NAMES.get(best.encoding, best.encoding)


def without_controls(markup: str) -> str:
    """lxml refuses NUL and other control characters, as they are and as references (``&#1;``)."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", _REFERENCE.sub(_referenced, markup))


def _referenced(found: re.Match[str]) -> str:
    """A reference as browsers read it: 0x80 to 0x9f are Windows-1252; a control is a space."""
    digits = found.group(1)
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    if 0x80 <= code < 0xA0:
        return bytes([code]).decode("cp1252", errors="replace")
    letter = code in (9, 10, 13) or 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800
    letter = letter or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return found.group() if letter else " "
