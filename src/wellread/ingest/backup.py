"""Exports a whole knowledge base (a home folder) into one archive, and imports such an archive.

The file is a tar archive (compressed when its name says so) of the settings, a snapshot of the
catalogue, the live index, and a manifest with a digest of every file. Both directions are atomic:
the archive gets its name when it is complete, the home when every digest has been checked.

An archive may come from anybody, so nothing in it is trusted before it is checked. Only plain
files that the manifest names are written, each once, into a folder of their own; the unpacked size
is bounded by the size of the archive; the catalogue may contain tables but no triggers or views.
Its settings decide which servers are contacted and which environment variables are sent to them as
keys: they are left out unless asked for, and settings that reach outside are reported either way.
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
from wellread.store.rights import ACCOUNT_TABLES
from wellread.store.schema.tables import properties, users

MANIFEST = "manifest.json"
FORMAT = 1
GZIP_SUFFIXES = (".gz", ".tgz")
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """The contents of a written archive."""

    path: Path
    files: int
    size: int
    documents: int
    passages: int


def export_home(kb: KnowledgeBase, path: Path) -> BackupReport:
    """Write the home into the archive ``path``; questions are answered meanwhile.

    Writers wait while the snapshot is taken, which takes as long as copying the files.

    Raises:
        SourceError: the file exists already, or cannot be written.
        StoreError: there is nothing to export, or a store failed.
    """
    if path.exists():
        raise SourceError(str(path), "exists already; choose another name")
    if not kb.place.url and not (kb.home / CATALOGUE_FILE).is_file():
        raise StoreError(f"{kb.home} contains nothing to export", hint="add sources first")
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
            f"the catalogue cannot be copied: {error}", hint="'wellread verify --repair' repairs it"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    stats = kb.catalogue.listings.kinds()
    return BackupReport(
        path=path,
        files=len(names),
        size=path.stat().st_size,
        documents=sum(row.documents for row in stats),
        passages=sum(row.passages for row in stats),
    )


def _snapshot(kb: KnowledgeBase, folder: Path) -> None:
    """Copy catalogue, index and settings into ``folder``; the caller holds the writers' lock."""
    if kb.place.url:
        move_catalogue(kb.catalogue, folder / CATALOGUE_FILE)  # archives hold it as a file
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
        _copy_settings(settings, folder / SETTINGS_FILE)
    elif settings.is_file():
        shutil.copy2(settings, folder / SETTINGS_FILE)


def _copy_settings(settings: Path, target: Path) -> None:
    values = yaml.safe_load(settings.read_text(encoding="utf-8")) or {}
    values.pop("catalogue", None)
    if values:
        target.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def _manifest(kb: KnowledgeBase, folder: Path) -> dict[str, object]:
    return {
        "format": FORMAT,
        "wellread": version("wellread"),
        "made_at": datetime.now(UTC).isoformat(),
        "collections": kb.catalogue.collection_names(),
        "files": {name: _digest_of(folder / name) for name in _files(folder)},
    }


def _pack(folder: Path, path: Path, manifest: dict[str, object]) -> list[str]:
    is_compressed = path.name.removesuffix(".part").endswith(GZIP_SUFFIXES)
    names = _files(folder)
    manifest_bytes = json.dumps(manifest, indent=1).encode()
    with tarfile.open(path, "w:gz" if is_compressed else "w") as tar:
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(manifest_bytes)
        tar.addfile(entry, io.BytesIO(manifest_bytes))
        for name in names:
            tar.add(folder / name, arcname=name, recursive=False)
    return names


def _files(folder: Path) -> list[str]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.relative_to(folder).as_posix() for path in paths]


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


