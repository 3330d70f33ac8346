"""Checks the files beside the stores: models, those of the home and installed ones; backups."""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from wellread.errors import StoreError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.copying import back_up, backups_of
from wellread.ingest.integrity.damage import Problem
from wellread.kb import KnowledgeBase
from wellread.models.model_files import DIGITS, PACKAGE, sha256_of
from wellread.store.recovery.copies import copies_in

MODELS_FOLDER = "models"
PACKAGES = ("wellread", PACKAGE.replace("_", "-"))
HASHED = (".onnx", ".json", ".npz", ".txt", ".bin")  # weights, vocabularies, learned numbers
MODEL_SUFFIXES = (".onnx", ".npz", ".npy")


def check_models(kb: KnowledgeBase) -> list[Problem]:
    """Derived files whose content is not the one that their name says."""
    return [
        Problem(kind=damage.MODEL, subject=path.name, detail="it is made again when it is needed")
        for path in _derived(kb.home / MODELS_FOLDER)
        if path.is_dir() or not sha256_of(path).startswith(path.stem.rpartition(".")[2])
    ]


def drop_models(kb: KnowledgeBase, names: Iterable[str]) -> None:
    """Delete derived files, which are made again when they are needed.

    Raises:
        StoreError: one cannot be deleted.
    """
    for name in names:
        try:
            (kb.home / MODELS_FOLDER / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"the damaged model file {name} cannot be deleted: {error}") from error


def check_installed() -> list[Problem]:
    """Files of models and learned numbers that differ from what was installed.

    Nothing is known of an editable installation.
    """
    return [
        Problem(
            kind=damage.INSTALLED,
            subject=name,
            detail=f"install {package} again: pip install --force-reinstall {package}",
        )
        for package in PACKAGES
        for name in _changed(package)
    ]


def _changed(package: str) -> Iterator[str]:
    try:
        installed = distribution(package)
    except PackageNotFoundError:
        return
    # ``files()`` leaves out what is not there any more, since Python 3.12.
    for name, digest, *_ in csv.reader((installed.read_text("RECORD") or "").splitlines()):
        mode, _, value = digest.partition("=")
        path = Path(str(installed.locate_file(name)))
        if not value or path.suffix not in HASHED:
            continue
        try:
            state = path.stat()
            found = _digest(path, state.st_size, state.st_mtime_ns, mode)
        except OSError:
            yield name
            continue
        if found != base64.urlsafe_b64decode(value + "=="):
            yield name


@lru_cache(maxsize=64)
def _digest(path: Path, _size: int, _mtime_ns: int, kind: str) -> bytes:
    """Of a file in this state: a process that verifies often hashes it once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).digest()


def check_backups(kb: KnowledgeBase) -> list[Problem]:
    """Backups whose bytes are not those that were written; those of a server are its own."""
    return [
        Problem(kind=damage.BACKUP, subject=copy.name, detail="a new one takes its place")
        for copy in copies_in(backups_of(kb))
        if not copy.sound() and copy.path.exists()  # else another process dropped it
    ]


def replace_backups(kb: KnowledgeBase, names: Iterable[str]) -> None:
    """Make a new backup, and drop those of these names.

    Raises:
        StoreError: as ``copying.back_up``.
    """
    back_up(kb)
    for name in names:
        (backups_of(kb) / name).unlink(missing_ok=True)


def _derived(folder: Path) -> Iterator[Path]:
    """The files with a digest in their name."""
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        digest = path.stem.rpartition(".")[2]
        named = len(digest) == DIGITS and set(digest) <= set("0123456789abcdef")
        if named and path.suffix in MODEL_SUFFIXES:
            yield path
