"""A whole home in one file, for backup and for moving it to another machine.

The file is a tar archive (packed when its name says so) of the settings, a snapshot of the
catalogue, the live index, and a manifest with a digest of every file. Both ends are all or
nothing: the archive gets its name when it is whole, the home when every digest was checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import yaml

from wellread.config import SETTINGS_FILE
from wellread.errors import DamageError, SourceError, StoreError
from wellread.ingest.pipeline.commit import drop_noted, writing
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.recovery.copies import PRIVATE
from wellread.store.recovery.moving import move_catalogue

MANIFEST = "manifest.json"
FORMAT = 1
PACKED = (".gz", ".tgz")
READ_BYTES = 1 << 20

OnFile = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What an archive holds."""

    path: Path
    files: int
    size: int
    documents: int
    passages: int


def export_home(kb: KnowledgeBase, path: Path, *, on_file: OnFile | None = None) -> BackupReport:
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
            names = _pack(Path(folder), partial, _manifest(kb, Path(folder)), on_file)
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


def _pack(
    folder: Path, path: Path, manifest: dict[str, object], on_file: OnFile | None
) -> list[str]:
    packed = path.name.removesuffix(".part").endswith(PACKED)
    names = _files(folder)
    written = json.dumps(manifest, indent=1).encode()
    with tarfile.open(path, "w:gz" if packed else "w") as tar:
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(written)
        tar.addfile(entry, io.BytesIO(written))
        for name in names:
            if on_file:
                on_file(name)
            tar.add(folder / name, arcname=name, recursive=False)
    return names


def _files(folder: Path) -> list[str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.relative_to(folder).as_posix() for path in found]


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
