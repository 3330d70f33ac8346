"""Expands a list of paths, folders, globs and web addresses into single sources."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes
from urllib.request import url2pathname

from pathspec import GitIgnoreSpec

from wellread.errors import SourceError
from wellread.ingest.loaders.base import changed_ns
from wellread.ingest.sources.addresses import FetchError, is_store, is_web, parse_address
from wellread.ingest.sources.stores import Entry, OpenStore

LIST_EXTENSION = ".opml"
MAX_LIST_BYTES = 20_000_000  # bytes of an OPML file
OUTSIDE_LINK = "a link to a file outside the folder is not followed (sources.follow_links)"

_OPML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<opml\b",
    re.DOTALL | re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """An existing file, with size (bytes) and time of change (nanoseconds).

    Attributes:
        root: the URI of the input it was found under: a folder, a glob, or the file itself.
    """

    path: Path
    uri: str
    size: int
    mtime_ns: int
    root: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A web address to be fetched."""

    uri: str
    root: str
    as_feed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBytes:
    """A source that comes with its bytes, such as standard input; it is its own ``root``."""

    uri: str
    root: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """A file of a store, to be fetched unless the last run saw its fingerprint."""

    uri: str
    root: str
    name: str
    entry: Entry
    store: OpenStore


class SkippedSourceError(SourceError):
    """Raised for a source that exists but is skipped on purpose; not a failure."""


Found = FoundFile | FoundPage | FoundBytes | FoundEntry | SourceError
Input = str | FoundBytes


def find_files(
    inputs: Sequence[Input],
    exclude: Sequence[str],
    *,
    follow_links: bool = False,
    open_store: Callable[[str], OpenStore] | None = None,
) -> list[Found]:
    """Return every source of ``inputs`` once, sorted by URI; missing ones are errors in the list.

    Folders are read recursively without following links to folders (which could form loops) and
    without files that match ``exclude`` or a ``.wellreadignore`` on the way (.gitignore syntax). A
    file that is named directly is always read. A list of feeds is replaced by its feeds. Web pages
    are not fetched here; the folders of a store are listed.

    Args:
        follow_links: also read files outside a folder that links in it point to; otherwise these
            are ``SkippedSourceError``. The folder's author could point such a link at any file.
        open_store: opens an address that ``is_store``; without it there are none.
    """
    sources: dict[str, Found] = {}
    for entry in inputs:
        items: Iterator[Found]
        if not isinstance(entry, str):
            items = iter([entry])
        elif open_store and is_store(entry):
            items = _walk_store(entry, open_store, exclude)
        else:
            items = _expand(entry, exclude)
        top = _input_folder(entry) if isinstance(entry, str) and not follow_links else ""
        for found_item in items:
            item = _inside_or_error(found_item, top) if top else found_item
            sources.setdefault(item.uri, item)
    return [sources[uri] for uri in sorted(sources)]


def is_feed_list(data: bytes) -> bool:
    """Whether the bytes are a list of feeds in OPML."""
    return bool(_OPML.match(data[:4096]))


def feeds_in(data: bytes, uri: str) -> list[FoundPage | SourceError]:
    """Return the feeds that the OPML list at ``uri`` names; ``uri`` is their root."""
    # Imported late: it loads the XML parser, which most runs do not need.
    from wellread.ingest.loaders.text.feeds import feeds_of  # noqa: PLC0415

    feeds: list[FoundPage | SourceError] = []
    for url in feeds_of(data, uri):
        try:
            address = str(parse_address(url))
            feeds.append(FoundPage(uri=address, root=uri, as_feed=True))
        except FetchError as error:
            feeds.append(error)
    if not feeds:
        raise SourceError(uri, "the list contains no feeds")
    return feeds


def standard_input(stream: IO[bytes], name: str, limit: int) -> FoundBytes:
    """Read standard input to its end; the extension of ``name`` gives the file type."""
    uri = f"stdin:{quote(name or 'stdin', safe='')}"
    data = stream.read(limit + 1)
    if not data:
        raise SourceError(uri, "standard input is empty")
    if len(data) > limit:
        raise SourceError(uri, f"too large: more than {limit:,} bytes (sources.max_bytes)")
    return FoundBytes(uri=uri, root=uri, name=name or "stdin", data=data)


