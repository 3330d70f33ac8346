"""Embeds texts on an OpenAI-compatible server (OpenAI, Ollama, TEI, vLLM, llama.cpp)."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models.base import Purpose
from wellread.models.server_calls import pause_after, remove_keys

MAX_RETRIES = 4
MAX_WAIT_SECONDS = 30.0
MAX_REPLY_BYTES = 64_000_000
MAX_MESSAGE_CHARS = 300
MAX_BATCH_TEXTS = 64
MAX_BATCH_CHARS = 100_000
MAX_TEXT_CHARS = 24_000
"""Longer texts are truncated, because servers refuse texts longer than their model reads."""
BLANK = "."
"""Sent in place of a text without a visible character, which servers refuse."""
RETRYABLE = (408, 409, 425, 429)
CHECK_KEY = "check the key in the environment variable that embedding.api_key_env names"
HINTS = {
    400: "check embedding.model, and whether passages are longer than the model reads",
    401: CHECK_KEY,
    403: CHECK_KEY,
    404: "check embedding.url (it usually ends in /v1) and embedding.model",
    413: "passages are longer than the model reads; lower chunking.tokens",
    429: "the server's rate limit is reached; try again later",
}

logger = logging.getLogger(__name__)


class HttpEmbedder:
    """Embeds texts with ``POST {url}/embeddings``, and normalises the vectors. Thread-safe.

    Queries and passages are treated alike. At most 24,000 characters of a text are sent, and no
    more than 64 texts or 100,000 characters at once. Rate limits, server errors, time-outs and
    broken connections are retried up to 4 times, unless the server asks for a wait of more than
    30 seconds.

    The first use of ``dimensions`` or ``identity`` may call the server, so these can raise
    ``ModelError`` too.
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
        """Check the address and the key; nothing is sent yet."""
        parts = urlsplit(url)
        self._keys = [api_key, parts.password or ""]
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"embedding.url is not an http URL: {self._clean(url)!r}",
                hint="for example http://localhost:11434/v1",
            )
        if not api_key.isascii():
            raise SettingsError(
                "the key of the embedding server contains characters that cannot be sent",
                hint="check the environment variable that embedding.api_key_env names",
            )
        self._model, self._timeout, self._sleep = model, timeout, sleep
        self._endpoint = f"{url.rstrip('/')}/embeddings"
        self._host = parts.netloc.rpartition("@")[2]
        self._where = f"embedding with {model} at {self._host}"
        headers = {"Authorization": f"Bearer {api_key.strip()}"} if api_key.strip() else {}
        self._client = httpx.Client(timeout=timeout, headers=headers)
        self._dimensions = 0
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections; the embedder can no longer be used."""
        self._client.close()

    @property
    def identity(self) -> str:
        """Model, server and dimensions."""
        return f"http:{self._model}@{self._host}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector, taken from the server's first reply."""
        if not self._dimensions:
            self._request([BLANK])
        return self._dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        """Return unit vectors of ``texts``, in order, shape ``(len(texts), dimensions)``."""
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.concatenate([self._request(batch) for batch in _batches(texts)])

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        reply = self._post({"model": self._model, "input": list(texts)})
        try:
            if not isinstance(reply, dict) or not isinstance(reply.get("data"), list):
                raise ValueError("it has no list 'data'")
            rows = [item["embedding"] for item in _indexed(reply["data"], len(texts))]
            # Casting a ragged list or text raises one of the errors below.
            vectors = np.asarray(rows, dtype=np.float64)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            hint = "the server must speak the OpenAI embeddings format"
            raise self._invalid_reply(error, hint) from error
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
        if vectors.ndim != 2 or not np.isfinite(norms).all() or not (norms > 0).all():
            raise ModelError(
                f"{self._where}: the reply contains a vector that is empty, zero or not finite",
                hint="check that embedding.model is an embedding model",
            )
        with self._lock:
            width = vectors.shape[1]
            self._dimensions = self._dimensions or width
            if width != self._dimensions:
                raise ModelError(
                    f"{self._where}: vectors of {width} dimensions after {self._dimensions}",
                    hint="the server changed its model; restart and run 'wellread reindex'",
                )
        unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
        return unit

    def _post(self, body: Mapping[str, object]) -> Any:
        """Return the decoded JSON of the server's reply, with retries of temporary failures."""
        tried = 0
        while True:
            try:
                return self._try(body)
            except ModelError as error:
                pause = pause_after(error, tried, MAX_WAIT_SECONDS)
                if pause is None or tried >= MAX_RETRIES:
                    raise
                logger.warning("%s; trying again in %.1f s", error, pause)
            self._sleep(pause)
            tried += 1

    def _try(self, body: Mapping[str, object]) -> Any:
        # The client's own limit applies to each piece, so a slow trickle would never end.
        deadline = time.monotonic() + self._timeout
        try:
            with self._client.stream("POST", self._endpoint, json=body) as response:
                content = self._read_all(response, deadline)
        except httpx.TimeoutException as error:
            raise ModelTimeoutError(
                f"{self._where}: no reply within {self._timeout:g} s",
                hint="raise embedding.timeout, or check the server's load",
            ) from error
        except httpx.HTTPError as error:
            raise ModelError(
                f"{self._where}: {type(error).__name__}: {self._clean(str(error))}",
                hint="check embedding.url, and that the server is running",
                retryable=isinstance(error, httpx.TransportError),
            ) from error
        status = response.status_code
        if not response.is_success:
            # Truncated after removing the key, so that no part of the key is left.
            message = self._clean(_message(content) or response.reason_phrase)[:MAX_MESSAGE_CHARS]
            problem = ModelError(
                f"{self._where}: HTTP {status}: {message}",
                hint=HINTS.get(status, "see the server's log" if status >= 500 else ""),
                retryable=status in RETRYABLE or status >= 500,
            )
            problem.retry_after = _retry_after(response)
            raise problem
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._invalid_reply(f"it is not JSON: {error}", "check embedding.url") from error

    def _read_all(self, response: httpx.Response, deadline: float) -> bytes:
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_REPLY_BYTES:
                reason = f"it is longer than {MAX_REPLY_BYTES:,} bytes"
                raise self._invalid_reply(reason, "check embedding.url")
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the reply came too slowly", request=response.request)
        return b"".join(chunks)

    def _invalid_reply(self, reason: object, hint: str) -> ModelError:
        detail = self._clean(str(reason))[:MAX_MESSAGE_CHARS]
        return ModelError(f"{self._where}: the reply cannot be used: {detail}", hint=hint)

    def _clean(self, message: str) -> str:
        return remove_keys(message, self._keys)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield ``texts`` as sent (truncated, valid UTF-8, never blank) in batches within limits."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        sent_text = text[:MAX_TEXT_CHARS].encode("utf-8", "ignore").decode("utf-8")
        sent_text = sent_text if sent_text.strip() else BLANK
        if batch and (
            len(batch) == MAX_BATCH_TEXTS or characters + len(sent_text) > MAX_BATCH_CHARS
        ):
            yield batch
            batch, characters = [], 0
        batch.append(sent_text)
        characters += len(sent_text)
    if batch:
        yield batch


def _indexed(items: Sequence[object], count: int) -> list[dict[str, object]]:
    """Return the objects of a reply sorted by ``index``; servers may send them in any order."""
    rows = [(item.get("index", row), item) for row, item in enumerate(items) if type(item) is dict]
    by_index = {index: item for index, item in rows if type(index) is int and 0 <= index < count}
    if len(items) != count or len(by_index) != count:
        indices = [index for index, _ in rows[:5]]
        raise ValueError(f"{len(items)} results (indices {indices} …) for {count} texts")
    return [by_index[index] for index in range(count)]


def _message(content: bytes) -> str:
    message: object = content.decode("utf-8", "replace")
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        reply = None
    if isinstance(reply, dict):
        detail = reply.get("error", reply)
        message = detail.get("message", detail) if isinstance(detail, dict) else detail
    return " ".join(str(message).split())


def _retry_after(response: httpx.Response) -> float:
    """Return the ``Retry-After`` header (number or date) in seconds; 0 when unusable."""
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
