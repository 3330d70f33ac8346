"""Fetches web addresses: limits, redirects, conditional requests, robots.txt.

An address is given by a person, but also by feeds, lists and redirects, which anybody may write.
Every hop is therefore parsed, resolved and judged like the first (see ``addresses.py``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from http import HTTPStatus

import httpx

from wellread.config import WebSettings
from wellread.ingest.sources.addresses import FetchError, parse_address
from wellread.ingest.sources.exchange import AGENT, Answer, Exchange, asked_to_wait
from wellread.ingest.sources.server_rules import (
    EVERYTHING,
    UNREAD_TYPES,
    Robots,
    as_utf8,
    charset,
    content_type,
    feed_until,
    file_name,
    fresh_until,
    later,
    read_robots,
    retry_at,
    tag,
)

ROBOTS_SECONDS = 3_600.0  # how long a robots.txt is believed
DEFAULT_PAUSE = timedelta(minutes=5)  # after "too many requests" without a time

_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was found at an address.

    Attributes:
        url: the address that answered, after redirects.
        name: a file name whose extension tells the kind.
        data: the bytes for the loader; text whose charset the header names comes as UTF-8.
        etag, last_modified: for the next conditional request.
        poll_after: the server says that nothing changes before.
    """

    url: str
    name: str
    data: bytes
    content_type: str = ""
    charset: str = ""
    etag: str = ""
    last_modified: str = ""
    poll_after: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified:
    """The server says that it has nothing newer than what ``etag`` stands for."""

    url: str
    etag: str = ""
    last_modified: str = ""
    poll_after: datetime | None = None


class Fetcher:
    """Fetches with one memory of hosts and their robots.txt. Safe to use from several threads."""

    def __init__(self, exchange: Exchange) -> None:
        self.settings = exchange.settings
        self._exchange = exchange
        self._robots: dict[str, tuple[float, Robots]] = {}
        self._robots_lock = threading.Lock()

    def fetch(
        self, url: str, *, etag: str = "", last_modified: str = "", as_feed: bool = False
    ) -> Fetched | NotModified:
        """Get ``url``, or learn that it is still what it was.

        Args:
            etag, last_modified: what the last answer said.
            as_feed: it is known to be a feed or a list of feeds; robots.txt is not asked.

        Raises:
            FetchError: it may not be asked, or did not answer as it should, with the reason.
        """
        headers = {"If-None-Match": tag(etag), "If-Modified-Since": tag(last_modified)}
        sent = {name: value for name, value in headers.items() if value}
        first = parse_address(url, self.settings)
        obey = self.settings.robots and not as_feed

        def ask(address: httpx.URL) -> Answer:
            return self._ask(address, sent, self._allowed(address) if obey else 0.0)

        try:
            where, answer = self._follow(first, ask)
            return _outcome(where, answer, conditional=bool(sent))
        except FetchError as error:
            if error.uri == str(first):
                raise
            # The report names what was asked for; where the redirects led is part of the reason.
            raise error.at(str(first), f"{error.reason} (redirected to {error.uri})") from error

    def _follow(
        self, first: httpx.URL, ask: Callable[[httpx.URL], Answer]
    ) -> tuple[httpx.URL, Answer]:
        """The first answer that is no redirect, and its address."""
        address, seen = first, {str(first)}
        while True:
            answer = ask(address)
            following = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not following:
                return address, answer
            address = self._next(address, following, seen)

    def _ask(self, address: httpx.URL, headers: dict[str, str], delay: float) -> Answer:
        most, accept = self.settings.max_bytes, partial(_refuse_media, address)
        answer = self._exchange.get(address, headers, limit=most, delay=delay, accept=accept)
        if answer.status in (429, 503):
            self._left_alone(address, answer)
        return answer

    def _next(self, address: httpx.URL, location: str, seen: set[str]) -> httpx.URL:
        following = parse_address(location, self.settings, base=address)
        if str(following) in seen:
            raise FetchError(str(address), "redirects lead in a circle")
        if len(seen) > self.settings.max_redirects:
            most = self.settings.max_redirects
            raise FetchError(str(address), f"more than {most} redirects")
        seen.add(str(following))
        return following

    def _left_alone(self, address: httpx.URL, answer: Answer) -> None:
        """Raise for a server that is asked too much, and remember it for its other pages."""
        now = datetime.now(UTC)
        until = retry_at(answer.headers.get("retry-after", ""), now)
        if until is None and answer.status == 503:
            return  # out of order, which other pages of the host may not be
        until = until or now + DEFAULT_PAUSE
        self._exchange.close_until(address, until)
        reason = f"{asked_to_wait(address.host, until)} ({_phrase(answer.status)})"
        raise FetchError(str(address), reason, status=answer.status, poll_after=until)

    def _allowed(self, address: httpx.URL) -> float:
        """The pause that robots.txt asks for; raises where it does not allow ``address``."""
        try:
            robots = self._robots_of(address)
        except FetchError as error:
            # Without an answer there is nothing special about robots.txt: the page fails likewise.
            why = f"robots.txt of {address.host} cannot be read: " if error.status else ""
            raise error.at(str(address), f"{why}{error.reason}") from error
        if not robots.allows(address.raw_path.decode("ascii")):
            raise FetchError(
                str(address),
                f"robots.txt of {address.host} does not allow it; "
                "web.robots: false reads it all the same",
            )
        return robots.delay

    def _robots_of(self, address: httpx.URL) -> Robots:
        where = address.copy_with(raw_path=b"/robots.txt")
        with self._robots_lock:
            known = self._robots.get(str(where))
        if known and known[0] > time.monotonic():
            return known[1]
        robots = self._read_robots(where)
        with self._robots_lock:
            self._robots[str(where)] = (time.monotonic() + ROBOTS_SECONDS, robots)
        return robots

    def _read_robots(self, where: httpx.URL) -> Robots:
        """Nothing there allows everything; a server in trouble allows nothing (RFC 9309, 2.3.1)."""
        _, answer = self._follow(
            where, lambda hop: self._exchange.get(hop, {}, limit=self.settings.max_bytes)
        )
        if answer.status == 200:
            return read_robots(answer.data, AGENT)
        if answer.status == 429 or answer.status >= 500:
            until = retry_at(answer.headers.get("retry-after", ""), datetime.now(UTC))
            reason = _status_reason(answer.status)
            raise FetchError(str(where), reason, status=answer.status, poll_after=until)
        return EVERYTHING