def uri_of(path: str | Path) -> str:
    """Return the ``file:`` URI of a file or folder."""
    # Lone surrogates (names that are not UTF-8) are percent-encoded by as_uri through os.fsencode.
    return Path(os.path.abspath(path)).as_uri()


def local_path(source_input: str) -> str:
    """Return the path that ``source_input`` names; a ``file:`` address is percent-decoded."""
    if not source_input.startswith("file://"):
        return os.path.expanduser(source_input)
    path = source_input.removeprefix("file://").removeprefix("localhost")
    if sys.platform == "win32":
        return url2pathname(path)
    return os.fsdecode(unquote_to_bytes(path))


def pattern_of(text: str) -> str:
    """Return ``text`` as a glob pattern; empty if it is a plain path or an existing file."""
    path = local_path(text)
    return path if glob.has_magic(text) and not os.path.lexists(path) else ""


def _expand(source_input: str, exclude: Sequence[str]) -> Iterator[Found]:
    if source_input == "-":
        yield SourceError(source_input, "only `wellread add -` reads standard input")
        return
    if is_web(source_input):
        try:
            uri = str(parse_address(source_input))
            yield FoundPage(uri=uri, root=uri)
        except FetchError as error:
            yield error
        return
    # os.path and not Path, which raises for a name that is too long.
    path = local_path(source_input)
    if os.path.isdir(path):
        yield from _walk(path, uri_of(path), exclude)
    elif path.lower().endswith(LIST_EXTENSION) and os.path.isfile(path):
        yield from _feeds_in_file(path)
    elif os.path.lexists(path):
        yield _stat(path, uri_of(path))
    elif pattern_of(source_input):
        yield from _matches(path, source_input, exclude)
    else:
        yield SourceError(uri_of(path), "there is no such file or folder")


def _feeds_in_file(path: str) -> Iterator[Found]:
    uri = uri_of(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_LIST_BYTES + 1)
        if len(data) > MAX_LIST_BYTES:
            raise SourceError(
                uri, f"too large for a list of feeds: more than {MAX_LIST_BYTES:,} bytes"
            )
        yield from feeds_in(data, uri)
    except SourceError as error:
        yield error
    except OSError as error:
        yield SourceError(uri, f"cannot be read: {error.strerror}")


def _matches(pattern: str, source_input: str, exclude: Sequence[str]) -> Iterator[Found]:
    root = uri_of(pattern)
    matches = sorted(glob.glob(pattern, recursive=True))
    if not matches:
        yield SourceError(source_input, "nothing matches this pattern")
    for match in matches:
        if os.path.isdir(match):
            yield from _walk(match, root, exclude)
        else:
            yield _stat(match, root)


def _input_folder(source_input: str) -> str:
    """Return the real path of an input folder or of a glob's fixed part; else empty."""
    if is_web(source_input) or source_input == "-":
        return ""
    path = pattern_of(source_input) or local_path(source_input)
    while glob.has_magic(path) and not os.path.lexists(path):
        path = os.path.dirname(path)
    folder = path or os.curdir
    return os.path.realpath(folder) if pattern_of(source_input) or os.path.isdir(folder) else ""


def _inside_or_error(item: Found, top: str) -> Found:
    if not isinstance(item, FoundFile):
        return item
    walked = item.uri.startswith(item.root)  # then no folder on the path is a link
    if walked and not os.path.islink(item.path):
        return item
    real = os.path.realpath(item.path)
    if os.path.commonpath([top, real]) == top:
        return item
    return SkippedSourceError(item.uri, OUTSIDE_LINK)


