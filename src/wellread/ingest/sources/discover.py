"""Finds the sources that a list of paths, folders, globs and web addresses stands for."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes
from urllib.request import url2pathname

from pathspec import GitIgnoreSpec

from wellread.errors import SourceError
from wellread.ingest.sources.addresses import FetchError, is_web, parse_address

LIST_EXTENSION = ".opml"
LARGEST_LIST = 20_000_000  # bytes of an OPML file
LINK_OUT = "a link that leads out of the folder is not followed (sources.follow_links)"

_OPML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<opml\b",
    re.DOTALL | re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that is there, with what tells whether it changed (bytes, nanoseconds).

    Attributes:
        root: the input it was found under: the uri of the folder, the glob, or of itself.
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
    """A source that came with its bytes: standard input. ``root`` is itself."""

    uri: str
    root: str
    name: str
    data: bytes


class PassedOverError(SourceError):
    """A source that is there and is not read on purpose: no failure."""


Found = FoundFile | FoundPage | FoundBytes | SourceError
Input = str | FoundBytes


def find_files(
    inputs: Sequence[Input],
    exclude: Sequence[str],
    *,
    follow_links: bool = False,
) -> list[Found]:
    """Every source of ``inputs``, each once, sorted by uri; what is not there as an error.

    Folders are read recursively without following links to folders (so a loop ends), leaving out
    ``exclude`` and the patterns of every ``.wellreadignore`` on the way (form of .gitignore). A
    file that is named itself is always read. A list of feeds stands for its feeds. Nothing is
    fetched here.

    Args:
        follow_links: also read files that a link in a folder names and that lie outside of it;
            otherwise these are ``PassedOverError``. Whoever made the folder could name any file.
    """
    found: dict[str, Found] = {}
    for given in inputs:
        items = _expand(given, exclude) if isinstance(given, str) else iter([given])
        top = _top(given) if isinstance(given, str) and not follow_links else ""
        for found_item in items:
            item = _kept_inside(found_item, top) if top else found_item
            found.setdefault(item.uri, item)
    return [found[uri] for uri in sorted(found)]


def is_feed_list(data: bytes) -> bool:
    """Whether the bytes begin as OPML does."""
    return bool(_OPML.match(data[:4096]))


def feeds_in(data: bytes, uri: str) -> list[FoundPage | SourceError]:
    """The feeds that the OPML list at ``uri`` names, to be fetched; ``uri`` is their root."""
    # Brings the XML parser along, which most runs do without.
    from wellread.ingest.loaders.text.feeds import feeds_of  # noqa: PLC0415

    found: list[FoundPage | SourceError] = []
    for url in feeds_of(data, uri):
        try:
            address = str(parse_address(url))
            found.append(FoundPage(uri=address, root=uri, as_feed=True))
        except FetchError as error:
            found.append(error)
    if not found:
        raise SourceError(uri, "the list names no feed")
    return found


def standard_input(stream: IO[bytes], name: str, limit: int) -> FoundBytes:
    """Read standard input to its end; the extension of ``name`` tells the kind."""
    uri = f"stdin:{quote(name or 'stdin', safe='')}"
    data = stream.read(limit + 1)
    if not data:
        raise SourceError(uri, "standard input is empty")
    if len(data) > limit:
        raise SourceError(uri, f"too large: more than {limit:,} bytes (sources.max_bytes)")
    return FoundBytes(uri=uri, root=uri, name=name or "stdin", data=data)


def uri_of(path: str | Path) -> str:
    """The uri by which the file or folder ``path`` is known."""
    # Lone surrogates (names that are not UTF-8) are percent-encoded by as_uri through os.fsencode.
    return Path(os.path.abspath(path)).as_uri()


def local_path(given: str) -> str:
    """The path that ``given`` names; a ``file:`` address is percent-decoded."""
    if not given.startswith("file://"):
        return os.path.expanduser(given)
    path = given.removeprefix("file://").removeprefix("localhost")
    if sys.platform == "win32":
        return url2pathname(path)
    return os.fsdecode(unquote_to_bytes(path))


def pattern_of(given: str) -> str:
    """The glob that ``given`` is; empty when it names one thing, there or not."""
    path = local_path(given)
    return path if glob.has_magic(given) and not os.path.lexists(path) else ""


def _expand(given: str, exclude: Sequence[str]) -> Iterator[Found]:
    if given == "-":
        yield SourceError(given, "standard input is read by `wellread add -` only")
        return
    if is_web(given):
        yield _page(given)
        return
    # os.path, not Path: its questions answer no, where Path raises for a name that is too long.
    path = local_path(given)
    if os.path.isdir(path):
        yield from _walk(path, uri_of(path), exclude)
    elif path.lower().endswith(LIST_EXTENSION) and os.path.isfile(path):
        yield from _listed(path)
    elif os.path.lexists(path):
        yield _stat(path, uri_of(path))
    elif pattern_of(given):
        yield from _matches(path, given, exclude)
    else:
        yield SourceError(uri_of(path), "there is no such file or folder")


def _listed(path: str) -> Iterator[Found]:
    uri = uri_of(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_LIST + 1)
        if len(data) > LARGEST_LIST:
            raise SourceError(
                uri, f"too large for a list of feeds: more than {LARGEST_LIST:,} bytes"
            )
        yield from feeds_in(data, uri)
    except SourceError as error:
        yield error
    except OSError as error:
        yield SourceError(uri, f"cannot be read: {error.strerror}")


def _matches(pattern: str, given: str, exclude: Sequence[str]) -> Iterator[Found]:
    root = uri_of(pattern)
    matches = sorted(glob.glob(pattern, recursive=True))
    if not matches:
        yield SourceError(given, "nothing matches this pattern")
    for match in matches:
        if os.path.isdir(match):
            yield from _walk(match, root, exclude)
        else:
            yield _stat(match, root)


def _page(given: str) -> Found:
    try:
        uri = str(parse_address(given))
    except FetchError as error:
        return error
    return FoundPage(uri=uri, root=uri)


def _top(given: str) -> str:
    """The folder that a folder or a glob keeps to, without links; empty for anything else."""
    if is_web(given) or given == "-":
        return ""
    path = pattern_of(given) or local_path(given)
    while glob.has_magic(path) and not os.path.lexists(path):
        path = os.path.dirname(path)
    folder = path or os.curdir
    return os.path.realpath(folder) if pattern_of(given) or os.path.isdir(folder) else ""


def _kept_inside(item: Found, top: str) -> Found:
    """The item, unless it is a file that lies outside of the folder."""
    if not isinstance(item, FoundFile):
        return item
    walked = item.uri.startswith(item.root)  # so no link to a folder lies on the way
    if walked and not os.path.islink(item.path):
        return item
    real = os.path.realpath(item.path)
    if os.path.commonpath([top, real]) == top:
        return item
    return PassedOverError(item.uri, LINK_OUT)


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
                rules = ((below, _own_rules(Path(folder), uri)), *rules)
        except SourceError as error:
            yield error
            continue
        except OSError as error:
            yield SourceError(uri or "file:///", f"cannot be opened: {error.strerror}")
            continue
        for entry in entries:
            name = entry.name
            at = f"{uri}/{quote_from_bytes(os.fsencode(name))}"
            if entry.is_dir(follow_symlinks=False):
                if not _left_out(f"{below}{name}/", rules):
                    waiting.append((entry.path, at, f"{below}{name}/", rules))
            elif name != IGNORE_FILE and not _left_out(below + name, rules):
                is_list = name.lower().endswith(LIST_EXTENSION) and not entry.is_symlink()
                yield from _listed(entry.path) if is_list else _entry(entry, at, root)


def _entry(entry: os.DirEntry[str], uri: str, root: str) -> Iterator[Found]:
    """The file of a folder's listing; a link to a folder is passed over."""
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
        path=path, uri=uri, size=status.st_size, mtime_ns=status.st_mtime_ns, root=root
    )


IGNORE_FILE = ".wellreadignore"


# Patterns with the path (below the input) of the folder they stand in, innermost first.
_Rules = tuple[tuple[str, GitIgnoreSpec], ...]


def _left_out(path: str, rules: _Rules) -> bool:
    """Whether the path below the input (with a slash at its end when a folder) is left out."""
    for base, spec in rules:
        decided = spec.check_file(path[len(base) :]).include
        if decided is not None:
            return decided
    return False


def _own_rules(folder: Path, uri: str) -> GitIgnoreSpec:
    """Those of the folder. It is not read without them: they may keep private files out."""
    try:
        text = (folder / IGNORE_FILE).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SourceError(f"{uri}/{IGNORE_FILE}", f"cannot be read: {error.strerror}") from error
    return _compile(text.splitlines(), uri, IGNORE_FILE)


def _compile(patterns: Iterable[str], uri: str, where: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except (ValueError, re.error) as error:
        raise SourceError(uri, f"not read: a pattern of {where} is wrong: {error}") from error
