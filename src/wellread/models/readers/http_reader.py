"""Readers behind HTTP servers: a reranker in one of two wire formats.

``tei``: Text Embeddings Inference, ``POST {url}/rerank`` with ``query`` and ``texts``. ``jina``:
the form that Jina began and Cohere, vLLM, Infinity, llama.cpp and LocalAI speak too, ``POST
{url}/rerank`` with ``model``, ``query`` and ``documents``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from wellread.models.json_http import Poster, Target, indexed, sendable, text_batches
from wellread.models.reader import Excerpt, Scores

Wire = Literal["jina", "tei"]
ROUTE = "rerank"
RETRIES = 2
MAX_CHARACTERS = 8_000
"""More of one text is cut off: most rerankers read some 512 word pieces."""
BATCH_CHARACTERS = 200_000
LARGEST = float(np.finfo(np.float32).max)


class _Format(NamedTuple):
    """One wire format: the most texts of a request, the field of a score, what it is called."""

    batch: int
    score: str
    name: str


FORMATS: Mapping[Wire, _Format] = {
    "jina": _Format(100, "relevance_score", "Jina's and Cohere's"),
    "tei": _Format(32, "score", "Text Embeddings Inference's"),  # more are mostly refused
}
HINTS = {
    400: "check reader.model and reader.format",
    404: "check reader.url (mostly …/v1, for Text Embeddings Inference without it)",
    413: "the texts are longer than the model reads; lower chunking.tokens",
    422: "check reader.model and reader.format",
}


class HttpReranking:
    """Scores from ``POST {url}/rerank``, for passages and for sentences.

    Safe to call from several threads. At most 8,000 characters of a text are sent. Rate limits,
    server errors, time-outs and broken connections are tried again, up to twice, as long as the
    time limit of one try is not yet over: a call with one request takes at most twice that limit.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        wire: Wire = "jina",
        api_key: str = "",
        timeout: float = 20.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            url: base URL of the server, with or without ``/rerank`` at its end.
            model: model name to ask for; ``tei`` servers have one model and take none.
            wire: the server's wire format.
            api_key: sent as bearer token; empty sends none.
            timeout: seconds that one try may take, the whole reply included.
            sleep: waits between two tries.

        Raises:
            SettingsError: ``url`` is not an http(s) URL, or the key cannot be sent.
        """
        target = Target(
            section="reader",
            url=url.rstrip("/").removesuffix(f"/{ROUTE}"),
            path=ROUTE,
            what=f"reranking with {model}" if model else "reranking",
            api_key=api_key,
            timeout=timeout,
            retries=RETRIES,
            patience=timeout,
            hints=HINTS,
        )
        self._poster = Poster(target, sleep=sleep)
        self._model = model
        self._wire = wire
        self._format = FORMATS[wire]

    @property
    def identity(self) -> str:
        """Model and server."""
        return f"http:{self._model or self._wire}@{self._poster.host}"

    def close(self) -> None:
        """Close the connections; the reader cannot be used any more."""
        self._poster.close()

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The server's scores of ``texts``, in order.

        Raises:
            ModelTimeoutError: no reply within the time limit, at every try.
            ModelError: the server refused, could not be reached, or replied with nonsense.
        """
        asked = sendable(question, MAX_CHARACTERS)
        batches = text_batches(
            [sendable(each.shown, MAX_CHARACTERS) for each in texts],
            most_texts=self._format.batch,
            most_characters=BATCH_CHARACTERS,
        )
        scores = [score for batch in batches for score in self._scores(asked, batch)]
        return np.asarray(scores, dtype=np.float64)

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        reply = self._poster.post(self._body(query, texts))
        try:
            rows = indexed(self._results(reply), len(texts))
            return [_number(row.get(self._format.score)) for row in rows]
        except ValueError as error:
            raise self._poster.unusable(
                error,
                f"reader.format is {self._wire}, so the server must speak "
                f"{self._format.name} format",
            ) from error

    def _body(self, query: str, texts: Sequence[str]) -> dict[str, object]:
        if self._wire == "tei":
            # Without truncate a text that is too long is refused.
            return {"query": query, "texts": list(texts), "truncate": True}
        asked = {"model": self._model, "query": query, "documents": list(texts)}
        return {**asked, "top_n": len(texts)}

    def _results(self, reply: object) -> Sequence[object]:
        found = reply
        if self._wire == "jina":
            found = reply.get("results") if isinstance(reply, dict) else None
        if not isinstance(found, list):
            raise ValueError(
                "it has no list 'results'" if self._wire == "jina" else "it is not a list"
            )
        return found


def _number(value: object) -> float:
    """``value`` as a score.

    Raises:
        ValueError: it is not a number that a float32 holds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a score is {value!r}")
    if not abs(value) <= LARGEST:
        raise ValueError("a score is not finite")
    return float(value)