def _walk(top: str, root: str, exclude: Sequence[str]) -> Iterator[Found]:
    top = os.path.abspath(top)
    uri = uri_of(top)
    try:
        start: _Rules = (("", _compile(exclude, uri, "sources.exclude")),)
    except SourceError as error:
        yield error
        return
    waiting = [(top, uri.rstrip("/"), "", start)]
    while waiting:
        folder, uri, below, rules = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
            if any(entry.name == IGNORE_FILE for entry in entries):
                rules = ((below, _read_ignore_file(Path(folder), uri)), *rules)
        except SourceError as error:
            yield error
            continue
        except OSError as error:
            yield SourceError(uri or "file:///", f"cannot be opened: {error.strerror}")
            continue
        for entry in entries:
            name = entry.name
            entry_uri = f"{uri}/{quote_from_bytes(os.fsencode(name))}"
            if entry.is_dir(follow_symlinks=False):
                if not _is_ignored(f"{below}{name}/", rules):
                    waiting.append((entry.path, entry_uri, f"{below}{name}/", rules))
            elif name != IGNORE_FILE and not _is_ignored(below + name, rules):
                is_list = name.lower().endswith(LIST_EXTENSION) and not entry.is_symlink()
                yield from _feeds_in_file(entry.path) if is_list else _entry(entry, entry_uri, root)


def _entry(entry: os.DirEntry[str], uri: str, root: str) -> Iterator[Found]:
    """Yield the file of a directory entry; a link to a folder is skipped."""
    try:
        status = entry.stat()
    except OSError as error:
        yield SourceError(uri, f"cannot be opened: {error.strerror}")
        return
    if not (entry.is_symlink() and stat.S_ISDIR(status.st_mode)):
        yield _file(Path(entry.path), uri, root, status)


def _stat(path: str, root: str) -> Found:
    uri = uri_of(path)
    try:
        return _file(Path(path), uri, root, os.stat(path))
    except OSError as error:
        return SourceError(uri, f"cannot be opened: {error.strerror}")


def _file(path: Path, uri: str, root: str, status: os.stat_result) -> Found:
    if not stat.S_ISREG(status.st_mode):
        return SourceError(uri, "not a regular file")
    return FoundFile(
        path=path, uri=uri, size=status.st_size, mtime_ns=changed_ns(status), root=root
    )


def _walk_store(
    source_input: str, open_store: Callable[[str], OpenStore], exclude: Sequence[str]
) -> Iterator[Found]:
    try:
        store = open_store(source_input)
        start: _Rules = (("", _compile(exclude, store.uri, "sources.exclude")),)
    except SourceError as error:
        yield error
        return
    waiting = [("", start)]
    while waiting:
        folder, rules = waiting.pop()
        try:
            entries = store.entries(folder)
            for entry in (each for each in entries if each.name == IGNORE_FILE):
                lines = store.read(entry).decode("utf-8", errors="replace").splitlines()
                spec = _compile(lines, store.uri_of(folder), IGNORE_FILE)
                rules = ((f"{folder}/" if folder else "", spec), *rules)
        except SourceError as error:
            yield error
            continue
        for entry in entries:
            ignored = _is_ignored(entry.path + "/" * entry.is_folder, rules)
            if entry.is_folder and not ignored:
                waiting.append((entry.path, rules))
            elif entry.name != IGNORE_FILE and not ignored:
                uri = store.uri_of(entry.path)
                yield FoundEntry(uri=uri, root=store.uri, name=entry.name, entry=entry, store=store)


IGNORE_FILE = ".wellreadignore"


# Each folder's path (below the input) with its ignore patterns, innermost first.
_Rules = tuple[tuple[str, GitIgnoreSpec], ...]


def _is_ignored(path: str, rules: _Rules) -> bool:
    """Whether the path below the input (with a final slash for a folder) is ignored."""
    for base, spec in rules:
        decided = spec.check_file(path[len(base) :]).include
        if decided is not None:
            return decided
    return False


def _read_ignore_file(folder: Path, uri: str) -> GitIgnoreSpec:
    """Return the folder's ignore patterns; raise if unreadable, as they may hide private files."""
    try:
        text = (folder / IGNORE_FILE).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SourceError(f"{uri}/{IGNORE_FILE}", f"cannot be read: {error.strerror}") from error
    return _compile(text.splitlines(), uri, IGNORE_FILE)


def _compile(patterns: Iterable[str], uri: str, where: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except (ValueError, re.error) as error:
        raise SourceError(uri, f"not read: a pattern in {where} is invalid: {error}") from error
