"""A whole home in one file, for backup and for another machine: written, and read back.

The file is a tar archive (packed when its name says so) of the settings, a snapshot of the
catalogue, the live index, and a manifest with a digest of every file. Both ends are all or
nothing: the archive gets its name when it is whole, the home when every digest was checked.

An archive may come from anybody, so nothing of it is believed before it was looked at. Only plain
files that the manifest names are written, each once, into a folder of their own; how much is
unpacked is bounded by the size of the archive; the catalogue may hold tables and nothing that acts.
The settings in it say which servers are asked and which variables are sent to them as keys: they
stay out unless asked for, and what reaches out is told either way.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import yaml

from wellread.config import SETTINGS_FILE, settings_table, without_password
from wellread.errors import DamageError, SourceError, StoreError
from wellread.ingest.pipeline.commit import drop_noted, writing
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.reindexing import BASE_ID
from wellread.store.recovery.copies import PRIVATE
from wellread.store.recovery.moving import drop_file, move_catalogue
from wellread.store.schema.tables import (
    api_keys,
    audit,
    grants,
    group_members,
    properties,
    sign_in_attempts,
    user_groups,
    users,
    web_sessions,
)

MANIFEST = "manifest.json"
FORMAT = 1
PACKED = (".gz", ".tgz")
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What an archive holds."""

    path: Path
    files: int
    size: int
    documents: int
    passages: int