GZIP = b"\x1f\x8b"
MAX_PIECE_BYTES = 64 << 20  # bytes of one tar header or of the manifest
MAX_FILES = 200_000
MAX_NAME, MAX_DEPTH = 300, 12
MIN_BOUND_BYTES = 1 << 30  # bytes that any archive may unpack to
MAX_RATIO = 100  # a larger archive may unpack to this many times its size
MAX_SETTINGS_BYTES = 1 << 20
# Sections of the settings that can name servers, models, programs or files.
REACHING = ("catalogue", "embedding", "index", "reader", "generation", "web", "serve")
_INSIDE = (CATALOGUE_FILE, SETTINGS_FILE, INDEX_FOLDER)
_ACTING = (
    "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
    " OR sql LIKE 'CREATE VIRTUAL%'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import; ``settings`` is "none", "left out" or "taken"."""

    files: int
    settings: str
    reaching: tuple[str, ...]
    users: int


def import_home(
    path: Path, home: Path, *, settings: bool = False, accounts: bool = False, server: str = ""
) -> ImportReport:
    """Unpack the archive ``path`` into ``home``, which must not hold a knowledge base.

    Args:
        settings: also import the archive's ``wellread.yaml``.
        accounts: also import its users, with their keys and rights.
        server: URL of an empty database for the catalogue; empty: a file in the home.

    Raises:
        SourceError: the archive cannot be read, is not an export, is damaged, or unpacks to more
            than any export of its size.
        StoreError: the home or the database is not empty, or cannot be written.
    """
    if home.exists() and any(home.iterdir()):
        raise StoreError(f"{home} is not empty", hint="import into a new --home")
    home.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        digests = _unpack(path, folder)
        _check_catalogue(path, folder / CATALOGUE_FILE)
        _drop_base_id(folder / CATALOGUE_FILE)
        user_count = _drop_accounts(folder / CATALOGUE_FILE, keep=accounts)
        settings_path = folder / SETTINGS_FILE
        has_settings, reaching = settings_path.is_file(), tuple(_external_settings(settings_path))
        if settings and any(line.startswith("catalogue.") for line in reaching):
            reason = "its settings put the catalogue on a server; import it without its settings"
            raise SourceError(str(path), reason)
        if has_settings and not settings:
            settings_path.unlink()
        if server:
            with closing(Catalogue.open(folder / CATALOGUE_FILE, new=False)) as opened:
                move_catalogue(opened, server)
            drop_file(folder / CATALOGUE_FILE)
        if home.exists():
            home.rmdir()
        folder.replace(home)
    except (OSError, EOFError, ValueError, sqlite3.Error, tarfile.TarError, zlib.error) as error:
        raise SourceError(str(path), f"cannot be imported: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ImportReport(
        files=len(digests) - (has_settings and not settings),
        settings=("taken" if settings else "left out") if has_settings else "none",
        reaching=reaching,
        users=user_count,
    )


class _BoundedReader:
    """A reader for an archive that limits the size of each read and of all reads together."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self._left = max(MIN_BOUND_BYTES, MAX_RATIO * path.stat().st_size)

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes."""
        if not 0 <= size <= MAX_PIECE_BYTES:
            raise SourceError(str(self._path), "is not an export: one of its headers is too large")
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise SourceError(str(self._path), "unpacks to more than any export of its size does")
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        """Go to a position; forward at most by the bytes that may still be read."""
        if whence == 0 and position - self._file.tell() > self._left:
            raise SourceError(str(self._path), "unpacks to more than any export of its size does")
        return self._file.seek(position, whence)

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._file.tell()


def _unpack(path: Path, folder: Path) -> dict[str, str]:
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        content = cast(IO[bytes], gzip.GzipFile(fileobj=file) if packed else file)
        bounded = cast(IO[bytes], _BoundedReader(content, path))  # has what tarfile needs
        with tarfile.open(fileobj=bounded, mode="r:") as tar:
            manifest = tar.next()
            is_manifest = manifest and _is_plain_file(manifest, MANIFEST)
            stream = tar.extractfile(manifest) if manifest and is_manifest else None
            if manifest is None or stream is None or manifest.size > MAX_PIECE_BYTES:
                raise SourceError(str(path), "is not an export of a knowledge base")
            digests = _digests(path, stream.read(manifest.size))
            written: dict[str, str] = {}
            for entry in tar:
                if entry.size < 0:  # tarfile would go back and loop for ever
                    raise SourceError(str(path), f"contains {entry.name!r} with a negative size")
                if entry.name == MANIFEST:
                    continue
                if entry.name not in digests:
                    reason = f"contains {entry.name!r}, which is not in its manifest"
                    raise SourceError(str(path), reason)
                if entry.name in written or not _is_plain_file(entry, entry.name):
                    reason = f"contains {entry.name!r} twice, or not as a plain file"
                    raise SourceError(str(path), reason)
                written[entry.name] = _write(tar, entry, folder / entry.name)
    for name, digest in digests.items():
        if written.get(name) != digest:
            raise SourceError(str(path), f"is damaged: {name} is missing or was changed")
    return digests


def _is_plain_file(entry: tarfile.TarInfo, name: str) -> bool:
    """Whether ``entry`` is a regular file of this name: no link, no device, not sparse."""
    return entry.name == name and entry.isreg() and not entry.issparse()


def _write(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> str:
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
        content = json.loads(manifest)
        if content["format"] != FORMAT:
            raise SourceError(str(path), "was exported by a newer Wellread; update Wellread")
        digests = {str(name): str(digest) for name, digest in content["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(str(path), "has a damaged manifest") from error
    if len(digests) > MAX_FILES:
        raise SourceError(str(path), f"names {len(digests):,} files, more than any export")
    for name in digests:
        parts = PurePosixPath(name).parts
        odd = "\\" in name or not name.isprintable() or len(name) > MAX_NAME
        if not parts or parts[0] not in _INSIDE or ".." in parts or odd or len(parts) > MAX_DEPTH:
            raise SourceError(str(path), f"names {name[:MAX_NAME]!r}, which is not part of a home")
    return digests


def _check_catalogue(path: Path, catalogue: Path) -> None:
    """Refuse a catalogue with triggers or views, which would run code when it is used."""
    try:
        with closing(
            sqlite3.connect(f"{catalogue.as_uri()}?mode=ro&immutable=1", uri=True)
        ) as connection:
            acting = [name for (name,) in connection.execute(_ACTING)]
    except sqlite3.Error as error:
        raise SourceError(str(path), f"its catalogue cannot be read: {error}") from error
    if acting:
        raise SourceError(str(path), f"its catalogue contains {acting[0]!r}, which no export has")


def _drop_accounts(catalogue: Path, *, keep: bool) -> int:
    """Delete users, keys and rights unless ``keep``; return how many users the archive has."""
    with closing(sqlite3.connect(catalogue)) as connection:
        table_names = _tables(connection)
        account_tables = [name for name in ACCOUNT_TABLES if name in table_names]
        if users.name not in account_tables:
            return 0
        count = int(connection.execute(f"SELECT count(*) FROM {users.name}").fetchone()[0])  # noqa: S608
        if not keep:
            with connection:
                for name in account_tables:
                    connection.execute(f"DELETE FROM {name}")  # noqa: S608 - names of ours
            connection.execute("VACUUM")
    return count


def _drop_base_id(catalogue: Path) -> None:
    """Drop the copy's id, so that it does not use indexes of the original on a server."""
    with closing(sqlite3.connect(catalogue)) as connection, connection:
        if properties.name in _tables(connection):
            connection.execute(f"DELETE FROM {properties.name} WHERE key = ?", (BASE_ID,))  # noqa: S608


def _tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _external_settings(settings: Path) -> Iterator[str]:
    """Yield the settings that name a server, a model, a key's variable, a program or a file."""
    if not settings.is_file():
        return
    try:
        if settings.stat().st_size > MAX_SETTINGS_BYTES:
            raise ValueError("too large")
        data = yaml.safe_load(settings.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError):
        yield f"{SETTINGS_FILE} cannot be read"
        return
    texts = {row.name for row in settings_table() if not isinstance(row.default, int | float)}
    switches = {"web.allow_private", "web.any_port", "web.use_proxy"}
    for section in REACHING:
        values = data.get(section) if isinstance(data, Mapping) else None
        for name, value in values.items() if isinstance(values, Mapping) else ():
            setting = f"{section}.{name}"
            if setting in texts | switches:
                yield f"{setting}: {_printable(value)}"


def _printable(value: Any) -> str:
    text = " ".join(without_password(str(value)).split())
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
