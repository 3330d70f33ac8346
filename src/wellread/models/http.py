"""An embedder behind an OpenAI-compatible server (OpenAI, Ollama, TEI, vLLM, llama.cpp)."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models.base import Purpose

BATCH_TEXTS = 64
BATCH_CHARACTERS = 100_000
MAX_CHARACTERS = 24_000
"""More of one text is cut off: servers refuse what is longer than their model reads."""
RETRIES = 4
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
MESSAGE_CHARACTERS = 300
RETRYABLE = (408, 409, 425, 429)
BLANK = "."
"""Sent for a text without a visible character, which servers refuse."""
HINTS = {
    400: "check embedding.model, and whether passages are longer than the model reads",
    401: "check the key in the environment variable that embedding.api_key_env names",
    403: "check the key in the environment variable that embedding.api_key_env names",
    404: "check embedding.url (it usually ends in /v1) and embedding.model",
    413: "passages are longer than the model reads; lower chunking.tokens",
    429: "the server's rate limit is reached; try again later",
}

logger = logging.getLogger(__name__)


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
            timeout: seconds to wait for the connection and for the reply.
            sleep: waits between two tries.

        Raises:
            SettingsError: ``url`` is not an http(s) URL, or the key cannot be sent.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"embedding.url is not an http URL: {url!r}",
                hint="for example http://localhost:11434/v1",
            )
        self._endpoint = f"{url.rstrip('/')}/embeddings"
        if not api_key.isascii():
            raise SettingsError(
                "the key of the embedding server holds characters that cannot be sent",
                hint="check the environment variable that embedding.api_key_env names",
            )
        self._host = parts.netloc.rpartition("@")[2]
        self._where = f"embedding with {model} at {self._host}"
        self._model = model
        self._timeout = timeout
        self._sleep = sleep
        self._dimensions = 0
        self._lock = threading.Lock()
        headers = {"Authorization": f"Bearer {api_key.strip()}"} if api_key else {}
        self._client = httpx.Client(timeout=timeout, headers=headers)

    def close(self) -> None:
        """Close the connections; the embedder cannot be used any more."""
        self._client.close()

    @property
    def identity(self) -> str:
        """Model, server, dimensions."""
        return f"http:{self._model}@{self._host}/{self.dimensions}"

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
        prepared = [_sendable(text) for text in texts]
        return np.concatenate([self._request(batch) for batch in _batches(prepared)])

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self._model, "input": list(texts)}
        tries = 0
        while True:
            outcome = self._post(body)
            if isinstance(outcome, httpx.Response):
                return self._vectors(outcome, len(texts))
            tries += 1
            if not outcome.error.retryable or tries > RETRIES or outcome.wait > LONGEST_WAIT:
                raise outcome.error
            # Up to half less by chance, so that several callers do not come back together.
            backoff = FIRST_WAIT * 2 ** (tries - 1) * random.uniform(0.5, 1.0)  # noqa: S311
            pause = max(outcome.wait, backoff)
            logger.warning("%s; trying again in %.1f s", outcome.error, pause)
            self._sleep(pause)

    def _post(self, body: Mapping[str, object]) -> httpx.Response | _Failure:
        try:
            response = self._client.post(self._endpoint, json=body)
        except httpx.TimeoutException:
            return _Failure(
                error=ModelTimeoutError(
                    f"{self._where}: no reply within {self._timeout:g} s",
                    hint="raise embedding.timeout, or check the server's load",
                )
            )
        except httpx.HTTPError as error:
            return _Failure(
                error=ModelError(
                    f"{self._where}: {type(error).__name__}: {error}",
                    hint="check embedding.url, and that the server is running",
                    retryable=isinstance(error, httpx.TransportError),
                )
            )
        if response.is_success:
            return response
        status = response.status_code
        return _Failure(
            error=ModelError(
                f"{self._where}: HTTP {status}: {_server_message(response)}",
                hint=HINTS.get(status, "see the server's log" if status >= 500 else ""),
                retryable=status in RETRYABLE or status >= 500,
            ),
            wait=_retry_after(response),
        )

    def _vectors(self, response: httpx.Response, count: int) -> NDArray[np.float32]:
        """The reply's vectors in the order of the request, checked and normalised."""
        try:
            rows = _rows(response.json(), count)
            # A plain cast of a ragged list or of text fails with one of these errors.
            vectors = np.asarray(rows, dtype=np.float64)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ModelError(
                f"{self._where}: the reply cannot be used: {error}",
                hint="the server must speak the OpenAI embeddings format",
            ) from error
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
        if vectors.ndim != 2 or not np.isfinite(norms).all() or not (norms > 0).all():
            raise ModelError(
                f"{self._where}: the reply holds a vector that is empty, zero or not finite",
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
                    f"{self._where}: vectors of {found} dimensions after {self._dimensions}",
                    hint="the server changed its model; start again and index anew",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """A try that brought no vectors.

    Attributes:
        wait: seconds that the server asks to wait before the next try.
    """

    error: ModelError
    wait: float = 0.0


def _sendable(text: str) -> str:
    """What is sent for ``text``: cut, without lone surrogates, never blank."""
    sent = text[:MAX_CHARACTERS].encode("utf-8", "ignore").decode("utf-8")
    return sent if sent.strip() else BLANK


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start = characters = 0
    for at, text in enumerate(texts):
        full = at - start == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS
        if at > start and full:
            yield texts[start:at]
            start, characters = at, 0
        characters += len(text)
    yield texts[start:]


def _rows(reply: Any, count: int) -> list[Any]:
    """The embeddings of a reply by ``index``; servers may send them in any order.

    Raises:
        ValueError: not one embedding for each text.
        KeyError: a field is missing.
        TypeError: something is not of the expected kind.
    """
    if not isinstance(reply, dict) or not isinstance(reply.get("data"), list):
        raise ValueError("it has no list 'data'")
    items = reply["data"]
    places = [item.get("index", at) for at, item in enumerate(items) if isinstance(item, dict)]
    if sorted(places) != list(range(count)):
        raise ValueError(f"{len(items)} vectors (indices {places[:5]} …) for {count} texts")
    rows: list[Any] = [None] * count
    for place, item in zip(places, items, strict=True):
        rows[place] = item["embedding"]
    return rows


def _server_message(response: httpx.Response) -> str:
    message: object = response.text
    try:
        reply = response.json()
    except ValueError:
        reply = None
    if isinstance(reply, dict):
        inner = reply.get("error", reply)
        message = inner.get("message", inner) if isinstance(inner, dict) else inner
    return " ".join(str(message).split())[:MESSAGE_CHARACTERS] or response.reason_phrase


def _retry_after(response: httpx.Response) -> float:
    """Seconds of the ``Retry-After`` header (a number or a date); 0 without a usable one."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
