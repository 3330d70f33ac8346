"""Embedders that run on the CPU: all-MiniLM-L6-v2, the default, and larger English encoders.

Opening the default takes about a quarter of a second. The first time in a home it also rebuilds
the graph (``onnx_graph.py``) and stores it in ``<home>/models``, which takes some seconds more.
The larger ones are recognised by the hash of their published file, which ``embedding.model_path``
names; ``benchmarks/encoders.py`` compares them. Nothing is downloaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.base import Purpose
from wellread.models.model_files import DIMENSIONS, MAX_PIECES, MODEL, SHORT, Artefact, find_weights
from wellread.models.onnx_runtime import RUN_ERRORS, batches, frame_batch, open_session
from wellread.models.word_pieces import reads, word_pieces

REVISION = 1
"""Incremented when ``onnx_graph.py`` changes its graph, so that homes rebuild it."""

logger = logging.getLogger(__name__)


class LocalEmbedder:
    """Embeds English text with all-MiniLM-L6-v2 in 384 dimensions. Thread-safe.

    Reads at most 256 word pieces of a text, including ``[CLS]`` and ``[SEP]``, the length that
    the model was trained for. The rest has no influence on the vector. Queries and passages are
    treated alike.
    """

    def __init__(self, home: Path, *, model_path: str = "", threads: int = 0) -> None:
        source = find_weights(model_path)
        artefact = Artefact(
            folder=home / "models", stem=f"{MODEL}.{SHORT}.r{REVISION}", suffix=".onnx"
        )
        self._session = open_session(artefact.ensure(lambda: _build(source)), threads)

    @property
    def identity(self) -> str:
        """Model, hash of its file, arithmetic, longest text in word pieces."""
        return f"{MODEL}/{SHORT}/fp32-fused/{MAX_PIECES}"

    @property
    def dimensions(self) -> int:
        """Length of a vector: 384."""
        return DIMENSIONS

    def reads(self, text: str) -> bool:
        """Whether the vector of ``text`` tells what it is about: not of a script that is spelt."""
        return reads(text)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        """Return unit vectors of ``texts``, in order, shape ``(len(texts), 384)``."""
        return self.embed_pieces(word_pieces(texts, MAX_PIECES - 2))

    def embed_pieces(self, pieces: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        """Return unit vectors of word pieces, at most 254 each, framed by ``[CLS]``, ``[SEP]``."""
        return _in_batches(
            MODEL,
            pieces,
            lambda tokens, mask: self._session.run(
                ["vectors"], {"input_ids": tokens, "attention_mask": mask}
            )[0],
        )


def _in_batches(
    model: str,
    pieces: Sequence[NDArray[np.int32]],
    run: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Return vectors of word pieces: ``run`` gets ids and masks of batches of similar length."""
    vectors = np.empty((len(pieces), DIMENSIONS), dtype=np.float32)
    for batch in batches([len(ids) + 2 for ids in pieces]):
        tokens, mask = frame_batch([pieces[position] for position in batch])
        try:
            vectors[batch] = run(tokens, mask)
        except RUN_ERRORS as error:
            raise ModelError(
                f"{model} failed on a batch of {len(batch)} texts: {error}",
                hint="free some memory and try again",
                retryable=True,
            ) from error
    return vectors


def _build(source: Path) -> bytes:
    # onnx takes a while to import and is needed once per home.
    from wellread.models.embedders.onnx_graph import build_graph  # noqa: PLC0415

    logger.info("building the graph of %s from %s", MODEL, source)
    return build_graph(source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """The use of a model file: pooling (the state of ``[CLS]``, or the mean), and prefixes."""

    name: str
    pooling: Literal["cls", "mean"]
    query: str = ""
    passage: str = ""


ENCODERS: Mapping[str, Encoder] = MappingProxyType(
    {
        "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35": Encoder(
            name="bge-small-en-v1.5",
            pooling="cls",
            query="Represent this sentence for searching relevant passages: ",
        ),
        "b2a43b66f7f9b6f29643a21340ad7c03d2d91e6bd5d43429a77799a9ee880eb0": Encoder(
            name="e5-small-v2", pooling="mean", query="query: ", passage="passage: "
        ),
        "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3": Encoder(
            name="gte-small", pooling="mean"
        ),
    }
)
"""Known encoders by the SHA-256 of their published fp32 ONNX file."""


class EncoderEmbedder:
    """Embeds text in 384 dimensions with one of ``ENCODERS`` or a similar model. Thread-safe.

    Reads at most 256 word pieces of a text with its prefix, as the default embedder does.
    """

    def __init__(self, path: Path, sha256: str, encoder: Encoder, *, threads: int = 0) -> None:
        self._session = open_session(path, threads)
        self._sha256, self._encoder = sha256, encoder

    @property
    def identity(self) -> str:
        """Model, hash of its file, arithmetic, longest text in word pieces."""
        return f"{self._encoder.name}/{self._sha256[:8]}/fp32/{MAX_PIECES}"

    @property
    def dimensions(self) -> int:
        """Length of a vector: 384."""
        return DIMENSIONS

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """Return unit vectors of ``texts``, in order, shape ``(len(texts), 384)``."""
        prefix = self._encoder.query if purpose == "query" else self._encoder.passage
        pieces = word_pieces([prefix + text for text in texts], MAX_PIECES - 2)
        return _in_batches(self._encoder.name, pieces, self._pooled)

    def _pooled(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states: Any = np.asarray(self._session.run(None, feeds)[0], dtype=np.float32)
        if self._encoder.pooling == "cls":
            pooled = states[:, 0]
        else:
            # The vector is normalised below, so the sum serves as the mean.
            pooled = (states * mask[..., None]).sum(axis=1, dtype=np.float32)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.asarray(pooled / np.maximum(norms, 1e-12), dtype=np.float32)
