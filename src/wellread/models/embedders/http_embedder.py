"""An embedder behind an OpenAI-compatible server (OpenAI, Ollama, TEI, vLLM, llama.cpp)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.base import Purpose
from wellread.models.json_http import BLANK, Poster, Target, indexed, sendable, text_batches

BATCH_TEXTS = 64
BATCH_CHARACTERS = 100_000
MAX_CHARACTERS = 24_000
"""More of one text is cut off: servers refuse what is longer than their model reads."""
HINTS = {
    400: "check embedding.model, and whether passages are longer than the model reads",
    404: "check embedding.url (it usually ends in /v1) and embedding.model",
    413: "passages are longer than the model reads; lower chunking.tokens",
}


class HttpEmbedder:
    """Vectors from ``POST {url}/embeddings``, normalised here.

    Queries and passages are treated alike. At most 24,000 characters of a text are sent, and no
    more than 64 texts or 100,000 characters at once. Rate limits, server errors, time-outs and
    broken connections are tried again, up to 4 times. Safe to call from several threads.

    The first use of ``dimensions`` or ``identity`` asks the server when nothing was embedded
    before, so these raise ``ModelError`` too.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str = "",
        timeout: float = 60.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            url: base URL of the server, with ``/v1`` where it has one.
            model: model name to ask for.
            api_key: sent as bearer token; empty sends none.
            timeout: seconds that one try may take, the whole reply included.
            sleep: waits between two tries.

        Raises:
            SettingsError: ``url`` is not an http(s) URL, or the key cannot be sent.
        """
        target = Target(
            section="embedding",
            url=url,
            path="embeddings",
            what=f"embedding with {model}",
            api_key=api_key,
            timeout=timeout,
            hints=HINTS,
        )
        self._poster = Poster(target, sleep=sleep)
        self._model = model
        self._dimensions = 0
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections; the embedder cannot be used any more."""
        self._poster.close()

    @property
    def identity(self) -> str:
        """Model, server, dimensions."""
        return f"http:{self._model}@{self._poster.host}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector, as the server's first reply has it."""
        if not self._dimensions:
            self._request([BLANK])
        return self._dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        """Unit vectors of ``texts``, in order, shape ``(len(texts), dimensions)``.

        Raises:
            ModelTimeoutError: no reply within the time limit, at every try.
            ModelError: the server refused, could not be reached, or replied with nonsense.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        prepared = [sendable(text, MAX_CHARACTERS) for text in texts]
        batches = text_batches(prepared, most_texts=BATCH_TEXTS, most_characters=BATCH_CHARACTERS)
        return np.concatenate([self._request(batch) for batch in batches])

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The server's vectors in the order of ``texts``, checked and normalised."""
        reply = self._poster.post({"model": self._model, "input": list(texts)})
        try:
            if not isinstance(reply, dict) or not isinstance(reply.get("data"), list):
                raise ValueError("it has no list 'data'")
            rows = [item["embedding"] for item in indexed(reply["data"], len(texts))]
            # A plain cast of a ragged list or of text fails with one of these errors.
            vectors = np.asarray(rows, dtype=np.float64)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise self._poster.unusable(
                error, "the server must speak the OpenAI embeddings format"
            ) from error
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
        if vectors.ndim != 2 or not np.isfinite(norms).all() or not (norms > 0).all():
            raise ModelError(
                f"{self._poster.where}: the reply holds a vector that is empty, zero or not finite",
                hint="check that embedding.model is an embedding model",
            )
        self._check_dimensions(vectors.shape[1])
        unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
        return unit

    def _check_dimensions(self, found: int) -> None:
        with self._lock:
            self._dimensions = self._dimensions or found
            if found != self._dimensions:
                raise ModelError(
                    f"{self._poster.where}: vectors of {found} dimensions after {self._dimensions}",
                    hint="the server changed its model; start again and index anew",
                )
