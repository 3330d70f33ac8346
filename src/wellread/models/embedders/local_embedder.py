"""The default embedder: all-MiniLM-L6-v2 on the CPU, from a file that pip installed.

Opening takes about a quarter of a second. The first opening in a home rebuilds the graph
(``onnx_graph.py``) and keeps it in ``<home>/models``; that takes some seconds more.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.base import Purpose
from wellread.models.model_files import DIMENSIONS, MAX_PIECES, MODEL, SHORT, Artefact, find_weights
from wellread.models.onnx_runtime import RUN_ERRORS, batches, framed, open_session
from wellread.models.word_pieces import word_pieces

REVISION = 1
"""Raised when ``onnx_graph.py`` writes another graph, so that homes build it anew."""

logger = logging.getLogger(__name__)


class LocalEmbedder:
    """Vectors of 384 dimensions by all-MiniLM-L6-v2 (English).

    Reads at most 256 word pieces of a text, ``[CLS]`` and ``[SEP]`` among them: the length that
    the model was trained for. What comes after has no influence on the vector. Queries and
    passages are treated alike. Safe to call from several threads.
    """

    def __init__(self, home: Path, *, model_path: str = "", threads: int = 0) -> None:
        """Open the model; build its graph under ``home`` when it is not there.

        Args:
            home: folder of the installation; the graph is kept in ``home/models``.
            model_path: model file, or a folder with it; empty takes the installed package's.
            threads: threads to compute with; 0 takes all cores.

        Raises:
            ModelError: the model file is missing or another one, or the home cannot be written.
        """
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

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        """Unit vectors of ``texts``, in order, shape ``(len(texts), 384)``.

        Raises:
            ModelError: onnxruntime failed (for example out of memory).
        """
        return self.embed_pieces(word_pieces(texts, MAX_PIECES - 2))

    def embed_pieces(self, pieces: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        """Unit vectors of word pieces, at most 254 each; ``[CLS]`` and ``[SEP]`` are added.

        Raises:
            ModelError: onnxruntime failed (for example out of memory).
        """
        vectors = np.empty((len(pieces), DIMENSIONS), dtype=np.float32)
        for batch in batches([len(ids) + 2 for ids in pieces]):
            tokens, mask = framed([pieces[position] for position in batch])
            feeds = {"input_ids": tokens, "attention_mask": mask}
            try:
                vectors[batch] = self._session.run(["vectors"], feeds)[0]
            except RUN_ERRORS as error:
                raise ModelError(
                    f"{MODEL} failed on a batch of {len(batch)} texts: {error}",
                    hint="free some memory and try again",
                    retryable=True,
                ) from error
        return vectors


def _build(source: Path) -> bytes:
    # onnx takes a while to import and is needed once per home.
    from wellread.models.embedders.onnx_graph import build_graph  # noqa: PLC0415

    logger.info("building the graph of %s from %s", MODEL, source)
    return build_graph(source)
