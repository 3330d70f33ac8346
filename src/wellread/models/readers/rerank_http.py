"""A reranker behind an HTTP server, in the two wire formats that are in use.

``tei``: Text Embeddings Inference, ``POST {url}/rerank`` with ``query`` and ``texts``. ``jina``:
the form that Jina began and Cohere, vLLM, Infinity, llama.cpp and LocalAI speak too, ``POST
{url}/rerank`` with ``model``, ``query`` and ``documents``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wellread.models.json_http import Poster, Target, indexed, sendable, text_batches

Wire = Literal["jina", "tei"]
ROUTE = "rerank"
RETRIES = 2
MAX_CHARACTERS = 8_000
"""More of one text is cut off: most rerankers read some 512 word pieces."""
BATCH_CHARACTERS = 200_000
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """One wire format.

    Attributes:
        batch: most texts of a request. TEI refuses more than 32 unless told otherwise.
        score: the field of a result that holds the score.
        name: how it is called in messages.
    """

    batch: int
    score: str
    name: str


FORMATS: Mapping[Wire, _Format] = {
    "jina": _Format(batch=100, score="relevance_score", name="Jina's and Cohere's"),
    "tei": _Format(batch=32, score="score", name="Text Embeddings Inference's"),
}
HINTS = {
    400: "check rerank.model and rerank.format",
    404: "check rerank.url (mostly …/v1, for Text Embeddings Inference without it)",
    413: "the texts are longer than the model reads; lower chunking.tokens",
    422: "check rerank.model and rerank.format",
}


class HttpReranker:
    """Scores from ``POST {url}/rerank``. Safe to call from several threads.

    At most 8,000 characters of a text are sent. Rate limits, server errors, time-outs and broken
    connections are tried again, up to twice, as long as the time limit of one try is not yet
    over: a call with one request takes at most twice that limit.
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
            section="rerank",
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

    def close(self) -> None:
        """Close the connections; the reranker cannot be used any more."""
        self._poster.close()

    @property
    def identity(self) -> str:
        """Model and server."""
        return f"http:{self._model or self._wire}@{self._poster.host}"

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """The server's scores of ``texts``, in order.

        Raises:
            ModelTimeoutError: no reply within the time limit, at every try.
            ModelError: the server refused, could not be reached, or replied with nonsense.
        """
        asked = sendable(query, MAX_CHARACTERS)
        batches = text_batches(
            [sendable(text, MAX_CHARACTERS) for text in texts],
            most_texts=self._format.batch,
            most_characters=BATCH_CHARACTERS,
        )
        scores = [score for batch in batches for score in self._scores(asked, batch)]
        return np.asarray(scores, dtype=np.float32)

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        reply = self._poster.post(self._body(query, texts))
        try:
            rows = indexed(self._results(reply), len(texts))
            return [_number(row.get(self._format.score)) for row in rows]
        except ValueError as error:
            raise self._poster.unusable(
                error,
                f"rerank.format is {self._wire}, so the server must speak "
                f"{self._format.name} format",
            ) from error

    def _body(self, query: str, texts: Sequence[str]) -> dict[str, object]:
        if self._wire == "tei":
            # Without truncate a text that is too long is refused.
            return {"query": query, "texts": list(texts), "truncate": True}
        return {
            "model": self._model,
            "query": query,
            "documents": list(texts),
            "top_n": len(texts),
        }

    def _results(self, reply: object) -> Sequence[object]:
        found = reply.get("results") if isinstance(reply, dict) else reply
        if isinstance(reply, dict) != (self._wire == "jina") or not isinstance(found, list):
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
