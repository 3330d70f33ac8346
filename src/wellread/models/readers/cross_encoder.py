"""Running a cross-encoder: a model that reads two texts together. Nothing is ever downloaded.

Needs the library ``tokenizers`` (extra ``rerank``). The folder is what the exporters write:
``model.onnx`` (there or in ``onnx/``) and ``tokenizer.json``; ``tokenizer_config.json`` is read for
the longest input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from wellread.errors import ModelError
from wellread.models.model_files import sha256_of
from wellread.models.onnx_runtime import RUN_ERRORS, open_session

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
MAX_TOKENS = 512
"""Of both texts together. Models that read more exist, at a cost that grows faster."""
SMALLEST_LIMIT = 16
CHARACTERS_PER_TOKEN = 16
"""More of one text is cut off before it is tokenised; words are some 5 characters a token."""
PADDING_TOKENS = ("[PAD]", "<pad>", "<|endoftext|>")
TYPES: Mapping[str, type[np.signedinteger[Any]]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}

Cut = Literal["longest_first", "only_first"]


class CrossEncoder:
    """A model file with its tokenizer. Safe to call from several threads.

    Both texts are read together, up to 512 tokens or what the tokenizer's settings allow if that is
    less.
    """

    def __init__(self, model_path: str, *, threads: int, hint: str, cut: Cut) -> None:
        """Open the model.

        Args:
            model_path: folder of the model, or its ``.onnx`` file with the tokenizer beside it.
            threads: threads to compute with; 0 takes all cores.
            hint: what a user is told when the folder does not hold what it should.
            cut: which of two texts that are too long is cut.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        self._hint = hint
        self._cut = cut
        self.path = _model_file(Path(model_path).expanduser(), hint)
        self.folder = _tokenizer_folder(self.path, hint)
        self._limit = _longest_input(self.folder, hint)
        self._tokenizer = _open_tokenizer(self.folder / TOKENIZER_FILE, self._limit, cut, hint)
        self._padding = _padding_id(self._tokenizer)
        try:
            self._session = open_session(self.path, threads)
        except ModelError as error:
            raise ModelError(
                f"{self.path} cannot be opened as an ONNX model: {error}",
                hint="put the whole file there again",
            ) from error
        self._inputs = self._input_types()

    @cached_property
    def identity(self) -> str:
        """The folder's name, the hash of the model's file, the longest input."""
        folder = self.path.parent.parent if self.path.parent.name == "onnx" else self.path.parent
        return f"local:{folder.name}/{sha256_of(self.path)[:8]}/{self._limit}"

    def encoded(self, pairs: Sequence[tuple[str, str]]) -> list[Encoding]:
        """The tokens of each pair of texts.

        Raises:
            ModelError: the tokenizer failed.
        """
        most = self._limit * CHARACTERS_PER_TOKEN
        try:
            # One by one: the library's own threads would warn, in vain, when a process forks.
            return [
                self._tokenizer.encode(_clean(first, most), self._fitting(_clean(second, most)))
                for first, second in pairs
            ]
        except Exception as error:  # the library raises nothing finer
            raise ModelError(
                f"the tokenizer of {self.path} failed: {error}", hint=self._hint
            ) from error

    def _fitting(self, second: str) -> str:
        """The second text; where only the first is cut, at most half of what can be read."""
        most = self._limit // 2
        if self._cut != "only_first" or len(second) <= most:
            return second
        offsets = self._tokenizer.encode(second, add_special_tokens=False).offsets
        return second[: offsets[most][0]] if len(offsets) > most else second

    def run(self, pairs: Sequence[Encoding]) -> NDArray[np.float32]:
        """The model's numbers for ``pairs``, shape ``(len(pairs), numbers)``.

        Raises:
            ModelError: onnxruntime failed, or the output is not some numbers for each pair.
        """
        shape = (len(pairs), max(len(pair.ids) for pair in pairs))
        feeds = {
            "input_ids": np.full(shape, self._padding, dtype=np.int64),
            "attention_mask": np.zeros(shape, dtype=np.int64),
            "token_type_ids": np.zeros(shape, dtype=np.int64),
        }
        for row, pair in enumerate(pairs):
            end = len(pair.ids)
            feeds["input_ids"][row, :end] = pair.ids
            feeds["attention_mask"][row, :end] = pair.attention_mask
            feeds["token_type_ids"][row, :end] = pair.type_ids
        given = {name: feeds[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            output = np.asarray(self._session.run(None, given)[0])
        except RUN_ERRORS as error:
            raise ModelError(
                f"{self.path} failed on {len(pairs)} texts of {shape[1]} tokens: {error}",
                hint="free some memory and try again, or check that model and tokenizer belong "
                "together",
            ) from error
        if output.shape == (len(pairs),):
            output = output.reshape(-1, 1)
        if output.ndim != 2 or len(output) != len(pairs):
            raise ModelError(
                f"{self.path} gave numbers of shape {output.shape} for {len(pairs)} texts; a "
                "cross-encoder gives one or a few for each",
                hint=self._hint,
            )
        numbers: NDArray[np.float32] = output.astype(np.float32)
        return numbers

    def _input_types(self) -> dict[str, type[np.signedinteger[Any]]]:
        """The model's inputs and their kinds of integer."""
        found = {given.name: TYPES.get(given.type) for given in self._session.get_inputs()}
        known = {"input_ids", "attention_mask", "token_type_ids"}
        kinds = {name: kind for name, kind in found.items() if kind is not None}
        if "input_ids" not in found or not set(found) <= known or len(kinds) != len(found):
            raise ModelError(
                f"{self.path} takes {', '.join(sorted(found)) or 'nothing'}, which is not what a "
                "cross-encoder takes (input_ids, attention_mask, token_type_ids)",
                hint=self._hint,
            )
        return kinds


def _model_file(path: Path, hint: str) -> Path:
    """The model's file in the folder ``path``, or ``path`` itself.

    Raises:
        ModelError: there is none.
    """
    if path.is_dir():
        for name in MODEL_FILES:
            if (path / name).is_file():
                return path / name
        raise ModelError(f"{path} holds no {' or '.join(MODEL_FILES)}", hint=hint)
    if not path.is_file():
        raise ModelError(f"the model {path} does not exist", hint=hint)
    return path


def _tokenizer_folder(model: Path, hint: str) -> Path:
    """Where the tokenizer of ``model`` lies: beside it, or one folder up.

    Raises:
        ModelError: there is none.
    """
    for folder in (model.parent, model.parent.parent):
        if (folder / TOKENIZER_FILE).is_file():
            return folder
        if model.parent.name != "onnx":
            break
    raise ModelError(f"there is no {TOKENIZER_FILE} beside {model}", hint=hint)


def _longest_input(folder: Path, hint: str) -> int:
    """The tokens that the tokenizer's settings allow, at most ``MAX_TOKENS``."""
    path = folder / TOKENIZER_CONFIG
    if not path.is_file():
        return MAX_TOKENS
    try:
        told = json.loads(path.read_text(encoding="utf-8")).get("model_max_length", MAX_TOKENS)
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=hint) from error
    # Tokenizers without a limit say 1e30.
    usable = isinstance(told, int | float) and told >= SMALLEST_LIMIT
    return int(min(told, MAX_TOKENS)) if usable else MAX_TOKENS


def _open_tokenizer(path: Path, limit: int, cut: Cut, hint: str) -> Tokenizer:
    try:
        text = path.read_text(encoding="utf-8")
        tokenizer = Tokenizer.from_str(text)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=hint) from error
    except Exception as error:  # the library raises nothing finer
        raise ModelError(f"{path} is not a tokenizer: {error}", hint=hint) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit, strategy=cut)
    # "[SEP]" in a text is text: a passage cannot end itself and speak as something else.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _padding_id(tokenizer: Tokenizer) -> int:
    """The id that fills a batch; the mask hides it, so that any will do."""
    found = (tokenizer.token_to_id(token) for token in PADDING_TOKENS)
    return next((each for each in found if each is not None), 0)


def _clean(text: str, most: int) -> str:
    """``text`` cut and without lone surrogates, which the library refuses."""
    return text[:most].encode("utf-8", "ignore").decode("utf-8")
