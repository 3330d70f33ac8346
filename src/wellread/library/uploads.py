"""Files that were given to the server: kept in the home, so that they can be read again and opened.

A name from outside is only a name: no folder of it is used, and what a file system takes for more
than a letter is replaced. Two different files of one name are kept both.
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
from wellread.text.words import harmless_line

UPLOADS_FOLDER = "uploads"
LONGEST_NAME = 120
MOST_ALIKE = 1_000  # files of one name
_CHUNK = 1 << 20
_UNSAFE = "\N{REPLACEMENT CHARACTER}"  # what stands for a character that drives a screen
_ODD = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
# What Windows takes for a device, whatever the ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def keep_upload(
    kb: KnowledgeBase, collection: str, name: str, stream: BinaryIO, *, replace: bool = False
) -> Path:
    """Keep a file under its name; the same bytes again are the same file.

    Args:
        replace: a file of this name gives way; otherwise another one gets a number.
    """
    folder = upload_folder(kb, collection)
    wanted = safe_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=folder, prefix=".upload-")
        try:
            with os.fdopen(handle, "wb") as out:
                while chunk := stream.read(_CHUNK):
                    out.write(chunk)
            target = folder / wanted if replace else _free(folder, wanted, Path(written))
            Path(written).replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(written).unlink()
            raise
    except OSError as error:
        raise StoreError(
            f"“{name}” cannot be kept in {folder}: {error.strerror}",
            hint="make room on the disk and give it again",
        ) from error
    return target


def safe_name(name: str) -> str:
    """The name of a file without folders and odd characters."""
    last = re.split(r"[\\/]", name)[-1]
    clean = _ODD.sub("_", harmless_line(last).replace(_UNSAFE, "_")).strip(" .")
    if not clean:
        raise RequestError(f"{name!r} is no name of a file", hint="give the file a name")
    if _DEVICES.fullmatch(clean):
        clean = f"_{clean}"
    stem, dot, ending = clean.rpartition(".")
    if len(clean) > LONGEST_NAME:
        room = LONGEST_NAME - len(ending) - 1
        clean = f"{stem[:room]}.{ending}" if dot and room > 0 else clean[:LONGEST_NAME]
    return clean


def upload_folder(kb: KnowledgeBase, collection: str) -> Path:
    """Where the files of a collection are kept; the name of none leads out of the home."""
    return kb.home / UPLOADS_FOLDER / f"c-{quote(collection, safe='')}"


def uploaded_file(kb: KnowledgeBase, uri: str) -> Path | None:
    """The kept file that a document's address names; None when it lies elsewhere."""
    if not uri.startswith("file:"):
        return None
    path = Path(local_path(uri))
    inside = (kb.home / UPLOADS_FOLDER).resolve()
    return path if path.is_file() and path.resolve().is_relative_to(inside) else None


def uploads_below(kb: KnowledgeBase, given: str) -> Iterator[Path]:
    """The kept files that a path or ``file:`` address names: itself, or all in a folder."""
    path = Path(local_path(given))
    found = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    return (each for each in found if uploaded_file(kb, uri_of(str(each))) is not None)


def _free(folder: Path, name: str, given: Path) -> Path:
    """The place of this name that is free, or holds the same bytes."""
    stem, dot, ending = name.rpartition(".")
    for number in range(1, MOST_ALIKE):
        numbered = f"{stem} ({number}).{ending}" if dot else f"{name} ({number})"
        target = folder / (name if number == 1 else numbered)
        if not target.exists() or filecmp.cmp(target, given, shallow=False):
            return target
    raise RequestError(f"there are {MOST_ALIKE:,} files called “{name}”", hint="rename it")
