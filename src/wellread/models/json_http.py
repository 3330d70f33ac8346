"""Posting JSON to a model's server: time limit, size limit, further tries, errors in words."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models.key_redaction import without_keys
from wellread.models.retrying import pause_after

RETRIES = 4
LONGEST_WAIT = 30.0
MAX_REPLY_BYTES = 64_000_000
MESSAGE_CHARACTERS = 300
RETRYABLE = (408, 409, 425, 429)
BLANK = "."
"""Sent for a text without a visible character, which servers refuse."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where something is posted, and how patiently.

    Attributes:
        section: the settings that name the server, for hints ("embedding").
        url: the server's base URL, with ``/v1`` where it has one.
        path: what comes after it ("embeddings").
        what: what the server does, for messages ("embedding with tiny").
        api_key: sent as bearer token; empty sends none.
        timeout: seconds that one try may take, the whole reply included.
        hints: by HTTP status, beside those that hold everywhere.
    """

    section: str
    url: str
    path: str
    what: str
    api_key: str = field(default="", repr=False)
    timeout: float = 60.0
    hints: Mapping[int, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The setting that holds the server's address."""
        return f"{self.section}.url"


class Poster:
    """Posts to one ``Target``. Safe to call from several threads.

    Rate limits, server errors, time-outs and broken connections are tried again. A server that
    asks for a wait of more than 30 seconds is not waited for.
    """

    def __init__(self, target: Target, *, sleep: Callable[[float], object] = time.sleep) -> None:
        """Prepare; nothing is sent yet.

        Args:
            target: where to post.
            sleep: waits between two tries.

        Raises:
            SettingsError: the URL is not an http(s) URL, or the key cannot be sent.
        """
        parts = urlsplit(target.url)
        self._keys = [target.api_key, parts.password or ""]
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"{target.address} is not an http URL: {self._clean(target.url)!r}",
                hint="for example http://localhost:11434/v1",
            )
        if not target.api_key.isascii():
            raise SettingsError(
                f"the key of the {target.section} server holds characters that cannot be sent",
                hint=f"check the environment variable that {target.section}.api_key_env names",
            )
        self._target = target
        self._endpoint = f"{target.url.rstrip('/')}/{target.path}"
        self._sleep = sleep
        self.host = parts.netloc.rpartition("@")[2]
        self.where = f"{target.what} at {self.host}"
        key = target.api_key.strip()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(timeout=target.timeout, headers=headers)

    def close(self) -> None:
        """Close the connections; nothing can be posted any more."""
        self._client.close()

    def post(self, body: Mapping[str, object]) -> object:
        """The decoded JSON of the server's reply to ``body``.

        Raises:
            ModelTimeoutError: no whole reply within the time limit, at every try.
            ModelError: the server refused, could not be reached, or did not send JSON.
        """
        tried = 0
        while True:
            try:
                return self._try(body)
            except ModelError as error:
                pause = pause_after(error, tried, LONGEST_WAIT)
                if pause is None or tried >= RETRIES:
                    raise
                logger.warning("%s; trying again in %.1f s", error, pause)
            self._sleep(pause)
            tried += 1

    def unusable(self, reason: object, hint: str) -> ModelError:
        """The error of a reply that is not what was asked for."""
        what = self._clean(str(reason))[:MESSAGE_CHARACTERS]
        return ModelError(f"{self.where}: the reply cannot be used: {what}", hint=hint)

    def _clean(self, told: str) -> str:
        """What a server told, without the key, should it have sent that back."""
        return without_keys(told, self._keys)

    def _try(self, body: Mapping[str, object]) -> object:
        target = self._target
        # The client's own limit holds for each piece of a reply, so a trickle would never end.
        deadline = time.monotonic() + target.timeout
        try:
            with self._client.stream("POST", self._endpoint, json=body) as response:
                content = self._whole(response, deadline)
        except httpx.TimeoutException as error:
            raise ModelTimeoutError(
                f"{self.where}: no reply within {target.timeout:g} s",
                hint=f"raise {target.section}.timeout, or check the server's load",
            ) from error
        except httpx.HTTPError as error:
            raise ModelError(
                f"{self.where}: {type(error).__name__}: {self._clean(str(error))}",
                hint=f"check {target.address}, and that the server is running",
                retryable=isinstance(error, httpx.TransportError),
            ) from error
        if response.is_success:
            try:
                decoded: object = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise self.unusable(
                    f"it is not JSON: {error}", f"check {target.address}"
                ) from error
            return decoded
        status = response.status_code
        refused = ModelError(
            f"{self.where}: HTTP {status}: {self._told(content, response.reason_phrase)}",
            hint=self._hint(status),
            retryable=status in RETRYABLE or status >= 500,
        )
        refused.retry_after = _retry_after(response)
        raise refused

    def _whole(self, response: httpx.Response, deadline: float) -> bytes:
        pieces, size = [], 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > MAX_REPLY_BYTES:
                raise self.unusable(
                    f"it is longer than {MAX_REPLY_BYTES:,} bytes",
                    f"check {self._target.address}",
                )
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the reply came too slowly", request=response.request)
        return b"".join(pieces)

    def _told(self, content: bytes, otherwise: str) -> str:
        """One short line of an error's body; cut after the key is out, so that no half is left."""
        return self._clean(_message(content) or otherwise)[:MESSAGE_CHARACTERS]

    def _hint(self, status: int) -> str:
        section = self._target.section
        if status in self._target.hints:
            return self._target.hints[status]
        if status in (401, 403):
            return f"check the key in the environment variable that {section}.api_key_env names"
        if status == 429:
            return "the server's rate limit is reached; try again later"
        return "see the server's log" if status >= 500 else ""


def sendable(text: str, most: int) -> str:
    """What is sent for ``text``: its first ``most`` characters, UTF-8, never blank."""
    sent = text[:most].encode("utf-8", "ignore").decode("utf-8")
    return sent if sent.strip() else BLANK


def text_batches(
    texts: Sequence[str], *, most_texts: int, most_characters: int
) -> Iterator[Sequence[str]]:
    """Consecutive runs of ``texts`` within both limits, or of one text."""
    start = characters = 0
    for at, text in enumerate(texts):
        full = at - start == most_texts or characters + len(text) > most_characters
        if at > start and full:
            yield texts[start:at]
            start, characters = at, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]


def indexed(items: Sequence[object], count: int) -> list[dict[str, object]]:
    """The objects of a reply by their ``index``; servers may send them in any order.

    Raises:
        ValueError: not one object for each of ``count`` texts.
    """
    rows = [(item.get("index", at), item) for at, item in enumerate(items) if type(item) is dict]
    by_place = {place: item for place, item in rows if type(place) is int and 0 <= place < count}
    if len(items) != count or len(by_place) != count:
        places = [place for place, _ in rows[:5]]
        raise ValueError(f"{len(items)} results (indices {places} …) for {count} texts")
    return [by_place[place] for place in range(count)]


def _message(content: bytes) -> str:
    """What the server says in an error's body."""
    message: object = content.decode("utf-8", "replace")
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        reply = None
    if isinstance(reply, dict):
        inner = reply.get("error", reply)
        message = inner.get("message", inner) if isinstance(inner, dict) else inner
    return " ".join(str(message).split())


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