@lru_cache(maxsize=8)
def fetcher_for(settings: WebSettings) -> Fetcher:
    """This process's fetcher for ``settings``: all its runs keep to one pace per host."""
    return Fetcher(Exchange(settings))


def _refuse_media(address: httpx.URL, answer: Answer) -> None:
    """Do not load pictures, films and sound that nothing would read."""
    type_ = content_type(answer.headers.get("content-type", ""))
    if answer.status == 200 and type_.startswith(UNREAD_TYPES):
        raise FetchError(str(address), f"not a kind of file that is read: {type_}", status=200)


def _outcome(address: httpx.URL, answer: Answer, *, conditional: bool) -> Fetched | NotModified:
    headers, now = answer.headers, datetime.now(UTC)
    etag, modified = tag(headers.get("etag", "")), tag(headers.get("last-modified", ""))
    fresh = fresh_until(headers, now)
    if answer.status == 304 and conditional:
        return NotModified(url=str(address), etag=etag, last_modified=modified, poll_after=fresh)
    if answer.status not in (200, 203):
        raise FetchError(str(address), _status_reason(answer.status), status=answer.status)
    type_ = content_type(headers.get("content-type", ""))
    named = charset(headers.get("content-type", ""))
    return Fetched(
        url=str(address),
        name=file_name(address, type_),
        data=as_utf8(answer.data, type_, named),
        content_type=type_,
        charset=named,
        etag=etag,
        last_modified=modified,
        poll_after=later(fresh, feed_until(answer.data, now)),
    )


def _status_reason(status: int) -> str:
    if status == 404:
        return "nothing is there (404 Not Found)"
    if status == 410:
        return "it was removed for good (410 Gone)"
    if status in (401, 403, 407, 451):
        return f"the server does not give it to us ({_phrase(status)})"
    return f"the server answered {_phrase(status)}"


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
