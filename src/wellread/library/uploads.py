"""Stores uploaded files in the knowledge base folder, so that they can be re-read and opened.

Uploaded file names are not trusted: folders are dropped and special characters are replaced. Two
different files with the same name are both kept.
"""

from __future__ import annotations

import filecmp
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from wellread.errors import RequestError, StoreError
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.kb import KnowledgeBase
from wellread.text.characters import harmless_line

UPLOADS_FOLDER = "uploads"
MAX_NAME_CHARS = 120
MAX_SAME_NAME = 1_000  # files with the same name
_CHUNK = 1 << 20
_CONTROL_SIGN = "\N{REPLACEMENT CHARACTER}"  # replaces terminal control characters
_SPECIAL = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
# Windows device names, with any extension.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def keep_upload(
    kb: KnowledgeBase, collection: str, name: str, stream: BinaryIO, *, replace: bool = False
) -> Path:
    """Store a file under its name; identical content is stored once.

    Args:
        replace: replace a file with this name; otherwise the new file gets a number.
    """
    folder = upload_folder(kb, collection)
    file_name = safe_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=folder, prefix=".upload-")
        try:
            with os.fdopen(handle, "wb") as out:
                while chunk := stream.read(_CHUNK):
                    out.write(chunk)
            target = folder / file_name if replace else free_path(folder, file_name, Path(written))
            Path(written).replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(written).unlink()
            raise
    except OSError as error:
        raise StoreError(
            f"“{name}” could not be stored in {folder}: {error.strerror}",
            hint="free some disk space and upload it again",
        ) from error
    return target


def safe_name(name: str) -> str:
    """The file name without folders and special characters."""
    last = re.split(r"[\\/]", name)[-1]
    clean = _SPECIAL.sub("_", harmless_line(last).replace(_CONTROL_SIGN, "_")).strip(" .")
    if not clean:
        raise RequestError(f"{name!r} is not a valid file name", hint="rename the file")
    if _DEVICES.fullmatch(clean):
        clean = f"_{clean}"
    stem, dot, ending = clean.rpartition(".")
    if len(clean) > MAX_NAME_CHARS:
        room = MAX_NAME_CHARS - len(ending) - 1
        clean = f"{stem[:room]}.{ending}" if dot and room > 0 else clean[:MAX_NAME_CHARS]
    return clean


def upload_folder(kb: KnowledgeBase, collection: str) -> Path:
    """The folder for a collection's uploads; always inside the knowledge base folder."""
    return kb.home / UPLOADS_FOLDER / f"c-{quote(collection, safe='')}"


def uploaded_file(kb: KnowledgeBase, uri: str) -> Path | None:
    """The stored upload at this URI; None for any other file."""
    if not uri.startswith("file:"):
        return None
    path = Path(local_path(uri))
    uploads = (kb.home / UPLOADS_FOLDER).resolve()
    return path if path.is_file() and path.resolve().is_relative_to(uploads) else None


def uploads_below(kb: KnowledgeBase, location: str) -> Iterator[Path]:
    """The stored uploads at a path or ``file:`` URI: the file, or all files in the folder."""
    path = Path(local_path(location))
    paths = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    return (file for file in paths if uploaded_file(kb, uri_of(str(file))) is not None)


def free_path(folder: Path, name: str, upload: Path) -> Path:
    """The path for ``upload`` under ``name`` in the folder; numbered if another file has it."""
    stem, dot, ending = name.rpartition(".")
    for number in range(1, MAX_SAME_NAME):
        numbered = f"{stem} ({number}).{ending}" if dot else f"{name} ({number})"
        target = folder / (name if number == 1 else numbered)
        if not target.exists() or filecmp.cmp(target, upload, shallow=False):
            return target
    raise RequestError(f"{MAX_SAME_NAME:,} files are called “{name}”", hint="rename the file")
