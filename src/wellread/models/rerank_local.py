"""A cross-encoder from a folder on this machine, on the CPU. Nothing is ever downloaded.

Needs the extra ``rerank`` (the library ``tokenizers``) and is imported by ``open.open_reranker``
only when it is asked for. The folder is what the exporters write: ``model.onnx`` (there or in
``onnx/``) and ``tokenizer.json``; ``tokenizer_config.json`` is read for the longest input.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.artefacts import sha256_of
from wellread.models.runtime import RUN_ERRORS, batches, open_session

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
MAX_TOKENS = 512
"""Of query and text together. Models that read more exist, at a cost that grows faster."""
SMALLEST_LIMIT = 16
CHARACTERS_PER_TOKEN = 16
"""More of one text is cut off before it is tokenised; words are some 5 characters a token."""
PADDING_TOKENS = ("[PAD]", "<pad>", "<|endoftext|>")
HINT = (
    "rerank.model_path names a folder with the ONNX file of a cross-encoder and its tokenizer.json"
)
TYPES: Mapping[str, type[np.signedinteger[Any]]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}


class LocalReranker:
    """Scores by a cross-encoder with one output (relevance). Safe to call from several threads.

    Query and text are read together, up to 512 tokens or what the tokenizer's settings allow if
    that is less; the longer of the two is cut first. Scores are the model's own numbers.
    """

    def __init__(self, model_path: str, *, threads: int = 0, timeout: float = 20.0) -> None:
        """Open the model.

        Args:
            model_path: folder of the model, or its ``.onnx`` file with the tokenizer beside it.
            threads: threads to compute with; 0 takes all cores.
            timeout: seconds that one ``rerank`` may take, looked at after each few texts.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        self._timeout = timeout
        self._path = _model_file(Path(model_path).expanduser())
        folder = _tokenizer_folder(self._path)
        self._limit = _longest_input(folder)
        self._tokenizer = _open_tokenizer(folder / TOKENIZER_FILE, self._limit)
        self._padding = _padding_id(self._tokenizer)
        try:
            self._session = open_session(self._path, threads)
        except ModelError as error:
            raise ModelError(
                f"{self._path} cannot be opened as an ONNX model: {error}",
                hint="put the whole file there again",
            ) from error
        self._inputs = self._input_types()

    @cached_property
    def identity(self) -> str:
        """The folder's name, the hash of the model's file, the longest input."""
        folder = self._path.parent.parent if self._path.parent.name == "onnx" else self._path.parent
        return f"local:{folder.name}/{sha256_of(self._path)[:8]}/{self._limit}"

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """The model's scores of ``texts``, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: onnxruntime failed, or the model's output is not one number for each pair.
        """
        deadline = time.monotonic() + self._timeout
        pairs = self._encoded(query, texts)
        scores = np.empty(len(texts), dtype=np.float32)
        for batch in batches([len(pair.ids) for pair in pairs]):
            if time.monotonic() > deadline:
                raise ModelTimeoutError(
                    f"{self._path} did not score {len(texts)} texts within {self._timeout:g} s",
                    hint="lower rerank.depth, raise rerank.timeout, or take a smaller model",
                )
            scores[batch] = self._run([pairs[position] for position in batch])
        if not np.isfinite(scores).all():
            raise ModelError(
                f"{self._path} gave a score that is not finite",
                hint="use the model's export in 32 bits",
            )
        return scores

    def _encoded(self, query: str, texts: Sequence[str]) -> list[Encoding]:
        most = self._limit * CHARACTERS_PER_TOKEN
        asked = _clean(query, most)
        try:
            # One by one: the library's own threads would warn, in vain, when a process forks.
            return [self._tokenizer.encode(asked, _clean(text, most)) for text in texts]
        except Exception as error:  # the library raises nothing finer
            raise ModelError(f"the tokenizer of {self._path} failed: {error}", hint=HINT) from error

    def _run(self, pairs: Sequence[Encoding]) -> NDArray[np.float32]:
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
                f"{self._path} failed on {len(pairs)} texts of {shape[1]} tokens: {error}",
                hint="free some memory and try again, or check that model and tokenizer belong "
                "together",
            ) from error
        if output.shape not in ((len(pairs),), (len(pairs), 1)):
            raise ModelError(
                f"{self._path} gave numbers of shape {output.shape} for {len(pairs)} texts; a "
                "cross-encoder for reranking gives one for each",
                hint=HINT,
            )
        numbers: NDArray[np.float32] = output.reshape(-1).astype(np.float32)
        return numbers

    def _input_types(self) -> dict[str, type[np.signedinteger[Any]]]:
        """The model's inputs and their kinds of integer."""
        found = {given.name: TYPES.get(given.type) for given in self._session.get_inputs()}
        known = {"input_ids", "attention_mask", "token_type_ids"}
        kinds = {name: kind for name, kind in found.items() if kind is not None}
        if "input_ids" not in found or not set(found) <= known or len(kinds) != len(found):
            raise ModelError(
                f"{self._path} takes {', '.join(sorted(found)) or 'nothing'}, which is not what a "
                "cross-encoder takes (input_ids, attention_mask, token_type_ids)",
                hint=HINT,
            )
        return kinds


def _model_file(path: Path) -> Path:
    """The model's file in the folder ``path``, or ``path`` itself.

    Raises:
        ModelError: there is none.
    """
    if path.is_dir():
        for name in MODEL_FILES:
            if (path / name).is_file():
                return path / name
        raise ModelError(f"{path} holds no {' or '.join(MODEL_FILES)}", hint=HINT)
    if not path.is_file():
        raise ModelError(f"the model {path} does not exist", hint=HINT)
    return path


def _tokenizer_folder(model: Path) -> Path:
    """Where the tokenizer of ``model`` lies: beside it, or one folder up.

    Raises:
        ModelError: there is none.
    """
    for folder in (model.parent, model.parent.parent):
        if (folder / TOKENIZER_FILE).is_file():
            return folder
        if model.parent.name != "onnx":
            break
    raise ModelError(f"there is no {TOKENIZER_FILE} beside {model}", hint=HINT)


def _longest_input(folder: Path) -> int:
    """The tokens that the tokenizer's settings allow, at most ``MAX_TOKENS``."""
    path = folder / TOKENIZER_CONFIG
    if not path.is_file():
        return MAX_TOKENS
    try:
        told = json.loads(path.read_text(encoding="utf-8")).get("model_max_length", MAX_TOKENS)
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=HINT) from error
    # Tokenizers without a limit say 1e30.
    usable = isinstance(told, int | float) and told >= SMALLEST_LIMIT
    return int(min(told, MAX_TOKENS)) if usable else MAX_TOKENS


def _open_tokenizer(path: Path, limit: int) -> Tokenizer:
    try:
        text = path.read_text(encoding="utf-8")
        tokenizer = Tokenizer.from_str(text)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=HINT) from error
    except Exception as error:  # the library raises nothing finer
        raise ModelError(f"{path} is not a tokenizer: {error}", hint=HINT) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit, strategy="longest_first")
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