def export_home(kb: KnowledgeBase, path: Path) -> BackupReport:
    """Write the home into the archive ``path``; questions and additions go on meanwhile.

    Nothing is written into the stores while the snapshot is taken, which takes as long as
    copying the files does.

    Raises:
        SourceError: there is a file of that name, or it cannot be written.
        StoreError: there is nothing to export, or a store refused.
    """
    if path.exists():
        raise SourceError(str(path), "is there already; choose another name")
    if not kb.place.url and not (kb.home / CATALOGUE_FILE).is_file():
        raise StoreError(f"{kb.home} holds nothing to export", hint="add something first")
    partial = path.with_name(f"{path.name}.part")
    try:
        with tempfile.TemporaryDirectory(prefix="export-", dir=path.parent) as folder:
            with writing(kb):
                drop_noted(kb, kb.index)
                _snapshot(kb, Path(folder))
            partial.unlink(missing_ok=True)
            partial.touch(mode=PRIVATE)
            names = _pack(Path(folder), partial, _manifest(kb, Path(folder)))
        partial.replace(path)
    except OSError as error:
        raise SourceError(str(path), f"cannot be written: {error.strerror or error}") from error
    except sqlite3.Error as error:
        raise DamageError(
            f"the catalogue cannot be copied: {error}", hint="'wellread verify --repair' mends it"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    stats = kb.catalogue.stats()
    return BackupReport(
        path=path,
        files=len(names),
        size=path.stat().st_size,
        documents=sum(row.documents for row in stats),
        passages=sum(row.passages for row in stats),
    )


def _snapshot(kb: KnowledgeBase, folder: Path) -> None:
    """Copy what makes the home into ``folder``; the caller holds the writers' lock."""
    if kb.place.url:
        move_catalogue(kb.catalogue, folder / CATALOGUE_FILE)  # into a file, as of any other home
    else:
        with (
            closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as live,
            closing(sqlite3.connect(folder / CATALOGUE_FILE)) as copy,
        ):
            live.backup(copy)
    index = kb.home / INDEX_FOLDER
    if index.is_dir():
        shutil.copytree(index, folder / INDEX_FOLDER, ignore=shutil.ignore_patterns("*.lock"))
    settings = kb.home / SETTINGS_FILE
    if settings.is_file() and kb.place.url:
        _without_server(settings, folder / SETTINGS_FILE)
    elif settings.is_file():
        shutil.copy2(settings, folder / SETTINGS_FILE)


def _without_server(settings: Path, target: Path) -> None:
    """The archive has its catalogue in a file, and nobody's password."""
    said = yaml.safe_load(settings.read_text(encoding="utf-8")) or {}
    said.pop("catalogue", None)
    if said:
        target.write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")


def _manifest(kb: KnowledgeBase, folder: Path) -> dict[str, object]:
    return {
        "format": FORMAT,
        "wellread": version("wellread"),
        "made_at": datetime.now(UTC).isoformat(),
        "collections": kb.catalogue.collection_names(),
        "files": {name: _digest_of(folder / name) for name in _files(folder)},
    }


def _pack(folder: Path, path: Path, manifest: dict[str, object]) -> list[str]:
    packed = path.name.removesuffix(".part").endswith(PACKED)
    names = _files(folder)
    written = json.dumps(manifest, indent=1).encode()
    with tarfile.open(path, "w:gz" if packed else "w") as tar:
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(written)
        tar.addfile(entry, io.BytesIO(written))
        for name in names:
            tar.add(folder / name, arcname=name, recursive=False)
    return names


def _files(folder: Path) -> list[str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.relative_to(folder).as_posix() for path in found]


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


GZIP = b"\x1f\x8b"
LARGEST_PIECE = 64 << 20  # of the archive's own table and its manifest
MOST_FILES = 200_000
LONGEST_NAME, DEEPEST = 300, 12
ACCOUNTS = (
    audit,
    web_sessions,
    sign_in_attempts,
    api_keys,
    grants,
    group_members,
    user_groups,
    users,
)
LEAST_BOUND = 1 << 30  # an archive may unpack to that much, whatever its size
MOST_TIMES = 100  # its size
MOST_SETTINGS = 1 << 20
REACHING = (
    "catalogue",
    "embedding",
    "index",
    "reader",
    "generation",
    "web",
    "serve",
)  # sections that name others
_INSIDE = (CATALOGUE_FILE, SETTINGS_FILE, INDEX_FOLDER)
_ACTING = (
    "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
    " OR sql LIKE 'CREATE VIRTUAL%'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What came out of an archive; its ``settings`` are none, left out, or taken."""

    files: int
    settings: str
    reaching: tuple[str, ...]
    users: int


def import_home(
    path: Path,
    home: Path,
    *,
    settings: bool = False,
    accounts: bool = False,
    server: str = "",
) -> ImportReport:
    """Unpack the archive ``path`` into ``home``, which must not hold a knowledge base.

    Args:
        settings: put the archive's ``wellread.yaml`` in force too.
        accounts: let its users in, with their keys and rights; else they stay out.
        server: URL of the empty database that the catalogue goes into; empty: a file of the home.

    Raises:
        SourceError: it cannot be read, is no archive of a home, is damaged, or unpacks to more
            than any export of its size.
        StoreError: the home or the database holds something already, or cannot be written.
    """
    if home.exists() and any(home.iterdir()):
        raise StoreError(f"{home} is not empty", hint="import into a new --home")
    home.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        digests = _unpack(path, folder)
        _check_catalogue(path, folder / CATALOGUE_FILE)
        _leave_indexes(folder / CATALOGUE_FILE)
        brought = _accounts(folder / CATALOGUE_FILE, kept=accounts)
        inside = folder / SETTINGS_FILE
        there, reaching = inside.is_file(), tuple(_reaching(inside))
        if settings and any(line.startswith("catalogue.") for line in reaching):
            reason = "its settings keep the catalogue on a server: import it without its settings"
            raise SourceError(str(path), reason)
        if there and not settings:
            inside.unlink()
        if server:
            _to_server(folder, server)
        if home.exists():
            home.rmdir()
        folder.replace(home)
    except (OSError, EOFError, ValueError, sqlite3.Error, tarfile.TarError, zlib.error) as error:
        raise SourceError(str(path), f"cannot be imported: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ImportReport(
        files=len(digests) - (there and not settings),
        settings=("taken" if settings else "left out") if there else "none",
        reaching=reaching,
        users=brought,
    )


class _Bounded:
    """The bytes of an archive: no piece of them too large, and no more in all than a bound."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self._left = max(LEAST_BOUND, MOST_TIMES * path.stat().st_size)

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        if not 0 <= size <= LARGEST_PIECE:
            raise SourceError(str(self._path), "is no export: a part of its table is too large")
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise SourceError(str(self._path), "unpacks to more than any export of its size does")
        return data

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place; forward only as far as there may be something."""
        if whence == 0 and place - self._file.tell() > self._left:
            raise SourceError(str(self._path), "unpacks to more than any export of its size does")
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """The place of the next byte."""
        return self._file.tell()


def _unpack(path: Path, folder: Path) -> dict[str, str]:
    """Write every file that the manifest names, and check that it is what was exported."""
    with path.open("rb") as plain:
        packed = plain.read(len(GZIP)) == GZIP
        plain.seek(0)
        content = cast(IO[bytes], gzip.GzipFile(fileobj=plain) if packed else plain)
        bounded = cast(IO[bytes], _Bounded(content, path))  # as much of a file as tarfile asks for
        with tarfile.open(fileobj=bounded, mode="r:") as tar:
            first = tar.next()
            stream = tar.extractfile(first) if first and _plain(first, MANIFEST) else None
            if first is None or stream is None or first.size > LARGEST_PIECE:
                raise SourceError(str(path), "is no export of a knowledge base")
            digests = _digests(path, stream.read(first.size))
            found: dict[str, str] = {}
            for entry in tar:
                if entry.size < 0:  # its end lies before it: the reader would go round for ever
                    raise SourceError(str(path), f"holds {entry.name!r} of less than no bytes")
                if entry.name == MANIFEST:
                    continue
                if entry.name not in digests:
                    reason = f"holds {entry.name!r}, which is not in its manifest"
                    raise SourceError(str(path), reason)
                if entry.name in found or not _plain(entry, entry.name):
                    raise SourceError(str(path), f"holds {entry.name!r} twice or as no plain file")
                found[entry.name] = _write(tar, entry, folder / entry.name)
    for name, digest in digests.items():
        if found.get(name) != digest:
            raise SourceError(str(path), f"is damaged: {name} is not what was exported")
    return digests


def _plain(entry: tarfile.TarInfo, name: str) -> bool:
    """Whether it is a file of that name with all its bytes: no link, no device, no gaps."""
    return entry.name == name and entry.isreg() and not entry.issparse()


def _write(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> str:
    """The file's digest, written down while it is copied."""
    content = tar.extractfile(entry)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=16)
    with target.open("xb") as file:
        while content is not None and (data := content.read(READ_BYTES)):
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


def _digests(path: Path, manifest: bytes) -> dict[str, str]:
    try:
        read = json.loads(manifest)
        if read["format"] != FORMAT:
            raise SourceError(str(path), "was exported by a newer Wellread; update this one")
        digests = {str(name): str(digest) for name, digest in read["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(str(path), "has a damaged manifest") from error
    if len(digests) > MOST_FILES:
        raise SourceError(str(path), f"names {len(digests):,} files, more than any export")
    for name in digests:
        parts = PurePosixPath(name).parts
        odd = "\\" in name or not name.isprintable() or len(name) > LONGEST_NAME
        if not parts or parts[0] not in _INSIDE or ".." in parts or odd or len(parts) > DEEPEST:
            raise SourceError(
                str(path), f"names {name[:LONGEST_NAME]!r}, which is no part of a home"
            )
    return digests


def _check_catalogue(path: Path, catalogue: Path) -> None:
    """It is a database of tables: a trigger or a view would act when it is used."""
    try:
        with closing(
            sqlite3.connect(f"{catalogue.as_uri()}?mode=ro&immutable=1", uri=True)
        ) as plain:
            acting = [name for (name,) in plain.execute(_ACTING)]
    except sqlite3.Error as error:
        raise SourceError(str(path), f"its catalogue cannot be read: {error}") from error
    if acting:
        raise SourceError(str(path), f"its catalogue holds {acting[0]!r}, which no export does")


def _accounts(catalogue: Path, *, kept: bool) -> int:
    """How many users an archive brings; they go, with all that lets them in, unless ``kept``."""
    with closing(sqlite3.connect(catalogue)) as plain:
        there = _tables(plain)
        held = [table.name for table in ACCOUNTS if table.name in there]
        if users.name not in held:
            return 0
        count = int(plain.execute(f"SELECT count(*) FROM {users.name}").fetchone()[0])  # noqa: S608
        if not kept:
            with plain:
                for name in held:
                    plain.execute(f"DELETE FROM {name}")  # noqa: S608 - names of ours
            plain.execute("VACUUM")
    return count


def _leave_indexes(catalogue: Path) -> None:
    """Let the copy keep nothing to itself that the base it is made of has on a server."""
    with closing(sqlite3.connect(catalogue)) as plain, plain:
        if properties.name in _tables(plain):
            plain.execute(f"DELETE FROM {properties.name} WHERE key = ?", (BASE_ID,))  # noqa: S608


def _to_server(folder: Path, url: str) -> None:
    """Copy the unpacked catalogue into the database at ``url``, prove the copy, drop the file."""
    catalogue = folder / CATALOGUE_FILE
    with closing(Catalogue.open(catalogue, new=False)) as opened:
        move_catalogue(opened, url)
    drop_file(catalogue)


def _tables(plain: sqlite3.Connection) -> set[str]:
    return {
        name for (name,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }


def _reaching(settings: Path) -> Iterator[str]:
    """The settings in a file that name a server, a model, a key's variable, a program or a file."""
    if not settings.is_file():
        return
    try:
        if settings.stat().st_size > MOST_SETTINGS:
            raise ValueError("too large")
        said = yaml.safe_load(settings.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError):
        yield f"{SETTINGS_FILE} cannot be understood"
        return
    texts = {row.name for row in settings_table() if not isinstance(row.default, int | float)}
    switches = {"web.allow_private", "web.any_port", "web.use_proxy"}
    for section in REACHING:
        values = said.get(section) if isinstance(said, Mapping) else None
        for name, value in values.items() if isinstance(values, Mapping) else ():
            known = f"{section}.{name}"
            if known in texts | switches:
                yield f"{known}: {_shown(value)}"


def _shown(value: Any) -> str:
    told = " ".join(without_password(str(value)).split())
    return told if len(told) <= LONGEST_NAME else f"{told[:LONGEST_NAME]}…"
