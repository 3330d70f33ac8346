"""A cross-encoder from a folder on this machine, on the CPU.

A cross-encoder reads two texts together. Needs the library ``tokenizers`` (extra ``rerank``) and is
imported only when a setting asks for it; nothing is ever downloaded. The folder is what the
exporters write: ``model.onnx`` (there or in ``onnx/``) and ``tokenizer.json``;
``tokenizer_config.json`` is read for the longest input.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.model_files import sha256_of
from wellread.models.onnx_runtime import RUN_ERRORS, batches, open_session
from wellread.models.reader import Excerpt, Scores

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
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class CrossEncoder:
    """A model file with its tokenizer. Safe to call from several threads.

    Reads up to 512 tokens of both texts, or what the tokenizer's settings allow if that is less.

    Attributes:
        SETTING, KIND: which setting names the folder, and what model should be there.
        CUT: which of two texts that are too long is cut.
    """

    SETTING: ClassVar[str]
    KIND: ClassVar[str]
    CUT: ClassVar[Literal["longest_first", "only_first"]]

    def __init__(self, model_path: str, *, threads: int = 0, timeout: float = 20.0) -> None:
        """Open the model.

        Args:
            model_path: folder of the model, or its ``.onnx`` file with the tokenizer beside it.
            threads: threads to compute with; 0 takes all cores.
            timeout: seconds that one call may take, looked at after each few texts.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        self._timeout = timeout
        self._path = self._model_file(Path(model_path).expanduser())
        self._folder = self._tokenizer_folder()
        self._limit = self._longest_input()
        self._tokenizer = self._open_tokenizer(self._folder / TOKENIZER_FILE)
        padding = (self._tokenizer.token_to_id(token) for token in PADDING_TOKENS)
        # The mask hides what fills a batch, so that any will do.
        self._padding = next((each for each in padding if each is not None), 0)
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
        folder = self._path.parents[1 if self._path.parent.name == "onnx" else 0]
        return f"local:{folder.name}/{sha256_of(self._path)[:8]}/{self._limit}"

    def _unfit(self, what: str) -> ModelError:
        """The error of a folder that does not hold what it should."""
        hint = f"{self.SETTING} names a folder with the ONNX file of {self.KIND} and its "
        return ModelError(what, hint=f"{hint}{TOKENIZER_FILE}")

    def _read(
        self, texts: Sequence[tuple[str, str]], what: str, hint: str
    ) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
        """The places of some pairs and the model's numbers for them, until all have come."""
        deadline = time.monotonic() + self._timeout
        pairs = self._encoded(texts)
        for batch in batches([len(pair.ids) for pair in pairs]):
            if time.monotonic() > deadline:
                raise ModelTimeoutError(
                    f"{self._path} did not {what} within {self._timeout:g} s", hint=hint
                )
            yield batch, self._run([pairs[place] for place in batch])

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> list[Encoding]:
        """The tokens of each pair of texts."""
        most = self._limit * CHARACTERS_PER_TOKEN
        try:
            # One by one: the library's own threads would warn, in vain, when a process forks.
            return [
                self._tokenizer.encode(_clean(first, most), self._fitting(_clean(second, most)))
                for first, second in pairs
            ]
        except Exception as error:  # the library raises nothing finer
            raise self._unfit(f"the tokenizer of {self._path} failed: {error}") from error

    def _fitting(self, second: str) -> str:
        """The second text; where only the first is cut, at most half of what can be read."""
        most = self._limit // 2
        if self.CUT != "only_first" or len(second) <= most:
            return second
        offsets = self._tokenizer.encode(second, add_special_tokens=False).offsets
        return second[: offsets[most][0]] if len(offsets) > most else second

    def _run(self, pairs: Sequence[Encoding]) -> NDArray[np.float64]:
        """The model's numbers for ``pairs``, shape ``(len(pairs), numbers)``."""
        shape = (len(pairs), max(len(pair.ids) for pair in pairs))
        feeds = dict(zip(INPUTS, np.zeros((3, *shape), dtype=np.int64), strict=True))
        feeds["input_ids"][:] = self._padding
        for row, pair in enumerate(pairs):
            values = (pair.ids, pair.attention_mask, pair.type_ids)
            for name, numbers in zip(INPUTS, values, strict=True):
                feeds[name][row, : len(numbers)] = numbers
        given = {name: feeds[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            output = np.asarray(self._session.run(None, given)[0])
        except RUN_ERRORS as error:
            raise ModelError(
                f"{self._path} failed on {len(pairs)} texts of {shape[1]} tokens: {error}",
                hint="free some memory and try again, or check that model and tokenizer belong "
                "together",
            ) from error
        if output.shape == (len(pairs),):
            output = output.reshape(-1, 1)
        if output.ndim != 2 or len(output) != len(pairs):
            raise self._unfit(
                f"{self._path} gave numbers of shape {output.shape} for {len(pairs)} texts; a "
                "cross-encoder gives one or a few for each"
            )
        if not np.isfinite(output).all():
            raise ModelError(
                f"{self._path} gave a number that is not finite",
                hint="use the model's export in 32 bits",
            )
        return np.asarray(output, dtype=np.float64)

    def _input_types(self) -> dict[str, type[np.signedinteger[Any]]]:
        """The model's inputs and their kinds of integer."""
        found = {given.name: TYPES.get(given.type) for given in self._session.get_inputs()}
        kinds = {name: kind for name, kind in found.items() if kind is not None}
        if "input_ids" not in found or not kinds.keys() == found.keys() <= set(INPUTS):
            raise self._unfit(
                f"{self._path} takes {', '.join(sorted(found)) or 'nothing'}, which is not what a "
                f"cross-encoder takes ({', '.join(INPUTS)})"
            )
        return kinds

    def _model_file(self, path: Path) -> Path:
        """The model's file in the folder ``path``, or ``path`` itself."""
        if path.is_dir():
            for name in MODEL_FILES:
                if (path / name).is_file():
                    return path / name
            raise self._unfit(f"{path} holds no {' or '.join(MODEL_FILES)}")
        if not path.is_file():
            raise self._unfit(f"the model {path} does not exist")
        return path

    def _tokenizer_folder(self) -> Path:
        """Where the model's tokenizer lies: beside it, or one folder up."""
        beside = self._path.parent
        for folder in (beside, beside.parent) if beside.name == "onnx" else (beside,):
            if (folder / TOKENIZER_FILE).is_file():
                return folder
        raise self._unfit(f"there is no {TOKENIZER_FILE} beside {self._path}")

    def _longest_input(self) -> int:
        """The tokens that the tokenizer's settings allow, at most ``MAX_TOKENS``."""
        told = self._setting(TOKENIZER_CONFIG, "model_max_length")
        # Tokenizers without a limit say 1e30.
        usable = isinstance(told, int | float) and told >= SMALLEST_LIMIT
        return int(min(told, MAX_TOKENS)) if usable else MAX_TOKENS

    def _setting(self, file: str, name: str) -> Any:
        """The value of ``name`` in a JSON file of the folder; None where there is none."""
        path = self._folder / file
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8")).get(name)
        except (OSError, ValueError, AttributeError) as error:
            raise self._unfit(f"{path} cannot be read: {error}") from error

    def _open_tokenizer(self, path: Path) -> Tokenizer:
        try:
            tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise self._unfit(f"{path} cannot be read: {error}") from error
        except Exception as error:  # the library raises nothing finer
            raise self._unfit(f"{path} is not a tokenizer: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._limit, strategy=self.CUT)
        # "[SEP]" in a text is text: a passage cannot end itself and speak as something else.
        tokenizer.encode_special_tokens = True
        return tokenizer


class OnnxRanking(CrossEncoder):
    """Scores by a cross-encoder with one output (relevance). Safe to call from several threads.

    Of question and text the longer is cut first. Scores are the model's own numbers.
    """

    SETTING = "reader.model_path"
    KIND = "a cross-encoder"
    CUT = "longest_first"

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The model's scores of ``texts``, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: onnxruntime failed, or the model's output is not one number for each pair.
        """
        scores = np.empty(len(texts), dtype=np.float64)
        hint = "lower reader.depth, raise reader.timeout, or take a smaller model"
        pairs = [(question, each.shown) for each in texts]
        for batch, numbers in self._read(pairs, f"score {len(texts)} texts", hint):
            if numbers.shape[1] != 1:
                raise self._unfit(
                    f"{self._path} gave numbers of shape {numbers.shape} for {len(batch)} "
                    "texts; a cross-encoder for ranking gives one for each"
                )
            scores[batch] = numbers[:, 0]
        return scores


def _clean(text: str, most: int) -> str:
    """``text`` cut and without lone surrogates, which the library refuses."""
    return text[:most].encode("utf-8", "ignore").decode("utf-8")
