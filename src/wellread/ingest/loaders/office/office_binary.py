"""Office files that are no zip files: the formats before 2007, and files with a password.

Both are compound files (MS-CFB) whose directory names its streams in UTF-16.
"""

from __future__ import annotations

from collections.abc import Iterator

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.types import Document

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


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Always refuses, and says what to do.

    Raises:
        SourceError: always.
    """
    stream = _stream(source.data)
    raise SourceError(source.uri, _STREAMS.get(stream, "not an Office file"))


def _stream(data: bytes) -> str:
    if not data.startswith(_START):
        return ""
    return next((name for name in _STREAMS if f"{name}\0".encode("utf-16-le") in data), "")
